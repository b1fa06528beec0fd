"""Calls of tools: their classification by names, arguments and results, and those that went wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.phrases import asks_for_person
from dialint.detector.checks.quantities import quantities
from dialint.detector.checks.values import ID, StatedIds, fields_of, is_id, name_words, objects_of
from dialint.detector.checks.words import SENTENCE, content, fold, patterns, read_words, sentences, trim
from dialint.detector.policy import policy_for
from dialint.detector.records import JUDGED_ROLES, Dialogue, ToolCall, Turn
from dialint.detector.tool_use import ToolUse, format_call, per_dialogue, tool_uses, uses_by_turn

PATTERNS = patterns("calls")
MODE_KEY = PATTERNS.mode_key
"""The argument with the mode of a call."""
TOOL_NAMES = {name: frozenset(words.split()) for name, words in read_words("tool_names").items()}
"""Words in the names of tools, by what such tools do."""
ACTS = {act: frozenset(words.get("tools", "").split()) for act, words in read_words("acts").items()}
"""The words in the name of a tool that carries out an act, beside the general ones."""
_WRITES = frozenset[str]().union(TOOL_NAMES["general"], *ACTS.values())
_PEOPLE = frozenset(["human", "humans", "agent", "agents", "supervisor", "operator"])
"""Words in the name of a tool that hands the customer over to somebody, and does nothing else."""

_PLACEHOLDER = re.compile(r"<[\w' -]{2,60}>|#?[a-z]{2,20}_id")
_IS_ID = re.compile(r"(?:^|_)ids?$", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,64}")
_LETTERS = re.compile(r"[^\W\d_]++")
_TOKEN = re.compile(r"\w++")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\d)")
_DATES = re.compile(r"(?<![\d./-])\d{1,4}+[-/.]\d{1,2}+[-/.]\d{1,4}+(?!\d)")
_DIGITS = re.compile(r"\d++")

_STEM = 4
"""Letters by which the name of a tool and the verb of its result are compared."""
_PLACES = frozenset({"book", "rese"})
"""Acts of which a result may say that somebody else did them: a slot is booked."""
_TRY = re.compile(r"\b(?:try|attempt|anyway|insist)\b", re.IGNORECASE)


def may_write(name: str) -> bool:
    """Return whether a tool of this name may change something: all may, but those named after reading
    alone."""
    words = name_words(name)
    reads = TOOL_NAMES["reads"]
    is_read = bool(words) and (words[0] in reads or (words[-1] in reads and words[0] not in _WRITES))
    is_check = words[:2] in (("check", "in"), ("check", "out"))
    return not is_read or is_check or not {"and", "or"}.isdisjoint(words)


def names_write(name: str) -> bool:
    """Return whether the name of a tool has a word of an act, and ends in none of reading."""
    words = name_words(name)
    return not _WRITES.isdisjoint(words) and words[-1] not in TOOL_NAMES["reads"]


def is_transfer(name: str) -> bool:
    """Return whether a tool of this name hands the customer over to a person."""
    words = name_words(name)
    return not _PEOPLE.isdisjoint(words) and words[0] in ACTS["transfer"]


def only_reads(use: ToolUse) -> bool:
    """Return whether a call changes nothing by one of its arguments: a check, a search, a trial run."""
    return any(
        MODE_KEY.fullmatch(key) and PATTERNS.read_mode.fullmatch(str(value))
        for key, value in use.call.arguments.items()
    )


def is_refused(use: ToolUse) -> bool:
    """Return whether a call failed, or the text of its result, without what it repeats of the call, denies
    that any part of it was done."""
    if use.failed:
        return True
    result = use.result or ""
    for _, value in strings_of(use.call):
        result = result.replace(json.dumps(value, ensure_ascii=False), '""') if value else result
    return PATTERNS.refused.search(result) is not None and not (_is_partly_done(use) or _says_done(use))


def _says_done(use: ToolUse) -> bool:
    """Return whether a text of a result begins with the act that its tool is named after, as done."""
    acts = {word[:_STEM] for word in name_words(use.call.name)} - _PLACES
    return any(
        match["verb"].casefold()[:_STEM] in acts and not PATTERNS.undone.search(match[0])
        for match in PATTERNS.done_first.finditer(use.result or "")
    )


def _is_partly_done(use: ToolUse) -> bool:
    """Return whether a result lists parts that were done."""
    lists = (value for _, value in fields_of(use.value) if isinstance(value, list))
    objects = (each for parts in lists for each in parts if isinstance(each, dict))
    return any(value is True for each in objects for value in each.values())


def is_pending(use: ToolUse) -> bool:
    """Return whether a call waits for somebody by its result."""
    return PATTERNS.pending.search(use.result or "") is not None


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
    values = [value for use in failed for key, value in strings_of(use.call) if _is_own(key, value)]
    stated = _Stated(values)
    for text in dialogue.sources:
        stated.add(text)
    done = [use.call for of_turn in uses.values() for use in of_turn if not use.failed]
    taken = {each for call in done for each in strings_of(call) if any(map(str.isdigit, each[1]))}
    records = _Records(dialogue)
    reported, tried, mentions = set[tuple[str, str]](), dict[str, int](), dict[str, int]()
    retry_turn = -1
    for turn in dialogue.turns:
        if turn.role == "customer":
            reported.clear()
            mentions.update(dict.fromkeys(_TOKEN.findall(turn.text.casefold()), turn.index))
            retry_turn = turn.index if _TRY.search(turn.text) else retry_turn
        if turn.role not in JUDGED_ROLES:
            stated.add(turn.text)
            continue
        for number, use in enumerate(uses.get(turn.index, ())):
            if not (use.failed and use.was_run):
                continue
            fault = _fault_of(use, stated, taken) or records.fault_of(use)
            call = f"{format_call(use.call)}: {use.result}"
            before = tried.get(call, turn.index)
            tried[call] = turn.index
            if fault is None or (use.call.name, fault) in reported:
                tokens = _TOKEN.findall(str([*use.call.arguments.values()]).casefold())
                last = max([retry_turn, *(mentions.get(token, -1) for token in tokens)])
                is_technical = fault is None and PATTERNS.technical.search(use.result or "")
                if before == turn.index or last > before or is_technical:
                    continue
                fault = "the same call had failed before"
            if (use.call.name, fault) not in reported:
                yield Hit(*locate_call(turn, number), fault, "P3")
            reported.add((use.call.name, fault))


class _Stated:
    """A search for values in the texts added so far: ids as they are, names without accents, days in any
    form, also as the month of one that is written otherwise."""

    def __init__(self, values: Iterable[str]) -> None:
        self._ids, self._words, self._texts = StatedIds(values), set[str](), list[str]()

    def add(self, text: str) -> None:
        """Adds a text."""
        self._ids.add(text)
        self._words |= _letters(text)
        self._texts.append(text)

    def has_name(self, name: str) -> bool:
        """Return whether all words of a name stand in the texts."""
        return self._words >= _letters(name)

    def has(self, value: str) -> bool:
        """Return whether an id stands in the texts, or the day of a date."""
        date = _DATE.match(value)
        if value in self._ids or date is None:
            return value in self._ids
        own = quantities(value).get("day", frozenset[int]())
        parts = {_date_parts(date[0])}
        if any(not parts.isdisjoint(map(_date_parts, _DATES.findall(text))) for text in self._texts):
            return True
        for read in map(quantities, self._texts):
            days = read.get("day", frozenset[int]())
            months = {month * 100 for month in read.get("month", ())} - {day // 100 * 100 for day in days}
            if not own.isdisjoint(days) or any(day // 100 * 100 in months for day in own):
                return True
        return False


def _date_parts(date: str) -> tuple[int, ...]:
    """Return the numbers of a date in any order of day and month."""
    return tuple(sorted(map(int, _DIGITS.findall(date))))


def _letters(text: str) -> set[str]:
    return {PATTERNS.umlaut.sub(r"\1", word) for word in _LETTERS.findall(fold(text))}


def _fault_of(use: ToolUse, stated: _Stated, taken: set[tuple[str, str]]) -> str | None:
    """Return what is wrong with a failed call, its arguments or its tool; None if unknown."""
    if PATTERNS.unknown_tool.match(use.result or ""):
        return f"there is no tool '{use.call.name}'"
    if PATTERNS.malformed.search(use.result or ""):
        return f"'{use.call.name}' was called with arguments that it cannot take"
    for key, value in strings_of(use.call):
        is_key, is_name = _IS_ID.search(key), PATTERNS.name_key.fullmatch(key)
        if not value and (is_key or is_name):
            return f"'{use.call.name}' was called with an empty {key}"
        if _PLACEHOLDER.fullmatch(value) and (is_key or value[0] in "<#"):
            is_stated = False
        elif is_name and _LETTERS.search(value):
            is_stated = stated.has_name(value)
        else:
            is_stated = not _is_own(key, value) or (key, value) in taken or stated.has(value)
        if not is_stated:
            return f"'{use.call.name}' was called with {value}, which nobody had named"
    return None


class _Records:
    """The results of a dialogue about the objects in its calls: their parts, and the amounts they hold."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._parts: dict[str, dict[str, set[str]]] = {}
        self._amounts: dict[str, float] = {}
        values = (use.value for use in tool_uses(dialogue) if not use.failed)
        for _, each in (pair for value in values for pair in objects_of(value)):
            own = next((item for item in each.items() if _IS_ID.search(item[0])), None)
            for key, value in fields_of(each) if own is not None else ():
                if isinstance(value, str) and _IS_ID.search(key):
                    self._parts.setdefault(str(own), {}).setdefault(key, set()).add(value)
            amount = each.get("amount", each.get("balance"))
            if isinstance(id := each.get("id"), str) and isinstance(amount, int | float):
                self._amounts[id] = max(amount, self._amounts.get(id, 0))

    def fault_of(self, use: ToolUse) -> str | None:
        """Return what is wrong with the arguments of a failed call; None if unknown."""
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
    """Return whether somebody must have stated an argument before it can be used, and it is no name: an id
    without digits too."""
    return (
        bool(value)
        and not PATTERNS.technical_key.fullmatch("_".join(name_words(key)))
        and (
            PATTERNS.own_key.fullmatch(key) is not None
            or _MAIL.fullmatch(value) is not None
            or (ID.fullmatch(value) is not None and is_id(value))
            or (_IS_ID.search(key) is not None and not any(map(str.isdigit, value)))
        )
    )


