"""Where things lie in the linear memory of generated code, and how loads and stores reach them.

One table for the generator, the runtime and the host.  All offsets are in bytes.  The first page holds the context;
then come regions whose size the function decides (`Static`), then those that a launch decides (registers, lanes,
arrays).  From an address to linear memory there are quick ways, a function for each space, operation and width: what
was found out about an array last time is kept with each instruction.  The long way, and every fault, is in
`runtime.wat`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.ptx.access import AccessSpec
from grader.ptx.frontend.nodes import Address, Instruction, Operand, Register, Symbol, Vector
from grader.ptx.machine.code import type_bytes

TYPES: dict[str, tuple[str, int, bool]] = {
    "pred": ("i32", 0, False),
    **{f"{kind}{bits}": ("i32", bits, kind == "s") for kind in "usb" for bits in (8, 16, 32)},
    **{f"{kind}64": ("i64", 64, kind == "s") for kind in "usb"},
    "f32": ("f32", 32, False),
    "f64": ("f64", 64, False),
}
"""By PTX type: the WebAssembly type, its bits (0 for predicates), whether it is signed."""


def local_type(register: Register) -> str:
    """The WebAssembly type of the local that holds a register."""
    name = register.type
    if name in ("f32", "f64"):
        return name
    return "i64" if name.endswith("64") else "i32"


def register_bits(register: Register) -> int:
    """Width of a register, 0 for a predicate."""
    return 8 * type_bytes(register.type)


def converted(expression: str, have: str, want: str, signed: bool = False) -> str:
    """The bits of a value in another WebAssembly type: cut, or extended."""
    if have == want:
        return expression
    if have in ("f32", "f64"):
        whole = "i32" if have == "f32" else "i64"
        return converted(f"({whole}.reinterpret_{have} {expression})", whole, want, signed)
    if want in ("f32", "f64"):
        whole = "i32" if want == "f32" else "i64"
        return f"({want}.reinterpret_{whole} {converted(expression, have, whole, signed)})"
    if want == "i32":
        return f"(i32.wrap_i64 {expression})"
    return f"(i64.extend_i32_{'s' if signed else 'u'} {expression})"


CONTEXT: dict[str, int] = {
    "STATUS": 0,
    "BLOCK": 4,
    "BACK": 8,
    "N": 12,
    "LIST": 16,
    "WARPS": 20,
    "WARP_TABLE": 24,
    "TOKEN": 28,
    "FUEL": 32,
    "ISSUED": 40,
    "FRAMES": 48,
    "LANES": 52,
    "GLOBAL_TABLE": 56,
    "GLOBAL_SLOTS": 60,
    "SHARED_TABLE": 64,
    "SHARED_SLOTS": 68,
    "LOCAL_TABLE": 72,
    "LOCAL_SLOTS": 76,
    "RACES": 80,
    "PLACES": 84,
    "ORIGIN": 88,
    "SCRATCH": 128,
}
"""Fields of the context.

N, LIST: how many lanes run, and where their numbers stand (i32 each, ascending).  WARPS, WARP_TABLE: the same by warp
(see WARP_BYTES).  TOKEN: a number that stands for the set of lanes.  FUEL: thread-instructions that may still be
executed (i64), ISSUED: instructions issued so far (i64).  PLACES: threads of these warps, whether they run or not.
RACES: 0 where one thread is alone.  ORIGIN: where global memory's neighbourhoods begin (i64).
"""

SCRATCH_BYTES = 32 * 32 * 4 + 32 * 8 * 4
"""Room for one request's distinct words by bank, and distinct addresses."""

WARP_BYTES = 16
"""What is kept of a participating warp: first position in the list, position past its last lane, mask of its lanes."""

VISIT_BYTES = 24
"""Counts of a block's executions: by lanes, by warps, by `places` where these are counted (i64 each)."""

LANE_BYTES = 16
"""What is kept of a lane: block within the batch, number of the thread (`THREAD_BITS`), where its block's epoch stands,
where its block's row of shared memory begins."""

THREAD_BITS = 10
"""A thread's number is (block of the grid + 1) << THREAD_BITS | thread of the block; 0 is nobody."""

ARRAY_BYTES = 64
"""What is kept of an array (i32 each): where row 0 lies, its size, where the flags of what was written lie (0: all
was), where its history lies (0: not kept), bytes from row to row, what numbers the rows (`ROWS`), 1 if read-only,
offset in its block's storage (1 for constant memory); its address on the device (i64); at `STORED`, 1 once something
was stored."""

STORED = 40

ROWS = {"": 0, "block": 1, "lane": 2}

