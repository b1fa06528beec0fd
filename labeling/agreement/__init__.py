"""How far people agree, and how far that may be chance."""
