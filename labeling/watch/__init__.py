"""Who among the labelers answers without looking, too fast, or from one another's sheet."""
