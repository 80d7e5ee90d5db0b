"""What can be known of a function before it runs: its blocks, loops, live registers, uses."""
