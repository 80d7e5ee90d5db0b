"""What registers hold, for all threads at once."""
