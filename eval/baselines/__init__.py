"""The simple ways that a release must beat, each a detector like any other."""
