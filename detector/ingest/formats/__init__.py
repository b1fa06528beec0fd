"""The shapes of other tools' logs, one module for each family."""
