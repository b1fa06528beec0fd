"""Calls of tools that went wrong, that were sent to the customer as text, or that are missing at the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.claims import (
    MODE_KEY,
    claims_undone_write,
    has_calls,
    is_transfer,
    may_write,
    name_words,
)
from dialint.detector.checks.quantities import quantities
from dialint.detector.checks.values import DIGIT_NAMES, ID, StatedIds, fields_of, is_id, objects_of
from dialint.detector.checks.words import SENTENCE, patterns, read_words, trim
from dialint.detector.policy import policy_for
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role, ToolCall, Turn
from dialint.detector.tool_use import ToolUse, format_call, per_dialogue, tool_uses, uses_by_turn

PATTERNS = patterns("calls")

_PLACEHOLDER = re.compile(r"<[\w' -]{2,60}>|#?[a-z]{2,20}_id")
_IS_ID = re.compile(r"(?:^|_)ids?$", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,64}")
_LETTERS = re.compile(r"[^\W\d_]++")
_TOKEN = re.compile(r"\w++")

_TRY = re.compile(r"\b(?:try|attempt|anyway|insist)\b", re.IGNORECASE)


@check(P3=Evidence(136, 138), languages=("en",))
def wrong_call(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a call that failed for what the agent put into it (P3): an id, a mail address, a name, a zip code
    or a date of birth which stands nowhere in the log before it, a placeholder, an empty id or name, a part
    of another object, more than a payment method holds, or arguments that the tool calls malformed; a call of
    a tool that there is not; or the same call that failed before, where the customer has neither repeated its
    values nor asked to try again.

    The hit is the call; one for each value, and one for each repeated call, until the customer speaks.

    Read on the development half of tau_bench (2026-11-29): 52 of 52 right, of 208; malformed arguments 35 of
    35, repeated calls 26 of 28; on all of it (2026-11-30) parts and payment methods 23 of 23.
    """
    uses = uses_by_turn(dialogue)
    failed = [use for of_turn in uses.values() for use in of_turn if use.failed and use.was_run]
    if not failed:
        return
    values = [value for use in failed for key, value in _strings(use.call) if _is_own(key, value)]
    evidence, words = StatedIds(values), set[str]()
    for text in dialogue.sources:
        evidence.add(text)
        words.update(_LETTERS.findall(text.casefold()))
    records = _Records(dialogue)
    reported, tried, said = set[tuple[str, str]](), dict[str, int](), dict[str, int]()
    asked_again = -1
    for turn in dialogue.turns:
        if turn.role == "customer":
            reported.clear()
            said.update(dict.fromkeys(_TOKEN.findall(turn.text.casefold()), turn.index))
            asked_again = turn.index if _TRY.search(turn.text) else asked_again
        if turn.role not in JUDGED_ROLES:
            evidence.add(turn.text)
            words.update(_LETTERS.findall(turn.text.casefold()))
            continue
        for number, use in enumerate(uses.get(turn.index, ())):
            if not (use.failed and use.was_run):
                continue
            fault = _fault_of(use, evidence, words) or records.fault_of(use)
            call = f"{format_call(use.call)}: {use.result}"
            before = tried.get(call, turn.index)
            tried[call] = turn.index
            if fault is None or (use.call.name, fault) in reported:
                tokens = _TOKEN.findall(str([*use.call.arguments.values()]).casefold())
                last = max([asked_again, *(said.get(token, -1) for token in tokens)])
                is_technical = fault is None and PATTERNS.technical.search(use.result or "")
                if before == turn.index or last > before or is_technical:
                    continue
                fault = "the same call had failed before"
            if (use.call.name, fault) not in reported:
                yield Hit(*locate_call(turn, number), fault, "P3")
            reported.add((use.call.name, fault))


