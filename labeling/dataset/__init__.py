"""Datasets from annotations: examples with soft labels, preference pairs, splits and lineage."""
