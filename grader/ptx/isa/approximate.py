"""The .approx functions: ex2, lg2, sin, cos, tanh, rsqrt.

GPUs evaluate these in tables of their own, so results agree to the error that PTX ISA states, not to the bit:
here each is the float64 function rounded once.
"""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.ptx.isa.floating import build, upper_word
from grader.ptx.isa.modifiers import Array, Modifiers, Table, register
from grader.ptx.isa.rounding import float64_to_float32
from grader.ptx.isa.semantics import Semantics

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
}


def approximate(m: Modifiers) -> Semantics:
    """`.approx{.ftz}.f32`."""
    name = m.type()
    m.one_of(("approx",))
    ftz = m.opcode != "tanh" and m.flag("ftz")
    function = FUNCTIONS[m.opcode]
    return build(m, name, 1, lambda a: float64_to_float32(function(a.astype(np.float64)), "rn"), ftz)


def reciprocal_root_f64(m: Modifiers) -> Semantics:
    """rsqrt.approx.f64, and rsqrt.approx.ftz.f64, which computes with the upper 32 bits only."""
    name = m.type()
    m.one_of(("approx",))
    function = FUNCTIONS["rsqrt"]
    return build(m, name, 1, (lambda a: upper_word(function, a)) if m.flag("ftz") else function)


TABLE: Table = {}
register(TABLE, "ex2 lg2 sin cos tanh rsqrt", ("f32",), approximate)
register(TABLE, "rsqrt", ("f64",), reciprocal_root_f64)
