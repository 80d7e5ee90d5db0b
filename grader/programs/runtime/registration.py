"""What a program is made of: its kernels and variables, as the compiler's own code registers them at its start."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

from grader.driver import DriverError
from grader.message import msg
from grader.programs.device import LateEnd, Unsupported
from grader.programs.device_linking import OF_FILE, DefinedTwice, linked_ptx
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import CudaError, Handlers, Kernel, ProgramEnded, State
from grader.programs.sandbox.demangling import demangled
from grader.programs.sandbox.process import Code, Wanted

MAX_KERNELS = 500
LINKED_BINARY = "__cudaRegisterLinkedBinary"
"""What such a function's name begins with; a hash of the file's follows."""
# What no program writes: names of stubs, and of namespaces that tell a library's versions apart.
_UNSAID = re.compile(
    r"\(anonymous namespace\)::|__device_stub__|(?:CUB|THRUST)_\d+(?:_\d+)*_NS::|(?<=cuda::std::)__\d+::"
)

# Functions with names of C++ that are called and stand in no file.
_NOWHERE = re.compile(r"^\.extern\s+\.func\s+(?:\([^)]*\)\s*)?(_Z\w+)", re.M)
_FILES = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"\n]*)"', re.M)


def register_binary(state: State, _place: Place, wrapper: int) -> int:
    """Register a file of the program: the bytes that stand for its device code hold its number."""
    data = state.guest.unpack("iiQQ", wrapper)[2]
    unit = state.guest.unpack("I", data)[0]
    if unit not in range(len(state.unit_names)):
        raise ProgramEnded(msg("programs.crash", reason="registration"))
    handle = state.handle()
    state.units[handle] = unit
    return handle


def register_linked_binary(
    state: State, place: Place, functions: int, wrapper: int, _name: int, _callback: int
) -> None:
    """A file of a program whose device code is linked: what registers its kernels and variables is to be called."""
    state.call_guest("grader_call", functions, register_binary(state, place, wrapper))


def register_function(state: State, _place: Place, handle: int, function: int, name: int, *_rest: int) -> None:
    unit = state.units.get(handle)
    if unit is None or len(state.kernels) > MAX_KERNELS:
        return
    symbol = OF_FILE.sub("", state.guest.text(name))
    display, types = signature_of(state, symbol)
    state.kernels[function] = Kernel(unit, symbol, display, types)
    if "<" in display:
        state.wanted.setdefault(unit, {})[display] = None


def register_variable(state: State, _place: Place, handle: int, shadow: int, _name: int, name: int, *rest: int) -> None:
    unit = state.units.get(handle)
    if unit is not None and len(state.symbols) < MAX_KERNELS:
        symbol = OF_FILE.sub("", state.guest.text(name))
        state.symbols[shadow] = (unit, symbol, max(0, min(rest[1], 1 << 30)))


def register_managed(state: State, place: Place, variable: int, size: int, name: int) -> None:
    unit = state.unit_names.index(place.file) if place.file in state.unit_names else -1
    if unit >= 0 and len(state.managed) < MAX_KERNELS:
        state.guest.lent(variable, size)
        text = state.guest.text(name)
        state.managed.append((unit, text, variable, size))
        # Its address is what a kernel may be handed, too.
        state.host_memory[variable] = state.memory.share(text, size, "variable", place.line, place.file, variable)


def signature_of(state: State, symbol: str) -> tuple[str, tuple[str, ...]]:
    """Return a kernel's name as C++ writes it, "tiled<16>", and the types of its parameters."""
    if not symbol.startswith("_Z"):
        # As C has it; what a single letter stands for in mangled names is no kernel's.
        return symbol, ()
    text = demangled(symbol)
    if text is None:
        address = int(state.call_guest("grader_malloc", len(symbol.encode()) + 1))
        state.guest.write(address, symbol.encode() + b"\0")
        text_at = int(state.call_guest("grader_demangle", address))
        text = state.guest.text(text_at) if text_at else symbol
        state.call_guest("grader_free", address)
        if text_at:
            state.call_guest("grader_free", text_at)
    return split_signature(text)


def split_signature(text: str) -> tuple[str, tuple[str, ...]]:
    """ "void ns::tiled<16>(float*, int)" as name and types of the parameters."""
    text = _UNSAID.sub("", text)
    depth, start = 0, -1
    for index, character in enumerate(text):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == "(" and depth == 0:
            start = index
            break
    if start < 0:
        return text, ()
    name = text[:start]
    if "<" in name:
        # A template's instance is said with its return type.
        name = name.removeprefix("void ")
    types = split_list(text[start + 1 : text.rfind(")")])
    return name, types if types != ("void",) else ()


