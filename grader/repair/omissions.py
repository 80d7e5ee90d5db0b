"""Changes that put in a statement which was left out, as the rest of the function tells it: the second of two stores, a
vector that is never stored back, the exchange of two buffers, what ends a branch so that the rest is done else, the
count of what a condition lets into a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.function import Change, Function, zero_of
from grader.submission.cpp.tree import LOOPS, declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

LEFT_OUT = -1.0
"""What a change costs of what is computed for nothing without it."""
_TOGGLED = re.compile(r"1-(?P<name>\w+)|(?P<by_xor>\w+)\^1|!(?P<negated>\w+)")


def omission_changes(function: Function) -> Iterator[Change]:
    """Yield the changes that put in a statement which was left out."""
    yield from _second_store(function)
    yield from _second_side(function)
    yield from _counted(function)
    for node in function.nodes:
        if node.type == "declaration":
            yield from _stored_back(function, node)
            yield from _toggle(function, node)
        elif node.type == "if_statement":
            yield from _done_else(function, node)


def _counted(function: Function) -> Iterator[Change]:
    """The number of terms of a sum, of which a condition or `continue` leaves some out, in place of what it is divided
    by: at the border of an array fewer elements are added."""
    sums: dict[int, tuple[Node, dict[str, Node]]] = {}
    for node in function.statements:
        added = nodes.assignment_of(nodes.inner_of(node))
        loops = [n for n in nodes.ancestors(node, function.body) if n.type in LOOPS]
        if added is None or added[1] != "+=" or added[0].type != "identifier" or not loops:
            continue
        within = [n for n in nodes.ancestors(node, loops[-1]) if n.type == "if_statement"]
        if within or any(n.type == "continue_statement" for n in descendants(loops[-1])):
            sums.setdefault(loops[-1].id, (loops[-1], {}))[1].setdefault(function.text(added[0]), node)
    name = next((n for n in ("count", "added", "terms") if n not in function.parsed.words(function.body)), "")
    for loop, statements in sums.values() if name else ():
        changing = {function.text(a[0]) for n in descendants(loop) if (a := nodes.assignment_of(n)) is not None}
        changing |= {
            word for n in descendants(loop) if n.type == "update_expression" for word in function.parsed.words(n)
        }
        divisors = []
        for node in function.nodes:
            left, right = nodes.sides_of(node) if nodes.operator_of(node) == "/" else (None, None)
            is_sum = left is not None and function.text(nodes.unbracketed(left)) in statements
            if is_sum and right is not None and node.start_byte > loop.end_byte:
                divisors.append(right)
        words = {word for divisor in divisors for word in function.parsed.words(divisor)}
        if not divisors or words & changing:
            continue
        first = min(statements.values(), key=lambda node: node.start_byte)
        is_in_block = first.parent is not None and first.parent.type == "compound_statement"
        gap = f"\n{function.indent(first)}" if is_in_block and first.start_point.row != loop.start_point.row else " "
        counted = (
            [function.inserted(first.end_byte, f"{gap}++{name};")]
            if is_in_block
            else [function.inserted(first.start_byte, "{ "), function.inserted(first.end_byte, f" ++{name}; }}")]
        )
        begun = function.inserted(loop.start_byte, f"int {name} = 0;\n{function.indent(loop)}")
        edits = (begun, *counted, *(function.replaced(divisor, name) for divisor in divisors))
        yield Change("expression", function.line(divisors[0]), edits, 1.2, "counted_terms", "counted_terms")


def _after(function: Function, statement: Node, text: str, cost: float, detail: str) -> Change:
    """Return the change that puts in a statement on a line of its own behind another one."""
    margin = " " * statement.start_point.column
    line = function.parsed.data.count(b"\n", 0, statement.end_byte) + 1
    return function.insertion("expression", statement.end_byte, f"\n{margin}{text}", cost, detail, detail, line=line)


def _copies(function: Function) -> Iterator[tuple[Node, str, str]]:
    """Yield statements that copy an element to an element, with target and source without white space."""
    for node in function.statements:
        assignment = nodes.assignment_of(nodes.inner_of(node))
        if assignment is not None and assignment[1] == "=":
            target, _sign, value = assignment
            if target.type == value.type == "subscript_expression":
                yield node, "".join(function.text(target).split()), "".join(function.text(value).split())


def _second_store(function: Function) -> Iterator[Change]:
    """`v[i] = s[t];` and `v[i + T] = s[t + T];` where both were read so, and one is stored alone."""
    copies = list(_copies(function))
    back = {(source, target): node for node, target, source in copies}
    pairs = [(node, target, source) for node, target, source in copies if (target, source) in back]
    for node, target, source in copies:
        block = node.parent
        if (target, source) in back or block is None:
            continue
        beside = [n for n, _t, _s in pairs if n.parent == block and n in _neighbours(node)]
        if not beside:
            continue
        assignment = nodes.assignment_of(nodes.inner_of(node))
        if assignment is not None:
            last = back[next((t, s) for n, t, s in pairs if n == beside[0])]
            text = f"{function.text(assignment[2])} = {function.text(assignment[0])};"
            yield _after(function, last, text, LEFT_OUT, "store_left_out")


def _neighbours(node: Node) -> list[Node]:
    return [n for n in (node.prev_named_sibling, node.next_named_sibling) if n is not None]


def _stored_back(function: Function, declaration: Node) -> Iterator[Change]:
    """`float4 v = a[i];` that is changed, and then neither used nor stored: `a[i] = v;` behind the last change."""
    kind = declaration.child_by_field_name("type")
    if kind is None or zero_of(function.text(kind)) == "0":
        return
    for declarator in declaration.children_by_field_name("declarator"):
        value, name = nodes.value_of(declarator), declared_name(declarator)
        if value is None or value.type != "subscript_expression" or not name:
            continue
        block = declaration.parent
        changes = [
            s
            for s in (nodes.listed(block) if block is not None else [])
            if (assignment := nodes.assignment_of(nodes.inner_of(s))) is not None
            and re.fullmatch(rf"{re.escape(name)}(?:\.\w)?", function.text(assignment[0]))
        ]
        if not changes:
            continue
        uses = [n for n in function.nodes if n.type == "identifier" and function.text(n) == name]
        own = [n for n in uses if any(c.start_byte <= n.start_byte < c.end_byte for c in changes)]
        if len(uses) - len(own) == 1:
            text = f"{function.text(value)} = {name};"
            yield _after(function, changes[-1], text, LEFT_OUT, "store_left_out")


def _toggle(function: Function, declaration: Node) -> Iterator[Change]:
    """`cur = 1 - cur;` at the end of a loop that takes `1 - cur` for the other one of two buffers and never changes it:
    before the barrier at its end."""
    for declarator in declaration.children_by_field_name("declarator"):
        name = declared_name(declarator) if nodes.value_of(declarator) is not None else ""
        stored = any(
            nodes.is_stored(n) or (n.parent is not None and n.parent.type == "update_expression")
            for n in function.nodes
            if n.type == "identifier" and function.text(n) == name
        )
        if not name or stored:
            continue
        for node in function.nodes:
            found = _TOGGLED.fullmatch("".join(function.text(node).split()).strip("()"))
            if (
                node.type not in ("binary_expression", "unary_expression")
                or found is None
                or name not in found.groups()
            ):
                continue
            loop = next((n for n in nodes.ancestors(node, function.body) if n.type in LOOPS), None)
            body = loop.child_by_field_name("body") if loop is not None else None
            inner = [n for n in nodes.listed(body) if nodes.is_statement(n)] if body is not None else []
            if loop is None or loop.start_byte < declaration.start_byte or len(inner) < 2:
                continue
            last = inner[-2] if inner[-1] in function.barriers else inner[-1]
            yield _after(function, last, f"{name} = {function.text(node)};", LEFT_OUT, "toggle_left_out")
            return


def _second_side(function: Function) -> Iterator[Change]:
    """The right halo of `right = g + B`, which is computed and never used, as the left one of `left = g - R` is stored:
    `s[l - R] = left >= 0 ? in[left] : 0` with `s[l + B] = right < n ? in[right] : 0` behind it."""
    sums = dict(_sums(function))
    words = [function.text(n) for n in function.nodes if n.type == "identifier"]
    for name, (base, more, place) in sums.items():
        if words.count(name) != 1:
            continue
        for other, (its_base, its_more, its_place) in sums.items():
            if its_base != base or other == name or its_place.parent != place.parent:
                continue
            for statement in function.statements:
                assignment = nodes.assignment_of(nodes.inner_of(statement))
                if (
                    assignment is None
                    or statement.parent != place.parent
                    or other not in function.parsed.words(statement)
                ):
                    continue
                if its_more not in function.text(assignment[0]):
                    continue
                target = function.text(assignment[0]).replace(its_more, more)
                value = re.sub(rf"\b{re.escape(other)}\b", name, function.text(assignment[2]))
                for limited in _limited_above(function, value, name):
                    yield _after(function, statement, f"{target} = {limited};", LEFT_OUT, "side_left_out")


def _sums(function: Function) -> Iterator[tuple[str, tuple[str, str, Node]]]:
    """Yield variables that are a sum of two terms, with its first term, the second one with its sign, the statement."""
    for node in function.nodes:
        value = nodes.value_of(node)
        terms = list(nodes.terms_of(value)) if value is not None else []
        if len(terms) == 2 and node.parent is not None and node.parent.type == "declaration":
            first, second = terms
            yield (
                declared_name(node),
                (function.text(first[1]), f" {second[0]} {function.text(second[1])}", node.parent),
            )


def _limited_above(function: Function, value: str, name: str) -> Iterator[str]:
    """Yield a value with `name >= 0` in it turned into a limit by a size that the function limits others by."""
    below = re.compile(rf"\b{re.escape(name)}\s*>=\s*0\b")
    if not below.search(value):
        yield value
        return
    limits: dict[str, None] = {}
    for node in function.nodes:
        operator = node.child_by_field_name("operator") if node.type == "binary_expression" else None
        right = nodes.sides_of(node)[1]
        if operator is not None and operator.type in ("<", ">=") and right is not None and right.type == "identifier":
            limits[function.text(right)] = None
    for limit in list(limits)[:2]:
        yield below.sub(f"{name} < {limit}", value)


def _done_else(function: Function, branch: Node) -> Iterator[Change]:
    """`if (i < r) { out[i] = in[i]; }` before what stores `out[i]` again: the branch is to end with `continue;`, or
    with `return;` where nothing but that follows."""
    body, block = branch.child_by_field_name("consequence"), branch.parent
    if body is None or block is None or branch.child_by_field_name("alternative") is not None:
        return
    if block.type != "compound_statement" or nodes.condition_of(branch) is None:
        return
    stored = {
        function.text(a[0]) for n in descendants(body) if (a := nodes.assignment_of(n)) is not None and a[1] == "="
    }
    later = [n for n in nodes.listed(block) if n.start_byte > branch.end_byte]
    again = {
        function.text(a[0])
        for n in later
        for d in (n, *descendants(n))
        if (a := nodes.assignment_of(d)) is not None and a[1] == "="
    }
    if not stored & again or not any("[" in target for target in stored & again):
        return
    if any(b.start_byte > branch.end_byte and b.start_byte < block.end_byte for b in function.barriers):
        return
    outer = next((n for n in nodes.ancestors(branch, function.body) if n.type in LOOPS), None)
    is_loop = outer is not None and outer.child_by_field_name("body") == block
    if not is_loop and block != function.body:
        return
    leave = "continue;" if is_loop else "return;"
    edits: tuple[Edit, ...]
    statements = nodes.listed(body) if body.type == "compound_statement" else []
    if statements:
        margin = " " * statements[-1].start_point.column
        edits = (function.inserted(statements[-1].end_byte, f"\n{margin}{leave}"),)
    else:
        edits = (function.inserted(body.start_byte, "{ "), function.inserted(body.end_byte, f" {leave} }}"))
    yield Change("guard", function.line(branch), edits, 0.6, "else", "goes_on")
