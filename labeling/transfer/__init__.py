"""What brings files into the store and out of it again, a thousand records a time."""
