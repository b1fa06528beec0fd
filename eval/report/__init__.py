"""Reports: tables for a terminal, an HTML page for a browser."""
