"""The console: sign in, review what the model found, label blind. Streamlit lives here and nowhere else."""
