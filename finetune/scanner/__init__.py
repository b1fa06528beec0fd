"""Training of scanners: data, losses, fine-tuning, averaging, packing into a release."""
