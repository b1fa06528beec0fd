"""Readers of log files and tables: JSON lines, JSON documents, CSV and Parquet."""
