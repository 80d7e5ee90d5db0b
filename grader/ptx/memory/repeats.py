"""What a load remembers of the last time it was executed."""

from __future__ import annotations

from grader.ptx.memory.access import AccessSpec
from grader.ptx.memory.placing import Place
from grader.ptx.memory.spaces import MemoryArray
from grader.ptx.values.kinds import Vec
from grader.ptx.values.lanes import Array


class Repeat:
    """A load as it went last time: in a loop the same lanes come back to it with the same array, moved by a constant.

    delta: what makes the smallest lane's byte offset in the array out of the value's shift.  span: bytes from the
    smallest lane's element to the largest's.
    """

    __slots__ = ("array", "delta", "indices", "place_shift", "span", "vec", "view")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Let go of the arrays of a launch that is over."""
        self.vec: Vec | None = None
        self.array: MemoryArray | None = None
        self.indices: Array | None = None
        self.view: Array | None = None

    def note(self, spec: AccessSpec, place: Place, shift: int) -> None:
        """Remember a load that went well; `shift` is that of its address."""
        vec = place.vec
        assert vec is not None
        indices, _ = place.index(spec.element_bytes)
        if isinstance(indices, int):
            return
        low, high = vec.signed_bounds()
        self.array, self.vec, self.indices = place.array, vec, indices
        self.view = place.array.view(spec.dtype)
        self.place_shift = place.shift - shift
        self.delta = low + self.place_shift
        self.span = high - low
