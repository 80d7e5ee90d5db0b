"""Host code of a program → one WebAssembly module, by a compiler that sees the program's files and its own only.

How much it has to do is counted before it is asked to.  Some of its passes take time with the square of a function's
length, some with that of the number of kernels: a thousand times the length of a course's program is a million times
its work.  What is beyond the bounds here is not compiled, on any machine; what is within them takes a few seconds.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader.compiler.headers import STAND_INS, as_nvcc_sees, outside_include, reads_beyond
from grader.preprocessor import CLANG_STEPS, steps_of_one, token_sizes
from grader.processes.limits import EXECUTE, READ, WRITE, landlock_version
from grader.programs.toolchain import advance, zig
from grader.programs.toolchain.zig import Library

MAX_IN_FUNCTION = 10_000
"""Tokens of one function, its macros written out; a `main` of five hundred lines has about as many as four thousand."""
MAX_IN_PROGRAM = 150_000
"""Tokens of all files; one of a thousand lines has about ten thousand."""
_WEIGHTS = {"__global__": 150}
"""Cost of reading a word, where it is more than one: each kernel is registered beside all others."""
_DATA = re.compile(r"[\d,]|\.\d")
_ROWS = frozenset("{}-+")
"""Numbers, the commas between them, and in an initialiser these: tables take no time."""
_HEAD = 64
"""Tokens of a declaration that tell what it declares."""
_SCOPES = frozenset({"namespace", "class", "struct", "union", "enum", "extern"})


@dataclass(frozen=True, slots=True)
class TooLong:
    """Where files go beyond a bound: file, line, counted from 1, of the function or of the last token; the bound."""

    file: str
    line: int
    limit: int
    in_function: bool


def too_long(files: Mapping[str, str]) -> TooLong | None:
    """Return where a program's files, macros expanded, go beyond what is compiled; None where they do not."""
    total = here = start = depth = 0
    file = last = ""
    is_table = False
    head: list[str] = []
    for name, offset, token, size in token_sizes(files, _WEIGHTS):
        if name != file:
            file, here, start, depth, head = name, 0, offset, 0, []
        if _DATA.match(token):
            continue
        before, last = last, token
        if not (depth and is_table and token in _ROWS):
            total += size
            here += size
        if here > MAX_IN_FUNCTION:
            return TooLong(file, _line(files[file], start), MAX_IN_FUNCTION, in_function=True)
        if total > MAX_IN_PROGRAM:
            return TooLong(file, _line(files[file], offset), MAX_IN_PROGRAM, in_function=False)
        if depth:
            depth += (token == "{") - (token == "}")
            if depth:
                continue
        elif token == "{" and not _opens_scope(head):
            depth = 1
            is_table = before in {"=", "]"}
            continue
        elif token not in {"{", "}", ";"}:
            if not head:
                # What comes before it is another declaration.
                here, start = size, offset
            if len(head) < _HEAD:
                head.append(token)
            continue
        head = []
    return None


def _opens_scope(head: list[str]) -> bool:
    """Whether a brace after `head` opens a scope of declarations: a namespace, a class, `extern "C"`."""
    words = _SCOPES.intersection(head)
    return bool(words) and "(" not in head and "=" not in head


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


STACK_BYTES = 8 << 20
"""As much as a thread of Linux has."""

