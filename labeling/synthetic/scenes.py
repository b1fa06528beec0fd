"""Where a short exchange that a held-out generator brings in fits a dialogue, and side questions for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

from dialint.labeling.synthetic.dialogue_acts import asks_anything, is_closing, is_thanks
from dialint.labeling.synthetic.draft import Draft, shuffle
from dialint.labeling.synthetic.insertion import render
from dialint.labeling.synthetic.wordings import Texts, Wordings

MIN_TURNS = 6
"""Turns of a dialogue that is long enough to hold a scene."""

Aspect = tuple[Texts, tuple[str, ...], Texts]
"""Questions, for each the numbers of its answers, and the answers; see the file."""

SIDE_QUESTIONS = Wordings("heldout/side_questions")
ASPECTS: dict[str, Aspect] = SIDE_QUESTIONS.records_by_name("aspects", "questions", "answered_by", "answers")


def scene_indexes(draft: Draft, rng: Random, last: bool = True) -> list[int]:
    """Indexes before a customer turn where the agent has just spoken and asked nothing, so that a scene
    opened by the customer fits in; inside the dialogue, not after leave was taken. In random order."""
    turns = draft.turns
    if len(turns) < MIN_TURNS:
        return []
    indexes = [
        index
        for index in range(2, len(turns))
        if turns[index].role == "customer"
        and turns[index - 1].role == "agent"
        and not turns[index - 1].touched
        and not turns[index].touched
        and not asks_anything(turns[index - 1].text)
        and not any(is_closing(turn.text) for turn in turns[:index])
        and (last or index + 2 < len(turns))
    ]
    return shuffle(indexes, rng)


def reply_indexes(draft: Draft, rng: Random, first: int = 1) -> list[int]:
    """Untouched agent turns right after an untouched customer turn that takes no leave, in random order."""
    turns = draft.turns
    indexes = [
        index
        for index in range(first, len(turns))
        if turns[index].role == "agent"
        and turns[index - 1].role == "customer"
        and not turns[index].touched
        and not turns[index - 1].touched
        and not is_closing(turns[index].text)
        and not (is_thanks(turns[index - 1].text) and "?" not in turns[index - 1].text)
    ]
    return shuffle(indexes, rng)


def sample_side_question(aspect: str, rng: Random) -> tuple[str, str]:
    """A question about the aspect, and an answer that does answer it."""
    questions, answered_by, answers = ASPECTS[aspect]
    which = rng.randrange(len(questions))
    fitting = answers[int(rng.choice(answered_by[which].split())) - 1]
    return render(questions[which], {}, rng), render(fitting, {}, rng)


def is_silent_on(pattern: str, texts: Iterable[str]) -> bool:
    """Whether none of the texts speaks of what the pattern (case ignored) means."""
    sought = re.compile(pattern, re.IGNORECASE)
    return not any(sought.search(text) for text in texts)