def strings_of(call: ToolCall) -> Iterator[tuple[str, str]]:
    """Yield the texts among the arguments of a call, those of a list each."""
    for key, value in call.arguments.items():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, str):
                yield key, each.strip()


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
    """Find an agent who has to report a failure after a tool that changes things refused the call: the wrong
    tool, or wrong arguments (P3).

    Ignored are technical failures, unknown keys (the customer's mistake, or `wrong_call`), attempts that
    the customer asked for, and calls that were repeated with success, then or later. The hit is the call.
    Without a policy only what a rule of a source or a system turn says, as the agent knows no other: of
    eleven hits in made-up dialogues eight were wrong (a slot just taken, an expired card; 2026-11-30).

    Read on the once-half of tau_bench (2026-11-23): 24 of 26 right, .92 (.75 to .99). Whether an attempt that
    the system refused is an error is a matter of policy: where it is none, this is a suggestion.
    """
    has_policy = policy_for(dialogue, context.policies) is not None
    guidelines = [*dialogue.sources, *(turn.text for turn in dialogue.turns if turn.role == "system")]
    rules = [
        content(rule) for each in guidelines for rule in sentences(each) if PATTERNS.forbids.search(rule)
    ]
    if not has_policy and not rules:
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
            if not is_tried and any(
                PATTERNS.failure.search(sentence) and not PATTERNS.condition.match(sentence)
                for sentence in SENTENCE.findall(turn.text)
            ):
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
                and (has_policy or any(len(rule & content(reason)) > 1 for rule in rules))
            ):
                refused = use, locate_call(turn, number)
            elif refused is not None and not use.failed and use.call.name == refused[0].call.name:
                refused = None