def _fault_of(use: ToolUse, evidence: StatedIds, words: set[str]) -> str | None:
    """Return what is wrong with a failed call, its arguments or its tool; None if that is not known."""
    if PATTERNS.unknown_tool.match(use.result or ""):
        return f"there is no tool '{use.call.name}'"
    if PATTERNS.malformed.search(use.result or ""):
        return f"'{use.call.name}' was called with arguments that it cannot take"
    for key, value in _strings(use.call):
        is_key, is_name = _IS_ID.search(key), PATTERNS.name_key.fullmatch(key)
        if not value and (is_key or is_name):
            return f"'{use.call.name}' was called with an empty {key}"
        if _PLACEHOLDER.fullmatch(value) and (is_key or value[0] in "<#"):
            is_stated = False
        elif is_name and _LETTERS.search(value):
            is_stated = words.issuperset(_LETTERS.findall(value.casefold()))
        else:
            is_stated = not _is_own(key, value) or value in evidence
        if not is_stated:
            return f"'{use.call.name}' was called with {value}, which nobody had named"
    return None


class _Records:
    """What the results of a dialogue say of the objects that its calls name."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._parts: dict[str, dict[str, set[str]]] = {}
        self._amounts: dict[str, float] = {}
        values = (use.value for use in tool_uses(dialogue) if not use.failed)
        for _, each in (found for value in values for found in objects_of(value)):
            own = next((item for item in each.items() if _IS_ID.search(item[0])), None)
            for key, value in fields_of(each) if own is not None else ():
                if isinstance(value, str) and _IS_ID.search(key):
                    self._parts.setdefault(str(own), {}).setdefault(key, set()).add(value)
            amount = each.get("amount", each.get("balance"))
            if isinstance(id := each.get("id"), str) and isinstance(amount, int | float):
                self._amounts[id] = max(amount, self._amounts.get(id, 0))

    def fault_of(self, use: ToolUse) -> str | None:
        """Return what is wrong with the arguments of a failed call; None if that is not known."""
        name, arguments = use.call.name, use.call.arguments
        for own in arguments.items():
            parts = self._parts.get(str(own), {})
            for key, values in arguments.items():
                held = parts.get(key.removesuffix("s"), set[str]())
                for each in values if held and isinstance(values, list) else ():
                    if isinstance(each, str) and each not in held:
                        return f"'{name}' was called with {each}, which {own[1]} does not hold"
        for _, part in objects_of(arguments):
            id, amount = part.get("payment_id"), part.get("amount")
            holds = self._amounts.get(id) if isinstance(id, str) else None
            if holds is not None and isinstance(amount, int | float) and holds < amount:
                return f"'{name}' was called with {amount} of {id}, which holds {holds}"
        return None


def _is_own(key: str, value: str) -> bool:
    """Return whether an argument cannot be known without having been told, and is no name: an id without
    digits too."""
    return value != "" and (
        PATTERNS.own_key.fullmatch(key) is not None
        or _MAIL.fullmatch(value) is not None
        or (ID.fullmatch(value) is not None and is_id(value))
        or (_IS_ID.search(key) is not None and not any(map(str.isdigit, value)))
    )


def _strings(call: ToolCall) -> Iterator[tuple[str, str]]:
    """Yield the texts among the arguments of a call, those of a list each."""
    for key, value in call.arguments.items():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, str):
                yield key, each.strip()


_WORD = re.compile(r"\d++|[^\W\d_]++")
_NUMBERS = {name: str(n) for n, name in enumerate(DIGIT_NAMES)}


@check(P3=Evidence(84, 89), languages=("en",))
def unstated_argument(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the first call of a tool with a place or a time of day of which no word was said, nor returned,
    before it (P3); or any call with another choice than the customer's: a day of the week, or a value of a
    list that the log shows, that nobody named, where the customer named exactly one other, or a day or an
    hour beside the only one in the customer's last message; the first before the customer speaks again.

    Codes of places are left alone, and a time where the customer speaks of now, of soon, or of any time. Read
    on the development half of STAR (2026-11-29): 37 of 40 right; of the choices 37 of 39, all there are;
    of last messages, in all of STAR (2026-11-30), 10 of 10.
    """
    uses = uses_by_turn(dialogue)
    if not uses:
        return
    words, called, wishes = set[str](), set[str](), _Wishes()
    for text in dialogue.sources:
        words |= _words(text)
        wishes.add(text, "system")
    is_any_time, reported = False, set[tuple[str, str]]()
    for turn in dialogue.turns:
        if turn.role == "customer":
            reported.clear()
        for number, use in enumerate(uses.get(turn.index, ())):
            name, reasons = use.call.name, list[str]()
            for key, value in use.call.arguments.items() if name not in called else ():
                is_time = PATTERNS.time_key.fullmatch(key) is not None
                if (is_time and is_any_time) or not (is_time or PATTERNS.stated_key.fullmatch(key)):
                    continue
                is_code = not isinstance(value, str) or value.isupper() or "." in value
                own = set[str]() if is_code else _words(str(value))
                own |= _dial(value) if is_time and own and isinstance(value, str) else set()
                if own and own.isdisjoint(words) and not _is_misspelt(own, words):
                    reasons.append(f"'{name}' was called with {key}, which nobody had stated")
            for key, value in _strings(use.call):
                wish = wishes.other(use.call, key, value, context.log.choices) or wishes.last(
                    use.call, key, value
                )
                if wish is not None and (name, key) not in reported:
                    reported.add((name, key))
                    reasons.append(f"'{name}' was called with {value} for {key}; the customer named {wish}")
            if reasons:
                yield Hit(*locate_call(turn, number), reasons[0], "P3")
            called.add(use.call.name)
        words |= _words(turn.text)
        wishes.add(turn.text, turn.role)
        is_any_time = is_any_time or (
            turn.role == "customer" and PATTERNS.any_time.search(turn.text) is not None
        )


