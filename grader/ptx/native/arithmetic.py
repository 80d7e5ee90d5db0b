"""Arithmetic as WebAssembly expressions: what `isa/` computes, to the bit.

Instructions that are not here are computed by `isa/` itself, called from generated code (see `host.call_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.ptx.frontend.nodes import Immediate, Instruction, Operand
from grader.ptx.native.conversions import HALVES, Read, Result, canonical, convert, in_half
from grader.ptx.native.layout import TYPES

_BINARY = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}
_INTEGER_COMPARE = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_ORDERED = {"eq", "lt", "le", "gt", "ge"}
_OPPOSITE = {"ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


def _passing_on(result: str, otherwise: str) -> str:
    """Return a float64 result, or `otherwise`, which determines the NaN."""
    number = "(f64.eq (local.tee $td " + result + ") (local.get $td))"
    return f"(if (result f64) {number} (then (local.get $td)) (else {otherwise}))"


def express(instruction: Instruction, read: Read) -> list[Result] | None:
    """The values of an instruction's destinations; None where it is left to `isa/`."""
    maker = _MAKERS.get(instruction.opcode)
    if maker is None or not instruction.modifiers:
        return None
    parts = (instruction, instruction.modifiers, instruction.operands[1:], read)
    results = maker(*parts)
    if results is None:
        results = in_half(*parts)
    if results is None:
        return None
    return results if isinstance(results, list) else [results]


