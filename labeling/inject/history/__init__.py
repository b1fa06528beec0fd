"""Errors that only the history makes: asks, contradictions, jumps, closings, skipped steps."""
