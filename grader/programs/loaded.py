"""Device code that was loaded for a program: its kernels and variables by the names that the host has for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from grader.ptx import Module, parse
from grader.ptx.limits import PtxError

_SOURCE_NAME = re.compile(r"L?(\d{1,3})")
"""Within a mangled name: how long the next word is; `L` before one with internal linkage."""

_LIBRARIES = frozenset({"cooperative_groups", "cub", "cuda", "nv", "thrust"})
"""Namespaces whose variables hold nothing that a program could change."""


def plain_name(name: str) -> str:
    """A variable's name as the program has it, without its namespaces."""
    parts = [part for part in parts_of(name) if part]
    return parts[-1] if parts else name


def parts_of(name: str) -> list[str]:
    """A variable's name with its namespaces, as far as two compilers say it alike.

    Of what is `static` or in a namespace without a name one mangles the linkage, the other what it made up:
    `_ZL5count` and `count`, `_ZN12_GLOBAL__N_15countE` and `_ZN21_INTERNAL_…5countE`.
    """
    if not name.startswith("_Z"):
        return [name, ""]
    found: list[str] = []
    place = 3 if name.startswith("_ZN") else 2
    while match := _SOURCE_NAME.match(name, place):
        place = match.end() + int(match[1])
        part = name[match.end() : place]
        if not part.startswith(("_GLOBAL__N_", "_INTERNAL_")):
            found.append(part)
    return [*found, name[place:].removesuffix("E")]


def _of_program(module: Module) -> set[tuple[str, ...]]:
    """A program's own variables of the device: texts, tables of functions and a library's constants are none."""
    names = [name for name, variable in module.variables.items() if variable.space in ("global", "const")]
    places = {tuple(parts_of(name)) for name in names if not name.startswith(("$", "_$", "__"))}
    return {place for place in places if place[0] not in _LIBRARIES}


def _entry_of(names: Sequence[str], symbol: str) -> str | None:
    """What a kernel is called in a module; one of an unnamed namespace has another name there than on the host."""
    if symbol in names:
        return symbol
    tail = symbol.split("_GLOBAL__N_1", 1)
    if len(tail) == 2:
        similar = [name for name in names if name.endswith(tail[1])]
        return similar[0] if len(similar) == 1 else None
    # One that is declared as C's is called so there, and as C++'s on the host.
    plain = re.match(r"_Z(\d{1,9})", symbol)
    if plain and symbol[plain.end() :][: int(plain[1])] in names:
        return symbol[plain.end() :][: int(plain[1])]
    similar = [name for name in names if name.endswith(symbol.removeprefix("_ZL").removeprefix("_Z"))]
    return similar[0] if len(similar) == 1 else None


class Loaded:
    """What compilers have made of a program's files, by their numbers."""

    def __init__(self) -> None:
        self._modules: dict[int, dict[str, Module]] = {}
        self._known: dict[tuple[str, int, str], Any] = {}
        """What was looked up, by what and of what, as long as no more is loaded."""

    def load(self, unit: int, ptx: str, compiler: str, cubin: bytes = b"") -> None:
        """Load what a compiler has made of a unit, beside what another has: there kernels are looked for first.

        Variables are there once: where both have one, all kernels are those of the later compiler.

        Raises
        ------
        PtxError : the emulator cannot read it.
        """
        module = parse(ptx)
        known = self._modules.setdefault(unit, {})
        for other in [other for other, old in known.items() if _of_program(module) & _of_program(old)]:
            del known[other]
        known[compiler] = module
        self._known.clear()

    def _once(self, what: str, unit: int, name: str, find: Callable[[int, str], Any]) -> Any:
        """A program launches few kernels many times."""
        key = (what, unit, name)
        if key not in self._known:
            self._known[key] = find(unit, name)
        return self._known[key]

    def is_loaded(self, unit: int) -> bool:
        """Whether a unit has a module."""
        return unit in self._modules

    def compiler(self, unit: int, entry: str) -> str:
        """Whose code of a kernel is run; "" where none is loaded."""
        return str(self._once("compiler", unit, entry, self._compiler))

    def _compiler(self, unit: int, entry: str) -> str:
        return next((name for name, module in self._modules.get(unit, {}).items() if entry in module.functions), "")

    def module(self, unit: int, entry: str) -> Module:
        """The module whose code of a kernel is run."""
        return self._modules[unit][self.compiler(unit, entry)]

    def entry(self, unit: int, symbol: str) -> str | None:
        """The kernel's name in the unit's modules, None where it is in none."""
        found: str | None = self._once("entry", unit, symbol, self._entry)
        return found

    def _entry(self, unit: int, symbol: str) -> str | None:
        found = (_entry_of(module.entries(), symbol) for module in self._modules[unit].values())
        return next((name for name in found if name is not None), None)

    def parameter_sizes(self, unit: int, entry: str) -> list[int]:
        """Bytes of each parameter."""
        return [parameter.size_bytes for parameter in self.module(unit, entry).functions[entry].parameters]

    def static_shared_bytes(self, unit: int, symbol: str) -> int:
        """Shared memory that a block of a kernel has whatever the launch asks for; 0 for one that is not there."""
        return int(self._once("shared", unit, symbol, self._static_shared_bytes))

    def _static_shared_bytes(self, unit: int, symbol: str) -> int:
        from grader.ptx.lowering.program import program_of

        entry = self.entry(unit, symbol)
        if entry is None:
            return 0
        try:
            return int(program_of(self.module(unit, entry)).needs(entry).static_bytes)
        except PtxError:
            # What the assembler would refuse as well; the launch says which instruction.
            return 0
