"""Integers packed in a 32-bit word: add, min, max of .u16x2 and .s16x2; vabsdiff2, vabsdiff4."""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

import numpy as np

from grader.ptx.isa.modifiers import Array, Modifiers, Table, make, register
from grader.ptx.isa.semantics import Semantics

UFUNCS = {"add": np.add, "min": np.minimum, "max": np.maximum}


def parts(operand: Array, code: str) -> Array:
    """The packed integers of each word, shape (n, parts), lowest first; `code` is their NumPy type."""
    return np.ascontiguousarray(operand).view(code).reshape(operand.size, -1)


def half_words(m: Modifiers) -> Semantics:
    """add, min, max of two 16-bit integers each; wrapping, min and max with an optional `.relu` if signed."""
    name = m.type()
    code = "u2" if name == "u16x2" else "i2"
    relu = m.opcode != "add" and name == "s16x2" and m.flag("relu")
    m.end()
    ufunc = UFUNCS[m.opcode]

    def compute(a: Array, b: Array) -> Array:
        result = ufunc(parts(a, code), parts(b, code))
        if relu:
            result = np.maximum(result, 0)
        return np.ascontiguousarray(result).view(np.uint32).reshape(-1)

    return make(f"{name} {name}", name, compute)


def absolute_differences(m: Modifiers) -> Semantics:
    """vabsdiff2, vabsdiff4 d, a, b, c: |a - b| of each part; with `.add` their sum plus c.

    Selectors, masks and `.sat` are not supported; c then only fills parts that a mask leaves out.
    """
    accumulate = m.flag("add")
    b_type, a_type, d_type = (m.type(("u32", "s32")) for _ in range(3))
    m.end()
    width = "2" if m.opcode == "vabsdiff2" else "1"
    kinds = {"u32": f"u{width}", "s32": f"i{width}"}

    def compute(a: Array, b: Array, c: Array) -> Array:
        difference = np.abs(parts(a, kinds[a_type]).astype(np.int64) - parts(b, kinds[b_type]))
        if accumulate:
            return difference.sum(axis=1).astype(c.dtype) + c
        packed = np.ascontiguousarray(difference.astype(f"u{width}"))
        return packed.view(c.dtype).reshape(-1)

    return make(f"{a_type} {b_type} {d_type}", d_type, compute)


TABLE: Table = {}
register(TABLE, "add min max", ("u16x2", "s16x2"), half_words)
register(TABLE, "vabsdiff2 vabsdiff4", ("u32", "s32"), absolute_differences)