def _words(text: str) -> set[str]:
    """Return the words and numbers of a text, and each two neighbours as one, without halves of the day."""
    words = [_NUMBERS.get(word, word) for word in _WORD.findall(text.casefold())]
    return {*words, *map("".join, pairwise(words))} - {"am", "pm", "and", "the", "of"}


def _is_misspelt(own: set[str], words: set[str]) -> bool:
    """Return whether one of some long words is near one that was said."""
    return any(len(word) > 4 and get_close_matches(word, words, 1, 0.85) for word in own)


_DAYS = tuple(read_words("weekdays"))


class _Wishes:
    """The words said so far, and which values of a list the customer named."""

    def __init__(self) -> None:
        self._stated, self._named, self._denied = set[str](), set[str](), set[str]()
        self._tried = set[tuple[str, str, str]]()
        self._is_any_day = False
        self._last = self._asked = ""
        self._sent = set[tuple[str, str, str]]()

    def add(self, text: str, role: Role) -> None:
        """Take up a text, with the forms of its words that are alike in misspelt ones."""
        is_customer = role == "customer"
        if is_customer and text.strip():
            self._last = text
        elif role in JUDGED_ROLES and text.strip():
            self._asked = text
        for sentence in SENTENCE.finditer(text.casefold()):
            own = _WORD.findall(sentence[0])
            self._stated.update(form for word in own for form in _forms(word))
            if is_customer:
                self._named.update(own)
                self._denied.update(own if PATTERNS.denied.search(sentence[0]) else ())
                self._is_any_day = self._is_any_day or PATTERNS.any_day.search(sentence[0]) is not None

    def other(
        self, call: ToolCall, key: str, value: str, choices: Mapping[str, tuple[str, ...]]
    ) -> str | None:
        """Return the one other choice that the customer named, if nobody named this one; each once."""
        value = " ".join(value.casefold().split())
        listed = choices.get(f"{call.name} {key}") or (_DAYS if value in _DAYS else ())
        is_new = (call.name, key, value) not in self._tried
        self._tried.add((call.name, key, value))
        if (
            value not in listed
            or not is_new
            or MODE_KEY.fullmatch(key)
            or (value in _DAYS and self._is_any_day)
        ):
            return None
        own = _own_words(listed)
        initials = "".join(word[0] for word in _WORD.findall(value))
        forms = {form for word in own[value] for form in (*_forms(word), word[:3], word[:4], word[:5])}
        wishes = [each for each in listed if own[each] and self._named.issuperset(own[each])]
        if not forms or len(wishes) != 1 or not self._stated.isdisjoint(forms | {initials} - {initials[:1]}):
            return None
        wish = own[wishes[0]]
        rest = (_words(str(each)) for name, each in call.arguments.items() if name != key)
        is_tried = (call.name, key, wishes[0]) in self._tried
        is_spoilt = is_tried or not self._denied.isdisjoint(wish) or any(map(wish.intersection, rest))
        return None if is_spoilt else wishes[0]

    def last(self, call: ToolCall, key: str, value: str) -> str | None:
        """Return the only day of the week or hour in the customer's last message, if a call has another that
        neither it nor the agent's last message names."""
        if value.casefold() in _DAYS:
            own, named = {value.casefold()}, {*_DAYS}.intersection(_WORD.findall(self._last.casefold()))
        elif (
            PATTERNS.time_key.fullmatch(key)
            and sum("time" in each.casefold() for each in call.arguments) == 1
        ):
            own, named = _hours(value), _hours(self._last)
        else:
            return None
        self._sent.update((call.name, key, each) for each in own)
        if (
            len(own) != 1
            or len(named) != 1
            or own == named
            or (call.name, key, *named) in self._sent
            or own & {*_WORD.findall(self._asked.casefold())}
            or PATTERNS.no_wish.search(self._last)
            or PATTERNS.asks_end.search(self._asked)
        ):
            return None
        return next(iter(named))


