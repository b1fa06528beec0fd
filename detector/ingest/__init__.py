"""Reads dialogue logs and yields validated dialogues and rejects."""
