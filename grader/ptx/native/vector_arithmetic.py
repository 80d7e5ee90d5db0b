"""Arithmetic of four threads at once: what `arithmetic.py` writes for one of them, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from grader.ptx.frontend.nodes import Immediate, Instruction, Operand, Register
from grader.ptx.native.layout import TYPES, local_type


class Operands(Protocol):
    """What gives operands as vectors."""

    def of_all(self, operand: Operand) -> str | None:
        """A vector of four numbers of four bytes, or masks; None where there is none."""

    def of_pairs(self, operand: Operand) -> tuple[str, str] | None:
        """Two vectors of two numbers of eight bytes each; None where there are none."""

    def note(self, line: str) -> None:
        """Write a line before what is returned."""


Values = list[str] | None
_Maker = Callable[[Sequence[str], Sequence[Operand], str, Operands], Values]


def vector_of(instruction: Instruction, operands: Operands) -> Values:
    """Expressions of an instruction's results: one, or two of two threads' numbers of eight bytes each.

    None where no vectors compute it.  The NaN of float32 that comes out may be any.
    """
    maker = _MAKERS.get(instruction.opcode)
    if maker is None or not instruction.modifiers:
        return None
    return maker(instruction.modifiers, instruction.operands[1:], instruction.opcode, operands)


def _all(operands: Sequence[Operand], of: Operands) -> list[str] | None:
    values = [of.of_all(operand) for operand in operands]
    return None if any(value is None for value in values) else [value for value in values if value is not None]


def _pairs(operands: Sequence[Operand], of: Operands) -> tuple[list[str], list[str]] | None:
    values = [of.of_pairs(operand) for operand in operands]
    if any(value is None for value in values):
        return None
    return [v[0] for v in values if v is not None], [v[1] for v in values if v is not None]


def _joined(shape: str, operation: str, values: Sequence[str] | None) -> Values:
    return None if values is None else [f"({shape}.{operation} {' '.join(values)})"]


def _each(shape: str, operation: str, values: tuple[list[str], list[str]] | None) -> Values:
    return None if values is None else [f"({shape}.{operation} {' '.join(half)})" for half in values]


def _is_32(name: str) -> bool:
    return TYPES.get(name, ("", 0, False))[:2] == ("i32", 32)


def _is_64(name: str) -> bool:
    return TYPES.get(name, ("", 0, False))[:2] == ("i64", 64)


def _sum(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name = m[-1]
    if name == "f32" and all(x == "rn" for x in m[:-1]):
        return _joined("f32x4", opcode, _all(o, of))
    if name == "f64" and all(x == "rn" for x in m[:-1]):
        return _of_double(opcode, o, of)
    if len(m) == 1 and _is_32(name):
        return _joined("i32x4", opcode, _all(o, of))
    return _each("i64x2", opcode, _pairs(o, of)) if len(m) == 1 and _is_64(name) else None


def _of_double(opcode: str, o: Sequence[Operand], of: Operands) -> Values:
    """float64 numbers; which NaN comes out, where one does, is settled thread by thread."""
    values = _pairs(o, of)
    if values is None:
        return None
    scalar, results = {"fma": "$fma64"}.get(opcode, f"${opcode}64"), []
    for half, parts in enumerate(values):
        result = f"$d{half}"
        operation = "relaxed_madd" if opcode == "fma" else opcode
        of.note(f"(local.set {result} (f64x2.{operation} {' '.join(parts)}))")
        lanes = [
            f"(local.set {result} (f64x2.replace_lane {lane} (local.get {result})"
            f" (call {scalar} {' '.join(f'(f64x2.extract_lane {lane} {part})' for part in parts)})))"
            for lane in range(2)
        ]
        number = f"(i64x2.all_true (f64x2.eq (local.get {result}) (local.get {result})))"
        if opcode == "fma":
            # Only where a NaN came out.
            lanes = [
                f"(if (f64.ne (f64x2.extract_lane {n} (local.get {result})) (f64x2.extract_lane {n}"
                f" (local.get {result}))) (then {line}))"
                for n, line in enumerate(lanes)
            ]
        of.note(f"(if (i32.eqz {number}) (then {' '.join(lanes)}))")
        results.append(f"(local.get {result})")
    return results


def _product(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name = m[-1]
    if name in ("f32", "f64"):
        return _sum(m, o, opcode, of)
    if tuple(m[:-1]) == ("lo",) and _is_32(name):
        return _joined("i32x4", "mul", _all(o, of))
    if tuple(m[:-1]) == ("lo",) and _is_64(name):
        return _each("i64x2", "mul", _pairs(o, of))
    if tuple(m[:-1]) != ("wide",) or not _is_32(name):
        return None
    values, sign = _all(o, of), "s" if TYPES[name][2] else "u"
    if values is None:
        return None
    return [f"(i64x2.extmul_{half}_i32x4_{sign} {' '.join(values)})" for half in ("low", "high")]


def _product_and_sum(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name = m[-1]
    if name in ("f32", "f64"):
        if tuple(m[:-1]) != ("rn",):
            return None
        return _joined("f32x4", "relaxed_madd", _all(o, of)) if name == "f32" else _of_double("fma", o, of)
    product = _product(m, o[:2], "mul", of)
    if product is None:
        return None
    if len(product) == 2:
        third = _pairs(o[2:], of)
        return None if third is None else [f"(i64x2.add {a} {b[0]})" for a, b in zip(product, third, strict=True)]
    addend = _all(o[2:], of)
    return None if addend is None else [f"(i32x4.add {product[0]} {addend[0]})"]


def _quotient(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    if tuple(m) not in (("rn", "f32"), ("full", "f32")):
        return None
    return _joined("f32x4", "div", _all(o, of))


def _root(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    return _joined("f32x4", "sqrt", _all(o, of)) if tuple(m) in (("rn", "f32"), ("approx", "f32")) else None


def _reciprocal(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    if opcode == "rsqrt":
        values = _all(o, of) if tuple(m) == ("approx", "f32") else None
        if values is None:
            return None
        of.note(f"(local.set $tv {values[0]})")
        one = "(f64x2.splat (f64.const 1))"
        halves = []
        for half in ("(local.get $tv)", f"(i8x16.shuffle {_UPPER_HALF} (local.get $tv) (local.get $tv))"):
            root = f"(f64x2.sqrt (f64x2.promote_low_f32x4 {half}))"
            halves.append(f"(f32x4.demote_f64x2_zero (f64x2.div {one} {root}))")
        return [f"(i8x16.shuffle {_LOWER_HALVES} {halves[0]} {halves[1]})"]
    values = _all(o, of) if tuple(m) in (("rn", "f32"), ("approx", "f32")) else None
    return None if values is None else [f"(f32x4.div (f32x4.splat (f32.const 1)) {values[0]})"]


def _logic(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name = m[-1]
    if len(m) != 1 or (name == "pred" and any(isinstance(operand, Immediate) for operand in o)):
        return None
    if name == "pred" or _is_32(name):
        return _joined("v128", opcode, _all(o, of))
    return _each("v128", opcode, _pairs(o, of)) if _is_64(name) else None


def _shift(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name, amount = m[-1], o[1]
    bits = TYPES.get(name, ("", 0, False))[1]
    if len(m) != 1 or not isinstance(amount, Immediate) or not 0 <= amount.value < bits or name.startswith("f"):
        return None
    operation = "shl" if opcode == "shl" else f"shr_{'s' if TYPES[name][2] else 'u'}"
    if bits == 32:
        values = _all(o[:1], of)
        return None if values is None else [f"(i32x4.{operation} {values[0]} (i32.const {amount.value}))"]
    pairs = _pairs(o[:1], of) if bits == 64 else None
    return None if pairs is None else [f"(i64x2.{operation} {p[0]} (i32.const {amount.value}))" for p in pairs]


def _extremum(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name, values = m[-1], None
    if len(m) == 1 and (_is_32(name) or name == "f32"):
        values = _all(o, of)
    if values is None:
        return None
    if name != "f32":
        return [f"(i32x4.{opcode}_{'s' if TYPES[name][2] else 'u'} {' '.join(values)})"]
    a, b = values
    of.note(f"(local.set $tv (f32x4.{opcode} {a} {b}))")
    # A NaN and a number give the number.
    of.note(f"(local.set $tv (v128.bitselect (local.get $tv) {a} (f32x4.eq {b} {b})))")
    return [f"(v128.bitselect (local.get $tv) {b} (f32x4.eq {a} {a}))"]


def _sign(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name = m[-1]
    if len(m) != 1 or name not in ("f32", "s32"):
        return None
    return _joined("f32x4" if name == "f32" else "i32x4", opcode, _all(o, of))


_RELATIONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_OPPOSITE = {"ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


def _compare(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    relation, name = m[0], m[-1]
    combination = m[1] if len(m) == 3 else ""
    if len(m) not in (2, 3) or combination not in ("", "and", "or", "xor"):
        return None
    values = _all(o[:2], of) if name == "f32" or _is_32(name) else None
    if values is None:
        return None
    if name == "f32":
        holds = _float_holds(relation, *values)
    else:
        unsigned = relation in _RELATIONS or not TYPES[name][2]
        relation = _RELATIONS.get(relation, relation)
        if relation not in ("eq", "ne", "lt", "le", "gt", "ge"):
            return None
        suffix = "" if relation in ("eq", "ne") else "_u" if unsigned else "_s"
        holds = f"(i32x4.{relation}{suffix} {' '.join(values)})"
    if holds is None:
        return None
    if not combination:
        return [holds]
    third = None if isinstance(o[2], Immediate) else of.of_all(o[2])
    return None if third is None else [f"(v128.{combination} {holds} {third})"]


def _float_holds(relation: str, a: str, b: str) -> str | None:
    if relation in ("eq", "lt", "le", "gt", "ge"):
        return f"(f32x4.{relation} {a} {b})"
    if relation == "neu":
        return f"(f32x4.ne {a} {b})"
    if relation in _OPPOSITE:
        return f"(v128.not (f32x4.{_OPPOSITE[relation]} {a} {b}))"
    return None


def _select(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name, mask = m[-1], None if isinstance(o[2], Immediate) else of.of_all(o[2])
    if len(m) != 1 or mask is None:
        return None
    if _is_32(name) or name == "f32":
        values = _all(o[:2], of)
        return None if values is None else [f"(v128.bitselect {values[0]} {values[1]} {mask})"]
    pairs = _pairs(o[:2], of) if _is_64(name) or name == "f64" else None
    if pairs is None:
        return None
    return [
        f"(v128.bitselect {a} {b} (i64x2.extend_{half}_i32x4_s {mask}))"
        for half, (a, b) in zip(("low", "high"), pairs, strict=True)
    ]


def _move(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    name = m[-1]
    if name == "pred" and isinstance(o[0], Immediate):
        return None
    if name == "pred" or _is_32(name) or name == "f32":
        return _all(o, of)
    pairs = _pairs(o, of) if _is_64(name) or name == "f64" else None
    return None if pairs is None else [pairs[0][0], pairs[1][0]]


def _convert(m: Sequence[str], o: Sequence[Operand], opcode: str, of: Operands) -> Values:
    kinds, source = tuple(m), o[0]
    if len(kinds) == 3 and kinds[:2] == ("rn", "f32") and kinds[2] in ("s32", "u32"):
        values = _all(o, of)
        return None if values is None else [f"(f32x4.convert_i32x4_{kinds[2][0]} {values[0]})"]
    if len(kinds) == 3 and kinds[0] == "rzi" and kinds[2] == "f32" and kinds[1] in ("s32", "u32"):
        values = _all(o, of)
        return None if values is None else [f"(i32x4.trunc_sat_f32x4_{kinds[1][0]} {values[0]})"]
    if len(kinds) != 2:
        return None
    to, come = kinds
    if _is_64(to) and _is_32(come):
        values, sign = _all(o, of), "s" if TYPES[come][2] else "u"
        return (
            None if values is None else [f"(i64x2.extend_{half}_i32x4_{sign} {values[0]})" for half in ("low", "high")]
        )
    if _is_32(to) and _is_64(come) and isinstance(source, Register) and local_type(source) == "i64":
        pairs = _pairs(o, of)
        if pairs is not None:
            return [f"(i8x16.shuffle {_LOW_WORDS} {pairs[0][0]} {pairs[1][0]})"]
    if _is_32(to) and _is_32(come):
        return _all(o, of)
    return _move((to,), o, opcode, of) if _is_64(to) and _is_64(come) else None


_UPPER_HALF = " ".join(str(8 + byte % 8) for byte in range(16))
_LOWER_HALVES = " ".join(str(byte if byte < 8 else byte + 8) for byte in range(16))
_LOW_WORDS = " ".join(str(8 * lane + byte) for lane in range(4) for byte in range(4))
_HIGH_WORDS = " ".join(str(8 * lane + 4 + byte) for lane in range(4) for byte in range(4))


def low_words(pair: tuple[str, str]) -> str:
    """The lower halves of two vectors of two numbers each."""
    return f"(i8x16.shuffle {_LOW_WORDS} {pair[0]} {pair[1]})"


def high_words(pair: tuple[str, str]) -> str:
    """The upper halves of them."""
    return f"(i8x16.shuffle {_HIGH_WORDS} {pair[0]} {pair[1]})"


_OPCODES: dict[_Maker, str] = {
    _sum: "add sub",
    _product: "mul",
    _product_and_sum: "mad fma",
    _quotient: "div",
    _root: "sqrt",
    _reciprocal: "rcp rsqrt",
    _logic: "and or xor not",
    _shift: "shl shr",
    _extremum: "min max",
    _sign: "neg abs",
    _compare: "setp",
    _select: "selp",
    _move: "mov",
    _convert: "cvt",
}
_MAKERS = {opcode: maker for maker, opcodes in _OPCODES.items() for opcode in opcodes.split()}
