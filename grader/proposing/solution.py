"""A teacher's solution, read: what of it a lab could ask for, as a function that can be called by itself, and sizes
written into its file (`#define N 1024`) made parameters of the kernels that use them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from pathlib import Path

from grader.errors import FileError
from grader.lab.parameters import DTYPES, Argument, Signature, arguments_of, signature_of
from grader.message import msg
from grader.repair.function import Function, host_functions
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import Item, ParsedFile, declared_name, function_declarator
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import Kernel, ObservedRuns, SeenArgument, SeenLaunch, SeenRun
from grader.submission.lexical import Edit, apply, without_comments
from grader.submission.source import SourceText, decode

MAX_LAUNCHES = 8
"""Launches in a row that a function can be made of, at most."""
FUNCTION = "solve"
"""What a function is called that is made of a launch."""
_LAUNCHES = re.compile(r"<<<|\bcudaLaunch(?:Cooperative)?Kernel\w*\s*\(")
_REFERENCE = re.compile(r"cpu|host|serial|seq|gold|ref|naive_c|check|verif", re.IGNORECASE)
_HAS_FILES = re.compile(
    r"\bcin\b|\bf?scanf(?:_s)?\s*\(|\bstdin\b|\bgetline\b|\bf(?:re)?open(?:_s)?\s*\(|\b[io]?fstream\b|\bwbImport\s*\("
)
_TILES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis of a grid covers: ceil(`size` / `tile`) blocks; of a `size` "" always `tile` blocks."""

    size: str
    tile: int

    @property
    def text(self) -> str:
        """The value as C++ writes it."""
        return (
            f"({self.size} + {self.tile - 1}) / {self.tile}"
            if self.size and self.tile > 1
            else self.size or str(self.tile)
        )


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel as `main` launches it.  grid: how it covers the sizes, where that could be told from what was seen."""

    kernel: Kernel
    launch: SeenLaunch
    grid: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class CandidateFunction:
    """A function that a lab can ask for.

    source: the file that defines it.  launched: of one that was made of a kernel's launch in `main`; None of a function
    of the teacher's own.  values: of its numbers in `main`.  counts: elements of the arrays that `main` hands it.
    zeroed, unread: arrays that `main` sets to zero before; that it does not look at afterwards.
    """

    signature: Signature
    source: SourceText
    is_of_c: bool = False
    launched: Launched | None = None
    values: Mapping[str, float] = None  # type: ignore[assignment]  # set below
    counts: Mapping[str, int] = None  # type: ignore[assignment]
    zeroed: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.signature.name


@dataclass(frozen=True, slots=True)
class Solution:
    """A file of a teacher's; candidates: what a lab can ask for, the one that it most likely does first.

    has_files: it has a `main`, and reads or writes files, or reads standard input.  reference: text of a function of
    the host's that seems to compute the same, "" where there is none.
    """

    source: SourceText
    parsed: ParsedFile
    kernels: tuple[Kernel, ...]
    candidates: tuple[CandidateFunction, ...]
    has_main: bool
    has_files: bool
    reference: str


def read(path: Path) -> Solution:
    """What can be told of the file's text alone.

    Raises UsageError: it is no text.  Raises FileError: there is no kernel in it.
    """
    return of_source(decode(path))


def of_source(source: SourceText) -> Solution:
    """See `read`; of a text that is already there."""
    parsed = parse(source)
    kernels = tuple(k for k in kernels_in(parsed) if not k.is_empty)
    if not kernels:
        raise FileError(msg("proposing.no_kernel"), source.path)
    hosts = list(host_functions(parsed))
    main = next((f for f in hosts if f.item.name == "main"), None)
    own = [c for f in hosts if (c := _own(parsed, source, f)) is not None]
    called = _called(parsed, own, main)
    references = [f for f in hosts if f is not main and _REFERENCE.search(f.item.name) and not _launches(f)]
    return Solution(
        source,
        parsed,
        kernels,
        tuple(called),
        main is not None,
        main is not None and _HAS_FILES.search(without_comments(source.text)) is not None,
        parsed.text(references[0].item.node) if references else "",
    )


def _launches(function: Function) -> bool:
    return _LAUNCHES.search(function.text(function.body)) is not None


def _own(parsed: ParsedFile, source: SourceText, function: Function) -> CandidateFunction | None:
    """Return a teacher's function that launches kernels, if a lab can have its signature."""
    item = function.item
    if item.name == "main" or item.namespace or item.template_parameters or not _launches(function):
        return None
    if {"static", "inline"} & set(parsed.text(item.node).partition("(")[0].split()):
        return None
    signature = signature_in(parsed, item)
    if signature is None or signature.returns != "void" or not _is_plain(signature.arguments):
        return None
    parent = item.node.parent
    while parent is not None and parent.type != "linkage_specification":
        parent = parent.parent
    return CandidateFunction(signature, source, parent is not None, None, {}, {})


