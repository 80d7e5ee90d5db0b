"""Extended-precision integers: instructions that read or write the condition-code register's carry bit.

The carry is a uint8 of 0 or 1, the last input of what reads it and the last result of what writes it;
after a subtraction it means borrow.
"""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

import numpy as np

from grader.ptx.isa.integer import multiply_high
from grader.ptx.isa.modifiers import DTYPES, Array, Modifiers, Table, make, register
from grader.ptx.isa.semantics import Semantics

TYPES = ("u32", "s32", "b32", "u64", "s64", "b64")


def add_carry(a: Array, b: Array, carry: Array | None) -> tuple[Array, Array]:
    """Sum of unsigned words and a carry, with the carry out."""
    total = a + b
    out = total < a
    if carry is not None:
        total = total + carry.astype(total.dtype)
        out = out | ((total == 0) & (carry != 0))
    return total, out.astype(np.uint8)


def subtract_borrow(a: Array, b: Array, borrow: Array | None) -> tuple[Array, Array]:
    """a - b - borrow of unsigned words, with the borrow out."""
    difference = a - b
    out = a < b
    if borrow is not None:
        out = out | ((difference == 0) & (borrow != 0))
        difference = difference - borrow.astype(difference.dtype)
    return difference, out.astype(np.uint8)


def chained(m: Modifiers) -> Semantics:
    """add.cc, addc(.cc), sub.cc, subc(.cc), mad.{lo,hi}.cc, madc.{lo,hi}(.cc)."""
    name = m.type(TYPES)
    writes = m.flag("cc")
    reads = m.opcode.endswith("c")
    multiplies = m.opcode.startswith("mad")
    part = m.one_of(("lo", "hi")) if multiplies else ""
    m.end()
    result, unsigned = DTYPES[name], DTYPES["u" + name[1:]]
    word = subtract_borrow if m.opcode.startswith("sub") else add_carry
    high = multiply_high("s" + name[1:] if result.kind == "i" else "u" + name[1:])

    def compute(*operands: Array) -> Array | tuple[Array, Array]:
        carry = operands[-1] if reads else None
        if multiplies:
            a, b, c = operands[:3]
            left = (high(a, b) if part == "hi" else a * b).view(unsigned)
            right = c.view(unsigned)
        else:
            left, right = operands[0].view(unsigned), operands[1].view(unsigned)
        value, out = word(left, right, carry)
        return (value.view(result), out) if writes else value.view(result)

    inputs = " ".join([name] * (3 if multiplies else 2))
    return make(inputs, name, compute, reads_carry=reads, writes_carry=writes)


TABLE: Table = {}
register(TABLE, "add.cc addc addc.cc sub.cc subc subc.cc mad.cc madc madc.cc", TYPES, chained)
