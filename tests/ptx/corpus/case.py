"""What a case of the corpus is, and how its arguments are laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Struct:
    """A struct by value: its members in order, naturally aligned; an array stands for a pointer to a buffer."""

    members: tuple[Array | np.generic | Struct, ...]


Argument = Array | np.generic | Struct
Oracle = Callable[[Sequence[Any]], dict[int, Array]]
"""From the arguments (arrays as they were before the launch) to what buffers hold afterwards, by number.

Buffers are numbered in the order in which they occur in the arguments, those inside structs included.
"""


@dataclass(frozen=True)
class Case:
    """A kernel of the corpus and how to launch it.

    source : file in `tests/ptx/corpus`.  make_arguments : the arguments from a seeded generator.
    oracle : what to expect, None where there is no independent computation.
    exact : the oracle's bits are the result's bits; otherwise results may differ by `ulps` units in the last place
        (of the result, but of 1.0 at least when `absolute`).
    on_device : what a GPU returns has the same bits as what the emulator returns; False where approximate
        functions, clocks or the order of atomics decide.
    race_free : the emulator must find no hazard.
    text : the source itself, where it is only a part of that file.
    options : further compiler options, "headers" standing for those that give access to CUDA's own headers.
    """

    name: str
    source: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    make_arguments: Callable[[np.random.Generator], list[Argument]]
    oracle: Oracle | None = None
    shared_bytes: int = 0
    exact: bool = True
    ulps: float = 0.0
    absolute: bool = False
    on_device: bool = True
    race_free: bool = True
    options: tuple[str, ...] = ()
    text: str = ""


def buffers(arguments: Sequence[Argument]) -> list[Array]:
    """The arrays among the arguments, those inside structs included, in order."""
    found: list[Array] = []
    for argument in arguments:
        if isinstance(argument, Struct):
            found += buffers(argument.members)
        elif isinstance(argument, np.ndarray):
            found.append(argument)
    return found


def pack(struct: Struct, addresses: Iterator[int]) -> bytes:
    """The bytes of a struct; `addresses` yields those of the buffers in it, in order."""
    raw, widest = b"", 1
    for member in struct.members:
        if isinstance(member, Struct):
            piece, align = pack(member, addresses), alignment(member)
        elif isinstance(member, np.ndarray):
            piece, align = next(addresses).to_bytes(8, "little"), 8
        else:
            piece, align = member.tobytes(), member.nbytes
        raw += bytes(-len(raw) % align) + piece
        widest = max(widest, align)
    return raw + bytes(-len(raw) % widest)


def alignment(struct: Struct) -> int:
    """Alignment of a struct in bytes: that of its widest member."""
    sizes = [
        alignment(m) if isinstance(m, Struct) else 8 if isinstance(m, np.ndarray) else m.nbytes for m in struct.members
    ]
    return max(sizes, default=1)
