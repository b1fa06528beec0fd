"""U3: the agent states one value first and another later, with nothing between them to change it.

The twin repeats the right value in the same words, so that only memory tells the two apart; for yes and
no it differs in what was stated first. Planted facts are in `contradiction_planted`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from dialint.labeling.synthetic.dialogue_acts import content_words, is_closing
from dialint.labeling.synthetic.draft import (
    Draft,
    DraftTurn,
    ErrorPair,
    Family,
    HardNegative,
    Pool,
    Use,
    add_words,
    clean_turn,
    error_turn,
    join_texts,
    match_agent_style,
    shuffle,
    splice,
)
from dialint.labeling.synthetic.insertion import open_agent_turns
from dialint.labeling.synthetic.phrases import Grammar, capitalize_first, expand
from dialint.labeling.synthetic.scenes import MIN_TURNS
from dialint.labeling.synthetic.statements import (
    AgentStatement,
    agent_statements,
    is_same_value,
    other_value,
    states_kind,
)
from dialint.labeling.synthetic.wordings import Wordings

_TRAIN = Wordings("train/contradiction")
FACTS = _TRAIN.grammar("facts")
QUESTIONS = _TRAIN.grammar("questions")
RESTATE = _TRAIN.grammar("restate")
ASK_AGAIN = _TRAIN.grammar("ask_again")
TELL_AGAIN = _TRAIN.grammar("tell_again")
LABELS = _TRAIN.grammar("labels")

_DEV = Wordings("dev/contradiction")
RECAP = _DEV.grammar("recap")
FLIPPED = _DEV.grammar("undone")
CLAIM_WORDS = {**FLIPPED, **_DEV.grammar("done")}

_HELDOUT = Wordings("heldout/contradiction")
FIGURES = _HELDOUT.records("figures", "first", "again", "values")
CLAIMS = _HELDOUT.records("claims", "yes", "no", "yes_again", "no_again")
CORRECTIONS = _HELDOUT.texts("corrections")
RECALLED = _HELDOUT.grammar("recalled")

DONE = (
    r"\b(has been|have been|was|is|are|you('| a)re( all)?) (successfully )?(booked|reserved|confirmed|scheduled|cancelled"
    r"|canceled|refunded|updated|processed|exchanged)\b|\b(i|i've|i have|i was able to) (successfully )?(booked|book|reserved"
    r"|reserve|scheduled|completed|made|cancelled|processed)\b|\b(booking|reservation|order) (was|is|has been) (successful|complete\w*)\b"
)
"""The agent says that it is done."""

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


def _find_statements(draft: Draft, rng: Random) -> list[tuple[int, int, AgentStatement]]:
    """(agent turn that states, later agent turn, what), nothing else being said of it between, in
    random order."""
    turns, candidates = draft.turns, []
    for index, turn in enumerate(turns):
        if turn.role != "agent" or turn.touched:
            continue
        for statement in agent_statements(turn.text):
            for later in range(index + 1, min(index + MAX_DISTANCE, len(turns))):
                if states_kind(statement.kind, turns[later].text):
                    break
                if turns[later].role == "agent" and not turns[later].touched and later > index + 1:
                    candidates.append((index, later, statement))
    rng.shuffle(candidates)
    return candidates


def _phrase(grammar: Grammar, statement: AgentStatement, value: str, draft: Draft, seed: float) -> str:
    rng = Random(seed)
    rules = {**grammar, "fact": FACTS[statement.kind], "label": LABELS[statement.kind]}
    rules["question"] = QUESTIONS[statement.kind]
    return match_agent_style(capitalize_first(expand(rules, rng, value=value)), draft)


def _another(draft: Draft, statement: AgentStatement, rng: Random) -> str | None:
    """A value that contradicts the stated one and that nobody has named; None if there is none."""
    if statement.kind == "stars":
        value: str | None = rng.choice([star for star in "12345" if star != statement.value])
    else:
        value = other_value(statement.value, rng)
    if value is None or is_same_value(value, statement.value):
        return None
    is_mentioned = statement.kind != "stars" and any(
        _spelled(value).search(turn.text) for turn in draft.turns
    )
    return None if is_mentioned else value


def _spelled(value: str) -> re.Pattern[str]:
    """The value where it stands by itself in a text."""
    return re.compile(rf"(?<![\w.:]){re.escape(value)}(?![\w:]|\.\d)")


def _elsewhere(draft: Draft, value: str, new: str, at: int) -> Draft | None:
    """The draft in which every turn but `at` says `new` for `value`; None if a mark is in the way."""
    pattern = _spelled(value)
    turns = []
    for index, turn in enumerate(draft.turns):
        changed = pattern.sub(lambda _: new, turn.text) if index != at else turn.text
        if changed != turn.text and turn.marks:
            return None
        turns.append(turn if changed == turn.text else replace(turn, text=changed))
    return replace(draft, turns=tuple(turns))


def _turned(made: ErrorPair, right: str, new: str, at: int, rng: Random, swap: bool) -> ErrorPair:
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
    return ErrorPair(error.with_turn(at, bad_now), twin.with_turn(at, replace(bad, probe="U3", marks=())))


def _repeated(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """A later agent turn also repeats the value, before or after what it says."""

    def make(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
        for _, later, statement in _find_statements(draft, rng):
            value = _another(draft, statement, rng)
            if value is None:
                continue
            seed, first, text = rng.random(), rng.random() < 0.25, draft.turns[later].text
            bad, good = (_phrase(grammar, statement, v, draft, seed) for v in (value, statement.value))
            if first:
                made = error_turn(join_texts(bad, text)[0], f"U3.{name}", "U3", end=len(bad))
                twin = clean_turn("agent", join_texts(good, text)[0], "U3")
            else:
                whole, start, end = join_texts(text, bad)
                made = error_turn(whole, f"U3.{name}", "U3", start=start, end=end)
                twin = clean_turn("agent", join_texts(text, good)[0], "U3")
            pair = ErrorPair(draft.with_turn(later, made), draft.with_turn(later, twin))
            return _turned(pair, statement.value, value, later, rng, use == "train" and rng.random() < 0.5)
        return None

    return Family("U3", f"U3.{name}", make, use)


def _on_request(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer asks for it once more and gets another value."""
    for index, later, statement in _find_statements(draft, rng):
        value = _another(draft, statement, rng)
        at = later if draft.turns[later - 1].role == "agent" else later - 1
        if value is None or at <= index:
            continue
        ask = clean_turn(
            "customer", capitalize_first(expand({**ASK_AGAIN, "question": QUESTIONS[statement.kind]}, rng))
        )
        seed = rng.random()
        bad, good = (_phrase(TELL_AGAIN, statement, v, draft, seed) for v in (value, statement.value))
        pair = ErrorPair(
            splice(draft, at, at, (ask, error_turn(bad, "U3.asked", "U3"))),
            splice(draft, at, at, (ask, clean_turn("agent", good, "U3"))),
        )
        return _turned(pair, statement.value, value, at + 1, rng, rng.random() < 0.5)
    return None


