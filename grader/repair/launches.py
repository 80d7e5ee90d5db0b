"""Changes of what stands in a launch: its grid and block, shared memory and arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function
from grader.repair.launch_sites import (
    NAMES,
    Launch,
    axes_of,
    definitions_of,
    macros_rounded_up,
    quotients_before,
    rounded_down,
    rounded_up,
    sides_given,
    source_of,
)
from grader.repair.nodes import ancestors, arguments_of, condition_of, listed, named_in, operator_of, shortened
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


def remainders(function: Function, source: Node) -> Iterator[Change]:
    """`n / 32 + (n % 4 != 0)` with the same divisor in both."""
    parts = {sign: [n for n in descendants(source) if operator_of(n) == sign] for sign in "/%"}
    for one, other in product(parts["/"], parts["%"]):
        for side in ("left", "right"):
            own, divisor = other.child_by_field_name(side), one.child_by_field_name(side)
            if own is not None and divisor is not None and function.text(own) != function.text(divisor):
                edit = function.replaced(own, function.text(divisor))
                yield Change("launch", function.line(other), (edit,), 0.7, "grid_rounded", "remainder")


def same_numbers(function: Function, grid: Node, side: Node, name: str) -> tuple[Edit, ...]:
    """Return edits of a grid's literals that equal a side of the block, or one less, to the constant."""
    text = function.text(side)
    if not text.isdigit():
        return ()
    edits = []
    for axis in axes_of(function, grid):
        for node in _numbers(source_of(function, axis)):
            if function.text(node) == text:
                edits.append(function.replaced(node, name))
            elif function.text(node) == str(int(text) - 1):
                edits.append(function.replaced(node, f"{name} - 1"))
    return tuple(edits)


def _numbers(node: Node) -> Iterator[Node]:
    if node.type == "number_literal":
        yield node
    for child in node.named_children:
        yield from _numbers(child)


def identifiers(function: Function, node: Node) -> Iterator[Node]:
    if node.type == "identifier":
        yield node
    if node.type != "sizeof_expression":
        for child in node.named_children:
            yield from identifiers(function, child)


def first_name(node: Node) -> Node | None:
    """Return the first variable of an expression: what is divided, where a number of blocks is computed."""
    names = (item for item in descendants(node) if item.type == "identifier" and not _is_callee(item))
    return next(names, None)


