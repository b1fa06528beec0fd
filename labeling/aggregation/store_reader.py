"""Reads answers from the store, of all people whose work counts, and computes their posteriors.

Reads one project or the whole store; writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dialint.detector.errors import ConfigError, Message
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.dialogue_answers import (
    WHOLE_DIALOGUE,
    CollectedAnswers,
    DialogueContext,
    collect_answers,
    dialogue_codes,
)
from dialint.labeling.aggregation.question_posteriors import (
    GoldAnswers,
    QuestionPosterior,
    question_posteriors,
)
from dialint.labeling.store.counted_annotations import iterate_counted
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import load_dialogue, load_verdict
from dialint.labeling.store.gold import list_gold


def load_posteriors(
    store: Store, actor: str, project: str | None, taxonomy: Taxonomy, *, share_workers: bool = False
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
    return [gold.override(one) for one in question_posteriors(answers, share_workers, gold)]


def load_answers(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> CollectedAnswers:
    """The answers of all whose work counts, in a project or in the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    annotations, codes = iterate_counted(store, actor, project), dialogue_codes(taxonomy)
    answers = collect_answers(annotations, context_loader(store), codes)
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
    return GoldAnswers(present, codes)


def context_loader(store: Store) -> Callable[[str], DialogueContext]:
    """A function that loads the context of a dialogue by name."""

    def load(transaction: Transaction, name: str) -> DialogueContext:
        dialogue = load_dialogue(transaction, name)
        assert dialogue is not None, "a foreign key"
        return DialogueContext.of(dialogue, load_verdict(transaction, name))

    return lambda name: store.read(partial(load, name=name))
