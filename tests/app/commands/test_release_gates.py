"""The gates of a promotion, each failed by a candidate made to fail it alone; roll-out, rollback and replay."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
from dialint.detector.artifacts import sha256_file
from dialint.detector.calibration import CodeRelease
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.interface import DetectorConfig, JudgeUsage, PlainDetector
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Example, Finding, Label, NotJudged, Turn, Verdict
from dialint.detector.registry import Gate, Registry, verify_folder
from dialint.detector.rollout import MAX_FAILED, RolloutDetector, is_of_candidate
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import parse_verdicts, read_verdicts
from dialint.eval.attack import run as attack_run
from dialint.eval.attack.run import AttackConfig
from dialint.eval.breakdowns import compare_in_sequence
from dialint.eval.gates import attack_gate, judge_gates, scan_gates, throughput_gate
from dialint.eval.judge import Measured, compare_judges
from dialint.eval.judge_measure import Comparison, ErrorRow, fit_contract
from dialint.eval.results import score_examples
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
        fields: dict[str, Any] = {
            "dialogue_id": dialogue.id,
            "release": self.release,
            "taxonomy": self.taxonomy.version,
        }
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
    return [
        Example(
            dialogue=Dialogue(
                id=f"s:{i}",
                turns=turns,
                language="en",
                channel=("{chat}", "mail", "phone", "web")[i // 2 % 4],
            ),
            labels=tuple(
                Label(dialogue_id=f"s:{n}", turn=t, code=c, probability=1.0, method="hand")
                for n, t, c in ERRORS[3 * i : 3 * i + 2 + (i < n_rare)]
            ),
            split="test",
        )
        for i in range(n)
    ]


def failed_gates(
    candidate: Table,
    current: Table = GOOD,
    promised: float = 2.0,
    n: int = N,
    n_unjudged: int = 0,
    n_rare: int = N,
) -> list[str]:
    examples = make_examples(n, n_rare)
    mine, theirs = TableDetector("new", candidate), TableDetector("old", current)
    results, others = score_examples(mine, examples), score_examples(theirs, examples)
    results = [
        (example, verdict if i >= n_unjudged else verdict.model_copy(update=UNJUDGED))
        for i, (example, verdict) in enumerate(results)
    ]
    content, _ = evaluate_against(mine, results, {"current": theirs}, {"current": others}, rounds=200)
    scan = tiny.release_info().codes["T1"].scan
    assert scan is not None
    assert scan.contract is not None
    contract = scan.contract.model_copy(update={"false_accusations_per_100": promised})
    codes = {"T1": CodeRelease(scan=scan.model_copy(update={"contract": contract}))}
    return [
        gate.name.split()[0]
        for gate in scan_gates({"gold": {"sha256": "0" * 64, **content}}, "current", codes)
        if not gate.passed
    ]  # fmt: skip


CANDIDATES: dict[str, Callable[[], list[str]]] = {
    "": lambda: failed_gates(GOOD),
    "gold": lambda: failed_gates({**GOOD, **dict.fromkeys(ERRORS[::31], 0.45)}),
    "codes": lambda: failed_gates(
        {**GOOD, **dict.fromkeys([each for each in ERRORS if each[2] == "M2"][::20], 0.01)},
        {**GOOD, **dict.fromkeys([each for each in ERRORS if each[2] == "T1"][::20], 0.01)},
    ),
    "calibration": lambda: failed_gates({**GOOD, **dict.fromkeys(ERRORS, 0.75)}),
    "contract": lambda: failed_gates(GOOD, promised=0.2),
    "fairness": lambda: failed_gates(
        {**dict.fromkeys(ERRORS, 0.99), **dict.fromkeys([(i, 7, "T1") for i in range(0, N, 32)], 0.6)},
        {**dict.fromkeys(ERRORS, 0.99), **dict.fromkeys([(i, 7, "T1") for i in range(1, N, 30)], 0.6)},
    ),
}


@pytest.mark.parametrize("name", CANDIDATES)
def test_each_gate_fails_alone(name: str) -> None:
    assert CANDIDATES[name]() == ([name] if name else [])


def test_what_is_missing_fails_the_gold_set() -> None:
    """Before: two releases that find the same passed on a single dialogue, and errors that the candidate does not
    judge any more were left out of its recall."""
    assert failed_gates(GOOD, n=100) == ["gold"]
    assert failed_gates(GOOD, n_unjudged=10) == ["gold"]


@pytest.mark.parametrize(("n_rare", "failed"), [(5, []), (20, ["gold", "codes"])])
def test_a_rare_code_is_no_evidence(n_rare: int, failed: list[str]) -> None:
    """Before: one missed error of a code that one dialogue has was worse beyond chance."""
    current = {each: 0.99 for each in ERRORS if each[2] == "T1" or each[0] < n_rare}
    candidate = {each: p for each, p in current.items() if each[2] == "T1"}
    assert failed_gates(candidate, current, n_rare=n_rare) == failed


def test_gates_on_attacks_and_time() -> None:
    def figures(rate: float) -> dict[str, Any]:
        return {"hide": {"all": {"trials": 100, "rate": rate, "rate_95": [rate - 0.05, rate + 0.05]}}}

    assert attack_gate(figures(0.30), figures(0.28)).passed
    assert not attack_gate(figures(0.40), figures(0.28)).passed
    assert throughput_gate(1.4, 1.0).passed
    assert not throughput_gate(1.6, 1.0).passed


def read_by_judge(table: Table, n: int = N) -> Comparison:
    """What a judge lists that states these probabilities."""
    cells = sorted({*ERRORS, *table})
    rows = tuple(
        ErrorRow(
            source=f"s:{i}", dialogue=f"s:{i}", turn=t, code=code,
            truth=float((i, t, code) in ERRORS), probability=table.get((i, t, code)),
        )
        for i, t, code in cells
        if i < n
    )  # fmt: skip
    return Comparison(rows=rows, turns={f"s:{i}": 4 for i in range(n)}, n_dialogues=n)


def failed_judge_gates(
    candidate: Table,
    current: Table = GOOD,
    *,
    n: int = N,
    unlike_base: tuple[int, int] | None = (3, 8),
    contract_of: Table | None = None,
    current_name: str = "local:old",
) -> list[str]:
    """The gates on a candidate with the contract that it got on other dialogues, by default of its like."""
    taxonomy = load_taxonomy()
    fitted = fit_contract("new", read_by_judge(contract_of or candidate), taxonomy, CODES, 0.8)
    results = {
        "local:new": Measured(read_by_judge(candidate, n), JudgeUsage(), "new", unlike_base),
        current_name: Measured(read_by_judge(current, n), JudgeUsage(), "old"),
    }
    report = {"split": "test", **compare_judges(results, taxonomy, fitted, rounds=200)}
    gates = judge_gates(json.loads(json.dumps(report)), "local:new".__eq__, "local:old".__eq__)
    return [gate.name.split()[0] for gate in gates if not gate.passed]


def without(code: str, step: int) -> Table:
    """What `GOOD` lists, less each `step`-th error of a code."""
    missed = [each for each in ERRORS if each[2] == code][::step]
    return {each: p for each, p in GOOD.items() if each not in missed}


SLOPPY: Table = {**GOOD, **dict.fromkeys([(i, 7, "M2") for i in range(300)], 0.99)}
JUDGES: dict[str, Callable[[], list[str]]] = {
    "": lambda: failed_judge_gates(GOOD),
    "gold": lambda: failed_judge_gates({**GOOD, **dict.fromkeys(ERRORS[::31], 0.45)}),
    "codes": lambda: failed_judge_gates(without("M2", 20), without("T1", 20)),
    "calibration": lambda: failed_judge_gates({**GOOD, **dict.fromkeys(ERRORS, 0.75)}),
    "contract": lambda: failed_judge_gates(SLOPPY, SLOPPY, contract_of=GOOD),
    "acts": lambda: failed_judge_gates(GOOD, unlike_base=(0, 8)),
}


@pytest.mark.parametrize("name", JUDGES)
def test_each_gate_of_a_judge_fails_alone(name: str) -> None:
    assert JUDGES[name]() == ([name] if name else [])


def test_a_judge_is_compared_with_the_one_in_use_on_enough() -> None:
    assert failed_judge_gates(GOOD, n=60) == ["gold"]
    assert failed_judge_gates(GOOD, current_name="local:worst") == ["gold"]
    assert failed_judge_gates(GOOD, unlike_base=None) == [], "no adapter"


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
    deaf = make_release("deaf", threshold=0.999)
    gold = label_by(old)
    assert promote(old, by="lea") == 0
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
    assert promote(deaf, by="lea", gold=(gold,)) == 1
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


def test_a_rollout_is_taken_back_by_itself(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = make_release("old"), make_release("new")
    registry = Registry("scan")
    promote(old, by="lea")
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
    old, deaf = make_release("old"), make_release("deaf", threshold=0.999)
    gold = label_by(old)
    config = EvalConfig(against=("old",), rounds=0, fail_worse=0.05)
    assert evaluate_run(gold, config=config, detector=DetectorConfig(release=deaf)) == 1
    assert evaluate_run(gold, config=config, detector=DetectorConfig(release=old)) == 0
    with pytest.raises(ConfigError, match="--against"):
        evaluate_run(gold, config=EvalConfig(fail_worse=0.05))
    examples = make_examples(60)
    results, broken = (
        score_examples(TableDetector("x", GOOD, is_broken=each), examples) for each in (False, True)
    )
    assert compare_in_sequence(broken, results, ())["e_value"] > 20
    assert compare_in_sequence(results, results, ())["e_value"] == 1.0


def test_a_verdict_is_made_again_or_what_differs_is_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    promote(make_release("old"), by="lea")
    score("v.jsonl")
    capsys.readouterr()
    assert replay("s:1", Path("v.jsonl")) == 0
    assert "the same verdict, by old" in capsys.readouterr().out
    other = make_release("other", threshold=0.999)
    assert replay("s:1", Path("v.jsonl"), detector=DetectorConfig(release=other)) == 1
    shown = capsys.readouterr().out
    assert 'verdict, release: "old" then, "other" now' in shown
    assert "made with, release, fingerprint" in shown
    with pytest.raises(ConfigError, match="no verdict"):
        replay("nobody", Path("v.jsonl"))
