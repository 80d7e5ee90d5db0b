"""Device code of a program: by NVRTC, whose code is nvcc's, and by the host's compiler where NVRTC has none.

NVRTC's confined process compiles each file at once, and again for the templates asked for.  What it cannot be asked
for, templates over a lambda's or a local type and kernels that a template of the host launches, clang gives with both
halves of a file, so that every kernel which the host registers is there, by the name that it is registered by.  Clang
has no library of arithmetic: functions of that are NVRTC's, see `missing`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader.compiler.diagnostics import Diagnostic
from grader.compiler.headers import reads_beyond
from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult, for_oldest
from grader.message import Message, msg
from grader.processes.limits import landlock_version
from grader.programs.sandbox.process import Code, Wanted
from grader.programs.sources import Program
from grader.programs.toolchain import compile
from grader.programs.toolchain.advance import RUNTIME, device_half, precompiled, thrust_folder
from grader.programs.toolchain.compile import Diagnostic as HostDiagnostic
from grader.programs.toolchain.zig import Library
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

_FUNCTIONS = "grader_functions.cu"
_RELOCATABLE = ("--relocatable-device-code=true",)
# With these options alone NVRTC declares what kernels launch kernels by; nvcc wants them as well.
_OF_DEVICE_RUNTIME = re.compile(r'device-side kernel launch|identifier "cuda[A-Z]\w*" is undefined')


# Headers of libraries bring these, and are no device code themselves.
_SHORT_FLOATS = {"cuda_fp16.h": r"(?:__)?half2?|__nv_half2?", "cuda_bf16.h": r"(?:__)?nv_bfloat162?"}


def _with_short_floats(sources: Mapping[str, str]) -> Mapping[str, str]:
    """Sources, the first of which includes the headers of those 16-bit numbers that they use and include none of."""
    whole = "\n".join(sources.values())
    missing = [
        name
        for name, types in _SHORT_FLOATS.items()
        if not re.search(r"#\s*include\s*[<\"](?:cuda_(?:fp16|bf16|fp8|fp4)|mma)\.h", whole)
        and re.search(rf"(?<![\w$])(?:{types})(?![\w$])", whole)
    ]
    if not missing:
        return sources
    first, *_others = sources
    lines = "".join(f"#include <{name}>\n" for name in missing)
    return {**sources, first: f"{lines}#line 1\n{sources[first]}"}


class DeviceCompiler:
    """PTX of a program's files; each is compiled once, in a thread beside whatever goes on, and again for templates.

    at_once: before anything asks for it, as something will.
    on_gpu: machine code as well, for a GPU of that architecture.
    clang: what makes clang's code, or that code by the files' numbers, where it is there.
    compiler: one that is there already, and stays.
    is_trial: of a change that is only tried: what nvcc alone refuses, and clang alone compiles, grading it will show.
    """

    def __init__(
        self,
        program: Program,
        architecture: str,
        clang: Library | Mapping[int, Code],
        at_once: bool,
        on_gpu: bool = False,
        compiler: CompilerProcess | None = None,
        is_trial: bool = False,
    ) -> None:
        self._program = program
        self._architecture = architecture
        # Its assembler's code; what it is assembled of may be of a version that the driver does not know.
        self._nvrtc_architecture = architecture.replace("compute_", "sm_", 1) if on_gpu else architecture
        self._library = clang if isinstance(clang, Library) else None
        self.compiler = compiler
        self._is_lent = compiler is not None
        self._is_trial = is_trial
        self._first: dict[int, CompileResult] = {}
        self._compiled_for: dict[int, str] = {}
        self._launching: set[int] = set()
        """Files whose kernels launch kernels."""
        self._by_clang = {} if isinstance(clang, Library) else dict(clang)
        self._thread = _Thread(self._compile_all, self._start_compiler)
        self._clang = _Thread(self._compile_whole)
        if at_once:
            self._thread.begin()
            if compile.has_device_lambdas(program.whole) or compile.uses_thrust(program.whole):
                self._clang.begin()

    def close(self) -> None:
        self._thread.join()
        self._clang.join()
        if self.compiler is not None and not self._is_lent:
            self.compiler.close()

    def _start_compiler(self) -> None:
        self.compiler = self.compiler or CompilerProcess()

    def _compile_all(self) -> None:
        for number in range(len(self._program.units)):
            architecture, result = self._compile(number, [])
            if any(_OF_DEVICE_RUNTIME.search(str(d.message)) for d in result.errors):
                self._launching.add(number)
                architecture, result = self._compile(number, [])
            self._compiled_for[number], self._first[number] = architecture, result

    def _compile(self, unit: int, names: Sequence[str], architecture: str = "") -> tuple[str, CompileResult]:
        assert self.compiler is not None
        options = (
            *self._program.macro_options,
            *self._program.arithmetic,
            *(_RELOCATABLE if unit in self._launching or self._program.is_linked else ()),
            *(("--std=c++20",) if compile.is_cpp20(self._program.whole) else ()),
        )
        sources = _with_short_floats(self._program.device[self._program.units[unit]])
        compile_for = partial(self.compiler.compile, sources, list(names), options=options)
        compiled_for, result = for_oldest(compile_for, architecture or self._nvrtc_architecture)
        if self._is_trial:
            return compiled_for, result
        again = partial(self.compiler.compile, names=list(names), architecture=compiled_for, options=options)
        return compiled_for, as_nvcc(result, sources, again)

    def _compile_whole(self) -> None:
        for number in range(len(self._program.units)):
            if number not in self._by_clang:
                self._by_clang[number] = self._whole(number)

    def whole(self) -> Mapping[int, Code]:
        """Return clang's code of each file, by its number."""
        self._clang.done()
        return self._by_clang

    def code(self, wanted: Wanted) -> Code:
        """Device code of a file: NVRTC's, clang's where that has none or is to have every kernel.

        Raises InternalError: a compiler cannot be used.
        """
        if wanted.sources:
            return self._own_source(wanted)
        if not wanted.whole:
            code = self._by_nvrtc(wanted.unit, wanted.names)
            if code.ptx or (self._is_trial and not compile.has_device_lambdas(self._program.whole)):
                return code
        self._thread.done()
        self._clang.done()
        whole = self._by_clang[wanted.unit]
        if whole.ptx or wanted.whole or compile.uses_thrust(self._program.whole):
            return whole
        # What is wrong with a program NVRTC says as nvcc does.
        return code

    def _by_nvrtc(self, unit: int, names: Sequence[str]) -> Code:
        self._thread.done()
        result = self._first[unit]
        if names and self.compiler is not None and (result.ok or result.reason == "missing_entry"):
            _, result = self._compile(unit, names, self._compiled_for[unit])
        return Code(result.ptx, "" if result.ptx else complaint(result), cubin=result.cubin)

    def _own_source(self, wanted: Wanted) -> Code:
        """Compile what a program hands to NVRTC while it runs."""
        self._thread.done()
        assert self.compiler is not None
        texts = dict(wanted.sources)
        result = self.compiler.compile(texts, list(wanted.names), self._architecture, options=tuple(wanted.options))
        return Code(result.ptx, "" if result.ok else complaint(result), log=result.log, entries=dict(result.entries))

    def _whole(self, unit: int) -> Code:
        """Compile a file by clang, with NVRTC's code of the functions that clang lacks."""
        program = self._program
        assert self._library is not None, "what was compiled beforehand has clang's code of every file"
        compiled = compile_device(program, program.units[unit], self._library, self._architecture)
        if not compiled.ptx:
            first = compiled.diagnostics[0] if compiled.diagnostics else None
            return Code("", f"{first.file}:{first.line}: {first.text}" if first else compiled.reason, "clang")
        source = missing(compiled.ptx)
        if not source:
            return Code(compiled.ptx, "", "clang")
        self._thread.done()
        assert self.compiler is not None
        functions = self.compiler.compile({_FUNCTIONS: source}, [], self._architecture, options=_RELOCATABLE)
        if not functions.ptx:
            return Code("", complaint(functions), "clang")
        return Code(joined(compiled.ptx, functions.ptx), "", "clang")

    def diagnostics(self, unit: int) -> tuple[Diagnostic, ...]:
        """Return NVRTC's diagnostics of a file."""
        self._thread.join()
        code = self._first.get(unit)
        return code.diagnostics if code is not None else ()


