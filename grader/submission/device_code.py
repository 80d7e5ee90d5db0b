"""What is compiled of a submission's files, read together: kernels and what they need, every line at its place.

NVRTC compiles device code only: `main`, host prototypes and variables, `#include <stdio.h>` are errors to it.
Nothing is deleted or added: host code becomes spaces, line ends stay.  Of the headers that a file includes, NVRTC has
its own, those of the host are blanked, and those of the submission are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from grader.devices import OURS, is_bundled
from grader.files import kind_of, real
from grader.preprocessor import without_line_directives
from grader.submission.cpp.constants import Macro
from grader.submission.cpp.parse import device_macros, parse
from grader.submission.cpp.tree import Item, ParsedFile, declared_name, descendants, remembered
from grader.submission.kernels.kernel import with_headers
from grader.submission.lexical import spend, spend_on, without_comments
from grader.submission.source import SourceText, named_within

# Thrust and whole-device CUB algorithms are called from host code.
_HOST_ONLY_HEADERS = re.compile(r"thrust/.*|cub/(cub\.cuh|device/.*)")
# The toolkit's and the samples' headers: host code, or what NVRTC knows without them.
_TOOLKIT_HEADERS = re.compile(
    r"(cuda|cuda_runtime|cuda_runtime_api|cuda_profiler_api|cuda_device_runtime_api|device_launch_parameters"
    r"|device_functions|sm_\w+|vector_functions|driver_types|host_defines|curand|cublas(_v2)?|cufft|nvToolsExt|helper_\w+"
    r"|device_atomic_functions|math_functions|builtin_types|channel_descriptor|cudaProfiler|texture_fetch_functions"
    r"|exception|windows|omp|mpi|nvtx3/.*|crt/.*)\.h(pp)?|thrust/.*|cub/.*"
)
_STANDARD_HEADERS = re.compile(
    r"(assert|complex|conio|ctype|errno|error|fenv|float|getopt|inttypes|iso646|limits|locale|malloc|math|memory|process"
    r"|pthread|setjmp|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|tgmath|time|unistd|wchar"
    r"|sys/(time|types|stat|resource))\.h"
)


@dataclass(frozen=True, slots=True)
class Include:
    """An `#include` in a file: `kind` as `header_kind` tells it; `is_needed`: nobody but the submission has it."""

    name: str
    line: int
    kind: str
    is_needed: bool


def include_in(parsed: ParsedFile, item: Item) -> Include | None:
    """The include that an item of the file is; None where it is another item, or a macro names the header."""
    path = item.node.child_by_field_name("path") if item.kind == "include" else None
    if path is None or path.type not in {"system_lib_string", "string_literal"}:
        return None
    name = parsed.text(path)[1:-1].strip()
    is_needed = path.type == "string_literal" and name not in OURS
    return Include(name, path.start_point.row + 1, header_kind(name), is_needed)


def includes_of(parsed: ParsedFile) -> list[Include]:
    """The file's active includes that name a header plainly."""
    includes = (include_in(parsed, item) for item in parsed.items if item.active)
    return [include for include in includes if include is not None]


def header_kind(name: str) -> str:
    """ "device" for a header that NVRTC carries, "host" for one of the toolkit or the language, else "local".

    Local ones are the submission's own, or missing; it may have its own of those that we bring.
    """
    if name in OURS:
        return "local"
    if is_bundled(name) and not _HOST_ONLY_HEADERS.fullmatch(name):
        return "device"
    if _STANDARD_HEADERS.fullmatch(name) or _TOOLKIT_HEADERS.fullmatch(name) or "." not in Path(name).name:
        return "host"
    return "local"


HEADER_FOLDERS = ("include", "inc", "includes", "headers", "common", "utils", "src")
"""Where a program's headers lie by custom."""


def find_header(name: str, *places: Path) -> Path | None:
    """The submission's own header `name`, looked for in `places` in turn.

    The last of these is the student's folder, with the folders in it that are handed to compilers as `-I include`: None
    where the header is not there or lies outside that.
    """
    spend(50)
    folder = places[-1]
    for place in dict.fromkeys((*places, *(folder / inner for inner in HEADER_FOLDERS))):
        path = place / name
        with suppress(OSError):
            if kind_of(path) == "file" and real(path).is_relative_to(real(folder)):
                return path
    return None


