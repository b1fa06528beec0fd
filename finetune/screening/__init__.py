"""What must not be learned from: copies of the exam, copies that contradict one another, flipped labels."""