class _Thread:
    """Work that is done once, beside other work; what it raises is raised where its end is waited for.

    before: done first, by the thread that begins it: a process that is started lives as long as the thread it is of.
    """

    def __init__(self, work: Callable[[], None], before: Callable[[], None] = lambda: None) -> None:
        self._work = work
        self._before = before
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: Exception | None = None
        self._is_begun = False

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:
            self._error = error

    def begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._before()
            self._thread.start()

    def join(self) -> None:
        """Wait for its end, if it has begun."""
        if self._is_begun:
            self._thread.join()

    def done(self) -> None:
        self.begin()
        self.join()
        if self._error is not None:
            raise self._error


def complaint(result: CompileResult) -> str | Message:
    """Return the first error as "file:line: text", one without a place of its own as a message, or the reason."""
    errors = result.errors
    if not errors:
        return result.reason
    first = errors[0]
    return first.message if isinstance(first.message, Message) else f"{first.file}:{first.line}: {first.message}"


MAX_PTX_BYTES = 128 << 20
"""The most that clang may make of one file: CUB's sorts of two types by keys take more than 48 MiB, most of them places
in its headers."""

_FILE = re.compile(r'^\t\.file\t(\d+) "([^"]*)"(?: "([^"]*)")?$', re.M)
_LOC = re.compile(r"^(\t\.loc\t)(\d+) (\d+) (\d+)[ \t]*//(.*)$", re.M)
_SITE = re.compile(r"@\[ (.+?):(\d+):(\d+)")
# `grader_nvcc::sinf(float)` and its like, declared in `grader_device_math.h`.
_WANTED = re.compile(r"^\.extern \.func [^;]*?\b(_ZN11grader_nvcc(\d+)(\w+))\n\([^)]*\)\n;\n", re.M | re.S)
_TYPES = {
    "f": "float", "d": "double", "i": "int", "j": "unsigned", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "Pf": "float *", "Pd": "double *", "Pi": "int *", "PKf": "const float *",
    "PKd": "const double *",
}  # fmt: skip
# `S0_`: the pointer that came before, once more.
_TYPE = re.compile(r"PK?[a-z]|S\d*_|[a-z]")
_HEADER = re.compile(r"^\.(?:version|target|address_size)\b.*$", re.M)
_LINES = re.compile(r"^\t\.(?:loc|file)\b.*\n?", re.M)


