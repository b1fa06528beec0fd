"""Errors made in dialogues, by rules or by an LLM, for control tasks and checks of a detector."""