@check(E2=Evidence(22, 25), languages=("en",))
def needless_transfer(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a transfer to a person whom nobody requested or mentioned, before any message to the customer, or
    before any look-up was tried (E2). The hit is the call. Where calls follow, or somebody else of the
    agents' side speaks, a bot was handed over to another one.

    Read on the development half of tau_bench (2026-11-29): 22 of 25 right.
    """
    uses = uses_by_turn(dialogue)
    has_spoken = has_lookup = False
    for place, turn in enumerate(dialogue.turns, 1):
        if turn.role in ("customer", *JUDGED_ROLES) and PATTERNS.person.search(turn.text):
            return
        if turn.role not in JUDGED_ROLES:
            continue
        has_spoken = has_spoken or bool(turn.text.strip())
        for number, use in enumerate(uses.get(turn.index, ())):
            if is_transfer(use.call.name):
                if _is_called_for(dialogue, turn, use.call, context):
                    return
                rest = (each for each in dialogue.turns[place:] if each.role == turn.role)
                is_to_bot = any(each.tool_calls or each.author != turn.author for each in rest)
                if not (is_to_bot or (has_spoken and has_lookup)):
                    lacking = "nothing was looked up" if has_spoken else "the customer was asked nothing"
                    yield Hit(
                        *locate_call(turn, number),
                        f"'{use.call.name}' was called, and {lacking} before",
                        "E2",
                    )
                return
            has_lookup = has_lookup or not (may_write(use.call.name) or "think" in name_words(use.call.name))


def _is_called_for(dialogue: Dialogue, until: Turn, call: ToolCall, context: CheckContext) -> bool:
    """Return whether a customer's message before a transfer asks for a person in any language, names whom the
    call names, or tells of danger or of the law."""
    names = [value for _, value in strings_of(call) if value.istitle()]
    spoken = (turn for turn in dialogue.turns if turn.role == "customer" and turn.index < until.index)
    return any(
        PATTERNS.grave.search(turn.text)
        or asks_for_person(dialogue, turn, context)
        or any(name.casefold() in turn.text.casefold() for name in names)
        for turn in spoken
    )
