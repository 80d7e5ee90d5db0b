"""What is said to the compiler's process and by it, what its answer means for the student's files, and which programs
are other code on other devices.

The assembler says in its verbose log what a kernel takes: registers, shared memory, spills.

One that does not compile for the oldest device is compiled for the next on which it does.  And one that asks for the
device that it is compiled for, or copies asynchronously, which only newer devices do, is other code on these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from grader.compiler.diagnostics import Diagnostic, assembler_errors, diagnostics_of, static_arrays_too_large
from grader.message import msg

STAND_IN = "_source_.cu"
"""What the PTX calls a source whose own name would be escaped there, or could hold what an option or a message is made
of: one in a folder, with blanks, in Cyrillic.
"""


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """NVRTC is loaded and the process confined.

    headers: the folder of the device's headers, "" while they are not unpacked.
    """

    version: str
    has_landlock: bool
    headers: str


class Unusable(msgspec.Struct, frozen=True, tag="unusable"):
    """There will be no compiling.

    why: "no_toolkit" (NVRTC brings no headers and no toolkit does; detail: its version), "no_headers" (they cannot be
      unpacked), "unusable" (NVRTC cannot be loaded).
    """

    why: Literal["no_toolkit", "no_headers", "unusable"]
    detail: str


class Compile(msgspec.Struct, frozen=True, tag="compile"):
    """A source to compile; see `grader.compiler.worker.compile_source`."""

    file: str
    source: bytes
    headers: Mapping[str, bytes]
    names: Sequence[str]
    options: Sequence[str]
    cpu_seconds: float
    data_bytes: int


class Compiled(msgspec.Struct, frozen=True, tag="compiled"):
    """What came of it.

    status: "ok", "errors" (of the source), "no_memory" (beyond this process's bound), "refused" (NVRTC's own reason,
      in the log).
    symbols: lowered name by name expression.
    """

    status: Literal["ok", "errors", "no_memory", "refused"]
    log: bytes
    ptx: bytes = b""
    cubin: bytes = b""
    symbols: Mapping[str, bytes] = {}


FROM_COMPILER = msgspec.msgpack.Decoder(Ready | Unusable | Compiled)
"""Made when this is imported: see `grader.processes.channel.Channel`."""


VERBOSE = "--ptxas-options=-v"

# A program may put such words into the log too (`#pragma message`), but not at the beginning of a line.
_COMPILING_ENTRY = re.compile(r"^ptxas info\s*: Compiling entry function '([^'\n]+)' for '[^'\n]+'", re.MULTILINE)
_SPILLS = re.compile(
    r"^(?:ptxas)?[ .]*\b(\d{1,9}) bytes stack frame, (\d{1,9}) bytes spill stores, (\d{1,9}) bytes spill loads",
    re.MULTILINE,
)
_REGISTERS = re.compile(r"^ptxas info\s*: Used (\d{1,9}) registers([^\n]*)", re.MULTILINE)
_SHARED = re.compile(r"\b(\d{1,9}) bytes smem")


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel takes.  shared_bytes: static ones; stack_bytes: of a thread, in local memory."""

    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


def resources_of(log: str) -> dict[str, Resources]:
    """Resources by the kernel's symbol, from a log made with `VERBOSE`; {} when the log tells nothing."""
    resources = {}
    pieces = _COMPILING_ENTRY.split(log)
    for symbol, text in zip(pieces[1::2], pieces[2::2], strict=True):
        registers, spills = _REGISTERS.search(text), _SPILLS.search(text)
        if registers is None:
            continue
        shared = _SHARED.search(registers[2])
        stack, stores, loads = (int(n) for n in spills.groups()) if spills else (0, 0, 0)
        resources[symbol] = Resources(int(registers[1]), int(shared[1]) if shared else 0, stack, stores, loads)
    return resources


MAX_PTX_BYTES = 16 << 20

