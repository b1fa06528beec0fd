"""U3: the agent states one value first and another later, with nothing between them to change it.

The twin repeats the right value in the same words, so that only memory tells the two apart.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from dialint.labeling.inject.wordings.restatements import (
    ASK_AGAIN,
    DONE,
    FACTS,
    FLIPPED,
    KEPT,
    LABELS,
    QUESTIONS,
    RECAP,
    RESTATE,
    TELL_AGAIN,
)
from dialint.labeling.synthetic import contradiction_planted
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Made, Pool, Use
from dialint.labeling.synthetic.phrases import Grammar, capital, like, say
from dialint.labeling.synthetic.places import agent_texts, joined, plain, shuffled, spliced, wrong
from dialint.labeling.synthetic.statements import Stated, otherwise, same_value, speaks_of, stated_in

MAX_DISTANCE = 8
"""Turns between a statement and its repetition."""

MIN_TELLING = 4
"""Characters of a figure that means one thing wherever it stands: a time, a price, a reference."""

_TAKES_BACK = re.compile(
    r"\b(?:sorry|apolog\w*|mistake\w*|glitch|correct\w*|instead|actually|wrong|error|rather|other|another)\b",
    re.IGNORECASE,
)
_DONE = re.compile(DONE, re.IGNORECASE)
_FIGURE = re.compile(
    r"(?<![\w:.])[£$]?\d[\d:.,-]{0,30}\d(?![\w:])|\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6,8}\b"
)


def _chances(draft: Draft, rng: Random) -> list[tuple[int, int, Stated]]:
    """(agent turn that states, later agent turn, what), nothing else being said of it between, in
    random order."""
    turns, found = draft.turns, []
    for place, turn in enumerate(turns):
        if turn.role != "agent" or turn.touched:
            continue
        for stated in stated_in(turn.text):
            for later in range(place + 1, min(place + MAX_DISTANCE, len(turns))):
                if speaks_of(stated.kind, turns[later].text):
                    break
                if turns[later].role == "agent" and not turns[later].touched and later > place + 1:
                    found.append((place, later, stated))
    rng.shuffle(found)
    return found


def _phrase(grammar: Grammar, stated: Stated, value: str, draft: Draft, seed: float) -> str:
    rng = Random(seed)
    rules = {**grammar, "fact": FACTS[stated.kind], "label": LABELS[stated.kind]}
    rules["question"] = QUESTIONS[stated.kind]
    return like(capital(say(rules, rng, value=value)), agent_texts(draft))


def _another(draft: Draft, stated: Stated, rng: Random) -> str | None:
    """A value that contradicts the stated one and that nobody has named; None if there is none."""
    if stated.kind == "stars":
        value: str | None = rng.choice([star for star in "12345" if star != stated.value])
    else:
        value = otherwise(stated.value, rng)
    if value is None or same_value(value, stated.value):
        return None
    named = stated.kind != "stars" and any(_spelled(value).search(turn.text) for turn in draft.turns)
    return None if named else value


def _spelled(value: str) -> re.Pattern[str]:
    """The value where it stands by itself in a text."""
    return re.compile(rf"(?<![\w.:]){re.escape(value)}(?![\w:]|\.\d)")


def _elsewhere(draft: Draft, value: str, new: str, at: int) -> Draft | None:
    """The draft in which every turn but `at` says `new` for `value`; None if a mark is in the way."""
    found = _spelled(value)
    turns = []
    for place, turn in enumerate(draft.turns):
        changed = found.sub(lambda _: new, turn.text) if place != at else turn.text
        if changed != turn.text and turn.marks:
            return None
        turns.append(turn if changed == turn.text else replace(turn, text=changed))
    return replace(draft, turns=tuple(turns))


def _turned(made: Made, right: str, new: str, at: int, rng: Random, swap: bool) -> Made:
    """Half of the time the pair with the other history: what was said before is `new` in both, so that
    the made-up value is the faithful one and the real value is no sign of a clean turn."""
    if not swap or made.twin is None:
        return made
    error, twin = (_elsewhere(half, right, new, at) for half in (made.error, made.twin))
    if error is None or twin is None:
        return made
    bad, good = made.error.turns[at], made.twin.turns[at]
    mark = bad.marks[0]
    end = mark.end + len(good.text) - len(bad.text)
    bad_now = replace(good, probe="", marks=(replace(mark, end=end),))
    return Made(error.with_turn(at, bad_now), twin.with_turn(at, replace(bad, probe="U3", marks=())))


def _repeated(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """A later agent turn also repeats the value, before or after what it says."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for _, later, stated in _chances(draft, rng):
            value = _another(draft, stated, rng)
            if value is None:
                continue
            seed, first, text = rng.random(), rng.random() < 0.25, draft.turns[later].text
            bad, good = (_phrase(grammar, stated, v, draft, seed) for v in (value, stated.value))
            if first:
                made = wrong(joined(bad, text)[0], f"U3.{name}", "U3", end=len(bad))
                twin = plain("agent", joined(good, text)[0], "U3")
            else:
                whole, start, end = joined(text, bad)
                made = wrong(whole, f"U3.{name}", "U3", start=start, end=end)
                twin = plain("agent", joined(text, good)[0], "U3")
            pair = Made(draft.with_turn(later, made), draft.with_turn(later, twin))
            return _turned(pair, stated.value, value, later, rng, use == "train" and rng.random() < 0.5)
        return None

    return Family("U3", f"U3.{name}", make, use)


