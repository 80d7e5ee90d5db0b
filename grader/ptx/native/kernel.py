"""What is known of a kernel while it is turned into text, and what its runner has to know afterwards.

Loops that return to the same state are found in generated code as `grader.ptx.machine.scheduler` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.ptx.frontend.nodes import Instruction, Register
from grader.ptx.isa.opcodes import facts
from grader.ptx.machine.code import Code, LoopInfo
from grader.ptx.native.layout import CONTEXT, Static, Transfer, Way

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


_STATE_BYTES = 32
"""Arrivals, arrivals at which to renew, set of lanes (i32), version of memory (i64), where the values lie (i32)."""


def header(kernel: Kernel, block: int, loop: LoopInfo) -> str:
    """What is done on coming to a loop's header: Brent's search for a cycle, unreachable where there is one."""
    if loop.deciding is None:
        return ""
    state = kernel.static.take(_STATE_BYTES)
    kernel.out.snapshots[block] = (state, len(loop.deciding))

    def field(offset: int, kind: str = "i32") -> str:
        return f"({kind}.load offset={offset} (i32.const {state}))"

    def put(offset: int, value: str, kind: str = "i32") -> str:
        return f"({kind}.store offset={offset} (i32.const {state}) {value})"

    compare, copy = [], []
    for number, index in enumerate(loop.deciding):
        here, there = f"(i64.load offset={kernel.slot(index)} (local.get $f))", f"offset={8 * number} (local.get $p)"
        compare.append(f"(br_if $differs (i64.ne {here} (i64.load {there})))")
        copy.append(f"(i64.store {there} {here})")

    def each(work: list[str]) -> str:
        return f"""(local.set $k (i32.const 0)) (local.set $p {field(24)})
(loop $next
 (local.set $f {kernel.frame_of(LANE)})
 {" ".join(work)}
 (local.set $p (i32.add (local.get $p) (i32.const {8 * len(loop.deciding or ())})))
 (local.set $k (i32.add (local.get $k) (i32.const 1)))
 (br_if $next (i32.lt_u (local.get $k) (local.get $n))))"""

    changed = f"(br_if $differs (i64.ne {field(16, 'i64')} (global.get $version)))" if loop.reads_memory else ""
    token = f"(i32.load (i32.const {CONTEXT['TOKEN']}))"
    doubled = f"(i32.shl (select {field(4)} (i32.const 1) {field(4)}) (i32.const 1))"
    return f"""(if (local.get $back)
(then
 (block $differs
  {changed}
  (br_if $differs (i32.ne {field(8)} {token}))
  {each(compare)}
  unreachable)
 {put(0, f"(i32.add {field(0)} (i32.const 1))")}
 (if (i32.ge_u {field(0)} {field(4)})
  (then {put(4, doubled)} {put(8, token)} {put(16, "(global.get $version)", "i64")} {each(copy)})))
(else {put(0, "(i64.const 0)", "i64")} {put(8, "(i32.const 0)")}))"""
