"""Libraries of the toolkit that programs call from the host, served by NumPy: one file each."""