_MESSAGE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: (?P<kind>(?:fatal )?error|warning): (?P<text>.*)$", re.M)
_UNUSED = "[-Wunused-result]"
_UNDEFINED = re.compile(r"undefined symbol: (?P<name>.+)")
_TWICE = re.compile(r"duplicate symbol: (?P<name>.+)")
# What clang calls by name, without a declaration of ours that could say where it comes from.
_LAUNCH_SYMBOLS = (
    "__cudaRegisterFatBinary",
    "__cudaUnregisterFatBinary",
    "__cudaRegisterFunction",
    "__cudaRegisterVar",
    "__cudaRegisterManagedVar",
)
# What it calls in their place, one name a file, in a program whose device code is linked.
_OF_LINKED = re.compile(rb"__cudaRegisterLinkedBinary\w+")
_INCLUDE = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*[<"](?P<name>[^<>"\n]+)[>"]""", re.M)
_FOR_C = frozenset(["error.h", "omp.h", "time.h", "unistd.h", "sys/mman.h", "sys/resource.h", "sys/times.h"])
"""Headers of ours that a compiler of C takes; the others are C++, as CUDA's are here."""
_CPP20 = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<(?:concepts|span|ranges|numbers|bit|format|source_location|compare|coroutine)>"
    r"|\b(?:template\s*<\s*std::\w+\s+\w+|concept\s+\w+\s*=|consteval\s|constinit\s|co_(?:await|yield|return)\b|<=>)"
    r"|\bstd::(?:span|numbers|ranges|views|bit_cast|integral|floating_point|same_as|remove_cvref_t|type_identity_t?)\b",
    re.M,
)
_MISSING = re.compile(r"use of undeclared identifier|expected expression|expected ';'|expected '\}'")
# Without a file before it: no text of a program stands at the beginning of a line.
_NO_MEMORY = re.compile(r"^LLVM ERROR: out of memory|^libc\+\+abi: .*std::bad_alloc", re.M)
_OURS = re.compile(
    r"^error: unable to read PCH file|^(?:LLVM ERROR|(?:fatal )?error|wasm-ld: error)\b.*No space left on device", re.M
)
# Device code within host code: a lambda's qualifier stands behind its brackets.
_LAMBDA = re.compile(r"\][^][;{}]{0,400}?__device__")
# What is missing may be a name that device code has.
_OF_DEVICE = re.compile(r"__device__ function|no matching function for call to|use of undeclared identifier '__")
_OF_LIBRARY = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](thrust|cub)/", re.M)
_INCLUDES_USUAL = re.compile(rf"^[ \t]*#[ \t]*include[ \t]*<(?:bits/stdc\+\+\.h|{'|'.join(advance.USUAL)})>", re.M)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error of the compiler or of the linker: `line` is 0 where it names none."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class HostProgram:
    """What came of a program's host code.

    module: WebAssembly; b"" when it did not compile.
    unused_results: (file, line) of calls of the CUDA API whose error nobody looks at, in the compiler's judgement.
    reason: "" or "errors", "long" (not compiled: `beyond` says why), "beyond" (not compiled: it may read files that are
      not its own, and nothing here would keep the compiler from that; the diagnostic is where), "limit" (the compiler
      took too much memory, or crashed), "time" (too much processor time), "hang" (it did not end, and took none),
      "undefined" (a function is nowhere), "twice" (it is there twice).
    """

    module: bytes
    diagnostics: tuple[Diagnostic, ...] = ()
    unused_results: frozenset[tuple[str, int]] = frozenset()
    reason: str = ""
    beyond: TooLong | None = None


def compile_program(
    units: Sequence[str],
    files: Mapping[str, str],
    library: Library,
    architecture: str = "compute_75",
    options: Sequence[str] = (),
    is_linked: bool = False,
) -> HostProgram:
    """Compile and link.

    units: names of the files to be compiled, in the order of the command line.
    files: text of these and of the program's own headers, by path relative to the program's folder.
    architecture: the virtual one that its kernels are compiled for.
    options: of the command line: macros, as "-DN=5".
    is_linked: device code of one file uses that of another.
    """
    beyond = too_long(files)
    if beyond is not None:
        return HostProgram(b"", reason="long", beyond=beyond)
    if landlock_version() < 1:
        for name, text in files.items():
            reading = reads_beyond(text)
            if reading is not None:
                line = text.count("\n", 0, max(text.find(reading), 0)) + 1
                return HostProgram(b"", (Diagnostic(name, line, reading),), reason="beyond")
    for name, text in files.items():
        outside = outside_include(name, text)
        if outside is not None:
            line = text.count("\n", 0, max(text.find(outside), 0)) + 1
            return HostProgram(
                b"", (Diagnostic(name, line, f"{outside}: no such file in the program"),), reason="errors"
            )
    with written(files) as folder:
        plain, with_names = (h.linkable() if is_linked else h for h in (advance.HOST, advance.HOST_WITH_DEVICE_NAMES))
        half = with_names if has_device_lambdas(files) else plain
        if uses_thrust(files):
            half = advance.host_half(architecture, advance.thrust_folder())
            half = half.linkable() if is_linked else half
        is_plain = half is plain
        if is_cpp20(files):
            half, with_names = half.as_cpp20(), with_names.as_cpp20()
        compilation = Compilation(units, folder, library, half, options)
        parts = _compile_with(compilation, files)
        if is_plain and any(_OF_DEVICE.search(d.text) for part in parts for d in part.diagnostics):
            again = _compile_with(replace(compilation, half=with_names), files)
            parts = parts if any(part.reason for part in again) else again
        unused = frozenset(place for part in parts for place in part.unused_results)
        bad = [part for part in parts if part.reason]
        if bad:
            diagnostics = tuple(diagnostic for part in bad for diagnostic in part.diagnostics)
            return HostProgram(b"", diagnostics, unused, bad[0].reason)
        linked = _link(len(units), folder, library)
        return HostProgram(linked.module, linked.diagnostics, unused, linked.reason)


