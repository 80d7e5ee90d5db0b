"""The words of each check, a file a check: its title, what it found, how to mend it."""
