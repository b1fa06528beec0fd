"""What an answer is worth: by what can be verified, and by what people prefer."""
