"""Conversions between types of numbers, and arithmetic in half precision, as WebAssembly expressions.

Half precision is computed as `isa/convert.py` does it: exactly in float64, or rounded to odd there, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.ptx.frontend.nodes import Instruction, Operand
from grader.ptx.native.layout import TYPES, converted

Read = Callable[[Operand, str], str]
"""(operand, PTX type) → expression of that type's WebAssembly type; narrow integers come extended by their sign."""

Result = tuple[str, str]
"""(expression, PTX type of the result)."""

NAN = "(f32.const nan:0x7fffff)"
_CANONICAL = ("(select (local.tee $tf ", f") {NAN} (f32.eq (local.get $tf) (local.get $tf)))")


def canonical(expression: str) -> str:
    """A float32 result with the NaN of GPUs."""
    return expression.join(_CANONICAL)


def with_any_nan(expression: str) -> str:
    """Return the argument of `canonical` where an expression is its result; else the expression."""
    begins, ends = _CANONICAL
    if expression.startswith(begins) and expression.endswith(ends):
        return expression[len(begins) : -len(ends)]
    return expression


_WHOLE = {"rzi": "trunc", "rni": "nearest", "rmi": "floor", "rpi": "ceil"}
HALVES = ("f16", "bf16")
_PAIRS = ("f16x2", "bf16x2")
_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80}


