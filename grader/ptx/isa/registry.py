"""Which function computes which instruction."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.isa.modifiers import DTYPES, Factory, Modifiers
from grader.ptx.isa.semantics import Semantics

FAMILIES = (
    "integer",
    "packed",
    "bitwise",
    "bitfield",
    "carry",
    "floating",
    "extremum",
    "approximate",
    "half",
    "compare",
    "convert",
)
"""Modules of this package with a `TABLE` of (opcode, type) → factory each; no key may occur in two."""


@cache
def table() -> dict[tuple[str, str], Factory]:
    """All families' tables in one; built at first use, since importing this package must cost nothing."""
    merged: dict[tuple[str, str], Factory] = {}
    for family in FAMILIES:
        entries: dict[tuple[str, str], Factory] = import_module(f"grader.ptx.isa.{family}").TABLE
        clash = merged.keys() & entries.keys()
        if clash:
            raise RuntimeError(f"grader.ptx.isa.{family} registers again: {sorted(clash)}")
        merged |= entries
    return merged


@cache
def is_arithmetic(opcode: str) -> bool:
    """Whether any family computes an opcode."""
    return any(name.split(".")[0] == opcode for name, _ in table())


@cache
def lookup(opcode: str, modifiers: tuple[str, ...], results: int = 1) -> Semantics:
    """Semantics of an arithmetic instruction, e.g. ``lookup("add", ("s32",))``.

    Parameters
    ----------
    opcode, modifiers : as in `grader.ptx.frontend.nodes.Instruction`.
    results : destinations the instruction is written with: 2 for ``setp… p|q`` and ``lop3… d|p``.

    Raises
    ------
    UnsupportedInstruction : unknown opcode, type or modifier, or a combination without a meaning.
    """
    text = ".".join((opcode, *modifiers))
    type_name = next((name for name in reversed(modifiers) if name in DTYPES), "")
    name = f"{opcode}.cc" if "cc" in modifiers else opcode
    factory = table().get((name, type_name))
    if factory is None:
        known = sorted({key_type for key_opcode, key_type in table() if key_opcode == name})
        raise UnsupportedInstruction(text, reason=f"known types: {', '.join(known)}" if known else "")
    return factory(Modifiers(opcode, modifiers, results))
