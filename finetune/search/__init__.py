"""Search over the options of a stage of learning."""