def signature_in(parsed: ParsedFile, item: Item) -> Signature | None:
    """A function's signature, as a lab file may have it; None where its types are more than plain ones."""
    declarator = function_declarator(item.node.child_by_field_name("declarator"))
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    kind = item.node.child_by_field_name("type")
    if listed is None or kind is None:
        return None
    text = without_comments(parsed.text(listed).strip()[1:-1])
    arguments = arguments_of(text, parsed.constants.types.get)
    head = signature_of(f"{parsed.text(kind)} {item.name}(int n)")
    if arguments is None or head is None or any(not a.name for a in arguments):
        return None
    return replace(head, arguments=tuple(arguments))


def _is_plain(arguments: Sequence[Argument]) -> bool:
    """Whether a lab file has a kind for each argument, and one is a written array."""
    are_plain = all(a.type in DTYPES and a.pointers <= 1 for a in arguments)
    return are_plain and any(a.pointers and not a.is_const for a in arguments)


def _called(parsed: ParsedFile, own: Sequence[CandidateFunction], main: Function | None) -> list[CandidateFunction]:
    """Return the outermost functions that `main` calls, else all that no other function calls."""
    bodies = {c.name: parsed.words(parsed.functions[c.name].node) for c in own}
    outer = [c for c in own if not any(c.name in words for name, words in bodies.items() if name != c.name)]
    in_main = parsed.words(main.body) if main is not None else frozenset[str]()
    return [c for c in outer if c.name in in_main] or outer


def of_launches(solution: Solution, observed: ObservedRuns) -> list[CandidateFunction]:
    """Functions made of the launches that `main` was seen to make: one a kernel; of the kernels that hand an array on
    to each other, one of all.
    Raises FileError: no launch was seen, with what the run ended at.
    """
    runs = [run for run in observed.runs if run.launches]
    if not runs:
        cause = next((run.cause for run in observed.runs if run.cause is not None), msg("observation.no_launch"))
        raise FileError(msg("proposing.nothing_launched", why=cause), solution.source.path)
    run = max(runs, key=lambda run: len({x.kernel for x in run.launches}))
    by_name = {kernel.name: kernel for kernel in solution.kernels}
    launched: dict[str, Launched] = {}
    for launch in run.launches:
        kernel = by_name.get(launch.kernel)
        if kernel is not None and not launch.refused and len(launch.arguments) == len(kernel.parameters):
            launched.setdefault(kernel.name, Launched(kernel, launch, _grid(launch, kernel)))
    chained = _chain(run, launched)
    if chained:
        raise FileError(
            msg("proposing.chain", kernels=", ".join(chained), name="solve"),
            solution.source.path,
            launched[chained[0]].launch.line,
        )
    return [candidate for one in launched.values() if (candidate := _of_launch(solution.source, one)) is not None]


def _grid(launch: SeenLaunch, kernel: Kernel) -> tuple[Axis, ...]:
    """Return how the grid covers the numbers handed to the kernel, an axis each."""
    numbers = {
        p.name: int(a.value)
        for p, a in zip(kernel.parameters, launch.arguments, strict=True)
        if isinstance(a.value, int) and a.value > 0
    }
    axes = []
    used: set[str] = set()
    for blocks, threads in zip(launch.grid, launch.block, strict=True):
        if blocks == 1 and threads == 1:
            break
        # A size that no other axis covers, if there is one.
        fits = [
            Axis(name, threads * tile)
            for is_used in (False, True)
            for tile in _TILES
            for name, value in reversed(numbers.items())
            if blocks == math.ceil(value / (threads * tile)) and (name in used) == is_used
        ]
        fits += [Axis(name, 1) for name, value in numbers.items() if blocks == value > 1]
        axes.append(fits[0] if fits else Axis("", blocks))
        used.add(axes[-1].size)
    return tuple(axes) or (Axis("", 1),)


