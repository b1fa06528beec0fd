"""The gates of a promotion, each failed by a candidate made to fail it alone; roll-out, rollback and replay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tiny

from dialint.app.commands.explain import replay
from dialint.app.commands.release import list_, promote, rollback
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import MANIFEST, file_entry, sha256_file, write_manifest
from dialint.detector.calibration import CodeRelease
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.interface import DetectorConfig, JudgeUsage, PlainDetector
from dialint.detector.overrides import JudgeContract
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Example, Finding, Label, NotJudged, Turn, Verdict
from dialint.detector.registry import Gate, Registry, verify_folder
from dialint.detector.rollout import MAX_FAILED, RolloutDetector, is_of_candidate
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import parse_verdicts, read_verdicts
from dialint.eval.attack import run as attack_run
from dialint.eval.attack.run import AttackConfig
from dialint.eval.breakdowns import compare_in_sequence
from dialint.eval.gates import CURRENT, judge_gates, release_gates
from dialint.eval.judge import JudgeResults, compare_judges
from dialint.eval.judge_measure import Comparison
from dialint.eval.results import Results, score_examples
from dialint.eval.run import EvalConfig, evaluate_against
from dialint.eval.run import run as evaluate_run

Table = Mapping[tuple[int, int, str], float]
"""Probability by dialogue, turn and code; from .5 on it is a finding."""
N = 400
CODES = ("T1", "M2")


class TableDetector(PlainDetector):
    """Reads its answers off a table; `status` replaces that of every verdict."""

    fingerprint, codes, taxonomy = "0" * 64, CODES, load_taxonomy()

    def __init__(self, release: str, table: Table, *, is_broken: bool = False) -> None:
        self.release, self.table, self.is_broken = release, table, is_broken

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [self._verdict(dialogue) for dialogue in dialogues]

    def _verdict(self, dialogue: Dialogue) -> Verdict:
        fields: dict[str, Any] = {"dialogue_id": dialogue.id, "release": self.release}
        fields["taxonomy"] = self.taxonomy.version
        if self.is_broken:
            return Verdict(**fields, status="failed", failure="E_MODEL")
        number = int(dialogue.id.partition(":")[2])
        rows = {t: {c: self.table.get((number, t, c), 0.0) for c in CODES} for t in (1, 3, 5, 7)}
        findings = tuple(
            Finding(code=c, turn=t, severity="S2", probability=p, quote="word", start=0, end=4, reason="x")
            for t, row in rows.items()
            for c, p in row.items()
            if p >= 0.5
        )
        return Verdict(**fields, status="scored", quality=50.0, findings=findings, probabilities=rows)


ERRORS = [(i, t, CODES[t == 5]) for i in range(N) for t in (1, 3, 5)]
"""Turn 7 is clean everywhere, turn 5 has the other code."""
UNJUDGED = {
    "findings": (),
    "probabilities": {t: {} for t in (1, 3, 5, 7)},
    "not_judged": (NotJudged(language="de", turns=(1, 3, 5, 7), codes=CODES),),
}
"""A verdict on a dialogue in a language that no code covers any more."""
FALSE = [(i, 7, "T1") for i in range(0, N, 40)]
GOOD: Table = {**dict.fromkeys(ERRORS, 0.99), **dict.fromkeys(FALSE, 0.6)}


def make_examples(n: int = N, n_rare: int = N) -> list[Example]:
    turns = tuple(Turn(index=i, role=("customer", "agent")[i % 2], text="word") for i in range(8))
    channels = ("{chat}", "mail", "phone", "web")
    return [
        Example(
            dialogue=Dialogue(id=f"s:{i}", turns=turns, language="en", channel=channels[i // 2 % 4]),
            labels=tuple(
                Label(dialogue_id=f"s:{n}", turn=t, code=c, probability=1.0, method="hand")
                for n, t, c in ERRORS[3 * i : 3 * i + 2 + (i < n_rare)]
            ),
            split="test",
        )
        for i in range(n)
    ]


def attacked(rate: float) -> dict[str, Any]:
    """Figures in which so many of 100 attacks succeed, and of their controls 5."""
    control = {"control_rate": 0.05, "control_rate_95": [0.01, 0.09]}
    return {"hide": {"all": {"trials": 100, "rate": rate, "rate_95": [rate - 0.04, rate + 0.04], **control}}}


def failed_gates(
    candidate: Table = GOOD,
    current: Table | None = GOOD,
    *,
    kind: str = "scan",
    promised: float = 2.0,
    precision: float = 0.8,
    attacks: tuple[float, float] = (0.08, 0.06),
    seconds: tuple[float, float] = (1.4, 1.0),
    unlike_base: tuple[int, int] | None = (3, 8),
    n: int = N,
    n_unjudged: int = 0,
    n_rare: int = N,
) -> list[str]:
    """The gates that a candidate fails beside the release in use; a judge may be the first one. `promised` are the
    false accusations of a scan's contract, `precision` that of a judge's."""
    examples = make_examples(n, n_rare)
    tables = {"new": candidate} | ({} if current is None else {"old": current})
    detectors = [TableDetector(*table) for table in tables.items()]
    results = [score_examples(each, examples) for each in detectors]
    results[0] = [
        (example, verdict if i >= n_unjudged else verdict.model_copy(update=UNJUDGED))
        for i, (example, verdict) in enumerate(results[0])
    ]
    figures = [attacked(rate) for rate in attacks]
    if kind == "scan":
        mine, theirs = detectors
        content, _ = evaluate_against(mine, results[0], {CURRENT: theirs}, {CURRENT: results[1]}, 200)
        sets = {"set": {"sha256": "0" * 64, **content}}
        gates = release_gates(sets, promised={"T1": promised}, attacks=figures, seconds=seconds)
    else:
        report = judge_report(detectors, results, precision, figures, seconds, unlike_base)
        gates = judge_gates(report, "new", None if current is None else "old")
    return [gate.name.split()[0] for gate in gates if not gate.passed]


def judge_report(
    detectors: Sequence[TableDetector],
    results: Sequence[Results],
    precision: float = 0.8,
    attacks: Sequence[Mapping[str, Any]] = (attacked(0.06),) * 2,
    seconds: Sequence[float] = (1.0, 1.0),
    unlike_base: tuple[int, int] | None = (3, 8),
) -> dict[str, Any]:
    """A report of `dialint eval judge` about judges that find what these detectors do."""
    contract = JudgeContract(judge="new", prompt="", precision=precision, codes={})
    listed = Comparison(rows=(), turns={"s:0": 4}, n_dialogues=1)
    measured = {
        own.release: JudgeResults(
            own, listed, JudgeUsage(seconds=seconds[i]), own.release, unlike_base, contract, results[i], attacks[i]
        )
        for i, own in enumerate(detectors)
    }  # fmt: skip
    compared = compare_judges(measured, load_taxonomy(), rounds=200)
    return json.loads(json.dumps({"kind": "judges", "split": "test", "dataset": "0" * 64, **compared}))  # type: ignore[no-any-return]


CLEAN = [(i, t, c) for i in range(N) for t, c in ((1, "M2"), (7, "T1"), (7, "M2"))]
TRUE: Table = dict.fromkeys(ERRORS, 0.99)


def with_false(*rows: int) -> Table:
    """Every error, and false accusations in these dialogues."""
    return {**TRUE, **dict.fromkeys([(i, 7, "T1") for i in rows], 0.6)}


def without(code: str) -> Table:
    """`GOOD` without each 20th error of a code."""
    missed = [each for each in ERRORS if each[2] == code][::20]
    return {each: p for each, p in GOOD.items() if each not in missed}


FAILURES: dict[str, dict[str, Any]] = {
    "": {},
    "gold": {"candidate": {**GOOD, **dict.fromkeys(ERRORS[::31], 0.45)}},
    "codes": {"candidate": without("M2"), "current": without("T1")},
    "calibration": {"candidate": {**GOOD, **dict.fromkeys(ERRORS, 0.75)}},
    "contract": {"promised": 0.2, "precision": 0.9995},
    "fairness": {"candidate": with_false(*range(0, N, 32)), "current": with_false(*range(1, N, 30))},
    "attacks": {"attacks": (0.40, 0.28)},
    "throughput": {"seconds": (1.6, 1.0)},
    "acts": {"unlike_base": (0, 8)},
}
FIRST: dict[str, dict[str, Any]] = {
    "": {"attacks": (0.08, 0.0), "seconds": (99.0, 0.0)},
    "gold": {"candidate": dict.fromkeys([*ERRORS, *CLEAN], 0.49)},
    "calibration": {"candidate": dict.fromkeys(ERRORS, 0.75)},
    "contract": {"candidate": GOOD, "precision": 0.9995},
    "fairness": {"candidate": with_false(*range(0, 384, 8))},
    "attacks": {"attacks": (0.40, 0.28)},
    "acts": {"unlike_base": (0, 8)},
}
"""Without a judge in use there is none to compare codes and time with."""


@pytest.mark.parametrize(
    ("kind", "name"),
    [("scan", each) for each in FAILURES if each != "acts"] + [("judge", each) for each in FAILURES],
)
def test_each_gate_fails_alone(kind: str, name: str) -> None:
    assert failed_gates(kind=kind, **FAILURES[name]) == ([name] if name else [])


@pytest.mark.parametrize("name", FIRST)
def test_the_first_judge_faces_the_gates_too(name: str) -> None:
    """Before: it was promoted without any."""
    failed = failed_gates(kind="judge", current=None, **{"candidate": TRUE, **FIRST[name]})
    assert failed == ([name] if name else [])


@pytest.mark.parametrize("kind", ["scan", "judge"])
def test_what_is_missing_fails_the_gold_set(kind: str) -> None:
    """Before: two releases that find the same passed on a single dialogue, and errors that the candidate does not
    judge any more were left out of its recall."""
    assert failed_gates(kind=kind, n=100) == ["gold"]
    assert failed_gates(kind=kind, n_unjudged=10) == ["gold"]


@pytest.mark.parametrize(("n_rare", "failed"), [(5, []), (20, ["gold", "codes"])])
def test_a_rare_code_is_no_evidence(n_rare: int, failed: list[str]) -> None:
    """Before: one missed error of a code that one dialogue has was worse beyond chance."""
    current = {each: 0.99 for each in ERRORS if each[2] == "T1" or each[0] < n_rare}
    candidate = {each: p for each, p in current.items() if each[2] == "T1"}
    assert failed_gates(candidate, current, n_rare=n_rare) == failed


def test_a_report_that_lacks_something_or_is_of_other_judges_fails() -> None:
    examples = make_examples(20)
    detectors = [TableDetector("new", GOOD), TableDetector("old", GOOD)]
    report = judge_report(detectors, [score_examples(each, examples) for each in detectors])
    for changes, names, gate in (
        ({}, ("changed", "old"), "gold"),
        ({}, ("new", "another"), "gold"),
        ({"split": "train"}, ("new", "old"), "gold"),
        ({"served": None}, ("new", "old"), "contract"),
        ({"served": {**report["served"], "against": {}}}, ("new", "old"), "contract"),
    ):
        (failed,) = judge_gates({**report, **changes}, *names)
        assert (failed.name, failed.passed) == (gate, False)


N_LOG = 160
WORDS = ["w3 order w7 refund", "w90 w14 hello", "w5 w6 refund w120 order", "w33 w2 w150"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(attack_run, "AttackConfig", partial(AttackConfig, per_family=2, rounds=100))
    dialogues = [
        {
            "dialogue_id": f"s:{i}",
            "turns": [
                {"role": ("customer", "agent")[t % 2], "text": f"{WORDS[(i + t) % 4]} w{(7 * i + t) % 200}"}
                for t in range(6)
            ],
        }
        for i in range(N_LOG)
    ]
    Path("log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in dialogues))
    return tmp_path / "home"


def promote_first(folder: Path) -> None:
    Registry("scan").promote(verify_folder(folder), by="lea")


def make_judge(name: str) -> Path:
    """A folder as that of a judge with all its weights."""
    folder = Path(name)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"name": name}))
    write_manifest(folder / MANIFEST, {"kind": "judge", "files": [file_entry(folder / "config.json")]})
    return folder


def test_judges_are_promoted_by_their_reports_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first one, too; and a report is of the folder's content, not of its name."""
    examples = make_examples()

    def write_report(*tables: tuple[Path, Table]) -> Path:
        detectors = [TableDetector(verify_folder(folder).fingerprint, table) for folder, table in tables]
        report = judge_report(detectors, [score_examples(each, examples) for each in detectors])
        Path("report.json").write_text(json.dumps(report))
        return Path("report.json")

    first, second = make_judge("first"), make_judge("second")
    with pytest.raises(ConfigError, match=r"--gold.*`dialint eval judge DATASET --judge local:first --cont"):
        promote(first, by="lea")
    assert promote(first, by="lea", gold=(write_report((first, {})),)) == 1
    assert promote(first, by="lea", gold=(write_report((first, TRUE)),)) == 0
    with pytest.raises(ConfigError, match=r"local:second --against local:.* --contract FILE ITS_FILE"):
        promote(second, by="lea")
    assert promote(second, by="lea", gold=(write_report((second, TRUE)),)) == 1
    assert promote(second, by="lea", gold=(write_report((second, {}), (first, TRUE)),)) == 1
    assert promote(second, by="lea", gold=(write_report((second, TRUE), (first, TRUE)),)) == 0
    names = [gate.name for gate in Registry("judge").history()[-1].gates]
    assert names[1:] == ["codes", "calibration", "contract", "fairness", "attacks", "throughput", "acts"]
    assert "FAILED" in capsys.readouterr().out


