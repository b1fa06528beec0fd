"""Pre-training of decoders on dialogues: tokenizer, packed rows, model, perplexity."""
