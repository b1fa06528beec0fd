"""Third floor: the command line, the console, the HTTP API."""