_ENTRY = re.compile(r"\.entry\s+([\w$.]+)")


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What came of compiling one source.

    ok: the source compiled, and every kernel that was asked for is in the PTX.
    entries: symbol in the PTX by name expression, for those found; `missing` are the others.
    reason: "" when ok, else "errors", "missing_entry" (PTX and the entries found are there all the same), "timeout"
      (wall clock or processor time), "crashed" (the compiler ran out of its own bound on memory or fell over, twice),
      "forbidden_include".
    log: the compiler's own words about the student's file, at most 32 KiB; untrusted text.
    resources: what each kernel takes, by symbol; compiled to machine code only.
    """

    ok: bool
    ptx: str = ""
    cubin: bytes = b""
    entries: Mapping[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    log: str = ""
    nvrtc_version: str = ""
    reason: str = ""
    missing: tuple[str, ...] = ()
    resources: Mapping[str, Resources] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")


@dataclass(frozen=True, slots=True)
class Asked:
    """What was to be compiled.

    given: the student's name of the file; file: the one that it is compiled under.  source: its text.
    in_memory: the headers that it may include.  names, architecture: as in `CompilerProcess.compile`.
    """

    given: str
    file: str
    source: str
    in_memory: Mapping[str, str]
    names: Sequence[str]
    architecture: str

    @property
    def is_machine_code(self) -> bool:
        return self.architecture.startswith("sm_")


def result_of(answer: Compiled, ready: Ready, asked: Asked, as_ptx: Callable[[], str]) -> CompileResult:
    """What the answer of a compiler that judged the source comes to; as_ptx: compiles it to PTX alone."""
    # NVRTC puts a NUL between the compiler's log and the assembler's.
    log_text = answer.log.decode("utf-8", errors="replace").replace("\0", "")
    diagnostics, log = diagnostics_of(log_text, {asked.file: asked.source, **asked.in_memory})
    has_error = any(d.severity == "error" for d in diagnostics)
    if answer.status != "ok" and not has_error and "out of memory" in log_text:
        return failed(ready, "crashed")
    if answer.status != "ok" and not has_error:
        # What the assembler refuses stands in the PTX, which knows the lines.
        errors = assembler_errors(log_text, as_ptx() if asked.is_machine_code else "", asked.file, asked.source)
        diagnostics += errors or (Diagnostic(asked.given, 1, "error", msg("compiler.error_elsewhere")),)
    if asked.file != asked.given:
        diagnostics = tuple(replace(d, file=asked.given) if d.file == asked.file else d for d in diagnostics)
    if answer.status != "ok":
        return failed(ready, "errors", diagnostics, log)
    if len(answer.ptx) > MAX_PTX_BYTES:
        large = msg("compiler.too_large", megabytes=len(answer.ptx) >> 20, limit=MAX_PTX_BYTES >> 20)
        return failed(ready, "errors", (*diagnostics, Diagnostic(asked.given, 1, "error", large)), log)
    ptx = answer.ptx.decode("utf-8", errors="replace")
    if not asked.is_machine_code:
        too_large = static_arrays_too_large(ptx, asked.given, asked.source)
        if too_large is not None:
            return failed(ready, "errors", (*diagnostics, too_large), log)
    # Success is not believed: a NUL or a stray byte can end a source early, with success and an empty log.
    present = set(_ENTRY.findall(ptx))
    symbols = {name: symbol.decode() for name, symbol in answer.symbols.items()}
    entries = {name: symbol for name, symbol in symbols.items() if symbol in present}
    missing = tuple(name for name in dict.fromkeys(asked.names) if name not in entries)
    return CompileResult(
        ok=not missing,
        ptx=ptx,
        cubin=answer.cubin,
        entries=entries,
        diagnostics=diagnostics,
        log=log,
        nvrtc_version=ready.version,
        reason="missing_entry" if missing else "",
        missing=missing,
        resources=resources_of(log_text),
    )


def failed(ready: Ready, reason: str, diagnostics: tuple[Diagnostic, ...] = (), log: str = "") -> CompileResult:
    """A compilation that gave no program, for a reason of `CompileResult`."""
    return CompileResult(ok=False, diagnostics=diagnostics, log=log, nvrtc_version=ready.version, reason=reason)


NEWER = {"compute_75": ("compute_80", "compute_90")}
"""Virtual architectures that are tried after one, in this order.  A device's own (sm_…) is what the program runs on."""
_LACKING = re.compile(
    r'identifier "__\w+" is undefined|no instance of overloaded function "atomic|is not supported for this GPU arch'
    r'|namespace "cooperative_groups(?:::\w+)*" has no member|no suitable user-defined conversion from "__(?:nv_b|h)'
    r'|incomplete type "nvcuda::wmma|name followed by "::" must be a class or namespace name'
    r"|requires \.target sm_\w+ or higher|not supported on \.target"
)
"""What is said of a function or type that headers declare for newer devices only, slips read so as well; and what the
assembler says of an instruction that they alone have."""

