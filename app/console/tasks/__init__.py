"""Pages of people's work: Review, Label, Adjudicate, Calibration, My findings, Appeals."""

from __future__ import annotations
