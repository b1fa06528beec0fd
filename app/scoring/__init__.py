"""What `dialint score` is made of; `app.score` is its door."""
