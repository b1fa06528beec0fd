"""Exact checks: rules that detect errors without a model. Findings name their check in `reason`.

A release lists the checks of each code and their measured precision. Checks read the original text, before
masking, so that a placeholder of the masking is never reported as an unfilled one.
"""

from dialint.detector.checks.calls import invented_argument, raw_text_again, raw_tool_call, refused_write
from dialint.detector.checks.claims import claims_undone_write
from dialint.detector.checks.context import NO_CONTEXT, CheckContext, CheckFunction, Hit
from dialint.detector.checks.facts import unsupported_fact
from dialint.detector.checks.formatting import format_slip
from dialint.detector.checks.grammar import grammar_slip
from dialint.detector.checks.lookup_claims import claims_undone_lookup
from dialint.detector.checks.lookups import asks_for_known
from dialint.detector.checks.open_requests import leaves_request_open
from dialint.detector.checks.phrases import asks_secret, insult
from dialint.detector.checks.placeholders import unfilled_placeholder
from dialint.detector.checks.policy import policy
from dialint.detector.checks.questions import asks_for_given
from dialint.detector.checks.repeats import last_message_again, same_text_again
from dialint.detector.checks.spelling import misspelt_word
from dialint.detector.languages import UNKNOWN

__all__ = ["CHECKS", "CHECK_LANGUAGES", "NO_CONTEXT", "CheckContext", "CheckFunction", "Hit", "check_covers"]

CHECKS: dict[str, CheckFunction] = {
    "unfilled_placeholder": unfilled_placeholder,
    "same_text_again": same_text_again,
    "last_message_again": last_message_again,
    "insult": insult,
    "asks_secret": asks_secret,
    "claims_undone_write": claims_undone_write,
    "claims_undone_lookup": claims_undone_lookup,
    "unsupported_fact": unsupported_fact,
    "format_slip": format_slip,
    "asks_for_known": asks_for_known,
    "asks_for_given": asks_for_given,
    "invented_argument": invented_argument,
    "policy": policy,
    "raw_tool_call": raw_tool_call,
    "raw_text_again": raw_text_again,
    "refused_write": refused_write,
    "leaves_request_open": leaves_request_open,
    "misspelt_word": misspelt_word,
    "grammar_slip": grammar_slip,
}
"""The checks by their names in releases."""

CHECK_LANGUAGES: dict[str, tuple[str, ...]] = {
    "format_slip": ("en",),
    "same_text_again": ("en",),
    "last_message_again": ("en",),
    "insult": ("de", "es", "fr", "ru"),
    "asks_secret": ("de", "en", "es", "fr", "ru"),
    "claims_undone_write": ("en",),
    "claims_undone_lookup": ("en",),
    "unsupported_fact": ("en",),
    "asks_for_known": ("en",),
    "asks_for_given": ("en",),
    "invented_argument": ("en",),
    "refused_write": ("en",),
    "leaves_request_open": ("en",),
    "misspelt_word": ("en",),
    "grammar_slip": ("en",),
}
"""Languages of the checks that depend on one: an unfilled slot is an error in any language, but whether a
customer requested the same words again is decided by English words."""


def check_covers(name: str, language: str) -> bool:
    """Whether a check applies to turns in `language`."""
    return language == UNKNOWN or language in CHECK_LANGUAGES.get(name, (language,))
