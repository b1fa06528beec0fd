"""Third floor: how the machine learns."""
