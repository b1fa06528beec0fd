"""Measures how far text in a dialogue can steer its verdict: a battery of attacks, and a small search."""
