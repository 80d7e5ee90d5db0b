"""cuRAND's host generators as far as course programs use them, through NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.programs.meter import RANDOM_INSTRUCTIONS
from grader.programs.runtime.libraries.operands import (
    MAX_HANDLES,
    Array,
    Refused,
    accept,
    destroy,
    guarded,
    note_write,
    vector_at,
)
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import State

NOT_INITIALIZED, OUT_OF_RANGE = 101, 104
PIECE = 1 << 20
"""Numbers that are made at once: they take room beside the array that they are for."""


def generator(state: State, place: Place, handle: int, kind: int) -> int:
    if len(state.libraries) >= MAX_HANDLES:
        raise Refused(102)
    number = state.handle()
    state.guest.pack("Q", handle, number)
    state.libraries[number] = {"random": np.random.default_rng(0)}
    return 0


def _random(state: State, handle: int) -> Any:
    found = state.libraries.get(handle, {}).get("random")
    if found is None:
        raise Refused(NOT_INITIALIZED)
    return found


def seed(state: State, place: Place, handle: int, value: int) -> int:
    _random(state, handle)
    state.libraries[handle]["random"] = np.random.default_rng(value & (1 << 64) - 1)
    return 0


def _fill(state: State, place: Place, out: int, count: int, dtype: str, make: Callable[[int], Array]) -> int:
    if not 0 <= count <= 1 << 28:
        raise Refused(OUT_OF_RANGE)
    if count:
        target = vector_at(state, place, out, count, 1, dtype)
        state.meter.spend(count * RANDOM_INSTRUCTIONS)
        for start in range(0, count, PIECE):
            piece = target[0][start : start + PIECE]
            piece[:] = make(len(piece))
        note_write(state, target[1])
        target[1].origins = {"copied"}
    return 0


def generate(state: State, place: Place, handle: int, out: int, count: int) -> int:
    random = _random(state, handle)
    return _fill(state, place, out, count, "u4", lambda some: random.integers(0, 1 << 32, some, np.uint32))


def _uniform(dtype: str) -> Callable[..., int]:
    def uniform(state: State, place: Place, handle: int, out: int, count: int) -> int:
        random = _random(state, handle)
        # cuRAND leaves 0 out and takes 1 in.
        return _fill(state, place, out, count, dtype, lambda some: 1 - random.random(some, np.dtype(dtype)))

    return uniform


def _normal(dtype: str) -> Callable[..., int]:
    def normal(state: State, place: Place, handle: int, out: int, count: int, mean: float, deviation: float) -> int:
        random = _random(state, handle)
        if count % 2:
            # Pseudorandom normal numbers come in pairs (cuRAND, generation functions).
            raise Refused(105)
        return _fill(state, place, out, count, dtype, lambda some: random.normal(mean, abs(deviation), some))

    return normal


_TABLE: dict[str, tuple[str, Callable[..., int]]] = {
    "curandCreateGenerator": ("ii", generator),
    "curandDestroyGenerator": ("i", destroy),
    "curandSetPseudoRandomGeneratorSeed": ("ii", seed),
    "curandSetStream": ("ii", accept),
    "curandGenerate": ("iii", generate),
    "curandGenerateUniform": ("iii", _uniform("f4")),
    "curandGenerateUniformDouble": ("iii", _uniform("f8")),
    "curandGenerateNormal": ("iiiff", _normal("f4")),
    "curandGenerateNormalDouble": ("iiiff", _normal("f8")),
}
HANDLERS: dict[str, tuple[str, Callable[..., int]]] = {
    name: (kinds, guarded(function)) for name, (kinds, function) in _TABLE.items()
}
