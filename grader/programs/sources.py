"""A program's files: read, decoded, host code made ready for the host's compiler, device code for NVRTC's, and the
harness of a function.

The only part of the package that knows how submissions are read.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.message import Message, msg
from grader.preprocessor import COMMENT, LITERAL
from grader.programs.device_linking import needs_linking
from grader.programs.records import MODULE_OF_SOURCE
from grader.programs.toolchain.advance import thrust_folder
from grader.submission import lexical
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import Item, ParsedFile, descendants, qualifiers_of
from grader.submission.device_code import device_code, find_header
from grader.submission.kernels.kernel import kernels_in
from grader.submission.lexical import as_compiled
from grader.submission.source import decode

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_HEADERS = 64
MAX_DATA_BYTES = 64 << 20
MAX_DATA_FILES = 64
MAX_FILES_BELOW = 5000

_STAND_INS = Path(__file__).parent / "toolchain" / "include"
_INCLUDE = re.compile(r"^([ \t]*#[ \t]*include[ \t]*)([<\"])([^>\"\n]+)[>\"]", re.M)
_SPACED_OPEN = re.compile(r"<<([ \t]+)<(?!<)")
_SPACED_CLOSE = re.compile(r">>([ \t]+)>(?=\s*\()")
# What a PDF makes of `<<<`, `>>>` and shifts; in texts and comments it stands for itself.
_PASTED = re.compile(rf"{COMMENT}|{LITERAL}|(?P<open>«<?)|(?P<close>»>?)", re.S)
# Comments, texts and includes.
_NO_CODE = re.compile(rf"{COMMENT}|{LITERAL}|^[ \t]*#[ \t]*include[^\n]*+", re.S | re.M)
# What compilers of another kind take.
_VOID_MAIN = re.compile(r"^void(?=[ \t]+main[ \t]*\()", re.M)
_QUOTED = re.compile(r"\"([\w./ -]{1,200}\.\w{1,8})\"")
# What cannot run here, by the header that asks for it.
_CAUSES = (
    (re.compile(r"condition_variable|barrier|latch|semaphore|stop_token"), "threads"),
    (re.compile(r"thrust/.*"), "thrust"),
    (re.compile(r"cub/.*"), "cub"),
    (re.compile(r"opencv2?/.*|opencv.*"), "opencv"),
    (re.compile(r"mpi\.h"), "mpi"),
    (re.compile(r"winsock2?\.h|(?:intrin|process|direct|io|shellapi|psapi|d3d\w*|atl\w*|afx\w*)\.h"), "windows"),
    (
        re.compile(
            r"cufftw\..*|cusparseLt.*|cusolver(?:Rf|Mg)\..*|cudnn.*|nccl.*|nvml\.h|npp.*|cutlass/.*|cudaGL.*"
            r"|GL/.*"
        ),
        "library",
    ),
)
# What of it a program that does need it mentions; included and never used, it is left out.
_USES = {
    "threads": r"\b(?:condition_variable\w*|barrier|latch|\w*semaphore|stop_token|stop_source)\b",
    "thrust": r"\b(?:thrust\b|THRUST_)",
    "cub": r"\b(?:cub\b|CUB_)",
    "opencv": r"\b(?:cv|cv[A-Z]\w*|IplImage|Mat|imread|imwrite)\b",
    "mpi": r"\bMPI_",
    "library": r"\b(?:cufft|cusparse|cusolver|cudnn|nccl|nvml|npp|cutlass|gl|glu|glut|cudaGL)\w*",
}
_INSTALLED = {"thrust", "cub"}
# Headers of Windows of which there is here what programs take times with; they may want more of it.
_WINDOWS = re.compile(r"windows\.h|conio\.h|tchar\.h|mmsystem\.h", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Program:
    """A program as it is compiled.

    units: names of the files handed in.  host: text by name of these and of the headers of its own.
    whole: the same with what is in the bodies of device functions.
    device: what NVRTC compiles, by unit: text by name, the unit's own first.
    original: the files' text as it was written.  parameters: names of the parameters of each kernel.
    obstacle: why it cannot run here, where the text shows it already.
    windows: the header of Windows that it includes, "" for none, and where: what it lacks may be in that.
    data: files that it may open.
    mended: files and lines where quotation marks stand in place of brackets.
    defined: macros of the command line, with what they stand for.
    arithmetic: options of how device code rounds, as NVRTC takes them.
    is_linked: device code of one file uses functions or variables of another's, as with nvcc's -rdc=true.
    """

    units: tuple[str, ...]
    host: Mapping[str, str]
    device: Mapping[str, Mapping[str, str]]
    original: Mapping[str, str]
    parameters: Mapping[str, tuple[str, ...]]
    whole: Mapping[str, str] = field(default_factory=dict)
    obstacle: Message | None = None
    obstacle_at: tuple[str, int] = ("", 0)
    windows: str = ""
    windows_at: tuple[str, int] = ("", 0)
    data: Mapping[str, bytes] = field(default_factory=dict)
    mended: tuple[tuple[str, int], ...] = ()
    defined: tuple[tuple[str, str], ...] = ()
    is_linked: bool = False
    arithmetic: tuple[str, ...] = ()

    @property
    def macro_options(self) -> tuple[str, ...]:
        """`defined` as compilers take it."""
        return tuple(f"-D{name}={body}" for name, body in self.defined)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a program is read from: its `.cu` files; the others as `read_program` takes them."""

    paths: Sequence[Path]
    replaced: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = None
    folders: Sequence[Path] = ()
    defined: Sequence[tuple[str, str]] = ()
    arithmetic: Sequence[str] = ()

    def read(self, arguments: Sequence[str] = ()) -> Program:
        """Read the program; arguments: words that may name its files.  Raises what `read_program` raises."""
        program = read_program(self.paths, arguments, self.replaced, self.root, self.folders, self.defined)
        return dataclasses.replace(program, arithmetic=tuple(self.arithmetic))


