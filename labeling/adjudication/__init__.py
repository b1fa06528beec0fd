"""Settling disagreement: cases for experts, bulk acceptance, and calibration sessions of a group."""