def _asked(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The customer asks for it once more and gets another value."""
    for place, later, stated in _chances(draft, rng):
        value = _another(draft, stated, rng)
        at = later if draft.turns[later - 1].role == "agent" else later - 1
        if value is None or at <= place:
            continue
        ask = plain("customer", capital(say({**ASK_AGAIN, "question": QUESTIONS[stated.kind]}, rng)))
        seed = rng.random()
        bad, good = (_phrase(TELL_AGAIN, stated, v, draft, seed) for v in (value, stated.value))
        pair = Made(
            spliced(draft, at, at, (ask, wrong(bad, "U3.asked", "U3"))),
            spliced(draft, at, at, (ask, plain("agent", good, "U3"))),
        )
        return _turned(pair, stated.value, value, at + 1, rng, rng.random() < 0.5)
    return None


def _swapped(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """A figure that the agent does repeat by himself comes out wrong the second time."""
    turns = draft.turns
    for place in shuffled(range(len(turns)), rng):
        turn = turns[place]
        if turn.role != "agent" or turn.touched or _TAKES_BACK.search(turn.text):
            continue
        before = [t.text for t in turns[:place] if t.role == "agent" and not t.touched]
        for match in _FIGURE.finditer(turn.text):
            if not any(_same_figure(match, turn.text, text) for text in before):
                continue
            value = _another(draft, Stated("figure", match[0]), rng)
            if value is None:
                continue
            text = turn.text[: match.start()] + value + turn.text[match.end() :]
            end = match.start() + len(value)
            made = wrong(text, "U3.swapped", "U3", start=match.start(), end=end)
            twin = draft.with_turn(place, plain("agent", turn.text, "U3"))
            pair = Made(draft.with_turn(place, made), twin)
            return _turned(pair, match[0], value, place, rng, rng.random() < 0.5)
    return None


def _same_figure(match: re.Match[str], text: str, before: str) -> bool:
    """Whether the agent had named this very figure `before`: a bare small number only if the same word
    followed it, for "10 results" says nothing of "10 people"."""
    told = _spelled(match[0]).search(before)
    if told is None or _TAKES_BACK.search(before):
        return False
    if len(match[0]) >= MIN_TELLING:
        return True
    unit, its = (re.match(r"\A\W*+(\w++)", part) for part in (text[match.end() :], before[told.end() :]))
    return bool(unit and its and unit[1].lower() == its[1].lower())


def _undone(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """What was done a moment ago is not done any more; the twin stands by it."""
    turns = draft.turns
    done = [i for i, t in enumerate(turns) if t.role == "agent" and not t.touched and _DONE.search(t.text)]
    for place in shuffled(done, rng):
        if "?" in turns[place].text:
            continue
        later = [i for i in range(place + 2, len(turns)) if turns[i].role == "agent" and not turns[i].touched]
        if not later:
            continue
        seed = rng.random()
        bad, good = (like(capital(say(words, Random(seed))), agent_texts(draft)) for words in (FLIPPED, KEPT))
        text, start, end = joined(turns[later[0]].text, bad)
        made = wrong(text, "U3.undone", "U3", start=start, end=end)
        twin = plain("agent", joined(turns[later[0]].text, good)[0], "U3")
        return Made(draft.with_turn(later[0], made), draft.with_turn(later[0], twin))
    return None


FAMILIES: tuple[Family, ...] = (
    _repeated("repeated", RESTATE),
    Family("U3", "U3.asked", _asked),
    Family("U3", "U3.swapped", _swapped),
    *contradiction_planted.FAMILIES,
    _repeated("recap", RECAP, use="dev"),
    Family("U3", "U3.undone", _undone, use="dev"),
)

NEGATIVES: tuple[HardNegative, ...] = contradiction_planted.NEGATIVES
