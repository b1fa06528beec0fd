"""Pre-training of decoders on dialogues: writing, rows, shape, loop, perplexity, card."""

from pathlib import Path

SMALL = Path(__file__).parents[1] / "small_decoder"
"""Folder of the small decoder that ships, made by the recipe in ``runs/embedded.sh``; its README is its
model card."""
