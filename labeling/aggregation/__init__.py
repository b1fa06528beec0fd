"""Aggregates the answers of several labelers, and of a model, to one label with its probability."""
