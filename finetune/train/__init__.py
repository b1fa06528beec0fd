"""Shared by all training stages: loop, checkpoints, options, optimizer, distributed runs, estimates."""
