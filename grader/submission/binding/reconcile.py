"""What is said of a fact, made one: who is believed of everybody who knows it, and runs of a program with its text.

The first in a list is believed.  There are two lists: which kernel and which argument is meant (`ORIGINS`) the student
states best; how a kernel is launched (`OF_LAUNCHES`) a run of the program shows best, and what is stated otherwise is
told as a contradiction.  What was seen holds; the text tells of other sizes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Generic, TypeVar

from grader.lab.records import Lab
from grader.submission.cpp.constants import Constants, Macro
from grader.submission.cpp.syntax import Number
from grader.submission.cpp.tree import WORD, ParsedFile, node_text
from grader.submission.kernels.records import LaunchSite, ObservedRuns, SeenLaunch, SeenProbe
from grader.submission.lexical import without_comments
from grader.submission.records import ORIGINS, Origin

T = TypeVar("T")
MAX_PROBES = 8
"""Launches at other sizes that a formula of the grid is held against."""

OF_LAUNCHES: tuple[Origin, ...] = ("observed", "stated", "read", "inferred", "lab")
"""Who is believed about the block and the shared memory of a launch, the first before the others."""

OF_PROGRAM: frozenset[Origin] = frozenset(["stated", "observed", "read"])
"""What a student's program says, or the student of it."""


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """Something known of a kernel or of its launch, and who says so."""

    value: T
    origin: Origin


def first(
    sources: Mapping[Origin, Callable[[], T | None]], otherwise: T, among: tuple[Origin, ...] = ORIGINS
) -> Fact[T]:
    """The value of the first origin, in the order of `among`, that has one; `otherwise`, the lab's, where none has."""
    for origin in among:
        source = sources.get(origin)
        value = source() if source is not None else None
        if value is not None:
            return Fact(value, origin)
    return Fact(otherwise, "lab")


def weakest_of(origins: Iterable[Origin]) -> Origin:
    """The least trusted of several origins."""
    return max(origins, key=ORIGINS.index, default="lab")


Place = tuple[str, str, int]
"""The place of a launch: kernel, file and line."""


def places_read_true(sites: Sequence[LaunchSite]) -> frozenset[Place]:
    """The launches that were seen, and are as their text says."""
    return frozenset((s.kernel, _name(s.file), s.line) for s in sites if s.observed and s.block_expressions)


def with_observed(
    sites: Sequence[LaunchSite],
    observed: ObservedRuns,
    changed: frozenset[Place] = frozenset(),
    constants: Mapping[str, Constants] | None = None,
) -> list[LaunchSite]:
    """Every launch that was seen, as a `LaunchSite` with what its text says of other sizes; then what was only read.

    Of a kernel that a file was seen to launch, what that file was not seen to launch is left out: branches not taken.

    changed: the program was seen before its text was changed; launches at these places follow the text.
    constants: of each file, for what its launches' expressions name.
    """
    distinct: dict[tuple[object, ...], SeenLaunch] = {}
    for launch in observed.launches:
        place = (launch.kernel, launch.file, launch.line)
        distinct.setdefault((*place, launch.template_arguments, launch.block, launch.grid), launch)
    observed_sites: list[LaunchSite] = []
    for launch in _most_parallel_first(list(distinct.values())):
        site = _site(launch, sites, changed, constants or {})
        site = replace(site, arguments=_as_meant(site.arguments, launch), exchanged=launch.exchanged)
        if launch.offset:
            # The text tells how many blocks a part has.
            site = replace(site, offset=launch.offset, grid_expressions=(), grid_over=(), tile=())
        observed_sites.append(replace(site, probes=_probes(launch, observed)) if site.grid is not None else site)
    places = {(launch.kernel, _name(launch.file)) for launch in distinct.values()}
    return [*observed_sites, *(site for site in sites if (site.kernel, _name(site.file)) not in places)]


def _most_parallel_first(launches: list[SeenLaunch]) -> list[SeenLaunch]:
    """Launches in their order, those of a small part of the kernel's most threads after all others.

    A kernel may be shown with one thread before it is launched in earnest.
    """
    most: dict[tuple[str, str], int] = {}
    for launch in launches:
        # Another program may call another kernel the same.
        kernel = launch.kernel, launch.file
        most[kernel] = max(most.get(kernel, 0), _threads(launch))
    return sorted(launches, key=lambda launch: 4 * _threads(launch) < most[launch.kernel, launch.file])


def _threads(launch: SeenLaunch) -> int:
    return 0 if launch.refused else prod(launch.grid) * prod(launch.block)


