"""Changes of what keeps within limits: a condition that tests another index than the one that follows, one side of a
border that nothing tests, a test that others make, and loops that step by what they do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function
from grader.repair.nodes import (
    arguments_of,
    assignment_of,
    condition_of,
    decides_to_leave,
    index_of,
    only_leaves,
    operator_of,
    sides_of,
    terms_of,
    unbracketed,
    value_of,
)
from grader.submission.cpp.tree import declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_TESTS = 3
_TESTS = ("<", "<=", ">", ">=")
_SHUFFLE = re.compile(r"__shfl(?:_up|_down|_xor)?_sync")


def limit_slips(function: Function) -> Iterator[Change]:
    """Yield the changes of what keeps within limits, in order of the text."""
    tests = list(_tests(function))
    for node in function.nodes:
        match node.type:
            case "conditional_expression":
                yield from _as_it_is_read(function, node)
            case "if_statement":
                condition = condition_of(node)
                if condition is not None:
                    yield from _other_side(function, condition)
                    yield from _as_others_test(function, condition, tests)
                    yield from _untested(function, node, condition)
            case "for_statement":
                yield from _steps_by_own(function, node)
                yield from _from_below(function, node)
            case "call_expression" if _SHUFFLE.fullmatch(function.callee(node)):
                yield from _mask_first(function, node)


def _as_it_is_read(function: Function, node: Node) -> Iterator[Change]:
    """`i < n ? in[i + 128] : 0` with the index that is read in the condition, `i + 128 < n`."""
    condition, taken = (node.child_by_field_name(name) for name in ("condition", "consequence"))
    inner = unbracketed(condition) if condition is not None else None
    left = sides_of(inner)[0] if inner is not None and operator_of(inner) == "<" else None
    index = index_of(taken) if taken is not None and taken.type == "subscript_expression" else None
    if left is None or index is None or function.text(left) == function.text(index):
        return
    terms = {function.text(term) for _sign, term in terms_of(index)}
    if function.text(left) in terms and all(operator_of(term) == "" for _sign, term in terms_of(index)):
        yield function.replacement("guard", left, function.text(index), 0.4, "as_read", "as_read")


def _other_side(function: Function, condition: Node) -> Iterator[Change]:
    """`if (i < n - r)` with the border on the other side as well, `i >= r && i < n - r`; so `i >= n - r`, `i >= r`."""
    inner = unbracketed(condition)
    operator, (left, right) = operator_of(inner), sides_of(inner)
    if operator not in ("<", ">=") or left is None or right is None or left.type != "identifier":
        return
    index = function.text(left)
    size, border = sides_of(right)
    known, line = function.known_at(condition), function.line(condition)
    if operator_of(right) == "-" and size is not None and border is not None and border.type == "identifier":
        other = (
            f"{index} >= {function.text(border)} && " if operator == "<" else f"{index} < {function.text(border)} || "
        )
        yield function.insertion("guard", inner.start_byte, other, 0.8, "other_side", "other_side", line=line)
    elif right.type == "identifier" and (variable := known.get(function.text(right))) is not None:
        sizes = [v.name for v in known.values() if v.role == "size" and v.name != variable.name and v.start]
        for place, name in enumerate(sizes[:2] if variable.role == "size" else ()):
            limit = f"{name} - {variable.name}"
            other = f" && {index} < {limit}" if operator == ">=" else f" || {index} >= {limit}"
            yield function.insertion(
                "guard", inner.end_byte, other, 1.6 + 0.2 * place, "other_side", "other_side", line=line
            )


def _tests(function: Function) -> Iterator[tuple[str, str]]:
    """Yield index and size of each `column < columns` in any device function of the file."""
    found: dict[tuple[str, str], None] = {}
    for item in function.parsed.functions.values():
        for node in descendants(item.node) if item.is_device else ():
            left, right = sides_of(node) if operator_of(node) in ("<", ">=") else (None, None)
            if left is not None and right is not None and left.type == right.type == "identifier":
                found[function.text(left), function.text(right)] = None
    yield from found


def _as_others_test(function: Function, condition: Node, tests: list[tuple[str, str]]) -> Iterator[Change]:
    """`if (row < rows)` with another test that the file makes elsewhere, of what the condition does not name."""
    known, words = function.known_at(condition), function.parsed.words(condition)
    leaves = decides_to_leave(condition.children[0] if condition.children else condition, function.body)
    count = 0
    for index, size in tests:
        is_known = index in known and known[index].role == "index" and size in known and known[size].role == "size"
        if not is_known or words & {index, size} or count >= MOST_TESTS:
            continue
        count += 1
        other = f" || {index} >= {size}" if leaves else f" && {index} < {size}"
        line = function.line(condition)
        yield function.insertion("guard", condition.end_byte, other, 1.2, "as_others", "missing", line=line)


def _untested(function: Function, branch: Node, condition: Node) -> Iterator[Change]:
    """`if (c < cols)` with `r < rows` as well: of the indices that are made of a thread's number one that no condition
    tests, and a size of the kernel's that limits none, if there is one."""
    body = branch.child_by_field_name("consequence")
    tested = {word for node in function.nodes if operator_of(node) in _TESTS for word in function.parsed.words(node)}
    known, words = function.known_at(condition), function.parsed.words(condition)
    sizes = [v.name for v in known.values() if v.role == "size" and v.start == function.body.start_byte]
    if body is None or not any(size in words for size in sizes):
        return
    made = [
        declared_name(node)
        for node in function.nodes
        if (value := value_of(node)) is not None
        and "threadIdx" in function.text(value)
        and "blockIdx" in function.text(value)
    ]
    leaves = only_leaves(body)
    for index in (name for name in dict.fromkeys(made) if name in known and name not in tested):
        for size in [name for name in sizes if name not in tested] or sizes:
            test = f" || {index} >= {size}" if leaves else f" && {index} < {size}"
            line = function.line(condition)
            yield function.insertion("guard", condition.end_byte, test, 0.2, "untested", "missing", line=line)


