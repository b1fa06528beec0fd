"""How the judge learns: supervised, from preferences, and by reward."""
