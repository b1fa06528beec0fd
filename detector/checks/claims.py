"""Claims of a completed act that no tool call of the dialogue carried out.

Only what an agent says that he himself has done is read: no plan, condition, question or quotation, and no
report of a state that a tool returned. Whether the act was allowed, or done as the customer wished, is not
judged here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dialint.detector.checks.context import NO_CONTEXT, CheckContext, Hit
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


def claims_undone_write(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
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
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        next_customer = _next_customer(dialogue.turns, position)
        before = [use for use in uses if use.turn < next_customer]
        for start, end, verb, is_passive in _claims(turn.text):
            if is_passive and _is_reported(verb, dialogue.turns[:position]):
                continue
            last_customer = _last_customer(dialogue.turns, position)
            why = _refutation(turn.text[start:end], verb, before, last_customer)
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


def _refutation(claim: str, verb: str, uses: Sequence[ToolUse], last_customer: int) -> str | None:
    """Why none of the `uses` can have done what is claimed; None if one may have."""
    family = _FAMILY_OF[verb]
    if family == "any" and (noun := _NOUN.search(claim)) is not None:
        family = _FAMILY_OF_NOUN[noun[1].casefold()]
    writes = [use for use in uses if may_write(use.call.name)]
    fitting = [use for use in writes if family == "any" or _may_serve(use, family, verb)]
    if not fitting:
        return f"said to be {verb}, but no tool was called that could do it"
    succeeded = [use for use in fitting if not use.failed]
    recent = [use for use in fitting if use.turn > last_customer]
    # A failed call of a general tool need not have been of this act, which may have been done before.
    tried = [use for use in recent if family == "any" or _is_named_after(use.call.name, family, verb)]
    if not succeeded or (tried and all(use.failed for use in recent)):
        last = (tried if succeeded else fitting)[-1]
        fate = "failed" if last.was_run else "never ran"
        return f"said to be {verb}, but the call of '{last.call.name}' {fate}"
    return _other_object(claim, verb, uses, succeeded)


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


def _other_object(claim: str, verb: str, uses: Sequence[ToolUse], succeeded: Sequence[ToolUse]) -> str | None:
    """Why a claim that names an id is not about the writes that `succeeded`: all had another value in the
    argument by which this id was looked up."""
    ids = {match.group().casefold() for match in _ID.finditer(claim)}
    for use in uses:
        if use.failed or may_write(use.call.name):
            continue
        for key, value in use.call.arguments.items():
            if not isinstance(value, str) or _plain(value) not in ids:
                continue
            if all(
                _plain(str(write.call.arguments.get(key, value))) != _plain(value)
                and _plain(value) not in str(write.call.arguments).casefold()
                for write in succeeded
            ):
                tool = succeeded[-1].call.name
                return f"said to be {verb} for {value}, but '{tool}' was called for others only"
    return None


def _plain(value: str) -> str:
    return value.strip().lstrip("#").casefold()


def _is_reported(verb: str, turns: Sequence[Turn]) -> bool:
    """Whether a sentence that leaves out who did it may repeat what a tool reported, or what the customer
    said had been done. An error reports only what had been done before: it tells what was refused."""
    word = verb.replace("canceled", "cancelled")
    for turn in turns:
        if turn.role == "tool":
            text = turn.text.casefold().replace("canceled", "cancelled")
            if has_failed(turn):
                if any(match["verb"] == word for match in _DONE_BEFORE.finditer(text)):
                    return True
            elif (
                word in text
                or any(_dates(match[1], word) for match in _DATE_KEY.finditer(turn.text))
                or any(match[1] in _STATES.get(verb, ()) for match in _STATUS.finditer(text))
            ):
                return True
        elif turn.role == "customer" and any(
            match["verb"].casefold() == verb for match in _DONE_BEFORE.finditer(turn.text)
        ):
            return True
    return False


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


def _last_customer(turns: Sequence[Turn], position: int) -> int:
    return next((turn.index for turn in reversed(turns[:position]) if turn.role == "customer"), -1)


def _next_customer(turns: Sequence[Turn], position: int) -> int:
    return next(
        (turn.index for turn in turns[position + 1 :] if turn.role == "customer"), turns[-1].index + 1
    )
