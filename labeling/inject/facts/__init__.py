"""What a dialogue states and what its chart requires: read from real text, for families to build on."""
