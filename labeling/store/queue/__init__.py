"""The inside of the queue: which task is next for whom, and the books of every task."""