def _chain(run: SeenRun, launched: Mapping[str, Launched]) -> list[str]:
    """Kernels that read what another one has written: no kernel of them is a task by itself.

    Two that change an array in place and take the same are variants, of which the second began where the first ended.
    """
    chained: dict[str, None] = {}
    types = {name: [p.type_text for p in one.kernel.parameters] for name, one in launched.items()}
    writers: dict[int, str] = {}
    for step in run.order:
        launch = run.launches[step.launch] if step.launch >= 0 else None
        one = launched.get(launch.kernel) if launch is not None else None
        if launch is None or one is None:
            continue
        for parameter, argument, serial in zip(one.kernel.parameters, launch.arguments, step.buffers, strict=False):
            writer = writers.get(serial)
            if (
                writer
                and parameter.is_read
                and argument.before == "kernel"
                and (not parameter.is_written or types[writer] != types[launch.kernel])
            ):
                chained |= dict.fromkeys((writer, launch.kernel))
            if serial and parameter.is_written:
                writers[serial] = launch.kernel
    return list(chained)


def _of_launch(source: SourceText, one: Launched) -> CandidateFunction | None:
    """Return a function that makes a kernel's launch, in the file with that function at its end."""
    kernel, launch = one.kernel, one.launch
    arguments = []
    for parameter in kernel.parameters:
        kind = next((a for a in arguments_of(f"{parameter.type_text} {parameter.name}") or ()), None)
        if kind is None or kind.type not in DTYPES or kind.pointers > 1:
            return None
        is_const = bool(kind.pointers) and (kind.is_const or not parameter.is_written)
        arguments.append(replace(kind, name=parameter.name, is_const=is_const))
    if not _is_plain(arguments):
        return None
    signature = Signature(FUNCTION if kernel.name != FUNCTION else f"{FUNCTION}_all", "void", tuple(arguments))
    grid = ", ".join(axis.text for axis in one.grid)
    block = ", ".join(map(str, _trimmed(launch.block)))
    template = f"<{', '.join(launch.template_arguments)}>" if launch.template_arguments else ""
    shared = f", {launch.shared_bytes}" if launch.shared_bytes else ""
    casts = [
        f"({p.type_text})" * (bool(a.pointers) and a.is_const and not p.is_const) + a.name
        for a, p in zip(arguments, kernel.parameters, strict=True)
    ]
    body = f"    {kernel.name}{template}<<<dim3({grid}), dim3({block}){shared}>>>({', '.join(casts)});\n"
    text = f"{source.text.rstrip()}\n\n// What `main` launches, as a function.\n{signature.spelled}\n{{\n{body}}}\n"
    pairs = [*zip(arguments, launch.arguments, strict=True)]
    return CandidateFunction(
        signature,
        replace(source, text=text),
        launched=one,
        values={a.name: handed.value for a, handed in pairs if handed.value is not None},
        counts={a.name: _count(a, handed) for a, handed in pairs if handed.buffer_bytes},
        zeroed=frozenset(a.name for a, handed in pairs if handed.before == "zeros"),
        unread=frozenset(a.name for a, handed in pairs if a.pointers and not a.is_const and not handed.read_back),
    )


def _count(argument: Argument, handed: SeenArgument) -> int:
    import numpy as np

    return (handed.buffer_bytes - handed.offset_bytes) // np.dtype(DTYPES[argument.type]).itemsize


def with_const(candidate: CandidateFunction, names: Collection[str]) -> CandidateFunction:
    """A function of the teacher's whose file says of some of its arrays that nothing is written to them."""
    parsed = parse(candidate.source)
    declarator = function_declarator(parsed.functions[candidate.name].node.child_by_field_name("declarator"))
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    places = [
        len(parsed.data[: node.start_byte].decode("utf-8"))
        for node in (listed.named_children if listed is not None else ())
        if declared_name(node.child_by_field_name("declarator")) in names
    ]
    text = apply(candidate.source.text, [Edit(place, place, "const ") for place in places], {})
    arguments = tuple(replace(a, is_const=a.is_const or a.name in names) for a in candidate.signature.arguments)
    signature = replace(candidate.signature, arguments=arguments)
    return replace(candidate, signature=signature, source=replace(candidate.source, text=text))