def read_program(
    paths: Sequence[Path],
    arguments: Sequence[str] = (),
    replaced: Mapping[str, str] | None = None,
    root: Path | None = None,
    folders: Sequence[Path] = (),
    defined: Sequence[tuple[str, str]] = (),
) -> Program:
    """Read a program's files, the one with `main` first, and what they include of its own folder.

    replaced: text to be taken in place of a file's, by name.
    root: the folder that names are relative to, and that what is included lies in; None: the first file's.
    folders: where headers are looked for besides, as with a compiler's -I; those outside of `root` are passed over.
    defined: macros that are there before the first line, with what they stand for, as with a compiler's -D.

    Raises UsageError: a file cannot be read, is no text, takes too much work to read, or two have one name.
    """
    with lexical.limited(paths[0]):
        return _read_program(
            paths, arguments, replaced or {}, root, [folder.resolve() for folder in folders], tuple(defined)
        )


def _read_program(
    paths: Sequence[Path],
    arguments: Sequence[str],
    replaced: Mapping[str, str],
    root: Path | None,
    folders: Sequence[Path],
    defined: tuple[tuple[str, str], ...],
) -> Program:
    own = paths[0].resolve().parent
    folder = own if root is None else root.resolve()

    def read(path: Path, name: str = "") -> ParsedFile:
        name = name or _place(path, folder)
        source = dataclasses.replace(decode(path), name=name)
        text = replaced.get(name)
        return parse(source if text is None else dataclasses.replace(source, text=text), defined=defined)

    units: dict[str, ParsedFile] = {}
    for path in paths:
        name = path.name if root is None else Path(os.path.relpath(path, root)).as_posix()
        if name in units:
            raise UsageError(msg("programs.same_name", name=name))
        units[name] = read(path, name)
    headers: dict[str, ParsedFile] = {}
    obstacles: list[tuple[str, str, tuple[str, int]]] = []
    windows, windows_at = "", ("", 0)
    queue = list(units.items())
    while queue:
        name, parsed = queue.pop()
        for match in _INCLUDE.finditer(parsed.source.text):
            wanted = match[3].strip()
            line = parsed.source.text.count("\n", 0, match.start()) + 1
            file = _own_header(wanted, parsed.source.path, own, *folders, folder)
            if file is not None:
                place = _place(file, folder)
                if place not in headers and place not in units and len(headers) < MAX_HEADERS:
                    headers[place] = read(file)
                    queue.append((place, headers[place]))
            elif _is_active(parsed, line):
                cause = _cause_of(wanted)
                if cause:
                    obstacles.append((cause, wanted, (name, line)))
                if _WINDOWS.fullmatch(wanted) and not windows:
                    windows, windows_at = wanted, (name, line)
    both = {**headers, **units}
    used = _used({cause for cause, _wanted, _at in obstacles}, [parsed.source.text for parsed in both.values()])
    idle = frozenset(wanted for cause, wanted, _at in obstacles if cause not in used)
    if used & _INSTALLED and thrust_folder() is not None:
        used -= _INSTALLED
    cause, header, at = next((obstacle for obstacle in obstacles if obstacle[0] in used), ("", "", ("", 0)))
    device = {}
    for name, parsed in units.items():
        code = device_code(parsed, folder, read, folders=folders)
        device[name] = code.sources
    parameters = {k.name: tuple(p.name for p in k.parameters) for parsed in both.values() for k in kernels_in(parsed)}
    return Program(
        tuple(units),
        {name: host_text(parsed, (own, *folders, folder), idle) for name, parsed in both.items()},
        device,
        {name: parsed.source.text for name, parsed in both.items()},
        parameters,
        {name: host_text(parsed, (own, *folders, folder), idle, whole=True) for name, parsed in both.items()},
        msg(f"programs.needs_{cause}", header=header) if cause else None,
        at,
        windows,
        windows_at,
        _data(own, both, arguments) | (_data(folder, both, arguments) if folder != own else {}),
        tuple((name, line) for name, parsed in both.items() for line in pasted_lines(parsed.source.text)),
        defined,
        needs_linking(units, headers),
    )


