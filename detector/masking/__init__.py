"""Personal data become placeholders before a model, a store or a log line sees the text.

`mask_dialogue` is the way in for dialogues, `mask_text` for a single text. An error in here is
raised, never swallowed: text that could not be masked goes nowhere.
"""

from dialint.detector.masking.dialogue import mask_dialogue, mask_text
from dialint.detector.masking.spans import KINDS, Kind, MaskedSpan, MaskedText

__all__ = ["KINDS", "Kind", "MaskedSpan", "MaskedText", "mask_dialogue", "mask_text"]
