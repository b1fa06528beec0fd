"""From people's answers in the store to what is held to be true, with the model as one more opinion."""
