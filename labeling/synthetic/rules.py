"""Rules that make one error of a code in a turn of a dialogue, with the exact place of the error.

A rule changes a turn only where the result is certainly wrong, and else gives up: few errors, no doubtful
ones. `make_error` tries the turns in random order and keeps a change only if the exact checks of dialint see
no other error in it. No rule but those of M2 and M3 knows another language than English. Sentences, slots and
patterns are in ``wordings.yaml``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from dialint.detector.checks import load_checks, quantities
from dialint.detector.checks.dictionary import USUAL, speller, typed_words
from dialint.detector.checks.words import SENTENCE
from dialint.detector.languages import detect_languages
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue
from dialint.detector.yaml_document import Patterns, read_section

WORDINGS = str(Path(__file__).with_name("wordings.yaml"))
PATTERNS = Patterns(WORDINGS, "patterns")
wordings = partial(read_section, WORDINGS)


@dataclass(frozen=True)
class InjectedError:
    """An error in the turn at `position` of a dialogue: its new text, and the place ``[start, end)`` of the
    error in it."""

    position: int
    text: str
    start: int
    end: int

    def apply(self, dialogue: Dialogue) -> Dialogue:
        """Return the dialogue with the error."""
        turns = list(dialogue.turns)
        turns[self.position] = turns[self.position].model_copy(update={"text": self.text})
        return dialogue.model_copy(update={"turns": tuple(turns)})


Rule = Callable[[Dialogue, int, Random], InjectedError | None]
"""Makes an error in the turn at a position, or returns None where none fits."""


def agent_positions(dialogue: Dialogue) -> list[int]:
    """Return the positions of turns in which an agent or a bot says something."""
    turns = dialogue.turns
    return [n for n, turn in enumerate(turns) if turn.role in JUDGED_ROLES and turn.text.strip()]


def make_error(dialogue: Dialogue, code: str, rng: Random) -> InjectedError | None:
    """Return an error of `code`, or None where no turn fits or a check finds the code already."""
    before = _hits(dialogue)
    if code in detect_codes(dialogue):
        return None
    languages = {} if code in ANY_LANGUAGE else detect_languages(dialogue)[1]
    positions = agent_positions(dialogue)
    rng.shuffle(positions)
    for position in positions:
        turn = dialogue.turns[position]
        if languages.get(turn.index, "en") != "en":
            continue
        edit = RULES[code](dialogue, position, rng)
        new = set() if edit is None else {hit[:2] for hit in _hits(edit.apply(dialogue)) - before}
        if edit is not None and edit.text != turn.text and new <= {(code, turn.index)}:
            return edit
    return None


def detect_codes(dialogue: Dialogue) -> set[str]:
    """Return the codes of all errors that the exact checks find in a dialogue."""
    return {code for code, _, _ in _hits(dialogue)}


@per_dialogue
def _hits(dialogue: Dialogue) -> set[tuple[str, int, str]]:
    """Return code, turn and words of all that the exact checks find."""
    language, _ = detect_languages(dialogue)
    texts = {turn.index: turn.text for turn in dialogue.turns}
    return {
        (hit.code or next(iter(check.codes)), hit.turn, texts[hit.turn][hit.start : hit.end])
        for check in load_checks().values()
        if check.covers(language)
        for hit in check(dialogue)
    }


def _replace(dialogue: Dialogue, position: int, start: int, end: int, words: str) -> InjectedError:
    """Return the error `words` in place of the range ``[start, end)`` of a turn."""
    text = dialogue.turns[position].text
    return InjectedError(position, text[:start] + words + text[end:], start, start + len(words))


MIN_LETTERS = 5


def misspell(dialogue: Dialogue, position: int, rng: Random) -> InjectedError | None:
    """Swap, drop or double a letter of a usual word, so that the result is no word."""
    spelling = speller()
    words = [
        word
        for word in typed_words(dialogue.turns[position].text)
        if re.fullmatch("[a-z]+", word.text)
        and len(word.text) >= MIN_LETTERS
        and spelling.is_correct(word.text)
    ]
    rng.shuffle(words)
    for word in words:
        old, places = word.text, range(1, len(word.text))  # the first letter stays
        slips = [old[:n] + old[n + 1 : n + 2] + old[n] + old[n + 2 :] for n in places]
        slips += [old[:n] + old[n + 1 :] for n in places] + [old[:n] + old[n] + old[n:] for n in places]
        rng.shuffle(slips)
        for slip in slips:
            is_of_word = any(each.meant == old and each.count >= USUAL for each in spelling.slips(slip))
            if is_of_word and not spelling.is_correct(slip):
                return _replace(dialogue, position, word.start, word.start + len(old), slip)
    return None


def break_grammar(dialogue: Dialogue, position: int, rng: Random) -> InjectedError | None:
    """Break the agreement of a verb, or double or leave out an article or an auxiliary."""
    text = dialogue.turns[position].text
    starts = {word.start for word in typed_words(text)}
    kinds = ["singular", "plural", "article", "the", "auxiliary"]
    rng.shuffle(kinds)
    for kind in (*kinds, "doubled"):  # this fits nearly everywhere
        pattern: re.Pattern[str] = getattr(PATTERNS, kind)
        matches = [match for match in pattern.finditer(text) if match.start("word") in starts]
        if not matches:
            continue
        match = rng.choice(matches)
        word, (start, end) = match["word"], match.span("word")
        if kind in ("singular", "plural"):
            return _replace(dialogue, position, start, end, wordings("agreement")[word])
        if kind == "doubled":
            return _replace(dialogue, position, start, end, f"{word} {word}")
        return _replace(dialogue, position, *match.span(), match[0].replace(f" {word}", " "))
    return None


def leave_slot(dialogue: Dialogue, position: int, rng: Random) -> InjectedError | None:
    """Put an unfilled placeholder behind a greeting or in place of a name."""
    text = dialogue.turns[position].text
    masked = mask_dialogue(dialogue)[1][position]
    spans = (each for each in masked.spans if masked.text.startswith("[NAME_", each.start))
    places = [(each.original_start, each.original_end) for each in spans]
    names = [(start, end) for start, end in places if text[start:end].istitle()]
    greeting, gap = PATTERNS.greeting.match(text), ""
    if greeting and not any(start <= greeting.end() + 1 for start, _ in names):
        start, end, gap = greeting.end(), greeting.end(), " "
    elif names:
        start, end = rng.choice(names)
    else:
        return None
    used = {letter for turn in dialogue.turns for letter in turn.text}  # signs that the log writes itself
    slots = [slot for slot in wordings("slots") if slot[0] not in used]
    if not slots:
        return None
    edit = _replace(dialogue, position, start, end, gap + rng.choice(slots))
    return InjectedError(position, edit.text, start + len(gap), edit.end)


MIN_REPEATED = 6
"""Words of the shortest text that is sent again."""


def repeat_text(dialogue: Dialogue, position: int, rng: Random) -> InjectedError | None:
    """Send an earlier text of the agent again in place of an answer to a customer's question."""
    turns = dialogue.turns
    before = turns[position - 1] if position else None
    if before is None or before.role != "customer" or turns[position].tool_calls:
        return None
    words = _content(before.text)
    if not words or not before.text.rstrip().endswith("?") or PATTERNS.says_again.search(before.text):
        return None
    earlier = [
        text
        for text in (turns[n].text for n in agent_positions(dialogue) if n < position - 1)
        if len(text.split()) >= MIN_REPEATED
        and not (PATTERNS.asks.search(text) or PATTERNS.closes.search(text) or words & _content(text))
    ]
    if not earlier:
        return None
    text = rng.choice(earlier).strip()
    return InjectedError(position, text, 0, len(text))


