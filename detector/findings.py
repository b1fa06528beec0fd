"""Builds a finding: its evidence and its reason, in the words of the masked dialogue."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dialint.detector.calibration import round_probability
from dialint.detector.checks.context import append_proof
from dialint.detector.decide import Decision
from dialint.detector.masking import MaskedText
from dialint.detector.records import Finding, Turn
from dialint.detector.taxonomy import Code, Taxonomy

MAX_WORDS = 100
"""Most characters of a turn that a reason quotes."""
_SENTENCE_END = re.compile(r"[.!?？؟;。\n]")


def build_finding(
    decision: Decision, original: Turn, turns: Sequence[Turn], text: MaskedText, taxonomy: Taxonomy
) -> Finding:
    """The finding or suggestion of a decision about the turn `original` of the log. `turns` are the masked
    ones up to it, and `text` its masked text."""
    suspicion = decision.suspicion
    entry = taxonomy.codes[suspicion.code]
    masked_start, masked_end = text.from_original(suspicion.start, suspicion.end)
    start, end = original.to_log(suspicion.start, suspicion.end)
    quote = turns[-1].text[masked_start:masked_end]
    finding = Finding(
        code=suspicion.code,
        turn=original.index,
        severity=entry.severity,
        fault="bot" if original.role == "bot" else entry.fault,
        probability=round_probability(decision.stated),
        quote=quote,
        start=start,
        end=end,
        reason=_reason(entry, turns, quote),
    )
    for proof in decision.proofs:
        finding = append_proof(finding, proof)
    return finding


def _reason(code: Code, turns: Sequence[Turn], quote: str) -> str:
    """The reason of a finding: the code, its turn and the evidence in the words of the dialogue; for a turn
    that is wrong as an answer, also the customer's last words before it. It does not explain the model."""
    seen = f"{code.name.en} in turn {turns[-1].index}: {_quote(quote)}"
    requested = next(
        (turn for turn in reversed(turns) if turn.role == "customer" and turn.text.strip()), None
    )
    if not code.answers_customer or requested is None:
        return f"{seen}."
    question = _last_question(requested.text)
    verb, words = ("asked", question) if question else ("said", requested.text)
    return f"{seen}; before it, in turn {requested.index}, the customer {verb} {_quote(words)}."


def _last_question(text: str) -> str:
    """The last sentence that ends with a question mark, empty without any."""
    start, result = 0, ""
    for end in _SENTENCE_END.finditer(text):
        if end[0] in "?？؟" and text[start : end.start()].strip():
            result = text[start : end.end()]
        start = end.end()
    return result


def _quote(words: str) -> str:
    """`words` on one line, shortened at the end."""
    line = " ".join(words.split())
    if len(line) > MAX_WORDS:
        line = line[: MAX_WORDS + 1].rpartition(" ")[0] or line[:MAX_WORDS]
        line += " …"
    return f"“{line}”"
