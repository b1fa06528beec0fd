"""Look-ups that an agent says to have done, and records that he describes, although no tool had returned
anything: what is said to have come of them is invented."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dialint.detector.checks.claims import name_words, statements
from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.values import AMOUNT, compact
from dialint.detector.dialogue_cache import WordSearch
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import ToolUse, tool_uses

_WORD = r"[^\s.?!]{1,30}\s"
_THING = (
    r"(?:accounts?|profiles?|orders?|reservations?|bookings?|flights?|histor(?:y|ies)|records?|user|customer"
    r"|purchases?|details|information|status(?:es)?|identity|IDs?|products?|items?|inventory|system|database"
    r"|catalog(?:ue)?|tickets?|payments?|shipments?|tracking|response|results?|size|stock|options?|availability)"
)
_DONE = (
    r"(?:located|found|retrieved|accessed|pulled\sup|looked\s(?:up|into|at|through)|checked|verified|confirmed"
    r"|authenticated|reviewed|identified|received|fetched|obtained|searched)"
)
_RECORD = r"(?:orders?|reservations?|bookings?|flights?|items?|account|profile|purchases?|payment methods?)"
_STOCK = r"(?:(?:in|out\sof)\sstock|(?:un)?available)"
_STATES = (
    "pendin",
    "delive",
    "proces",
    "shippe",
    "cancel",
    "confir",
    "active",
    "in sto",
    "out of",
    "availa",
    "unavai",
)
_STATE = rf"(?:pending|delivered|processed|shipped|cancell?ed|confirmed|active|{_STOCK})"
_OPENING = (
    r"(?:\A(?:\[[^\]]{1,60}\])?\W{0,3}+(?:\w{1,20},\s|(?:so|and|now|just)\s){0,3}+"
    r"|\b(?:see|tell|know|gather|understand)(?:\sthat)?\s)"
)
"""Before what a sentence rests on; money, too, is taken "from your account"."""
_LOOKUP = re.compile(
    r"\b(?:I|we)(?:(?:['’]ve|\shave)(?:\s(?:now|just|already|also|successfully|finally)){0,2}|\s(?:was|were)\sable\sto"
    rf"|\s(?:just|successfully))\s(?:{_DONE}|find|locate|retrieve|access|verify)\s(?:{_WORD}){{0,6}}?{_THING}\b"
    rf"|\bI\s(?:found|located|retrieved|checked|accessed)\s(?:{_WORD}){{0,5}}?{_THING}\b"
    r"|\b(?:I|we)(?:\snow)?\shave\s(?:here\s)?(?:the|your)\s(?:[\w-]{1,20}\s){0,2}"
    rf"{_THING}\s(?:here|in\sfront)\b"
    rf"|(?:{_OPENING}(?:based\son|from|looking\sat)|\baccording\sto"
    r"|\bbased\son(?=\sthe\s\w{1,20}\sdetails))\s(?:the|your|our)\s(?:\w{1,20}\s){0,2}"
    r"(?:records|system|database|history|profile|account|order\sdetails|product\sdetails|user\sdetails)\b"
    r"(?!,?\s(?:type|settings?|page|menu|section|screen|tab|level|number|go|choose|select|click|tap|open|you\scan))",
    re.IGNORECASE,
)
"""A look-up in the past, and what it was of."""
_SEEN = re.compile(
    r"\b(?:I\s(?:can\s)?see|it\s(?:looks\slike|seems|appears))\s(?:here\s)?(?:that\s)?"
    rf"(?:you\shave\s(?:{_WORD}){{0,4}}?|(?:your|the)\s(?:\w{{1,20}}\s){{0,2}}?){_RECORD}\b"
    rf"|\byou\shave\s(?:two|three|four|five|six|several|multiple|\d{{1,2}})\s(?:\w{{1,20}}\s){{0,2}}?{_RECORD}\b",
    re.IGNORECASE,
)
"""What a record is said to show."""
_STATUS = re.compile(
    rf"\b{_RECORD}\s(?:{_WORD}){{0,4}}?(?:status\s)?(?:is|are|was|were)\s(?:also\s|currently\s|still\s|already\s){{0,2}}"
    rf"[\"'“]?(?P<state>{_STATE})\b|\b(?:order|current)\sstatus\s(?:is|of)\s[^.?!\n]{{0,40}}?[\"'“]?(?P<named>{_STATE})\b"
    rf"|\bstatus:\s(?P<listed>{_STATE})\b",
    re.IGNORECASE,
)
_OF_RECORD = re.compile(
    r"\b(?:price|cost|costs|refund|total|difference|balance|amount|paid)\b", re.IGNORECASE
)
_NO_CLAIM = re.compile(
    r"\b(?:if|unless|once|when|whenever|after|before|until|would|could|can|cannot|should|might|may|must|will|as\slong"
    r"|shall|whether|assuming|in\scase|need|let\sme|let['’]s|not|never|unable|only|replace|example|typically|usually"
    r"|depending|ensure|make\ssure|confirm)\b|n['’]t\b|['’]ll\b|\A\W{0,3}+(?:please|have)\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:not?|unable|none|never|no|error|issue|different|another)\b|n['’]t\b", re.IGNORECASE
)
_HELPERS = frozenset(["think", "calculate", "calc", "transfer", "escalate", "respond", "say", "handoff"])
"""Words in the names of tools that look nothing up."""


@check(I2=Evidence(114, 119), languages=("en",))
def claims_undone_lookup(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects an agent who says that something was found, checked or verified in a system, or tells what a
    record holds, although no tool has returned anything by then (I2).

    At most one hit for each turn. Silent on dialogues with documents, and where neither the dialogue nor the
    log holds calls of tools: the look-ups may be unlogged. After look-ups that failed, a sentence that
    tells so is none.

    Read on the once-half of tau_bench (2026-11-23): 114 of 119 right, .96 (.90 to .99).
    """
    uses = tool_uses(dialogue)
    if dialogue.sources or not (context.log.has_tools or any(use.was_run for use in uses)):
        return
    answered = [use.result_turn for use in uses if use.result_turn is not None and _is_lookup(use)]
    first = min(answered, default=None)
    n_calls = [use.turn for use in uses if use.was_run]
    until = [turn for turn in dialogue.turns if first is None or turn.index <= first]
    spoken = [turn.text for turn in until if turn.role in JUDGED_ROLES]
    sentences = (text[start:end] for text in spoken for start, end in statements(text))
    known = _Known(compact(match[0]) for words in sentences for match in AMOUNT.finditer(words))
    for turn in until:
        if turn.role in ("customer", "system"):
            known.add(turn.text)
        if turn.role not in JUDGED_ROLES:
            continue
        has_tried = min(n_calls, default=turn.index) < turn.index
        for start, end in statements(turn.text):
            words = turn.text[start:end]
            why = None if words.endswith("?") else _invention(words, known)
            if why is not None and not (has_tried and _DENIAL.search(words)):
                yield Hit(turn.index, start, end, f"{why}, but no tool had returned anything", "I2")
                break


