"""Training of the judge: supervised, from preferences, and by reinforcement learning."""
