"""The label store: who may do what, who answered what, and proof that nothing was changed since."""
