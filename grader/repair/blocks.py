"""Changes of what host code launches, with what, in how many blocks and how often: arguments in each other's place,
limits, ends of loops, levels of one block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.function import Change, Function, Variable, parameter_nodes
from grader.repair.host_arguments import Host, statement_of
from grader.repair.launch_sites import Launch, axes_of, callee_of, rows_of, sides_given, source_of
from grader.repair.launches import named_like, shared_changes
from grader.submission.cpp.tree import LOOPS, ParsedFile, declared_name

if TYPE_CHECKING:
    from tree_sitter import Node

_OTHER_END = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def loop_changes(host: Host) -> Iterator[Change]:
    """Yield the ends of loops around launches, by one turn more or less."""
    shown: set[int] = set()
    for launch in host.launches:
        for loop in nodes.ancestors(launch.grid, launch.function.body):
            condition = loop.child_by_field_name("condition") if loop.type in LOOPS else None
            if condition is not None and condition.type == "condition_clause":
                condition = nodes.condition_of(loop)
            sign = nodes.operator_of(condition) if condition is not None else ""
            operator = condition.child_by_field_name("operator") if condition is not None else None
            if sign in _OTHER_END and operator is not None and operator.start_byte not in shown:
                shown.add(operator.start_byte)
                line = launch.function.line(operator)
                yield launch.function.replacement("bound", operator, _OTHER_END[sign], 1.0, "loop", "end", line=line)


def cap_changes(host: Host) -> Iterator[Change]:
    """Yield numbers of blocks without a limit, as `if (b > 64) b = 64;`, `min(b, 64)` or `b > 64 ? 64 : b` do."""
    functions = {launch.function.item.start: launch.function for launch in host.launches}
    for function in functions.values():
        grids = [launch.grid for launch in host.launches if launch.function.item == function.item]
        words = {word for grid in grids for word in function.parsed.words(grid)}
        for node in function.nodes:
            name = _given_name(function, node)
            if node.type == "if_statement":
                body = nodes.only_statement(node.child_by_field_name("consequence"))
                assignment, condition = nodes.assignment_of(nodes.inner_of(body)), nodes.condition_of(node)
                is_cap = (
                    assignment is not None and condition is not None and nodes.operator_of(condition) in (">", ">=")
                )
                if is_cap and assignment is not None and function.text(assignment[0]) in words:
                    yield Change("launch", function.line(node), (function.removed(node),), 0.8, "cap", "capped")
            elif name in words or any(grid.start_byte <= node.start_byte < grid.end_byte for grid in grids):
                rest = nodes.arguments_of(node) if function.callee(node).rpartition("::")[2] == "min" else []
                if node.type == "conditional_expression":
                    rest = [n for key in ("consequence", "alternative") if (n := node.child_by_field_name(key))]
                for other in rest if len(rest) == 2 else ():
                    if other.type != "number_literal":
                        text = function.text(other)
                        yield function.replacement("launch", node, text, 0.8, "cap", "capped")


def _given_name(function: Function, node: Node) -> str:
    """Return the variable that an expression is the whole value of; "" where it is none's."""
    outer = nodes.outside_brackets(node)
    assignment = nodes.assignment_of(outer)
    if nodes.value_of(outer) is not None:
        return declared_name(outer)
    return function.text(assignment[0]) if assignment is not None else ""


