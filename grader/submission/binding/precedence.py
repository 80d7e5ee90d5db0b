"""What binding takes a fact from: of everybody who knows it, the one that stands first in a list.

There are two: which kernel and which argument is meant (`ORIGINS`) the student states best; how a kernel is launched
(`OF_LAUNCHES`) a run of the program shows best, and what is stated otherwise is told as a contradiction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from grader.submission.records import ORIGINS, Origin

T = TypeVar("T")

OF_LAUNCHES: tuple[Origin, ...] = ("observed", "stated", "read", "inferred", "lab")
"""Who is believed about the block and the shared memory of a launch, the first before the others."""

OF_PROGRAM: frozenset[Origin] = frozenset(["stated", "observed", "read"])
"""What a student's program says, or the student of it."""


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """Something known of a kernel or of its launch, and who says so."""

    value: T
    origin: Origin


def first(
    sayings: Mapping[Origin, Callable[[], T | None]], otherwise: T, among: tuple[Origin, ...] = ORIGINS
) -> Fact[T]:
    """What the first says, in the order of `among`, that says anything; `otherwise`, the lab's, where none does."""
    for origin in among:
        say = sayings.get(origin)
        value = say() if say is not None else None
        if value is not None:
            return Fact(value, origin)
    return Fact(otherwise, "lab")


def weakest_of(origins: Iterable[Origin]) -> Origin:
    """That of several which stands last."""
    return max(origins, key=ORIGINS.index, default="lab")
