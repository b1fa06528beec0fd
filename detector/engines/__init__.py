"""Where a model runs. Each engine turns windows into raw scores."""
