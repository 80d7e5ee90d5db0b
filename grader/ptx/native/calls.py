"""What generated code calls the host for: instructions that `isa/` computes, for all lanes that run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.frontend.nodes import Immediate, Instruction, Negated, Operand, Register, Special, Vector
from grader.ptx.isa.registry import lookup
from grader.ptx.isa.rounding import fma_f64
from grader.ptx.lowering import warps
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.code import Code
from grader.ptx.machine.groups import Frame, Group
from grader.ptx.native.kernel import Generated
from grader.ptx.values.kinds import BOOL, SIGNED, UNSIGNED, Value, Vec, as_array, constant
from grader.ptx.values.lanes import Array, Lanes


def fma64(a: int, b: int, c: int) -> int:
    """A fused product of float64 bits that is not certain at once."""
    mask = (1 << 64) - 1
    x, y, z = (np.array([bits & mask], np.uint64).view(np.float64) for bits in (a, b, c))
    with np.errstate(all="ignore"):
        return int(fma_f64(x, y, z).view(np.int64)[0])


class Unusual(Exception):
    """Something came up that the other engine has to look into: the launch is to be run there, from its start."""


Call = Callable[["BlockBatch", Lanes, Array], None]
"""Carries out an instruction for some lanes of a batch, on the frames of all."""


def call_of(code: Code, generated: Generated, instruction: Instruction) -> Call:
    """An instruction that is left to the host."""
    if instruction.opcode in warps.STEPS:
        return _warp_call(code, generated, instruction)
    return _numpy_call(code, generated, instruction)


class _Registers:
    """Frames as the other engine's registers."""

    def __init__(self, code: Code, generated: Generated, lanes: Lanes, frames: Array) -> None:
        self._sizes, self._slots, self._lanes, self._frames = code.register_bytes, generated.slots, lanes, frames

    def __getitem__(self, index: int) -> Vec:
        column = self._frames[self._lanes.ids, self._slots[index]]
        size = self._sizes[index]
        return Vec(column.astype(UNSIGNED[size]) if size else column != 0, self._lanes)

    def __setitem__(self, index: int, value: Value) -> None:
        if index in self._slots:
            size = self._sizes[index]
            column = as_array(value, UNSIGNED[size] if size else BOOL)
            self._frames[self._lanes.ids, self._slots[index]] = column.astype(np.uint64)


def _warp_call(code: Code, generated: Generated, instruction: Instruction) -> Call:
    """An instruction by which lanes of a warp see each other, as the other engine does it: with whole warps only."""
    try:
        step = warps.STEPS[instruction.opcode](code, instruction)
    except UnsupportedInstruction:
        # The other engine says so where it is reached.
        step = None

    def call(batch: BlockBatch, lanes: Lanes, frames: Array) -> None:
        if not lanes.whole_warps or step is None:
            raise Unusual
        registers: Any = _Registers(code, generated, lanes, frames)
        step(Group(batch, lanes, [Frame(code, registers, {})], 0, ()))
        if len(batch.hazards):
            raise Unusual

    return call


def _numpy_call(code: Code, generated: Generated, instruction: Instruction) -> Call:
    """An instruction computed by `isa/`."""
    first, *sources = instruction.operands
    targets = first.elements if isinstance(first, Vector) else (first,)
    semantics = lookup(instruction.opcode, instruction.modifiers, len(targets))
    inputs = [_column(operand, dtype, generated) for operand, dtype in zip(sources, semantics.inputs, strict=True)]
    # A result that nobody reads has no place.
    slots = generated.slots
    outputs = [
        (slots[t.index], code.register_bytes[t.index]) if isinstance(t, Register) and t.index in slots else None
        for t in targets
    ]

    def call(batch: BlockBatch, lanes: Lanes, frames: Array) -> None:
        ids = lanes.ids
        with np.errstate(all="ignore"):
            result = semantics.compute(*[read(frames, ids) for read in inputs])
        results = result if isinstance(result, tuple) else (result,)
        for output, array in zip(outputs, results, strict=True):
            if output is not None:
                frames[ids, output[0]] = _bits(array, output[1])

    return call


def _column(operand: Operand, dtype: Any, generated: Generated) -> Callable[[Array, Array], Array]:
    if isinstance(operand, Immediate):
        size = 0 if dtype == BOOL else dtype.itemsize
        value = bool(operand.value) if size == 0 else operand.value & ((1 << 8 * size) - 1)
        number = constant(value, dtype)
        return lambda frames, ids: number
    negated = isinstance(operand, Negated)
    if isinstance(operand, Special):
        index = generated.specials[operand.name]
    else:
        register = operand.register if isinstance(operand, Negated) else operand
        assert isinstance(register, Register)
        index = generated.slots[register.index]
    if dtype == BOOL:
        return lambda frames, ids: (frames[ids, index] != 0) ^ negated
    unsigned = UNSIGNED[dtype.itemsize]
    return lambda frames, ids: frames[ids, index].astype(unsigned).view(dtype)


def _bits(array: Array, register_bytes: int) -> Array:
    """A result as a register's 64 bits: narrower ones are extended by their own sign, up to the register's width."""
    if array.dtype == BOOL:
        return array.astype(np.uint64)
    size = array.dtype.itemsize
    if array.dtype.kind == "i" and size < register_bytes:
        return array.astype(SIGNED[register_bytes]).view(UNSIGNED[register_bytes]).astype(np.uint64)
    cut = array.view(UNSIGNED[size]).astype(np.uint64)
    return cut & np.uint64((1 << 8 * register_bytes) - 1) if 0 < register_bytes < size else cut
