"""What was found, for a lead: figures with their denominators, as a page and as a workbook."""
