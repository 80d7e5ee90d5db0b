"""What needs no rounding of float32 and float64: min, max, abs, neg, copysign, testp."""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.floating import ONE_32, build, canonical, flags, propagating
from grader.ptx.isa.modifiers import FLOATS, Array, Modifiers, Table, make, register
from grader.ptx.isa.rounding import canonical_nan, propagate_nan
from grader.ptx.isa.semantics import Semantics


def minimum_or_maximum(m: Modifiers) -> Semantics:
    """min, max: a NaN loses to a number unless `.NaN`; -0 < +0; `.xorsign.abs` compares magnitudes."""
    name = m.type()
    ftz, _ = flags(m, name, saturating=False)
    propagate = name == "f32" and m.flag("NaN")
    xor_sign = name == "f32" and m.flag("xorsign")
    if xor_sign and not m.flag("abs"):
        raise m.fail("needs .abs")
    smaller = m.opcode == "min"

    def compute(a: Array, b: Array) -> Array:
        if name == "f64":
            return propagate_nan(select(a, b, smaller, propagate), a, b)
        if xor_sign:
            magnitude = select(np.abs(a), np.abs(b), smaller, propagate)
            return canonical_nan(np.copysign(magnitude, np.copysign(ONE_32, a) * np.copysign(ONE_32, b)))
        return canonical_nan(select(a, b, smaller, propagate))

    return build(m, name, 2, compute, ftz)


def select(a: Array, b: Array, smaller: bool, nan_wins: bool) -> Array:
    """The smaller or larger of two floats of any width, by the rules of PTX's min and max but for a NaN's payload."""
    if nan_wins:
        result = np.minimum(a, b) if smaller else np.maximum(a, b)
    else:
        result = np.fmin(a, b) if smaller else np.fmax(a, b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    a_bits, b_bits = a.view(bits), b.view(bits)
    # Equal values with different bits can only be +0 and -0, which NumPy takes for the same.
    zeros = (a == b) & (a_bits != b_bits)
    if zeros.any():
        chosen = a_bits | b_bits if smaller else a_bits & b_bits
        result = np.where(zeros, chosen, result.view(bits)).view(a.dtype)
    return result


def sign_operation(m: Modifiers) -> Semantics:
    """abs, neg: the sign bit, but NaNs are treated as by any other operation and keep theirs."""
    name = m.type()
    ftz, _ = flags(m, name, saturating=False)
    ufunc = np.abs if m.opcode == "abs" else np.negative
    return build(m, name, 1, canonical(ufunc) if name == "f32" else propagating(ufunc), ftz)


def copy_sign(m: Modifiers) -> Semantics:
    """copysign d, a, b: the magnitude of b with the sign of a."""
    name = m.type()
    return build(m, name, 2, lambda a, b: np.copysign(b, a))


_TESTS: dict[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ((a == 0) | (np.abs(a) >= np.finfo(a.dtype).tiny)),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}


def test_property(m: Modifiers) -> Semantics:
    """testp; PTX counts zeros as normal."""
    name = m.type()
    test = _TESTS[m.one_of(_TESTS)]
    m.end()
    return make(name, "pred", test)


TABLE: Table = {}
register(TABLE, "min max", FLOATS, minimum_or_maximum)
register(TABLE, "abs neg", FLOATS, sign_operation)
register(TABLE, "copysign", FLOATS, copy_sign)
register(TABLE, "testp", FLOATS, test_property)
