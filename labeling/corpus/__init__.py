"""All corpora of the data folder as one: read, filtered, freed of copies, split and checked."""
