"""Device code that a program compiles and loads as it runs: NVRTC, and the driver's modules, linker and launches.

What else the driver API has is the runtime's under other names: `toolchain/include/cuda.h` says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from grader.message import msg
from grader.programs.device_linking import DefinedTwice, linked_ptx
from grader.programs.records import MODULE_OF_SOURCE
from grader.programs.runtime.launches import launch_by_call
from grader.programs.runtime.libraries.calls import MAX_HANDLES, Refused, guarded
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.outcomes import Configured
from grader.programs.runtime.registration import entry_of, signature_of
from grader.programs.runtime.state import CudaError, Handlers, Kernel, ProgramEnded, State
from grader.programs.sandbox.process import Wanted

_OUT_OF_MEMORY, _INVALID_INPUT, _INVALID_PROGRAM, _INVALID_OPTION, _COMPILATION = 1, 3, 4, 5, 6
_NAMES_TOO_LATE, _NAMES_TOO_EARLY, _NO_SUCH_NAME = 8, 9, 10
_INVALID_VALUE, _NO_MEMORY, _INVALID_IMAGE, _INVALID_HANDLE, _NOT_FOUND = 1, 2, 200, 400, 500
MAX_TEXTS = 64
"""Texts of PTX linked at once, at most."""
MAX_SOURCE_BYTES = 16 << 20
COMPILE_INSTRUCTIONS = 50_000_000
"""Instructions of the host that a compilation counts as, and those for each byte of a module that is read."""
INSTRUCTIONS_PER_BYTE = 200
MAX_HEADERS = 64
MAX_PARAMETERS = 200
_PIECE = 4096
_END, _BUFFER, _SIZE = 0, 1, 2
# What changes the code; the architecture is the device's, and includes are what the call hands over.
_KEPT = re.compile(
    r"-D\w+(=.*)?|--?use_fast_math|--?(fmad|ftz|prec-div|prec-sqrt)=(true|false)|--?extra-device-vectorization"
)
_LINKABLE = re.compile(r"-{1,2}(?:rdc|relocatable-device-code)=true|-{1,2}(?:dlto|dlink-time-opt)")
_KNOWN = re.compile(
    r"--?(dlto|dlink-time-opt|std|gpu-architecture|arch|include-path|I|G|device-debug|lineinfo|generate-line-info|default-device|w|rdc"
    r"|relocatable-device-code|maxrregcount|minimal|restrict|D|define-macro|diag-.*|pch.*|dopt"
    r"|Xptxas|ptxas-options|device-as-default-execution-space)\b.*"
)


@dataclass(slots=True)
class _Source:
    """A program of NVRTC's.  ptx: None before it was compiled."""

    sources: list[tuple[str, str]]
    names: list[str] = field(default_factory=list)
    ptx: str | None = None
    log: str = ""
    entries: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Module:
    unit: int


def _long_text(state: State, address: int) -> str:
    """Return a C string, however long.  Raises BadPointer."""
    text = bytearray()
    while len(text) < MAX_SOURCE_BYTES:
        piece = state.guest.read(address + len(text), max(1, min(_PIECE, state.guest.size() - address - len(text))))
        end = piece.find(b"\0")
        text += piece if end < 0 else piece[:end]
        if end >= 0:
            break
    return text.decode("utf-8", errors="replace")


def _keep(state: State, owned: _Source | _Module) -> int:
    if len(state.libraries) >= MAX_HANDLES:
        raise Refused(_OUT_OF_MEMORY)
    number = state.handle()
    state.libraries[number] = {"owned": owned}
    return number


def _source(state: State, handle: int) -> _Source:
    source = state.libraries.get(handle, {}).get("owned")
    if not isinstance(source, _Source):
        raise Refused(_INVALID_PROGRAM)
    return source


def _addresses(state: State, array: int, count: int) -> tuple[int, ...]:
    return state.guest.unpack(f"{count}Q", array) if count else ()


