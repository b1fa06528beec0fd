"""All rude and blaming ideas to train on; those of the exam are in `rude_exam`."""

from __future__ import annotations

from labeling.inject.wordings import rude_open, rude_veiled

IDEAS = (*rude_open.IDEAS, *rude_veiled.IDEAS)
