"""Products of matrices by a warp as WebAssembly: fragments loaded and stored by each thread, multiplied where all meet.

Products are added in float64 in the order of k and rounded once, as `isa/warp.py` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grader.ptx.frontend.nodes import Address, Instruction, Operand, Register, Vector
from grader.ptx.isa import warp
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering.warps import Words
from grader.ptx.native.layout import KEPT_BYTES, Unfit, Way, converted
from grader.ptx.native.pieces import FRAME_BYTES, Kernel
from grader.ptx.native.thread_bodies import Body
from grader.ptx.values import Array

_KINDS = ("f16", "bf16", "tf32", "f32", "s8", "u8", "s32")
_LOADS = {1: "8_u", 2: "16_u", 4: ""}


def is_product(instruction: Instruction) -> bool:
    """Whether all threads of a warp multiply, or bring matrices together."""
    opcode = instruction.opcode
    return opcode in ("mma", "ldmatrix") or (opcode == "wmma" and "mma" in instruction.modifiers)


def is_of_fragments(instruction: Instruction) -> bool:
    return instruction.opcode in ("mma", "ldmatrix", "wmma")


def _linear(table: Array, lane: str) -> tuple[str, list[int]]:
    """(n-independent part of (32, n) numbers as an expression of a lane, what each of n adds).  Raises Unfit."""
    first = table[0].astype(int)
    weights = [int(table[1 << bit, 0] - table[0, 0]) for bit in range(5)]
    lanes = np.arange(32)
    base: Array = np.sum([(lanes >> bit & 1) * weight for bit, weight in enumerate(weights)], axis=0)
    if not np.array_equal(table, base[:, None] + first):
        raise Unfit("fragments that lie otherwise")
    terms = [
        f"(i32.mul (i32.and (i32.shr_u (local.get {lane}) (i32.const {bit})) (i32.const 1)) (i32.const {weight}))"
        for bit, weight in enumerate(weights)
        if weight
    ]
    expression = terms[0] if terms else "(i32.const 0)"
    for term in terms[1:]:
        expression = f"(i32.add {expression} {term})"
    return expression, first.tolist()


def _registers(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


class FragmentBody(Body):
    """Writes the instructions of one thread, its part of loading and storing fragments among them."""

    def _write_instruction(self, instruction: Instruction) -> None:
        if instruction.opcode == "wmma":
            self._move_fragment(instruction)
        else:
            super()._write_instruction(instruction)

    def _move_fragment(self, instruction: Instruction) -> None:
        words = _words(instruction)
        op, which = (*words.rest, "", "")[:2]
        if len(words.rest) != 2 or (op, which) not in {*(("load", of) for of in "abc"), ("store", "d")}:
            raise Unfit(instruction.text)
        target, where, *stride = instruction.operands
        if op == "store":
            target, where = where, target
        if len(words.orders) != 1 or len(words.kinds) != 1 or not isinstance(where, Address) or where.base is None:
            raise Unfit(instruction.text)
        fragment = warp.wmma_fragment(which, *words.size, words.kinds[0])
        registers = _registers(target)
        if fragment is None or fragment.kind not in _KINDS or len(registers) != fragment.registers:
            raise Unfit(instruction.text)
        by_rows = words.orders[0] == "row"
        major, minor = (fragment.row, fragment.column) if by_rows else (fragment.column, fragment.row)
        size = fragment.element_bytes
        step = f"(i32.const {fragment.columns if by_rows else fragment.rows})"
        if stride:
            step = converted(*self._raw(stride[0], 32), "i32")
        expression, have = self._raw(where.base, 64)
        base = f"(i64.add {converted(expression, have, 'i64')} (i64.const {where.offset}))"
        lane, _ = self._raw_lane()
        rows, downs = _linear(major, "$ui")
        columns, rights = _linear(minor, "$ui")
        # $tl: where this thread's first element would lie; $ul: bytes from one row to the next.
        self._lines += [
            f"(local.set $ui {lane})",
            f"(local.set $ul (i64.mul (i64.extend_i32_u {step}) (i64.const {size})))",
            f"(local.set $tl (i64.add {base} (i64.add (i64.mul (i64.extend_i32_u {rows}) (local.get $ul))"
            f" (i64.extend_i32_u (i32.mul {columns} (i32.const {size}))))))",
        ]
        per_register = fragment.register_bytes // size
        space = words.spaces[0] if words.spaces else "generic"
        if size < 4:
            self.out.narrow = True
        for number in range(fragment.own):
            down, right = downs[number], rights[number] * size
            at = f"(i64.add (local.get $tl) (i64.const {right}))"
            if down:
                at = f"(i64.add {at} (i64.mul (local.get $ul) (i64.const {down})))"
            self._lines.append(f"(local.set $a {at})")
            self._lines += self._found(space, op, size)
            register, part = registers[number // per_register], number % per_register
            if op == "load":
                load = f"(i32.load{_LOADS[size]} (local.get $p))"
                kept = "(local.get $ti)"
                self._lines.append(
                    f"(local.set $ti {load})"
                    if not part
                    else f"(local.set $ti (i32.or {kept} (i32.shl {load} (i32.const {8 * size * part}))))"
                )
                if part == per_register - 1:
                    for other in range(number // per_register, fragment.registers, fragment.own // per_register):
                        copy = registers[other]
                        if isinstance(copy, Register):
                            self._write(copy, kept, "b32")
                continue
            bits = self._read(register, "b32")
            if part:
                bits = f"(i32.shr_u {bits} (i32.const {8 * size * part}))"
            self._lines.append(f"(i32.store{_LOADS[size][:-2]} (local.get $p) {bits})")

    def _raw_lane(self) -> tuple[str, str]:
        return "(i32.and (local.get $lane) (i32.const 31))", "i32"

    def _found(self, space: str, op: str, size: int) -> list[str]:
        """Set `$p` to where the element at the address `$a` lies."""
        if space == "generic":
            copied = " (i32.const 0)" if op == "load" else ""
            arguments = f"(local.get $a) (i32.const {size}) (local.get $l){copied} (local.get $lane)"
            return [f"(local.set $p (call $generic_{op} {arguments}))"]
        way = Way(space, op, size)
        self.out.ways.add(way)
        return self._find(way, self.static.take(KEPT_BYTES))


def _words(instruction: Instruction) -> Words:
    try:
        return Words(instruction)
    except UnsupportedInstruction:
        raise Unfit(instruction.text) from None


Each = Callable[..., str]


class Products:
    """Writes what warps do with matrices where they meet; threads' frames are `$f` and those that follow."""

    def __init__(self, kernel: Kernel, each: Each, value: Callable[[str], str]) -> None:
        self._kernel, self._each, self._value = kernel, each, value
        self._regions: dict[tuple[str, int], int] = {}
        self.functions: dict[str, str] = {}

    def _region(self, which: str, fragment: warp.Fragment) -> int:
        size = 8 * fragment.rows * fragment.columns
        if (which, size) not in self._regions:
            self._regions[which, size] = self._kernel.static.take(size)
        return self._regions[which, size]

    def text(self, instruction: Instruction) -> str:
        """What a whole warp does at a product.  Raises Unfit."""
        shape = self._shape(instruction)
        target, *sources = (_registers(operand) for operand in instruction.operands)
        fragments = (shape.a, shape.b, shape.c)
        for registers, fragment in zip((target, *sources), (shape.d, *fragments), strict=True):
            if len(registers) != fragment.registers or fragment.kind not in _KINDS:
                raise Unfit(instruction.text)
        regions = [self._region(which, fragment) for which, fragment in zip("abc", fragments, strict=True)]
        gather = [
            line
            for registers, fragment, region in zip(sources, fragments, regions, strict=True)
            for line in self._gathered(registers, fragment, region)
        ]
        name = self._multiplication(shape, regions)
        return f"""{self._each("$same", *gather)}
    (call {name})
    {self._each("$same", *self._spread(target, shape.d, regions[2]))}"""

    def _shape(self, instruction: Instruction) -> warp.Shape:
        words = _words(instruction)
        kinds = words.kinds
        if instruction.opcode == "mma":
            if words.rest or words.orders != ["row", "col"] or len(kinds) != 4:
                raise Unfit(instruction.text)
            d, a, b, c = kinds
            shape = warp.sync_shape(*words.size, a, b, c, d)
            if shape is None:
                raise Unfit(instruction.text)
        else:
            if words.rest != ["mma"] or len(words.orders) != 2 or len(kinds) not in (2, 4):
                raise Unfit(instruction.text)
            a, b = (kinds[1], kinds[2]) if len(kinds) == 4 else ("f16", "f16")
            named = (("a", a), ("b", b), ("c", kinds[-1]), ("d", kinds[0]))
            parts = [warp.wmma_fragment(which, *words.size, kind) for which, kind in named]
            present = [part for part in parts if part is not None]
            if len(present) != 4:
                raise Unfit(instruction.text)
            shape = warp.Shape(*present)
        factors, sums = {shape.a.kind, shape.b.kind}, {shape.c.kind, shape.d.kind}
        fits = sums == {"s32"} if factors <= {"s8", "u8"} else len(factors) == 1 and sums <= {"f16", "f32"}
        if not fits:
            raise Unfit(instruction.text)
        return shape

    def _placed(self, fragment: warp.Fragment, region: int) -> tuple[str, list[int]]:
        base, further = _linear(8 * (fragment.row * fragment.columns + fragment.column), "$k")
        return f"(local.set $b (i32.add (i32.const {region}) {base}))", further

    def _gathered(self, registers: Sequence[Operand], fragment: warp.Fragment, region: int) -> list[str]:
        begin, further = self._placed(fragment, region)
        per_register = fragment.register_bytes // fragment.element_bytes
        lines = [begin]
        for number in range(fragment.own):
            register, part = registers[number // per_register], number % per_register
            if not isinstance(register, Register):
                raise Unfit(str(register))
            slot = self._kernel.slot(register.index)
            half = f"(i32.load16_u offset={slot + 2 * part} (local.get $g))"
            word = f"(i32.load offset={slot} (local.get $g))"
            value = {
                "f16": f"(f64.promote_f32 (call $f16_wide {half}))",
                "bf16": f"(f64.promote_f32 (call $bf16_wide {half}))",
                "tf32": f"(f64.promote_f32 (f32.reinterpret_i32 (i32.and {word} (i32.const 0xFFFFE000))))",
                "f32": f"(f64.promote_f32 (f32.reinterpret_i32 {word}))",
                # Sums of integers are far from where float64 has no room for them.
                "s8": f"(f64.convert_i32_s (i32.load8_s offset={slot + part} (local.get $g)))",
                "u8": f"(f64.convert_i32_s (i32.load8_u offset={slot + part} (local.get $g)))",
                "s32": f"(f64.convert_i32_s {word})",
            }[fragment.kind]
            lines.append(f"(f64.store offset={further[number]} (local.get $b) {value})")
        return lines

    def _spread(self, registers: Sequence[Operand], fragment: warp.Fragment, region: int) -> list[str]:
        begin, further = self._placed(fragment, region)
        per_register = fragment.register_bytes // fragment.element_bytes
        lines = [begin]
        for number, register in enumerate(registers):
            if not isinstance(register, Register):
                continue
            slot = self._kernel.slot(register.index)
            for part in range(per_register):
                own = (number * per_register + part) % fragment.own
                value = f"(f64.load offset={further[own]} (local.get $b))"
                if fragment.kind == "f16":
                    lines.append(f"(i32.store16 offset={slot + 2 * part} (local.get $g) (call $to_f16 {value}))")
                elif fragment.kind == "s32":
                    bits = f"(i32.wrap_i64 (i64.trunc_sat_f64_s {value}))"
                    lines.append(f"(i32.store offset={slot} (local.get $g) {bits})")
                else:
                    lines.append(f"(f32.store offset={slot} (local.get $g) (call $c32 (f32.demote_f64 {value})))")
        return lines

    def _multiplication(self, shape: warp.Shape, regions: Sequence[int]) -> str:
        """Name the function that adds a product to the sums."""
        left, right, sums = regions
        rows, columns, depth = shape.a.rows, shape.b.columns, shape.a.columns
        name = f"$product_{rows}_{columns}_{depth}_{left}_{right}_{sums}"
        pairs = range(columns // 2)
        locals_ = " ".join(f"(local $s{j} v128)" for j in pairs)
        begin = " ".join(f"(local.set $s{j} (v128.load offset={sums + 16 * j} (local.get $c)))" for j in pairs)
        steps = []
        for k in range(depth):
            steps.append(f"(local.set $x (v128.load64_splat offset={left + 8 * k} (local.get $r)))")
            for j in pairs:
                other = f"(v128.load offset={right + 8 * columns * k + 16 * j} (i32.const 0))"
                steps.append(f"(local.set $s{j} (f64x2.add (local.get $s{j}) (f64x2.mul (local.get $x) {other})))")
        end = " ".join(f"(v128.store offset={sums + 16 * j} (local.get $c) (local.get $s{j}))" for j in pairs)
        self.functions[name] = f"""(func {name} (local $i i32) (local $r i32) (local $c i32) (local $x v128) {locals_}
 (loop $rows
  {begin}
  {" ".join(steps)}
  {end}
  (local.set $r (i32.add (local.get $r) (i32.const {8 * depth})))
  (local.set $c (i32.add (local.get $c) (i32.const {8 * columns})))
  (br_if $rows (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const {rows})))))"""
        return name

    def matrices(self, instruction: Instruction) -> str:
        """What a whole warp does at an `ldmatrix`: lanes' addresses stand in what each has brought.  Raises Unfit."""
        words = [m for m in instruction.modifiers if m not in ("shared", "shared::cta")]
        what = sorted(words[2:-1])
        transposed = "trans" in what
        count = next((n for n in (1, 2, 4) if what == sorted(["m8n8", f"x{n}", *["trans"] * transposed])), 0)
        targets = _registers(instruction.operands[0])
        is_shared = len(words) < len(instruction.modifiers)
        if not count or not is_shared or [*words[:2], words[-1]] != ["sync", "aligned", "b16"] or len(targets) != count:
            raise Unfit(instruction.text)
        way = Way("shared", "load", 16)
        self._kernel.out.ways.add(way)
        kept = self._kernel.static.take(KEPT_BYTES)
        lines = []
        for number, target in enumerate(targets):
            if not isinstance(target, Register):
                continue
            slot = self._kernel.slot(target.index)
            puts = []
            for place in range(8 if transposed else 4):
                if transposed:
                    # Element `place` of row $j goes to lane 4 · place + $j / 2, to the half $j % 2.
                    lane = f"(i32.add (i32.const {4 * place}) (i32.shr_u (local.get $j) (i32.const 1)))"
                    half = "(i32.shl (i32.and (local.get $j) (i32.const 1)) (i32.const 1))"
                    to = f"(i32.add {_frame_of(lane)} {half})"
                    puts.append(f"(i32.store16 offset={slot} {to} (i32.load16_u offset={2 * place} (local.get $b)))")
                else:
                    lane = f"(i32.add (i32.shl (local.get $j) (i32.const 2)) (i32.const {place}))"
                    puts.append(
                        f"(i32.store offset={slot} {_frame_of(lane)} (i32.load offset={4 * place} (local.get $b)))"
                    )
            lines.append(f"""(local.set $j (i32.const 0))
    (loop $rows{number}
     (local.set $k (i32.add (local.get $j) (i32.const {8 * number})))
     (local.set $b (call {way.name} (i64.load {self._value("$k")}) (i32.const {kept}) (local.get $l)))
     {" ".join(puts)}
     (br_if $rows{number} (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 8))))""")
        return "\n".join(lines)


def _frame_of(lane: str) -> str:
    return f"(i32.add (local.get $f) (i32.mul {lane} (i32.const {FRAME_BYTES})))"
