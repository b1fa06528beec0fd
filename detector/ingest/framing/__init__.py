"""How records stand in a file: lines, CSV rows, Parquet, JSON documents; the strict and the quick way in."""