def _cause_of(header: str) -> str:
    return next((cause for pattern, cause in _CAUSES if pattern.fullmatch(header)), "")


def _used(causes: set[str], texts: Sequence[str]) -> set[str]:
    """Return those of the causes of which a program mentions more than the header."""
    plain = [_NO_CODE.sub(" ", text) for text in texts]
    return {cause for cause in causes if cause not in _USES or any(re.search(_USES[cause], text) for text in plain)}


def _is_active(parsed: ParsedFile, line: int) -> bool:
    includes = (item for item in parsed.items if item.kind == "include")
    return any(item.active and item.node.start_point.row + 1 == line for item in includes)


def _place(path: Path, folder: Path) -> str:
    return path.resolve().relative_to(folder).as_posix()


def _own_header(name: str, beside: Path, *places: Path) -> Path | None:
    path = find_header(name, beside.parent, *places)
    if path is None and ".." in Path(name).parts:
        # The rest of a course's tree was not handed in; its file may lie beside.
        path = find_header(Path(name).name, beside.parent, *places)
    return path


def host_text(parsed: ParsedFile, places: Sequence[Path], idle: Collection[str], *, whole: bool = False) -> str:
    """Return a file's text for the host's compiler: device functions without their bodies, lines kept.

    places: the folder of the program's first file, those that its headers are looked for in besides, and that which
      all of its files lie in.
    idle: headers that are not here, and of which nothing is used.
    whole: with the bodies of device functions, for who compiles these.

    Device functions are not called on the host; without their bodies no header needs to know what is in them.  Without
    comments and rows of blanks the text says the same, and is the same where only these have changed.
    """
    kept = bytearray(b"\1" * len(parsed.data))
    of_c = sorted({start for item in parsed.items if (start := _start_in_linkage(item)) >= 0})
    for item in () if whole else parsed.items:
        for node in [item.node, *(_methods(item.node) if item.kind in {"type", "variable"} else ())]:
            if node.type != "function_definition":
                continue
            words = item.qualifiers if node is item.node else qualifiers_of(node)
            if not words & {"__global__", "__device__"} or "__host__" in words or "constexpr" in words:
                continue
            body = node.child_by_field_name("body")
            head = parsed.data[node.start_byte : body.start_byte if body else node.start_byte]
            if body is None or body.type != "compound_statement" or re.search(rb"\bauto\b", head):
                continue
            for index in range(body.start_byte + 1, body.end_byte - 1):
                kept[index] = parsed.data[index] in b"\n\r"
    # What the host's compiler tells of a kernel's parameters, it tells by the name that C++ gives it.
    pieces = [bytes(itertools.compress(parsed.data[a:b], kept[a:b])) for a, b in itertools.pairwise([0, *of_c, None])]
    text = b'extern "C++" '.join(pieces).decode("utf-8", errors="replace")
    for item in parsed.items:
        # On the last line, where it moves no other.
        if item.kind == "variable" and "__managed__" in item.qualifiers and item.active:
            for name in item.names:
                place = f"(const void *)&{item.namespace}{name}, sizeof({item.namespace}{name})"
                text += f' static int grader_managed_{name} = grader_register_managed({place}, "{name}", 0, __FILE__);'
    text = _PASTED.sub(_unpasted, as_compiled(text))
    text = _VOID_MAIN.sub("int ", text)
    text = _SPACED_OPEN.sub(lambda m: "<<<" + m[1], text)
    text = _SPACED_CLOSE.sub(lambda m: ">>>" + m[1], text)
    return _INCLUDE.sub(lambda m: "" if m[3].strip() in idle else _include(m, parsed.source.path, places), text)


