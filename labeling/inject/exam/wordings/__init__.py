"""The wordings of the exam, one module per code or two."""
