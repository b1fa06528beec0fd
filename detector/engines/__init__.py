"""Engines, which run models: scanners on windows of tokens, the judge on prompts."""
