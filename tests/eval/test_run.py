"""`dialint eval run` on a scripted detector, and on a tiny real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from scripted_detector import ScriptedDetector, example

from dialint.detector.errors import ConfigError, UserError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.records import NotJudged, Verdict
from dialint.detector.statistics import bootstrap_counts
from dialint.eval.figures import code_figures
from dialint.eval.page import page
from dialint.eval.results import (
    Results,
    code_results,
    number_sources,
    read_labelled_log,
    score_examples,
    twin_pairs,
)
from dialint.eval.run import EvalConfig, evaluate, evaluate_against, run

EXAMPLES = [example("a", {1: "T1"}), example("b", {3: "T1"}), example("c", {}), example("d", {1: "V2"})]
TABLE = {("a", 1): 0.9, ("b", 3): 0.2, ("c", 1): 0.6, ("d", 3): 0.1}


def test_every_figure_by_hand() -> None:
    """8 turns, T1 on two: found .9 and missed .2; wrong at .6 on c and none on d. Ranks of hits: 1 and 3."""
    detector = ScriptedDetector(TABLE)
    report = evaluate(detector, score_examples(detector, EXAMPLES), rounds=10)
    row = report["codes"]["T1"]
    assert row["n_errors"] == 2
    assert row["n"] == 8
    assert row["average_precision"] == pytest.approx((1 + 2 / 3) / 2, abs=1e-4)
    assert (row["precision"], row["recall"], row["flagged"]) == (0.5, 0.5, 2)
    assert row["span_f1"] == pytest.approx(2 * 5 / 15, abs=1e-4)
    assert report["flagged_per_100_turns"] == pytest.approx(25.0)
    assert report["wrong_findings_per_100_turns"] == pytest.approx(12.5)
    assert report["codes"]["V2"]["covered"] is False
    assert report["codes"]["V2"]["recall"] == 0.0


def test_suggestions_count_as_findings_only_in_figures_of_their_own() -> None:
    """The findings of the test before, but that on c is a suggestion: alone nothing is wrong."""

    def careful(verdict: Verdict) -> Verdict:
        sure = tuple(finding for finding in verdict.findings if finding.probability > 0.8)
        rest = tuple(finding for finding in verdict.findings if finding not in sure)
        return verdict.model_copy(update={"findings": sure, "suggestions": rest})

    detector = ScriptedDetector(TABLE, careful)
    content, _ = evaluate_against(detector, score_examples(detector, EXAMPLES), {}, {}, rounds=10)
    assert (content["codes"]["T1"]["precision"], content["codes"]["T1"]["recall"]) == (1.0, 0.5)
    assert content["wrong_findings_per_100_turns"] == 0.0
    both = content["with_suggestions"]
    assert (both["codes"]["T1"]["precision"], both["codes"]["T1"]["recall"]) == (0.5, 0.5)
    assert both["wrong_findings_per_100_turns"] == pytest.approx(12.5)
    assert both["codes"]["T1"]["average_precision"] == content["codes"]["T1"]["average_precision"]
    html = page({"release": "r", "fingerprint": "0", "rounds": 10, "sets": {"s": content}}, None)
    assert "With suggestions counted as findings: precision" in html
    plain = ScriptedDetector(TABLE)
    content, _ = evaluate_against(plain, score_examples(plain, EXAMPLES), {}, {}, rounds=0)
    assert "with_suggestions" not in content


def test_rows_of_dialogue_codes_are_dialogues() -> None:
    detector = ScriptedDetector(TABLE)
    rows = code_results(score_examples(detector, EXAMPLES), "T1", whole_dialogue=True)
    assert rows.truth.tolist() == [True, True, False, False]
    assert rows.probabilities.tolist() == [0.9, 0.2, 0.6, 0.1]


def test_of_a_soft_label_only_what_is_more_likely_than_not_is_an_error() -> None:
    soft = [
        one.model_copy(update={"labels": (one.labels[0].model_copy(update={"probability": p}),)})
        for one, p in ((EXAMPLES[0], 0.5), (EXAMPLES[1], 0.6))
    ]
    rows = code_results(score_examples(ScriptedDetector(TABLE), soft), "T1", whole_dialogue=True)
    assert rows.truth.tolist() == [False, True]


def test_a_finding_of_a_dialogue_code_is_right_at_any_turn_of_its_dialogue() -> None:
    def closing(verdict: Verdict) -> Verdict:
        findings = tuple(finding.model_copy(update={"code": "R1"}) for finding in verdict.findings)
        return verdict.model_copy(update={"findings": findings})

    detector = ScriptedDetector(TABLE, closing)
    results = score_examples(detector, [example("a", {3: "R1"}), example("c", {})])
    report = evaluate(detector, results, rounds=0)
    assert report["codes"]["R1"]["precision"] == 0.5
    assert report["wrong_findings_per_100_turns"] == pytest.approx(25.0)  # that of c, 1 of 4 turns


def auc_of(results: Results, *, whole_dialogue: bool = False) -> tuple[float, int]:
    pairs = twin_pairs(results, "T1", whole_dialogue=whole_dialogue)
    rows = code_results(results, "T1", whole_dialogue=whole_dialogue)
    counts = bootstrap_counts(len(number_sources(results)), 0)
    return float(code_figures(rows, pairs, counts)["pair_auc"][0]), len(pairs.errors)


def test_pairs_compare_an_error_with_its_twin_at_the_turns_of_the_error() -> None:
    pairs = [
        example("a", {1: "T1"}, pair="s~T1"), example("c", {}, pair="s~T1"), example("b", {3: "T1"}, pair="t~T1"), example("d", {}, pair="t~T1")
    ]  # fmt: skip
    assert auc_of(score_examples(ScriptedDetector(TABLE), pairs)) == (1.0, 2)
    assert auc_of(score_examples(ScriptedDetector({("c", 1): 0.5}), pairs)) == (0.25, 2)
    assert auc_of(score_examples(ScriptedDetector({("c", 3): 0.5}), pairs)) == (0.5, 2)
    assert auc_of(score_examples(ScriptedDetector({("c", 3): 0.5}), pairs), whole_dialogue=True) == (0.25, 2)
    assert auc_of(score_examples(ScriptedDetector(TABLE), pairs[:1]))[1] == 0


def test_a_failed_verdict_is_counted_not_scored() -> None:
    failed = {"release": "x", "taxonomy": "1.0.0", "status": "failed", "failure": "E_NO_AGENT_TURN"}
    detector = ScriptedDetector({}, lambda verdict: Verdict(dialogue_id=verdict.dialogue_id, **failed))
    report = evaluate(detector, score_examples(detector, EXAMPLES), rounds=2)
    assert (report["dialogues"], report["failed"], report["judged_turns"]) == (4, 4, 0)


def test_a_log_with_labels_of_its_own_is_an_exam_too() -> None:
    root = Path(__file__).parents[2] / "app/sample"
    examples = list(read_labelled_log(root / "dialogues.jsonl", root / "labels.jsonl"))
    assert len(examples) == 78
    n_labels = len((root / "labels.jsonl").read_bytes().splitlines())
    assert sum(len(example.labels) for example in examples) == n_labels


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"dialogue_id": "nobody", "turn": 1, "code": "T1", "probability": 1, "method": "x"}', "is not in"),
        ('{"dialogue_id": "bank-01", "turn": 99, "code": "T1", "probability": 1, "method": "x"}', "has not"),
        ('{"turn": 1}', "line 1: no valid label"),
    ],
)
def test_a_label_without_its_turn_is_refused(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text(line + "\n")
    log = Path(__file__).parents[2] / "app/sample/dialogues.jsonl"
    with pytest.raises(UserError, match=message):
        list(read_labelled_log(log, tmp_path / "labels.jsonl"))


def monoglot(verdict: Verdict) -> Verdict:
    """Turn 3 of dialogue b is not judged, nor anything of d, for their language."""
    turns = {"b": (3,), "d": (1, 3)}.get(verdict.dialogue_id, ())
    if not turns:
        return verdict
    rows = {turn: {} if turn in turns else row for turn, row in (verdict.probabilities or {}).items()}
    gap = NotJudged(language="de", turns=turns, codes=("T1",))
    changed = {"findings": (), "probabilities": rows, "not_judged": (gap,), "quality": None}
    part = {"status": "not_judged"} if len(turns) == 2 else {"judged_share": 0.5}
    return Verdict.model_validate({**dict(verdict), **changed, **part})


def test_what_was_not_judged_for_its_language_is_neither_clean_nor_missed() -> None:
    """Of 8 turns 5 are judged: T1 on one of them, found; wrong at .6 on c. The label on b's turn 3 is left out."""
    detector = ScriptedDetector(TABLE, monoglot)
    results = score_examples(detector, EXAMPLES)
    figures = evaluate(detector, results, 0)
    assert (figures["dialogues"], figures["failed"], figures["not_judged"]) == (4, 0, 1)
    assert (figures["judged_turns"], figures["turns_not_judged"]) == (5, 3)
    row = figures["codes"]["T1"]
    assert (row["n"], row["n_errors"], row["flagged"], row["recall"]) == (5, 1, 2, 1.0)
    assert figures["flagged_per_100_turns"] == 40.0
    (b,) = [pair for pair in results if pair[0].dialogue.id == "b"]
    assert code_results([b], "T1", whole_dialogue=True).truth.tolist() == [False]


