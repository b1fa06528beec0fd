"""What `dialint score` is made of; `dialint.app.score` is its door."""