def _site(
    launch: SeenLaunch, sites: Sequence[LaunchSite], changed: frozenset[Place], constants: Mapping[str, Constants]
) -> LaunchSite:
    """The launch as it was seen; what its text says of it is kept as far as it agrees."""
    same = [site for site in sites if site.kernel == launch.kernel and _is_at(site, launch)]
    read = min(same, key=lambda site: _disagreement(site, launch), default=None)
    change = launch.change
    block: tuple[int, int, int] | None = launch.block
    is_told_apart = len({site.template_arguments for site in same}) < 2 or (
        read is not None and read.template_arguments == launch.template_arguments
    )
    is_changed = read is not None and (read.kernel, _name(read.file), read.line) in changed
    if read is not None and read.block is not None and is_changed and is_told_apart:
        shared_bytes = launch.shared_bytes if read.shared_bytes is None else read.shared_bytes
        return replace(read, shared_bytes=shared_bytes, seen=launch.arguments, observed=True, filled=launch.filled)
    if read is not None and change is None:
        read = _at_seen_sizes(read, launch, constants.get(read.file, Constants()))
    if read is None:
        plain = LaunchSite(launch.kernel, launch.line, launch.block, (), launch.shared_bytes, file=launch.file)
    elif launch.change is not None and read.block is not None:
        # With its own constants the program launches what its text says.
        plain, block = read, read.block
    elif read.block is not None and read.block != launch.block:
        # Read wrongly, or of another caller: nothing that follows from it can be relied upon.
        plain = replace(read, block_expressions=(), tile=())
    else:
        plain = read
    # The name that the file goes by is the one that it was read under.
    file = plain.file or next((site.file for site in sites if _name(site.file) == _name(launch.file)), launch.file)
    grid: tuple[int, int, int] | None = launch.grid
    if change is not None and read is None and change.value in launch.block:
        # As many threads as the program has elements, it seems; how many that is, its text does not say.
        block, grid = None, None
    at_seen = _shared_at_seen_sizes(plain, launch, constants.get(plain.file, Constants()))
    keeps_shared = change is not None or at_seen is None or at_seen == launch.shared_bytes
    return replace(
        plain,
        file=file,
        block=block,
        shared_bytes=launch.shared_bytes if change is None or plain.shared_bytes is None else plain.shared_bytes,
        shared_expression=plain.shared_expression if keeps_shared else None,
        template_arguments=launch.template_arguments or plain.template_arguments,
        grid=grid,
        seen_shared_bytes=launch.shared_bytes,
        seen=launch.arguments,
        observed=True,
        refused=launch.refused,
        filled=launch.filled,
        changed=(change.name, change.value) if change is not None and change.file else ("", 0),
    )


def _at_seen_sizes(read: LaunchSite, launch: SeenLaunch, constants: Constants) -> LaunchSite:
    """What the text comes to where its arguments are what was seen: `min(n, 256)` threads of an `n` that the program
    was started with.  Where the block would be another one, the text as it was read."""
    if len(read.arguments) != len(launch.arguments):
        return read
    values = _values_seen(read, launch)
    axes = [constants.integer(axis, values.get) for axis in read.block_expressions]
    if not axes or (*axes, 1, 1)[:3] != launch.block:
        return read
    return replace(read, block=launch.block, tile=_at_seen_block(read, launch))


def _values_seen(read: LaunchSite, launch: SeenLaunch) -> dict[str, Number]:
    """The numbers that were handed in, by the text of the argument."""
    given = zip(_as_meant(read.arguments, launch), launch.arguments, strict=True)
    return {text: Number(argument.value) for text, argument in given if argument.value is not None}


def _shared_at_seen_sizes(read: LaunchSite, launch: SeenLaunch, constants: Constants) -> int | None:
    """What the text of the shared memory comes to with the arguments that were seen; None where it tells nothing."""
    values = _values_seen(read, launch) if len(read.arguments) == len(launch.arguments) else {}
    return constants.integer(read.shared_expression, values.get)


def _at_seen_block(read: LaunchSite, launch: SeenLaunch) -> tuple[int | None, ...]:
    """What a block covers where it has the threads that were seen: as many elements, or one; () where that is not
    known, as of two elements for each of the threads that the text had."""
    axes = list(zip(read.tile, read.block or launch.block, launch.block, strict=False))
    if any(tile not in (None, 1, then) and then != now for tile, then, now in axes):
        return ()
    return tuple(now if tile == then else tile for tile, then, now in axes)


