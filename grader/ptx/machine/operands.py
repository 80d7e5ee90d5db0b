"""How a step gets at its operands: registers, constants, addresses, and special registers.

Special registers are what a thread can ask about itself and its grid.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from grader.ptx.affine import Order
from grader.ptx.frontend.nodes import Immediate, Instruction, Negated, Operand, Register, Special, Symbol
from grader.ptx.limits import CYCLES, MULTIPROCESSORS, WARPS, UnsupportedInstruction
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.memory import Device
from grader.ptx.records import Index3
from grader.ptx.values import Array, Layout, Value, Vec, keep, select

_AXES = {"x": 0, "y": 1, "z": 2}

_UNIFORM = {"nsmid": MULTIPROCESSORS, "nwarpid": WARPS, "warpsize": 32}
"""No kernel may learn from what it asks about itself that nothing but an emulator runs it: numbers that a launch does
not fix are such as a device gives."""
GRID_GROUP = ("envreg1", "envreg2")
"""The address of the barrier of the whole grid, its high and its low half (see `grader.ptx.memory.workspace_of`)."""
SHARED_UNIT = 128
"""Bytes in which shared memory is handed out (PTX ISA, `%total_smem_size`, sm_8x and later)."""
EPOCH_NS = 1_767_225_600_000_000_000
"""Where the global timer starts: it counts the nanoseconds of Unix time."""
TIMER_STEP_NS = 32
KEPT_COORDINATES = 8
"""Tables of one coordinate each, of threads and of blocks, that are kept for the next launch of the same shape."""
PATIENT_READINGS = 256
"""After so many readings of the clock with no store between them it goes faster by a sixteenth each time."""
LONGEST_WAIT = 1 << 30
"""Cycles that it goes on by at one reading, about a second: no counter runs over in any launch."""
WARP_SKEW = 2
"""Cycles by which a warp reads the clock later than the one before it."""


_COORDINATES = ("tid.", "ctaid.", "laneid", "lanemask_")
"""What follows from the part of the grid alone."""
_CLOCKS = ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi")
_EMULATED = frozenset(
    [*_UNIFORM, *_CLOCKS, *GRID_GROUP, "smid", "gridid", "laneid", "warpid", "dynamic_smem_size", "total_smem_size"]
    + [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in _AXES]
    + [f"lanemask_{relation}" for relation in ("eq", "lt", "le", "gt", "ge")]
)


def is_emulated(name: str) -> bool:
    return name in _EMULATED


def asks_for_grid(code: Code) -> bool:
    """Whether a function reads the address of its grid's barrier: it does so only to wait there."""
    return any(
        isinstance(operand, Special) and operand.name in GRID_GROUP
        for block in code.graph.blocks
        for instruction in block.instructions
        for operand in instruction.operands
    )


def read(group: Group, name: str) -> Value:
    """The value of `%name` for the group's lanes."""
    batch = group.batch
    if name in _CLOCKS:
        # Counts instructions issued by the batch: it grows from one reading to the next, and no more is promised.
        batch.pass_time(CYCLES + _waited(batch))
        return select(_time(batch, name), group.lanes)
    geometry = batch.geometry
    value = geometry.registers.get(name)
    if value is None:
        value = batch.specials.get(name)
    if value is None:
        value = compute(batch, name)
        follows = name.startswith(_COORDINATES)
        (geometry.registers if follows else batch.specials)[name] = value
        if follows and isinstance(value, Vec) and not (geometry.is_shared and name.startswith("ctaid.")):
            keep(value)
    return select(value, group.lanes)


def _waited(batch: BlockBatch) -> int:
    """Return how many cycles the clock advances by itself: code that only reads it, again and again, waits for it."""
    waiting = batch.extensions.get("waiting")
    if waiting is None or waiting[0] != batch.version:
        # Memory at the first of the readings, the clock then, and how many there have been.
        waiting = batch.extensions["waiting"] = [batch.version, batch.clock, 0]
    waiting[2] += 1
    return min(int(batch.clock - waiting[1]) >> 4, LONGEST_WAIT) if waiting[2] > PATIENT_READINGS else 0


def started(device: Device) -> int:
    """Return what a multiprocessor's clock shows when a device of that seed is made: hours after power-on."""
    return (1 << 43) + device.seed % (1 << 20) * 1_000_003


def _time(batch: BlockBatch, name: str) -> Value:
    if name.startswith("globaltimer"):
        number = (EPOCH_NS + started(batch.device) + batch.device.cycles + batch.clock) // TIMER_STEP_NS * TIMER_STEP_NS
        if name == "globaltimer":
            return number
        return number >> 32 if name.endswith("_hi") else number & 0xFFFFFFFF
    # Every multiprocessor has a clock of its own, and warps come to read it one after another.
    root = batch.layout.root
    skew = (_multiprocessors(batch) * 7919 % 100_003)[root.blocks] + (root.ids % batch.layout.padded >> 5) * WARP_SKEW
    times = (started(batch.device) + batch.device.cycles + batch.clock + skew).astype(np.uint64)
    if name == "clock64":
        return Vec(times, batch.layout.root)
    return Vec((times >> np.uint64(32 if name.endswith("_hi") else 0)).astype(np.uint32), batch.layout.root)