def _content(text: str) -> set[str]:
    """Return the words of four letters or more, cut so that forms of one are equal, and the numbers."""
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,40}|\d+", text.casefold())}


MAX_CHARACTERS = 600


def add_sentence(name: str, dialogue: Dialogue, position: int, rng: Random) -> InjectedError | None:
    """Add a sentence that is wrong anywhere to a turn before which the customer spoke, and that closes
    nothing."""
    text = dialogue.turns[position].text.rstrip()
    has_spoken = any(turn.role == "customer" and turn.text.strip() for turn in dialogue.turns[:position])
    if not has_spoken or len(text) > MAX_CHARACTERS or "\n" in text or PATTERNS.closes.search(text):
        return None
    sentence: str = rng.choice(wordings("sentences")[name])
    sentence = sentence.lower() if text == text.lower() else sentence
    text = text if text.endswith((".", "!", "?")) else text.rstrip(" ,;:-") + "."
    return InjectedError(position, f"{text} {sentence}", len(text) + 1, len(text) + 1 + len(sentence))


def ask_again(dialogue: Dialogue, position: int, rng: Random) -> InjectedError | None:
    """Ask for the order number, mail address or phone number that the customer has given, once."""
    turns, text = dialogue.turns, dialogue.turns[position].text
    if "?" in text or PATTERNS.speaks_of.search(text):
        return None
    if any(turn.role != "tool" and PATTERNS.changes.search(turn.text) for turn in turns):
        return None
    kinds = []
    for kind in ("order", "mail", "phone"):
        stated = [
            (n, match[1].lower())
            for n, turn in enumerate(turns)
            if turn.role == "customer"
            for match in getattr(PATTERNS, kind).finditer(turn.text)
        ]
        if len({value for _, value in stated}) == 1 and stated[0][0] < position:
            kinds.append(kind)
    return add_sentence(rng.choice(kinds), dialogue, position, rng) if kinds else None