def make_release(name: str, threshold: float | None = None) -> Path:
    info = tiny.release_info(id=name)
    if threshold is not None:
        scan = info.codes["T1"].scan
        assert scan is not None
        assert scan.contract is not None
        contract = scan.contract.model_copy(update={"threshold": threshold})
        higher = CodeRelease(scan=scan.model_copy(update={"contract": contract}))
        info = tiny.release_info(id=name, codes=info.codes | dict.fromkeys(("L1", "T1", "R1"), higher))
    return tiny.write_release(Path(name), info=info)


def label_by(release: Path) -> Path:
    """The log with what a release finds as its errors."""
    detector = load_detector(DetectorConfig(release=release))
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    dialogues = [
        Dialogue(id=each["dialogue_id"], turns=tuple(Turn(index=i, **t) for i, t in enumerate(each["turns"])))
        for each in lines
    ]
    examples = [
        Example(
            dialogue=dialogue,
            labels=tuple(
                Label(dialogue_id=dialogue.id, turn=f.turn, code=f.code, probability=1.0, method="hand")
                for f in verdict.findings
            ),
            split="test",
        )
        for dialogue, verdict in zip(dialogues, detector.verdicts(dialogues), strict=True)
    ]
    Path("gold.jsonl").write_text("".join(each.model_dump_json() + "\n" for each in examples))
    return Path("gold.jsonl")