HISTORY_BYTES = 16
"""What is kept of a unit of memory: last writer and its epoch; last reader, and its epoch << 2 | others read then << 1
| other blocks read."""

COUNTER_BYTES = 200
"""What a line counter holds: requests, lanes, wavefronts, sectors, ideal, unique bytes (i64), ways, whether there are
words, 32 words (i32), requests of few lanes and their lanes (i64)."""

EVENT_BYTES = 144
"""What is kept of an access under way: most wavefronts of a warp, most ways, that warp's 32 words (i32)."""

# Why generated code came back.
RETURNED, BARRIER, PARTED, STOPPED, SPENT = range(5)


class Static:
    """Hands out the regions whose size is known when a function is compiled."""

    def __init__(self) -> None:
        self.end = (CONTEXT["SCRATCH"] + SCRATCH_BYTES + 255) // 256 * 256

    def take(self, size: int, align: int = 16) -> int:
        """Return the offset of a new region."""
        start = -(-self.end // align) * align
        self.end = start + size
        return start


KEPT_BYTES = 32
"""Kept with an instruction: the array's address (i64), offsets at which an access may begin (i64, 0: nothing is kept),
where its data, the flags of what was written and its history lie, its offset in its block's storage (i32 each)."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a quick way is for: space "global" or "shared", op "load" or "store", bytes, whether it is but a copy."""

    space: str
    op: str
    width: int
    copied: bool = False

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"${self.space}_{self.op}_{self.width}{'c' if self.copied else ''}"

    def text(self, observed: bool, unit: int) -> str:
        """The function: (address, what is kept, lane's record) → place in linear memory."""
        width = self.width
        rows = "(i32.load offset=12 (local.get $l))" if self.space == "shared" else ""
        offset = f"(i32.add (i32.wrap_i64 (local.get $from)) {rows})" if rows else "(i32.wrap_i64 (local.get $from))"
        slow = f"(call ${self.space}_{self.op} (local.get $a) (i32.const {width}) (local.get $l)"
        slow += f" (i32.const {int(self.copied)}))" if self.op == "load" else ")"
        lines = [
            f"(func {self.name} (param $a i64) (param $kept i32) (param $l i32) (result i32)",
            " (local $from i64) (local $o i32) (local $flags i32) (local $h i32) (local $when i32)",
            " (local $me i32) (local $now i32) (local $who i32) (local $reader i32)",
            " (local.set $from (i64.sub (local.get $a) (i64.load (local.get $kept))))",
            " (if (i32.or (i64.ge_u (local.get $from) (i64.load offset=8 (local.get $kept)))",
            f"   (i32.and (i32.wrap_i64 (local.get $from)) (i32.const {width - 1})))",
            f"  (then (call $keep_{self.space} (local.get $a) (local.get $kept) (i32.const {width}))",
            f"   (return {slow})))",
            f" (local.set $o {offset})",
        ]
        if self.space == "shared" and observed:
            lines.append(
                " (global.set $shared_address (i64.add (local.get $from) (i64.load32_u offset=28 (local.get $kept))))"
            )
        lines += [" (local.set $flags (i32.load offset=20 (local.get $kept)))", *self._flags()]
        if observed:
            lines += self._history(unit)
        lines.append(" (i32.add (i32.load offset=16 (local.get $kept)) (local.get $o)))")
        return "\n".join(lines)

    def _flags(self) -> list[str]:
        place = "(i32.add (local.get $flags) (local.get $o))"
        if self.op == "store":
            return [f" (if (local.get $flags) (then (call $mark_written {place} (i32.const {self.width}))))"]
        check = f"(call $check_written {place} (i32.const {self.width}) (i32.const {int(self.copied)}))"
        if self.width in (4, 8):
            kind = "i32" if self.width == 4 else "i64"
            ones = int.from_bytes(b"\x01" * self.width, "little")
            check = f"(if ({kind}.ne ({kind}.load {place}) ({kind}.const {ones})) (then {check}))"
        return [f" (if (local.get $flags) (then {check}))"]

    def _history(self, unit: int) -> list[str]:
        """Skip the long way for one unit that no other thread has touched or, of reads, written."""
        width = self.width
        slow = (
            f"(call $note_{self.op} (local.get $h) (i32.add (local.get $h)"
            f" (i32.const {HISTORY_BYTES * (width // unit)})) (local.get $l))"
        )
        shift = unit.bit_length() - 1
        lines = [
            " (local.set $h (i32.load offset=24 (local.get $kept)))",
            " (if (local.get $h) (then",
            "  (local.set $h (i32.add (local.get $h)"
            f" (i32.shl (i32.shr_u (local.get $o) (i32.const {shift})) (i32.const 4))))",
        ]
        if width != unit:
            return [*lines, f"  {slow}))"]
        lines += [
            "  (local.set $me (i32.load offset=4 (local.get $l)))",
            "  (local.set $now (i32.load (i32.load offset=8 (local.get $l))))",
            "  (local.set $who (i32.load (local.get $h)))",
            "  (local.set $reader (i32.load offset=8 (local.get $h)))",
            "  (local.set $when (i32.load offset=12 (local.get $h)))",
        ]
        epoch = "(i32.shr_u (local.get $when) (i32.const 2))"
        # The writer: nobody, or one of this block before its last barrier.
        written = f"(i32.or (i32.eqz (local.get $who)) (i32.and {_block('$who')}"
        written += " (i32.lt_u (i32.load offset=4 (local.get $h)) (local.get $now))))"
        me_again = "(i32.eq (local.get $reader) (local.get $me))"
        if self.op == "load":
            # Readers: those of several blocks, or several of this block since its last barrier, or this thread.
            several = "(i32.shr_u (i32.and (local.get $when) (i32.const 2)) (i32.const 1))"
            now = f"(i32.and (i32.eq {epoch} (local.get $now)) (i32.or {several} {me_again}))"
            quick = f"(i32.and {written} (i32.or (i32.and (local.get $when) (i32.const 1)) {now}))"
            return [*lines, f"  (if (i32.eqz {quick}) (then {slow}))))"]
        # Readers: nobody, this thread alone, or some of this block before its last barrier.
        alone = f"(i32.and {me_again} (i32.eqz (i32.and (local.get $when) (i32.const 3))))"
        before = f"(i32.and {_block('$reader')} (i32.lt_u {epoch} (local.get $now)))"
        before = f"(i32.and {before} (i32.eqz (i32.and (local.get $when) (i32.const 1))))"
        quick = f"(i32.and {written} (i32.or (i32.eqz (local.get $reader)) (i32.or {alone} {before})))"
        note = "(i32.store (local.get $h) (local.get $me)) (i32.store offset=4 (local.get $h) (local.get $now))"
        return [*lines, f"  (if {quick} (then {note}) (else {slow}))))"]


def _block(thread: str) -> str:
    """Test whether a thread is of this thread's block."""
    return f"(i32.lt_u (i32.xor (local.get {thread}) (local.get $me)) (i32.const {1 << THREAD_BITS}))"


OBSERVED_SPACES = ("global", "shared", "generic")
"""Spaces whose accesses other threads see and observers are told of."""


class Unfit(Exception):
    """The function has something that generated code does not do."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A load or store: what `AccessSpec` says, where its address comes from, its value registers.

    space: that of a named variable where the instruction does not say.
    """

    instruction: Instruction
    spec: AccessSpec
    space: str
    address: Address
    elements: tuple[Operand, ...]

    @property
    def is_load(self) -> bool:
        return self.spec.op == "load"

    @property
    def log(self) -> int:
        """The logarithm of the bytes that a lane moves."""
        return self.spec.width.bit_length() - 1


def transfer_of(instruction: Instruction, space_of: Callable[[str], str]) -> Transfer:
    """Read a load or store.  Raises Unfit for those meant for communication between threads."""
    op = "store" if instruction.opcode == "st" else "load"
    spec = AccessSpec(instruction, op)
    if spec.strong or spec.type_name not in TYPES or spec.width > 16:
        raise Unfit(instruction.text)
    value, address = instruction.operands if op == "load" else instruction.operands[::-1]
    if not isinstance(address, Address):
        raise Unfit(instruction.text)
    space = spec.space
    if space == "generic" and isinstance(address.base, Symbol):
        space = space_of(address.base.name)
    elements = value.elements if isinstance(value, Vector) else (value,)
    return Transfer(instruction, spec, space, address, elements)


def element_load(type_name: str, offset: int) -> tuple[str, str]:
    """(expression, PTX type) of one element at `$p` + offset."""
    wasm, bits, signed = TYPES[type_name]
    place = f"offset={offset} (local.get $p)"
    if bits >= 32:
        return f"({wasm}.load {place})", type_name
    return f"(i32.load{bits}_{'s' if signed else 'u'} {place})", type_name


def element_store(type_name: str, value: str, offset: int) -> str:
    """Store one element at `$p` + offset."""
    wasm, bits, _ = TYPES[type_name]
    narrow = str(bits) if bits < 32 else ""
    return f"({wasm}.store{narrow} offset={offset} (local.get $p) {value})"
