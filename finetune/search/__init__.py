"""Hyperparameter search over a training stage."""
