"""The Score page: a log is uploaded, recognised, scored in the background and downloaded."""
