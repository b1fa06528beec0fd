"""What all stages of learning share: options, checkpoints, cost, watching, lineage."""