def _multiprocessors(batch: BlockBatch) -> Array:
    """(blocks of the batch,) the multiprocessor of each: neighbouring blocks go to different ones."""
    numbers = batch.geometry.first_block + np.arange(batch.layout.blocks, dtype=np.int64)
    return (numbers * 2 + numbers // (MULTIPROCESSORS // 2) + batch.device.seed) % MULTIPROCESSORS


def compute(batch: BlockBatch, name: str) -> Value:
    """The value of a special register other than a clock, for all lanes."""
    layout = batch.layout
    root = layout.root
    if name in _UNIFORM:
        return _UNIFORM[name]
    register, _, axis = name.partition(".")
    if register == "ntid":
        return layout.block[_AXES[axis]]
    if register == "nctaid":
        return batch.geometry.grid[_AXES[axis]]
    if register == "tid":
        return _value(batch, _threads(layout.block, layout.blocks, batch.geometry.order, axis))
    if register == "ctaid":
        at = batch.geometry
        return _value(batch, _blocks(layout.block, layout.blocks, at.first_block, at.grid, at.order, axis))
    thread = root.ids % layout.padded
    lane = thread & 31
    bit = np.left_shift(np.int64(1), lane)
    if name == "laneid":
        return _vec(batch, lane)
    if name == "warpid":
        resident = (batch.geometry.first_block + root.blocks) // MULTIPROCESSORS
        return _vec(batch, ((thread >> 5) + resident * (layout.padded // 32)) % WARPS)
    if name == "smid":
        return _vec(batch, _multiprocessors(batch)[root.blocks])
    if name == "gridid":
        return 1 + batch.device.seed % 1000
    if register.startswith("lanemask_"):
        masks = {"eq": bit, "lt": bit - 1, "le": 2 * bit - 1, "gt": ~(2 * bit - 1), "ge": ~(bit - 1)}
        return _vec(batch, masks[register.removeprefix("lanemask_")])
    if name in GRID_GROUP:
        return batch.workspace >> 32 if name == GRID_GROUP[0] else batch.workspace & 0xFFFFFFFF
    if name == "dynamic_smem_size":
        return batch.shared_bytes[0]
    if name == "total_smem_size":
        return -(-batch.shared_bytes[1] // SHARED_UNIT) * SHARED_UNIT
    raise KeyError(name)


@lru_cache(maxsize=KEPT_COORDINATES)
def _threads(block: Index3, blocks: int, order: Order, axis: str) -> int | Array:
    layout = Layout(block, blocks)
    return _uniform_or_words(_along(order.threads(layout.root.ids % layout.padded, layout.threads), block, axis))


@lru_cache(maxsize=KEPT_COORDINATES)
def _blocks(block: Index3, blocks: int, first: int, grid: Index3, order: Order, axis: str) -> int | Array:
    """Return one coordinate of the block of each thread, in `blocks` blocks from the `first`-th turn of a grid on."""
    numbers = order.blocks(first + np.arange(blocks, dtype=np.int64), prod(grid))
    values = _uniform_or_words(_along(numbers, grid, axis))
    return values if isinstance(values, int) else np.repeat(values, prod(block))


def _along(numbers: Array, sizes: Index3, axis: str) -> Array:
    x, y, _ = sizes
    if axis == "x":
        return numbers % x
    return numbers // x % y if axis == "y" else numbers // (x * y)


def _uniform_or_words(values: Array) -> int | Array:
    low = values[0]
    if (values == low).all():
        return int(low) & 0xFFFFFFFF
    words: Array = (values & 0xFFFFFFFF).astype(np.uint32)
    return words


def _value(batch: BlockBatch, values: int | Array) -> Value:
    return values if isinstance(values, int) else Vec(values, batch.layout.root)


def _vec(batch: BlockBatch, values: Array) -> Value:
    return _value(batch, _uniform_or_words(values))


def refuse(instruction: Instruction, reason: str) -> Step:
    """Return a step that raises UnsupportedInstruction when it is reached."""

    def step(group: Group) -> None:
        raise UnsupportedInstruction(instruction.text, instruction.location.line, reason)

    return step


def getter(code: Code, operand: Operand, size: int = 8) -> Getter:
    """Return a function group → value for a source operand; immediates are cut to `size` bytes."""
    if isinstance(operand, Register):
        index = operand.index
        return lambda group: group.registers[index]
    if isinstance(operand, Immediate):
        value = bool(operand.value) if size == 0 else operand.value & ((1 << 8 * size) - 1)
        return lambda group: value
    if isinstance(operand, Special):
        name = operand.name
        if not is_emulated(name):
            raise UnsupportedInstruction(f"%{name}", reason=f"special register %{name}")
        return lambda group: read(group, name)
    if isinstance(operand, Symbol):
        return symbol_getter(code, operand.name, operand.offset)
    if isinstance(operand, Negated):
        index = operand.register.index

        def negated(group: Group) -> Any:
            value = group.registers[index]
            return Vec(~value.array, value.lanes) if isinstance(value, Vec) else not value

        return negated
    raise UnsupportedInstruction(str(operand), reason="operand")


def symbol_getter(code: Code, name: str, offset: int) -> Getter:
    """Return a getter of the address of a variable or function; local and `.param` ones differ by activation."""
    address = code.program.addresses.get(name)
    if address is not None:
        total = address + offset
        return lambda group: total
    if code.program.space_of(name) in ("global", "const"):
        return lambda group: group.batch.addresses[name] + offset
    return lambda group: group.frames[-1].symbols[name] + offset
