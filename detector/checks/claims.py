"""Claims of a completed act that no tool call of the dialogue carried out.

Only acts that an agent claims for himself are read: no plan, condition, question or quotation, and no report
of a state that a tool returned. Whether the act was allowed, or done as the customer wished, is not
judged here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from operator import attrgetter, itemgetter

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import (
    ACTS,
    TOOL_NAMES,
    is_pending,
    is_refused,
    is_transfer,
    may_write,
    only_reads,
)
from dialint.detector.checks.phrases import Phrases, load_phrases, phrases_of
from dialint.detector.checks.raw_text import raw_texts
from dialint.detector.checks.values import name_words
from dialint.detector.checks.words import SENTENCE, WordSearch, patterns, read_words, statements, trim
from dialint.detector.log_profile import MIN_DIALOGUES
from dialint.detector.records import JUDGED_ROLES, Dialogue, ToolCall, Turn
from dialint.detector.tool_use import (
    ToolUse,
    exchanges,
    format_call,
    has_failed,
    tool_uses,
    uses_by_turn,
)

_ACTS = read_words("acts")


def _act_by_word(column: str) -> dict[str, str]:
    return {word: act for act, words in _ACTS.items() for word in words.get(column, "").split()}


_OTHER_ACTS = {act: frozenset(words.get("other_tools", "").split()) for act, words in _ACTS.items()}
"""The first words in the name of a tool that clearly does something else. Any write may be a change."""
_DETAIL_ACTS = frozenset(["cancel", "book", "return", "exchange", "pay"])
_ACT_OF = _act_by_word("verbs")
"""The act of each verb that claims a write; those of "any" may be about any write."""
_ACT_OF_NOUN = _act_by_word("nouns")
"""The act of a verb of the act "any" by its object."""
_NOUN = re.compile(rf"\b({'|'.join(_ACT_OF_NOUN)})s?\b(?! (?:ID|number|#|policy))", re.IGNORECASE)
_PASSIVE = "|".join(verb for verb in _ACT_OF if verb not in ("blocked", "sent"))
"""Verbs that claim an act in the passive: "has been blocked" and "has been sent" describe a state."""
PATTERNS = patterns(
    "claims",
    verb=f"(?P<verb>{'|'.join(_ACT_OF)})",
    passive_verb=f"(?P<verb>{_PASSIVE})",
    passive_state=f"(?P<state>{_PASSIVE})",
)
_STEM = 5
"""Letters by which words are compared, so that "refund" is "refunded"."""
_NOTHING = re.compile(r"\bnothing\b", re.IGNORECASE)
_ID = re.compile(r"\b(?=[A-Za-z_]{0,20}\d)\w{5,30}\b")
_MAY_BE_ID = re.compile(r"\w{5,90}")
_OFFERS = frozenset({"search", "availability", "available", "options", "offers", "quote", "slots"})
"""Words in the name of a look-up of what may be had, which reports nothing that was done."""
MAX_ARGUMENTS = 100
"""Most arguments by which one id was looked up, and most denied fields, that are compared."""
_turn_of, _index_of = attrgetter("turn"), attrgetter("index")


def has_calls(dialogue: Dialogue, context: CheckContext) -> bool:
    """Return whether all calls of tools are logged: the dialogue has results, or nearly all of its origin; or
    some of the log, and the agent writes calls that were not run.

    The third, on development dialogues without results (2026-11-29): in 205 of tau_bench; readers who knew
    no finding had listed 410 of 453 as I2 or R3, and another error in the turns of 40 more; 40 more hits
    read, 39 right. In 13,949 of STAR, MultiWOZ, SGD, stc3 and taskmaster4 no agent writes calls.
    """
    log = context.log
    return not log.is_partial and (
        log.logs_calls(dialogue)
        or any(use.was_run for use in tool_uses(dialogue))
        or (log.tool_dialogues >= MIN_DIALOGUES and bool(raw_texts(dialogue)))
    )


@check(R3=Evidence(213, 217), languages=("en",))
def claims_undone_write(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who claims that something was done although no tool call did it (R3).

    Before the customer's next turn there is no call of a tool that could have done it; or all such calls
    since the customer's last turn failed, for which other words of completion count too (`false_reports`); or
    the claim has an id that was looked up, and the tools that write were called for others only, or a field
    that a look-up returned as false, and that is in no call that may write. A tool might have done it, so it
    counts as the write, unless it is named after another act, its mode is a check or a search, or its result
    denies it. Silent on dialogues without results of tools, unless the log has them elsewhere, and on partial
    logs.

    Read on the once-half of tau_bench (2026-11-23): 35 of 38 right, .92 (.79 to .98), without the log's
    profile; 106 of 107 with it, .99 (.95 to 1). On the development half of STAR (2026-11-29) 17 of 17; in
    development dialogues without results (`has_calls`) 90 of 93. `false_reports` in the 1,448 dialogues of
    STAR and tau_bench with a failed write (2026-11-30) 7 of 7, all of them found without it, too; since trial
    runs, writes that wait and tools named noun first count, 15 more in all of STAR, 13 right, the two others
    mended. Plain states of the failed tool (`_is_state_of`) in the same two sets 16 more, read by the rule's
    author: all right when said, three were booked a turn later.
    """
    uses = tool_uses(dialogue)
    if not has_calls(dialogue, context):
        return
    evidence, hits = _Evidence(dialogue), dict[int, Hit]()
    customers = [turn.index for turn in dialogue.turns if turn.role == "customer"]
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        place = bisect_left(customers, turn.index)
        last = customers[place - 1] if place else -1
        n_uses = bisect_left(uses, customers[place], key=_turn_of) if place < len(customers) else len(uses)
        for start, end, verb, is_passive in _claims(turn.text):
            is_state = "status" in turn.text[start:end] and any(use.was_run for use in uses[:n_uses])
            if is_passive and (is_state or evidence.reported_from(verb) < position):
                continue
            is_new = PATTERNS.just_done.search(turn.text, start, end) is not None
            if is_passive and not is_new and evidence.looks_up_only(verb, position, last):
                continue
            why = evidence.refute(turn.text[start:end], verb, n_uses, last)
            if why is not None:
                hits[turn.index] = Hit(turn.index, start, end, why, "R3")
                break
    for hit in false_reports(dialogue, context):
        hits.setdefault(hit.turn, hit)
    yield from hits.values()


