"""Reading dialogue logs: bytes in, checked dialogues and rejects out."""
