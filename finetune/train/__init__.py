"""Shared by all training stages: loop, checkpoints, options, optimizer, estimates."""
