"""The Releases page: compare, thresholds, spot checks, promote and roll back."""
