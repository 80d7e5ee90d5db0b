"""The second engine: a kernel's blocks as WebAssembly, for launches of few threads that take long.

`engine.py` decides and hands over; everything else in this folder serves it.
"""
