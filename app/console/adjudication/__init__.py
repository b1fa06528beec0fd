"""Pages on which experts decide: Adjudicate, Appeals and My findings, Calibration."""
