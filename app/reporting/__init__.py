"""Reports on findings for team leads: figures with their denominators, as a page and as a workbook."""
