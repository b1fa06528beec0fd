"""Figures of an evaluation: per code, in breakdowns, over exclusive codes, and the hardest examples."""
