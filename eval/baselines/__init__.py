"""Baselines: simple detectors that a release must beat."""
