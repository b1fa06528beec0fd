"""Labels in other tools' shapes: Label Studio, Toloka, Prodigy, doccano, Argilla, crowd tables, ours."""