def _as_meant(texts: tuple[str, ...], launch: SeenLaunch) -> tuple[str, ...]:
    """The arguments' texts with those in their places that the launch has in each other's."""
    if launch.exchanged is None or len(texts) != len(launch.arguments):
        return texts
    names = [argument.name for argument in launch.arguments]
    first, second = names.index(launch.exchanged.first), names.index(launch.exchanged.second)
    places = {first: second, second: first}
    return tuple(texts[places.get(index, index)] for index in range(len(texts)))


def _probes(launch: SeenLaunch, observed: ObservedRuns) -> tuple[SeenProbe, ...]:
    """The same launch at other sizes: of runs that were made for that, and of the program's own loop over sizes."""

    def is_same(other: SeenLaunch) -> bool:
        return (other.kernel, other.file, other.line, other.template_arguments) == (
            launch.kernel,
            launch.file,
            launch.line,
            launch.template_arguments,
        )

    def follows(other: SeenLaunch) -> bool:
        # A block that is no size of that run is a number of the program's that was changed for it as well.
        given = {argument.value for argument in other.arguments}
        return all(now == then or now in given for now, then in zip(other.block, launch.block, strict=True))

    probes = [_probe(other) for other in observed.probes if is_same(other) and follows(other)]
    of_loop: dict[tuple[object, ...], dict[tuple[int, int, int], SeenLaunch]] = {}
    for other in observed.launches:
        if is_same(other) and other.change is None and launch.change is None and not other.refused:
            of_loop.setdefault(_numbers(other), {}).setdefault(other.grid, other)
    # A loop over grids at one size says nothing of sizes.
    if all(len(grids) == 1 for grids in of_loop.values()):
        rest = [grids for numbers, grids in of_loop.items() if numbers != _numbers(launch)]
        probes += [_probe(other) for grids in rest for other in grids.values()]
    return tuple(probes[:MAX_PROBES])


def _probe(launch: SeenLaunch) -> SeenProbe:
    return SeenProbe(launch.grid, launch.arguments, launch.shared_bytes, launch.block)


def _numbers(launch: SeenLaunch) -> tuple[object, ...]:
    """Return what identifies a launch's sizes: its numbers and the lengths of its arrays."""
    return tuple((argument.value, argument.buffer_bytes) for argument in launch.arguments)


def _is_at(site: LaunchSite, launch: SeenLaunch) -> bool:
    """Whether a launch that was read may be the one seen: a call over several lines begins on one of them."""
    return 0 <= launch.line - site.line <= 8 and (not site.file or site.file.rpartition("/")[2] == _name(launch.file))


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _disagreement(site: LaunchSite, launch: SeenLaunch) -> tuple[bool, bool, bool, int]:
    return (
        bool(site.template_arguments) and site.template_arguments != launch.template_arguments,
        site.block != launch.block,
        site.block is not None and site.block != launch.block,
        launch.line - site.line,
    )


# Matrices that a kernel indexes by columns: what lies there has rows for its columns.

_SUM = re.compile(r"\(*(?P<x>\w+)\*(?P<y>\w+)\+(?P<alone>\w+)\)*|\(*(?P<alone2>\w+)\+(?P<x2>\w+)\*(?P<y2>\w+)\)*")
_A_ROW, _A_COLUMN = re.compile(r"(?i)i|r|\w*rows?"), re.compile(r"(?i)j|c|\w*col(umn)?s?")
_TYPE = r"(?:const |unsigned |signed |long |std ?:: ?)*(?:unsigned|int|long|short|size_t|ptrdiff_t|u?int(?:32|64)_t)"
_CAST = re.compile(rf"\( ?{_TYPE} ?\)(?= ?[\w(])|\bstatic_cast ?< ?{_TYPE} ?>|(?<![\w:]){_TYPE} ?(?=\()")
# A function or a lambda that returns an expression of its parameters at once.
_INDEX_FUNCTION = re.compile(
    r"\b(?P<name>\w+) ?(?:= ?\[[^\[\]]*\] ?(?:__\w+__ ?)*)?\((?P<parameters>[^(){};]+)\)"
    r"(?: ?const| ?noexcept| ?-> ?[\w: ]+)* ?\{ ?return\b(?P<body>[^;{}]+); ?\}"
)
_PRODUCT = re.compile(r"(?P<first>\w+)\[(?P<index>[^\[\]]+)\]\*(?P<second>\w+)\[(?P<index2>[^\[\]]+)\]")


