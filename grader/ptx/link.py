"""Gives a module's symbols their addresses on a device, and its functions their runnable form."""

from __future__ import annotations

import numpy as np

from grader.ptx.cfg import ControlFlowGraph, build_cfg
from grader.ptx.code import Code
from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.memory import FUNCTION_WINDOW, SHARED_WINDOW, WINDOW_SPACING, Buffer, Device
from grader.ptx.nodes import Function, Instruction, Module, Symbol, Variable


class Linker:
    """A module loaded on a device: its global variables are allocated and initialised once."""

    def __init__(self, module: Module, device: Device) -> None:
        self.module = module
        self.device = device
        self._addresses: dict[str, int] = {}
        self._spaces: dict[str, str] = {}
        self._codes: dict[str, Code] = {}
        self.shared: list[Variable] = []
        """Shared variables by slot; all unsized `extern` ones lie in the last slot."""
        self.variables: dict[str, Buffer] = {}
        extern: list[str] = []
        declared = list(module.variables.values())
        for function in module.functions.values():
            declared += [v for v in function.variables if v.space == "shared"]
        for variable in declared:
            self._spaces[variable.name] = variable.space
            if variable.space == "shared":
                if variable.is_extern:
                    extern.append(variable.name)
                else:
                    self._addresses[variable.name] = self._shared_base(len(self.shared) + 1)
                    self.shared.append(variable)
            elif variable.space in ("global", "const"):
                self._allocate(variable)
        self.dynamic_name = extern[0] if extern else ""
        for name in extern:
            self._addresses[name] = self._shared_base(len(self.shared) + 1)
        for index, name in enumerate(module.functions):
            self._addresses.setdefault(name, FUNCTION_WINDOW + index * 16)
        for variable in module.variables.values():
            self._relocate(variable)

    @staticmethod
    def _shared_base(slot: int) -> int:
        return slot << WINDOW_SPACING | 1 << (WINDOW_SPACING - 1)

    def _allocate(self, variable: Variable) -> None:
        # Device variables without an initialiser are zero, as in C++.
        initial = np.zeros(variable.size_bytes, np.uint8)
        if variable.initial is not None:
            raw = np.frombuffer(variable.initial, np.uint8)
            initial[: len(raw)] = raw
        array = self.device.allocate(
            variable.name, variable.space, variable.size_bytes, initial, True, read_only=variable.space == "const"
        )
        self._addresses[variable.name] = array.base
        self.variables[variable.name] = Buffer(array, self.device)

    def _relocate(self, variable: Variable) -> None:
        for offset, symbol in variable.relocations:
            address = self._addresses.get(symbol.name)
            if address is None:
                raise UnsupportedInstruction(variable.name, reason=f"address of {symbol.name}")
            if self._spaces.get(symbol.name) == "shared":
                address += SHARED_WINDOW
            data = self.variables[variable.name].memory.data
            data[offset : offset + 8] = np.array([address + symbol.offset], np.uint64).view(np.uint8)

    def address(self, name: str) -> int | None:
        """The address of a module-wide or shared symbol in its own space; None for local and `.param` variables."""
        return self._addresses.get(name)

    def space_of(self, name: str) -> str:
        """The state space of a named variable."""
        return self._spaces.get(name, "local")

    def has_body(self, name: str) -> bool:
        """Whether a function is defined in this module, not only declared."""
        return bool(self.module.functions[name].body)

    def code(self, name: str) -> Code:
        """The runnable form of a function."""
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = Code(self._graph(self.module.functions[name]), self)
        return found

    def _graph(self, function: Function) -> ControlFlowGraph:
        return build_cfg(function, self.module)

    def function_at(self, pointer: int, instruction: Instruction) -> Code:
        """The function that a function pointer names."""
        index, rest = divmod(pointer - FUNCTION_WINDOW, 16)
        names = list(self.module.functions)
        if rest or not 0 <= index < len(names):
            raise UnsupportedInstruction(instruction.text, instruction.location.line, "call through a bad pointer")
        return self.code(names[index])

    def reachable(self, entry: str) -> set[str]:
        """Names of the functions that a kernel may call, itself included (all, if it calls through pointers)."""
        seen: set[str] = set()
        stack = [entry]
        while stack:
            name = stack.pop()
            if name in seen or name not in self.module.functions:
                continue
            seen.add(name)
            for item in self.module.functions[name].body:
                if isinstance(item, Instruction):
                    stack += [operand.name for operand in item.operands if isinstance(operand, Symbol)]
        return seen

    def local_bytes(self, entry: str) -> int:
        """Bytes of the local and `.param` variables of all functions that a kernel may call."""
        variables = [v for name in self.reachable(entry) for v in self.module.functions[name].variables]
        return sum(v.size_bytes for v in variables if v.space in ("local", "param"))

    def locked_spaces(self, entry: str) -> frozenset[str]:
        """Spaces in which the kernel may order accesses by hand, with fences and atomics or volatile accesses.

        Such an order is beyond the race detector, which therefore holds its peace there.
        """
        fences = False
        spaces = set()
        for name in self.reachable(entry):
            for item in self.module.functions[name].body:
                if not isinstance(item, Instruction):
                    continue
                fences |= item.opcode in ("membar", "fence")
                if item.opcode in ("atom", "red") or (
                    item.opcode in ("ld", "st") and not _STRONG.isdisjoint(item.modifiers)
                ):
                    named = {"global", "shared"}.intersection(m.split("::")[0] for m in item.modifiers)
                    spaces |= named or {"global", "shared"}
        return frozenset(spaces) if fences else frozenset()

    def shared_sizes(self, entry: str, dynamic_bytes: int) -> tuple[list[tuple[str, int] | None], int]:
        """(name and bytes of each slot that the kernel uses, total static bytes)."""
        functions = self.reachable(entry)
        own = {v.name for name in functions for v in self.module.functions[name].variables}
        used = set()
        for name in functions:
            for item in self.module.functions[name].body:
                if isinstance(item, Instruction):
                    used |= _symbols(item)
        slots: list[tuple[str, int] | None] = []
        static = 0
        for variable in self.shared:
            if variable.name in own or variable.name in used:
                slots.append((_plain_name(variable.name), variable.size_bytes))
                static = -(-static // variable.align) * variable.align + variable.size_bytes
            else:
                slots.append(None)
        slots.append((_plain_name(self.dynamic_name), dynamic_bytes) if self.dynamic_name else None)
        return slots, static


_STRONG = frozenset({"volatile", "relaxed", "acquire", "release"})


def _symbols(instruction: Instruction) -> set[str]:
    names = set()
    for operand in instruction.operands:
        base = getattr(operand, "base", operand)
        if isinstance(base, Symbol):
            names.add(base.name)
    return names


def _plain_name(name: str) -> str:
    """The source name of a variable from its mangled one: `_ZZ5tiledPKfS0_PfiE1a` → `a` (Itanium C++ ABI §5.1.6)."""
    if not name.startswith("_Z"):
        return name
    tail = name.rsplit("E", 1)[-1]
    digits = ""
    while tail[len(digits) : len(digits) + 1].isdigit():
        digits += tail[len(digits)]
    if digits and len(tail) >= len(digits) + int(digits):
        return tail[len(digits) : len(digits) + int(digits)]
    return name