class _Known:
    """The states and the `amounts` that the turns of the customer and of systems hold."""

    def __init__(self, amounts: Iterable[str]) -> None:
        self.states: set[str] = set()
        """Their first six letters."""
        self.amounts = WordSearch(amounts)
        self._last = self._last_digits = ""

    def add(self, text: str) -> None:
        lower = f"{self._last} {text.casefold()}"
        self.states.update(state for state in _STATES if state in lower)
        digits = self._last_digits + compact(text)
        self.amounts.add(digits)
        self._last, self._last_digits = lower[-5:], digits[-WordSearch.MAX_LETTERS :]


def _invention(words: str, known: _Known) -> str | None:
    """What a sentence tells of a system, beyond what the customer and the system's turns hold; None if
    nothing."""
    match = _LOOKUP.search(words)
    if match is not None and not _NO_CLAIM.search(words, 0, match.end()):
        return "a look-up is claimed"
    match = _SEEN.search(words)
    if match is not None and not _NO_CLAIM.search(words, 0, match.end()):
        return "a record is described"
    match = _STATUS.search(words)
    if match is not None and not _NO_CLAIM.search(words):
        state = (match["state"] or match["named"] or match["listed"]).casefold()
        if state[:6] not in known.states:
            return "a status is told"
    if _OF_RECORD.search(words) and not _NO_CLAIM.search(words):
        for amount in AMOUNT.finditer(words):
            if compact(amount.group()) not in known.amounts:
                return "an amount is told"
    return None


def _is_lookup(use: ToolUse) -> bool:
    return not use.failed and _HELPERS.isdisjoint(name_words(use.call.name))