MAX_HEADERS = 32
MAX_MISSING = 32  # The first headers that are not there tell enough.
_DECLARATIONS = {"function", "prototype", "variable", "type", "instantiation"}

_WORD = re.compile(r"[^\W\d]\w*")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|endif)", re.MULTILINE)
_HOST_WORDS = re.compile(
    r"\bcuda[A-Z]\w*|\bcu(blas|rand|fft)\w*|<<<|<<\s+<|\bstd\s*::|\b(fprintf|fopen|fclose|scanf|sscanf|fscanf|cout|cin|cerr"
    r"|endl|rand|srand|time|clock_gettime|gettimeofday|exit|abort|calloc|realloc|getenv|system|fgets|puts|throw|try"
    r"|vector|string|ofstream|ifstream|chrono)\b"
)
_NOT_LINE_END = re.compile(r"[^\n]")
_DEVICE_NAMESPACES = frozenset(["cooperative_groups", "nvcuda", "cub", "cuda", "nv"])


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What is compiled of one file.

    sources: text by file name, the file first, then local headers by the name they are included by.
    headers: these, by the same names.
    missing_headers: includes of headers that lie neither beside the file nor in CUDA, with their lines.
    """

    sources: Mapping[str, str]
    missing_headers: tuple[tuple[str, int], ...] = ()
    headers: Mapping[str, ParsedFile] = field(default_factory=dict)


def device_source(parsed: ParsedFile, local_headers: Mapping[str, ParsedFile] | None = None) -> str:
    """`parsed` with host code blanked; every line keeps its number, every character its column.

    local_headers: headers of the submission's own by the name they are included by; an include of any other header
      that is not device code is blanked.
    """
    return _Blanking(parsed, local_headers or {}).text()


def device_code(
    parsed: ParsedFile,
    folder: Path,
    read: Callable[[Path], ParsedFile],
    beside: Iterable[ParsedFile] = (),
    folders: Sequence[Path] = (),
) -> DeviceCode:
    """What is compiled of `parsed`, with the headers that lie in the student's `folder`, read with `read`.

    beside: the submission's other files, which may use the same headers.
    folders: within `folder`, where headers lie too.
    """
    headers: dict[str, ParsedFile] = {}
    missing: list[tuple[str, int]] = []
    queue = [parsed]
    while queue:
        current = queue.pop()
        for include in includes_of(current):
            if include.kind != "local" or include.name in headers:
                continue
            beside_it, beside_main = current.source.path.parent, parsed.source.path.parent
            path = find_header(include.name, beside_it, beside_main, *folders, folder)
            if path is None:
                if current is parsed and include.is_needed:
                    missing.append((include.name, include.line))
            elif len(headers) < MAX_HEADERS:
                headers[include.name] = read(path)
                queue.append(headers[include.name])
    blanking = _Blanking(parsed, headers)
    sources = {parsed.file: blanking.text()}
    headers.pop(parsed.file, None)
    # A header's functions may be used by the file only, so everything for the device that a header holds is kept, and
    # what the files and the other headers mention.
    words = _words(sources[parsed.file]).union(*(_device_words(other) for other in beside))
    blankings = {name: _Blanking(header, headers, words) for name, header in headers.items()}
    fresh: set[str] | None = None
    while blankings and (fresh is None or fresh):
        # What one header mentions another may define, or the file before it includes the header.
        of_headers = set[str]().union(*(b.kept_words() for b in blankings.values()))
        blanking.keep(blanking.lent(of_headers))
        fresh = (of_headers | blanking.kept_words()) - words
        words |= fresh
        spend(len(words) * len(blankings))
        for blanked in blankings.values():
            blanked.keep(blanked.mentioned(fresh))
    sources[parsed.file] = blanking.text()
    sources |= {name: b.text() for name, b in blankings.items()}
    return DeviceCode(sources, tuple(missing[:MAX_MISSING]), headers)


def _words(text: str) -> set[str]:
    # A comment's or a header's name uses no function: a header's host code would be compiled for the device.
    spend_on(len(text))
    return set(_WORD.findall(_INCLUDE.sub("", without_comments(text))))


def _device_words(parsed: ParsedFile) -> set[str]:
    """What the file's device code mentions, as it is without headers of the submission's own."""
    return remembered(parsed, "device words", lambda: _words(device_source(parsed)))


class _Blanking:
    """Decides item by item what stays, then blanks the rest."""

    def __init__(self, parsed: ParsedFile, headers: Mapping[str, ParsedFile], wanted: Iterable[str] = ()) -> None:
        self.parsed = parsed
        self.headers = headers
        self.by_name: dict[str, list[int]] = {}
        for index, item in enumerate(parsed.items):
            for name in item.names:
                # A specialisation, `template <> struct Shared<float>`, is mentioned by the name of its template.
                plain = name.partition("<")[0].rstrip().rpartition("::")[2]
                self.by_name.setdefault(plain, []).append(index)
        self.namespaces = {
            word for spaces in {item.namespace for item in parsed.items} for word in spaces.split("::") if word
        }
        self.kept: set[int] = set()
        self.words: set[str] = set()
        self.undeclared: set[str] | None = None
        roots = [index for index, item in enumerate(parsed.items) if _is_root(item) or self.is_device_type(item)]
        self.keep(roots + self.mentioned(wanted))
        self.kept = {index for index in self.kept if not self.is_of_host(parsed.items[index])}

    def is_of_host(self, item: Item) -> bool:
        """Whether an item instantiates a function that only the host has (`template void start<int>(int *);`)."""
        if item.kind != "instantiation":
            return False
        words = _WORD.findall(self.span(item).partition("(")[0])
        named = {i for word in words for i in self.by_name.get(word, ()) if self.parsed.items[i].kind == "function"}
        return bool(named) and not named & self.kept

    def is_device_type(self, item: Item) -> bool:
        """Whether a type has methods of the device: a template of a kernel may be given it at its launch only."""
        return item.kind == "type" and item.active and b"__device__" in self.parsed.data[item.start : item.end]

    def keep(self, indices: list[int]) -> None:
        """Keep the items at `indices` and whatever they mention."""
        pending = list(indices)
        while pending:
            index = pending.pop()
            if index not in self.kept:
                self.kept.add(index)
                pending += self.mentioned(_words(self.span(self.parsed.items[index])))

    def kept_words(self) -> set[str]:
        """Every word of what is kept so far, and of what is no declaration: macros, comments."""
        if self.undeclared is None:
            spans = (self.span(item) for item in self.parsed.items if not self.is_blanked(item))
            self.undeclared = {word for span in spans for word in _words(span)}
        return self.words | self.undeclared

    def span(self, item: Item) -> str:
        spend_on(item.end - item.start)
        return self.parsed.data[item.start : item.end].decode("utf-8", errors="replace")

    def mentioned(self, words: Iterable[str]) -> list[int]:
        """Indices of the items that `words` need, through macros too."""
        indices: list[int] = []
        pending = list(words)
        while pending:
            word = pending.pop()
            if word in self.words:
                continue
            spend(1)
            self.words.add(word)
            macro = self.parsed.constants.macros.get(word)
            if macro is not None:
                pending += _WORD.findall(macro.body)
            indices += [index for index in self.by_name.get(word, ()) if self.is_wanted(self.parsed.items[index])]
        return indices

    def lent(self, words: Iterable[str]) -> list[int]:
        """Indices of the constants and types that a header's `words` need, through macros too."""
        indices: list[int] = []
        pending, visited = list(words), set[str]()
        while pending:
            word = pending.pop()
            if word in visited:
                continue
            spend(1)
            visited.add(word)
            macro = self.parsed.constants.macros.get(word)
            if macro is not None:
                pending += _WORD.findall(macro.body)
            named = [(index, self.parsed.items[index]) for index in self.by_name.get(word, ())]
            indices += [i for i, item in named if item.kind in {"variable", "type"} and self.is_wanted(item)]
        return indices

    def is_wanted(self, item: Item) -> bool:
        """Whether an item that kept code mentions is device code, or can be."""
        if item.kind == "variable":
            type_node = item.node.child_by_field_name("type")
            defines_type = type_node is not None and type_node.child_by_field_name("body") is not None
            return item.is_device or defines_type or bool(item.qualifiers & {"const", "constexpr"})
        is_host = item.kind == "function" and not item.is_device
        if is_host and (item.name == "main" or _HOST_WORDS.search(self.span(item)) or self.is_special_host(item)):
            return False
        return item.kind in {"type", "function"} or (item.kind == "prototype" and not _is_kernel_prototype(item))

    def is_special_host(self, item: Item) -> bool:
        """Whether an item is an explicit specialisation of a function that only the host has."""
        if not _SPECIALISATION.match(self.span(item)):
            return False
        plain = item.name.partition("<")[0].rstrip().rpartition("::")[2]
        named = [self.parsed.items[index] for index in self.by_name.get(plain, ())]
        templates = [other for other in named if not _SPECIALISATION.match(self.span(other))]
        return bool(templates) and not any(self.is_wanted(other) for other in templates)

    def text(self) -> str:
        data = self.parsed.data
        blank = bytearray(len(data))
        for index, item in enumerate(self.parsed.items):
            if index in self.kept:
                self.mark_host_methods(blank, item)
            elif self.is_blanked(item):
                spend_on(item.end - item.start)
                blank[item.start : item.end] = b"\1" * (item.end - item.start)
        for index in self.kept:
            # Kernels that an unclosed brace put into a host function's body stay.
            item = self.parsed.items[index]
            if item.kind == "function":
                spend_on(item.end - item.start)
                blank[item.start : item.end] = bytes(item.end - item.start)
        kept = "".join(
            _NOT_LINE_END.sub(" ", piece) if is_blank else piece
            for is_blank, start, end in _runs(blank)
            for piece in [data[start:end].decode("utf-8", errors="replace")]
        )
        return without_line_directives(kept)

    def is_blanked(self, item: Item) -> bool:
        if item.kind == "include":
            include = include_in(self.parsed, item)
            if include is None:
                return False
            return include.kind == "host" or (
                include.kind == "local" and include.name not in self.headers and not is_bundled(include.name)
            )
        if item.kind == "using":
            # `using namespace std;` has nothing for kernels; the file's own and CUDA's namespaces do.
            words = set(_WORD.findall(self.span(item)))
            return "std" in words or not words & (_DEVICE_NAMESPACES | self.namespaces)
        # Around `extern "C"` alone stands a condition, whose end is within what it declares: that stays.
        ends = _CONDITIONAL.findall(self.span(item))
        return item.kind in _DECLARATIONS and ends.count("if") == ends.count("endif")

    def mark_host_methods(self, blank: bytearray, item: Item) -> None:
        """Blank a struct's methods that only the host can run: with streams, allocations, copies."""
        if item.kind not in {"type", "variable"}:
            return
        inner_functions = (inner for inner in descendants(item.node) if inner.type == "function_definition")
        methods = [(inner, without_comments(self.parsed.text(inner))) for inner in inner_functions]
        methods = [(inner, text) for inner, text in methods if "__device__" not in text]
        of_host = [inner for inner, text in methods if _HOST_WORDS.search(text)]
        pending = list(of_host)  # A method that calls one of these is the host's too.
        while pending:
            name = declared_name(pending.pop().child_by_field_name("declarator"))
            if name in item.names:
                continue
            callers = [inner for inner, text in methods if inner not in of_host and name in _WORD.findall(text)]
            spend(len(methods))
            of_host += callers
            pending += callers
        for inner in of_host:
            while inner.parent is not None and inner.parent.type == "template_declaration":
                inner = inner.parent
            blank[inner.start_byte : inner.end_byte] = b"\1" * (inner.end_byte - inner.start_byte)


