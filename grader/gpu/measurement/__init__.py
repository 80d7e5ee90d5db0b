"""Results, times and thresholds on a GPU: what is asked of the device, and what is made of its answers."""
