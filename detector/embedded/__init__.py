"""The release that ships with the package."""
