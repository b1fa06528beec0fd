"""trl's trainers of preferences, given token ids: they would write each answer by the chat template again."""

from __future__ import annotations

from typing import Any

from trl import DPOTrainer, KTOTrainer


class GivenIds:
    """Takes a data set's token ids as they are; mixed into a trainer of trl."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        return dataset


class Dpo(GivenIds, DPOTrainer):  # type: ignore[misc]
    """Rows have ``prompt_ids``, ``chosen_ids`` and ``rejected_ids``."""


class Kto(GivenIds, KTOTrainer):  # type: ignore[misc]
    """Rows have ``prompt_ids``, ``completion_ids``, ``KL_completion_ids`` and ``label``."""
