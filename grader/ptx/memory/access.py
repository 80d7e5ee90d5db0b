"""What a load, store or atomic is: as an instruction says it, and as one set of lanes carries it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.memory.address_resolution import ResolvedAddress
from grader.ptx.values.geometry import Geometry
from grader.ptx.values.kinds import Value
from grader.ptx.values.lanes import Array

_SPACES = {"global", "shared", "local", "param", "const"}
_HINTS = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "cta", "cluster", "gpu", "sys", "unified", "cta::"}
_ORDERS = {name: name for name in ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel")} | {
    "mmio": "relaxed"
}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_KINDS = {"u": "u", "s": "i", "b": "u", "f": "f"}


def element_dtype(name: str) -> np.dtype[Any] | None:
    """NumPy dtype of a PTX type name, None when there is none of that name."""
    if name in ("f16x2", "bf16x2"):
        return np.dtype(np.uint32)
    if name in ("f16", "bf16"):
        return np.dtype(np.uint16)
    kind, bits = _KINDS.get(name[:1]), name[1:]
    known = kind and bits in ("8", "16", "32", "64") and name != "f8"
    return np.dtype(f"{kind}{int(bits) // 8}") if known else None


class Access:
    """One memory instruction carried out by one set of lanes: what observers are told.

    op: "load", "store" or "atomic".  width: bytes a lane.  stored: the values stored, element by element.
    changed: (n,) bool, where an atomic wrote; a compare-and-swap may fail.  spec: what the instruction says.
    compared: a load whose value a compare-and-swap checks before anything comes of it.
    together: where lanes go to several arrays of one space there is an event for each; all their addresses.
    """

    __slots__ = (
        "address",
        "changed",
        "compared",
        "geometry",
        "instruction",
        "op",
        "spec",
        "stored",
        "together",
        "width",
    )

    def __init__(
        self,
        spec: AccessSpec,
        resolved: ResolvedAddress,
        geometry: Geometry,
        stored: list[Value] | None = None,
        changed: Array | None = None,
    ) -> None:
        self.instruction = spec.instruction
        self.op = spec.op
        self.width = spec.width
        self.compared = spec.compared
        self.spec = spec
        self.address = resolved
        self.geometry = geometry
        self.stored = stored
        self.changed = changed
        self.together: Sequence[ResolvedAddress] = (resolved,)

    def moved(self, distance: int) -> Access:
        """The same by the same lanes, so many bytes further on."""
        address = self.address
        resolved = ResolvedAddress(address.array, address.vec, address.shift + distance, address.lanes)
        return Access(self.spec, resolved, self.geometry)


class AccessSpec:
    """The static side of a load, store or atomic.

    order: "weak", "volatile", "relaxed", "acquire", "release" or "acq_rel" (PTX ISA, memory consistency model).
    in_block_only: scope `.cta`.  is_copy: what is loaded is only stored elsewhere as it is.  compared: see `Access`.
    looked_at: what is read is used for anything.  polls: it decides whether a loop is left that waits for others.
    is_counted: a device makes just such a request; else how it gets there is not known, and not counted.
    of_copy: of an asynchronous copy's store, which is told of twice: "begun" or "arrived"; "" for any other.
    """

    def __init__(self, instruction: Instruction, op: str) -> None:
        self.instruction = instruction
        self.op = op
        self.space = "generic"
        self.order = "relaxed" if op == "atomic" else "weak"
        self.in_block_only = "cta" in instruction.modifiers
        self.count = 1
        self.operation = self.of_copy = ""
        self.is_copy = self.compared = self.polls = False
        self.looked_at = self.is_counted = True
        type_name = ""
        for modifier in instruction.modifiers:
            base = modifier.split("::")[0]
            if base in _SPACES and (base == modifier or modifier in ("shared::cta", "param::entry", "param::func")):
                self.space = base
            elif modifier in _ORDERS:
                self.order = _ORDERS[modifier]
            elif modifier in _VECTORS:
                self.count = _VECTORS[modifier]
            elif modifier in _HINTS or base in ("L1", "L2", "level"):
                continue
            elif op == "atomic" and modifier in ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"):
                self.operation = modifier
            elif op == "atomic" and modifier == "noftz":
                continue
            else:
                dtype = element_dtype(modifier)
                if dtype is None:
                    raise UnsupportedInstruction(instruction.text, instruction.location.line, f"modifier .{modifier}")
                self.dtype = dtype
                type_name = modifier
        if not type_name or (op == "atomic" and (not self.operation or self.count > 1)):
            raise UnsupportedInstruction(instruction.text, instruction.location.line)
        self.type_name = type_name
        self.strong = self.order != "weak"
        self.releases = self.order in ("release", "acq_rel")
        self.element_bytes = self.dtype.itemsize
        self.width = self.element_bytes * self.count