def _add(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    kind, bits, _ = TYPES.get(name, ("", 0, False))
    if kind in ("f32", "f64"):
        if kind == "f32" and tuple(m[:-1]) in _DIRECTED:
            a, b = read(o[0], name), read(o[1], name)
            if i.opcode == "mul":
                # What a zero of the product's sign is added to keeps its sign.
                left, right = f"(local.tee $tf {a})", f"(local.tee $uf {b})"
                zero = "(f32.copysign (f32.const 0) (f32.mul (local.get $tf) (local.get $uf)))"
                return _directed(m[0], left, right, zero), name
            return _directed(m[0], a, "(f32.const 1)", b if i.opcode == "add" else f"(f32.neg {b})"), name
        if any(x != "rn" for x in m[:-1]):
            return None
        if kind == "f64":
            operands = f"{read(o[0], name)} {read(o[1], name)}"
            return _passing_on(f"(f64.{i.opcode} {operands})", f"(call ${i.opcode}64 {operands})"), name
        return canonical(f"(f32.{i.opcode} {read(o[0], name)} {read(o[1], name)})"), name
    if len(m) != 1 or bits < 16:
        return None
    return f"({kind}.{i.opcode} {read(o[0], name)} {read(o[1], name)})", name


def _mul(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    kind, bits, signed = TYPES.get(name, ("", 0, False))
    if kind in ("f32", "f64"):
        return _add(i, m, o, read)
    if len(m) != 2 or bits < 16:
        return None
    a, b = read(o[0], name), read(o[1], name)
    if m[0] == "lo":
        return f"({kind}.mul {a} {b})", name
    if m[0] == "wide" and bits == 16:
        return f"(i32.mul {a} {b})", ("s32" if signed else "u32")
    if bits == 64 and m[0] == "hi":
        return f"(call $high_{'s' if signed else 'u'}64 {a} {b})", name
    if bits != 32:
        return None
    s = "s" if signed else "u"
    product = f"(i64.mul (i64.extend_i32_{s} {a}) (i64.extend_i32_{s} {b}))"
    if m[0] == "wide":
        return product, f"{s}64"
    if m[0] == "hi":
        return f"(i32.wrap_i64 (i64.shr_u {product} (i64.const 32)))", name
    return None


def _mad(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    if m[-1] in ("f32", "f64"):
        return _fma(i, m, o, read)
    product = _mul(i, m, o, read)
    if product is None:
        return None
    expression, name = product
    return f"({TYPES[name][0]}.add {expression} {read(o[2], name)})", name


def _fma(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    if name == "f32" and tuple(m[:-1]) in _DIRECTED:
        return _directed(m[0], *(read(x, name) for x in o)), name
    if tuple(m[:-1]) != ("rn",) or name not in ("f32", "f64"):
        return None
    if name == "f64":
        values = [read(x, name) for x in o]
        operands = " ".join(f"(f64x2.splat {value})" for value in values)
        fused = f"(f64x2.extract_lane 0 (f64x2.relaxed_madd {operands}))"
        return _passing_on(fused, f"(call $fma64 {' '.join(values)})"), name
    operands = " ".join(f"(f32x4.splat {read(x, name)})" for x in o)
    return canonical(f"(f32x4.extract_lane 0 (f32x4.relaxed_madd {operands}))"), name


_DIRECTED = {("rm",): 0, ("rp",): 1, ("rz",): 2}


def _directed(rounding: str, a: str, b: str, c: str) -> str:
    """A product and sum of float32 rounded down, up or towards zero."""
    return f"(call $fma32_directed {a} {b} {c} (i32.const {_DIRECTED[(rounding,)]}))"


def _div(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    kind, bits, signed = TYPES.get(name, ("", 0, False))
    if kind == "f32" and i.opcode == "div" and len(m) == 2 and m[0] in ("rn", "full"):
        return canonical(f"(f32.div {read(o[0], name)} {read(o[1], name)})"), name
    if kind == "f32" and i.opcode == "div" and tuple(m[:-1]) == ("approx",):
        return f"(call $divided_approximately {read(o[0], name)} {read(o[1], name)})", name
    if kind == "f64" and i.opcode == "div" and tuple(m[:-1]) == ("rn",):
        return f"(call $div64 {read(o[0], name)} {read(o[1], name)})", name
    if len(m) != 1 or bits < 32 or kind in ("f32", "f64"):
        return None
    sign = "s" if signed else "u"
    return f"(call ${i.opcode}_{sign}{bits} {read(o[0], name)} {read(o[1], name)})", name


def _root(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    if name == "f32" and len(m) == 2 and m[0] in ("rn", "approx"):
        return canonical(f"(f32.sqrt {read(o[0], name)})"), name
    if name == "f64" and tuple(m[:-1]) == ("rn",):
        return f"(call $sqrt64 {read(o[0], name)})", name
    return None


def _reciprocal(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    if tuple(m) == ("approx", "ftz", "f32"):
        flushing = _reciprocal(i, ("approx", "f32"), o, lambda operand, name: f"(call $flushed {read(operand, name)})")
        return None if flushing is None else (f"(call $flushed {flushing[0]})", "f32")
    if len(m) != 2 or m[1] != "f32":
        return None
    if i.opcode == "rcp" and m[0] in ("rn", "approx"):
        return canonical(f"(f32.div (f32.const 1) {read(o[0], 'f32')})"), "f32"
    if i.opcode == "rsqrt" and m[0] == "approx":
        root = f"(f64.sqrt (f64.promote_f32 {read(o[0], 'f32')}))"
        return canonical(f"(f32.demote_f64 (f64.div (f64.const 1) {root}))"), "f32"
    return None


def _approximate(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    if tuple(m) not in (("approx", "f32"), ("approx", "ftz", "f32")):
        return None
    value = read(o[0], "f32")
    if len(m) == 3:
        value = f"(call $flushed {value})"
    number = {"sin": " (i32.const 2)", "cos": " (i32.const 3)"}.get(i.opcode, "")
    result = f"(call ${'circular' if number else i.opcode} {value}{number})"
    return (f"(call $flushed {result})" if len(m) == 3 else result), "f32"


def _logic(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    if len(m) != 1 or name not in TYPES or name.startswith("f"):
        return None
    kind = TYPES[name][0]
    if i.opcode == "not":
        if name == "pred":
            return f"(i32.eqz {read(o[0], name)})", name
        return f"({kind}.xor {read(o[0], name)} ({kind}.const -1))", name
    return f"({kind}.{i.opcode} {read(o[0], name)} {read(o[1], name)})", name


def _shift(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    kind, bits, signed = TYPES.get(name, ("", 0, False))
    if len(m) != 1 or bits < 16 or name.startswith("f"):
        return None
    value, amount = read(o[0], name), f"(local.tee $ti {read(o[1], 'u32')})"
    wide = amount if kind == "i32" else f"(i64.extend_i32_u {amount})"
    small = f"(i32.lt_u (local.get $ti) (i32.const {bits}))"
    if i.opcode == "shl":
        return f"(select ({kind}.shl {value} {wide}) ({kind}.const 0) {small})", name
    if signed:
        last = f"(select {amount} (i32.const {bits - 1}) (i32.lt_u (local.get $ti) (i32.const {bits})))"
        last = last if kind == "i32" else f"(i64.extend_i32_u {last})"
        return f"({kind}.shr_s {value} {last})", name
    return f"(select ({kind}.shr_u {value} {wide}) ({kind}.const 0) {small})", name


def _extremum(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    kind, bits, signed = TYPES.get(name, ("", 0, False))
    if len(m) != 1 or bits < 16:
        return None
    a, b = read(o[0], name), read(o[1], name)
    if kind in ("f32", "f64"):
        return f"(call ${i.opcode}{bits} {a} {b})", name
    letter = "i" if kind == "i32" else "l"
    compare = ("lt" if i.opcode == "min" else "gt") + ("_s" if signed else "_u")
    left, right = f"(local.tee $t{letter} {a})", f"(local.tee $u{letter} {b})"
    return f"(select {left} {right} ({kind}.{compare} (local.get $t{letter}) (local.get $u{letter})))", name


def _sign(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    kind, bits, signed = TYPES.get(name, ("", 0, False))
    if len(m) != 1:
        return None
    a = read(o[0], name) if name in TYPES else ""
    if kind == "f32":
        return canonical(f"(f32.{i.opcode} {a})"), name
    if kind == "f64":
        return f"(call $nan64 (f64.{i.opcode} (local.tee $td {a})) (local.get $td) (local.get $td))", name
    if bits < 16 or not signed:
        return None
    if i.opcode == "neg":
        return f"({kind}.sub ({kind}.const 0) {a})", name
    letter = "i" if kind == "i32" else "l"
    tee, get = f"(local.tee $t{letter} {a})", f"(local.get $t{letter})"
    return f"(select ({kind}.sub ({kind}.const 0) {tee}) {get} ({kind}.lt_s {get} ({kind}.const 0)))", name


def _compare(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> list[Result] | None:
    name, relation = m[-1], m[0]
    kind, bits, signed = TYPES.get(name, ("", 0, False))
    combination = m[1] if len(m) == 3 else ""
    is_half = name in HALVES
    if len(m) not in (2, 3) or (bits < 16 and not is_half) or combination not in ("", "and", "or", "xor"):
        return None
    if is_half:
        kind = "f32"
        a, b = (f"(call ${name}_wide {read(x, 'u16')})" for x in o[:2])
    else:
        a, b = read(o[0], name), read(o[1], name)
    if kind in ("f32", "f64"):
        holds = _float_holds(kind, relation, a, b)
        if holds is None:
            return None
    else:
        unsigned = relation in _INTEGER_COMPARE or not signed
        relation = _INTEGER_COMPARE.get(relation, relation)
        if relation not in ("eq", "ne", "lt", "le", "gt", "ge"):
            return None
        suffix = "" if relation in ("eq", "ne") else "_u" if unsigned else "_s"
        holds = f"({kind}.{relation}{suffix} {a} {b})"
    if not combination:
        return [(holds, "pred"), (f"(i32.eqz {holds})", "pred")]
    third = read(o[2], "pred")
    return [(f"(i32.{combination} {p} {third})", "pred") for p in (holds, f"(i32.eqz {holds})")]


def _float_holds(kind: str, relation: str, a: str, b: str) -> str | None:
    if relation in _ORDERED:
        return f"({kind}.{relation} {a} {b})"
    if relation == "neu":
        return f"({kind}.ne {a} {b})"
    if relation in _OPPOSITE:
        return f"(i32.eqz ({kind}.{_OPPOSITE[relation]} {a} {b}))"
    t, u = ("$tf", "$uf") if kind == "f32" else ("$td", "$ud")
    left, right = f"(local.tee {t} {a})", f"(local.tee {u} {b})"
    less, more = f"({kind}.lt {left} {right})", f"({kind}.gt (local.get {t}) (local.get {u}))"
    if relation == "ne":
        return f"(i32.or {less} {more})"
    if relation == "equ":
        return f"(i32.eqz (i32.or {less} {more}))"
    self_left = f"({kind}.eq {left} (local.get {t}))"
    self_right = f"({kind}.eq {right} (local.get {u}))"
    if relation == "num":
        return f"(i32.and {self_left} {self_right})"
    if relation == "nan":
        return f"(i32.eqz (i32.and {self_left} {self_right}))"
    return None


def _select(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    if len(m) != 1 or name not in TYPES or TYPES[name][1] < 16:
        return None
    return f"(select {read(o[0], name)} {read(o[1], name)} {read(o[2], 'pred')})", name


def _funnel(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    if len(m) != 3 or m[2] != "b32":
        return None
    low, high, amount = (read(operand, "u32") for operand in o)
    both = f"(i64.or (i64.shl (i64.extend_i32_u {high}) (i64.const 32)) (i64.extend_i32_u {low}))"
    if m[1] == "wrap":
        by = f"(i64.extend_i32_u (i32.and {amount} (i32.const 31)))"
    else:
        by = f"(i64.extend_i32_u (select {amount} (i32.const 32) (i32.lt_u {amount} (i32.const 32))))"
    if m[0] == "l":
        return f"(i32.wrap_i64 (i64.shr_u (i64.shl {both} {by}) (i64.const 32)))", "b32"
    return f"(i32.wrap_i64 (i64.shr_u {both} {by}))", "b32"


def _number(operand: Operand, most: int) -> int | None:
    """Return the value of an immediate of at most `most`."""
    if not isinstance(operand, Immediate) or not 0 <= operand.value <= most:
        return None
    return operand.value


def _insert(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    if len(m) != 1 or name not in ("b32", "b64") or len(o) != 4:
        return None
    kind, bits, _ = TYPES[name]
    place, count = _number(o[2], bits - 1), _number(o[3], bits)
    if place is None or count is None:
        fields = f"{read(o[0], name)} {read(o[1], name)} {read(o[2], 'u32')} {read(o[3], 'u32')}"
        return f"(call $insert{bits} {fields})", name
    mask = ((1 << count) - 1) << place & ((1 << bits) - 1)
    moved = f"({kind}.and ({kind}.shl {read(o[0], name)} ({kind}.const {place})) ({kind}.const {mask}))"
    return f"({kind}.or {moved} ({kind}.and {read(o[1], name)} ({kind}.const {~mask & ((1 << bits) - 1)})))", name


def _extract(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    kind, bits, signed = TYPES.get(name, ("", 0, False))
    if len(m) != 1 or bits < 32 or kind.startswith("f") or len(o) != 3:
        return None
    place, count = _number(o[1], bits - 1), _number(o[2], bits)
    if place is None or not count or place + count > bits:
        fields = f"{read(o[0], name)} {read(o[1], 'u32')} {read(o[2], 'u32')} (i32.const {int(signed)})"
        return f"(call $extract{bits} {fields})", name
    up = f"({kind}.shl {read(o[0], name)} ({kind}.const {bits - place - count}))"
    return f"({kind}.shr_{'s' if signed else 'u'} {up} ({kind}.const {bits - count}))", name


def _find(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    kind, bits, signed = TYPES.get(m[-1], ("", 0, False))
    if bits < 32 or kind.startswith("f") or tuple(m[:-1]) not in ((), ("shiftamt",)):
        return None
    value = read(o[0], m[-1])
    if signed:
        letter = "i" if kind == "i32" else "l"
        sign = f"({kind}.shr_s (local.tee $t{letter} {value}) ({kind}.const {bits - 1}))"
        value = f"({kind}.xor {sign} (local.get $t{letter}))"
    zeros = f"({kind}.clz {value})"
    zeros = zeros if kind == "i32" else f"(i32.wrap_i64 {zeros})"
    if len(m) == 2:
        # All ones where there is none.
        none = f"(i32.eq (local.tee $ui {zeros}) (i32.const {bits}))"
        return f"(if (result i32) {none} (then (i32.const -1)) (else (local.get $ui)))", "u32"
    return f"(i32.sub (i32.const {bits - 1}) {zeros})", "u32"


def _reverse(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    return (f"(call $reversed {read(o[0], 'b32')})", "b32") if tuple(m) == ("b32",) else None


def _permute(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    if tuple(m) != ("b32",):
        return None
    return f"(call $permuted {read(o[0], 'b32')} {read(o[1], 'b32')} {read(o[2], 'u32')})", "b32"


def _logic_of_three(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    table = _number(o[3], 255) if len(o) == 4 and tuple(m) == ("b32",) else None
    if table is None:
        return None
    values = [read(operand, "b32") for operand in o[:3]]
    total = "(i32.const 0)"
    for row in range(8):
        if table >> row & 1:
            chosen = [v if row >> 2 - k & 1 else f"(i32.xor {v} (i32.const -1))" for k, v in enumerate(values)]
            total = f"(i32.or {total} (i32.and {chosen[0]} (i32.and {chosen[1]} {chosen[2]})))"
    return total, "b32"


def _copy_sign(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    if len(m) != 1 or name not in ("f32", "f64"):
        return None
    return f"({name}.copysign {read(o[1], name)} {read(o[0], name)})", name


def _count(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    name = m[-1]
    if len(m) != 1 or name not in ("b32", "b64"):
        return None
    kind = TYPES[name][0]
    counted = f"({kind}.{'popcnt' if i.opcode == 'popc' else 'clz'} {read(o[0], name)})"
    return (counted if kind == "i32" else f"(i32.wrap_i64 {counted})"), "u32"


_Maker = Callable[[Instruction, Sequence[str], Sequence[Operand], Read], Result | list[Result] | None]
_OPCODES: dict[_Maker, str] = {
    _add: "add sub",
    _mul: "mul",
    _mad: "mad",
    _fma: "fma",
    _div: "div rem",
    _root: "sqrt",
    _reciprocal: "rcp rsqrt",
    _approximate: "ex2 lg2 sin cos",
    _logic: "and or xor not",
    _shift: "shl shr",
    _extremum: "min max",
    _sign: "abs neg",
    _compare: "setp",
    _select: "selp",
    _funnel: "shf",
    _insert: "bfi",
    _extract: "bfe",
    _find: "bfind",
    _reverse: "brev",
    _permute: "prmt",
    _logic_of_three: "lop3",
    _copy_sign: "copysign",
    _count: "popc clz",
    convert: "cvt",
}
_MAKERS = {opcode: maker for maker, opcodes in _OPCODES.items() for opcode in opcodes.split()}


# Arithmetic on vectors of neighbouring threads' values, for loops that are carried out at once.

_FLOATS = ("f32", "f64")
_INTEGERS = [(f"{kind}{bits}", f"b{bits}") for kind in "sub" for bits in (32, 64)]
_ON_DATA: dict[tuple[str, ...], tuple[str, str]] = {
    **{(opcode, "rn", number): ("fma", number) for opcode in ("fma", "mad") for number in _FLOATS},
    **{(opcode, number): (opcode, number) for opcode in ("add", "sub", "mul") for number in _FLOATS},
    **{(opcode, "rn", number): (opcode, number) for opcode in ("add", "sub", "mul") for number in _FLOATS},
    **{(opcode, number): (opcode, kind) for opcode in ("add", "sub") for number, kind in _INTEGERS},
    **{(opcode, "lo", number): (opcode, kind) for opcode in ("mul", "mad") for number, kind in _INTEGERS},
}
_VECTORS = {"f32": "f32x4", "f64": "f64x2", "b32": "i32x4", "b64": "i64x2"}


def on_data(instruction: Instruction) -> tuple[str, str] | None:
    """(operation, kind of all its operands) of an instruction that `on_vectors` can do."""
    return _ON_DATA.get((instruction.opcode, *instruction.modifiers))


def on_vectors(operation: str, kind: str, operands: Sequence[str]) -> str:
    """Write an operation on expressions of vectors."""
    vector = _VECTORS[kind]
    if operation == "mad":
        return f"({vector}.add ({vector}.mul {operands[0]} {operands[1]}) {operands[2]})"
    return f"({vector}.{'relaxed_madd' if operation == 'fma' else operation} {' '.join(operands)})"


def canonical_vector(value: str) -> str:
    """float32 numbers with the NaN of GPUs; value: an expression without effects."""
    return f"(v128.bitselect (v128.const i32x4{' 0x7fffffff' * 4}) {value} (f32x4.ne {value} {value}))"
