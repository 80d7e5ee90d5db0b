"""Runs the blocks of a kernel side by side: groups of threads, who goes next, and where they meet."""