def score(out: str) -> list[Verdict]:
    config = ScoreConfig(out=Path(out), quiet=True, detector=DetectorConfig(release=Path("current")))
    config = replace(config, watch=replace(config.watch, dialogue_seconds=0.0))
    assert run(["log.jsonl"], config) == 0
    return list(read_verdicts(Path(out)))


def test_a_candidate_passes_shadow_share_and_all(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = make_release("old"), make_release("new")
    blind = make_release("deaf", threshold=0.999)
    gold = label_by(old)
    with pytest.raises(ConfigError, match=r"--gold: what it is measured on with embedded"):
        promote(old, by="lea")
    promote_first(old)
    with pytest.raises(ConfigError, match=r"--gold.*`dialint export dataset"):
        promote(new, by="lea")
    train = Path("train.jsonl")
    train.write_text(gold.read_text().replace('"split":"test"', '"split":"train"'))
    with pytest.raises(ConfigError, match="held-out"):
        promote(new, by="lea", gold=(train,))
    with pytest.raises(ConfigError, match="same name"):
        promote(new, by="lea", gold=(gold, Path("other/gold.jsonl")))
    with pytest.raises(ConfigError, match="--by"):
        promote(new, by=" ", gold=(gold,))
    capsys.readouterr()
    assert promote(blind, by="lea", gold=(gold,)) == 1
    assert "FAILED" in capsys.readouterr().out
    registry = Registry("scan")
    assert registry.rollout() is None
    assert promote(new, by="lea", gold=(gold,), share=0) == 0
    line = registry.history()[-1]
    assert (line.by, line.share) == ("lea", 0)
    assert [gate.name for gate in line.gates] == [
        f"gold gold {sha256_file(gold)[:8]}", "codes", "calibration", "contract", "fairness", "attacks", "throughput"
    ]  # fmt: skip
    assert {each.release for each in score("shadow.jsonl")} == {"old"}
    aside = registry.shadow_file(line.id)
    assert {each.release for each in parse_verdicts(aside.read_bytes().splitlines())} == {"new"}
    with aside.open("ab") as file:
        file.write(b'{"dialogue_id":"s:2')  # a kill
    registry.erase({"s:1"})
    left = {each.dialogue_id for each in parse_verdicts(aside.read_bytes().splitlines())}
    assert left == {f"s:{i}" for i in range(N_LOG)} - {"s:1"}
    with pytest.raises(OutputRefused, match="not current any more"):
        registry.promote(verify_folder(new), compared_with="another")
    assert promote(new, by="max", share=30) == 0
    list_()
    assert "scores 30 %" in capsys.readouterr().out
    verdicts = score("part.jsonl")
    chosen = {each.dialogue_id for each in verdicts if each.release == "new"}
    assert chosen == {each.dialogue_id for each in verdicts if is_of_candidate(each.dialogue_id, 30)}
    assert 0 < len(chosen) < N_LOG
    assert chosen <= {each.dialogue_id for each in verdicts if is_of_candidate(each.dialogue_id, 50)}
    assert replay(min(chosen), Path("part.jsonl")) == 0
    assert promote(new, by="max") == 0
    assert {each.release for each in score("all.jsonl")} == {"new"}
    assert not aside.exists()
    aside.write_text("")  # of a run that goes on, or left by a kill
    rollback("scan", by="max", reason="too many appeals")
    assert registry.history()[-1].reason == "too many appeals"
    assert not aside.exists()
    capsys.readouterr()
    list_()
    (row,) = [each for each in capsys.readouterr().out.splitlines() if "too many appeals" in each]
    assert "new-" in row
    assert "old-" not in row
    assert {each.release for each in score("again.jsonl")} == {"old"}


def test_a_rollout_is_rolled_back_automatically(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = make_release("old"), make_release("new")
    registry = Registry("scan")
    promote_first(old)
    gates = (Gate(name="x", passed=True, detail=""),)
    registry.promote(verify_folder(new), by="lea", share=50, gates=gates)
    rollout = registry.rollout()
    assert rollout is not None
    (registry.folder / rollout.id / "config.json").write_text("{}")
    assert {each.release for each in score("v.jsonl")} == {"old"}
    assert registry.rollout() is None
    line = registry.history()[-1]
    assert (line.action, line.by, line.before) == ("rollback", "dialint", rollout.id)
    assert "config.json" in line.reason
    reasons: list[str] = []
    broken = TableDetector("new", {}, is_broken=True)
    pair = RolloutDetector(TableDetector("old", GOOD), broken, 50, reasons.append)
    dialogues = [example.dialogue for example in make_examples()[:30]]
    assert {(each.status, each.release) for each in pair.verdicts(dialogues)} == {("scored", "old")}
    assert len(reasons) == 1
    assert len(pair.failed) >= MAX_FAILED
    pair.verdicts(dialogues)
    assert len(reasons) == 1


def test_a_builder_is_stopped_by_what_is_worse_and_by_nothing_else(home: Path) -> None:
    old, blind = make_release("old"), make_release("deaf", threshold=0.999)
    gold = label_by(old)
    config = EvalConfig(against=("old",), rounds=0, fail_worse=0.05)
    assert evaluate_run(gold, config=config, detector=DetectorConfig(release=blind)) == 1
    assert evaluate_run(gold, config=config, detector=DetectorConfig(release=old)) == 0
    with pytest.raises(ConfigError, match="--against"):
        evaluate_run(gold, config=EvalConfig(fail_worse=0.05))
    examples = make_examples(60)
    results, broken = (
        score_examples(TableDetector("x", GOOD, is_broken=each), examples) for each in (False, True)
    )
    assert compare_in_sequence(broken, results, ())["e_value"] > 20
    assert compare_in_sequence(results, results, ())["e_value"] == 1.0


def test_a_verdict_is_reproduced_or_differences_are_reported(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    promote_first(make_release("old"))
    score("v.jsonl")
    capsys.readouterr()
    assert replay("s:1", Path("v.jsonl")) == 0
    assert "the same verdict, by old" in capsys.readouterr().out
    other = make_release("other", threshold=0.999)
    assert replay("s:1", Path("v.jsonl"), detector=DetectorConfig(release=other)) == 1
    output = capsys.readouterr().out
    assert 'verdict, release: "old" then, "other" now' in output
    assert "made with, release, fingerprint" in output
    with pytest.raises(ConfigError, match="no verdict"):
        replay("nobody", Path("v.jsonl"))