def _start_in_linkage(item: Item) -> int:
    """Return the offset behind `extern "C"` of a kernel that is declared so; -1 for anything else."""
    if "__global__" not in item.qualifiers:
        return -1
    node: Node | None = item.node
    while node is not None and node.type != "linkage_specification":
        node = node.parent
    if node is None:
        return -1
    body = node.child_by_field_name("body")
    if body is None:
        return -1
    return item.node.start_byte if body.type == "declaration_list" else body.start_byte


def _unpasted(match: re.Match[str]) -> str:
    if match["open"]:
        return "<" * (1 + len(match["open"]))
    return ">" * (1 + len(match["close"])) if match["close"] else match[0]


def pasted_lines(text: str) -> list[int]:
    """Lines of code, not of comments or texts, in which « or » stand."""
    pasted = [match for match in _PASTED.finditer(text) if match["open"] or match["close"]]
    return sorted({text.count("\n", 0, match.start()) + 1 for match in pasted})


def _methods(node: Node) -> list[Node]:
    return [inner for inner in descendants(node) if inner.type == "function_definition"]


def _include(match: re.Match[str], beside: Path, places: Sequence[Path]) -> str:
    wanted = match[3].strip()
    path = _own_header(wanted, beside, *places)
    own, folder = places[0], places[-1]
    if path is None and wanted != wanted.lower() and (_STAND_INS / wanted.lower()).is_file():
        # Where letters' case makes no other file: `Windows.h`.
        return f"{match[1]}<{wanted.lower()}>"
    near = (own, folder) if match[2] == "<" else (beside.parent, own, folder)
    if path is not None and not any((place / wanted).is_file() for place in near):
        # A folder that only the build's files name.
        return f'{match[1]}"{_place(path, folder)}"'
    if "/" not in wanted or match[2] == "<":
        return match[0]
    if path is None:
        if wanted.startswith("sys/") or (_STAND_INS / wanted).is_file():
            return match[0]
        # A course's own, in a folder that was not handed in: `../common/book.h`.
        name = Path(wanted).name
        return f"{match[1]}<{name}>" if (_STAND_INS / name).is_file() else match[0]
    return f'{match[1]}"{_place(path, folder)}"' if ".." in Path(wanted).parts else match[0]


_OF_SOURCES = frozenset({".cu", ".cuh", ".h", ".hpp"})
_WITH_NVRTC = re.compile(r"""#[ \t]*+include[ \t]*+[<"]nvrtc(?:_helper)?\.h[>"]""")


def _data(folder: Path, files: Mapping[str, ParsedFile], arguments: Sequence[str]) -> dict[str, bytes]:
    """Read the files beside the program, or up to two folders below, that its arguments, its input or its text name."""
    names = dict.fromkeys(word for argument in arguments for word in re.split("[,=]", argument))
    for parsed in files.values():
        names.update(dict.fromkeys(_QUOTED.findall(parsed.source.text)))
    # A program that has NVRTC compile device code as it runs reads that from files, its own among them.
    reads_sources = any(_WITH_NVRTC.search(parsed.source.text) for parsed in files.values())
    data: dict[str, bytes] = {}
    room = MAX_DATA_BYTES
    below = _below(folder)
    for name in names:
        relative = name.removeprefix("./")
        # A path is often put together as the program runs: the folder's name and the file's.
        for place in (relative, *below.get(relative, ())):
            is_source = place in files or Path(place).suffix in _OF_SOURCES
            if len(data) >= MAX_DATA_FILES or (is_source and not reads_sources):
                continue
            try:
                path = folder / place
                if path.is_file() and path.resolve().is_relative_to(folder) and path.stat().st_size <= room:
                    data[place] = path.read_bytes()
                    room -= len(data[place])
            except (OSError, ValueError):
                continue
        text = _module(folder, relative) if name not in data and len(data) < MAX_DATA_FILES else b""
        if 0 < len(text) <= room:
            data[name] = text
            room -= len(text)
    return data