def convert(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    """`cvt` with one source; of its flags `.sat` from float32 to itself alone."""
    if len(m) not in (2, 3) or "pred" in m:
        return None
    target, source = m[-2], m[-1]
    rounding = m[0] if len(m) == 3 else ""
    if target in _PAIRS and source == "f32" and rounding == "rn" and len(o) == 2:
        high, low = (_to_half(target[:-2], f"(f64.promote_f32 {read(x, 'f32')})") for x in o)
        return f"(i32.or (i32.shl {high} (i32.const 16)) {low})", "b32"
    if len(o) != 1:
        return None
    if target in HALVES or source in HALVES:
        return _with_half(target, source, rounding, o[0], read)
    if target not in TYPES or source not in TYPES:
        return None
    to_kind, _, _ = TYPES[target]
    kind, _, signed = TYPES[source]
    value = read(o[0], source)
    floats = ("f32", "f64")
    if target == source == "f32" and rounding in _WHOLE:
        return canonical(f"(f32.{_WHOLE[rounding]} {value})"), target
    if target == source == "f64" and rounding in _WHOLE:
        whole = f"(f64.{_WHOLE[rounding]} (local.tee $td {value}))"
        return f"(call $nan64 {whole} (local.get $td) (local.get $td))", target
    if target == source == "f32" and rounding == "sat":
        # NaN and -0 become 0.
        least = f"(select (local.tee $tf {value}) (f32.const 0) (f32.gt (local.get $tf) (f32.const 0)))"
        return f"(f32.min {least} (f32.const 1))", target
    if target not in floats and source not in floats:
        if rounding:
            return None
        if to_kind == kind:
            return value, target
        return converted(value, kind, to_kind, signed), target
    if source not in floats:
        if rounding != "rn":
            return None
        return f"({target}.convert_{kind}_{'s' if signed else 'u'} {value})", target
    if target not in floats:
        return _to_integer(target, source, rounding, value)
    if source == "f32" and target == "f64" and not rounding:
        return f"(call $widened {value})", target
    if source == "f64" and target == "f32" and rounding == "rn":
        return f"(call $narrowed {value})", target
    return None


def _to_integer(target: str, source: str, rounding: str, value: str) -> Result | None:
    """A float clamped to an integer's range; of a NaN comes 0, or the top bit alone (isa/convert.py)."""
    whole = _WHOLE.get(rounding)
    kind, bits, signed = TYPES[target]
    if whole is None or bits < 32:
        return None
    sign = "s" if signed else "u"
    inner = value if whole == "trunc" else f"({source}.{whole} {value})"
    if source == "f32" and bits == 32:
        return f"(i32.trunc_sat_f32_{sign} {inner})", target
    temporary = "$tf" if source == "f32" else "$td"
    number = f"({kind}.trunc_sat_{source}_{sign} (local.tee {temporary} {inner}))"
    top = f"({kind}.const {1 << (bits - 1):#x})"
    return f"(select {number} {top} ({source}.eq (local.get {temporary}) (local.get {temporary})))", target


# -- half precision --------------------------------------------------------------------


def _wide(half: str, bits: str) -> str:
    """The float64 number that 16 bits are."""
    return f"(f64.promote_f32 (call ${half}_wide {bits}))"


def _to_half(half: str, number: str) -> str:
    """16 bits of a float64 number."""
    return f"(call $to_{half} {number})"


def _with_half(target: str, source: str, rounding: str, operand: Operand, read: Read) -> Result | None:
    if source in HALVES:
        bits = read(operand, "u16")
        if target == "f32" and not rounding:
            if source == "bf16":
                return f"(f32.reinterpret_i32 (i32.shl {bits} (i32.const 16)))", "f32"
            return f"(call $f16_wide {bits})", "f32"
        if target in ("s32", "u32", "s64", "u64") and rounding in _WHOLE:
            inner = f"(f32.{_WHOLE[rounding]} (call ${source}_wide {bits}))"
            return _to_integer(target, "f32", "rzi", inner)
        return None
    if rounding != "rn" or source not in TYPES:
        return None
    kind, bits_of_source, signed = TYPES[source]
    if source == "f32":
        return _to_half(target, f"(f64.promote_f32 {read(operand, source)})"), "b16"
    if source == "f64":
        return None
    if bits_of_source > 32:
        return None
    return _to_half(target, f"(f64.convert_{kind}_{'s' if signed else 'u'} {read(operand, source)})"), "b16"


def in_half(i: Instruction, m: Sequence[str], o: Sequence[Operand], read: Read) -> Result | None:
    """Arithmetic of 16-bit floats and pairs of them; None where an instruction has none or flags."""
    name = m[-1] if m else ""
    if name not in (*HALVES, *_PAIRS):
        return None
    half = name.removesuffix("x2")
    if any(flag != "rn" for flag in m[:-1]) or i.opcode not in _ON_HALVES:
        return None
    compute = _ON_HALVES[i.opcode]
    if name in HALVES:
        return compute(half, [read(x, "u16") for x in o]), "b16"
    parts = []
    for by in (0, 16):
        operands = [f"(i32.shr_u {read(x, 'b32')} (i32.const {by}))" for x in o]
        parts.append(compute(half, [f"(i32.and {x} (i32.const 65535))" for x in operands]))
    return f"(i32.or {parts[0]} (i32.shl {parts[1]} (i32.const 16)))", "b32"


def _product(half: str, o: Sequence[str]) -> str:
    return f"(f64.mul {_wide(half, o[0])} {_wide(half, o[1])})"


_ON_HALVES: dict[str, Callable[[str, Sequence[str]], str]] = {
    "add": lambda half, o: _to_half(half, f"(call $sum_to_odd {_wide(half, o[0])} {_wide(half, o[1])})"),
    "sub": lambda half, o: _to_half(half, f"(call $sum_to_odd {_wide(half, o[0])} (f64.neg {_wide(half, o[1])}))"),
    "mul": lambda half, o: _to_half(half, _product(half, o)),
    "fma": lambda half, o: _to_half(half, f"(call $sum_to_odd {_product(half, o)} {_wide(half, o[2])})"),
    "neg": lambda half, o: _signed(half, f"(i32.xor {o[0]} (i32.const 0x8000))"),
    "abs": lambda half, o: _signed(half, f"(i32.and {o[0]} (i32.const 0x7FFF))"),
    "min": lambda half, o: f"(call $extremum_of_halves {o[0]} {o[1]} (i32.const {_INFINITY[half]}) (i32.const 0))",
    "max": lambda half, o: f"(call $extremum_of_halves {o[0]} {o[1]} (i32.const {_INFINITY[half]}) (i32.const 1))",
}


def _signed(half: str, bits: str) -> str:
    """16 bits with the NaN of GPUs."""
    magnitude = f"(i32.and {bits} (i32.const 0x7FFF))"
    return f"(select (i32.const 0x7FFF) {bits} (i32.gt_u {magnitude} (i32.const {_INFINITY[half]})))"