@dataclass(frozen=True, slots=True)
class DevicePtx:
    """PTX of a file, or "" and why there is none, as in `HostProgram`."""

    ptx: str
    diagnostics: tuple[HostDiagnostic, ...] = ()
    reason: str = ""


def _arithmetic_by_clang(options: Sequence[str]) -> list[str]:
    """NVRTC's options of how device code rounds as clang's, the last of each kind."""
    chosen = {"ftz": "false", "fmad": "true", "prec-div": "true", "prec-sqrt": "true"}
    flags = []
    for option in options:
        name, _, value = option.removeprefix("--").partition("=")
        if name == "use_fast_math":
            chosen = {"ftz": "true", "fmad": "true", "prec-div": "false", "prec-sqrt": "false"}
            flags.append("-fgpu-approx-transcendentals")
        else:
            chosen[name] = value
    if chosen["ftz"] == "true":
        flags.append("-fgpu-flush-denormals-to-zero")
    if chosen["fmad"] == "false":
        flags.append("-ffp-contract=off")
    for name, flag in (("prec-div", "-nvptx-prec-divf32=0"), ("prec-sqrt", "-nvptx-prec-sqrtf32=0")):
        flags += ["-mllvm", flag] if chosen[name] == "false" else []
    return flags


def compile_device(program: Program, unit: str, library: Library, architecture: str) -> DevicePtx:
    """Compile the device half of the file `unit` of a program.  architecture: "compute_75"."""
    files = program.whole
    if compile.too_long(files) is not None:
        return DevicePtx("", reason="long")
    if landlock_version() < 1 and any(reads_beyond(text) for text in files.values()):
        return DevicePtx("", reason="beyond")
    half = device_half(architecture, thrust_folder() if compile.uses_thrust(files) else None)
    # Headers that are read in advance are of the same arithmetic.
    half = replace(half, flags=(*half.flags, *_arithmetic_by_clang(program.arithmetic)))
    half = half.linkable() if program.is_linked else half
    half = half.as_cpp20() if compile.is_cpp20(files) else half
    headers = compile.headers_in_advance(files)
    with compile.written(files) as folder:
        more = [f"-fdebug-prefix-map={folder}/src/=", f"-fdebug-prefix-map={folder}/src=."]
        compilation = compile.Compilation(program.units, folder, library, half, program.macro_options)
        for read in dict.fromkeys((headers, RUNTIME)):
            with precompiled(read, library, half) as first:
                done = compile.compile_file(compilation, unit, first, "device.ptx", more)
            if done.reason != "errors":
                break
        if done.reason:
            return DevicePtx("", done.diagnostics, done.reason)
        output = folder / "out" / "device.ptx"
        if output.stat().st_size > MAX_PTX_BYTES:
            return DevicePtx("", reason="limit")
        return DevicePtx(_on_own_lines(output.read_text(encoding="utf-8", errors="replace"), unit))


