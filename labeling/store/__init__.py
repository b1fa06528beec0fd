"""The label store: accounts and permissions, tasks and annotations, and an audit log that detects changes."""
