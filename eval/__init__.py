"""Evaluation: figures with intervals, baselines, contracts, reports and speed."""
