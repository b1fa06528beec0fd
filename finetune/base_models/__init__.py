"""What training builds on: bases by folder or name, adapters on them, looked at before they are loaded."""