def is_cpp20(files: Mapping[str, str]) -> bool:
    """Whether a program uses what C++17 does not have, as one does that nvcc is given `-std=c++20` for."""
    return any(_CPP20.search(text) for text in files.values())


def has_device_lambdas(files: Mapping[str, str]) -> bool:
    """Whether device code stands within host code: lambdas with a qualifier."""
    return any(_LAMBDA.search(text) for text in files.values())


def uses_thrust(files: Mapping[str, str]) -> bool:
    """Whether a program includes Thrust or CUB, and these are installed."""
    return advance.thrust_folder() is not None and any(_OF_LIBRARY.search(text) for text in files.values())


@contextmanager
def written(files: Mapping[str, str]) -> Iterator[Path]:
    """Write a program's files to `src` of a temporary folder, beside an empty `out` for what is made of them."""
    with tempfile.TemporaryDirectory(prefix="grade-program-") as name:
        folder = Path(name).resolve()
        for path, text in files.items():
            place = folder / "src" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(as_nvcc_sees(text), encoding="utf-8")
        (folder / "out").mkdir()
        yield folder


def headers_in_advance(files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the headers that are worth precompiling for a program with these files."""
    text = "\n".join(files.values())
    libraries = {match[1] for match in _OF_LIBRARY.finditer(text)} if uses_thrust(files) else set()
    if "thrust" in libraries:
        return (*advance.RUNTIME, *advance.SHORT, *advance.USUAL, *(f"thrust/{name}.h" for name in advance.THRUST))
    if libraries:
        return (*advance.RUNTIME, *advance.SHORT, *advance.USUAL, "cub/cub.cuh")
    return (*advance.RUNTIME, *advance.USUAL) if _INCLUDES_USUAL.search(text) else advance.RUNTIME


@dataclass(frozen=True, slots=True)
class Compilation:
    """A program that is `written` to `folder`, to be compiled as `half` of it.

    units: names of the files that are compiled each by itself.  options: flags for each of them.
    """

    units: Sequence[str]
    folder: Path
    library: Library
    half: advance.Half
    options: Sequence[str] = ()


def _compile_with(compilation: Compilation, files: Mapping[str, str]) -> list[HostProgram]:
    headers = headers_in_advance(files)
    parts = _compile(compilation, headers)
    if headers != advance.RUNTIME and any(part.reason == "errors" and not _is_wrong_anyhow(part) for part in parts):
        # A name of its own may be one of a header's that it does not include.
        parts = _compile(compilation, advance.RUNTIME)
    return parts


def _is_wrong_anyhow(part: HostProgram) -> bool:
    """Whether what the compiler misses is missing with fewer precompiled headers too."""
    return all(_MISSING.match(diagnostic.text) for diagnostic in part.diagnostics)


def rights(folder: Path, library: Library) -> dict[str, int]:
    """Return what a compiler or the linker may reach for a program that is `written` to `folder`."""
    return {
        str(zig.package_folder()): READ | EXECUTE,
        str(advance.INCLUDE): READ,
        str(STAND_INS): READ,
        str(library.folder): READ,
        str(folder / "src"): READ,
        str(folder / "out"): READ | WRITE,
        "/dev/null": READ | WRITE,
    }


def _compile(compilation: Compilation, headers: Sequence[str]) -> list[HostProgram]:
    numbers = range(len(compilation.units))
    with (
        advance.precompiled(headers, compilation.library, compilation.half) as first,
        ThreadPoolExecutor(max(1, len(numbers))) as pool,
    ):
        compile_one = partial(_compile_unit, compilation, first)
        # A single one in this thread, which may have what a child can be forked from.
        return list((pool.map if len(numbers) > 1 else map)(compile_one, numbers))


def _texts(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file()}


def _compile_unit(compilation: Compilation, first: Path, number: int) -> HostProgram:
    # The bytes that a real compiler would put the device code in: they tell the files of a program apart.
    unit = compilation.folder / "out" / f"{number}.unit"
    unit.write_bytes(number.to_bytes(4, "little"))
    more = ["-c", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(unit)]
    return compile_file(compilation, compilation.units[number], first, f"{number}.o", more)


def compile_file(
    compilation: Compilation, name: str, first: Path, output: str, more: Sequence[str] = ()
) -> HostProgram:
    """Compile one file of a program into the file `output` of its `out`; the result's `module` is empty.

    first: the headers that were read in advance.  more: flags, which come before the compilation's own.
    """
    folder, library, half = compilation.folder, compilation.library, compilation.half
    in_c = [unit for unit in compilation.units if _is_in_c(folder / "src", unit)]
    if name in in_c:
        return _run(_c_command(compilation, name, output), compilation, name, ())
    command = [str(zig.executable()), "clang", "-o", str(folder / "out" / output), *half.flags]
    command += ["-include-pch", str(first), *more, *compilation.options]
    if in_c and name == next(unit for unit in compilation.units if unit not in in_c):
        command += ["-include", str(advance.INCLUDE / "grader_c_names.h")]
    if Path(name).suffix == ".cu" and not half.folders:
        # nvcc hands other files to the host's compiler; the library would take us for it.
        command += ["-D__CUDACC__", "-D__NVCC__"]
    if not half.folders:
        # What programs ask for the system by; the headers that were read in advance are for another one.
        command += ["-D__linux__=1", "-D__unix__=1"]
    if half.is_linkable:
        # What a file has for itself is called alike in both halves of it, and as in no other file.
        command += [f"-cuid={compilation.units.index(name)}"]
    # As with nvcc, which is started beside the program.
    own = (folder / "src" / compilation.units[0]).parent
    command += ["-I", str(own), "-I", str(folder / "src"), *half.include_flags(), *zig.cpp_flags(library.overlay)]
    # Files are called as the program has them, wherever they lie here.  A name may begin like an option.
    command += [f"-fmacro-prefix-map={folder}/src/=", "-fmacro-prefix-map=./-=-"]
    command.append(f"./{name}" if name.startswith("-") else name)
    if not half.folders:
        # A library's templates take steps that nobody has counted.
        command += [f"-fconstexpr-steps={steps_of_one(_texts(folder / 'src'), CLANG_STEPS)}"]
    return _run(command, compilation, name, (first, first.with_suffix(".h"), *half.folders))


def _is_in_c(src: Path, name: str) -> bool:
    """Whether a file is C to the host's compiler, as nvcc hands it over, and has no part in CUDA's C++."""
    if Path(name).suffix != ".c":
        return False
    pending, read = [src / name], set[Path]()
    while pending:
        path = pending.pop()
        if path in read or not path.is_file():
            continue
        read.add(path)
        for include in _INCLUDE.finditer(path.read_text("utf-8")):
            own = [folder / include["name"] for folder in (path.parent, src) if (folder / include["name"]).is_file()]
            if not own and (advance.INCLUDE / include["name"]).is_file() and include["name"] not in _FOR_C:
                return False
            pending += own
    return True


def _c_command(compilation: Compilation, name: str, output: str) -> list[str]:
    folder = compilation.folder
    command = [str(zig.executable()), "clang", "-c", "-o", str(folder / "out" / output), *advance.C_FLAGS]
    command += [option for option in compilation.options if option.startswith("-D")]
    command += ["-D__linux__=1", "-D__unix__=1", "-I", str(folder / "src"), "-isystem", str(advance.INCLUDE)]
    command += zig.c_flags(compilation.library.overlay)
    command += [f"-fmacro-prefix-map={folder}/src/=", "-fmacro-prefix-map=./-=-"]
    return [*command, f"./{name}" if name.startswith("-") else name]


def _run(command: Sequence[str], compilation: Compilation, name: str, read: Sequence[Path]) -> HostProgram:
    """read: what the compiler may reach beside the program's own."""
    folder, library, half = compilation.folder, compilation.library, compilation.half
    done = zig.run_confined(
        command,
        rights(folder, library) | {str(path): READ for path in read},
        folder / "src",
        cpu_seconds=zig.LIBRARY_CPU_SECONDS if half.folders else zig.CPU_SECONDS,
        data_bytes=zig.LIBRARY_DATA_BYTES if half.folders else zig.DATA_BYTES,
    )
    diagnostics = []
    unused = set()
    for match in _MESSAGE.finditer(done.errors):
        file = match["file"].removeprefix("./").removeprefix(f"{folder}/src/")
        if match["kind"] == "warning":
            if _UNUSED in match["text"]:
                unused.add((file, int(match["line"])))
        else:
            diagnostics.append(Diagnostic(file, int(match["line"]), match["text"][:500]))
    if done.code is None:
        return HostProgram(b"", tuple(diagnostics), frozenset(unused), done.ended_by or "limit")
    if done.code and _NO_MEMORY.search(done.errors):
        return HostProgram(b"", (), frozenset(unused), "limit")
    if done.code:
        if _OURS.search(done.errors):
            raise zig.cannot_build(done.errors)
        if not diagnostics:
            diagnostics.append(Diagnostic(name, 0, done.errors.strip()[:300]))
        return HostProgram(b"", tuple(diagnostics), frozenset(unused), "errors")
    return HostProgram(b"", unused_results=frozenset(unused))


def _link(count: int, folder: Path, library: Library) -> HostProgram:
    out = folder / "out" / "program.wasm"
    objects = [folder / "out" / f"{number}.o" for number in range(count)]
    linked = {name.decode() for path in objects for name in _OF_LINKED.findall(path.read_bytes())}
    (folder / "out" / "launch.symbols").write_text("\n".join([*_LAUNCH_SYMBOLS, *sorted(linked)]))
    wraps = [f"--wrap={name}" for name in ("malloc", "calloc", "realloc", "aligned_alloc", "free")]
    command = [str(zig.executable()), "wasm-ld", "-m", "wasm64", "-o", str(out), *wraps]
    command += [f"--allow-undefined-file={folder / 'out' / 'launch.symbols'}", "-z", f"stack-size={STACK_BYTES}"]
    command += ["--export=grader_demangle", "--export=grader_malloc", "--export=grader_free", "--export=fflush"]
    command += ["--export-table", *(f"--export-if-defined={name}" for name in zig.CLASS_TYPES)]
    start, *rest = library.link_inputs
    command += [start, *map(str, objects), *rest]
    # `sandbox.module` knows functions by their mangled names; people are told others.
    done = zig.run_confined([*command, "--no-demangle"], rights(folder, library), folder / "src")
    if done.code:
        done = zig.run_confined(command, rights(folder, library), folder / "src")
    if done.code is None:
        return HostProgram(b"", reason=done.ended_by or "limit")
    if done.code:
        names = dict.fromkeys(match["name"] for match in _UNDEFINED.finditer(done.errors))
        twice = dict.fromkeys(match["name"] for match in _TWICE.finditer(done.errors))
        if names or twice:
            diagnostics = tuple(Diagnostic("", 0, name) for name in (*names, *twice))
            return HostProgram(b"", diagnostics, reason="undefined" if names else "twice")
        return HostProgram(b"", (Diagnostic("", 0, done.errors.strip()[:300]),), reason="errors")
    return HostProgram(out.read_bytes())