def create_program(state: State, place: Place, program: int, text: int, name: int, *numbers: int) -> None:
    """numbers: of headers, and where their texts and names lie."""
    count, headers, names = numbers
    if not 0 <= count <= MAX_HEADERS or not text:
        raise Refused(_INVALID_INPUT)
    title = (state.guest.text(name) if name else "") or "default_program"
    sources = [(title, _long_text(state, text))]
    for where, what in zip(_addresses(state, names, count), _addresses(state, headers, count), strict=True):
        sources.append((state.guest.text(where), _long_text(state, what)))
    state.guest.pack("Q", program, _keep(state, _Source(sources)))


def destroy_program(state: State, place: Place, program: int) -> None:
    (handle,) = state.guest.unpack("Q", program)
    _source(state, handle)
    del state.libraries[handle]
    state.guest.pack("Q", program, 0)


def add_name(state: State, place: Place, program: int, expression: int) -> None:
    source = _source(state, program)
    if source.ptx is not None:
        raise Refused(_NAMES_TOO_LATE)
    source.names.append(state.guest.text(expression))


def compile_program(state: State, place: Place, program: int, count: int, options: int) -> int:
    source = _source(state, program)
    if not 0 <= count <= MAX_PARAMETERS:
        raise Refused(_INVALID_INPUT)
    given = [state.guest.text(address) for address in _addresses(state, options, count)]
    for option in given:
        # Its value may stand in the next.
        if option.startswith("-") and not (_KEPT.fullmatch(option) or _KNOWN.fullmatch(option)):
            source.log = f"nvrtc: error: unrecognized option {option} found\n"
            raise Refused(_INVALID_OPTION)
    kept = tuple(option for option in given if _KEPT.fullmatch(option))
    if any(map(_LINKABLE.fullmatch, given)):
        kept += ("--relocatable-device-code=true",)
    state.meter.spend(COMPILE_INSTRUCTIONS)
    code = state.compile_unit(Wanted(-1, tuple(source.names), sources=tuple(source.sources), options=kept))
    source.ptx, source.entries = code.ptx, dict(code.entries)
    source.log = code.log or (code.reason if isinstance(code.reason, str) else "")
    return _COMPILATION if code.reason else 0