def _is_callee(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "call_expression" and parent.child_by_field_name("function") == node


MAX_FACTORS = 8
"""Names that a number of bytes is multiplied by."""


_LEADING = re.compile(r"(?:d|h|dev|device|host|g|gpu)_?(?=[A-Za-z])", re.IGNORECASE)


def named_like(text: str, names: Sequence[str]) -> str:
    """Return what an argument is called, of these names if one fits: without its object and, if need be, its side."""
    plain = text.rpartition(".")[2].rpartition("->")[2]
    shortened = _LEADING.sub("", plain, count=1) if _LEADING.match(plain) else plain
    return shortened if plain not in names and shortened in names else plain


def crosswise(launches: Sequence[Launch], named_parameters: Sequence[Sequence[int | None]]) -> Iterator[Change]:
    """Arguments that are called as the kernels' parameters are, in each other's place, exchanged at all launches; one
    that is, where the one in its place is called like none.

    named_parameters: of each argument of each launch the number of the parameter that it is named like, None for none.
    """
    crossed: dict[tuple[int, int], list[Change]] = {}
    for launch, places in zip(launches, named_parameters, strict=True):
        for one, other in enumerate(places):
            if other is None or one == other or other >= len(places) or places[other] not in (one, None):
                continue
            if places[other] is None or one < other:
                cost = 0.3 if places[other] == one else 0.7
                first, second = launch.arguments[one], launch.arguments[other]
                change = _exchanged(launch.function, first, second, cost, "crosswise", "arguments")
                crossed.setdefault((min(one, other), max(one, other)), []).append(change)
    for changes in crossed.values():
        edits = tuple(edit for change in changes for edit in change.edits)
        yield replace(changes[0], line=min(change.line for change in changes), edits=edits)


def launch_changes(
    launch: Launch, constants: Mapping[str, int], pairs: Sequence[tuple[int, int]], *, takes_any_block: bool = False
) -> Iterator[Change]:
    """What may be wrong of a launch.

    constants: those that its kernel is written with, and their values.
    pairs: numbers of arguments that may stand in each other's place, by their types.
    takes_any_block: whether its kernel is written for blocks of any size.
    """
    yield from grid_changes(launch)
    yield from _block_changes(launch, constants) if not takes_any_block else ()
    yield from _instance_changes(launch)
    yield from _argument_changes(launch, pairs)
    if launch.function.text(launch.grid) != launch.function.text(launch.block):
        yield _exchanged(launch.function, launch.grid, launch.block, 2.4, "launch_order", "order")
    yield from shared_changes(launch, constants)


def grid_changes(launch: Launch) -> Iterator[Change]:
    """Yield the axes of a grid exchanged, and numbers of blocks rounded up."""
    yield from _sides_changed(launch.function, axes_of(launch.function, launch.grid), launch.grid)


def given_grid_changes(parsed: ParsedFile) -> Iterator[Change]:
    """The same of grids that no launch names: those of a macro, of a table, or that a function is handed."""
    for function, declared, axes in sides_given(parsed):
        yield from _sides_changed(function, axes, declared)


def _sides_changed(function: Function, axes: Sequence[Node], place: Node) -> Iterator[Change]:
    if len(axes) >= 2 and function.text(axes[0]) != function.text(axes[1]):
        yield _exchanged(function, axes[0], axes[1], 1.0, "grid_axes", "axes")
        # `(rows + BX - 1) / BX, (cols + BY - 1) / BY`: the sizes are in each other's place, the block's sides are not.
        names = [name for axis in axes[:2] if (name := first_name(axis)) is not None]
        is_part = [name.id for name in names] != [axis.id for axis in axes[:2]]
        if is_part and len({function.text(name) for name in names}) == 2:
            yield _exchanged(function, names[0], names[1], 1.05, "grid_axes", "axes")
    for axis in axes:
        source = source_of(function, axis)
        own = first_name(source) if operator_of(source) == "/" else None
        sizes = [v.name for v in function.known_at(place).values() if v.role == "size" and v.start > 0]
        if own is not None and function.text(own) in sizes:
            # `(rows + 31) / 32` blocks along the columns.
            others = [name for name in sizes if name != function.text(own)]
            yield from (function.replacement("launch", own, name, 1.7, "grid_size", "grid") for name in others)
    yield from (change for axis in axes for change in remainders(function, source_of(function, axis)))
    down = [node for axis in axes for node in rounded_down(function, axis)]
    down = list({node.id: node for node in down}.values())
    rounded = [(node, edit) for node in down if (edit := rounded_up(function, node)) is not None]
    rounded += [(node, edit) for axis in axes for node, edit in macros_rounded_up(function, axis)]
    down, edits = [node for node, _edit in rounded], tuple(dict.fromkeys(edit for _node, edit in rounded))
    if edits:
        line = min(function.line(node) for node in down)
        yield Change("launch", line, edits, 1.1, "grid_rounded", "rounded")
    for axis in axes:
        for node in quotients_before(function, axis):
            edit = rounded_up(function, node)
            if edit is None:
                continue
            yield Change("launch", function.line(node), (edit,), 1.15, "grid_rounded", "quotient")
            if edits and edit not in edits:
                yield Change("launch", line, (*edits, edit), 1.2, "grid_rounded", "rounded")
    if len(edits) > 1:
        for node, edit in zip(down, edits, strict=False):
            yield Change("launch", function.line(node), (edit,), 1.6, "grid_rounded", "rounded")


def _block_changes(launch: Launch, constants: Mapping[str, int]) -> Iterator[Change]:
    function = launch.function
    axes = [source_of(function, axis) for axis in axes_of(function, launch.block)]
    if len(axes) >= 2 and function.text(axes[0]) != function.text(axes[1]):
        edits = function.exchanged(axes[0], axes[1])
        yield Change("launch", function.line(axes[0]), edits, 1.2, "block", "block_axes")
    unused_constants = [name for name in constants if name not in {function.text(axis) for axis in axes}]
    for count, name in enumerate(unused_constants):
        cost = 1.5 + 0.3 * count
        if len(axes) >= 2:
            both = tuple(function.replaced(axis, name) for axis in axes[:2])
            if axes[0].id != axes[1].id:
                yield Change("launch", function.line(axes[0]), both, cost, "block", "block")
        for axis in axes[:2]:
            edit = function.replaced(axis, name)
            yield Change("launch", function.line(axis), (edit,), cost + 0.1, "block", "block")
            in_grid = same_numbers(function, launch.grid, axis, name)
            if in_grid:
                yield Change("launch", function.line(axis), (edit, *in_grid), cost + 0.2, "block", "block")
    named = {function.text(axis) for axis in axes}
    for axis in axes[:2]:
        # One side as long as the other: `TILE, TILE` for `TILE, TILE / 2`.
        for other in sorted(name for name in named if name in constants and name != function.text(axis)):
            yield function.replacement("launch", axis, other, 1.4, "block", "block")


def sides_at(launch: Launch) -> set[int]:
    """Return where the sides of a launch's block are given their numbers, in characters of the file."""
    function = launch.function
    return {function.at(source_of(function, axis).start_byte) for axis in axes_of(function, launch.block)}


def _instance_changes(launch: Launch) -> Iterator[Change]:
    """A side of the block as a template's argument, where that is another: `kernel<32><<<grid, dim3(16, 16)>>>`."""
    function = launch.function
    sides = dict.fromkeys(function.text(source_of(function, axis)) for axis in axes_of(function, launch.block))
    for node in launch.given:
        for side in sides:
            if side != function.text(node) and (side.isdigit() or side.isidentifier()):
                yield function.replacement("launch", node, side, 1.4, "block", "instance")


def _argument_changes(launch: Launch, pairs: Sequence[tuple[int, int]]) -> Iterator[Change]:
    function = launch.function
    for one, other in pairs:
        if max(one, other) >= len(launch.arguments):
            continue
        first, second = launch.arguments[one], launch.arguments[other]
        if function.text(first) != function.text(second):
            cost = 1.2 + 0.2 * (abs(one - other) - 1)
            yield _exchanged(function, first, second, cost, "arguments", "arguments")


_SQUARE = re.compile(r"\b([A-Za-z_]\w*) ?\* ?\1\b")
_LEAST = re.compile(r"\bmin\w*\s*\(|\?", re.IGNORECASE)


_DYNAMIC, _OF_FILE = re.compile(r"\bextern\b[^;]*__shared__"), re.compile(r"(?m)^extern\b[^;\n]*__shared__")


def _may_use_bytes(launch: Launch) -> bool:
    """Whether a launched kernel, or what it calls in its file, has an array whose size its launches give; True of one
    whose text is not in the file."""
    parsed = launch.function.parsed
    item = parsed.functions.get(launch.callee)
    if item is None or _OF_FILE.search(parsed.text(parsed.root)):
        return True
    named = (parsed.functions.get(name) for name in parsed.words(item.node))
    return any(_DYNAMIC.search(parsed.text(other.node)) for other in (item, *named) if other is not None)


def shared_changes(launch: Launch, constants: Mapping[str, int]) -> Iterator[Change]:
    """Yield other numbers of bytes of dynamic shared memory; constants: see `launch_changes`."""
    function = launch.function
    numbers = [function.text(a) for a in launch.arguments if a.type in ("identifier", "number_literal")]
    variables = function.known_at(launch.grid)
    scalars = [t for t in numbers if t.isdigit() or (t in variables and variables[t].role != "array")]
    sides = [function.text(source_of(function, axis)) for axis in axes_of(function, launch.block)]
    threads = " * ".join(dict.fromkeys(s for s in sides if s != "1")) if len(sides) == 1 else ""
    written = function.text(source_of(function, launch.shared)) if launch.shared is not None else ""
    # What has the block's threads in it already lacks another factor.
    first, last = ([], [threads]) if threads and threads in written else ([threads] if threads else [], [])
    factors = list(dict.fromkeys([*first, *scalars, *constants, *last]))[:MAX_FACTORS]
    if launch.shared is None:
        if not _may_use_bytes(launch):
            return
        for factor in factors:
            edit = function.inserted(launch.block.end_byte, f", {factor} * sizeof(float)")
            yield Change("launch", launch.line, (edit,), 2.2, "shared_bytes", "no_bytes")
        return
    source = source_of(function, launch.shared, stops=_is_used_elsewhere)
    text = function.text(source)
    bracketed = text if source.type in ("identifier", "number_literal", "call_expression") else f"({text})"
    if "*" in text and source.type == "binary_expression":
        bracketed = text
    for whole, left in shortened(source):
        # `bytes / 2`, `bytes - 1`: a part that is one too many.
        yield function.replacement(
            "launch", whole, function.text(left), 1.1, "shared_bytes", "too_few_bytes", line=function.line(source)
        )
    for part in (n for n in descendants(source) if n.type == "sizeof_expression"):
        if function.text(part).removeprefix("sizeof").strip(" ()") in ("char", "bool", "short"):
            yield function.replacement("launch", part, "sizeof(float)", 0.9, "shared_bytes", "too_few_bytes")
    if not _counts_bytes(function, source):
        yield function.replacement("launch", source, f"{bracketed} * sizeof(float)", 1.2, "shared_bytes", "bytes")
    for factor in factors:
        yield function.replacement("launch", source, f"{bracketed} * {factor}", 1.7, "shared_bytes", "too_few_bytes")
    names = [scalar for scalar in scalars if not scalar.isdigit()]
    for number in (n for n in descendants(source) if n.type == "number_literal"):
        # `threads + 2`: a margin for one size alone.
        for name in names if number.parent is not None and operator_of(number.parent) == "+" else ():
            edit = function.replaced(number, f"{function.text(number)} * {name}")
            cost = 1.1 if name not in text else 1.8
            yield Change("launch", function.line(number), (edit,), cost, "shared_bytes", "too_few_bytes")
    for square in _SQUARE.finditer(text):
        # An element more for each: `threads * (n * n + 1)`.
        start = function.at(source.start_byte) + square.start()
        edit = replace(function.replaced(source, f"({square[0]} + 1)"), start=start, end=start + len(square[0]))
        yield Change("launch", function.line(source), (edit,), 1.55, "shared_bytes", "too_few_bytes")
    for place, node in enumerate(reversed(list(named_in(source)))):
        if any(outer.type == "sizeof_expression" for outer in ancestors(node, function.body)):
            continue
        if node.parent is not None and operator_of(node.parent) == "+":
            # `threads + RADIUS`: a margin on one side alone.
            twice = function.replaced(node, f"2 * {function.text(node)}")
            yield Change("launch", function.line(node), (twice,), 1.1, "shared_bytes", "too_few_bytes")
        # Rows may be padded.
        padded = function.replaced(node, f"({function.text(node)} + 1)")
        yield Change("launch", function.line(node), (padded,), 1.6 + 0.05 * place, "shared_bytes", "too_few_bytes")
        # `min(n, 256)` threads, each of which takes several elements.
        limited = {
            word
            for value in definitions_of(function, node)[:1]
            if _LEAST.search(function.text(value))
            for word in function.parsed.words(value)
        }
        for name in factors:
            if name != function.text(node):
                edit = function.replaced(node, f"({name})" if " " in name else name)
                # The block's threads once more would be far more than it needs.
                cost = 1.2 if name in limited else 1.9 if name != threads else 2.4 if threads in written else 1.3
                yield Change("launch", function.line(node), (edit,), cost, "shared_bytes", "too_few_bytes")
    yield function.replacement("launch", source, f"2 * {bracketed}", 2.6, "shared_bytes", "too_few_bytes")


def _calls_for_bytes(function: Function, source: Node) -> bool:
    names = function.parsed.words(source) & function.parsed.functions.keys() if source.type == "call_expression" else ()
    return any("sizeof" in function.parsed.text(function.parsed.functions[name].node) for name in names)


def _counts_bytes(function: Function, source: Node) -> bool:
    """Whether a size says how large an element is, itself or where a name in it is given its value."""
    texts = [source, *(value for node in named_in(source) for value in definitions_of(function, node))]
    return any("sizeof" in function.text(node) for node in texts) or _calls_for_bytes(function, source)


def _is_used_elsewhere(function: Function, shared: Node) -> bool:
    """Whether a name given as a number of bytes of shared memory is used for something else, too."""
    name = function.text(shared)
    if shared.type not in NAMES:
        return False
    uses = {n.start_byte for n in identifiers(function, function.body) if function.text(n) == name}
    launches = [listed(node) for node in function.nodes if node.type == "kernel_call_syntax"]
    # The limit that it is raised to goes with it, and so does the question whether that has to be raised.
    limits = [
        last for n in function.nodes if function.callee(n) == "cudaFuncSetAttribute" for last in arguments_of(n)[2:]
    ]
    limits += [c for n in function.nodes if n.type == "if_statement" and (c := condition_of(n)) is not None]
    shared_sizes = {parts[2].start_byte for parts in launches if len(parts) > 2}
    shared_sizes |= {part.start_byte for limit in limits for part in (limit, *descendants(limit))}
    declared = {n.start_byte for n in function.nodes if n.type == "init_declarator" and declared_name(n) == name}
    return bool(uses - shared_sizes - declared)


def _exchanged(function: Function, one: Node, other: Node, cost: float, group: str, detail: str) -> Change:
    edits = function.exchanged(one, other)
    return Change("launch", function.line(one), edits, cost, group, detail)
