"""Crowd tables and model probabilities in files."""
