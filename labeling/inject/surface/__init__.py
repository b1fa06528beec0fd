"""Errors that show in the agent's own words: language, tone, templates, secrets, repetition."""
