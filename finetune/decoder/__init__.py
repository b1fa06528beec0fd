"""Pre-training of decoders on dialogues: writing, rows, shape, loop, perplexity, card."""
