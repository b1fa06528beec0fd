"""Answers about dialogues as crowd tables that know when each answer was given, and the spans marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from dialint.detector.records import Dialogue
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.dialogue_answers import ANYWHERE, CodeAnswers, Item, Known, gathered
from dialint.labeling.agreement.spans import Marked, Read
from dialint.labeling.annotation import Annotation, questions_in


def dated(
    annotations: Iterable[Annotation], dialogues: Mapping[str, Dialogue], of_dialogue: frozenset[str]
) -> tuple[dict[str, Answers], dict[str, list[Read]]]:
    """The crowd table of each code, and what each of its readers marked in each turn; of a person's several
    answers to a question the last counts, and its time. Takes a stream, oldest first; `of_dialogue` are the
    codes of dialogue scope.

    Raises:
        KeyError: a dialogue that is not among `dialogues`.
    """
    times: dict[tuple[str, Item, str], float] = {}
    known: dict[str, Known] = {}
    lengths: dict[str, list[int]] = {}

    def timed() -> Iterator[Annotation]:
        for one in annotations:
            if one.dialogue_id not in known:
                dialogue = dialogues[one.dialogue_id]
                known[one.dialogue_id] = Known.of(dialogue, None)
                lengths[one.dialogue_id] = [len(turn.text) for turn in dialogue.turns]
            if one.kind != "model":
                at = float("nan") if one.at is None else one.at.timestamp()
                for turn, code, _ in questions_in(one, known[one.dialogue_id].judged, of_dialogue):
                    item = Item(one.dialogue_id, ANYWHERE if code in of_dialogue else turn)
                    times[code, item, one.labeler] = at
            yield one

    found = gathered(timed(), known.__getitem__, of_dialogue)
    tables = found.tables()
    for code, table in tables.items():
        said = found.codes[code].said.items()
        at = [times[code, item, who] for item, votes in said for who in votes]  # as rows stand in the table
        tables[code] = replace(table, at=np.array(at))
    return tables, {code: list(_read(answers, known, lengths)) for code, answers in found.codes.items()}


def _read(
    answers: CodeAnswers, known: Mapping[str, Known], lengths: Mapping[str, list[int]]
) -> Iterator[Read]:
    for item, votes in answers.said.items():
        spans = answers.spans.get(item, {})
        for turn in known[item.dialogue].judged if item.turn == ANYWHERE else (item.turn,):
            marked = {
                who: [Marked(start, end) for at, start, end in spans.get(who, ()) if at == turn]
                for who in votes
            }
            yield Read(lengths[item.dialogue][turn], marked)
