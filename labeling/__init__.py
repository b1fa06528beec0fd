"""Second floor: labels by people and of synthetic errors."""
