"""What a launch is given: its grid and block, and its arguments as the kernel finds them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from grader.ptx.frontend.nodes import Function
from grader.ptx.limits import LaunchError
from grader.ptx.machine.batch import BlockBatch
from grader.ptx.memory import Buffer, MemoryArray
from grader.ptx.records import Index3

MAX_BLOCK: Index3 = (1024, 1024, 64)
MAX_GRID: Index3 = (2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED = 48 * 1024
"""Limits of every device since compute capability 3.0 (CUDA C++ programming guide, technical specifications)."""

Argument = Buffer | np.generic | bytes


def three(sizes: Sequence[int], what: str, limits: Index3) -> Index3:
    """Up to three sizes as three.  Raises LaunchError where one is impossible."""
    padded = (*[int(size) for size in sizes], 1, 1, 1)[:3]
    for axis, size, limit in zip("xyz", padded, limits, strict=True):
        if not 1 <= size <= limit:
            raise LaunchError(f"{what}.{axis} is {size}, allowed are 1 to {limit}")
    return padded[0], padded[1], padded[2]


def check_launch_bounds(function: Function, block: Index3) -> None:
    """Raises LaunchError unless `__launch_bounds__()` and `__block_size__()` hold (PTX ISA, .maxntid and .reqntid)."""
    threads = block[0] * block[1] * block[2]
    for name, numbers in function.launch_bounds:
        if name == "maxntid" and threads > math.prod(numbers):
            raise LaunchError(f"the block has {threads} threads, __launch_bounds__ allows {math.prod(numbers)}")
        if name == "reqntid" and block != numbers:
            raise LaunchError(f"the block is {block}, the kernel requires {numbers}")


def packed_parameters(function: Function, arguments: Sequence[Argument]) -> list[tuple[str, bytes]]:
    """(name, bytes) of each parameter.  Raises LaunchError where arguments do not fit."""
    if len(arguments) != len(function.parameters):
        raise LaunchError(f"{function.name} takes {len(function.parameters)} arguments, {len(arguments)} were given")
    packed = []
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if isinstance(argument, Buffer):
            raw = argument.address.to_bytes(8, "little")
        elif isinstance(argument, bytes):
            raw = argument
        else:
            raw = argument.tobytes()
        if len(raw) != parameter.size_bytes:
            raise LaunchError(f"argument {parameter.name} takes {parameter.size_bytes} bytes, {len(raw)} were given")
        packed.append((parameter.name, raw))
    return packed


def parameter_arrays(batch: BlockBatch, parameters: list[tuple[str, bytes]]) -> dict[str, int]:
    """Put parameters into a batch's memory; their addresses by name."""
    window = batch.local
    symbols = {}
    batch.parameters = dict(parameters)
    for name, raw in parameters:
        data = np.zeros(-(-len(raw) // 16) * 16, np.uint8)
        data[: len(raw)] = np.frombuffer(raw, np.uint8)
        array = MemoryArray(name, "param", window.next_base(), len(raw), data, read_only=True)
        window.arrays.append(array)
        symbols[name] = array.base
    return symbols