def split_list(text: str) -> tuple[str, ...]:
    """ "float*, ns::pair<int, int>" as its parts, at the commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(part for part in map(str.strip, parts) if part)


def load(state: State, unit: int) -> None:
    """Have the device code of a file compiled and loaded, at its first use.

    Raises ProgramEnded: it does not compile, or the emulator cannot read it.
    """
    if state.gpu.is_loaded(unit):
        return
    units = list(range(len(state.unit_names))) if state.is_linked else [unit]
    codes = [state.compile_unit(Wanted(number, list(state.wanted.get(number, {})))) for number in units]
    for number, code in zip(units, codes, strict=True):
        if not code.ptx:
            raise ProgramEnded(msg("programs.device_code", file=state.unit_names[number], reason=code.reason))
    _load(state, units, codes)
    kernels = [kernel for kernel in state.kernels.values() if kernel.unit in units]
    if any(state.gpu.entry(kernel.unit, kernel.symbol) is None for kernel in kernels):
        rest = [state.compile_unit(Wanted(number, list(state.wanted.get(number, {})), whole=True)) for number in units]
        if all(code.ptx for code in rest):
            try:
                _load(state, units, rest)
            except ProgramEnded as ended:
                state.lacking.update(dict.fromkeys(units, ended))
                raise
        else:
            reason = next(code.reason for code in rest if not code.ptx)
            for number in units:
                cause = msg("programs.device_code", file=state.unit_names[number], reason=reason)
                state.lacking[number] = ProgramEnded(cause)


def load_all(state: State) -> None:
    """Load all files' device code before it is needed, as a program of nvcc's has it: else times hold the compiler's.

    Where that cannot be, who needs it is told.
    """
    for unit in sorted({kernel.unit for kernel in state.kernels.values()}):
        with contextlib.suppress(ProgramEnded):
            load(state, unit)


def _load(state: State, units: Sequence[int], codes: Sequence[Code]) -> None:
    """Load what a compiler has made of files; the code of each of several is what they are linked to.

    Raises ProgramEnded: a function is nowhere, or the device cannot take the code.
    """
    try:
        text = linked_ptx([code.ptx for code in codes]) if state.is_linked else codes[0].ptx
    except DefinedTwice as error:
        raise ProgramEnded(msg("programs.defined_twice", names=_as_written(state, error.names))) from None
    if nowhere := list(dict.fromkeys(_NOWHERE.findall(text))):
        raise ProgramEnded(msg("programs.undefined", names=_as_written(state, nowhere)))
    state.plans.clear()
    try:
        ptx = _FILES.sub(lambda match: f'{match[1]}"{state.own_file(match[2])}"', text)
        for unit, code in zip(units, codes, strict=True):
            state.gpu.load(unit, ptx, codes[0].compiler, code.cubin if len(codes) == 1 else b"")
    except LateEnd:
        raise
    except Unsupported as error:
        raise ProgramEnded(msg("programs.launches_on_card")) from error
    except DriverError as error:
        raise ProgramEnded(msg("programs.card_cannot", reason=str(error))) from error
    except Exception as error:
        # A slip of the emulator ends the run with a word, like what it cannot read; nobody is blamed for either.
        raise ProgramEnded(msg("programs.emulator_cannot", reason=str(error).split("\n")[0])) from error


def _as_written(state: State, symbols: Sequence[str]) -> str:
    """Return the first functions or variables as C++ writes them: "f(float), count"."""
    names = (signature_of(state, symbol) for symbol in symbols[:5])
    return ", ".join(f"{name}({', '.join(types)})" if types else name for name, types in names)


def entry_of(state: State, kernel: Kernel) -> str:
    """Return the name of a kernel in the device code of its file, which is loaded first.

    Raises ProgramEnded: there is no such kernel as neither compiler gives it.
    Raises CudaError: there is none.
    """
    if not state.gpu.is_loaded(kernel.unit):
        load(state, kernel.unit)
    entry = state.gpu.entry(kernel.unit, kernel.symbol)
    if entry is None and kernel.unit in state.lacking:
        raise state.lacking[kernel.unit]
    if entry is None:
        raise CudaError(98)
    return entry


HANDLERS: Handlers = {"registerManaged": ("iii", register_managed)}
INTERNAL: Handlers = {
    "__cudaRegisterFatBinary": ("i", register_binary),
    "__cudaRegisterFunction": ("i" * 10, register_function),
    "__cudaRegisterVar": ("i" * 8, register_variable),
    "__cudaUnregisterFatBinary": ("i", lambda *_arguments: 0),
}
"""What the compiler's own code calls: no place comes with it."""
