"""Loops with a known number of iterations, carried out at once.

Most of what course kernels execute is `for (k = 0; k < n; k++) sum += a[…] * b[…]`: a block that jumps to itself, in
which addresses advance by constants, and all else is arithmetic on what was loaded.  `form.py` says which blocks are
of that kind, `progress.py` what moves by how much and how often the loop goes round, `generate.py` turns the
arithmetic into WebAssembly for four threads at a time, `runner.py` carries it out.
"""
