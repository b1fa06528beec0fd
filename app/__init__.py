"""Third floor: what people and other programs touch."""
