"""Labelled errors made in clean dialogues, one module for each category."""
