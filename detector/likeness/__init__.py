"""How alike two texts are, and which of many are copies: one definition for all rooms."""