def block_changes(host: Host, launch: Launch) -> Iterator[Change]:
    """A launch of one block as a call of the function that it stands in, whose blocks' results it combines: as many
    as one block has threads are too few for large arrays; and as many blocks as elsewhere, or one in place of many."""
    function = launch.function
    text = function.text(launch.grid)
    statement = statement_of(function, launch.grid)
    if text != "1":
        yield function.replacement("launch", launch.grid, "1", 2.0, "grid", "grid", line=launch.line)
        if not any(x.callee == launch.callee and x.line != launch.line for x in host.launches):
            return
    wanted: list[str] = []
    variables, left = function.known_at(launch.grid), [*launch.arguments]
    for inner, _kind in parameter_nodes(function.item):
        name = declared_name(inner)
        is_pointer = inner.type != "identifier"
        fits = (n for n in left if _is_array(function, n, variables) == is_pointer and function.text(n) != "nullptr")
        argument = next(fits, None)
        if argument is None or name == function.text(argument):
            return
        left = [n for n in left if n.start_byte > argument.start_byte]
        wanted.append(function.text(argument))
    if statement is not None and wanted and statement.type == "expression_statement":
        call = f"{function.item.name.rpartition('::')[2]}({', '.join(wanted)});"
        cost = 0.8 if text == "1" else 1.1
        yield function.replacement("launch", statement, call, cost, "grid", "levels", line=launch.line)


def _is_array(function: Function, node: Node, variables: Mapping[str, Variable]) -> bool:
    return any((v := variables.get(w)) is not None and v.role == "array" for w in function.parsed.words(node))


def _is_pointer(function: Function, node: Node, variables: Mapping[str, Variable]) -> bool | None:
    """Whether an argument is an array, or a place in one; None where its text does not say."""
    if node.type == "identifier":
        variable = variables.get(function.text(node))
        return variable.role == "array" if variable is not None else None
    if nodes.operator_of(node) == "+":
        kinds = [_is_pointer(function, side, variables) for side in nodes.sides_of(node) if side is not None]
        return True if True in kinds else None if None in kinds else False
    return False if node.type in ("number_literal", "binary_expression") else None


MAX_SIDE = 32
"""The longest side of a square block that a device runs."""


def flat_changes(launch: Launch, constants: Mapping[str, int]) -> Iterator[Change]:
    """Yield the two sides of a block that is given all of its threads along x: `dim3(T, T)` for `dim3(T * T)`, and for
    a number that is the square of one of the kernel's constants."""
    function, axes = launch.function, axes_of(launch.function, launch.block)
    side = source_of(function, axes[0]) if len(axes) == 1 else None
    if side is None:
        return
    one, other = nodes.sides_of(side) if nodes.operator_of(side) == "*" else (None, None)
    pairs = [(function.text(one), function.text(other))] if one is not None and other is not None else []
    threads = function.parsed.constants.evaluate(function.text(side))
    pairs += [(name, name) for name, value in constants.items() if value * value == threads]
    if threads is not None and 1 < threads <= MAX_SIDE:
        # The side alone: `dim3(T)` for `dim3(T, T)`.
        pairs.append((function.text(axes[0]), function.text(axes[0])))
    is_number = axes[0] == launch.block or axes[0].parent is None or axes[0].parent.type == "init_declarator"
    for x, y in dict.fromkeys(pairs):
        text = f"dim3({x}, {y})" if is_number else f"{x}, {y}"
        yield function.replacement("launch", axes[0], text, 1.2, "block", "flat")


def given_block_changes(parsed: ParsedFile) -> Iterator[Change]:
    """The same of blocks of one side that no launch names, as those that a function is handed: `dim3 block(TILE)`."""
    for function, _declared, axes in sides_given(parsed, of_blocks=True):
        threads = parsed.constants.evaluate(function.text(source_of(function, axes[0])))
        if threads is not None and 1 < threads <= MAX_SIDE:
            text = function.text(axes[0])
            yield function.replacement("launch", axes[0], f"{text}, {text}", 1.2, "block", "flat")


# -- one launch ------------------------------------------------------------------------


