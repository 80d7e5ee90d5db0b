"""Changes of how many blocks host code launches, and how often: limits, ends of loops, levels of one block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function, Variable, parameter_nodes
from grader.repair.host_arguments import Host, statement_of
from grader.repair.launches import Launch
from grader.repair.nodes import (
    ancestors,
    arguments_of,
    assignment_of,
    condition_of,
    inner_of,
    only_statement,
    operator_of,
    outside_brackets,
    value_of,
)
from grader.submission.cpp.tree import LOOPS, declared_name

if TYPE_CHECKING:
    from tree_sitter import Node

_OTHER_END = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def loop_changes(host: Host) -> Iterator[Change]:
    """Yield the ends of loops around launches, by one turn more or less."""
    shown: set[int] = set()
    for launch in host.launches:
        for loop in ancestors(launch.grid, launch.function.body):
            condition = loop.child_by_field_name("condition") if loop.type in LOOPS else None
            if condition is not None and condition.type == "condition_clause":
                condition = condition_of(loop)
            sign = operator_of(condition) if condition is not None else ""
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
                body = only_statement(node.child_by_field_name("consequence"))
                assignment, condition = assignment_of(inner_of(body)), condition_of(node)
                is_cap = assignment is not None and condition is not None and operator_of(condition) in (">", ">=")
                if is_cap and assignment is not None and function.text(assignment[0]) in words:
                    yield Change("launch", function.line(node), (function.removed(node),), 0.8, "cap", "capped")
            elif name in words or any(grid.start_byte <= node.start_byte < grid.end_byte for grid in grids):
                rest = arguments_of(node) if function.callee(node).rpartition("::")[2] == "min" else []
                if node.type == "conditional_expression":
                    rest = [n for key in ("consequence", "alternative") if (n := node.child_by_field_name(key))]
                for other in rest if len(rest) == 2 else ():
                    if other.type != "number_literal":
                        text = function.text(other)
                        yield function.replacement("launch", node, text, 0.8, "cap", "capped")


def _given_name(function: Function, node: Node) -> str:
    """Return the variable that an expression is the whole value of; "" where it is none's."""
    outer = outside_brackets(node)
    assignment = assignment_of(outer)
    if value_of(outer) is not None:
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