def by_columns(
    readings: list[tuple[str, ...]], text: str, parsed: ParsedFile, constants: Constants, lab: Lab
) -> list[tuple[str, ...]]:
    """The same roles, before them those with two matrices in each other's place, of a kernel that indexes by columns.

    text: the kernel's, which stands in the file `parsed`.

    `#define IDX(row, col, ld) ((col) * (ld) + (row))`: read by rows each matrix has rows for columns, and so turned
    A * B is turned B times turned A.  What the host multiplies shows which of these the program means: where that is
    by rows, such an index is a mistake; where it is by columns, kernels may write their indices out.
    """
    exchanged = [turned for roles in readings if (turned := with_matrices_exchanged(roles, lab))]
    if not exchanged:
        return readings
    macros = dict(constants.macros)
    for file in (parsed, *parsed.headers):
        macros |= _index_functions(file.source.text)
    host = _orders_of_host(parsed, macros)
    words = set(WORD.findall(text))
    is_called = any(_is_by_columns(macro) for name, macro in macros.items() if name in words)
    if host == {False} or not (host == {True} or is_called):
        return readings
    return list(dict.fromkeys(role for pair in zip(exchanged, readings, strict=True) for role in pair))


def with_matrices_exchanged(roles: tuple[str, ...], lab: Lab) -> tuple[str, ...]:
    """The roles with the lab's two square matrices in each other's place; () where it has not two that are alike."""
    inputs = [p for p in lab.parameters if p.is_input]
    if len(inputs) != 2 or inputs[0].shape != inputs[1].shape or inputs[0].shape[1:] != inputs[0].shape[:1]:
        return ()
    first, second = inputs[0].name, inputs[1].name
    other = {first: second, second: first}
    return tuple(other.get(role, role) for role in roles)


def _plain(text: str) -> str:
    """Expressions without conversions, blanks, and brackets around a name or a product of two."""
    text = re.sub(r"\s", "", _CAST.sub("", re.sub(r"\s+", " ", text)))
    for _ in range(2):
        text = re.sub(r"(?<!\w)\((\w+(?:\*\w+)?)\)", r"\1", text)
    return text


def _index_functions(text: str) -> dict[str, Macro]:
    found = _INDEX_FUNCTION.finditer(re.sub(r"\s+", " ", without_comments(text)))
    names = ((m, [WORD.findall(part)[-1:] for part in m["parameters"].split(",")]) for m in found)
    return {m["name"]: Macro(m["body"], tuple(name[0] for name in part)) for m, part in names if all(part)}


def _index(text: str) -> tuple[frozenset[str], str] | None:
    """Return the factors, and what is added to their product."""
    match = _SUM.fullmatch(text)
    if match is None:
        return None
    return frozenset([match["x"] or match["x2"], match["y"] or match["y2"]]), match["alone"] or match["alone2"]


def _is_by_columns(macro: Macro) -> bool:
    index = _index(_plain(macro.body))
    if index is None or macro.parameters is None or len(macro.parameters) < 2:
        return False
    row, column = macro.parameters[:2]
    is_named = _A_ROW.fullmatch(row) is not None and _A_COLUMN.fullmatch(column) is not None
    return is_named and row == index[1] and column in index[0]


def _orders_of_host(parsed: ParsedFile, macros: Mapping[str, Macro]) -> set[bool]:
    """Return of each product of two matrices in host code whether it is by columns."""
    found = set()
    for item in parsed.items:
        if item.kind != "function" or not item.active or item.is_device:
            continue
        text = _written_out(_plain(without_comments(node_text(item.node))), macros)
        for match in _PRODUCT.finditer(text):
            order = _order(match)
            found |= set() if order is None else {order}
    return found


def _written_out(text: str, macros: Mapping[str, Macro]) -> str:
    """Indices that macros and functions make, as these make them."""

    def made(match: re.Match[str]) -> str:
        macro, given = macros.get(match[1]), match[2].split(",")
        if macro is None or macro.parameters is None or len(macro.parameters) != len(given):
            return match[0]
        values = dict(zip(macro.parameters, given, strict=True))
        return f"[{WORD.sub(lambda word: values.get(word[0], word[0]), _plain(macro.body))}]"

    return re.sub(r"\[(\w+)\(([^()\[\]]*)\)\]", made, text)


def _order(product: re.Match[str]) -> bool | None:
    """Return whether A[k * n + i] * B[j * n + k] is by columns; None where it is no product of such matrices.

    The same is B * A by rows: names tell, and the first in the alphabet is the first matrix.
    """
    indices = _index(product["index"]), _index(product["index2"])
    names = product["first"].lower(), product["second"].lower()
    (first, second) = indices if names < names[::-1] else indices[::-1]
    if first is None or second is None or names[0] == names[1]:
        return None
    if second[1] in first[0]:
        is_column = any(_A_COLUMN.fullmatch(name) for name in second[0] - first[0])
        return is_column and _A_ROW.fullmatch(first[1]) is not None
    return False if first[1] in second[0] else None
