"""The store of `dialint console --demo`: the sample log, scored, with people and their work."""
