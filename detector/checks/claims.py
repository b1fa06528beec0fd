"""Claims of a completed act that no tool call of the dialogue carried out.

Only what an agent says that he himself has done is read: no plan, condition, question or quotation, and no
report of a state that a tool returned. Whether the act was allowed, or done as the customer wished, is not
judged here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import inf
from operator import attrgetter, itemgetter

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.dialogue_cache import WordSearch
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import ToolUse, has_failed, tool_uses

_TOOL_WORDS = """
cancel: cancel delete remove terminate refund unsubscribe disable deactivate downgrade
book: book reserve schedule reschedule buy purchase exchange replace rebook
return: return refund cancel exchange replace
exchange: exchange replace swap return rebook upgrade
change: edit upgrade downgrade remove delete cancel replace exchange reschedule schedule move switch book
change: adjust enable disable reset activate deactivate grant block freeze suspend terminate swap rebook
pay: refund pay charge credit cancel return compensate remove adjust waive reimburse redeem
transfer: transfer escalate handoff handover connect route forward move pay
"""
_OTHER_TOOL_WORDS = """
cancel: book reserve schedule buy purchase upgrade activate enable charge
book: cancel delete remove terminate refund waive unsubscribe disable deactivate downgrade
return: book reserve buy purchase upgrade downgrade activate enable charge waive
exchange: cancel delete terminate refund unsubscribe waive charge downgrade activate deactivate
change:
pay: reserve schedule upgrade activate enable deactivate disable block freeze
transfer: cancel delete refund waive reserve activate deactivate
"""
_GENERAL_TOOL_WORDS = """
create submit update modify set change add make send apply issue assign put post write save patch
process execute run open file
"""
_VERBS = """
cancel: cancelled canceled deleted
book: booked rebooked reserved scheduled placed ordered
return: returned
exchange: exchanged replaced swapped
change: updated changed modified upgraded downgraded rescheduled adjusted switched edited added removed
change: activated deactivated reset blocked sent
pay: refunded credited charged deducted waived reimbursed
transfer: transferred escalated
any: processed completed submitted initiated issued finalized created made registered requested applied
"""
_NOUNS = """
cancel: cancellation
book: booking reservation
return: return
exchange: exchange
change: upgrade change modification update adjustment
pay: refund
transfer: transfer
"""
_READ_WORDS = """
get find search list lookup look calculate calc check query fetch read retrieve think view describe count
validate verify show browse compute estimate track compare respond say
"""


def _families(table: str) -> dict[str, str]:
    """The family of each word of a table of ``family: words`` lines; the later line wins."""
    rows = [line.split(": ") for line in table.strip().splitlines()]
    return {word: family for family, words in rows for word in words.split()}


def _words_of_families(table: str) -> dict[str, frozenset[str]]:
    """The words of each family of such a table."""
    words: dict[str, frozenset[str]] = {}
    for line in table.strip().splitlines():
        family, _, listed = line.partition(":")
        words[family] = words.get(family, frozenset()) | frozenset(listed.split())
    return words


FAMILIES = _words_of_families(_TOOL_WORDS)
"""The words in the name of a tool that tell the claims of a family, beside the general ones."""
_OTHER_ACTS = _words_of_families(_OTHER_TOOL_WORDS)
"""The first words in the name of a tool that does clearly something else than a family claims. Any write may
be a change."""
_GENERAL_WORDS = frozenset(_GENERAL_TOOL_WORDS.split())
"""Words in the names of tools that may do anything."""
_PEOPLE = frozenset(["human", "humans", "agent", "agents", "supervisor", "operator"])
"""Words in the name of a tool that hands the customer over to somebody, and does nothing else."""
_DETAIL_FAMILIES = frozenset(["cancel", "book", "return", "exchange", "pay"])
_DETAIL_TOOL = re.compile(
    r"(?:add|change|edit|modify|set|update)_(?:\w{1,30}_)?(?:address|e?mail|phone|password)"
)
"""A tool that writes a customer's contact details, and so does nothing of those families."""

_FAMILY_OF = _families(_VERBS)
"""The verbs that claim a write, by family; those of "any" may be about any write."""
_FAMILY_OF_NOUN = _families(_NOUNS)
"""What a verb of the family "any" was done to, and so its family."""

