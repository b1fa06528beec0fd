"""The written corpus as it ships: whole, valid, labelled at real places, and no author in two sets."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from dialint.detector.artifacts import MANIFEST
from dialint.detector.errors import OutputRefused
from dialint.detector.example_files import list_sets, read_examples, require_set
from dialint.detector.near_duplicates import linking_pairs, shingles
from dialint.detector.records import JUDGED_ROLES, Example
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.corpora.written_corpus import WRITTEN, WrittenConfig, written

MAX_BYTES = 4_000_000
Sets = dict[str, list[Example]]


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Sets:
    out = tmp_path_factory.mktemp("corpus") / "written"
    written(WrittenConfig(out=out))
    with pytest.raises(OutputRefused, match="already"):
        written(WrittenConfig(out=out))
    return {name: list(read_examples(require_set(out, name))) for name in list_sets(out)}


def test_a_damaged_corpus_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    for path in WRITTEN.glob("*.*"):
        (packed / path.name).write_bytes(path.read_bytes())
    (packed / "dev.jsonl.zst").write_bytes((packed / "test.jsonl.zst").read_bytes())
    monkeypatch.setattr("dialint.labeling.corpora.written_corpus.WRITTEN", packed)
    with pytest.raises(OutputRefused, match=r"dev\.jsonl"):
        written(WrittenConfig(out=tmp_path / "out"))
    assert not (tmp_path / "out" / MANIFEST).exists()


def test_its_size_and_its_codes(sets: Sets) -> None:
    examples = [example for rows in sets.values() for example in rows]
    assert set(sets) == {"train", "dev", "calibration", "test"}
    assert sum(path.stat().st_size for path in WRITTEN.iterdir()) < MAX_BYTES
    assert {label.code for example in examples for label in example.labels} == set(load_taxonomy().codes)
    languages = Counter(example.dialogue.language for example in examples)
    assert set(languages) == {"en", "es", "ru", "de", "fr", "pt"}
    clean = sum(not example.labels for example in examples)
    assert 0.3 < clean / len(examples) < 0.5
    assert len({example.dialogue.id for example in examples}) == len(examples)


def test_labels_and_contraries_lie_on_turns_of_the_agent(sets: Sets) -> None:
    for rows in sets.values():
        for example in rows:
            dialogue = example.dialogue
            for label in example.labels:
                turn = dialogue.turns[label.turn]
                assert turn.role in JUDGED_ROLES, (dialogue.id, label)
                assert label.start is not None
                assert label.end is not None
                assert 0 <= label.start < label.end <= turn.n_places, (dialogue.id, label)
                assert label.code not in example.unlabelled


def test_no_author_and_no_copy_is_in_two_sets(sets: Sets) -> None:
    of_author: dict[object, set[str]] = {}
    for name, rows in sets.items():
        for example in rows:
            of_author.setdefault(example.dialogue.metadata["author"], set()).add(name)
    assert all(len(names) == 1 for names in of_author.values())
    rows = [(name, example.dialogue) for name, examples in sets.items() for example in examples]
    texts = ["\n".join(turn.text for turn in dialogue.turns) for _, dialogue in rows]
    pairs = linking_pairs(list(map(shingles, texts)), 0.5)
    assert not [(a, b) for a, b in pairs if rows[a][0] != rows[b][0]]


def test_no_mail_address_or_card_number_can_be_anybodys(sets: Sets) -> None:
    from stdnum import luhn

    for rows in sets.values():
        for example in rows:
            text = "\n".join(turn.text for turn in example.dialogue.turns)
            domains = re.findall(r"[\w.+-]@([\w.-]+\w)", text)
            reserved = re.compile(r".*\bexample(?:\.(?:com|org|net|\w{2}))?|[^.]*")
            assert all(reserved.fullmatch(domain) for domain in domains), (example.dialogue.id, domains)
            numbers = (re.sub(r"\D", "", run) for run in re.findall(r"\b(?:\d[ -]?){15,16}\b", text))
            valid = [digits for digits in numbers if luhn.is_valid(digits) and len(set(digits)) > 2]
            assert not valid, (example.dialogue.id, valid)
