"""Gates: what the log itself must show before a suspicion of the scan becomes a finding.

A gate reads the dialogue as it stands in the log, before masking. It confirms the suspicion, demotes it to a
suggestion, or drops it, and says why; the reason of a finding names its gate. A gate is no check: it finds
nothing by itself, so its rule may be wider than one that accuses alone. A release says which code has which
gate. The word lists are in `phrases.yaml`; they are English, as is all that the scan judges.
"""

from dialint.detector.gates.answers import (
    closes_with_open_question,
    passes_over_distress,
    reproaches,
    shares_no_words,
    skips_question,
)
from dialint.detector.gates.requests import asks_for_secret, asks_for_what_was_given
from dialint.detector.gates.suspicion import (
    Gate,
    GateInput,
    GateResult,
    Outcome,
    append_proof,
    proof_name,
)
from dialint.detector.gates.templates import odd_word, raw_slot, repeats_itself
from dialint.detector.gates.tools import shows_machine_text, tools_are_logged

__all__ = ["GATES", "Gate", "GateInput", "GateResult", "Outcome", "append_proof", "proof_name"]

GATES: dict[str, Gate] = {
    "raw_slot": raw_slot,
    "repeats_itself": repeats_itself,
    "odd_word": odd_word,
    "asks_for_secret": asks_for_secret,
    "asks_for_what_was_given": asks_for_what_was_given,
    "passes_over_distress": passes_over_distress,
    "reproaches": reproaches,
    "skips_question": skips_question,
    "shares_no_words": shares_no_words,
    "closes_with_open_question": closes_with_open_question,
    "tools_are_logged": tools_are_logged,
    "shows_machine_text": shows_machine_text,
}
"""Every gate by the name a release uses."""
