"""Smaller scanners: distilled from a teacher, or with heads and layers removed."""
