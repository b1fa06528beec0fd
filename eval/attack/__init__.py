"""Measures how far text in a dialogue can steer its verdict, by a battery of attacks."""
