"""The detector that finds nothing: what every figure looks like when nobody is ever accused."""

from __future__ import annotations

from collections.abc import Sequence

from dialint.detector.records import JUDGED_ROLES, Dialogue, Verdict
from dialint.detector.taxonomy import Taxonomy


class AlwaysClean:
    """Every judged turn gets probability 0 of every code of the taxonomy."""

    release = "baseline-clean"
    fingerprint = "baseline-clean-1"

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.codes = tuple(taxonomy.codes)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [self._verdict(dialogue, all_probabilities) for dialogue in dialogues]

    def _verdict(self, dialogue: Dialogue, all_probabilities: bool) -> Verdict:
        judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
        nothing = dict.fromkeys(self.codes, 0.0)
        return Verdict(
            dialogue_id=dialogue.id,
            release=self.release,
            taxonomy=self.taxonomy.version,
            status="scored" if judged else "failed",
            failure=None if judged else "E_NO_AGENT_TURN",
            quality=100.0 if judged else None,
            probabilities={turn.index: nothing for turn in judged} if judged and all_probabilities else None,
        )
