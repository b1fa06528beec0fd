"""Replaces personal data by placeholders before a model, a store or a log line receives the text.

`mask_dialogue` masks a dialogue, `mask_text` a single text. Errors are always raised, so that no
unmasked text is passed on.
"""

from dialint.detector.masking.dialogue import mask_dialogue, mask_text, mask_words, recognizer_plugins
from dialint.detector.masking.spans import KINDS, Kind, MaskedText

__all__ = [
    "KINDS",
    "Kind",
    "MaskedText",
    "mask_dialogue",
    "mask_text",
    "mask_words",
    "recognizer_plugins",
]
