"""Datasets from what people said: examples with soft labels, preference pairs, splits, lineage."""