_SPECIALISATION = re.compile(r"\s*template\s*<\s*>")


def _is_root(item: Item) -> bool:
    """Whether an item is device code by itself; what is no declaration at all is left for the compiler to judge."""
    if not item.active:
        return False
    if _is_kernel_prototype(item):
        # The declaration is of no use here, and another function's where the definition's parameters are changed.
        return False
    if item.kind in {"function", "prototype", "variable"}:
        return item.is_device
    return item.kind == "instantiation" or (item.kind == "other" and item.node.type not in {"comment", "preproc_call"})


def _is_kernel_prototype(item: Item) -> bool:
    """Whether an item only announces a kernel.  `__global__ void k() { x }` is read as one with a value: it is not."""
    if item.kind != "prototype" or not item.is_kernel or item.node.has_error:
        return False
    return not any(child.type == "init_declarator" for child in item.node.children)


def _runs(mask: bytearray) -> Iterator[tuple[bool, int, int]]:
    start = 0
    while start < len(mask):
        end = mask.find(1 - mask[start], start)
        end = len(mask) if end < 0 else end
        yield bool(mask[start]), start, end
        start = end


@dataclass(frozen=True, slots=True)
class Files:
    """Files that were handed in to be compiled, with what is compiled of each, and the files that they include.

    headers: files that others include, `.cu` files among them.  header_sources: those of their texts that were not
      handed in by themselves.
    """

    main_files: tuple[ParsedFile, ...]
    codes: tuple[DeviceCode, ...]
    headers: tuple[ParsedFile, ...]
    header_sources: tuple[SourceText, ...]

    @property
    def with_kernels(self) -> tuple[ParsedFile, ...]:
        handed_in = {main.file for main in self.main_files}
        included = [header for header in self.headers if header.file not in handed_in and header.kernels]
        return (
            *(main if main.file not in self.units else self._in_its_program(main) for main in self.main_files),
            *(self._in_its_program(header) for header in included),
        )

    @property
    def units(self) -> dict[str, str]:
        """The file that each included one is compiled with."""
        included = {header.file for code in self.codes for header in code.headers.values()}
        pairs = [*zip(self.codes, self.main_files, strict=True)]
        main_of: dict[str, str] = {}
        # Where files include each other, the first is compiled, and the others with it.
        for code, main in sorted(pairs, key=lambda pair: pair[1].file in included):
            if main.file not in main_of:
                main_of |= {h.file: main.file for h in code.headers.values() if h.file not in (*main_of, main.file)}
        return main_of

    def _in_its_program(self, header: ParsedFile) -> ParsedFile:
        """A header with what the file that includes it defines, and that file's other headers: macros, types."""
        unit = next((main for main in self.main_files if main.file == self.units.get(header.file)), None)
        if unit is None:
            return header
        return with_headers(header, [*(other for other in unit.headers if other.file != header.file), unit])

    def by_name(self) -> dict[str, ParsedFile]:
        """Every file that is compiled."""
        included = {header.file: header for code in self.codes for header in code.headers.values()}
        return included | {main.file: main for main in self.main_files}

    @property
    def texts(self) -> dict[str, str]:
        """What is compiled of each file."""
        units = self.units
        texts: dict[str, str] = {}
        for code, main in zip(self.codes, self.main_files, strict=True):
            if main.file not in units:
                texts[main.file] = code.sources[main.file]
            texts |= {h.file: code.sources[name] for name, h in code.headers.items() if units.get(h.file) == main.file}
        return texts

    @property
    def included(self) -> dict[str, dict[str, str]]:
        """The files that each compiled file includes, by the names that it includes them by."""
        return {
            main.file: {name: header.file for name, header in code.headers.items()}
            for code, main in zip(self.codes, self.main_files, strict=True)
        }


