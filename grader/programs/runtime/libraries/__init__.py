"""Libraries of the toolkit that programs call from the host, served by NumPy: one file each.

A handler takes a `calls.Call` and the arguments of the C function, of which it may trust none.
"""