def _steps_by_own(function: Function, loop: Node) -> Iterator[Change]:
    """`for (j = 0; j < n; i += B)` with the variable that the loop counts; `d -= 2` of what goes down by halves."""
    update, start = loop.child_by_field_name("update"), loop.child_by_field_name("initializer")
    condition = loop.child_by_field_name("condition")
    names = [declared_name(n) for n in descendants(start) if n.type == "init_declarator"] if start is not None else []
    assignment = assignment_of(update)
    target = assignment[0] if assignment is not None else None
    if update is not None and update.type == "update_expression":
        target = update.child_by_field_name("argument")
    if update is None or target is None or condition is None or len(names) != 1:
        return
    if (
        function.text(target) != names[0]
        and names[0] in function.parsed.words(condition)
        and target.type == "identifier"
    ):
        yield function.replacement("bound", target, names[0], -1.0, "step", "step")
    if assignment is not None and assignment[1] == "-=" and function.text(assignment[2]) == "2":
        text = f"{function.text(target)} /= 2"
        yield function.replacement("bound", update, text, 1.0, "step", "step")
    elif assignment is not None and assignment[1] == "+=" and function.text(assignment[2]) == "2":
        yield function.replacement("bound", update, f"{function.text(target)} *= 2", 1.6, "step", "step")


def _from_below(function: Function, loop: Node) -> Iterator[Change]:
    """`for (k = r; k <= r; k++)` from `-r`."""
    start, condition = loop.child_by_field_name("initializer"), loop.child_by_field_name("condition")
    right = sides_of(condition)[1] if condition is not None and operator_of(condition) in ("<=", "<") else None
    if start is None or right is None:
        return
    for node in descendants(start):
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None and value.type == "identifier" and function.text(value) == function.text(right):
            yield function.replacement("bound", value, f"-{function.text(value)}", -1.0, "start", "start")


def _mask_first(function: Function, call: Node) -> Iterator[Change]:
    """`__shfl_down_sync(v, 0xffffffff, d)` with the mask as its first argument."""
    arguments = arguments_of(call)
    if len(arguments) > 2 and arguments[1].type == "number_literal" and arguments[0].type != "number_literal":
        edits = function.exchanged(arguments[0], arguments[1])
        yield Change("expression", function.line(call), edits, -1.0, "exchange", "mask_first")
