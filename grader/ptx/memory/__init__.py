"""Where arrays lie, and what an address means."""
