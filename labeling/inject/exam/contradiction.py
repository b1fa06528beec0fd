"""Agents who contradict themselves (U3): on a figure, on yes or no, on what they have really stated.

For figures the twin differs in the value alone, for yes and no in what was said first.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.inject.exam.staging import MIN_TURNS, added, as_agent
from dialint.labeling.inject.exam.wordings.claims import CLAIMS, CORRECTIONS, FIGURES, RECALLED
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Pool
from dialint.labeling.synthetic.insertion import open_places
from dialint.labeling.synthetic.phrases import capital, say
from dialint.labeling.synthetic.places import content_words, is_closing, joined, plain, shuffled, wrong
from dialint.labeling.synthetic.statements import otherwise, speaks_of, stated_in

_ELSE = re.compile(
    r"\b(else|another|other|different|instead|change|rather|alternatives?|options?)\b", re.IGNORECASE
)
_STARS = {"1", "2", "3", "4", "5"}

MIN_APART = 2
"""Turns from the first statement to the second, at least."""


def _apart(draft: Draft, rng: Random) -> tuple[int, int] | None:
    """Two turns of the agent, not next to each other, to state a thing in and to state it again."""
    places = [place for place in open_places(draft) if not is_closing(draft.turns[place].text)]
    pairs = [(one, two) for one in places for two in places if two - one >= MIN_APART]
    return rng.choice(pairs) if pairs and len(draft.turns) >= MIN_TURNS else None


def _new_to(draft: Draft, statement: str) -> bool:
    """Whether the talk has not been about this."""
    return not content_words(statement) & content_words(" ".join(turn.text for turn in draft.turns))


def _line(words: tuple[str, ...], draft: Draft, rng: Random, **values: str) -> str:
    return as_agent(capital(say({"say": (rng.choice(words),)}, rng, **values)), draft)


def _state(draft: Draft, place: int, words: str) -> Draft:
    return draft.with_turn(place, added(draft.turns[place], words))


def _again(draft: Draft, place: int, words: str, family: str, first: bool) -> Draft:
    """The second statement in the turn at `place`, before or after its own words."""
    turn = draft.turns[place]
    if first:
        text, start, end = joined(words, turn.text)[0], 0, len(words)
    else:
        text, start, end = joined(turn.text, words)
    made = wrong(text, family, "U3", start=start, end=end) if family else plain("agent", text, "U3")
    return draft.with_turn(place, made)


def _figure(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    pair = _apart(draft, rng)
    for first, second, values in rng.sample(FIGURES, len(FIGURES)) if pair else ():
        if pair is None or not _new_to(draft, first[0] + " " + second[0]):
            continue
        value, other = rng.sample(values, 2)
        stated = _state(draft, pair[0], _line(first, draft, rng, v=value))
        words = rng.choice(second)
        bad, good = (_line((words,), draft, rng, v=each) for each in (other, value))
        before = rng.random() < 0.4
        return Made(
            _again(stated, pair[1], bad, "U3.house-figure", before), _again(stated, pair[1], good, "", before)
        )
    return None


def _yes_and_no(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    pair = _apart(draft, rng)
    for yes, no, yes_again, no_again in rng.sample(CLAIMS, len(CLAIMS)) if pair else ():
        if pair is None or not _new_to(draft, yes[0] + " " + no[0]):
            continue
        against, fitting, words = (no, yes, yes_again) if rng.random() < 0.5 else (yes, no, no_again)
        again = _line(words, draft, rng)
        before = rng.random() < 0.4
        error = _state(draft, pair[0], _line(against, draft, rng))
        twin = _state(draft, pair[0], _line(fitting, draft, rng))
        return Made(
            _again(error, pair[1], again, "U3.yes-and-no", before), _again(twin, pair[1], again, "", before)
        )
    return None


def _recalled(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """What the agent really stated, told again some turns later, before anything else of its kind."""
    for place in shuffled(open_places(draft), rng):
        for stated in stated_in(draft.turns[place].text):
            wordings = RECALLED.get(stated.kind)
            later = _silent_after(draft, place, stated.kind)
            wrong_value = otherwise(stated.value, rng)
            if "," in stated.value:  # other values come without the comma, which would tell
                continue
            if stated.kind == "stars" and wrong_value not in _STARS:
                continue
            if wordings is None or not later or not wrong_value or wrong_value == stated.value:
                continue
            words, at, before = rng.choice(wordings), rng.choice(later), rng.random() < 0.4
            bad, good = (
                _line((words,), draft, rng, v=each.removesuffix(" minutes"))  # the wordings name the unit
                for each in (wrong_value, stated.value)
            )
            return Made(_again(draft, at, bad, "U3.recalled", before), _again(draft, at, good, "", before))
    return None


def _silent_after(draft: Draft, place: int, kind: str) -> list[int]:
    """Open agent turns after `place` up to the first turn that speaks of this kind or of another choice."""
    found = []
    for at in range(place + 1, len(draft.turns)):
        turn = draft.turns[at]
        if turn.touched or speaks_of(kind, turn.text) or is_closing(turn.text):
            break
        if turn.role == "customer" and _ELSE.search(turn.text):  # from here on it may be about another one
            break
        if turn.role == "agent" and at - place >= MIN_APART:
            found.append(at)
    return [at for at in found[:3] if at in open_places(draft)]


def _corrected(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The agent takes a figure back openly."""
    pair = _apart(draft, rng)
    for first, second, values in rng.sample(FIGURES, len(FIGURES)) if pair else ():
        if pair is None or not _new_to(draft, first[0] + " " + second[0]):
            continue
        old, new = rng.sample(values, 2)
        stated = _state(draft, pair[0], _line(first, draft, rng, v=old))
        turn = added(
            DraftTurn("agent", draft.turns[pair[1]].text), _line(CORRECTIONS, draft, rng, v=new, w=old)
        )
        return stated.with_turn(pair[1], plain("agent", turn.text, "U3"))
    return None


FAMILIES = (
    Family("U3", "U3.house-figure", _figure, "exam"),
    Family("U3", "U3.yes-and-no", _yes_and_no, "exam"),
    Family("U3", "U3.recalled", _recalled, "exam"),
)
NEGATIVES = (HardNegative("U3", "U3.not-taken-back", _corrected, "exam"),)