def read_files(sources: Sequence[SourceText], folder: Path, read_header: Callable[[Path], SourceText]) -> Files:
    """The files in `sources`, and the headers in the student's `folder` that they include, read with `read_header`.

    Raises UsageError: a header is no text, or a file has too many kernels.
    """
    root = sources[0].root if sources else folder
    handed_in = {real(source.path): source for source in sources}
    texts: dict[Path, SourceText] = {}

    def read(macros: Mapping[str, Macro]) -> tuple[list[ParsedFile], list[DeviceCode], dict[Path, ParsedFile]]:
        headers: dict[Path, ParsedFile] = {}

        def read_one(path: Path) -> ParsedFile:
            # However it is included, it is one file.
            place = real(path)
            if place not in headers:
                if place not in handed_in and place not in texts:
                    texts[place] = named_within(read_header(path), root)
                headers[place] = parse(handed_in.get(place) or texts[place], macros)
            return headers[place]

        files = [parse(source, macros) for source in sources]
        codes = [device_code(parsed, folder, read_one, [f for f in files if f is not parsed]) for parsed in files]
        return files, codes, headers

    files, codes, headers = read({})
    macros: dict[str, Macro] = {}
    for header in headers.values():
        macros = device_macros(header.source.text, macros)
    if macros:
        # What headers call a kernel is known only once they are read.
        files, codes, headers = read(macros)
    main_files = [with_headers(parsed, list(code.headers.values())) for code, parsed in zip(codes, files, strict=True)]
    return Files(tuple(main_files), tuple(codes), tuple(headers.values()), tuple(texts.values()))
