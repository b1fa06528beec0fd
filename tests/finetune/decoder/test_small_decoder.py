"""The small decoder that ships: whole, small, and it knows how support dialogues go."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from dialint import app
from dialint.detector.artifacts import read_manifest, sha256_file
from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, open_logs, read
from dialint.detector.records import Turn
from dialint.finetune.decoder.text import own_writer

SAMPLE = Path(app.__file__).with_name("sample") / "dialogues.jsonl"


def test_it_is_whole_and_under_15_mb() -> None:
    manifest = read_manifest(SMALL_DECODER / "training.json")
    for output in manifest["outputs"]:
        assert sha256_file(SMALL_DECODER / output["name"]) == output["sha256"]
    assert sum(path.stat().st_size for path in SMALL_DECODER.iterdir()) < 15e6


@pytest.mark.slow
def test_it_foretells_the_hand_written_sample_better_than_the_same_turns_out_of_order() -> None:
    """The sample log is by hand and in no training corpus."""
    model = AutoModelForCausalLM.from_pretrained(SMALL_DECODER).float().eval()
    writer = own_writer((SMALL_DECODER / "tokenizer.json").read_text())

    def nats(turns: Sequence[Turn]) -> tuple[float, int]:
        ids = torch.tensor([[token for unit in writer.write(turns) for token in unit]])
        with torch.inference_mode():
            return float(model(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1), ids.shape[1] - 1

    order = random.Random(0)
    ordered, shuffled, tokens = 0.0, 0.0, 0
    for dialogue in dialogues()[:30]:
        texts = [turn.text for turn in dialogue]
        order.shuffle(texts)
        cost, count = nats(dialogue)
        ordered, tokens = ordered + cost, tokens + count
        shuffled += nats(
            [turn.model_copy(update={"text": text}) for turn, text in zip(dialogue, texts, strict=True)]
        )[0]
    assert math.exp(ordered / tokens) < 300  # of 8,192 tokens; its own corpora: about 7
    assert ordered < shuffled


def dialogues() -> list[tuple[Turn, ...]]:
    """The turns of the sample's dialogues."""
    outcomes = read(open_logs([str(SAMPLE)]), ReadConfig(), Counts())
    return [outcome.dialogue.turns for outcome in outcomes if isinstance(outcome, Loaded)]
