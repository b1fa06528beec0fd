"""Dialogues in languages that the embedded release does not cover: never accused, never clean, always counted."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from languages_corpus import dialogues

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import Verdict
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.detector.watchdog import WatchConfig

CHATS = {
    "german": [
        ("customer", "Guten Tag, wo ist meine Bestellung?"),
        ("agent", "Guten Tag, ich sehe gern für Sie nach. Sie sind ein Idiot."),
        ("customer", "Wie bitte?"),
        ("agent", "Hallo {first_name}, Ihre Bestellung kommt am Freitag."),
    ],
    "mixed": [
        ("customer", "Guten Tag, wo ist meine Bestellung? Sie sollte gestern kommen."),
        ("agent", "Guten Tag, ich sehe gern für Sie nach und melde mich gleich wieder."),
        ("customer", "Das dauert mir zu lange."),
        ("agent", "You are such an idiot, stop wasting my time and shut up already."),
        ("customer", "Das ist unverschämt."),
        ("agent", "Es tut mir sehr leid, das hätte ich nicht schreiben dürfen."),
    ],
    "english": [
        ("customer", "Hello, where is my order?"),
        ("agent", "Let me check that for you right away."),
        ("customer", "Thank you."),
        ("agent", "It was shipped yesterday and arrives on Friday."),
    ],
    "short": [("customer", "hi"), ("agent", "Hello there"), ("customer", "thanks, bye"), ("agent", "Bye!")],
}  # fmt: skip


def written(path: Path, chats: dict[str, list[tuple[str, str]]]) -> Path:
    lines = [
        json.dumps({"dialogue_id": name, "turns": [{"role": role, "text": text} for role, text in turns]})
        for name, turns in chats.items()
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@cache
def detector_for(*languages: str) -> ReleaseDetector:
    """The embedded release, loaded once, with languages forced."""
    if not languages:
        return load_detector(DetectorConfig(threads=1))
    return detector_for().copy(languages=languages)


def scored(log: Path, out: Path, *languages: str, **options: object) -> dict[str, Verdict]:
    """The verdicts of a run in this process, if `out` holds verdicts."""
    config = ScoreConfig(out=out, watch=WatchConfig(dialogue_seconds=0), **{"quiet": True, **options})  # type: ignore[arg-type]
    run([str(log)], config, detector_for(*languages))
    if out.suffix not in (".jsonl", ".csv", ".parquet"):
        return {}
    return {verdict.dialogue_id: verdict for verdict in read_verdicts(out)}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("log") / "chats.jsonl", CHATS)


@pytest.fixture(scope="module")
def verdicts(log: Path) -> dict[str, Verdict]:
    return scored(log, log.with_name("verdicts.jsonl"), all_probabilities=True)


def test_a_german_dialogue_is_neither_accused_nor_clean(verdicts: dict[str, Verdict]) -> None:
    verdict = verdicts["german"]
    assert verdict.status == "not_judged"
    assert verdict.quality is None
    (gap,) = verdict.not_judged
    assert (gap.language, gap.turns) == ("de", (1, 3))
    assert {"L1", "L2", "U2", "E2"} <= set(gap.codes)
    assert gap.check_only == ("L4", "T1", "T2", "M2", "M3", "I4", "C1", "C2", "P3", "V2", "R1", "R3")
    assert {"P1", "P2"} <= set(gap.codes)  # only a policy could, and there is none
    assert [(finding.code, finding.turn) for finding in verdict.findings] == [("M2", 3)]
    assert [(each.code, each.quote) for each in verdict.suggestions] == [("T1", "Sie sind ein Idiot.")]
    rows = {turn: {code: p for code, p in row.items() if p} for turn, row in verdict.probabilities.items()}
    assert rows == {1: {"T1": 0.692}, 3: {"M2": 0.846}}


def test_in_a_mixed_dialogue_english_turns_are_judged_and_german_ones_are_not(
    verdicts: dict[str, Verdict],
) -> None:
    verdict = verdicts["mixed"]
    assert verdict.status == "scored"
    assert verdict.judged_share == pytest.approx(1 / 3, abs=1e-4)
    assert ("T1", 3) in {(each.code, each.turn) for each in verdict.suggestions}
    assert {finding.turn for finding in (*verdict.findings, *verdict.suggestions)} == {3}
    assert {turn for gap in verdict.not_judged for turn in gap.turns if "L1" in gap.codes} == {1, 5}


def test_codes_that_need_context_need_the_language_of_the_customer_too(verdicts: dict[str, Verdict]) -> None:
    """An English model cannot judge whether a question in German was answered."""
    probabilities = (verdicts["mixed"].probabilities or {})[3]
    assert {"L1", "T1", "V2"} <= probabilities.keys()
    assert probabilities.keys().isdisjoint({"C1", "U2", "C3", "T2", "R1"})
    (gap,) = [gap for gap in verdicts["mixed"].not_judged if 3 in gap.turns]
    assert gap.language == "de"
    assert "U2" in gap.codes
    assert {"C1", "T2", "R1"} <= set(gap.check_only)


def test_english_dialogues_are_judged_whole_however_short(verdicts: dict[str, Verdict]) -> None:
    for name in ("english", "short"):
        assert verdicts[name].status == "scored"
        assert verdicts[name].judged_share is None
        assert verdicts[name].not_judged == ()


def test_the_manifest_counts_what_was_not_judged(log: Path, verdicts: dict[str, Verdict]) -> None:
    counts = json.loads(manifest_path(log.with_name("verdicts.jsonl")).read_text())["counts"]
    assert (counts["scored"], counts["not_judged"], counts["failed"]) == (3, 1, 0)
    german = counts["languages_not_judged"]["de"]
    assert (german["dialogues"], german["dialogues_not_judged"], german["turns"]) == (2, 1, 5)
    assert german["check_only"] == ["C1", "C2", "I4", "L4", "M2", "M3", "P3", "R1", "R3", "T1", "T2", "V2"]
    assert counts["findings"]["M2"] == {"S2": 1}
    assert counts["not_judged_with_s1_or_s2"] == 1


def test_a_forced_language_is_not_detected(log: Path, tmp_path: Path) -> None:
    forced = scored(log, tmp_path / "de.jsonl", "de")
    assert {verdict.status for verdict in forced.values()} == {"not_judged"}
    forced = scored(log, tmp_path / "en.jsonl", "en")
    assert all(not verdict.not_judged for verdict in forced.values())


@pytest.mark.parametrize(("language", "n"), [("de", 75), ("es", 75), ("fr", 75), ("ru", 30)])
def test_correct_dialogues_are_hardly_ever_flagged(language: str, n: int, tmp_path: Path) -> None:
    """At most one agent turn of 100. All that the texts are drawn from was written here."""
    corpus = [*dialogues(language, n)]
    log = tmp_path / "log.jsonl"
    fields = {"id", "language", "turns"}
    lines = [one.model_dump_json(include=fields, exclude_none=True) for one in corpus]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    verdicts = scored(log, tmp_path / "v.jsonl")
    turns = sum(turn.role == "agent" for one in corpus for turn in one.turns)
    flagged = {(name, finding.turn) for name, verdict in verdicts.items() for finding in verdict.findings}
    assert len(flagged) <= turns / 100
    assert {verdict.status for verdict in verdicts.values()} == {"not_judged"}