_OF_MODULE = re.compile(r"(.+?)(?:\.cu)?(?:64|32)?(?:[._]sm_?\d+)?\.(?:ptx|cubin|fatbin)")
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*', re.M)


def _module(folder: Path, name: str) -> bytes:
    """What stands for a module that nvcc makes of a file beside the program: that file, compiled where it is loaded.

    name: as the program has it, "kernel64.fatbin" of `kernel.cu`.  Empty where there is no such file.
    """
    stem = match[1] if (match := _OF_MODULE.fullmatch(name)) else ""
    included: set[Path] = set()

    def text_of(path: Path, otherwise: str = "") -> str:
        """Return a file's text with its headers in it, each once."""
        if not (path.is_relative_to(folder) and path.is_file() and path.stat().st_size <= MAX_DATA_BYTES):
            return otherwise
        text = "" if path in included else path.read_text("utf-8", errors="replace")
        included.add(path)
        return _INCLUDED.sub(lambda match: text_of((path.parent / match[1]).resolve(), match[0]), text)

    try:
        text = text_of((folder / f"{stem}.cu").resolve()) if stem else ""
    except (OSError, ValueError, RecursionError):
        return b""
    return f"{MODULE_OF_SOURCE}{Path(stem).name}.cu\n{text}".encode() if text else b""


def named_files(folder: Path, arguments: Sequence[str]) -> dict[str, bytes]:
    """Read the files in a folder, or below it, that a program's arguments name."""
    return _data(folder, {}, arguments) if arguments else {}


def _below(folder: Path) -> dict[str, list[str]]:
    """Return files one and two folders below a folder, by name; what cannot be listed is passed over."""
    places: dict[str, list[str]] = {}
    room = MAX_FILES_BELOW
    for root, folders, names in os.walk(folder):
        relative = Path(root).relative_to(folder)
        if len(relative.parts) == 2:
            folders.clear()
        folders.sort()
        for name in sorted(names)[:room] if relative.parts else ():
            places.setdefault(name, []).append((relative / name).as_posix())
            room -= 1
        if not room:
            break
    return places


NAME = "grader_harness.cu"
HEADER = Path(__file__).parent / "toolchain" / "include" / "grader_harness.h"
_INCLUDE_OF_HARNESS = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]grader_harness\.h[>"][^\n]*', re.M)
_TEXT = """
{linkage}{declaration};

int main() {{
    while (grader_call_begins()) {{
        {name}({arguments});
        grader_call_ends();
    }}
    return 0;
}}
"""


def with_harness(
    paths: Sequence[Path], root: Path, replaced: Mapping[str, str], name: str, types: Sequence[str], is_of_c: bool
) -> Program:
    """Return the program of `paths`, the one with the function first, with a `main` that calls it.

    root, replaced: as for `read_program`; their own `main` is not among them.
    types: of the function's parameters, as C++ spells them.  is_of_c: it is declared `extern "C"`.

    Raises UsageError: a file cannot be read, or takes too much work to read.
    """
    program = read_program(paths, (), replaced, root)
    # It includes nothing: a header of that name may have been handed in.
    header = HEADER.read_text("utf-8").replace("#pragma once\n", "")
    if any(re.search(r"\bhalf\b", kind) for kind in types):
        header = f"#include <cuda_fp16.h>\n{header}"
    text = header + _TEXT.format(
        linkage='extern "C" ' if is_of_c else "",
        declaration=f"void {name}({', '.join(types)})",
        name=name,
        arguments=", ".join(f"grader_argument<{kind}>({i})" for i, kind in enumerate(types)),
    )
    return dataclasses.replace(
        program,
        # A file of that name that was handed in gives way.
        units=(*(unit for unit in program.units if unit != NAME), NAME),
        host={**program.host, NAME: text},
        whole={**program.whole, NAME: text},
        device={**program.device, NAME: {NAME: ""}},
    )


def with_own_harness(paths: Sequence[Path], root: Path, replaced: Mapping[str, str], harness: str) -> Program:
    """Return the program of `paths`, one of which, `harness` below `root`, is a harness of the lab's own.

    root, replaced: as for `read_program`.  Raises what `with_harness` raises.
    """
    program = read_program(paths, (), replaced, root)
    header = HEADER.read_text("utf-8").replace("#pragma once\n", "")
    text = _INCLUDE_OF_HARNESS.sub(lambda _match: header, program.host[harness], count=1)
    return dataclasses.replace(program, host={**program.host, harness: text}, whole={**program.whole, harness: text})