def _trimmed(extents: Sequence[int]) -> tuple[int, ...]:
    last = max((i for i, extent in enumerate(extents) if extent > 1), default=0)
    return tuple(extents[: last + 1])


_SHARED = re.compile(r"\b__shared__\b[^;]*;")


def with_parameters(solution: Solution, candidates: Sequence[CandidateFunction]) -> tuple[SourceText, list[str]] | None:
    """The file with its sizes as parameters of the kernels that use them, handed over at every launch, and as constants
    of the host's functions; and their names.  None where there are none, or where device functions use them too.

    A size is a constant that a launched kernel names, of which or of two of which its arrays have their numbers of
    elements.  No line moves.
    """
    parsed, text = solution.parsed, solution.source.text
    sizes = _sizes_in(parsed, candidates)
    # In the file's order, rows before columns as a rule.
    sizes = {name: sizes[name] for name in re.findall(r"\w+", text) if name in sizes}
    using = {name for name, item in parsed.functions.items() if not parsed.words(item.node).isdisjoint(sizes)}
    kernels = {kernel.name for kernel in solution.kernels} & using
    hosts = list(host_functions(parsed))
    definitions = [_definition(text, name) for name in sizes]
    if not kernels or using - kernels - {f.item.name for f in hosts} or None in definitions:
        return None

    def place(byte: int) -> int:
        return len(parsed.data[:byte].decode("utf-8"))

    edits = [Edit(*span, "") for span in definitions if span is not None]
    for name in kernels:
        declarator = function_declarator(parsed.functions[name].node.child_by_field_name("declarator"))
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        ends = [place(listed.end_byte) - 1] if listed is not None else []
        edits += [Edit(end, end, "".join(f", int {size}" for size in sizes)) for end in ends]
        ends = [_end_of_call(text, launch.end()) for launch in re.finditer(rf"\b{name}\s*<<<", text)]
        edits += [Edit(end, end, "".join(f", {size}" for size in sizes)) for end in ends]
    for function in hosts:
        begin = place(function.body.start_byte) + 1
        used = [size for size in sizes if function.item.name in {"main", *using}]
        edits.append(Edit(begin, begin, "".join(f" const int {size} = {sizes[size]};" for size in used)))
    return replace(solution.source, text=apply(text, edits, {}), written=text), list(sizes)


def _sizes_in(parsed: ParsedFile, candidates: Sequence[CandidateFunction]) -> dict[str, int]:
    words: set[str] = set()
    for one in candidates:
        if one.launched is not None:
            kernel = parsed.text(parsed.functions[one.launched.kernel.name].node)
            # What shared arrays are declared by has to stay a constant.
            words |= set(re.findall(r"\w+", kernel)) - set(re.findall(r"\w+", " ".join(_SHARED.findall(kernel))))
    counts = {count for one in candidates for count in one.counts.values()}
    constants = parsed.constants
    values = {name: constants.integer(name) for name in (*constants.macros, *constants.values) if name in words}
    sizes = {name: value for name, value in values.items() if value is not None and value > 1}
    pairs = [pair for pair in combinations_with_replacement(sizes, 2) if sizes[pair[0]] * sizes[pair[1]] in counts]
    return {name: v for name, v in sizes.items() if v in counts or any(name in pair for pair in pairs)}


def _definition(text: str, name: str) -> tuple[int, int] | None:
    """Return where a constant is defined; None where not exactly once at file level."""
    macro = rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+[^\n]*"
    constant = rf"^(?:(?:static|const|constexpr)[ \t]+)+(?:unsigned[ \t]+)?\w+[ \t]+{name}[ \t]*=[^;,\n]*;"
    definitions = [match.span() for pattern in (macro, constant) for match in re.finditer(pattern, text, re.MULTILINE)]
    return definitions[0] if len(definitions) == 1 else None


def _end_of_call(text: str, at: int) -> int:
    """Return where the arguments of a launch end whose `<<<` ends at `at`."""
    at = text.index("(", text.index(">>>", at))
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)
