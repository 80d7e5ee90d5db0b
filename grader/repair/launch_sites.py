"""Where a file launches kernels, as its text has it, and where the grid and the block of a launch come from.

A launch may stand in a table's stead, `v.kernel<<<v.grid, v.block>>>`: then each row of the table is one.  And how
calls are checked in a function, for those that are put beside them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.repair.function import Function, host_functions, is_rounded_down
from grader.repair.nodes import arguments_of, listed, named_in, operator_of, sides_of
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
    for value in definitions_of(function, node):
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


def definitions_of(function: Function, node: Node) -> list[Node]:
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
        definitions = definitions_of(function, node) if node.type in NAMES and not stops(function, node) else []
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
        definitions = definitions_of(function, node) or _definitions_above(function, node)
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


@dataclass(frozen=True, slots=True)
class Launch:
    """A `kernel<<<grid, block, bytes>>>(…)` of a host function.

    callee: as it is written, be it a pointer to a kernel, without its template's arguments, which are `given`.
    shared: None where nothing stands there.
    row: of a table, that names the kernel; None for a launch that is written out.
    """

    function: Function
    line: int
    callee: str
    grid: Node
    block: Node
    shared: Node | None
    arguments: tuple[Node, ...]
    given: tuple[Node, ...] = ()
    row: Node | None = None


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


def rows_of(parsed: ParsedFile) -> Iterator[tuple[Launch, Node]]:
    """Yield the launches that the rows of tables stand for, each with where its row names the kernel.

    `{"row", multiplyRow, grid, block}` of a struct whose members stand in `v.kernel<<<v.grid, v.block>>>`.
    """
    for launch in launches_of(parsed):
        members = [_member_of(launch.function, node) for node in (callee_of(launch), launch.grid, launch.block)]
        members.append(_member_of(launch.function, launch.shared))
        if not members[0]:
            continue
        for function in host_functions(parsed):
            for node in function.nodes:
                type_node = node.child_by_field_name("type") if node.type == "declaration" else None
                name = function.text(type_node).removeprefix("struct ").strip() if type_node is not None else ""
                fields = _fields_of(parsed, name) if members[0] else []
                if members[0] in fields:
                    rows = [n for n in descendants(node) if n.type == "initializer_list" and len(listed(n)) > 1]
                    yield from _launches_in(launch, function, rows, fields, members)


def _launches_in(
    launch: Launch, function: Function, rows: list[Node], fields: list[str], members: list[str]
) -> Iterator[tuple[Launch, Node]]:
    for row in rows:
        values = dict(zip(fields, listed(row), strict=False))
        called, grid, block, shared = (values.get(member) for member in members)
        name = function.text(called).lstrip("& ") if called is not None else ""
        if called is None or name.partition("<")[0] not in function.parsed.functions:
            continue
        sides = grid or launch.grid, block or launch.block
        yield Launch(function, function.line(row), name.partition("<")[0], *sides, shared, (), row=row), called


def callee_of(launch: Launch) -> Node | None:
    """Return what a launch calls, as it is written."""
    call: Node | None = launch.grid
    while call is not None and call.type != "call_expression":
        call = call.parent
    return call.child_by_field_name("function") if call is not None else None


def _member_of(function: Function, node: Node | None) -> str:
    """Return the member's name of `v.kernel` or `v->kernel`; "" of anything else."""
    field = node.child_by_field_name("field") if node is not None and node.type == "field_expression" else None
    return function.text(field) if field is not None else ""


def _fields_of(parsed: ParsedFile, name: str) -> list[str]:
    """Return the names of a struct's members in their order, pointers to functions among them."""
    items = parsed.by_name.get(name, ()) if name else ()
    body = next((n for item in items for n in descendants(item.node) if n.type == "field_declaration_list"), None)
    rows = [n for n in body.named_children if n.type == "field_declaration"] if body is not None else []
    return [declared_name(inner) for row in rows for inner in row.children_by_field_name("declarator")]


def sides_given(parsed: ParsedFile, *, of_blocks: bool = False) -> Iterator[tuple[Function, Node, list[Node]]]:
    """Yield the sides of each `dim3 grid((n + 15) / 16, (m + 15) / 16)` that no launch of its function names, and where
    it is declared; of_blocks: those of each `dim3 block(16)`, which has one."""
    launches = launches_of(parsed)
    for function in host_functions(parsed):
        own = [launch for launch in launches if launch.function.item == function.item]
        named = {function.text(node) for launch in own for node in (launch.grid, launch.block)}
        for node in function.nodes:
            type_node = node.child_by_field_name("type") if node.type == "declaration" else None
            if type_node is None or function.text(type_node).removeprefix("const ").strip() != "dim3":
                continue
            for declarator in node.children_by_field_name("declarator"):
                inner = (declarator.child_by_field_name(key) for key in ("value", "parameters"))
                given = next((n for n in inner if n is not None), None)
                given = given or next((c for c in declarator.named_children if c.type == "argument_list"), None)
                axes = arguments_of(given) if given is not None and given.type == "call_expression" else None
                axes = axes or (listed(given) if given is not None else [])
                is_grid = len(axes) > 1 and all("/" in function.text(axis) for axis in axes[:2])
                is_block = len(axes) == 1 and axes[0].type in ("identifier", "number_literal", *NAMES)
                if (is_block if of_blocks else is_grid) and declared_name(declarator) not in named:
                    yield function, declarator, axes


def checked(function: Function) -> str:
    """Return how most calls of the runtime stand in a function: bare, or within a macro that looks at their result."""
    calls: list[tuple[str, str]] = []
    for node in (n for n in function.statements if n.type == "expression_statement"):
        call = next((n for n in node.named_children if n.type == "call_expression"), None)
        name, given = (function.callee(call), arguments_of(call)) if call is not None else ("", [])
        if name.startswith("cuda"):
            calls.append(("", ""))
        elif given and function.callee(given[0]).startswith("cuda"):
            # `check(cudaMalloc(&a, bytes), "a")`: what it is told besides goes with any call.
            calls.append((name, "".join(f", {function.text(n)}" for n in given[1:])))
    macro = Counter(name for name, _rest in calls).most_common(1)[0][0] if calls else ""
    rest = next((rest for name, rest in reversed(calls) if name == macro), "").replace("{", "{{").replace("}", "}}")
    return f"{macro}({{}}{rest});" if macro else "{};"
