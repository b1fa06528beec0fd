"""Keyword and pattern rules, the baseline that a support team tries first."""
