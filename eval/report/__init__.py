"""What was measured, for people: tables for a terminal, one page for a browser."""
