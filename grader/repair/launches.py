"""A launch in host code, where its grid and block come from, and changes of what stands in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function, host_functions, is_rounded_down
from grader.repair.nodes import ancestors, arguments_of, condition_of, listed, named_in, operator_of, sides_of
from grader.repair.several_places import replaced_in
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_STEPS = 4
"""Variables that are followed from a launch to where their values come from."""
NAMES = ("identifier", "type_identifier", "parameter_declaration")
"""What a variable may be to the parser, which takes `dim3 grid(x, y)` for a function of types x and y."""
_QUOTIENT = re.compile(r"[\s(]*(\w+|\(\w+\))\s*/\s*(\w+|\(\w+\))[\s)]*")


def axes_of(function: Function, node: Node) -> list[Node]:
    """Return the values of a grid's or a block's sides where it is defined; the node itself where it is a number."""
    if node.type == "call_expression":
        return arguments_of(node) if function.callee(node) == "dim3" else [node]
    if node.type == "initializer_list":
        return listed(node)
    if node.type not in NAMES:
        return [node]
    set_apart = _members(function, node)
    if set_apart:
        return set_apart
    for value in _definitions(function, node):
        if value.type in ("argument_list", "parameter_list", "initializer_list"):
            return listed(value)
        if value.type == "call_expression":
            return axes_of(function, value)
        if value.type != "identifier":
            return [node]
    return [node]


def _members(function: Function, node: Node) -> list[Node]:
    """What `grid.x` and `grid.y` are set to before a launch."""
    name = function.text(node)
    by_axis: dict[str, Node] = {}
    for other in function.nodes:
        left = other.child_by_field_name("left") if other.type == "assignment_expression" else None
        right = other.child_by_field_name("right") if left is not None else None
        if left is not None and right is not None and other.start_byte < node.start_byte:
            for axis in "xy":
                if function.text(left).replace(" ", "") == f"{name}.{axis}":
                    by_axis[axis] = right
    return [by_axis[axis] for axis in "xy" if axis in by_axis] if "x" in by_axis else []


def _definitions(function: Function, node: Node) -> list[Node]:
    """Return the values that a variable is given before its use, the last one first."""
    name, definitions = function.text(node), []
    for other in function.nodes:
        if other.start_byte >= node.start_byte:
            break
        if other.type == "init_declarator" and declared_name(other) == name:
            value = other.child_by_field_name("value")
            given = value or next((c for c in other.named_children if c.type == "argument_list"), None)
            definitions += [given] if given is not None else []
        elif other.type == "function_declarator" and declared_name(other) == name:
            given = other.child_by_field_name("parameters")
            definitions += [given] if given is not None else []
        elif other.type == "assignment_expression":
            left, right = sides_of(other)
            if left is not None and right is not None and function.text(left) == name:
                definitions.append(right)
    return definitions[::-1]


def _definitions_above(function: Function, node: Node) -> list[Node]:
    """What a variable at file level is given, `const int BLOCKS = N / TILE`."""
    items = function.parsed.by_name.get(function.text(node), ())
    declared = [n for item in items if item.kind == "variable" and item.active for n in item.node.named_children]
    values = [n.child_by_field_name("value") for n in declared if n.type == "init_declarator"]
    return [value for value in values if value is not None]


def source_of(function: Function, node: Node, stops: Callable[[Function, Node], bool] = lambda _f, _n: False) -> Node:
    """The expression behind a variable, where it is computed in the function; the node itself else.

    stops: names that are not followed.
    """
    for _step in range(MAX_STEPS):
        definitions = _definitions(function, node) if node.type in NAMES and not stops(function, node) else []
        # A number that has a name of its own is used elsewhere, too.
        if not definitions or definitions[0].type in (
            "argument_list",
            "parameter_list",
            "initializer_list",
            "number_literal",
        ):
            break
        node = definitions[0]
    return node


def rounded_down(function: Function, node: Node, depth: int = 0) -> Iterator[Node]:
    """Yield the divisions that a number of blocks comes from and that are not rounded up."""
    if depth > MAX_STEPS:
        return
    if node.type in NAMES:
        definitions = _definitions(function, node) or _definitions_above(function, node)
        # A number that it is given besides, `if (blocks == 0) blocks = 1`, is a limit.
        computed = next((value for value in definitions if value.type != "number_literal"), None)
        if computed is not None and computed.type != "argument_list":
            yield from rounded_down(function, computed, depth + 1)
    elif node.type == "binary_expression":
        if operator_of(node) == "/":
            if is_rounded_down(function, node) and not _has_remainder(node):
                yield node
            return
        for child in node.named_children:
            yield from rounded_down(function, child, depth)
    elif node.type in ("parenthesized_expression", "call_expression", "argument_list", "cast_expression"):
        for child in node.named_children:
            yield from rounded_down(function, child, depth)


def quotients_before(function: Function, node: Node) -> Iterator[Node]:
    """Yield divisions that are not rounded up of what a number of blocks is rounded up from: `quads = n / 4` where
    there are `(quads + 255) / 256` blocks."""
    source = source_of(function, node)
    left = source.child_by_field_name("left") if operator_of(source) == "/" else None
    for name in named_in(left) if left is not None else ():
        yield from rounded_down(function, name)


def _has_remainder(node: Node) -> bool:
    """Whether what is left over by a division is looked at beside it: `n / 4 + (n % 4 != 0)`."""
    outer = node
    while outer.parent is not None and operator_of(outer.parent) in ("+", "-"):
        outer = outer.parent
    return any(operator_of(part) == "%" for part in descendants(outer))


def remainders(function: Function, source: Node) -> Iterator[Change]:
    """`n / 32 + (n % 4 != 0)` with the same divisor in both."""
    parts = {sign: [n for n in descendants(source) if operator_of(n) == sign] for sign in "/%"}
    for one, other in product(parts["/"], parts["%"]):
        for side in ("left", "right"):
            own, divisor = other.child_by_field_name(side), one.child_by_field_name(side)
            if own is not None and divisor is not None and function.text(own) != function.text(divisor):
                edit = function.replaced(own, function.text(divisor))
                yield Change("launch", function.line(other), (edit,), 0.7, "grid_rounded", "remainder")


def rounded_up(function: Function, node: Node) -> Edit | None:
    left, right = sides_of(node)
    if left is None or right is None:
        return None
    divisor = function.text(right)
    bracketed = f"({divisor})" if right.type == "binary_expression" else divisor
    return function.replaced(node, f"({function.text(left)} + {divisor} - 1) / {bracketed}")


def macros_rounded_up(function: Function, node: Node) -> Iterator[tuple[Node, Edit]]:
    """Yield bodies of macros that a grid is written with, `#define BLOCKS (N / TILE)`, rounded up."""
    for name in sorted(function.parsed.words(source_of(function, node))):
        for item in function.parsed.by_name.get(name, ()):
            body = item.node.child_by_field_name("value") if item.kind == "macro" and item.active else None
            quotient = _QUOTIENT.fullmatch(function.text(body)) if body is not None else None
            if body is not None and quotient is not None:
                above, below = quotient.groups()
                yield body, replaced_in(function.parsed, body, f"(({above} + {below} - 1) / {below})")


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


@dataclass(frozen=True, slots=True)
class Launch:
    """A `kernel<<<grid, block, bytes>>>(…)` of a host function.

    callee: as it is written, be it a pointer to a kernel, without its template's arguments, which are `given`.
    shared: None where nothing stands there.
    """

    function: Function
    line: int
    callee: str
    grid: Node
    block: Node
    shared: Node | None
    arguments: tuple[Node, ...]
    given: tuple[Node, ...] = ()


def launches_of(parsed: ParsedFile) -> list[Launch]:
    """Return every launch in the host code of a file, in order of the text."""
    launches = []
    for function in host_functions(parsed):
        for node in function.nodes:
            if node.type != "call_expression":
                continue
            callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            configuration = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
            parts = listed(configuration) if configuration is not None else []
            if callee is None or arguments is None or len(parts) < 2:
                continue
            name = function.text(callee).partition("<")[0].strip()
            shared = parts[2] if len(parts) > 2 else None
            handed = tuple(listed(arguments))
            of_template = callee.child_by_field_name("arguments") if callee.type == "template_function" else None
            template_arguments = tuple(listed(of_template)) if of_template is not None else ()
            launches.append(
                Launch(function, function.line(node), name, parts[0], parts[1], shared, handed, template_arguments)
            )
    return launches


_LEADING = re.compile(r"(?:d|h|dev|device|host|g|gpu)_?(?=[A-Za-z])", re.IGNORECASE)


def named_like(text: str, names: Sequence[str]) -> str:
    """Return what an argument is called, of these names if one fits: without its object and, if need be, its side."""
    plain = text.rpartition(".")[2].rpartition("->")[2]
    shortened = _LEADING.sub("", plain, count=1) if _LEADING.match(plain) else plain
    return shortened if plain not in names and shortened in names else plain


def crosswise(launches: Sequence[Launch], named_parameters: Sequence[Sequence[int | None]]) -> Iterator[Change]:
    """Arguments that are called as the kernels' parameters are, in each other's place, exchanged at all launches.

    named_parameters: of each argument of each launch the number of the parameter that it is named like, None for none.
    """
    crossed: dict[tuple[int, int], list[Change]] = {}
    for launch, places in zip(launches, named_parameters, strict=True):
        for one, other in enumerate(places):
            if other is not None and one < other < len(places) and places[other] == one:
                change = _exchanged(
                    launch.function, launch.arguments[one], launch.arguments[other], 0.3, "crosswise", "arguments"
                )
                crossed.setdefault((one, other), []).append(change)
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
    function = launch.function
    axes = axes_of(function, launch.grid)
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
        sizes = [v.name for v in function.known_at(launch.grid).values() if v.role == "size" and v.start > 0]
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
        for factor in factors:
            edit = function.inserted(launch.block.end_byte, f", {factor} * sizeof(float)")
            yield Change("launch", launch.line, (edit,), 2.2, "shared_bytes", "no_bytes")
        return
    source = source_of(function, launch.shared, stops=_is_used_elsewhere)
    text = function.text(source)
    bracketed = text if source.type in ("identifier", "number_literal", "call_expression") else f"({text})"
    if "*" in text and source.type == "binary_expression":
        bracketed = text
    if not _counts_bytes(function, source):
        yield function.replacement("launch", source, f"{bracketed} * sizeof(float)", 1.2, "shared_bytes", "bytes")
    for factor in factors:
        yield function.replacement("launch", source, f"{bracketed} * {factor}", 1.7, "shared_bytes", "too_few_bytes")
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
            for value in _definitions(function, node)[:1]
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
    texts = [source, *(value for node in named_in(source) for value in _definitions(function, node))]
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
