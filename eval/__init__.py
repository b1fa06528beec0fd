"""Second floor: judgement. How good, how fast, how sure."""
