"""What a load remembers of the last time it was executed."""

from __future__ import annotations

from grader.ptx.memory.access import AccessSpec
from grader.ptx.memory.address_resolution import ResolvedAddress
from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.values.kinds import Vec
from grader.ptx.values.lanes import Array


class InlineCache:
    """A load as it went last time: in a loop the same lanes come back to it with the same array, moved by a constant.

    delta: what makes the smallest lane's byte offset in the array out of the value's shift.  span: bytes from the
    smallest lane's element to the largest's.
    """

    __slots__ = ("array", "delta", "indices", "resolved_shift", "span", "vec", "view")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Let go of the arrays of a launch that is over."""
        self.vec: Vec | None = None
        self.array: MemoryArray | None = None
        self.indices: Array | None = None
        self.view: Array | None = None

    def note(self, spec: AccessSpec, resolved: ResolvedAddress, shift: int) -> None:
        """Remember a load that went well; `shift` is that of its address."""
        vec = resolved.vec
        assert vec is not None
        indices, _ = resolved.index(spec.element_bytes)
        if isinstance(indices, int):
            return
        low, high = vec.signed_bounds()
        self.array, self.vec, self.indices = resolved.array, vec, indices
        self.view = resolved.array.view(spec.dtype)
        self.resolved_shift = resolved.shift - shift
        self.delta = low + self.resolved_shift
        self.span = high - low
