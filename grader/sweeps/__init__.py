"""Series of runs that graphs are drawn of: planned, counted on the emulator or timed on a GPU."""