_NOUN = re.compile(rf"\b({'|'.join(_FAMILY_OF_NOUN)})s?\b(?! (?:ID|number|#|policy))", re.IGNORECASE)
_VERB = f"(?P<verb>{'|'.join(_FAMILY_OF)})"
_PASSIVE_VERB = f"(?P<verb>{'|'.join(verb for verb in _FAMILY_OF if verb not in ('blocked', 'sent'))})"
"""That a card has been blocked, or a parcel sent, is a state: only who did it himself claims an act."""
_OBJECT = (
    r"(?:(?<!sent)(?<!made)|(?=\s(?:(?:you|out|the|a|an|your|another)\s){1,3}(?:replacement|refund|payment|new\scard)\b)"
    r"|(?<=made)(?=\s(?:[\w-]{1,20}\s){1,3}(?:payments?|bookings?|reservations?|changes?|updates?|adjustments?"
    r"|transfers?|orders?|refunds?|requests?)\b))"
)
"""What is sent in the chat itself, and a note or a mistake that is made, may need no tool."""
_ACTIVE = re.compile(
    r"\b(?:I|we)(?:['’]ve|\shave)(?:\s(?:successfully|now|just|already|also|all|both|officially|fully|been)){0,3}"
    rf"\s{_VERB}\b{_OBJECT}(?!\s(?:to you|you that))",
    re.IGNORECASE,
)
_PAST = re.compile(
    rf"\b(?:I|we)\s(?:successfully\s|just\s){{1,2}}{_VERB}\b{_OBJECT}"
    r"|\bI\s(?P<past>cancell?ed|refunded|credited|waived|booked|exchanged|blocked)"
    r"\s(?:the|your|it|both|[$€£]\d)(?!\w)(?![^.!?\n]{0,200}\b(?:ago|earlier|yesterday|last|previous\w{0,2})\b)",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"\b(?:(?:has|have|['’]s)(?:\s(?:now|just|also|already|all|both|successfully)){0,3}\sbeen"
    r"|(?:is|are|(?P<was>was|were))\s(?:now|successfully))"
    r"(?:\s(?:successfully|now|also|already|just|fully|officially)){0,3}"
    rf"\s{_PASSIVE_VERB}\b(?!\s(?:by|yet)\b)"
    rf"|\b(?:is|are)\s{_PASSIVE_VERB.replace('verb', 'state')}\snow\b",
    re.IGNORECASE,
)
_HISTORY = re.compile(
    r"\b(?:on|in|at|ago|earlier|yesterday|last|previously|originally|back|when|during)\b", re.IGNORECASE
)
"""After "was" and a verb: a report of the past."""
_DONE_BEFORE = re.compile(
    rf"(?:['’](?:s|ve)|has|have|had|was|were|got|been|already)\s(?:been\s|already\s){{0,2}}{_VERB}\b",
    re.IGNORECASE,
)
"""A customer who says that something had been done before."""
_NO_CLAIM = re.compile(
    r"\b(?:if|unless|once|when|whenever|after|before|until|would|could|can|cannot|should|might|may|must|will"
    r"|shall|whether|assuming|in case|provided that|as soon as|need|needs|let me|not|never|unable|because"
    r"|since|only|any|always|ensure|make sure|status|follow|sorry|unfortunately|apologi[sz]e|error|issue"
    r"|failed)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Before the verb: a condition, a plan, a denial, or talk of a state."""
_SENTENCE = re.compile(r"[^.!?\n]++(?:\.(?=\w)[^.!?\n]++)*+[.!?\n]?")
_CONTENT = re.compile(r"\"content\":\s?\"")
_CONTENT_END = re.compile(r"\"\s?\}")
_READS = frozenset(_READ_WORDS.split())
_NAME_WORD = re.compile(r"[A-Z]{1,20}(?![a-z])|[A-Z]?[a-z]++|\d++")
_ID = re.compile(r"\b(?=[A-Za-z_]{0,20}\d)\w{5,30}\b")
_MAY_BE_ID = re.compile(r"\w{5,90}")
MAX_ARGUMENTS = 100
"""Most names of arguments by which one id is known to have been looked up."""
_turn_of = attrgetter("turn")


@lru_cache(maxsize=4096)
def name_words(name: str) -> tuple[str, ...]:
    """The words of a tool's name in lower case, from snake, kebab or camel case."""
    return tuple(word.casefold() for word in _NAME_WORD.findall(name))


def may_write(name: str) -> bool:
    """Whether a tool of this name may change something: all may, but those named after reading alone."""
    words = name_words(name)
    return (
        not words
        or words[0] not in _READS
        or words[:2] in (("check", "in"), ("check", "out"))
        or not {"and", "or"}.isdisjoint(words)
    )


@check(R3=Evidence(estimate=0.972), languages=("en",))
def claims_undone_write(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects an agent who says that something was done although no tool call did it (R3).

    Before the customer's next turn there is no call of a tool that could have done it; or all such calls
    since the customer's last turn failed; or the claim names an id that was looked up, and the tools that
    write were called for others only. A tool might have done it, so it counts as the write, unless it is
    named after another act. Silent on dialogues without results of tools, unless the log is known to hold
    them.

    Read on the once-half of tau_bench (2026-11-23): 35 of 38 right, .92 (.79 to .98), without the log's
    profile; 106 of 107 with it, .99 (.95 to 1).
    """
    uses = tool_uses(dialogue)
    if not (context.log.has_tools or any(use.was_run for use in uses)):
        return
    evidence = _Evidence(dialogue)
    customers = [turn.index for turn in dialogue.turns if turn.role == "customer"]
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        place = bisect_left(customers, turn.index)
        last = customers[place - 1] if place else -1
        n_uses = bisect_left(uses, customers[place], key=_turn_of) if place < len(customers) else len(uses)
        for start, end, verb, is_passive in _claims(turn.text):
            if is_passive and evidence.reported_from(verb) < position:
                continue
            why = evidence.refute(turn.text[start:end], verb, n_uses, last)
            if why is not None:
                yield Hit(turn.index, start, end, why, "R3")
                break


def _claims(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """The sentences that claim something done: start, end, verb, and whether they leave out who did it."""
    for start, end in statements(text):
        words = text[start:end]
        if words.endswith("?") or '"' in words:
            continue
        for pattern in (_ACTIVE, _PAST, _PASSIVE):
            match = pattern.search(words)
            if match is None or _NO_CLAIM.search(words, 0, match.end()):
                continue
            groups = match.groupdict()
            if groups.get("was") and _HISTORY.search(words, match.end()):
                continue
            verb = groups["verb"] or groups.get("past") or groups["state"]
            yield start, end, verb.casefold(), pattern is _PASSIVE
            break


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, without outer blanks; of the text of a raw call its content."""
    for sentence in _SENTENCE.finditer(text):
        start, words = sentence.start(), sentence.group()
        if (content := _CONTENT.search(words)) is not None:
            start, words = start + content.end(), words[content.end() :].partition('"')[0]
        elif '"' in words and (end := _CONTENT_END.search(words)) is not None:
            words = words[: end.start()]
        if words.strip():
            start += len(words) - len(words.lstrip())
            yield start, start + len(words.strip())


def _may_serve(use: ToolUse, family: str, verb: str) -> bool:
    """Whether a call may have done what is claimed: all may, but those of a tool named after another act."""
    words = name_words(use.call.name)
    if any(_has_stem(value, verb) for value in use.call.arguments.values() if isinstance(value, str)):
        return True
    if family != "transfer" and not _PEOPLE.isdisjoint(words) and words[0] in FAMILIES["transfer"]:
        return False
    if family in _DETAIL_FAMILIES and _DETAIL_TOOL.fullmatch("_".join(words)):
        return False
    return (
        not words
        or words[0] not in _OTHER_ACTS[family]
        or not _GENERAL_WORDS.isdisjoint(words)
        or _is_named_after(use.call.name, family, verb)
    )


def _is_named_after(name: str, family: str, verb: str) -> bool:
    """Whether the name of a tool tells the claimed act: by a word of its family, or its stem."""
    words = name_words(name)
    return not FAMILIES[family].isdisjoint(words) or any(word.startswith(_stem(verb)) for word in words)


def _has_stem(value: str, verb: str) -> bool:
    """Whether an argument of a few words, such as a status, tells the claimed act."""
    words = name_words(value[:60])
    return len(words) <= 3 and any(word.startswith(_stem(verb)) for word in words)


def _stem(verb: str) -> str:
    """What a verb in the past shares with its other forms: "cancel" of "cancelled"."""
    return re.sub(r"(?:(?<=l)l|(?<=r)r)?ed\Z", "", verb)


class _Writes:
    """The calls that may have done what a verb claims, in order: their places among all calls, which of them
    succeeded, failed, or are named after the act."""

    def __init__(self, uses: Sequence[ToolUse], family: str, verb: str) -> None:
        self._fitting = [
            (place, use)
            for place, use in enumerate(uses)
            if may_write(use.call.name) and (family == "any" or _may_serve(use, family, verb))
        ]
        self._places = [place for place, _ in self._fitting]
        self._turns = [use.turn for _, use in self._fitting]
        self.succeeded = [(place, use) for place, use in self._fitting if not use.failed]
        self._done = [n for n, (_, use) in enumerate(self._fitting) if not use.failed]
        # A failed call of a general tool need not have been of this act, which may have been done before.
        self._tried = [
            n
            for n, (_, use) in enumerate(self._fitting)
            if family == "any" or _is_named_after(use.call.name, family, verb)
        ]
        self._mentions: WordSearch | None = None
        self._without: dict[str, int | None] = {}

    def refute(self, verb: str, n_uses: int, last_customer: int) -> str | None:
        """Why none of the first `n_uses` calls can have done it; None if one may have."""
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
        """The place of the first call that succeeded and may be about the object whose `key` has a `value`:
        it mentions one, or has no such argument. The search is for all `values` at once."""
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
    """What the calls and the turns of a dialogue say of the acts that its agents claim."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._turns = dialogue.turns
        self._uses = tool_uses(dialogue)
        self._writes: dict[tuple[str, str], _Writes] = {}
        self._reported: dict[str, float] = {}

    def refute(self, claim: str, verb: str, n_uses: int, last_customer: int) -> str | None:
        """Why none of the first `n_uses` calls can have done what is claimed; None if one may have."""
        family = _FAMILY_OF[verb]
        if family == "any" and (noun := _NOUN.search(claim)) is not None:
            family = _FAMILY_OF_NOUN[noun[1].casefold()]
        if (family, verb) not in self._writes:
            self._writes[family, verb] = _Writes(self._uses, family, verb)
        writes = self._writes[family, verb]
        return writes.refute(verb, n_uses, last_customer) or self._other_object(claim, verb, n_uses, writes)

    def _other_object(self, claim: str, verb: str, n_uses: int, writes: _Writes) -> str | None:
        """Why a claim that names an id is not about the writes that succeeded: all had another value in the
        argument by which this id was looked up."""
        ids = {match.group().casefold() for match in _ID.finditer(claim)}
        for place, _, key, value in sorted(entry for id in ids for entry in self._looked_up.get(id, ())):
            if place >= n_uses:
                break
            first = writes.first_about(key, _plain(value), self._looked_up)
            if first is None or first >= n_uses:
                tool = writes.succeeded[bisect_left(writes.succeeded, n_uses, key=itemgetter(0)) - 1][1]
                return f"said to be {verb} for {value}, but '{tool.call.name}' was called for others only"
        return None

    @cached_property
    def _looked_up(self) -> Mapping[str, Sequence[tuple[int, int, str, str]]]:
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
        """The position of the first turn that a sentence which leaves out who did it may repeat: what a tool
        reported, or what the customer said had been done; infinity without any."""
        if verb not in self._reported:
            word = verb.replace("canceled", "cancelled")
            positions = (n for n, turn in enumerate(self._turns) if self._reports(n, turn, verb, word))
            self._reported[verb] = next(positions, inf)
        return self._reported[verb]

    @cached_property
    def _failed(self) -> frozenset[int]:
        return frozenset(n for n, turn in enumerate(self._turns) if turn.role == "tool" and has_failed(turn))

    def _reports(self, position: int, turn: Turn, verb: str, word: str) -> bool:
        """An error reports only what had been done before: it says what was refused."""
        if turn.role == "customer":
            return any(match["verb"].casefold() == verb for match in _DONE_BEFORE.finditer(turn.text))
        if turn.role != "tool":
            return False
        text = turn.text.casefold().replace("canceled", "cancelled")
        if position in self._failed:
            return any(match["verb"] == word for match in _DONE_BEFORE.finditer(text))
        return (
            word in text
            or any(_dates(match[1], word) for match in _DATE_KEY.finditer(turn.text))
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
"""The states by which a tool reports what such a verb says."""
_DATE_KEY = re.compile(r"\"(\w{2,30}?)(?:_?(?:date|time)|_at|_on|Date|Time|At|On)\"\s?:\s?(?!null|\"\")")
"""A field that tells when something was done."""


def _dates(key: str, verb: str) -> bool:
    """Whether a field such as "order_date" tells when what the verb says was done."""
    words = name_words(key)
    stems = _PLACED_STEMS if _FAMILY_OF[verb] == "book" else (_stem(verb),)
    return any(word.startswith(stems) for word in words)


_PLACED_STEMS = ("order", "book", "reserv", "schedul", "plac", "purchas", "creat")
