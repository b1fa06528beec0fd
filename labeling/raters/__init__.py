"""Agreement among the people of a crowd, the quality of each one's work, and anomalies in it."""
