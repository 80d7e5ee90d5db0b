"""How a library's calls are served: one object a call, with what its operands are and where its results go."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.programs.device_memory import Allocation
from grader.programs.runtime.libraries.operands import (
    Array,
    array_at,
    bound_work,
    check_read,
    give,
    guarded,
    handle_of,
    matrix_at,
    note_write,
    pointers_at,
    scalar_at,
    vector_at,
)
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import State

REAL = {"c8": "f4", "c16": "f8"}
Operand = tuple[Array, Allocation]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a library's.

    handle: what belongs to the library's handle.  dtype: of the numbers that the function's name says.
    """

    state: State
    place: Place
    handle: dict[str, Any]
    dtype: str

    @property
    def real(self) -> str:
        """The type of the parts of its numbers."""
        return REAL.get(self.dtype, self.dtype)

    def matrix(self, address: int, rows: int, columns: int, leading: int, dtype: str = "") -> Operand:
        """In column-major order."""
        return matrix_at(self.state, self.place, address, rows, columns, leading, dtype or self.dtype)

    def vector(self, address: int, count: int, step: int = 1, dtype: str = "") -> Operand:
        """With a step."""
        return vector_at(self.state, self.place, address, count, step, dtype or self.dtype)

    def array(self, address: int, count: int, dtype: str = "") -> Operand:
        """Numbers one after another."""
        return array_at(self.state, self.place, address, count, dtype or self.dtype)

    def pointers(self, address: int, count: int) -> list[int]:
        """Of a batch."""
        return pointers_at(self.state, self.place, address, count)

    def scalar(self, address: int, dtype: str = "") -> Any:
        """On either side."""
        return scalar_at(self.state, self.place, address, dtype or self.dtype)

    def read(self, *operands: Operand) -> None:
        """These are read: tell of what nobody wrote."""
        check_read(self.state, self.place, *operands)

    def give(self, address: int, values: Any, dtype: str = "") -> None:
        """Results, on either side."""
        give(self.state, self.place, address, values, dtype or self.dtype)

    def store(self, target: Operand, value: Any) -> None:
        """Write what a call came to into an operand."""
        with np.errstate(all="ignore"):
            target[0][...] = value
        note_write(self.state, target)

    def work(self, multiplications: int) -> None:
        """Charge them."""
        bound_work(self.state, multiplications)


Served = Callable[..., int | None]
Handler = tuple[str, Callable[..., int]]


def served(
    function: Served, dtype: str = "", *, is_bound: bool = True, statuses: Mapping[int, int] | None = None
) -> Handler:
    """A handler of a function of (call, numbers…), which returns its status, None for success.

    is_bound: its first argument is a handle; else it has none.  statuses: as `guarded` takes them.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    kinds = "i" * is_bound + "".join("f" if parameter.annotation == "float" else "i" for parameter in parameters)

    def call(state: State, place: Place, *values: Any) -> int:
        handle = handle_of(state, values[0]) if is_bound else {}
        with np.errstate(all="ignore"):
            return function(Call(state, place, handle, dtype), *values[is_bound:]) or 0

    return kinds, guarded(call, statuses)


def of_types(prefix: str, name: str, function: Served, types: Mapping[str, str]) -> dict[str, Handler]:
    """The same function for numbers of several types, by the letter of each: `cublasSgemm`, `cublasDgemm`."""
    return {f"{prefix}{letter}{name}": served(function, dtype) for letter, dtype in types.items()}
