"""The page Taxonomy and policies: edit, preview, publish, versions."""