def _give_text(which: Callable[[_Source], str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return handlers for a text's size, its terminating zero included, and for the text."""

    def size(state: State, place: Place, program: int, out: int) -> None:
        state.guest.pack("Q", out, len(which(_source(state, program)).encode()) + 1)

    def text(state: State, place: Place, program: int, out: int) -> None:
        state.guest.write(out, which(_source(state, program)).encode() + b"\0")

    return size, text


def _compiled(source: _Source) -> str:
    if not source.ptx:
        raise Refused(_INVALID_PROGRAM)
    return source.ptx


def lowered_name(state: State, place: Place, program: int, expression: int, out: int) -> None:
    source = _source(state, program)
    if source.ptx is None:
        raise Refused(_NAMES_TOO_EARLY)
    name = source.entries.get(state.guest.text(expression))
    if name is None:
        raise Refused(_NO_SUCH_NAME)
    raw = name.encode() + b"\0"
    address = int(state.call_guest("grader_malloc", len(raw)))
    state.guest.write(address, raw)
    state.guest.pack("Q", out, address)


def load_module(state: State, place: Place, module: int, image: int) -> None:
    """From PTX; what NVRTC gives for a CUBIN here is PTX, too, and what nvcc would have made of a file is that file."""
    ptx = _long_text(state, image)
    if ptx.startswith(MODULE_OF_SOURCE):
        name, _end, text = ptx.removeprefix(MODULE_OF_SOURCE).partition("\n")
        state.meter.spend(COMPILE_INSTRUCTIONS)
        code = state.compile_unit(Wanted(-1, (), sources=((name, text),)))
        if not code.ptx:
            raise ProgramEnded(msg("programs.device_code", file=name, reason=code.reason))
        ptx = code.ptx
    if ".version" not in ptx[:100_000]:
        raise CudaError(_INVALID_IMAGE)
    state.meter.spend(INSTRUCTIONS_PER_BYTE * len(ptx))
    unit = len(state.unit_names)
    try:
        state.gpu.load(unit, ptx, "nvrtc")
    except Exception as error:
        raise CudaError(_INVALID_IMAGE) from error
    state.unit_names.append(f"module {unit}")
    state.guest.pack("Q", module, _keep(state, _Module(unit)))


def unload_module(state: State, place: Place, module: int) -> None:
    _module(state, module)
    del state.libraries[module]


def _module(state: State, handle: int) -> _Module:
    module = state.libraries.get(handle, {}).get("owned")
    if not isinstance(module, _Module):
        raise CudaError(_INVALID_HANDLE)
    return module


def get_function(state: State, place: Place, function: int, module: int, name: int) -> None:
    unit, symbol = _module(state, module).unit, state.guest.text(name)
    if state.gpu.entry(unit, symbol) is None:
        raise CudaError(_NOT_FOUND)
    handles = [handle for handle, kernel in state.kernels.items() if (kernel.unit, kernel.symbol) == (unit, symbol)]
    handle = handles[0] if handles else state.handle()
    if not handles:
        display, types = signature_of(state, symbol)
        state.kernels[handle] = Kernel(unit, symbol, display, types)
    state.guest.pack("Q", function, handle)


def get_global(state: State, place: Place, address: int, size: int, module: int, name: int) -> None:
    variable = state.gpu.variable(_module(state, module).unit, state.guest.text(name))
    if variable is None:
        raise CudaError(_NOT_FOUND)
    for out, value in ((address, variable.base), (size, variable.size)):
        if out:
            state.guest.pack("Q", out, value)


def launch(state: State, place: Place, function: int, *numbers: int, is_cooperative: bool = False) -> int:
    gx, gy, gz, bx, by, bz, shared_bytes, stream, parameters = numbers[:9]
    extra = 0 if is_cooperative else numbers[9]
    kernel = state.kernels.get(function)
    if kernel is None:
        raise CudaError(_INVALID_HANDLE)
    entry = entry_of(state, kernel)
    sizes = state.gpu.parameter_sizes(kernel.unit, entry)
    if extra and not parameters:
        values = _packed(state, extra, sizes)
    elif sizes and not parameters:
        raise CudaError(1)
    else:
        places = _addresses(state, parameters, len(sizes))
        values = [state.guest.read(at, size) for at, size in zip(places, sizes, strict=True)]
    if len(kernel.types) != len(sizes):
        # The name tells no types: what is an address of memory there is a pointer.
        kernel = replace(kernel, types=tuple("void*" if _is_address(state, value) else "?" for value in values))
    asked = Configured((gx, gy, gz), (bx, by, bz), shared_bytes, stream, place, is_cooperative)
    return launch_by_call(state, kernel, asked, values)


def _is_address(state: State, raw: bytes) -> bool:
    address = int.from_bytes(raw, "little") if len(raw) == 8 else 0
    return bool(address) and (state.memory.find(address) or shared_at(state, address)) is not None


def _packed(state: State, extra: int, sizes: list[int]) -> list[bytes]:
    """Return arguments that lie in one buffer, each at a multiple of its alignment."""
    buffer = size = 0
    for number in range(8):
        (key,) = state.guest.unpack("Q", extra + 16 * number)
        if key == _END:
            break
        (value,) = state.guest.unpack("Q", extra + 16 * number + 8)
        if key == _BUFFER:
            buffer = value
        elif key == _SIZE:
            (size,) = state.guest.unpack("Q", value)
    values, offset = [], 0
    for width in sizes:
        align = next(power for power in (16, 8, 4, 2, 1) if width % power == 0)
        offset += -offset % align
        if offset + width > size:
            raise CudaError(1)
        values.append(state.guest.read(buffer + offset, width))
        offset += width
    return values


# -- the driver's linker, on which that of nvJitLink stands.  What is linked is PTX here, as what NVRTC gives is.


@dataclass(slots=True)
class _Link:
    """texts: PTX to be linked.  image: where the program finds what came of it, 0 before."""

    texts: list[str] = field(default_factory=list)
    image: int = 0


def _link(state: State, handle: int) -> _Link:
    link = state.libraries.get(handle, {}).get("link")
    if not isinstance(link, _Link):
        raise CudaError(_INVALID_HANDLE)
    return link


def create_link(state: State, place: Place, handle: int) -> None:
    if len(state.libraries) >= MAX_HANDLES:
        raise CudaError(_NO_MEMORY)
    number = state.handle()
    state.libraries[number] = {"link": _Link()}
    state.guest.pack("Q", handle, number)


def add_to_link(state: State, place: Place, handle: int, data: int, size: int) -> None:
    link = _link(state, handle)
    if len(link.texts) >= MAX_TEXTS or not 0 < size <= MAX_SOURCE_BYTES:
        raise CudaError(_INVALID_VALUE)
    state.meter.spend(INSTRUCTIONS_PER_BYTE * size)
    text = state.guest.read(data, size).partition(b"\0")[0].decode("utf-8", errors="replace")
    if ".version" not in text[:100_000]:
        raise CudaError(_INVALID_IMAGE)
    link.texts.append(text)


def complete_link(state: State, place: Place, handle: int, image: int, size: int) -> None:
    link = _link(state, handle)
    if not link.texts:
        raise CudaError(_INVALID_VALUE)
    state.meter.spend(INSTRUCTIONS_PER_BYTE * sum(map(len, link.texts)))
    try:
        raw = linked_ptx(link.texts).encode() + b"\0"
    except DefinedTwice as error:
        raise CudaError(_INVALID_IMAGE) from error
    _release_image(state, link)
    link.image = int(state.call_guest("grader_malloc", len(raw)))
    state.guest.write(link.image, raw)
    state.guest.pack("Q", image, link.image)
    state.guest.pack("Q", size, len(raw))


def destroy_link(state: State, place: Place, handle: int) -> None:
    _release_image(state, _link(state, handle))
    del state.libraries[handle]


def _release_image(state: State, link: _Link) -> None:
    if link.image:
        state.call_guest("grader_free", link.image)
    link.image = 0


_ptx_size, _ptx = _give_text(_compiled)
_log_size, _log = _give_text(lambda source: source.log)
_NVRTC: Handlers = {
    "nvrtcCreateProgram": ("iiiiii", create_program),
    "nvrtcDestroyProgram": ("i", destroy_program),
    "nvrtcAddNameExpression": ("ii", add_name),
    "nvrtcCompileProgram": ("iii", compile_program),
    "nvrtcGetPTXSize": ("ii", _ptx_size),
    "nvrtcGetPTX": ("ii", _ptx),
    "nvrtcGetProgramLogSize": ("ii", _log_size),
    "nvrtcGetProgramLog": ("ii", _log),
    "nvrtcGetLoweredName": ("iii", lowered_name),
}
HANDLERS: Handlers = {
    **{name: (kinds, guarded(function)) for name, (kinds, function) in _NVRTC.items()},
    "cuModuleLoadData": ("ii", load_module),
    "cuModuleUnload": ("i", unload_module),
    "cuModuleGetFunction": ("iii", get_function),
    "cuModuleGetGlobal": ("iiii", get_global),
    "cuLaunchKernel": ("iiiiiiiiiii", launch),
    "cuLaunchCooperativeKernel": ("iiiiiiiiii", partial(launch, is_cooperative=True)),
    "cuLinkCreate": ("i", create_link),
    "cuLinkAddData": ("iii", add_to_link),
    "cuLinkComplete": ("iii", complete_link),
    "cuLinkDestroy": ("i", destroy_link),
}
