"""Reads and masks dialogue logs and scores them with a release: the package every other one builds on."""
