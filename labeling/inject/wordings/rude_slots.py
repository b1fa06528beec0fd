"""Rules that the trained rude wordings share; the exam has its own."""

from __future__ import annotations

from dialint.labeling.synthetic.phrases import Grammar

SLOTS: Grammar = {
    "matter": ("request", "question", "issue", "booking", "order", "case", "problem"),
    "people": ("people", "customers", "callers"),
    "look": ("Look,", "Listen,", "Well,", "Honestly,", "Okay,", "", "", "", "", ""),
    "name": (", sir", ", ma'am", ", my friend", "", "", "", "", "", ""),
}