MIN_CENTS = 1_000
"""Smaller sums stand in any tool result by chance."""
Value = tuple[str, Any]


def change_figure(dialogue: Dialogue, position: int, rng: Random) -> InjectedError | None:
    """Change a sum, a date or a count that a tool's result or the customer states."""
    turn, earlier = dialogue.turns[position], dialogue.turns[:position]
    stated = [each[2] for n in agent_positions(dialogue) for each in _figures(dialogue.turns[n].text)]
    figures = []
    for sentence in SENTENCE.finditer(turn.text):
        if sentence[0].rstrip().endswith("?") or PATTERNS.hedged.search(sentence[0]):
            continue
        for start, end, value in _figures(turn.text, *sentence.span()):
            roles = {each.role for each in earlier if value in _values(each)}
            restates = PATTERNS.restates.search(turn.text, sentence.start(), start)
            if stated.count(value) == 1 and ("tool" in roles or ("customer" in roles and restates)):
                figures.append((start, end, value[0]))
    if not figures:
        return None
    start, end, kind = rng.choice(figures)
    edit = _replace(dialogue, position, start, end, _other_figure(turn.text[start:end], kind, rng))
    existing = {value for each in dialogue.turns for value in _values(each)}
    return None if any(value in existing for at, _, value in _figures(edit.text) if at == start) else edit


def _figures(text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[tuple[int, int, Value]]:
    """Yield the place and the value of each sum, date and count in a stretch of a text; of a date the place
    of its day."""
    for match in quantities.PATTERNS.money.finditer(text.lower(), start, end):
        group = "after" if match["after"] else "before"
        if (cents := quantities.hundredths(match[group])) >= MIN_CENTS:
            yield *match.span(group), ("sum", cents)
    for match in quantities.PATTERNS.day.finditer(text.lower(), start, end):
        group = "n" if match["n"] else "n_after"
        if match[group] and not text[match.end(group) : match.end(group) + 2].isalpha():  # 1st
            month = quantities.MONTHS[match["name"] or match["name_before"]]
            yield *match.span(group), ("date", (month, int(match[group])))
    for match in PATTERNS.count.finditer(text, start, end):
        yield *match.span(), ("count", (int(match[0]), text[match.end() + 1 : match.end() + 5]))


def _values(turn: Turn) -> set[Value]:
    """Return the figures that a turn states; any number in a tool's result may be a sum."""
    stated = {value for _, _, value in _figures(turn.text)}
    if turn.role == "tool":
        numbers = (each.replace(",", "") for each in PATTERNS.number.findall(turn.text))
        stated |= {("sum", round(float(each) * 100)) for each in numbers}
    return stated


def _other_figure(old: str, kind: str, rng: Random) -> str:
    """Return a sum with one of its first two digits changed, or another day or count of the same length."""
    if kind != "sum":
        days = range(11, 29) if len(old) == 2 else range(2, 10)
        return str(rng.choice([n for n in days if n != int(old)]))
    place = rng.choice([n for n, digit in enumerate(old) if digit.isdigit()][:2])
    digit = rng.choice([digit for digit in "123456789" if digit != old[place]])
    return old[:place] + digit + old[place + 1 :]


RULES: Mapping[str, Rule] = {
    "L1": misspell, "L2": break_grammar, "T1": partial(add_sentence, "blame"), "M2": leave_slot,
    "M3": repeat_text, "I4": change_figure, "U2": ask_again, "V2": partial(add_sentence, "secrets"),
}  # fmt: skip
ANY_LANGUAGE = frozenset({"M2", "M3"})
