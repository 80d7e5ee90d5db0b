"""Lab files: where they are found, how they are read into records, the skeleton of a new one."""
