"""Synthetic errors: labelled errors made in clean dialogues, one module for each category; texts in data/."""