def launch_call_changes(host: Host, launch: Launch, kernels: Collection[str]) -> Iterator[Change]:
    """Yield what may be wrong of a launch in itself; kernels: those that are launched nowhere."""
    function = launch.function
    called = callee_of(launch)
    yield from _named_crosswise(host, launch)
    yield from _without_bytes(host, launch)
    for name in sorted(kernels):
        if called is not None and launch.callee != name:
            yield function.replacement("host", called, name, 1.4, "kernel", "kernel", line=launch.line)
    edits = function.exchanged(launch.grid, launch.block)
    yield Change("launch", launch.line, edits, 0.4 if _is_named_so(launch) else 2.4, "launch_order", "order")
    variables = function.known_at(launch.grid)
    for one in range(len(launch.arguments)):
        for other in range(one + 1, len(launch.arguments)):
            first, second = launch.arguments[one], launch.arguments[other]
            kinds = {_is_pointer(function, first, variables), _is_pointer(function, second, variables)}
            if function.text(first) != function.text(second) and kinds != {True, False}:
                edits = function.exchanged(first, second)
                yield Change("launch", launch.line, edits, 1.6 + 0.1 * (other - one), "arguments", "arguments")
    for node in launch.arguments:
        left = node.child_by_field_name("left")
        if left is not None and nodes.operator_of(node) in ("-", "+", "/"):
            # `blocks - 1`: one too few, or too many.
            yield Change(
                "launch", launch.line, (function.replaced(node, function.text(left)),), 1.4, "arguments", "argument"
            )
    yield from block_changes(host, launch)
    for neighbour in host.launches:
        text = neighbour.function.text(neighbour.grid)
        if neighbour.function.item == function.item and text != function.text(launch.grid):
            cost = 1.2 if function.text(launch.grid) == "1" else 1.9
            yield function.replacement("launch", launch.grid, text, cost, "grid", "grid", line=launch.line)
    yield from other_arguments(launch, host.launches)


def row_changes(parsed: ParsedFile, kernels: Collection[str]) -> Iterator[Change]:
    """Yield kernels that nothing launches for rows of a table that name another: sooner where that has several rows."""
    rows = list(rows_of(parsed))
    counts = Counter(launch.callee for launch, _called in rows)
    for launch, called in rows:
        for name in sorted({*kernels} - counts.keys()):
            cost = 0.6 if counts[launch.callee] > 1 else 1.4
            words = {word.lower() for word in re.findall(r'"(\w{3,})"', launch.function.text(launch.row or called))}
            cost -= 0.4 * any(word in name.lower() for word in words)
            yield launch.function.replacement("host", called, name, cost, "kernel", "kernel", line=launch.line)


def _is_named_so(launch: Launch) -> bool:
    """Whether grid and block are called, or computed, as the other one usually is."""
    grid, block = (launch.function.text(node) for node in (launch.grid, launch.block))
    is_of_block = (
        re.fullmatch(r"(?i)(?:dim_?)?(?:block|thread)s?(?:_?(?:dim|size))?|threads_per_block", grid) is not None
    )
    is_quotient = grid.isdigit() and "/" in block
    return (
        (is_of_block and grid.lower() != "blocks") or re.match(r"(?i)(?:dim_?)?grid", block) is not None or is_quotient
    )


def _named_crosswise(host: Host, launch: Launch) -> Iterator[Change]:
    """Arguments that are called as each other's parameters are."""
    item = host.parsed.functions.get(launch.callee)
    names = [declared_name(inner) for inner, _type in parameter_nodes(item)] if item is not None else []
    texts = [named_like(launch.function.text(node), names) for node in launch.arguments]
    for one, other in combinations(range(min(len(names), len(texts))), 2):
        if names[one] != names[other] and (texts[one], texts[other]) == (names[other], names[one]):
            edits = launch.function.exchanged(launch.arguments[one], launch.arguments[other])
            yield Change("launch", launch.line, edits, 0.2, "arguments", "arguments")