KNOWN = (80, 86, 87, 89, 90, 100, 120)
"""Virtual architectures after 75 that every NVRTC 13 compiles for."""
ALWAYS_ASKED = (80, 90, 120)
"""Those of them for which a program is compiled that asks for its device, whatever numbers it compares that with."""
_COPIES = re.compile(r"\bmemcpy_async|__pipeline_|\bcuda/pipeline\b|\bcp\.async")
"""What copies to shared memory asynchronously: to the oldest device these are loads and stores."""
_ASKS = re.compile(
    # A name may be put together of two, and the compiler's own function takes it as text.
    r"__CUDA_ARCH|__nvvm_reflect|\bNV_(?:IF_|DISPATCH|PROVIDES|IS_|HAS_)|_PTX_ARCH|\bcuda/arch|\barch_id\b|\barch_traits"
    r"|__CUDA_MINIMUM_ARCH__|__CUDA_AMPERE|##"
)
_NUMBER = re.compile(r"\b\d{2,4}\b")


def copies_asynchronously(texts: Iterable[str]) -> bool:
    """Whether a program's texts speak of asynchronous copies."""
    return any(_COPIES.search(text) for text in texts)


def asks_for_device(texts: Iterable[str]) -> bool:
    """Whether a program's texts may ask for the architecture that they are compiled for."""
    return any(_ASKS.search(text) for text in texts)


def other_targets(texts: Iterable[str]) -> tuple[str, ...]:
    """Newer virtual architectures for which a program may be other code than for the oldest, oldest first.

    A program that asks is looked at on both sides of every number that it may compare the answer with.
    """
    texts = tuple(texts)
    wanted: set[int] = {80} if copies_asynchronously(texts) else set()
    if asks_for_device(texts):
        wanted |= set(ALWAYS_ASKED)
        numbers = {int(number) for text in texts for number in _NUMBER.findall(text)}
        for number in numbers | {number // 10 for number in numbers if number >= 100}:
            below = [other for other in KNOWN if other < number]
            from_there = [other for other in KNOWN if other >= number]
            if below and from_there:
                # Past a device that is named as well: what is said may hold for that one alone.
                wanted |= {below[-1], *from_there[: 1 + (number in KNOWN)]}
    return tuple(f"compute_{target}" for target in sorted(wanted))


def for_oldest(
    compile_for: Callable[[str], CompileResult], architecture: str, texts: Iterable[str] = ()
) -> tuple[str, CompileResult]:
    """The architecture that a program of these texts was compiled for, by `compile_for`, and what came of it.

    Where it compiles for none, what is said is what was said of the first.
    """
    first = compile_for(architecture)
    if first.ok or not (
        any(_lacks(d.message) for d in first.errors)
        # `#if __CUDA_ARCH__ < 800`, `#error`: the words are the program's own.
        or (first.reason == "errors" and architecture in NEWER and asks_for_device(texts))
    ):
        return architecture, first
    for newer in NEWER.get(architecture, ()):
        result = compile_for(newer)
        if result.ok or result.reason == "missing_entry":
            return newer, result
    return architecture, first


def _lacks(output: object) -> bool:
    return isinstance(output, str) and bool(_LACKING.search(output))


def symbol_in(symbols: Collection[str], kernel: str, symbol: str) -> str | None:
    """Return what compiled code calls a kernel that another compiler calls `symbol`; None where that is not clear.

    Each compiler has a name of its own for a namespace without one.
    """
    if symbol in symbols:
        return symbol
    plain = f"{len(kernel)}{kernel}"
    tail = symbol[symbol.rfind(plain) :] if plain in symbol else ""
    alike = [other for other in symbols if tail and other.endswith(tail)]
    return alike[0] if len(alike) == 1 else None
