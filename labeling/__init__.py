"""Second floor: where truth comes from, made errors included."""
