"""From the answers of many people, and of a model, to one label with its probability."""
