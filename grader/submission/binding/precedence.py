"""What binding takes a fact from: of everybody who knows it, the one that stands first in one list (`ORIGINS`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from grader.submission.records import ORIGINS, Origin

T = TypeVar("T")

OF_PROGRAM: frozenset[Origin] = frozenset(["stated", "observed", "read"])
"""What a student's program says, or the student of it."""


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """Something known of a kernel or of its launch, and who says so."""

    value: T
    origin: Origin


def first(sayings: Mapping[Origin, Callable[[], T | None]], otherwise: T) -> Fact[T]:
    """What the first of `ORIGINS` says that says anything; `otherwise`, which is the lab's, where none does."""
    for origin in ORIGINS:
        say = sayings.get(origin)
        value = say() if say is not None else None
        if value is not None:
            return Fact(value, origin)
    return Fact(otherwise, "lab")


def weakest_of(origins: Iterable[Origin]) -> Origin:
    """That of several which stands last."""
    return max(origins, key=ORIGINS.index, default="lab")