@check(R3=Evidence(), languages=("de", "es", "fr", "ru"))
def claims_failed_write(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Suggest the same as `claims_undone_write` by lists of words, in other languages than English: a claim
    that something is done although the call failed, or no tool that may write was called by then (R3).

    Nobody has read hits on real dialogues in these languages.
    """
    if has_calls(dialogue, context):
        yield from false_reports(dialogue, context)


def false_reports(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Yield the first sentence after a failed write that calls something done, before the customer speaks
    again; where no other write and no later look-up succeeded after it. A trial run counts as failed, and a
    write that waits for somebody if something is called completed. Where the message reports a failure too,
    or after a write of another tool, the sentence must have a word of the call. In other languages than
    English also what the agent claims to have done, where nothing that may write was called.
    """
    uses = uses_by_turn(dialogue)
    done, has_written, done_tools = set[str](), False, set[str]()
    for turns in exchanges(dialogue):
        failed: ToolUse | None = None
        is_done = False
        for use in (use for turn in turns for use in uses.get(turn.index, ()) if use.was_run):
            is_write, is_trial = may_write(use.call.name), only_reads(use)
            has_written = has_written or is_write
            if is_write and (is_refused(use) or is_pending(use) or is_trial):
                is_repeated = format_call(use.call) in done or PATTERNS.done_already.search(use.result or "")
                if not is_repeated:
                    failed, is_done = use, is_done and use.call.name in done_tools
            elif not use.failed and (is_write or (failed is not None and is_refused(failed))):
                done.add(format_call(use.call))
                done_tools |= {use.call.name} if is_write else set()
                is_done = True
        failed = None if is_done else failed
        for turn in turns:
            is_after = not has_written if failed is None else turn.index > failed.turn
            if turn.role not in JUDGED_ROLES or not is_after:
                continue
            phrases = phrases_of(dialogue, turn, "done", context)
            if phrases is None or (failed is None and phrases is load_phrases("en")["done"]):
                continue
            span = _find_done(turn.text, phrases, failed, done_tools)
            if span is not None:
                why = "no tool was called"
                if failed is not None:
                    other = "waits for somebody" if is_pending(failed) else "changed nothing"
                    why = f"the call of '{failed.call.name}' {'failed' if is_refused(failed) else other}"
                yield Hit(turn.index, *span, f"told as done, but {why}", "R3")
                break


def _find_done(
    text: str, phrases: Phrases, failed: ToolUse | None, done_tools: set[str]
) -> tuple[int, int] | None:
    """Return the offsets of the first sentence that calls something done. After a failed call it may not be
    about something else, and there is none if a sentence reports the failure of the call."""
    plain = phrases.read(text)
    sentences = list(SENTENCE.finditer(plain))
    failures = [each[0] for each in sentences if failed and phrases.pattern("fails").search(each[0])]
    if failed is not None and any(_names(failed.call, each) for each in failures):
        return None
    for sentence in sentences:
        match = phrases.find(sentence[0], "phrases" if failed else "DID")
        is_claim = match is not None and (failed or not phrases.pattern("not").search(match[0]))
        is_state = failed is not None and _is_state_of(failed.call, sentence[0], phrases)
        if "?" in sentence[0] or not (is_claim or is_state):
            continue
        if failed is not None and (
            sentence[0] in failures
            or not _may_be_of(failed.call, sentence[0], phrases, done_tools if not failures else None)
            or not (is_refused(failed) or PATTERNS.final.search(sentence[0]))
        ):
            continue
        return trim(text, *sentence.span())
    return None


def _may_be_of(call: ToolCall, sentence: str, phrases: Phrases, done_tools: set[str] | None) -> bool:
    """Return whether a sentence that calls something done may be about this call: it has a word of it, or
    nothing else was done, and the tool may block or send things if the sentence says so. Without `done_tools`
    it must have a word of the call."""
    name = name_words(call.name)
    for state in ("blocked", "sent"):
        if phrases.pattern(state).search(sentence) and TOOL_NAMES[state].isdisjoint(name):
            return False
    return (done_tools is not None and done_tools <= {call.name}) or _names(call, sentence)


def _is_state_of(call: ToolCall, sentence: str, phrases: Phrases) -> bool:
    """Return whether a sentence plainly gives a thing the state into which a tool of this name puts it."""
    states = (state for state, words in TOOL_NAMES.items() if not words.isdisjoint(name_words(call.name)))
    return PATTERNS.done_already.search(sentence) is None and any(
        phrases.find(sentence, f"is_{state}") is not None for state in states
    )


def _names(call: ToolCall, sentence: str) -> bool:
    """Return whether a sentence has a word of a call, by the first letters of long ones."""
    words = (*name_words(call.name), *name_words(str(call.arguments)))
    stems = {word[:_STEM] for word in words if len(word) > 2}
    return not stems.isdisjoint(word[:_STEM] for word in name_words(sentence))


def _claims(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield the sentences that claim a completed act: start, end, verb, and whether somebody else may have
    done it: they are passive, or speak of "we"."""
    for start, end in statements(text):
        words = text[start:end]
        if words.endswith("?") or '"' in words:
            continue
        for pattern in (PATTERNS.active, PATTERNS.past, PATTERNS.passive):
            match = pattern.search(words)
            if match is None or PATTERNS.no_claim.search(words, 0, match.end()) or _NOTHING.search(words):
                continue
            if PATTERNS.in_message.search(words[match.end() :]):
                continue
            groups = match.groupdict()
            if groups.get("was") and PATTERNS.history.search(words, match.end()):
                continue
            verb = groups["verb"] or groups.get("past") or groups.get("booked") or groups["state"]
            is_passive = pattern is PATTERNS.passive or match[0][:1] in "wW"
            yield start, end, verb.casefold(), is_passive
            break


def _may_serve(use: ToolUse, act: str, verb: str) -> bool:
    """Return whether a call may have carried out the claimed act: all may, but those of a tool named after
    another act."""
    words = name_words(use.call.name)
    for value in use.call.arguments.values():  # of a few words, such as a status
        value_words = name_words(value[:60]) if isinstance(value, str) else ()
        if len(value_words) <= 3 and any(word.startswith(_stem(verb)) for word in value_words):
            return True
    if act != "transfer" and is_transfer(use.call.name):
        return False
    if act in _DETAIL_ACTS and PATTERNS.detail_tool.fullmatch("_".join(words)):
        return False
    return (
        not words
        or words[0] not in _OTHER_ACTS[act]
        or not TOOL_NAMES["general"].isdisjoint(words)
        or _has_act(use.call.name, act, verb)
    )


def _has_act(name: str, act: str, verb: str) -> bool:
    """Return whether the name of a tool has a word of the claimed act, or the stem of the verb."""
    words = name_words(name)
    return not ACTS[act].isdisjoint(words) or any(word.startswith(_stem(verb)) for word in words)


def _stem(verb: str) -> str:
    """Return the stem of a verb in the past tense: "cancel" of "cancelled"."""
    return re.sub(r"(?:(?<=l)l|(?<=r)r)?ed\Z", "", verb)


class _Writes:
    """The calls that may have carried out the act of a verb, in order: their places among all calls, which of
    them succeeded, failed, or are named after the act."""

    def __init__(self, uses: Sequence[ToolUse], act: str, verb: str) -> None:
        self._fitting = [
            (place, use)
            for place, use in enumerate(uses)
            if may_write(use.call.name)
            and not only_reads(use)
            and (act == "any" or _may_serve(use, act, verb))
        ]
        self._places = [place for place, _ in self._fitting]
        self._turns = [use.turn for _, use in self._fitting]
        self.succeeded = [(place, use) for place, use in self._fitting if not is_refused(use)]
        self._done = [n for n, (_, use) in enumerate(self._fitting) if not is_refused(use)]
        # A failed call of a general tool need not have been of this act, which may have been done before.
        self._tried = [
            n
            for n, (_, use) in enumerate(self._fitting)
            if act == "any" or _has_act(use.call.name, act, verb)
        ]
        self._mentions: WordSearch | None = None
        self._without: dict[str, int | None] = {}

    def refute(self, verb: str, n_uses: int, last_customer: int) -> str | None:
        """Return why none of the first `n_uses` calls can have done it; None if one may have."""
        end = bisect_left(self._places, n_uses)
        if not end:
            return f"said to be {verb}, but no tool was called that could do it"
        start = min(end, bisect_right(self._turns, last_customer))
        n_tried = bisect_left(self._tried, end)
        is_tried = n_tried > 0 and self._tried[n_tried - 1] >= start
        n_succeeded, n_before = bisect_left(self._done, end), bisect_left(self._done, start)
        if not n_succeeded or (is_tried and n_succeeded == n_before):
            last = self._fitting[self._tried[n_tried - 1] if n_succeeded else end - 1][1]
            fate = "failed" if last.was_run else "never ran"
            return f"said to be {verb}, but the call of '{last.call.name}' {fate}"
        return None

    def first_about(self, key: str, value: str, values: Iterable[str]) -> int | None:
        """Return the place of the first call that succeeded and may be about the object whose `key` has a
        `value`: it mentions one, or has no such argument. The search is for all `values` at once."""
        if self._mentions is None:
            self._mentions = WordSearch(values)
            for place, use in self.succeeded:
                self._mentions.add(str(use.call.arguments).casefold(), place)
        if key not in self._without:
            without = (place for place, use in self.succeeded if key not in use.call.arguments)
            self._without[key] = next(without, None)
        places = (self._mentions.first(value), self._without[key])
        return min((place for place in places if place is not None), default=None)


class _Evidence:
    """The evidence in the calls and turns of a dialogue on the acts that its agents claim."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._uses = tool_uses(dialogue)
        self._writes: dict[tuple[str, str], _Writes] = {}
        self._reported: dict[str, float] = {}
        self._spoken: dict[tuple[str, str], float] = {}
        self._asks: dict[int, bool] = {}

    def refute(self, claim: str, verb: str, n_uses: int, last_customer: int) -> str | None:
        """Return why none of the first `n_uses` calls can have been the claimed act; None if one may have."""
        act = _ACT_OF[verb]
        if act == "any" and (noun := _NOUN.search(claim)) is not None:
            act = _ACT_OF_NOUN[noun[1].casefold()]
        if (act, verb) not in self._writes:
            self._writes[act, verb] = _Writes(self._uses, act, verb)
        writes = self._writes[act, verb]
        return (
            writes.refute(verb, n_uses, last_customer)
            or self._other_object(claim, verb, n_uses, writes)
            or self._other_field(claim, verb, n_uses)
        )

    def _other_field(self, claim: str, verb: str, n_uses: int) -> str | None:
        """Return why a claim that names a field which a tool returned as false is not about the calls that
        may write: none of them, nor its result, speaks of that field."""
        _, _, after = claim.casefold().partition(verb)
        words = f" {' '.join(name_words(PATTERNS.clause_end.split(after)[0]))} "
        for name, (place, written) in self._denied.items():
            if place < n_uses <= written and f" {name} " in words:
                return f"said to be {verb}, but {name} was false, and no call speaks of it"
        return None

    @cached_property
    def _denied(self) -> Mapping[str, tuple[int, float]]:
        """The fields that are false in results of look-ups, `MAX_ARGUMENTS` at most: the place of the call,
        and of the first call that may write and has the field; infinity without any."""
        denied: dict[str, tuple[int, float]] = {}
        for place, use in enumerate(self._uses):
            if may_write(use.call.name):
                spoken = " ".join(name_words(f"{format_call(use.call)} {use.result}"))
                for name, (first, written) in denied.items():
                    if written == inf and name in spoken:
                        denied[name] = (first, place)
            elif isinstance(use.value, dict) and not use.failed:
                for key, value in use.value.items():
                    if value is False and len(words := name_words(key)) > 1 and len(denied) < MAX_ARGUMENTS:
                        denied.setdefault(" ".join(words), (place, inf))
        return denied

    def _other_object(self, claim: str, verb: str, n_uses: int, writes: _Writes) -> str | None:
        """Return why a claim that names an id is not about the writes that succeeded: all had another value
        in the argument by which this id was looked up."""
        ids = {match.group().casefold() for match in _ID.finditer(claim)}
        for place, _, key, value in sorted(entry for id in ids for entry in self._lookups.get(id, ())):
            if place >= n_uses:
                break
            first = writes.first_about(key, _plain(value), self._lookups)
            if first is None or first >= n_uses:
                tool = writes.succeeded[bisect_left(writes.succeeded, n_uses, key=itemgetter(0)) - 1][1]
                return f"said to be {verb} for {value}, but '{tool.call.name}' was called for others only"
        return None

    @cached_property
    def _lookups(self) -> Mapping[str, Sequence[tuple[int, int, str, str]]]:
        """The ids by which something was looked up: place of the call, number and name of the argument, and
        value; each argument of an id once, in order, and `MAX_ARGUMENTS` at most."""
        entries: dict[str, dict[str, tuple[int, int, str, str]]] = {}
        for place, use in enumerate(self._uses):
            if use.failed or may_write(use.call.name):
                continue
            for number, (key, value) in enumerate(use.call.arguments.items()):
                if isinstance(value, str) and _MAY_BE_ID.fullmatch(_plain(value)):
                    own = entries.setdefault(_plain(value), {})
                    if len(own) < MAX_ARGUMENTS:
                        own.setdefault(key, (place, number, key, value))
        return {id: tuple(own.values()) for id, own in entries.items()}

    def reported_from(self, verb: str) -> float:
        """Return the position of the first turn that a passive sentence may repeat: a tool's report, or what
        the customer said had been done; infinity without any."""
        if verb not in self._reported:
            word = verb.replace("canceled", "cancelled")
            positions = (n for n, turn in enumerate(self._turns) if self._reports(n, turn, verb, word))
            self._reported[verb] = next(positions, inf)
        return self._reported[verb]

    def looks_up_only(self, verb: str, position: int, last_customer: int) -> bool:
        """Return whether a sentence at a position tells the result of a look-up since the customer's turn:
        nobody has spoken of the act of its verb before, but in questions for a state."""
        act = _ACT_OF[verb]
        until, place = self._turns[position].index, bisect_left(self._turns, last_customer, key=_index_of)
        asked = self._turns[place].text if self._turns[place].index == last_customer else ""
        if place not in self._asks:
            self._asks[place] = bool(PATTERNS.asks.search(asked) or PATTERNS.asks_state.match(asked))
        if act == "any" or not self._asks[place]:
            return False
        if self._spoken_from(act, verb) < position:
            return False
        return any(
            use.value not in (None, "", [], {})
            and not use.failed
            and not may_write(use.call.name)
            and _OFFERS.isdisjoint(name_words(use.call.name))
            and not any(each[1] in _KNOWN for each in _STATUS.finditer((use.result or "").casefold()))
            for use in self._uses[
                bisect_right(self._uses, last_customer, key=_turn_of) : bisect_left(
                    self._uses, until, key=_turn_of
                )
            ]
        )

    def _spoken_from(self, act: str, verb: str) -> float:
        """Return the position of the first turn that speaks of an act, infinity without any."""
        if (act, verb) not in self._spoken:
            stems = tuple({*ACTS[act], _stem(verb)})
            positions = (
                n
                for n, turn in enumerate(self._turns)
                if turn.role == "customer" or turn.role in JUDGED_ROLES
                for sentence in SENTENCE.findall(turn.text)
                if not PATTERNS.asks_state.match(sentence)
                and any(word.startswith(stems) for word in name_words(sentence))
                and not any(each[2] == verb for each in _claims(sentence))
            )
            self._spoken[act, verb] = next(positions, inf)
        return self._spoken[act, verb]

    @cached_property
    def _failed(self) -> frozenset[int]:
        return frozenset(n for n, turn in enumerate(self._turns) if turn.role == "tool" and has_failed(turn))

    def _reports(self, position: int, turn: Turn, verb: str, word: str) -> bool:
        """Return whether a turn reports an act; an error only reports what had been done before it."""
        if turn.role == "customer":
            return any(match["verb"].casefold() == verb for match in PATTERNS.done_before.finditer(turn.text))
        if turn.role != "tool":
            return False
        text = turn.text.casefold().replace("canceled", "cancelled")
        if position in self._failed:
            matches = PATTERNS.done_before.finditer(text.replace("_", " "))
            return any(match["verb"] == word for match in matches)
        return (
            word in text
            or any(
                part.startswith(_PLACED_STEMS if _ACT_OF[word] == "book" else (_stem(word),))
                for match in _DATE_KEY.finditer(turn.text)
                for part in name_words(match[1])
            )
            or any(match[1] in _STATES.get(verb, ()) for match in _STATUS.finditer(text))
        )


def _plain(value: str) -> str:
    return value.strip().lstrip("#").casefold()


_STATUS = re.compile(r"\"(?:\w{1,30}_)?(?:status|state)\"\s?:\s?\"(\w{1,30})\"")
_STATES = {
    "activated": ("active", "enabled"),
    "deactivated": ("inactive", "disabled"),
    "booked": ("confirmed", "active"),
    "reserved": ("confirmed", "active"),
    "scheduled": ("confirmed", "active"),
    "processed": ("complete", "completed", "done", "paid", "settled", "refunded"),
    "completed": ("complete", "done", "paid", "settled"),
}
"""The states in a tool's result that report the act of a verb."""
_KNOWN = frozenset(state for states in _STATES.values() for state in states)
_DATE_KEY = re.compile(r"\"(\w{2,30}?)(?:_?(?:date|time)|_at|_on|Date|Time|At|On)\"\s?:\s?(?!null|\"\")")
"""A field with the time of an act."""
_PLACED_STEMS = ("order", "book", "reserv", "schedul", "plac", "purchas", "creat")
