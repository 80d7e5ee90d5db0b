"""Quick ways from an address to linear memory: what was found out about an array last time, kept with each instruction.

A function for each space, operation and width; the long way, and every fault, is in `runtime.wat`.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.ptx.native.layout import HISTORY_BYTES, THREAD_BITS

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
        """Of its function."""
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
        """One unit that nobody else has touched, or only read, is nothing to look into."""
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
            several = "(i32.and (local.get $when) (i32.const 2))"
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
    """Whether a thread is of this thread's block."""
    return f"(i32.lt_u (i32.xor (local.get {thread}) (local.get $me)) (i32.const {1 << THREAD_BITS}))"
