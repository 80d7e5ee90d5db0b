"""The corpus: small kernels of every kind that courses use, each with an independent computation of its result.

The emulator runs them in `test_corpus.py`; on a GPU the same kernels must return the same bits.
"""

from __future__ import annotations

from tests.ptx.corpus import asynchronous, atomics, blocks, floats, heap, integers, matrices, sequential, warps
from tests.ptx.corpus.case import Argument, Array, Case, Struct, alignment, buffers, pack

__all__ = ["CASES", "Argument", "Array", "Case", "Struct", "alignment", "buffers", "pack"]

CASES: list[Case] = [
    *integers.CASES,
    *floats.CASES,
    *sequential.CASES,
    *atomics.CASES,
    *warps.CASES,
    *blocks.CASES,
    *heap.CASES,
    *matrices.CASES,
    *asynchronous.CASES,
]
