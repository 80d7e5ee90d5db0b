"""Gives a module's symbols their addresses, and its functions their runnable form.

No launch can tell what else is compiled with its kernel: it is run in the part of the module that it follows from,
which is also what it is known again by.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from grader.ptx.frontend.nodes import LOC, Function, Instruction, Module, SourceLocation, Symbol, Variable
from grader.ptx.isa.instructions import check_forms
from grader.ptx.limits import DeviceTrap, LimitExceeded, Limits, UnsupportedInstruction
from grader.ptx.lowering.lower import lower
from grader.ptx.machine.code import Code, build_cfg
from grader.ptx.machine.operands import asks_for_grid
from grader.ptx.memory import FUNCTION_WINDOW, SHARED_WINDOW, Device, MemoryArray, SharedLayout
from grader.ptx.values import Array


@dataclass(frozen=True, slots=True)
class Needs:
    """What a kernel needs and does, its device functions included.

    shared_slots: name and bytes of the static shared variables it uses, None for others'; static_bytes: their sum.
    local_bytes: of local and `.param` variables of one activation of each function.
    waits: a loop may wait for another thread, perhaps one of another block.  contends: a loop tries an atomic update
    until it gets through.  whole_grid: it asks for the group of its whole grid, to wait for it.
    """

    shared_slots: tuple[tuple[str, int] | None, ...]
    static_bytes: int
    local_bytes: int
    waits: bool
    contends: bool
    whole_grid: bool


DYNAMIC_BYTES = 48 * 1024
"""What dynamic shared memory, whose size a launch says, usually takes at most."""


class Program:
    """The part of a module that is the same on every device: runnable functions, the layout of shared memory."""

    def __init__(self, module: Module, moves_no_data: bool = False) -> None:
        """moves_no_data: its functions compute what decides where accesses go and what is carried out, no more."""
        self.module = module
        self.moves_no_data = moves_no_data
        self.addresses: dict[str, int] = {}
        """Addresses of shared variables and functions, which are the same on every device."""
        self.shared: list[Variable] = []
        """Shared variables by slot; all unsized `extern` ones lie in the last slot."""
        self._spaces: dict[str, str] = {}
        self._codes: dict[str, Code] = {}
        self._reachable: dict[str, frozenset[str]] = {}
        self._needs: dict[str, Needs] = {}
        extern: list[str] = []
        declared = list(module.variables.values())
        for function in module.functions.values():
            declared += [v for v in function.variables if v.space == "shared"]
        for variable in declared:
            self._spaces[variable.name] = variable.space
            if variable.space != "shared":
                continue
            if variable.is_extern:
                extern.append(variable.name)
            else:
                self.shared.append(variable)
        self.dynamic_name = extern[0] if extern else ""
        self.shared_layout = SharedLayout([v.size_bytes for v in self.shared] + [DYNAMIC_BYTES] * bool(extern))
        slots = [[variable.name] for variable in self.shared] + [extern] * bool(extern)
        for names, base in zip(slots, self.shared_layout.bases, strict=True):
            self.addresses |= dict.fromkeys(names, base)
        for index, name in enumerate(module.functions):
            self.addresses.setdefault(name, FUNCTION_WINDOW + index * 16)

    def space_of(self, name: str) -> str:
        return self._spaces.get(name, "local")

    def line_of(self, name: str) -> int:
        """Return the source line of the first instruction that names a variable, 0 where none does."""
        for function in self.module.functions.values():
            for item in function.body:
                if isinstance(item, Instruction) and item.location.line:
                    named = (getattr(operand, "base", operand) for operand in item.operands)
                    if any(isinstance(symbol, Symbol) and symbol.name == name for symbol in named):
                        return item.location.line
        return 0

    def has_body(self, name: str) -> bool:
        """Whether a function is defined in this module, not only declared."""
        return bool(self.module.functions[name].body)

    def code(self, name: str) -> Code:
        """The runnable form of a function."""
        code = self._codes.get(name)
        if code is None:
            function = self.module.functions[name]
            check_forms(function)
            code = self._codes[name] = lower(build_cfg(function, self.module), self)
        return code

    def forget(self) -> None:
        """Drop what loads remember of blocks that ran side by side."""
        for code in self._codes.values():
            for repeat in code.repeats:
                repeat.forget()

    def codes(self) -> list[Code]:
        """The functions that have been run so far."""
        return list(self._codes.values())

    def at(self, pointer: int, instruction: Instruction) -> Function:
        """Return the function or kernel that a pointer names.  Raises DeviceTrap where it names none."""
        index, rest = divmod(pointer - FUNCTION_WINDOW, 16)
        names = list(self.module.functions)
        if rest or not 0 <= index < len(names):
            raise DeviceTrap(instruction.location.line, f"a call through a pointer to no function ({pointer:#x})")
        return self.module.functions[names[index]]

    def reachable(self, entry: str) -> frozenset[str]:
        """Names of the functions that a kernel may call, itself included, those whose address it takes among them.

        Addresses in initialisers of variables count for every kernel.
        """
        cached = self._reachable.get(entry)
        if cached is not None:
            return cached
        visited: set[str] = set()
        stack = [entry]
        for variable in self.module.variables.values():
            stack += [symbol.name for _, symbol in variable.relocations]
        while stack:
            name = stack.pop()
            if name in visited or name not in self.module.functions:
                continue
            visited.add(name)
            for item in self.module.functions[name].body:
                if isinstance(item, Instruction):
                    stack += [operand.name for operand in item.operands if isinstance(operand, Symbol)]
        reachable = self._reachable[entry] = frozenset(visited)
        return reachable

    def used_by(self, entry: str) -> set[str]:
        """Return the symbols that a kernel and the functions that it may call name."""
        return self._used(self.reachable(entry))

    def needs(self, entry: str) -> Needs:
        """Return what a kernel needs, with all functions that it may call."""
        needs = self._needs.get(entry)
        if needs is None:
            needs = self._needs[entry] = self._look_through(entry)
        return needs

    def state(self, entry: str) -> tuple[str, ...]:
        """Return the source names of a kernel's variables in global memory: they live on from launch to launch."""
        used = self.used_by(entry)
        variables = self.module.variables.values()
        # Constant arrays of the program lie in global memory too; texts of `printf` are the compiler's own.
        names = (v.name for v in variables if v.space == "global" and v.name in used and not v.name.startswith("$"))
        return tuple(_plain_name(name) for name in names)

    def _used(self, names: Iterable[str]) -> set[str]:
        used: set[str] = set()
        for name in names:
            for item in self.module.functions[name].body:
                if not isinstance(item, Instruction):
                    continue
                for operand in item.operands:
                    base = getattr(operand, "base", operand)
                    if isinstance(base, Symbol):
                        used.add(base.name)
        return used

    def _look_through(self, entry: str) -> Needs:
        # A kernel that this one launches has needs of its own.
        called = self.reachable(entry)
        names = [name for name in called if name == entry or not self.module.functions[name].is_entry]
        own: set[str] = set()
        used = self._used(names)
        local_bytes = 0
        waits = contends = whole_grid = False
        for name in names:
            function = self.module.functions[name]
            for variable in function.variables:
                own.add(variable.name)
                local_bytes += variable.size_bytes if variable.space in ("local", "param") else 0
            if function.body:
                decisions = self.code(name).graph.exit_decisions
                waits |= any(decision.polls for decision in decisions)
                contends |= any(decision.waits for decision in decisions)
                whole_grid |= asks_for_grid(self.code(name))
        slots: list[tuple[str, int] | None] = []
        static = 0
        for variable in self.shared:
            if variable.name in own or variable.name in used:
                slots.append((_plain_name(variable.name), variable.size_bytes))
                static = -(-static // variable.align) * variable.align + variable.size_bytes
            else:
                slots.append(None)
        return Needs(tuple(slots), static, local_bytes, waits, contends, whole_grid)

    def shared_slots(self, entry: str, dynamic_bytes: int) -> list[tuple[str, int] | None]:
        """Return name and bytes of each slot of shared memory that a kernel uses; the dynamic one is the last."""
        dynamic = (_plain_name(self.dynamic_name), dynamic_bytes) if self.dynamic_name else None
        return [*self.needs(entry).shared_slots, dynamic]


class Linker:
    """A module loaded on a device: its global variables are allocated and initialised once."""

    def __init__(self, program: Program, device: Device, limits: Limits) -> None:
        self.program = program
        self.addresses = dict(program.addresses)
        """Addresses of all that has one address for all threads."""
        self.variables: dict[str, MemoryArray] = {}
        wanted = [v for v in program.module.variables.values() if v.space in ("global", "const")]
        if sum(variable.size_bytes for variable in wanted) > limits.variable_bytes:
            largest = max(wanted, key=lambda variable: variable.size_bytes)
            raise LimitExceeded(
                "memory",
                program.line_of(largest.name),
                f"variables of the module take more than {limits.variable_bytes >> 20} MiB",
            )
        for variable in wanted:
            self._allocate(variable, device)
        for variable in program.module.variables.values():
            self._relocate(variable)

    def _allocate(self, variable: Variable, device: Device) -> None:
        read_only = variable.space == "const"
        size = variable.size_bytes
        array = device.allocate(
            variable.name, variable.space, size, _initial(variable), initialised=True, read_only=read_only
        )
        self.addresses[variable.name] = array.base
        self.variables[variable.name] = array

    def reset(self, names: Iterable[str]) -> None:
        """Reset variables of these source names to their initial values."""
        wanted = set(names)
        for variable in self.program.module.variables.values():
            if variable.name in self.variables and _plain_name(variable.name) in wanted:
                initial = _initial(variable)
                self.variables[variable.name].data[: len(initial)] = initial
                self._relocate(variable)

    def _relocate(self, variable: Variable) -> None:
        for offset, symbol in variable.relocations:
            address = self.addresses.get(symbol.name)
            if address is None:
                raise UnsupportedInstruction(variable.name, reason=f"address of {symbol.name}")
            if self.program.space_of(symbol.name) == "shared":
                address += SHARED_WINDOW
            data = self.variables[variable.name].data
            data[offset : offset + 8] = np.array([address + symbol.offset], np.uint64).view(np.uint8)


def _initial(variable: Variable) -> Array:
    """(size,) the bytes that a variable is loaded with; zeros where it has no initialiser, as in C++."""
    initial = np.zeros(variable.size_bytes, np.uint8)
    if variable.initial is not None:
        raw = np.frombuffer(variable.initial, np.uint8)
        initial[: len(raw)] = raw
    return initial


def program_of(module: Module, moves_no_data: bool = False) -> Program:
    """Return the program of a module, made at first use and kept with the module; moves_no_data: see `Program`."""
    name = "program without data" if moves_no_data else "program"
    program = module.derived.get(name)
    if program is None:
        program = module.derived[name] = Program(module, moves_no_data)
    return program


def _plain_name(name: str) -> str:
    """The source name of a variable from its mangled one (Itanium C++ ABI §5.1.6).

    `_ZZ5tiledPKfS0_PfiE1a` → `a`; of one in a namespace, `_ZN5tiled4tileE` → `tile`.
    """
    if not name.startswith("_Z"):
        return name
    tail = name.rsplit("E", 1)[-1]
    nested = name.startswith("_ZN") and not tail
    if nested:
        tail = name[3:-1]
    part = name
    while match := re.match(r"\d+", tail):
        end = match.end() + int(match[0])
        if len(tail) < end:
            return part
        part, tail = tail[match.end() : end], tail[end:] if nested else ""
    return part


_LONG_INITIALISER_BYTES = 1 << 16
_LABEL = re.compile(r"\$L__BB\d+")
"""As NVRTC begins the name of a label, with the number of its function in the text."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some kernels of a module with all that they may call or name, as a module.

    content: equal where the same is computed, on whatever lines of the source it stands.
    places: where each function and each of their instructions comes from, in the order of the text.
    """

    module: Module
    content: bytes
    places: tuple[SourceLocation, ...]

    @property
    def seed(self) -> int:
        """A number that follows from the content, the same on every machine."""
        return int.from_bytes(self.content[:4], "little")


def _digested(variable: Variable) -> Variable:
    """The variable with a digest in place of a long initialiser, whose text is several times as long."""
    if variable.initial is None or len(variable.initial) <= _LONG_INITIALISER_BYTES:
        return variable
    return replace(variable, initial=hashlib.blake2b(variable.initial, digest_size=20).digest())


def part_of(module: Module, entries: Iterable[str]) -> Part:
    """Return the part of a module that some kernels need; entries that do not exist add nothing."""
    program = program_of(module)
    reachable: set[str] = set()
    used: set[str] = set()
    for entry in entries:
        reachable |= program.reachable(entry)
        used |= program.used_by(entry)
    functions = {name: function for name, function in module.functions.items() if name in reachable}
    # What lives in global memory is there for every launch; shared memory is a kernel's own.
    variables = {n: v for n, v in module.variables.items() if v.space != "shared" or n in used}
    part = replace(module, functions=functions, variables=variables, derived={})
    digest = hashlib.blake2b(digest_size=20)
    digest.update(repr((module.version, module.target, {n: _digested(v) for n, v in variables.items()})).encode())
    places = []
    for name, function in functions.items():
        text = _LABEL.sub("$L", LOC.sub("", function.text))
        digest.update(repr((name, text)).encode())
        places.append(function.location)
        places += [item.location for item in function.body if isinstance(item, Instruction)]
    return Part(part, digest.digest(), tuple(places))