def _swapped(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """A figure that the agent does repeat by himself comes out wrong the second time."""
    turns = draft.turns
    for index in shuffle(range(len(turns)), rng):
        turn = turns[index]
        if turn.role != "agent" or turn.touched or _TAKES_BACK.search(turn.text):
            continue
        before = [t.text for t in turns[:index] if t.role == "agent" and not t.touched]
        for match in _FIGURE.finditer(turn.text):
            if not any(_same_figure(match, turn.text, text) for text in before):
                continue
            value = _another(draft, AgentStatement("figure", match[0]), rng)
            if value is None:
                continue
            text = turn.text[: match.start()] + value + turn.text[match.end() :]
            end = match.start() + len(value)
            made = error_turn(text, "U3.swapped", "U3", start=match.start(), end=end)
            twin = draft.with_turn(index, clean_turn("agent", turn.text, "U3"))
            pair = ErrorPair(draft.with_turn(index, made), twin)
            return _turned(pair, match[0], value, index, rng, rng.random() < 0.5)
    return None


def _same_figure(match: re.Match[str], text: str, before: str) -> bool:
    """Whether the agent had named this very figure `before`: a bare small number only if the same word
    followed it, for "10 results" says nothing of "10 people"."""
    earlier = _spelled(match[0]).search(before)
    if earlier is None or _TAKES_BACK.search(before):
        return False
    if len(match[0]) >= MIN_TELLING:
        return True
    unit, its = (re.match(r"\A\W*+(\w++)", part) for part in (text[match.end() :], before[earlier.end() :]))
    return bool(unit and its and unit[1].lower() == its[1].lower())


def _undone(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """What was done a moment ago is not done any more; the twin stands by it."""
    turns = draft.turns
    done = [i for i, t in enumerate(turns) if t.role == "agent" and not t.touched and _DONE.search(t.text)]
    for index in shuffle(done, rng):
        if "?" in turns[index].text:
            continue
        later = [i for i in range(index + 2, len(turns)) if turns[i].role == "agent" and not turns[i].touched]
        if not later:
            continue
        seed = rng.random()
        bad, good = (
            match_agent_style(capitalize_first(expand(words, Random(seed))), draft)
            for words in (FLIPPED, CLAIM_WORDS)
        )
        text, start, end = join_texts(turns[later[0]].text, bad)
        made = error_turn(text, "U3.undone", "U3", start=start, end=end)
        twin = clean_turn("agent", join_texts(turns[later[0]].text, good)[0], "U3")
        return ErrorPair(draft.with_turn(later[0], made), draft.with_turn(later[0], twin))
    return None


_ELSE = re.compile(
    r"\b(else|another|other|different|instead|change|rather|alternatives?|options?)\b", re.IGNORECASE
)


_STARS = {"1", "2", "3", "4", "5"}


MIN_APART = 2
"""Turns from the first statement to the second, at least."""


def _apart(draft: Draft, rng: Random) -> tuple[int, int] | None:
    """Two turns of the agent, not next to each other, to state a thing in and to state it again."""
    indexes = [index for index in open_agent_turns(draft) if not is_closing(draft.turns[index].text)]
    pairs = [(one, two) for one in indexes for two in indexes if two - one >= MIN_APART]
    return rng.choice(pairs) if pairs and len(draft.turns) >= MIN_TURNS else None


def _new_to(draft: Draft, statement: str) -> bool:
    """Whether the dialogue has not been about this."""
    return not content_words(statement) & content_words(" ".join(turn.text for turn in draft.turns))


def _line(words: tuple[str, ...], draft: Draft, rng: Random, **values: str) -> str:
    return match_agent_style(capitalize_first(expand({"say": (rng.choice(words),)}, rng, **values)), draft)


def _state(draft: Draft, index: int, words: str) -> Draft:
    return draft.with_turn(index, add_words(draft.turns[index], words))


def _state_again(draft: Draft, index: int, words: str, family: str, first: bool) -> Draft:
    """The second statement in the turn at `index`, before or after its own words."""
    turn = draft.turns[index]
    if first:
        text, start, end = join_texts(words, turn.text)[0], 0, len(words)
    else:
        text, start, end = join_texts(turn.text, words)
    made = error_turn(text, family, "U3", start=start, end=end) if family else clean_turn("agent", text, "U3")
    return draft.with_turn(index, made)


def _figure(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    pair = _apart(draft, rng)
    for first, second, values in rng.sample(FIGURES, len(FIGURES)) if pair else ():
        if pair is None or not _new_to(draft, first[0] + " " + second[0]):
            continue
        value, other = rng.sample(values, 2)
        with_first = _state(draft, pair[0], _line(first, draft, rng, v=value))
        words = rng.choice(second)
        bad, good = (_line((words,), draft, rng, v=each) for each in (other, value))
        before = rng.random() < 0.4
        return ErrorPair(
            _state_again(with_first, pair[1], bad, "U3.house-figure", before),
            _state_again(with_first, pair[1], good, "", before),
        )
    return None


def _yes_and_no(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    pair = _apart(draft, rng)
    for yes, no, yes_again, no_again in rng.sample(CLAIMS, len(CLAIMS)) if pair else ():
        if pair is None or not _new_to(draft, yes[0] + " " + no[0]):
            continue
        against, fitting, words = (no, yes, yes_again) if rng.random() < 0.5 else (yes, no, no_again)
        again = _line(words, draft, rng)
        before = rng.random() < 0.4
        error = _state(draft, pair[0], _line(against, draft, rng))
        twin = _state(draft, pair[0], _line(fitting, draft, rng))
        return ErrorPair(
            _state_again(error, pair[1], again, "U3.yes-and-no", before),
            _state_again(twin, pair[1], again, "", before),
        )
    return None


def _recalled(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """What the agent really stated, stated again some turns later, before anything else of its kind."""
    for index in shuffle(open_agent_turns(draft), rng):
        for statement in agent_statements(draft.turns[index].text):
            wordings = RECALLED.get(statement.kind)
            later = _silent_after(draft, index, statement.kind)
            wrong_value = other_value(statement.value, rng)
            if "," in statement.value:  # other values come without the comma, which would tell
                continue
            if statement.kind == "stars" and wrong_value not in _STARS:
                continue
            if wordings is None or not later or not wrong_value or wrong_value == statement.value:
                continue
            words, at, before = rng.choice(wordings), rng.choice(later), rng.random() < 0.4
            bad, good = (
                _line((words,), draft, rng, v=each.removesuffix(" minutes"))  # the wordings name the unit
                for each in (wrong_value, statement.value)
            )
            return ErrorPair(
                _state_again(draft, at, bad, "U3.recalled", before), _state_again(draft, at, good, "", before)
            )
    return None


def _silent_after(draft: Draft, index: int, kind: str) -> list[int]:
    """Open agent turns after `index` up to the first turn that speaks of this kind or of another choice."""
    indexes = []
    for at in range(index + 1, len(draft.turns)):
        turn = draft.turns[at]
        if turn.touched or states_kind(kind, turn.text) or is_closing(turn.text):
            break
        if turn.role == "customer" and _ELSE.search(turn.text):  # from here on it may be about another one
            break
        if turn.role == "agent" and at - index >= MIN_APART:
            indexes.append(at)
    return [at for at in indexes[:3] if at in open_agent_turns(draft)]


def _corrected(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The agent takes a figure back openly."""
    pair = _apart(draft, rng)
    for first, second, values in rng.sample(FIGURES, len(FIGURES)) if pair else ():
        if pair is None or not _new_to(draft, first[0] + " " + second[0]):
            continue
        old, new = rng.sample(values, 2)
        with_first = _state(draft, pair[0], _line(first, draft, rng, v=old))
        turn = add_words(
            DraftTurn("agent", draft.turns[pair[1]].text), _line(CORRECTIONS, draft, rng, v=new, w=old)
        )
        return with_first.with_turn(pair[1], clean_turn("agent", turn.text, "U3"))
    return None


FAMILIES: tuple[Family, ...] = (
    _repeated("repeated", RESTATE),
    Family("U3", "U3.asked", _on_request),
    Family("U3", "U3.swapped", _swapped),
    _repeated("recap", RECAP, use="dev"),
    Family("U3", "U3.undone", _undone, use="dev"),
    Family("U3", "U3.house-figure", _figure, "heldout"),
    Family("U3", "U3.yes-and-no", _yes_and_no, "heldout"),
    Family("U3", "U3.recalled", _recalled, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (HardNegative("U3", "U3.not-taken-back", _corrected, "heldout"),)
