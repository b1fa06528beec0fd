"""Words on the screen about findings and codes: true, plain and inert."""

from __future__ import annotations

import json
import re
from functools import cache

from detector.records import Finding, Verdict
from detector.release import EMBEDDED
from detector.taxonomy import Code, Taxonomy

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@])")


def inert(text: str) -> str:
    """`text` for a place where Streamlit reads Markdown: nothing in it is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def percent(probability: float) -> str:
    """A probability for a person; never 0 % or 100 %, which would say that it is certain."""
    if probability < 0.01:
        return "under 1 %"
    return "over 99 %" if probability > 0.99 else f"{probability:.0%}".replace("%", " %")


def named(code: str, taxonomy: Taxonomy) -> str:
    """``C1 Question ignored``; a code of another taxonomy stands alone."""
    known = taxonomy.codes.get(code)
    return code if known is None else f"{code} {known.name.en}"


def severity_name(severity: str, taxonomy: Taxonomy) -> str:
    """``S2 Major``."""
    return next(
        (f"{each.code} {each.name.en}" for each in taxonomy.severities if each.code == severity), severity
    )


def source_of(proposed: Finding | None, verdict: Verdict | None) -> str:
    """Who says so, and how surely."""
    if proposed is None or verdict is None:
        return "added by you"
    return f"{percent(proposed.probability)} ({verdict.release})"


def judged_codes(verdict: Verdict) -> frozenset[str] | None:
    """The codes that the verdict's release looks for; none if the verdict does not tell and the release is
    not here to ask."""
    if verdict.probabilities is not None:
        return frozenset(code for codes in verdict.probabilities.values() for code in codes)
    return _embedded_codes().get(verdict.release)


@cache
def _embedded_codes() -> dict[str, frozenset[str]]:
    """The codes of the release that ships, by its name."""
    try:
        described = json.loads((EMBEDDED / "release.json").read_bytes())
    except FileNotFoundError:
        return {}
    return {str(described["id"]): frozenset(described["codes"])}


def coverage(verdict: Verdict | None, code: str, turn: int | None) -> str:
    """What the model made of a code, in a sentence; of one turn, where it is given."""
    if verdict is None:
        return "No model has judged this dialogue."
    if verdict.status == "failed":
        return f"{verdict.release} failed on this dialogue, so it judged no code."
    codes = judged_codes(verdict)
    if codes is None:
        return f"It is not known whether {verdict.release} judges this code."
    if code not in codes:
        return f"{verdict.release} did not judge this code."
    probability = None if turn is None else (verdict.probabilities or {}).get(turn, {}).get(code)
    if probability is None:
        return f"{verdict.release} judged this code."
    return f"{verdict.release} gives this code {percent(probability)} in turn {turn}."


def verdict_line(verdict: Verdict | None, n_asked: int) -> str:
    """What the model says of the whole dialogue; `n_asked` of its findings are among those asked about."""
    if verdict is None:
        return "No model has judged this dialogue."
    if verdict.status == "failed":
        return f"{verdict.release} failed on this dialogue ({verdict.failure}). That is not a clean dialogue."
    found = {0: "no findings", 1: "1 finding"}.get(n_asked, f"{n_asked} findings")
    hidden = len(verdict.findings) - n_asked
    more = f", and {hidden} more that this task does not ask about" if hidden else ""
    return f"{verdict.release}: {found}{more}."


def explained(code: Code) -> str:
    """Definition and test of a code, for a place where Markdown is read."""
    return (
        f"**{inert(code.definition)}**\n\n{inert(code.test)}\n\n"
        f"Error: {inert(code.example)}\n\nNo error: {inert(code.counter_example)}"
    )
