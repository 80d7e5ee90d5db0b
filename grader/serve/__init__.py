"""A page to drop a file on: `grade serve`, on this machine or for a class."""
