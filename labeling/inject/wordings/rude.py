"""All rude and blaming ideas to train on; those of the exam are in `rude_exam`."""

from __future__ import annotations

from dialint.labeling.inject.wordings import rude_blame, rude_brief, rude_open, rude_rants, rude_veiled

IDEAS = (*rude_open.IDEAS, *rude_veiled.IDEAS, *rude_blame.IDEAS, *rude_brief.IDEAS, *rude_rants.IDEAS)
