"""Families of errors for the exam alone, by an author who has not seen the wordings of training."""
