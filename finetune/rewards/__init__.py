"""Rewards of the judge's answers: verifiable terms, a scanner's check, a model of preferences."""
