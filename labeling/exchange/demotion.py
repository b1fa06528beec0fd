"""Counts how often people confirm a release's findings, and demotes the codes that they seldom confirm.

The last answer of an expert, else of a reviewer, decides about a finding; a decided appeal is an expert's
answer. The finding is confirmed if the same code is marked in the same turn (for codes of dialogue scope:
anywhere). What labelers say in blind projects decides nothing here. Reviewers see the finding, which makes
them agree rather than not: a code may be demoted later than it deserves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_names, check_ranges
from dialint.detector.overrides import update_overrides
from dialint.detector.records import Record
from dialint.detector.statistics import clopper_pearson_upper
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.aggregation.dialogue_answers import dialogue_codes
from dialint.labeling.dataset.examples import DialogueAnnotations
from dialint.labeling.dataset.preferences import DECIDERS, deciding_answer
from dialint.labeling.exchange.store_transfer import load_by_dialogue
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import load_dialogue, load_verdicts


class Confirmations(Record):
    """Number of decided findings of one code, and of confirmed ones among them."""

    confirmed: int
    answered: int

    def upper(self, confidence: float) -> float:
        """Upper bound of the share that is confirmed (Clopper and Pearson, one-sided)."""
        return clopper_pearson_upper(self.confirmed, self.answered, confidence)


Counts = dict[str, dict[str, Confirmations]]
"""By release and code."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DemoteConfig:
    """Criteria for demoting a code."""

    overrides: Path | None = None
    """File for `dialint score --overrides`, which the demoted codes are written into."""
    release: str | None = None
    """Release whose codes are demoted; without it the only one whose findings people decided about."""
    below: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Demote a code if its share of confirmed findings is surely below this."""
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.9
    """How sure."""
    least: Annotated[int, Field(ge=1)] = 10
    """Demote no code with fewer answered findings."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def select_demoted(self, release: str, by_code: Mapping[str, Confirmations]) -> dict[str, str]:
        """Select the codes of a release that are demoted, each with the reason."""
        return {
            code: f"people confirmed {each.confirmed} of {each.answered} findings of {release}"
            for code, each in by_code.items()
            if each.answered >= self.least and each.upper(self.confidence) < self.below
        }


def demote(store: Store, actor: str, config: DemoteConfig) -> Counts:
    """Count the confirmed findings, and write the demoted codes into `config.overrides`.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: E_OPTION, there are several releases, and none is named, or one without decisions.
    """
    counts = count_confirmed(store, actor, dialogue_codes(load_taxonomy(config.taxonomy)))
    if config.release is not None:
        check_names("--release", [config.release], counts)
        counts = {config.release: counts[config.release]}
    if config.overrides is not None:
        if not counts:
            raise ConfigError("E_OPTION", "--overrides: nobody has decided about a finding yet")
        if len(counts) != 1:
            raise ConfigError("E_OPTION", f"--release: one of {', '.join(counts)}")
        [(release, by_code)] = counts.items()
        update_overrides(config.overrides, release, demoted=config.select_demoted(release, by_code))
    return counts


def count_confirmed(store: Store, actor: str, whole: frozenset[str]) -> Counts:
    """Count the findings that people have decided, and those they confirmed. Several findings of a code in a
    turn are one; those of the codes `whole` are of the dialogue.

    Raises:
        NotAllowed: the actor does not review.
    """
    answers: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for name, by_people in load_by_dialogue(store, actor, None).items():
        if not any(annotation.kind in DECIDERS for annotation in by_people):
            continue
        verdicts = store.read(partial(load_verdicts, name=name))
        dialogue = store.read(partial(load_dialogue, name=name))
        assert dialogue is not None, "a foreign key"
        people = DialogueAnnotations(dialogue, by_people, whole)
        for verdict in verdicts:
            for turn, code in sorted({(finding.turn, finding.code) for finding in verdict.findings}):
                answer = deciding_answer(people, turn, code)
                if answer is not None:
                    is_confirmed = bool(people.matching_findings(answer, turn, code))
                    answers[verdict.release, code].append(is_confirmed)
    counts: Counts = defaultdict(dict)
    for (release, code), confirmed in sorted(answers.items()):
        counts[release][code] = Confirmations(confirmed=sum(confirmed), answered=len(confirmed))
    return dict(counts)
