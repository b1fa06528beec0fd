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
from dialint.detector.tool_use import ToolUse, tool_uses

_TOOL_WORDS = """
cancel: cancel delete remove terminate refund unsubscribe
book: book reserve create place order schedule make add submit buy update modify change
return: return refund cancel
exchange: exchange replace swap modify update change
change: update modify change edit set upgrade downgrade add remove replace exchange reschedule move
change: switch book assign patch write save put adjust enable disable reset toggle activate send issue
change: grant apply register
pay: refund pay charge credit cancel return send issue compensate update modify change exchange book
transfer: transfer escalate handoff handover connect route assign forward
"""
_VERBS = """
cancel: cancelled canceled deleted
book: booked rebooked reserved scheduled placed ordered
return: returned
exchange: exchanged replaced swapped
change: updated changed modified upgraded downgraded rescheduled adjusted switched edited added removed
change: activated deactivated reset
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


FAMILIES: dict[str, frozenset[str]] = {
    family: frozenset(
        word
        for line in _TOOL_WORDS.splitlines()
        if line.startswith(f"{family}:")
        for word in line.split()[1:]
    )
    for family in ("cancel", "book", "return", "exchange", "change", "pay", "transfer")
}
"""The words in the name of a tool that may do what a claim of the family says."""

_FAMILY_OF = _families(_VERBS)
"""The verbs that claim a write, by family; those of "any" may be about any write."""
_FAMILY_OF_NOUN = _families(_NOUNS)
"""What a verb of the family "any" was done to, and so its family."""

_NOUN = re.compile(rf"\b({'|'.join(_FAMILY_OF_NOUN)})s?\b(?! (?:ID|number|#|policy))", re.IGNORECASE)
_VERB = f"(?P<verb>{'|'.join(_FAMILY_OF)})"
_ACTIVE = re.compile(
    r"\b(?:I|we)(?:['’]ve|\shave)(?:\s(?:successfully|now|just|already|also|all|both|officially|fully|been)){0,3}"
    rf"\s{_VERB}\b(?!\s(?:to you|you that))",
    re.IGNORECASE,
)
_PAST = re.compile(rf"\b(?:I|we)\s(?:successfully\s|just\s){{1,2}}{_VERB}\b", re.IGNORECASE)
_PASSIVE = re.compile(
    r"\b(?:(?:has|have|['’]s)(?:\s(?:now|just|also|already|all|both|successfully)){0,3}\sbeen"
    r"|(?:is|are|was|were)\s(?:now|successfully))"
    r"(?:\s(?:successfully|now|also|already|just|fully|officially)){0,3}"
    rf"\s{_VERB}\b(?!\s(?:by|yet)\b)",
    re.IGNORECASE,
)
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
    """Whether a tool of this name may change something: all may, but those named after reading."""
    words = name_words(name)
    return not words or words[0] not in _READS


def claims_undone_write(dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
    """Detects an agent who says that something was done although no tool call did it (R3).

    Before the customer's next turn there is no call of a tool that could have done it; or all such calls
    since the customer's last turn failed; or the claim names an id that was looked up, and the tools that
    write were called for others only. A tool of unknown purpose might have done it, so it counts as the
    write. Silent on dialogues without results of tools, unless the log is known to hold them.

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
            if match is not None and not _NO_CLAIM.search(words, 0, match.end()):
                yield start, end, match["verb"].casefold(), pattern is _PASSIVE
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
    name = _FAMILY_OF[verb]
    if name == "any" and (noun := _NOUN.search(claim)) is not None:
        name = _FAMILY_OF_NOUN[noun[1].casefold()]
    family = FAMILIES.get(name)
    writes = [use for use in uses if may_write(use.call.name)]
    fitting = [use for use in writes if family is None or _may_serve(use.call.name, family)]
    if not fitting:
        return f"said to be {verb}, but no tool was called that could do it"
    recent = [use for use in fitting if use.turn > last_customer]
    succeeded = [use for use in fitting if not use.failed]
    if not succeeded or (recent and all(use.failed for use in recent)):
        fate = "failed" if fitting[-1].was_run else "never ran"
        return f"said to be {verb}, but the call of '{fitting[-1].call.name}' {fate}"
    return _other_object(claim, verb, uses, succeeded)


def _may_serve(name: str, family: frozenset[str]) -> bool:
    words = name_words(name)
    return not family.isdisjoint(words) or _FAMILY_WORDS.isdisjoint(words)


_FAMILY_WORDS = frozenset[str]().union(*FAMILIES.values())


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
            if all(_plain(str(write.call.arguments.get(key, value))) != _plain(value) for write in succeeded):
                tool = succeeded[-1].call.name
                return f"said to be {verb} for {value}, but '{tool}' was called for others only"
    return None


def _plain(value: str) -> str:
    return value.strip().lstrip("#").casefold()


def _is_reported(verb: str, turns: Sequence[Turn]) -> bool:
    """Whether a sentence that leaves out who did it may repeat what a tool reported, or what the customer
    said had been done."""
    word = verb.replace("canceled", "cancelled")
    return any(
        word in turn.text.casefold().replace("canceled", "cancelled") for turn in turns if turn.role == "tool"
    ) or any(
        match["verb"].casefold() == verb
        for turn in turns
        if turn.role == "customer"
        for match in _DONE_BEFORE.finditer(turn.text)
    )


def _last_customer(turns: Sequence[Turn], position: int) -> int:
    return next((turn.index for turn in reversed(turns[:position]) if turn.role == "customer"), -1)


def _next_customer(turns: Sequence[Turn], position: int) -> int:
    return next(
        (turn.index for turn in turns[position + 1 :] if turn.role == "customer"), turns[-1].index + 1
    )
