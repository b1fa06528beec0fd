"""How good each labeler's work is, code by code, and what it costs."""