def _dial(text: str) -> set[str]:
    """Return the numbers by which the hour of a time is told: of 20:45 that are 20, 8 and 9."""
    hours = [hour for minute in _times(text) for hour in (minute // 60, (minute + 30) // 60)]
    return {str(number) for hour in hours for number in (hour, hour % 12 or 12)}


def _times(text: str) -> Iterator[int]:
    found = quantities(text)
    return (minute for kind in ("time", "clock") for minute in found.get(kind, ()))


def _hours(text: str) -> set[str]:
    """Return the times of a text that are full hours, by the dial."""
    return {f"{minute // 60 % 12 or 12} o'clock" for minute in _times(text) if minute % 60 == 0}


def _forms(word: str) -> tuple[str, str, str, str]:
    return word, "".join(sorted(word)), f"{word[:2]}…{word[-3:]}", f"{word[:4]}…" if len(word) > 4 else word


@lru_cache(maxsize=256)
def _own_words(choices: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return the words of each choice that no other has."""
    counts = Counter(word for choice in choices for word in set(_WORD.findall(choice)))
    return {
        choice: frozenset(word for word in _WORD.findall(choice) if counts[word] == 1 and len(word) > 2)
        for choice in choices
    }


def locate_call(turn: Turn, number: int) -> tuple[int, int, int]:
    """Return turn, start and end of call `number` of a turn: the words beside it, if there are any."""
    place = trim(turn.text) if turn.text.strip() else (number, number + 1)
    return turn.index, *place


def locate_act(dialogue: Dialogue, turn: int) -> tuple[int, int, int] | None:
    """Return turn, start and end of the agent's message that belongs to a turn: its own or the next one
    before the customer speaks; without one the call. None if the agent did nothing more."""
    act = _acts(dialogue).get(turn)
    return None if act is None else locate_call(act, 0)


@per_dialogue
def _acts(dialogue: Dialogue) -> dict[int, Turn | None]:
    """Return what the agent did in or after each turn, by its index, before the customer speaks: the first
    message, or the first call if there is none."""
    acts: dict[int, Turn | None] = {}
    act = None
    for turn in reversed(dialogue.turns):
        is_message = bool(turn.text.strip())
        if turn.role in JUDGED_ROLES and (is_message or (turn.tool_calls and not (act and act.text.strip()))):
            act = turn
        acts[turn.index] = act
        if turn.role == "customer" and is_message:
            act = None
    return acts


@check(P3=Evidence(24, 26, "suggestion"), languages=("en",))
def refused_write(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who has to tell that something failed, after a tool that changes things refused the call:
    the wrong tool, or wrong arguments (P3).

    Left alone are technical failures, unknown keys (the customer's mistake, or `wrong_call`), attempts that
    the customer asked for, and calls that were repeated with success, then or later. The hit is the call.
    Silent without a policy, a source or a system turn, as the agent then knows no rule: of seven hits in
    made-up clean dialogues four were wrong (a slot just taken, an expired card; 2026-11-30).

    Read on the once-half of tau_bench (2026-11-23): 24 of 26 right, .92 (.75 to .99). Whether an attempt that
    the system refused is an error is a matter of policy: where it is none, this is a suggestion.
    """
    has_rules = dialogue.sources or any(turn.role == "system" for turn in dialogue.turns)
    if not has_rules and policy_for(dialogue, context.policies) is None:
        return
    uses = uses_by_turn(dialogue)
    done = {format_call(use.call) for use in tool_uses(dialogue) if not use.failed}
    refused: tuple[ToolUse, tuple[int, int, int]] | None = None
    is_tried = False
    for turn in dialogue.turns:
        if turn.role == "customer":
            refused, is_tried = None, _TRY.search(turn.text) is not None
        if turn.role not in JUDGED_ROLES:
            continue
        if refused is not None and turn.text.strip():
            if not is_tried and _tells_of_failure(turn):
                yield Hit(*refused[1], f"'{refused[0].call.name}' refused the call", "P3")
            refused = None
        for number, use in enumerate(uses.get(turn.index, ())):
            if not use.was_run or not may_write(use.call.name):
                continue
            reason = use.result or ""
            if (
                use.failed
                and not PATTERNS.technical.search(reason)
                and not PATTERNS.unknown_key.search(reason)
                and format_call(use.call) not in done
            ):
                refused = use, locate_call(turn, number)
            elif refused is not None and not use.failed and use.call.name == refused[0].call.name:
                refused = None


def _tells_of_failure(turn: Turn) -> bool:
    """Return whether a sentence tells of a failure."""
    return any(
        PATTERNS.failure.search(sentence) and not PATTERNS.condition.match(sentence)
        for sentence in SENTENCE.findall(turn.text)
    )


def speaks_of_calls(text: str) -> bool:
    """Return whether a customer may want to read of calls, as a developer does."""
    return PATTERNS.developer.search(text) is not None


REASONING = "the bot's reasoning was sent as text"


@check(L4=Evidence(30, 30))
def raw_tool_call(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the text of a tool call, or of a bot's reasoning, that the customer was shown (L4).

    It is jargon to him. A bot that shows what only a machine reads does so again and again: that is one slip,
    in the first of the turns. Silent as `raw_texts` is.

    Read on the once-half of tau_bench (2026-11-23): 30 of 30 right, 1.0 (.88 to 1); no hit in STAR, MultiWOZ,
    SGD, taskmaster4, stc3 and dbdc3.
    """
    hits = list(raw_texts(dialogue))
    if hits:
        later = f", and such text in {len(hits) - 1} later turns" if len(hits) > 1 else ""
        yield replace(hits[0], why=f"{hits[0].why}{later}")


def raw_texts(dialogue: Dialogue) -> Iterator[Hit]:
    """Yield every turn with text that only a machine reads; none where a customer sent such text or spoke of
    calls first, as a developer may."""
    was_found = False
    for turn in dialogue.turns:
        if turn.role == "customer" and (
            PATTERNS.call.search(turn.text) or (not was_found and speaks_of_calls(turn.text))
        ):
            return
        if turn.role not in JUDGED_ROLES:
            continue
        end = len(turn.text.rstrip())
        if (call := PATTERNS.call.search(turn.text)) is not None:
            start, why = call.start(), "a tool call was sent as text"
        elif (reasoning := PATTERNS.reasoning.match(turn.text)) is not None:
            start, why = reasoning.start(), REASONING
        elif (stage := PATTERNS.stage.search(turn.text)) is not None:
            (start, end), why = stage.span(), "a stage direction or another's turn was sent as text"
        else:
            continue
        was_found = True
        yield Hit(turn.index, start, end, why, "L4")


@check(M3=Evidence(estimate=0.923))
def raw_text_again(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find raw text (`raw_texts`) that was sent before in the same words (M3): it answers nothing,
    whatever the customer said in between.

    On the development half of the natural set (2026-11-23): 11 of 11 right, all in tau_bench."""
    texts = {turn.index: " ".join(turn.text.split()) for turn in dialogue.turns}
    sent: dict[str, int] = {}
    for hit in raw_texts(dialogue):
        text = texts[hit.turn]
        if text in sent:
            yield replace(hit, why=f"the raw text of turn {sent[text]} was sent again", code="M3")
        sent.setdefault(text, hit.turn)


@check(E2=Evidence(22, 25), languages=("en",))
def needless_transfer(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a transfer to a person whom nobody asked for or spoke of, before the customer was asked or told
    anything, or before any look-up was tried (E2). The hit is the call.

    Read on the development half of tau_bench (2026-11-29): 22 of 25 right.
    """
    uses = uses_by_turn(dialogue)
    has_spoken = has_looked = False
    for turn in dialogue.turns:
        if turn.role in ("customer", *JUDGED_ROLES) and PATTERNS.person.search(turn.text):
            return
        if turn.role not in JUDGED_ROLES:
            continue
        has_spoken = has_spoken or bool(turn.text.strip())
        for number, use in enumerate(uses.get(turn.index, ())):
            if is_transfer(use.call.name):
                if not (has_spoken and has_looked):
                    lacking = "nothing was looked up" if has_spoken else "the customer was asked nothing"
                    yield Hit(
                        *locate_call(turn, number),
                        f"'{use.call.name}' was called, and {lacking} before",
                        "E2",
                    )
                return
            has_looked = has_looked or not (may_write(use.call.name) or "think" in name_words(use.call.name))


_LAST_TURNS = 3
"""Turns of the agent before the end in which a refusal may stand."""


@check(R2=Evidence(16, 18, "suggestion"), languages=("en",))
def leaves_request_open(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the end of a dialogue in which the customer asked for an act, no tool changed anything, and the
    agent neither refused nor handed over (R2); at the last turn of the agent.

    Silent where the customer withdrew, where the agent's last words are a question, and where neither the
    dialogue nor the log holds calls of tools.

    Read on the once-half of tau_bench (2026-11-23): 16 of 18 right, .89 (.65 to .99), so a suggestion: on a
    log that holds only some of the tools an act may have been done elsewhere.
    """
    uses = tool_uses(dialogue)
    if not has_calls(dialogue, context):
        return
    customer = [turn for turn in dialogue.turns if turn.role == "customer"]
    spoken = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
    done = [use.call.name for use in uses if not use.failed]
    if any(may_write(name) and name_words(name) and "think" not in name_words(name) for name in done):
        return
    request = next((turn.index for turn in customer if PATTERNS.request.search(turn.text)), None)
    if request is None or len(spoken) < _LAST_TURNS:
        return
    last = spoken[-1]
    if PATTERNS.asks.search(last.text) or any(PATTERNS.withdrawn.search(turn.text) for turn in customer[1:]):
        return
    raw = {hit.turn for hit in raw_texts(dialogue)}
    readable = [turn for turn in spoken[-_LAST_TURNS:] if turn.index not in raw]
    if any(PATTERNS.refusal.search(turn.text) for turn in readable) or any(
        claims_undone_write(dialogue, context)
    ):
        return
    why = f"asked for in turn {request}, and no tool did it by the end"
    yield Hit(last.index, *trim(last.text), why, "R2")
