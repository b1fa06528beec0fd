"""Pages that show what was scored and reviewed: Overview, Explore, Dialogue, Coaching, People."""
