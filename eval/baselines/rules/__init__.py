"""Keyword and pattern rules, written in earnest: what a support team tries first."""
