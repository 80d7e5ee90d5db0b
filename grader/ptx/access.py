"""What a load, store or atomic is: as an instruction says it, and as one set of lanes carries it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.nodes import Instruction
from grader.ptx.placing import Place
from grader.ptx.values import Value

if TYPE_CHECKING:
    from grader.ptx.machine import Chunk

_SPACES = {"global", "shared", "local", "param", "const"}
_HINTS = {"weak", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "cta", "cluster", "gpu", "sys", "unified", "cta::"}
_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_KINDS = {"u": "u", "s": "i", "b": "u", "f": "f"}


def element_dtype(name: str) -> np.dtype[Any]:
    """NumPy dtype of a PTX type name; raises KeyError when there is none."""
    kind, bits = _KINDS[name[0]], name[1:]
    if name in ("f16x2", "bf16x2"):
        return np.dtype(np.uint32)
    if name in ("f16", "bf16"):
        return np.dtype(np.uint16)
    if bits not in ("8", "16", "32", "64"):
        raise KeyError(name)
    return np.dtype(f"{kind}{int(bits) // 8}")


class Access:
    """One memory instruction carried out by one set of lanes: what observers are told.

    op: "load", "store" or "atomic".  width: bytes a lane.  stored: the values stored, element by element.
    strong: volatile, relaxed, acquire or release: meant for communication between threads.
    compared: a load whose value a compare-and-swap checks before anything comes of it.
    together: where lanes go to several arrays of one space there is an event for each; all their places.
    """

    __slots__ = ("chunk", "compared", "instruction", "op", "place", "stored", "strong", "together", "width")

    def __init__(
        self,
        instruction: Instruction,
        op: str,
        width: int,
        place: Place,
        chunk: Chunk,
        strong: bool,
        stored: list[Value] | None = None,
        compared: bool = False,
    ) -> None:
        self.instruction = instruction
        self.op = op
        self.width = width
        self.place = place
        self.chunk = chunk
        self.strong = strong
        self.stored = stored
        self.compared = compared
        self.together: Sequence[Place] = (place,)


class AccessSpec:
    """The static side of a load, store or atomic.

    is_copy: what is loaded is only stored elsewhere as it is.  compared: see `Access`.
    """

    def __init__(self, instruction: Instruction, op: str) -> None:
        self.instruction = instruction
        self.op = op
        self.space = "generic"
        self.strong = op == "atomic"
        self.count = 1
        self.operation = ""
        self.is_copy = self.compared = False
        type_name = ""
        for modifier in instruction.modifiers:
            base = modifier.split("::")[0]
            if base in _SPACES and (base == modifier or modifier in ("shared::cta", "param::entry", "param::func")):
                self.space = base
            elif modifier in _STRONG:
                self.strong = True
            elif modifier in _VECTORS:
                self.count = _VECTORS[modifier]
            elif modifier in _HINTS or base in ("L1", "L2", "level"):
                continue
            elif op == "atomic" and modifier in ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"):
                self.operation = modifier
            elif op == "atomic" and modifier == "noftz":
                continue
            else:
                try:
                    self.dtype = element_dtype(modifier)
                except KeyError:
                    raise UnsupportedInstruction(
                        instruction.text, instruction.location.line, f"modifier .{modifier}"
                    ) from None
                type_name = modifier
        if not type_name or (op == "atomic" and (not self.operation or self.count > 1)):
            raise UnsupportedInstruction(instruction.text, instruction.location.line)
        self.type_name = type_name
        self.element_bytes = self.dtype.itemsize
        self.width = self.element_bytes * self.count
