"""Alembic's folder: `env` and one revision after another, each written by hand."""
