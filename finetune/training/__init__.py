"""What all stages of learning share: options, bases, adapters, checkpoints, watching, lineage."""
