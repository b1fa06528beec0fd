"""What all training stages share: loop, checkpoints, options, optimizer, distributed runs, estimates."""
