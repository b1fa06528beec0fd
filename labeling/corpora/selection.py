"""Which dialogues of all corpora are kept, in which group and split; and what was left out, and why.

Pure: dialogues in, decisions out. Reads and writes no file.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dialint.detector.languages import detect_language
from dialint.detector.near_duplicates import batch_shingles, group_names, near_pairs, words
from dialint.labeling.corpora.quality import fault, rude_agent, rude_customer
from dialint.labeling.corpora.sources import SOURCES, CorpusDialogue
from dialint.labeling.synthetic.corpora import split_of


@dataclass(frozen=True)
class Kept:
    """A dialogue that is written; `group` is a hash, `split` one of train, heldout and measure."""

    dialogue: CorpusDialogue
    language: str
    group: str
    split: str


@dataclass(frozen=True)
class Selection:
    """What was kept, and per source what was counted and dropped (by reason) on the way."""

    kept: list[Kept] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    dropped: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def selected(
    dialogues: Iterable[CorpusDialogue],
    near: float,
    kin: float,
    languages: Sequence[str],
    injected: Mapping[str, str],
) -> Selection:
    """Filter, find copies, group and split. `injected` maps a dialogue's id to the group that ``data
    inject`` gave it; what that keeps from training is held out here, too."""
    selection = Selection()
    good = _worth_keeping(dialogues, languages, selection)
    groups, copies = _groups_and_copies([dialogue for dialogue, _ in good], near, kin, injected)
    splits = _splits([dialogue for dialogue, _ in good], groups, injected)
    for place, (dialogue, language) in enumerate(good):
        name = dialogue.source.name
        if place in copies:
            selection.dropped[name][copies[place]] += 1
            continue
        split = splits[groups[place]] if dialogue.source.use == "train" else "measure"
        group = hashlib.sha256(groups[place].encode()).hexdigest()[:16]  # the name itself may hold text
        selection.kept.append(Kept(dialogue, language, group, split))
        rude = {"rude_agents": rude_agent(dialogue), "rude_customers": rude_customer(dialogue)}
        selection.counts[name].update({"kept": 1, split: 1, **rude})
    return selection


def _worth_keeping(
    dialogues: Iterable[CorpusDialogue], languages: Sequence[str], selection: Selection
) -> list[tuple[CorpusDialogue, str]]:
    good = []
    for dialogue in sorted(dialogues, key=_rank):
        source = dialogue.source
        language = detect_language(dialogue.text, source.language)
        selection.counts[source.name].update(read=1)
        why = fault(dialogue) or ("language" if languages and language not in languages else None)
        if why:
            selection.dropped[source.name][why] += 1
        else:
            selection.counts[source.name].update(language_as_declared=language == source.language)
            good.append((dialogue, language))
    return good


def _rank(dialogue: CorpusDialogue) -> tuple[bool, int, int, str]:
    """Who stays of several copies comes first: one that may train, the earlier source, the longer text."""
    source = dialogue.source
    return source.use != "train", SOURCES.index(source), -len(dialogue.text), dialogue.id


def _groups_and_copies(
    dialogues: Sequence[CorpusDialogue], near: float, kin: float, injected: Mapping[str, str]
) -> tuple[list[str], dict[int, str]]:
    """The group of every dialogue, and which are copies (``exact`` or ``near``) of one that stays.

    A near-copy is one of a dialogue that stays itself: a chain of likenesses drops nobody.
    """
    first: dict[bytes, int] = {}
    copies: dict[int, str] = {}
    for place, dialogue in enumerate(dialogues):
        digest = hashlib.sha256(" ".join(words(dialogue.text)).encode()).digest()
        if first.setdefault(digest, place) != place:
            copies[place] = "exact"
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
    """The split of each group: held out if ``data inject`` keeps any of it from training, otherwise as
    inject has it; by the group's own hash where inject knows none of it."""
    known: dict[str, set[str]] = defaultdict(set)
    for dialogue, group in zip(dialogues, groups, strict=True):
        if dialogue.id in injected:
            known[group].add(split_of(injected[dialogue.id]))
    return {
        group: "train" if known.get(group, {split_of(group)}) == {"train"} else "heldout"
        for group in set(groups)
    }