def test_a_log_of_another_shape_is_an_exam_by_its_mapping(tmp_path: Path) -> None:
    log, labels = tmp_path / "log.jsonl", tmp_path / "labels.jsonl"
    messages = [{"who": "Kunde", "says": "Hi"}, {"who": "Berater", "says": "Hallo"}]
    log.write_text(json.dumps({"no": "d1", "log": messages}) + "\n")
    label = {"dialogue_id": "d1", "turn": 1, "code": "T1", "probability": 1.0, "method": "hand"}
    labels.write_text(json.dumps(label))
    (tmp_path / "map.yaml").write_text("fields: {id: no, role: 'log[].who', text: 'log[].says'}\n")
    (example,) = read_labelled_log(log, labels, ReadConfig(mapping=tmp_path / "map.yaml"))
    assert [turn.role for turn in example.dialogue.turns] == ["customer", "agent"]
    assert example.labels[0].code == "T1"


@pytest.fixture
def detector(tmp_path: Path) -> DetectorConfig:
    return DetectorConfig(release=tiny.write_release(tmp_path / "r"), precision="fp32", threads=1)


@pytest.mark.parametrize(
    ("name", "out", "message"),
    [
        ("set.jsonl", "nowhere/x.json", "nowhere"),
        ("missing.jsonl", "x.json", r"missing\.jsonl"),
        ("set.jsonl", "x.json", "none of the files holds an example"),
    ],
)
def test_what_cannot_be_measured_is_the_users_error(
    tmp_path: Path, detector: DetectorConfig, name: str, out: str, message: str
) -> None:
    (tmp_path / "set.jsonl").write_text("")
    with pytest.raises(ConfigError, match=message):
        run(tmp_path / name, config=EvalConfig(out=tmp_path / out), detector=detector)


def test_a_set_without_examples_is_reported_and_the_others_are_measured(
    tmp_path: Path, detector: DetectorConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev.jsonl").write_text("")
    (tmp_path / "test.jsonl").write_text(example("c", {}).model_dump_json() + "\n")
    out = tmp_path / "report.json"
    sets = (tmp_path / "dev.jsonl", tmp_path / "test.jsonl")
    run(*sets, config=EvalConfig(rounds=0, out=out), detector=detector)
    assert "dev.jsonl: holds no example" in capsys.readouterr().err
    assert list(json.loads(out.read_text())["sets"]) == ["test"]
