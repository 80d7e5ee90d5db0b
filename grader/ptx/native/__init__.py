"""Carried out as WebAssembly: kernels of few threads that take long, and loops of known length.

`engine.py` decides on kernels and hands them over; `counted_runner.py` carries out loops at once, for the interpreter;
everything else in this folder serves these two.
"""
