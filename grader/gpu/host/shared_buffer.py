"""The memory that the grader and its GPU process share."""

from __future__ import annotations

import mmap
import os

import numpy as np
import numpy.typing as npt

from grader.backends.base import BufferArgument, LaunchRequest
from grader.gpu.messages import PROGRESS_BYTES

_PAGE = 4096


class SharedBuffer:
    """The memory file between the two processes: inputs laid out in it, results read from it.

    It is kept from one request to the next and grows where it must, for its pages cost more than what is in them.
    """

    def __init__(self) -> None:
        self._used = _PAGE
        self._offsets: dict[str, int] = {}
        self._inputs: list[tuple[int, npt.NDArray[np.generic]]] = []
        self._descriptor = -1
        self._view: mmap.mmap | None = None

    def clear(self) -> None:
        """Begin to lay out another request."""
        self._used = _PAGE
        self._offsets = {}
        self._inputs = []

    def close(self) -> None:
        """Give the file back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._view = -1, None

    def add(self, array: npt.NDArray[np.generic]) -> int:
        """Room for an array's bytes; their offset."""
        offset = self._reserve(array.nbytes)
        self._inputs.append((offset, array))
        return offset

    def place(self, request: LaunchRequest) -> dict[str, int]:
        """Room for the arrays of a launch; their offsets by name."""
        for argument in request.arguments:
            if isinstance(argument, BufferArgument):
                if argument.initial is None:
                    self._offsets[argument.name] = self._reserve(nbytes_of(argument))
                else:
                    self._offsets[argument.name] = self.add(argument.initial)
        return self._offsets

    def fill(self) -> int:
        """Put the inputs in their places; the file's descriptor."""
        if self._view is None or len(self._view) < self._used:
            self.close()
            self._descriptor = os.memfd_create("grader", os.MFD_CLOEXEC)
            os.ftruncate(self._descriptor, max(self._used, _PAGE))
            self._view = mmap.mmap(self._descriptor, max(self._used, _PAGE))
        self._view[:PROGRESS_BYTES] = bytes(PROGRESS_BYTES)
        for offset, array in self._inputs:
            target: npt.NDArray[np.uint8] = np.frombuffer(self._view, np.uint8, array.nbytes, offset)
            target[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return self._descriptor

    def content(self) -> bytes:
        """All of the file's bytes, once it is filled."""
        return bytes(self._view or b"")

    def array(self, argument: BufferArgument) -> npt.NDArray[np.generic]:
        """What lies in an array's place now."""
        assert self._view is not None
        dtype = np.dtype(argument.dtype)
        count = nbytes_of(argument) // dtype.itemsize
        flat = np.frombuffer(self._view, dtype, count, self._offsets[argument.name])
        return flat.reshape(argument.shape).copy()

    def progress(self) -> str:
        """The kernel that was at work when the other process last said so; "" for none."""
        return bytes(self._view[:PROGRESS_BYTES]).rstrip(b"\0").decode(errors="replace") if self._view else ""

    def _reserve(self, nbytes: int) -> int:
        offset = self._used
        self._used += -(-max(nbytes, 1) // _PAGE) * _PAGE
        return offset


def nbytes_of(argument: BufferArgument) -> int:
    """Bytes of an array."""
    return int(np.prod(argument.shape, dtype=np.int64)) * np.dtype(argument.dtype).itemsize
