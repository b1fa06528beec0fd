"""The ground floor: what every room must agree on, from a log line to a verdict."""
