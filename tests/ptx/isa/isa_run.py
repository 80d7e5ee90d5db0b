"""Run an instruction of `isa_cases` in the emulator: bit patterns in, bit patterns out."""

from __future__ import annotations

import numpy as np

from grader.ptx.isa.instructions import lookup
from tests.ptx.isa.isa_case import Case


def to_lanes(bits: list[int], dtype: np.dtype) -> np.ndarray:
    """Bit patterns as an array of the dtype an instruction wants."""
    if dtype.kind == "b":
        return np.array(bits, bool)
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def to_bits(lanes: np.ndarray) -> list[int]:
    """The bit patterns of a result."""
    return (
        lanes.astype(np.uint8).tolist() if lanes.dtype.kind == "b" else lanes.view(f"u{lanes.dtype.itemsize}").tolist()
    )


def emulate(item: Case, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Results (the carry last) of every row of operands, all rows in one call."""
    opcode, *modifiers = item.spelling.split(".")
    semantics = lookup(opcode, tuple(modifiers), len(item.outputs))
    assert semantics.reads_carry == item.carry_in
    assert semantics.writes_carry == item.carry_out
    dtypes = [*semantics.inputs, *([np.dtype(np.uint8)] if semantics.reads_carry else [])]
    fixed = dict(item.immediates)
    lanes = []
    for i, (column, dtype) in enumerate(zip(zip(*rows, strict=True), dtypes, strict=True)):
        lanes.append(to_lanes([fixed[i]] if i in fixed else list(column), dtype))
        lanes[-1].flags.writeable = False
    with np.errstate(all="ignore"):
        results = semantics.compute(*lanes)
    results = results if isinstance(results, tuple) else (results,)
    wanted = [*semantics.outputs, *([np.dtype(np.uint8)] if semantics.writes_carry else [])]
    assert [r.dtype for r in results] == wanted
    return list(zip(*(to_bits(r) for r in results), strict=True))
