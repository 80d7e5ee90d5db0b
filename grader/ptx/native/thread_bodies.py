"""The instructions of one thread as WebAssembly, with its registers in locals: what computes, loads, stores, updates.

Every access is looked up: whether it is in bounds, and whether what it loads was written.  What an access found last is
kept, so that the next one at its place has little to do; and accesses of a basic block from one register on, as those
of a loop that the compiler has unrolled, are looked up together (`AccessGroup`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from grader.ptx.dataflow import destinations
from grader.ptx.frontend.nodes import Address, Immediate, Instruction, Operand, Register, Special
from grader.ptx.isa.instructions import facts
from grader.ptx.machine.code import Code
from grader.ptx.native.conversions import canonical, with_any_nan
from grader.ptx.native.layout import KEPT_BYTES, TYPES, Transfer, Unfit, Way, converted, local_type, transfer_of
from grader.ptx.native.pieces import Kernel, Piece

_ON_ANY_NAN = frozenset(
    {"add", "sub", "mul", "fma", "mad", "div", "setp", "min", "max", "sqrt", "rcp", "rsqrt", "neg", "abs"}
)
"""Arithmetic on float32 that gives the same whichever NaN it is given."""


def is_arithmetic(instruction: Instruction) -> bool:
    """Whether an instruction is such arithmetic."""
    return instruction.opcode in _ON_ANY_NAN and instruction.modifiers[-1:] == ("f32",)


_COORDINATES = {f"ctaid.{axis}": f"(global.get $block_{axis})" for axis in "xyz"}
PLAIN = {f"{name}.{axis}" for name in ("tid", "ntid", "nctaid") for axis in "xyz"} | {"laneid"}


class Body(Piece):
    """Writes the instructions of one thread with its registers in locals."""

    def __init__(self, kernel: Kernel, loose: set[int], vectors: frozenset[int]) -> None:
        super().__init__(kernel)
        self.vectors = vectors
        self.read: set[int] = set()
        self.set: set[int] = set()
        self._loose = loose
        self._is_arithmetic = False
        self.groups = 0
        self._group_of: dict[int, AccessGroup] = {}
        self._kept = 0

    def lines(self, instructions: Sequence[Instruction]) -> list[str]:
        self._lines = []
        self._group(instructions)
        for instruction in instructions:
            # Who goes alone needs no fence.
            if not facts(instruction.opcode).hint and facts(instruction.opcode).memory != "fence":
                self._write_instruction(instruction)
        return self._lines

    def _group(self, instructions: Sequence[Instruction]) -> None:
        """Find the accesses among them that are looked up together."""
        self._group_of = _groups_of(instructions, self.code.program.space_of)

    def _write_instruction(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if opcode in ("ld", "ldu", "st"):
            self._transfer(instruction)
        elif opcode == "mov":
            self._move(instruction)
        elif opcode == "cvta":
            self._convert_address(instruction)
        elif opcode in ("atom", "red"):
            self._update(instruction)
        elif opcode == "cp":
            self._copy(instruction)
        else:
            self._compute(instruction)

    def _compute(self, instruction: Instruction) -> None:
        self._is_arithmetic = is_arithmetic(instruction)
        super()._compute(instruction)
        self._is_arithmetic = False

    def _read_index(self, index: int) -> str:
        self.read.add(index)
        return f"(f32x4.extract_lane 0 (local.get $r{index}))" if index in self.vectors else f"(local.get $r{index})"

    def _set(self, index: int, expression: str) -> None:
        self.set.add(index)
        if index in self._loose:
            expression = with_any_nan(expression)
        if index in self.vectors:
            expression = in_vector(expression)
        self._lines.append(f"(local.set $r{index} {expression})")

    def kept(self, index: int) -> str:
        """Store a register to its thread's frame."""
        kind = local_type(self.registers[index])
        return f"({kind}.store offset={self.kernel.slot(index)} (local.get $f) {self._read_index(index)})"

    def back(self, index: int) -> str:
        """Load a register from its thread's frame."""
        load = "v128.load32_zero" if index in self.vectors else f"{local_type(self.registers[index])}.load"
        return f"(local.set $r{index} ({load} offset={self.kernel.slot(index)} (local.get $f)))"

    def local(self, index: int) -> str:
        """Declare a register's local."""
        return f"(local $r{index} {'v128' if index in self.vectors else local_type(self.registers[index])})"

    def _raw(self, operand: Operand, size_bits: int) -> tuple[str, str]:
        if isinstance(operand, Special):
            if operand.name in _COORDINATES:
                return _COORDINATES[operand.name], "i32"
            if operand.name not in PLAIN:
                raise Unfit(f"%{operand.name}")
        expression, kind = super()._raw(operand, size_bits)
        if isinstance(operand, Register) and operand.index in self._loose and not self._is_arithmetic:
            expression = canonical(expression)
        return expression, kind

    def _update(self, instruction: Instruction) -> None:
        """Write an atomic update: threads have their turns one after the other, so that nobody comes between."""
        update = update_of(instruction)
        assert update is not None
        space, operation, name = update
        address, *values = instruction.operands[0 if instruction.opcode == "red" else 1 :]
        kind, bits, _ = TYPES[name]
        if not isinstance(address, Address) or address.base is None or len(values) != (2 if operation == "cas" else 1):
            raise Unfit(instruction.text)
        expression, have = self._raw(address.base, 64)
        place = f"(i64.add {converted(expression, have, 'i64')} (i64.const {address.offset}))"
        letter = {"i32": "i", "i64": "l", "f32": "f", "f64": "d"}[kind]
        old, operand = f"(local.get $t{letter})", f"(local.get $u{letter})"
        first, *others = [self._read(value, name) for value in values]
        self._lines.append(f"(local.set $a {place})")
        # It is written already, and written to.
        for way in (Way(space, "load", bits // 8), Way(space, "store", bits // 8)):
            self.out.ways.add(way)
            self._lines += self._find(way, self.static.take(KEPT_BYTES))
        self._lines += [f"(local.set $u{letter} {first})", f"(local.set $t{letter} ({kind}.load (local.get $p)))"]
        if name == "f32":
            # In global memory subnormal numbers count as zeros.
            parts = [f"(call $flushed {part})" if space == "global" else part for part in (old, operand)]
            sum_of_both = canonical(f"(f32.add {parts[0]} {parts[1]})")
            self._lines.append(
                f"(local.set $uf {f'(call $flushed {sum_of_both})' if space == 'global' else sum_of_both})"
            )
            # The NaN of GPUs takes the local of what was there.
            self._lines.append("(local.set $tf (f32.load (local.get $p)))")
            after = operand
        else:
            after = _updated(operation, name, old, operand, others)
        self._lines.append(f"({kind}.store (local.get $p) {after})")
        if instruction.opcode == "atom" and isinstance(instruction.operands[0], Register):
            self._write(instruction.operands[0], old, name)

    def _copy(self, instruction: Instruction) -> None:
        """Write a copy that goes on by itself: at once, as nobody looks at its place before it was waited for."""
        width = copied_bytes(instruction)
        if not width:
            return
        temporary, kind = {4: ("$ti", "i32"), 8: ("$tl", "i64"), 16: ("$tv", "v128")}[width]
        target, source = instruction.operands[:2]
        for operand, way in (
            (source, Way("global", "load", width, copied=True)),
            (target, Way("shared", "store", width)),
        ):
            if not isinstance(operand, Address) or operand.base is None:
                raise Unfit(instruction.text)
            expression, have = self._raw(operand.base, 64)
            address = f"(i64.add {converted(expression, have, 'i64')} (i64.const {operand.offset}))"
            self.out.ways.add(way)
            self._lines += [f"(local.set $a {address})", *self._find(way, self.static.take(KEPT_BYTES))]
            if way.op == "load":
                self._lines.append(f"(local.set {temporary} ({kind}.load (local.get $p)))")
            else:
                self._lines.append(f"({kind}.store (local.get $p) (local.get {temporary}))")

    def _note_change(self) -> None:
        """Nothing to note: no loop is compared with its past."""

    def _place(self, transfer: Transfer) -> None:
        group = self._group_of.get(id(transfer.instruction))
        if group is None:
            super()._place(transfer)
            return
        lines, width = self._lines, transfer.spec.width
        # Needed where the access goes by itself.
        address = lines.pop()
        is_first = not group.number
        if is_first:
            self._begin_group(group)
        place, flags = f"(local.get $place{group.number})", f"(local.get $flags{group.number})"
        apart = transfer.address.offset - group.lowest
        self._lines = [address]
        super()._place(transfer)
        by_itself, self._lines = self._lines, lines
        lines += ["(block $reached (block $apart", f"(br_if $apart (i32.eqz {place}))"]
        if not transfer.is_load:
            marks = [f"({k}.store{n} offset={apart + o} {flags} {ones})" for k, n, o, ones in flags_of(width)]
            lines.append(f"(if {flags} (then {' '.join(marks)}))")
        lines += [f"(local.set $p (i32.add {place} (i32.const {apart})))", "(br $reached))", *by_itself]
        if is_first:
            log = width.bit_length() - 1
            lines.append(
                f"(call $remember (i32.const {self._kept}) (i32.const {group.quick}) (i32.const {log})"
                f" (i64.const {group.places}))"
            )
        lines.append(")")

    def _begin_group(self, group: AccessGroup) -> None:
        """Find out whether all accesses of a group are in bounds and go to what is written: `$place` is 0 if not."""
        self.groups += 1
        group.number = number = self.groups
        group.quick = quick = self.static.take(QUICK_BYTES, 8)
        first = group.members[0]
        width = first.spec.width
        assert first.address.base is not None
        expression, have = self._raw(first.address.base, 64)
        address = f"(i64.add {converted(expression, have, 'i64')} (i64.const {group.lowest}))"
        log = width.bit_length() - 1
        place = f"(i64.rotr (i64.sub (local.get $a) (i64.load (i32.const {quick}))) (i64.const {log}))"
        flags = f"(local.get $flags{number})"
        self._lines += [
            f"(local.set $place{number} (i32.const 0)) (local.set $a {address})",
            f"(block $apart (br_if $apart (i64.ge_u {place} (i64.load offset=8 (i32.const {quick}))))",
            f"(local.set $p (i32.add (i32.wrap_i64 (local.get $a)) (i32.load offset=16 (i32.const {quick}))))",
            f"(if (local.tee $flags{number} (i32.load offset=20 (i32.const {quick})))",
            f"(then (local.set $flags{number} (i32.add (local.get $p) {flags}))",
        ]
        if first.is_load:
            every: dict[str, None] = {}
            for member in group.members:
                for kind, narrow, part, _ones in flags_of(width):
                    offset = member.address.offset - group.lowest + part
                    every[f"({kind}.load{narrow}{'_u' if narrow else ''} offset={offset} {flags})"] = None
            # Flags are 0 or 1.
            *_, ones = flags_of(width)[0]
            together = reduce(lambda a, b: f"({kind}.and {a} {b})", every)
            self._lines.append(f"(br_if $apart ({kind}.ne {together} {ones}))")
        self._lines.append(f")) (local.set $place{number} (local.get $p)))")

    def _find(self, way: Way, kept: int) -> list[str]:
        """Look in the array of the last access first, if what is loaded is written."""
        self._kept = kept
        quick = self.static.take(QUICK_BYTES, 8)
        log = way.width.bit_length() - 1
        flags = "(i32.add (local.get $p) (local.get $flags))"
        written = []
        for kind, narrow, offset, ones in flags_of(way.width):
            if way.op == "store":
                written.append(f"({kind}.store{narrow} offset={offset} {flags} {ones})")
            else:
                load = f"({kind}.load{narrow}{'_u' if narrow else ''} offset={offset} {flags})"
                written.append(f"(br_if $slow ({kind}.ne {load} {ones}))")
        # Rotated, an offset that is no multiple of the width is beyond every array.
        place = f"(i64.rotr (i64.sub (local.get $a) (i64.load (i32.const {quick}))) (i64.const {log}))"
        return [
            "(block $found (block $slow",
            f"(br_if $slow (i64.ge_u {place} (i64.load offset=8 (i32.const {quick}))))",
            f"(local.set $p (i32.add (i32.wrap_i64 (local.get $a)) (i32.load offset=16 (i32.const {quick}))))",
            f"(if (local.tee $flags (i32.load offset=20 (i32.const {quick}))) (then {' '.join(written)}))",
            "(br $found))",
            *super()._find(way, kept),
            f"(call $remember (i32.const {kept}) (i32.const {quick}) (i32.const {log}) (i64.const 0)))",
        ]


QUICK_BYTES = 24
REMEMBER = """(func $remember (param $kept i32) (param $quick i32) (param $log i32) (param $further i64)
 (local $places i64)
 (i64.store (local.get $quick) (i64.load (local.get $kept)))
 (i64.store offset=8 (local.get $quick) (i64.const 0))
 (if (i64.eqz (i64.load offset=8 (local.get $kept))) (then (return)))
 (local.set $places (i64.sub (i64.shr_u
  (i64.add (i64.load offset=8 (local.get $kept))
   (i64.sub (i64.shl (i64.const 1) (i64.extend_i32_u (local.get $log))) (i64.const 1)))
  (i64.extend_i32_u (local.get $log))) (local.get $further)))
 (if (i64.le_s (local.get $places) (i64.const 0)) (then (return)))
 (i64.store offset=8 (local.get $quick) (local.get $places))
 (i32.store offset=16 (local.get $quick)
  (i32.sub (i32.load offset=16 (local.get $kept)) (i32.wrap_i64 (i64.load (local.get $kept)))))
 (i32.store offset=20 (local.get $quick) (if (result i32) (i32.load offset=20 (local.get $kept))
  (then (i32.sub (i32.load offset=20 (local.get $kept)) (i32.load offset=16 (local.get $kept))))
  (else (i32.const 0)))))"""
"""The array that an access went to last: its address, how many places it has of this width (less those that a
group goes beyond its lowest), what makes linear memory's address of an address, and of that its flags'."""


def flags_of(width: int) -> list[tuple[str, str, int, str]]:
    """(WebAssembly type, narrower bits, offset, all of them written) for each piece of an access's flags."""
    pieces = []
    for offset in range(0, width, 8):
        size = min(width - offset, 8)
        kind = "i64" if size == 8 else "i32"
        ones = f"({kind}.const {int.from_bytes(bytes([1]) * size, 'little')})"
        pieces.append((kind, "" if size >= 4 else f"{8 * size}", offset, ones))
    return pieces


@dataclass
class AccessGroup:
    """Loads, or stores, of a node from one register on, which are looked up together: of one width and space."""

    members: list[Transfer] = field(default_factory=list)
    number: int = 0
    quick: int = 0

    @property
    def lowest(self) -> int:
        """The least offset from the register."""
        return min(member.address.offset for member in self.members)

    @property
    def places(self) -> int:
        """How many places of its width the farthest member lies beyond the lowest."""
        highest = max(member.address.offset for member in self.members)
        return (highest - self.lowest) // self.members[0].spec.width


FARTHEST = 1 << 16
"""Bytes between members of a group."""


def _groups_of(instructions: Sequence[Instruction], space_of: Callable[[str], str]) -> dict[int, AccessGroup]:
    """The group of each load and store that has one, by the instruction's identity."""
    groups: dict[tuple[object, ...], AccessGroup] = {}
    versions: dict[int, int] = {}
    by_instruction: dict[int, AccessGroup] = {}
    for instruction in instructions:
        if instruction.opcode in ("ld", "ldu", "st") and instruction.guard is None:
            transfer = transfer_of(instruction, space_of)
            base, width = transfer.address.base, transfer.spec.width
            if transfer.space in ("global", "shared") and isinstance(base, Register):
                at = (base.index, versions.get(base.index, 0))
                offset = transfer.address.offset
                key = (transfer.space, transfer.spec.op, width, at, offset % width, offset // FARTHEST)
                group = by_instruction[id(instruction)] = groups.setdefault(key, AccessGroup())
                group.members.append(transfer)
        for register in destinations(instruction):
            versions[register.index] = versions.get(register.index, 0) + 1
    return {number: group for number, group in by_instruction.items() if len(group.members) > 1}


_ORDERS_AND_SCOPES = frozenset(
    {"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "global", "shared", "shared::cta"}
)
_WHOLE_NUMBERS = ("u32", "s32", "b32", "u64", "s64", "b64")
_UPDATES = {
    **dict.fromkeys(("min", "max", "and", "or", "xor", "exch", "cas"), _WHOLE_NUMBERS),
    "add": (*_WHOLE_NUMBERS, "f32", "f64"),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
}


def update_of(instruction: Instruction) -> tuple[str, str, str] | None:
    """(space, operation, type) of an atomic update that generated code does."""
    modifiers = instruction.modifiers
    rest = [modifier for modifier in modifiers if modifier not in _ORDERS_AND_SCOPES]
    space = (
        "shared" if "shared" in modifiers or "shared::cta" in modifiers else "global" if "global" in modifiers else ""
    )
    if not space or len(rest) != 2 or rest[1] not in _UPDATES.get(rest[0], ()):
        return None
    return space, rest[0], rest[1]


def _updated(operation: str, name: str, old: str, operand: str, others: Sequence[str]) -> str:
    """What an atomic update leaves; others: what a comparison with the operand puts there."""
    kind, _, signed = TYPES[name]
    if operation in ("min", "max"):
        compare = f"{kind}.{'lt' if operation == 'min' else 'gt'}_{'s' if signed else 'u'}"
        return f"(select {old} {operand} ({compare} {old} {operand}))"
    if operation == "exch":
        return operand
    if operation == "cas":
        return f"(select {others[0]} {old} ({kind}.eq {old} {operand}))"
    if operation == "inc":
        return f"(select (i32.const 0) (i32.add {old} (i32.const 1)) (i32.ge_u {old} {operand}))"
    if operation == "dec":
        wraps = f"(i32.or (i32.eqz {old}) (i32.gt_u {old} {operand}))"
        return f"(select {operand} (i32.sub {old} (i32.const 1)) {wraps})"
    if name == "f64":
        return f"(call $add64 {old} {operand})"
    return f"({kind}.{operation} {old} {operand})"


def copied_bytes(instruction: Instruction) -> int | None:
    """Bytes that a `cp.async` copies, 0 where it closes a group or waits; None where it is another one."""
    modifiers, operands = instruction.modifiers, instruction.operands
    if modifiers[:1] != ("async",) or instruction.guard is not None:
        return None
    if modifiers[1:] in (("commit_group",), ("wait_group",), ("wait_all",)):
        return 0
    if modifiers[1] not in ("ca", "cg") or modifiers[2] not in ("shared", "shared::cta") or modifiers[3] != "global":
        return None
    if len(operands) != 3 or not all(hint in ("L2::64B", "L2::128B", "L2::256B") for hint in modifiers[4:]):
        return None
    size = operands[2].value if isinstance(operands[2], Immediate) else 0
    return size if size in (4, 8, 16) else None


def loose_registers(code: Code) -> set[int]:
    """float32 registers that hold nothing but numbers and results of arithmetic.

    Which NaN such a result is matters where its bits are looked at, and need not be settled before.
    """
    loose = {register.index for register in code.function.registers if register.type == "f32"}
    loose -= set(code.live_in[0])
    changed = True
    while changed:
        changed = False
        for block in code.blocks:
            for instruction in block.instructions:
                if is_arithmetic(instruction):
                    continue
                source = instruction.operands[-1] if instruction.opcode == "mov" else None
                if isinstance(source, Immediate) and source.value & 0x7FFFFFFF <= 0x7F800000:
                    continue
                if isinstance(source, Register) and source.index in loose:
                    continue
                written = loose & {register.index for register in destinations(instruction)}
                loose -= written
                changed |= bool(written)
    return loose


_IN_VECTOR = re.compile(r"\(f32x4\.splat \(f32x4\.extract_lane 0 (\(local\.get \$r\d+\))\)\)")
_READ = r"\(f32x4\.extract_lane 0 (\(local\.get \$r\d+\))\)"
_SIMPLE = re.compile(rf"\(f32\.(add|sub|mul) {_READ} {_READ}\)")


def vector_registers(code: Code) -> frozenset[int]:
    """float32 registers that are kept in the first part of a vector, which WebAssembly has fused products of alone."""
    if not any(i.opcode in ("fma", "mad") and i.modifiers[-1] == "f32" for b in code.blocks for i in b.instructions):
        return frozenset()
    return frozenset(register.index for register in code.function.registers if register.type == "f32")


def in_vector(expression: str) -> str:
    """A float32 number as the first part of a vector; what is in the others does not matter."""
    expression = _IN_VECTOR.sub(r"\1", expression)
    if expression.startswith("(f32x4.extract_lane 0 (f32x4.relaxed_madd "):
        return expression.removeprefix("(f32x4.extract_lane 0 ")[:-1]
    if expression.startswith("(f32.load "):
        return expression.replace("(f32.load ", "(v128.load32_zero ", 1)
    simple = _SIMPLE.fullmatch(expression)
    return f"(f32x4.{simple[1]} {simple[2]} {simple[3]})" if simple else f"(f32x4.splat {expression})"
