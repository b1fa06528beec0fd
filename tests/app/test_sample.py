"""The sample log is what its README says, and every label points at words of an agent or bot."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from dialint import app
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, load_dialogues, open_logs, read
from dialint.detector.records import JUDGED_ROLES, Dialogue, Label
from dialint.detector.taxonomy import load_taxonomy

SAMPLE = Path(app.__file__).with_name("sample")


@pytest.fixture(scope="module")
def dialogues() -> dict[str, Dialogue]:
    return load_dialogues([str(SAMPLE / "dialogues.jsonl")])


@pytest.fixture(scope="module")
def labels() -> list[Label]:
    with (SAMPLE / "labels.jsonl").open(encoding="utf-8") as lines:
        return [Label.model_validate_json(line) for line in lines]


def trade(dialogue_id: str) -> str:
    return dialogue_id.partition("-")[0]


def test_reads_without_a_reject_or_a_warning(dialogues: dict[str, Dialogue]) -> None:
    path, counts = SAMPLE / "dialogues.jsonl", Counts()
    outcomes = list(read(open_logs([str(path)]), ReadConfig(), counts))
    assert all(isinstance(outcome, Loaded) for outcome in outcomes)
    assert len(dialogues) == len(outcomes) == path.read_bytes().count(b"\n")
    assert counts.warnings.total() == 0


def test_labels_lie_in_agent_or_bot_turns(dialogues: dict[str, Dialogue], labels: list[Label]) -> None:
    for label in labels:
        turn = dialogues[label.dialogue_id].turns[label.turn]
        assert turn.role in JUDGED_ROLES, label
        assert label.start is not None, label
        assert label.end is not None, label
        assert 0 <= label.start < label.end <= len(turn.text), label
        quote = turn.text[label.start : label.end]
        assert quote == quote.strip(), label


def test_codes_are_of_the_taxonomy_and_can_apply(dialogues: dict[str, Dialogue], labels: list[Label]) -> None:
    codes = load_taxonomy().codes
    for label in labels:
        dialogue = dialogues[label.dialogue_id]
        present = {
            "timestamps": dialogue.turns[0].at is not None,
            "sources": bool(dialogue.sources),
            "policy": dialogue.policy is not None,
            "actions": any(turn.role == "system" for turn in dialogue.turns),
        }
        assert [need for need in codes[label.code].needs if not present[need]] == [], label


def test_readme_has_the_counts(dialogues: dict[str, Dialogue], labels: list[Label]) -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    wrong = {label.dialogue_id for label in labels}
    for name in [*dict.fromkeys(trade(each) for each in dialogues), "all"]:
        mine = [each for each in dialogues.values() if name in ("all", trade(each.id))]
        n_clean = sum(each.id not in wrong for each in mine)
        n_turns = sum(len(each.turns) for each in mine)
        n_labels = sum(name in ("all", trade(label.dialogue_id)) for label in labels)
        assert f"| {name} | {len(mine)} | {n_clean} | {n_turns} | {n_labels} |" in readme
    stated = {code: int(n) for code, n in re.findall(r"^\| ([A-Z]\d) \|[^|]+\| (\d+) \|", readme, re.M)}
    assert stated == Counter(label.code for label in labels)


def test_mail_and_phone_are_fictional(dialogues: dict[str, Dialogue]) -> None:
    text = json.dumps([dialogue.model_dump(mode="json") for dialogue in dialogues.values()])
    domains = set(re.findall(r"@([\w.-]+\w)", text))
    assert domains, "personal data should be there, so that masking shows"
    assert all(domain == "example.com" or domain.endswith(".example.com") for domain in domains)
    assert set(re.findall(r"\b555-(\d\d)\d\d\b", text)) == {"01"}
