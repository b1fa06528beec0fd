"""Base models and adapters: resolved by folder or name, validated before they are loaded."""
