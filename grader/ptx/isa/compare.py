"""Comparisons and selection: setp, set, selp, slct."""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.modifiers import BITS, DTYPES, FLOATS, INTEGERS, Array, Modifiers, Semantics, Table, make, register
from grader.ptx.isa.rounding import flush

Comparison = Callable[[Array, Array], Array]

INTEGER_COMPARISONS: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}

FLOAT_COMPARISONS: dict[str, Comparison] = {
    # Ordered ones are false with a NaN, those ending in u are true; C's != is the unordered one.
    "eq": np.equal,
    "ne": lambda a, b: (a < b) | (a > b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: (a == a) & (b == b),
    "nan": lambda a, b: (a != a) | (b != b),
}

COMBINATIONS: dict[str, Comparison] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(m: Modifiers, name: str) -> Comparison:
    """Take the comparison operator and `.ftz` of an operand type."""
    if name in FLOATS:
        compare = FLOAT_COMPARISONS[m.one_of(FLOAT_COMPARISONS)]
        if name == "f32" and m.flag("ftz"):
            return lambda a, b: compare(flush(a), flush(b))
        return compare
    allowed: tuple[str, ...]
    if name.startswith("b"):
        allowed = ("eq", "ne")
    elif name.startswith("s"):
        allowed = ("eq", "ne", "lt", "le", "gt", "ge")
    else:
        allowed = tuple(INTEGER_COMPARISONS)
    return INTEGER_COMPARISONS[m.one_of(allowed)]


def set_predicate(m: Modifiers) -> Semantics:
    """setp: p = (a cmp b) op c and, when asked for, q = !(a cmp b) op c."""
    name = m.type()
    compare = comparison(m, name)
    combination = m.one_of(COMBINATIONS, default="")
    m.end(results=2)
    inputs = f"{name} {name} pred" if combination else f"{name} {name}"
    if m.results == 1 and not combination:
        return make(inputs, "pred", compare)
    combine = COMBINATIONS.get(combination)

    def compute(a: Array, b: Array, *c: Array) -> Array | tuple[Array, Array]:
        holds = compare(a, b)
        p = combine(holds, c[0]) if combine else holds
        if m.results == 1:
            return p
        return p, combine(~holds, c[0]) if combine else ~holds

    return make(inputs, " ".join(["pred"] * m.results), compute)


def set_value(m: Modifiers) -> Semantics:
    """set: all ones (u32, s32) or 1.0 (f32) where the comparison holds, else 0."""
    name = m.type()
    result = m.type(("u32", "s32", "f32"))
    compare = comparison(m, name)
    combination = m.one_of(COMBINATIONS, default="")
    m.end()
    combine = COMBINATIONS.get(combination)
    dtype = DTYPES[result]
    true = np.array(1 if result == "f32" else -1).astype(dtype)[()]

    def compute(a: Array, b: Array, *c: Array) -> Array:
        holds = compare(a, b)
        return (combine(holds, c[0]) if combine else holds) * true

    return make(f"{name} {name} pred" if combination else f"{name} {name}", result, compute)


def select_by_predicate(m: Modifiers) -> Semantics:
    """selp d, a, b, p: a where p."""
    name = m.type()
    m.end()
    return make(f"{name} {name} pred", name, lambda a, b, p: np.where(p, a, b))


def select_by_sign(m: Modifiers) -> Semantics:
    """slct d, a, b, c: a where c >= 0; -0.0 counts as 0 and NaN as negative."""
    sign = m.type(("s32", "f32"))
    name = m.type((*BITS, *INTEGERS, *FLOATS))
    ftz = sign == "f32" and m.flag("ftz")
    m.end()
    return make(f"{name} {name} {sign}", name, lambda a, b, c: np.where((flush(c) if ftz else c) >= 0, a, b))


TABLE: Table = {}
register(
    TABLE, "setp set", (*BITS, *INTEGERS, *FLOATS), lambda m: (set_predicate if m.opcode == "setp" else set_value)(m)
)
register(TABLE, "selp", (*BITS, *INTEGERS, *FLOATS, "f16", "bf16"), select_by_predicate)
register(TABLE, "slct", ("s32", "f32"), select_by_sign)
