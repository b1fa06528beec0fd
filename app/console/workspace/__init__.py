"""The Review and Label pages: the dialogue beside its findings, drawn in the browser."""
