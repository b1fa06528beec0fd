"""The posterior of every answered question, people and model together, of answers in memory or in the store.

Gold takes part in the fit, where it informs the estimates of the labelers and of the other questions, and
replaces the posterior of its own question. Of the store, the answers of all people whose work counts are
read, in one project or everywhere; nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import compress

import numpy as np

from dialint.detector.errors import ConfigError, Message
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.dialogue_answers import (
    WHOLE_DIALOGUE,
    CollectedAnswers,
    DialogueContext,
    collect_answers,
    dialogue_codes,
)
from dialint.labeling.aggregation.methods import aggregate_codes
from dialint.labeling.aggregation.overlap import expected_gains
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import load_dialogue, load_verdict
from dialint.labeling.store.gold import list_gold
from dialint.labeling.store.stored_annotations import iterate_counted


@dataclass(frozen=True, slots=True)
class QuestionPosterior:
    """The `probability` of an error of one code in one turn after `n_labelers` answered, of whom `n_yes`
    found it; `n_independent` of them do not always give the same answer (`Answers.constant_workers`).
    `model` is the model's probability, none where it has none or was in view; `gold` says that the answer is
    gold. `start` and `end` are the evidence most agree on, if any is in this turn. `gains` are what further
    answers are expected to bring, a row of `aggregation.overlap.expected_gains`, empty for gold."""

    dialogue: str
    turn: int
    code: str
    probability: float
    n_labelers: int
    n_yes: int
    n_independent: int
    model: float | None = None
    gold: bool = False
    start: int | None = None
    end: int | None = None
    gains: tuple[float, ...] = ()

    @property
    def confidence(self) -> float:
        """The probability of the likelier answer, 0.5 to 1."""
        return max(self.probability, 1.0 - self.probability)

    @property
    def unanimous(self) -> bool:
        """Whether everybody gave the same answer."""
        return self.n_yes in (0, self.n_labelers)


GoldAnswers = Mapping[tuple[str, int, str], bool]
"""Whether an error is there, by dialogue, turn (or `WHOLE_DIALOGUE`) and code."""


def question_posteriors(
    answers: CollectedAnswers, share_workers: bool = False, gold: GoldAnswers | None = None
) -> Iterator[QuestionPosterior]:
    """The posteriors of the joint method, by code and in the order in which the questions were first
    answered; gold takes part in the fit and replaces the posterior of its own question."""
    tables, gold = answers.tables(), gold or {}
    models: dict[str, Floats] = {code: answers.model_probabilities(code) for code in tables}
    golds = {
        code: np.array([int(gold.get((*item, code), -1)) for item in answers.codes[code].votes])
        for code in tables
    }
    posteriors = aggregate_codes(tables, "joint", models, share_workers, golds if gold else None)
    for code, posterior in posteriors.items():
        assert posterior.components is not None, "the joint method has them"
        ignored = frozenset(compress(tables[code].workers, tables[code].constant_workers()))
        rows = zip(
            answers.codes[code].votes.items(),
            posterior.probabilities[:, 1],
            expected_gains(posterior.components),
            models[code][:, 1],
            golds[code],
            strict=True,
        )
        for (item, votes), probability, gains, by_model, present in rows:
            turn, start, end = answers.codes[code].locate(item, answers.contexts[item.dialogue].judged_turns)
            yield QuestionPosterior(
                item.dialogue,
                turn,
                code,
                float(probability if present < 0 else present),
                n_labelers=len(votes),
                n_yes=sum(map(bool, votes.values())),
                n_independent=len(votes.keys() - ignored),
                model=None if np.isnan(by_model) else float(by_model),
                gold=bool(present >= 0),
                start=start,
                end=end,
                gains=() if present >= 0 else tuple(gains.tolist()),
            )


def load_posteriors(
    store: Store,
    actor: str,
    project: str | None,
    taxonomy: Taxonomy,
    *,
    share_workers: bool = False,
) -> list[QuestionPosterior]:
    """The posteriors of all answered questions, by code and in the order in which they were first answered.

    `project` none takes all answers in the store, also imported ones. With `share_workers` each person has
    one confusion matrix for all codes.

    Raises:
        NotAllowed: the actor does not decide.
        ConfigError: nobody has answered anything.
    """
    gold = load_gold(store, actor, taxonomy)
    answers = load_answers(store, actor, project, taxonomy)
    return list(question_posteriors(answers, share_workers, gold))


def load_answers(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> CollectedAnswers:
    """The answers of all whose work counts, in a project or in the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """

    def load(transaction: Transaction, name: str) -> DialogueContext:
        dialogue = load_dialogue(transaction, name)
        assert dialogue is not None, "a foreign key"
        return DialogueContext.of(dialogue, load_verdict(transaction, name))

    annotations, codes = iterate_counted(store, actor, project), dialogue_codes(taxonomy)
    answers = collect_answers(annotations, lambda name: store.read(partial(load, name=name)), codes)
    if not answers.codes:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=project or Message("the store"))
    return answers


def load_gold(store: Store, actor: str, taxonomy: Taxonomy) -> GoldAnswers:
    """All gold, retired gold too; a code of dialogue scope is present if it is in any turn.

    Raises:
        NotAllowed: the actor does not decide.
    """
    codes, present = dialogue_codes(taxonomy), dict[tuple[str, int, str], bool]()
    for gold in list_gold(store, actor, retired=True):
        key = (gold.dialogue, WHOLE_DIALOGUE if gold.code in codes else gold.turn, gold.code)
        present[key] = gold.present or present.get(key, False)
    return present
