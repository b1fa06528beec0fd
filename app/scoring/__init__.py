"""What `dialint score` is made of; `dialint.app.commands.score` is its door."""
