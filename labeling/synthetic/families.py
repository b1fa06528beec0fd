"""Every family of errors and of hard negatives, and how they are put into drafts.

From one clean draft to examples: with an error and its clean twin, with a hard negative, or as it is. The
choice of codes and families leans towards those made least so far.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

from dialint.detector.records import Example
from dialint.labeling.synthetic import (
    completeness,
    contradiction,
    empathy,
    grammar,
    process,
    repetition,
    resolution,
    security,
    spelling,
    state,
    state_planted,
    template,
    tone,
    topic,
)
from dialint.labeling.synthetic.example_draft import ErrorPair, ExampleDraft, Family, HardNegative, Pool

_MODULES = (
    spelling,
    grammar,
    tone,
    empathy,
    template,
    repetition,
    completeness,
    state,
    state_planted,
    contradiction,
    topic,
    security,
    resolution,
    process,
)


def all_families() -> tuple[Family, ...]:
    """All families, sorted by code and name."""
    families = (family for module in _MODULES for family in module.FAMILIES)
    return tuple(sorted(families, key=lambda family: (family.code, family.name)))


def all_negatives() -> tuple[HardNegative, ...]:
    """All hard negatives, sorted by code and name."""
    negatives = (negative for module in _MODULES for negative in module.NEGATIVES)
    return tuple(sorted(negatives, key=lambda negative: (negative.code, negative.name)))


Text = TypeVar("Text")

DENSE = frozenset({"L1", "L2"})
"""Codes that are errors in any context: a dialogue may have several, for more training signal per token."""
MOST_DENSE = 8
"""Such errors in one dialogue, at most."""

MAX_POOLED = 4000
"""Texts of each kind and domain in the pool, at most."""

WEIGHTS = {"U2": 1.3, "U3": 1.3, "C1": 1.3, "L1": 1.2, "L2": 1.8}
"""Codes that need more examples than the others, which have weight 1."""


def build_pool(drafts: Iterable[ExampleDraft], rng: Random) -> Pool:
    """The texts of the drafts of one split, by domain, in random order."""
    agent: dict[str, list[str]] = defaultdict(list)
    customer: dict[str, list[str]] = defaultdict(list)
    exchanges: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for draft in drafts:
        for before, turn in zip((None, *draft.turns), draft.turns, strict=False):
            (agent if turn.role == "agent" else customer)[draft.domain].append(turn.text)
            if before and before.role == "customer" and turn.role == "agent":
                exchanges[draft.domain].append((before.text, turn.text))
    return Pool(_sample_texts(agent, rng), _sample_texts(customer, rng), _sample_texts(exchanges, rng))


def _sample_texts(by_domain: Mapping[str, list[Text]], rng: Random) -> dict[str, list[Text]]:
    return {domain: rng.sample(texts, min(len(texts), MAX_POOLED)) for domain, texts in by_domain.items()}


def _with_probe(twin: ExampleDraft, before: ExampleDraft, code: str) -> ExampleDraft:
    """The twin with its counterpart turn as probe: if the family sets none, the agent turns that it made."""
    if any(turn.probe for turn in twin.turns):
        return twin
    made = (
        replace(turn, probe=code)
        if turn.role == "agent" and turn.touched and turn not in before.turns
        else turn
        for turn in twin.turns
    )
    return replace(twin, turns=tuple(made))


@dataclass
class Mixer:
    """Puts errors of `families` into drafts of one split; `share` of them get one, `second` of those a
    second one; of the others `dense` get several of `DENSE`, and `hard` of the rest a hard negative.
    `counts` are by family and negative; `dense_counts` are separate, so that each kind is balanced by
    itself."""

    families: Sequence[Family]
    pool: Pool
    share: float
    negatives: Sequence[HardNegative] = ()
    hard: float = 0.5
    second: float = 0.15
    dense: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    dense_counts: Counter[str] = field(default_factory=Counter)
    twins: Counter[str] = field(default_factory=Counter)

    def examples(self, draft: ExampleDraft, rng: Random, split: str, tag: str = "") -> list[Example]:
        """The draft with its error and clean twin, or clean; `tag` keeps ids apart."""
        first = self._make_error(draft, rng, frozenset(), self.counts) if rng.random() < self.share else None
        if first is None:
            several = self._make_dense(draft, rng, tag) if self.dense and rng.random() < self.dense else None
            return [(several or self._make_negative(draft, rng, tag)).to_example(split)]
        family, made = first
        stem = f"{draft.id}~{tag}{family.name}"
        error, twins = made.error, [_with_probe(made.twin, draft, family.code)] if made.twin else []
        if rng.random() < self.second:
            codes = frozenset(mark.code for turn in error.turns for mark in turn.marks)
            # not R1: it cuts the dialogue off, and the first error with it
            more = self._make_error(error, rng, codes | {"R1"}, self.counts)
            error = more[1].error if more else error
        self.twins[family.name] += len(twins)
        pair = stem if twins else None
        return [replace(error, id=stem).to_example(split, pair)] + [
            replace(twin, id=f"{stem}~twin").to_example(split, pair) for twin in twins
        ]

    def _make_dense(self, draft: ExampleDraft, rng: Random, tag: str) -> ExampleDraft | None:
        """The draft with errors of `DENSE`, or None where none fits."""
        without = frozenset(family.code for family in self.families) - DENSE
        several = draft
        for _ in range(rng.randint(2, MOST_DENSE)):
            if more := self._make_error(several, rng, without, self.dense_counts):
                several = more[1].error
        return replace(several, id=f"{draft.id}~{tag}dense") if several is not draft else None

    def _make_negative(self, draft: ExampleDraft, rng: Random, tag: str) -> ExampleDraft:
        """The draft as it is, or with a hard negative of the kind made least so far."""
        if not self.negatives or rng.random() >= self.hard:
            return draft
        need = {n.name: (self.counts[n.name] + 1) * rng.uniform(0.5, 1.5) for n in self.negatives}
        for negative in sorted(self.negatives, key=lambda n: need[n.name]):
            if made := negative.make(draft, rng, self.pool):
                self.counts[negative.name] += 1
                return replace(made, id=f"{draft.id}~{tag}{negative.name}")
        return draft

    def _make_error(
        self, draft: ExampleDraft, rng: Random, without: frozenset[str], counts: Counter[str]
    ) -> tuple[Family, ErrorPair] | None:
        by_code: dict[str, list[Family]] = defaultdict(list)
        for family in self.families:
            if family.code not in without:
                by_code[family.code].append(family)
        while by_code:
            codes = list(by_code)
            code = rng.choices(codes, [_need(code, counts) for code in codes])[0]
            choice = by_code.pop(code)
            need = {family.name: (counts[family.name] + 1) * rng.uniform(0.5, 1.5) for family in choice}
            for family in sorted(choice, key=lambda family: need[family.name]):
                if made := family.make(draft, rng, self.pool):
                    counts[family.name] += 1
                    return family, made
        return None


def _need(code: str, counts: Counter[str]) -> float:
    made = sum(count for name, count in counts.items() if name.startswith(f"{code}."))
    return WEIGHTS.get(code, 1.0) / (made + 20) ** 2
