"""What is true, from the answers of many people and of a model."""
