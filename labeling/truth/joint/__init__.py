"""The house method: items first, then workers held to the pool, and the model as prior odds."""
