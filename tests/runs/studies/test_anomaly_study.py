"""The study's own arithmetic, the made-up crowds, and the command on a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from anomaly_study import StudyConfig, collusion_draw, spam_draw, study
from answer_tables import (
    AnomalousCrowdPlan,
    simulate_anomalous_crowd,
)

from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.labeling.raters.anomaly_report import WatchConfig, rows, run

pytestmark = pytest.mark.slow  # a study is run by hand


def test_crowds_are_what_the_plan_says() -> None:
    plan = AnomalousCrowdPlan(n_tasks=4000, spammers=0.2, colluders=0.1, groups=2, difficulty=0.0, seed=3)
    crowd = simulate_anomalous_crowd(plan)
    answers = crowd.answers
    right = answers.label == crowd.truth[answers.task]
    assert (answers.n_labelers == 5).all()
    assert len(np.unique(answers.task.astype(np.int64) * 50 + answers.worker)) == len(answers)
    assert crowd.spammer.sum() == 10
    assert np.bincount(crowd.group[crowd.group >= 0]).tolist() in ([2, 3], [3, 2])
    assert crowd.honest.sum() == 35
    assert right[crowd.honest[answers.worker]].mean() == pytest.approx(0.8, abs=0.04)
    assert right[crowd.spammer[answers.worker]].mean() == pytest.approx(1 / 3, abs=0.03)
    assert (simulate_anomalous_crowd(plan).answers.label == answers.label).all()


def test_hard_items_mislead_to_the_same_label() -> None:
    """Two honest people who are both wrong agree more often than by the toss between two labels."""
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=4000, difficulty=2.0, seed=4))
    votes = crowd.answers.votes()
    votes[np.arange(4000), crowd.truth] = 0
    wrong = votes.sum(axis=1)
    pairs, same = (wrong * (wrong - 1)).sum(), (votes * (votes - 1)).sum()
    assert same / pairs > 0.7


def test_spammers_cost_little_and_are_found() -> None:
    """The line of the issue, in small: at most 1 point beside the same honest answers, AUROC 0.95. The cost
    spreads by .6 points from draw to draw, so that two draws would tell nothing."""
    draws = [spam_draw(AnomalousCrowdPlan(n_tasks=2000, spammers=0.2, seed=seed)) for seed in range(31, 37)]
    mean = {name: np.mean([draw[name] for draw in draws]) for name in draws[0]}
    assert mean["cost to the same honest answers, points"] <= 1.0
    assert mean["majority's cost to the same honest answers, points"] > 1.0
    assert mean["AUROC of spammers"] >= 0.95
    assert mean["honest flagged"] <= 0.02


def test_colluders_are_found_and_honest_people_are_not() -> None:
    draw = collusion_draw(AnomalousCrowdPlan(colluders=0.1, spammers=0.2, seed=34))
    assert draw["colluders flagged"] >= 0.8
    assert draw["honest flagged"] <= 0.02
    assert set(collusion_draw(AnomalousCrowdPlan(n_tasks=300, seed=1))) == {"honest flagged"}


def test_the_study_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study(StudyConfig(answers=20_000, out=tmp_path / "f.json"))
    assert "seconds of one core" in capsys.readouterr().out
    assert json.loads((tmp_path / "f.json").read_text())["speed"]["answers"] == 20_000
    with pytest.raises(ConfigError):
        StudyConfig(parts=("nothing",))


def written(path: Path, spam: bool = True) -> Path:
    crowd = simulate_anomalous_crowd(
        AnomalousCrowdPlan(
            n_tasks=600, n_workers=30, spammers=0.2 if spam else 0, colluders=0.1 if spam else 0, seed=9
        )
    )
    answers = crowd.answers
    assert answers.seconds is not None
    rows = zip(answers.task, answers.worker, answers.label, answers.seconds, strict=True)
    lines = [f"t{t},w{w},l{x},{seconds:.2f}" for t, w, x, seconds in rows]
    path.write_text("task,worker,label,seconds\n" + "\n".join(lines) + "\n")
    return path


def test_the_report_flags_and_is_written(tmp_path: Path) -> None:
    config = WatchConfig(written(tmp_path / "crowd.csv"), tmp_path / "out" / "watch.json")
    report = run(config)
    assert read_manifest(tmp_path / "out" / "watch.json")["workers"] == report["workers"]
    assert (report["config"]["annotations"], report["inputs"][0]["name"]) == ("crowd.csv", "crowd.csv")
    kinds = {(flag["kind"], name) for flag in report["flags"] for name in flag["workers"]}
    assert {name for kind, name in kinds if kind == "too fast"} == {f"w{n}" for n in range(6)}
    assert {name for kind, name in kinds if kind == "copying"} == {"w6", "w7", "w8"}
    assert report["workers"]["w20"]["answers"] > 50
    assert 0 <= report["workers"]["w20"]["knows_nothing"] < 0.5
    headings, *flags = rows(report)
    assert headings[0] == "flag"
    assert {(row[0], name) for row in flags for name in row[1].split(", ")} == kinds
    with pytest.raises(OutputRefused):
        run(config)
    with pytest.raises(ConfigError, match="--annotations"):
        run(WatchConfig())


def test_an_honest_table_has_no_flags(tmp_path: Path) -> None:
    report = run(WatchConfig(written(tmp_path / "crowd.csv", spam=False)))
    assert report["flags"] == []
    with pytest.raises(ConfigError):
        WatchConfig(tmp_path / "crowd.csv", sure=0.1)