def _on_own_lines(ptx: str, unit: str) -> str:
    """Return `ptx` with code inlined from headers on the line of the program's file that it was inlined into."""
    files = {match[1]: match[3] or match[2] for match in _FILE.finditer(ptx)}
    own = next((number for number, name in files.items() if name.removeprefix("./") == unit), "")

    def placed(loc: re.Match[str]) -> str:
        if loc[2] == own or not own:
            return f"{loc[1]}{loc[2]} {loc[3]} {loc[4]}"
        sites = (site for site in _SITE.finditer(loc[5]) if site[1].removeprefix("./") == unit)
        site = next(sites, None)
        return f"{loc[1]}{own} {site[2]} {site[3]}" if site else f"{loc[1]}{loc[2]} {loc[3]} {loc[4]}"

    return _LOC.sub(placed, ptx)


def missing(ptx: str) -> str:
    """Return what NVRTC must compile, as relocatable code, so that `ptx` lacks no function; "" where it lacks none."""
    lines = []
    for match in _WANTED.finditer(ptx):
        length = int(match[2])
        name, types = match[3][:length], _TYPE.findall(match[3][length:].removeprefix("E"))
        pointer = next((code for code in types if code.startswith("P")), "")
        parameters = ", ".join(f"{_TYPES.get(code, _TYPES.get(pointer))} a{n}" for n, code in enumerate(types))
        arguments = ", ".join(f"a{number}" for number in range(len(types)))
        lines.append(
            f"namespace grader_nvcc {{ __device__ auto {name}({parameters}) {{ return ::{name}({arguments}); }} }}"
        )
    return "\n".join(lines)


def joined(ptx: str, functions: str) -> str:
    """`ptx` with the `functions` that were `missing`, as NVRTC has written them: their lines are nobody's."""
    functions = _LINES.sub("", _HEADER.sub("", functions))
    functions = functions.partition("\t.section")[0].replace(".visible .func", ".func")
    start = _HEADER.search(ptx)
    end = ptx.find("\n", ptx.rfind(".address_size")) + 1
    assert start is not None
    # What they are made of, tables among it, stands before what uses it.
    return ptx[:end] + functions + _WANTED.sub("", ptx[end:])


# -- functions of the host that device code calls: nvcc refuses that, and NVRTC, which takes a function without an
# execution space for one of the device, does not.

_DEFINED = re.compile(r"#[ \t]*define[ \t]+(\w+)")
_UNKNOWN = re.compile(r'identifier "(\w+)" is undefined')


def as_nvcc(
    result: CompileResult, texts: Mapping[str, str], compile_texts: Callable[[Mapping[str, str]], CompileResult]
) -> CompileResult:
    """What nvcc makes of a file that NVRTC compiled: `result`, or that it was refused for calling the host's functions.

    Called is what device code lacks when these are taken out of it; a local variable of the same name is not.

    texts: what was compiled, by file, the main one first: device code, and what it mentions of the host's.
    compile_texts: compiles such texts.
    """
    if result.reason not in ("", "missing_entry"):
        return result
    without, lines = _without_host_functions(texts)
    errors = compile_texts(without).diagnostics if lines else ()
    calls = [(d, match[1]) for d in errors if d.severity == "error" and (match := _UNKNOWN.search(str(d.message)))]
    refused = tuple(
        replace(
            call,
            message=msg("compiler.host_function", name=name, line=lines[name]),
            hint=msg("compiler.hint_host_function", line=lines[name]),
            cause=lines[name],
        )
        for call, name in calls
        if name in lines
    )
    if not refused:
        return result
    return replace(result, ok=False, ptx="", cubin=b"", entries={}, diagnostics=refused, reason="errors")


def _without_host_functions(texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, int]]:
    """Return texts without the functions of the main one that no execution space is given, and where these stand."""
    unit, text = next(iter(texts.items()))
    parsed = parse(SourceText(Path(unit), text, "utf-8"))
    macros = {name for part in texts.values() for name in _DEFINED.findall(part)}
    data, lines = bytearray(parsed.data), dict[str, int]()
    for item in parsed.items:
        if item.kind not in ("function", "prototype") or item.is_device or item.namespace or not item.active:
            continue
        whole = parsed.data[item.start : item.end]
        # What a macro stands for may well be __device__.
        head = set(re.findall(r"\w+", whole.partition(b"(")[0].decode("utf-8", errors="replace")))
        if "constexpr" in item.qualifiers or "operator" in head or head & macros:
            continue
        data[item.start : item.end] = re.sub(rb"[^\n]", b" ", whole)
        if item.kind == "function":
            lines[item.name] = item.node.start_point.row + 1
    return {**texts, unit: data.decode("utf-8", errors="replace")}, lines
