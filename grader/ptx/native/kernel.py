"""What is known of a kernel while it is turned into text, and what its runner has to know afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.ptx.frontend.nodes import Instruction, Register
from grader.ptx.isa.opcodes import facts
from grader.ptx.machine.code import Code
from grader.ptx.native.layout import CONTEXT, Static
from grader.ptx.native.load_store import Transfer
from grader.ptx.native.places import Way

_REFUSED = frozenset({"elect", "call", "brx"})
_REFUSED_MEMORY = frozenset({"atomic", "fence", "texture", "surface", "copy"})


def is_refused(opcode: str) -> bool:
    """What a kernel must not have at all: atomics and fences, calls and jumps through tables, products of a warp."""
    known = facts(opcode)
    return opcode in _REFUSED or known.fragments or known.memory in _REFUSED_MEMORY


@dataclass
class Site:
    """A load or store that observers are told of: its counters by space, its buffer, its state while under way."""

    transfer: Transfer
    counters: dict[str, int]
    buffer: int
    event: int


@dataclass
class Generated:
    """A kernel's text and where its regions lie.

    symbols, parameters: where they stand.  slots, specials: places in a lane's frame, of the registers that outlive a
    piece and of special registers.  numpy: instructions left to `isa/`.  counters: by (line, space, op, width).
    snapshots: of loops' headers, with the number of registers kept.  ways: quick ways to places that are used.
    narrow: some accesses are narrower than 4 bytes.  visits: executions of blocks by lanes and by warps.  stops: a byte
    for each block.
    """

    text: str = ""
    frame_bytes: int = 0
    symbols: dict[tuple[str, int], int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    specials: dict[str, int] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)
    numpy: list[Instruction] = field(default_factory=list)
    counters: dict[tuple[int, str, str, int], int] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    snapshots: dict[int, tuple[int, int]] = field(default_factory=dict)
    ways: set[Way] = field(default_factory=set)
    narrow: bool = False
    visits: int = 0
    stops: int = 0
    end: int = 0


class Kernel:
    """A kernel on its way: its code, whether it is observed, the registers by index, what has come out so far."""

    def __init__(self, code: Code, observed: bool) -> None:
        self.code = code
        self.observed = observed
        self.registers: dict[int, Register] = {r.index: r for r in code.function.registers}
        self.static = Static()
        self.out = Generated()

    def frame_of(self, lane: str) -> str:
        """Expression for the address of a lane's registers."""
        return f"(i32.add (global.get $frames) (i32.mul (i32.const {FRAME_BYTES}) {lane}))"

    def slot(self, index: int) -> int:
        """Where a register stands in a frame, in bytes."""
        return 8 * self.out.slots.setdefault(index, len(self.out.slots) + len(self.out.specials))

    def finish(self, text: str) -> str:
        """Text in which the size of a frame is still open, with it."""
        lines = (8 * (len(self.out.slots) + len(self.out.specials)) + 63) // 64
        # An odd number of cache lines: frames of neighbouring lanes must not fall on the same sets.
        self.out.frame_bytes = 64 * (lines | 1)
        return text.replace(FRAME_BYTES, str(self.out.frame_bytes))


FRAME_BYTES = "@FRAME"
"""Stands in text until it is known how many registers need a place."""


LANE = "(i32.load (i32.add (local.get $list) (i32.shl (local.get $k) (i32.const 2))))"
"""The number of the `$k`-th lane that runs."""
WARPS = f"(i32.load (i32.const {CONTEXT['WARPS']}))"