def _without_bytes(host: Host, launch: Launch) -> Iterator[Change]:
    """No dynamic shared memory for a kernel that uses it: what is called so and used nowhere, else a product."""
    item, function = host.parsed.functions.get(launch.callee), launch.function
    if launch.shared is not None or item is None or "extern" not in host.parsed.words(item.node):
        return
    count = Counter(function.text(n) for n in function.nodes if n.type == "identifier")
    unused = [v.name for v in function.known_at(launch.block).values() if v.start > 0 and count[v.name] == 1]
    for name in unused:
        edit = function.inserted(launch.block.end_byte, f", {name}")
        yield Change("launch", launch.line, (edit,), 0.2, "shared_bytes", "no_bytes")
    if not unused:
        yield from shared_changes(launch, {})


def instances(launch: Launch, numbers: Collection[str]) -> Iterator[Change]:
    """`kernel<6>` with another number for its template's."""
    function = launch.function
    for node in launch.given:
        if function.text(node).isdigit():
            for number in sorted({*numbers} - {function.text(node)}):
                yield function.replacement("launch", node, number, 1.0, "instance", "instance", line=launch.line)


def other_arguments(launch: Launch, launches: Sequence[Launch], names: Sequence[str] = ()) -> Iterator[Change]:
    """What other launches of the same function hand over in an argument's place, or what is called as its parameter.

    names: of the kernel's parameters.
    """
    function = launch.function
    near = [x for x in launches if x.function.item == function.item and len(x.arguments) == len(launch.arguments)]
    variables = function.known_at(launch.grid)
    for place, node in enumerate(launch.arguments):
        texts = {function.text(x.arguments[place]) for x in near}
        texts |= {name for name in names[place : place + 1] if name in variables}
        for text in sorted(texts - {function.text(node)}):
            yield function.replacement("launch", node, text, 1.3, "arguments", "argument", line=launch.line)


def limit_changes(launch: Launch) -> Iterator[Change]:
    """Yield changes of the limit of dynamic shared memory: raised for this kernel, and as far as the launch asks."""
    yield from _raised_otherwise(launch)
    yield from _opted_in(launch)


def _opted_in(launch: Launch) -> Iterator[Change]:
    function, call = launch.function, launch.grid
    while call.parent is not None and call.type != "call_expression":
        call = call.parent
    callee, statement = call.child_by_field_name("function"), call.parent
    is_alone = statement is not None and statement.parent is not None and statement.type == "expression_statement"
    if launch.shared is None or callee is None or statement is None or not is_alone:
        return
    if statement.parent is not None and statement.parent.type == "compound_statement":
        attribute = f"cudaFuncAttributeMaxDynamicSharedMemorySize, {function.text(launch.shared)}"
        text = f"cudaFuncSetAttribute({function.text(callee)}, {attribute});\n{function.indent(statement)}"
        yield function.insertion("launch", statement.start_byte, text, 3.0, "opt_in", "opt_in", line=launch.line)


def _raised_otherwise(launch: Launch) -> Iterator[Change]:
    """A call of cudaFuncSetAttribute that raises the limit of another kernel than the one launched, or by too little,
    or that sets something else."""
    function = launch.function
    for node in function.nodes if launch.shared is not None else ():
        arguments = nodes.arguments_of(node) if function.callee(node) == "cudaFuncSetAttribute" else []
        if len(arguments) != 3 or launch.shared is None:
            continue
        line, wanted = function.line(node), function.text(launch.shared)
        is_own = re.search(rf"\b{re.escape(launch.callee)}\b", function.text(arguments[0])) is not None
        if "MaxDynamicSharedMemorySize" not in function.text(arguments[1]):
            limit = f"cudaFuncAttributeMaxDynamicSharedMemorySize, {wanted}"
            edit = replace(function.replaced(arguments[1], limit), end=function.replaced(arguments[2], "").end)
            yield Change("launch", line, (edit,), 2.8, "opt_in", "opt_in_what")
        elif not is_own:
            yield function.replacement("launch", arguments[0], launch.callee, 2.8, "opt_in", "opt_in_other", line=line)
        elif wanted != function.text(arguments[2]):
            yield function.replacement("launch", arguments[2], wanted, 2.7, "opt_in", "opt_in_less", line=line)
