"""Selects the dialogues of all corpora, assigns group and split, and counts what was dropped, by reason.

Pure: reads and writes no file.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dialint.detector.languages import detect_language
from dialint.detector.near_duplicates import batch_shingles, group_names, near_pairs, words
from dialint.labeling.corpora.quality import is_agent_rude, is_customer_rude, rejection_reason
from dialint.labeling.corpora.sources import SOURCES, CorpusDialogue
from dialint.labeling.synthetic.corpora import split_of


@dataclass(frozen=True)
class SelectedDialogue:
    """A dialogue to write; `group` is a hash, `split` one of train, heldout and measure."""

    dialogue: CorpusDialogue
    language: str
    group: str
    split: str


@dataclass(frozen=True)
class Selection:
    """The selected dialogues; per source, counts of them and of what was dropped, by reason."""

    dialogues: list[SelectedDialogue] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    dropped: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def select_dialogues(
    dialogues: Iterable[CorpusDialogue],
    near: float,
    kin: float,
    languages: Sequence[str],
    injected: Mapping[str, str],
) -> Selection:
    """Filter, find copies, group and split. `injected` maps a dialogue's id to its group in ``data inject``;
    what is held out there is held out here, too."""
    selection = Selection()
    good = _filter_quality(dialogues, languages, selection)
    groups, copies = _groups_and_copies([dialogue for dialogue, _ in good], near, kin, injected)
    splits = _splits([dialogue for dialogue, _ in good], groups, injected)
    for index, (dialogue, language) in enumerate(good):
        name = dialogue.source.name
        if index in copies:
            selection.dropped[name][copies[index]] += 1
            continue
        split = splits[groups[index]] if dialogue.source.use == "train" else "measure"
        group = hashlib.sha256(groups[index].encode()).hexdigest()[:16]  # the name itself may hold text
        selection.dialogues.append(SelectedDialogue(dialogue, language, group, split))
        rude = {"rude_agents": is_agent_rude(dialogue), "rude_customers": is_customer_rude(dialogue)}
        selection.counts[name].update({"kept": 1, split: 1, **rude})
    return selection


def _filter_quality(
    dialogues: Iterable[CorpusDialogue], languages: Sequence[str], selection: Selection
) -> list[tuple[CorpusDialogue, str]]:
    good = []
    for dialogue in sorted(dialogues, key=_rank):
        source = dialogue.source
        language = detect_language(dialogue.text, source.language)
        selection.counts[source.name].update(read=1)
        reason = rejection_reason(dialogue)
        if reason is None and languages and language not in languages:
            reason = "language"
        if reason:
            selection.dropped[source.name][reason] += 1
        else:
            selection.counts[source.name].update(language_as_declared=language == source.language)
            good.append((dialogue, language))
    return good


def _rank(dialogue: CorpusDialogue) -> tuple[bool, int, int, str]:
    """Sort key; the first of several copies is selected: trainable, then the earlier source, the longer
    text."""
    source = dialogue.source
    return source.use != "train", SOURCES.index(source), -len(dialogue.text), dialogue.id


def _groups_and_copies(
    dialogues: Sequence[CorpusDialogue], near: float, kin: float, injected: Mapping[str, str]
) -> tuple[list[str], dict[int, str]]:
    """The group of every dialogue, and by index the kind of copy (``exact`` or ``near``).

    A near-copy is one of a selected dialogue: a chain of near-copies is not dropped as a whole.
    """
    first: dict[bytes, int] = {}
    copies: dict[int, str] = {}
    for index, dialogue in enumerate(dialogues):
        digest = hashlib.sha256(" ".join(words(dialogue.text)).encode()).digest()
        if first.setdefault(digest, index) != index:
            copies[index] = "exact"
    pairs = near_pairs(batch_shingles([dialogue.text for dialogue in dialogues]), kin)
    for later, earlier, value in pairs:  # in order of the later one, so the earlier is decided
        if value >= near and later not in copies and earlier not in copies:
            copies[later] = "near"
    keys = [
        (*dialogue.kin, injected[dialogue.id]) if dialogue.id in injected else dialogue.kin
        for dialogue in dialogues
    ]
    return group_names(keys, ((later, earlier) for later, earlier, _ in pairs)), copies


def _splits(
    dialogues: Sequence[CorpusDialogue], groups: Sequence[str], injected: Mapping[str, str]
) -> dict[str, str]:
    """The split of each group: train if ``data inject`` trains on all of it, held out otherwise; by the
    group's own hash where ``data inject`` has none of its dialogues."""
    inject_splits: dict[str, set[str]] = defaultdict(set)
    for dialogue, group in zip(dialogues, groups, strict=True):
        if dialogue.id in injected:
            inject_splits[group].add(split_of(injected[dialogue.id]))
    return {
        group: "train" if inject_splits.get(group, {split_of(group)}) == {"train"} else "heldout"
        for group in set(groups)
    }
