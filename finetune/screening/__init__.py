"""Screening of training data: near-duplicates of held-out examples, contradictory and suspected labels."""
