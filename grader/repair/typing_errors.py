"""Changes of what goes wrong while typing: parentheses or an `else` left out, lines in each other's place or there
twice, a condition turned round, a number in place of a builtin variable, a mask with too few lanes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.function import Change, Function
from grader.submission.cpp.tree import LOOPS, declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

_SYNC = re.compile(r"__\w+_sync")
_SHUFFLES = {"__shfl_xor_sync": ("__shfl_down_sync", "by_distance"), "__shfl_down_sync": ("__shfl_xor_sync", "by_xor")}
"""Each with what may be meant in its place, and the words for that."""
_PLAIN_CONDITION = re.compile(r"!?\s*\(?[\w.]+\)?")
LIKELIEST = -2.5
"""What a change costs of what makes no sense as it is written: it comes before whatever else hides its effect."""
ALL_LANES = "0xffffffff"
_INTEGERS = frozenset(["int", "unsigned", "unsigned int", "long", "short", "char", "unsigned char"])


def typing_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of what goes wrong while typing."""
    yield from _other_axis(function)
    yield from _within_block(function)
    # Those of a function that is called count as well.
    shuffles = "__shfl" in function.parsed.source.text
    for node in function.nodes:
        if nodes.operator_of(node) in ("+", "-", "*", "/", "%"):
            yield from _parentheses(function, node)
        if nodes.operator_of(node) == "*":
            yield from _literal_block(function, node)
        if node.type == "compound_statement":
            yield from _neighbours(function, node)
        elif node.type == "if_statement":
            yield from _turned_round(function, node)
        elif node.type == "call_expression":
            yield from _lanes(function, node)
        elif node.type == "assignment_expression":
            yield from _other_index(function, node)
            yield from _with_itself(function, node)
        elif node.type == "declaration":
            yield from _type(function, node)
        elif shuffles and node.type == "field_expression" and function.text(node) == "threadIdx.x":
            yield from _lane(function, node)


def _parentheses(function: Function, node: Node) -> Iterator[Change]:
    """`a + b / c` as `(a + b) / c`, `a / b + c` as `a / (b + c)`: a term that belongs to a factor."""
    left, right = nodes.sides_of(node)
    if left is None or right is None or nodes.operator_of(node) not in ("+", "-") or "blockIdx" in function.text(node):
        return
    for inner, outer in ((right, left), (left, right)):
        sign = nodes.operator_of(inner)
        one, other = nodes.sides_of(inner)
        if sign not in ("*", "/", "%") or one is None or other is None:
            continue
        sum_sign = nodes.operator_of(node)
        if inner == right:
            text = f"({function.text(outer)} {sum_sign} {function.text(one)}) {sign} {function.text(other)}"
            is_nothing = sign == "/" and all(function.text(n).isdigit() for n in (one, other))
        else:
            text = f"{function.text(one)} {sign} ({function.text(other)} {sum_sign} {function.text(outer)})"
            is_nothing = False
        # 1 / 2 is 0: nobody means that.
        yield function.replacement("expression", node, text, 0.1 if is_nothing else 2.4, "brackets", "brackets")


def _literal_block(function: Function, node: Node) -> Iterator[Change]:
    """`blockIdx.x * 32 + threadIdx.x` with `blockDim.x`: the number is that of another block."""
    sides = nodes.sides_of(node)
    for one, other in (sides, sides[::-1]):
        if one is None or other is None or other.type != "number_literal":
            continue
        text = function.text(one)
        if text.startswith("blockIdx."):
            size = text.replace("blockIdx", "blockDim")
            yield function.replacement("index", other, size, 0.9, "global_index")


_AXIS = ("<", ">", "<=", ">=")


def _other_axis(function: Function) -> Iterator[Change]:
    """`min(y + r, width - 1)` beside `y < height`: the size that an index is held against elsewhere."""
    pairs: dict[str, set[str]] = {}
    places: list[tuple[str, str, Node]] = []
    for node in function.nodes:
        sides = nodes.sides_of(node) if nodes.operator_of(node) in _AXIS else (None, None)
        if function.callee(node).rpartition("::")[2] in ("min", "max") and len(nodes.arguments_of(node)) == 2:
            sides = (nodes.arguments_of(node)[0], nodes.arguments_of(node)[1])
        roles = {name: v.role for name, v in function.known_at(node).items()} if sides[0] is not None else {}
        for one, limit in (sides, sides[::-1]):
            if one is None or limit is None:
                continue
            own = [n for n in nodes.named_in(one) if roles.get(function.text(n)) == "index"]
            sizes = [n for n in nodes.named_in(limit) if roles.get(function.text(n)) == "size"]
            if len(own) == 1 and len(sizes) == 1:
                pairs.setdefault(function.text(own[0]), set()).add(function.text(sizes[0]))
                places.append((function.text(own[0]), function.text(sizes[0]), sizes[0]))
    for index, size, node in places:
        is_of_another = any(size in sizes for name, sizes in pairs.items() if name != index)
        for other in sorted(pairs[index] - {size}) if is_of_another else ():
            yield function.replacement("index", node, other, 0.2, "other_axis", "other_axis")


def _within_block(function: Function) -> Iterator[Change]:
    """The number of an element within its block's part with that of the part before it, `blockIdx.x * SIZE + i`, in a
    condition: the direction in which a part is sorted, say."""
    texts = [function.text(node).replace("(size_t)", "") for node in function.nodes if nodes.operator_of(node) == "*"]
    bases = dict.fromkeys(text for text in texts if "blockIdx.x" in text and "threadIdx" not in text)
    of_grid = _of_grid(function)
    for node in function.nodes:
        if nodes.operator_of(node) not in ("&", "/", "%"):
            continue
        left, _right = nodes.sides_of(node)
        variable = function.known_at(node).get(function.text(left)) if left is not None else None
        if left is None or variable is None or variable.role != "index" or variable.name in of_grid:
            continue
        for base in bases:
            text = f"({base} + {function.text(left)})"
            yield function.replacement("index", left, text, 0.8, "within_block", "within_block")


def _of_grid(function: Function) -> set[str]:
    """Return the variables that are made of the block's number, by way of others too."""
    names: set[str] = set()
    for node in function.nodes:
        value = nodes.value_of(node)
        if value is not None and ("blockIdx" in (words := function.parsed.words(value)) or names & words):
            names.add(declared_name(node))
    return names


def _neighbours(function: Function, block: Node) -> Iterator[Change]:
    """Of two statements that follow each other: one of two that are the same, the second before the first, which uses
    what it sets, and the second as what is done else."""
    for first, second in pairwise(nodes.listed(block)):
        one, other = function.text(first), function.text(second)
        if "".join(one.split()) == "".join(other.split()) and first.type == "expression_statement":
            # Two barriers, or two launches of what is done once.
            edit = function.removed(second)
            yield Change("expression", function.line(second), (edit,), 0.4, "twice", "twice")
            continue
        branch = first if first.type == "if_statement" else None
        is_set = nodes.assignment_of(nodes.inner_of(second)) is not None
        if branch is not None and is_set and branch.child_by_field_name("alternative") is None:
            edit = function.inserted(second.start_byte, "else ")
            yield Change("guard", function.line(second), (edit,), 1.6, "else", "else")
        if {first, second}.isdisjoint(function.barriers):
            yield from _in_order(function, first, second)


def _in_order(function: Function, first: Node, second: Node) -> Iterator[Change]:
    """The second of two statements before the first: which uses what the second sets, which overwrites what that still
    needs, or which the second is to keep threads from."""
    line, edits = function.line(first), function.exchanged(first, second)
    sets, used = _set_in(function, first), function.parsed.words(second)
    if second.type == "if_statement":
        body, condition = second.child_by_field_name("consequence"), nodes.condition_of(second)
        is_guard = body is not None and nodes.only_leaves(body) and second.child_by_field_name("alternative") is None
        is_read = any(first.start_byte <= a.node.start_byte < first.end_byte for a in function.accesses)
        changed = {declared_name(d) for d in first.children_by_field_name("declarator")} | sets
        if is_guard and is_read and condition is not None and not changed & function.parsed.words(condition):
            yield Change("guard", line, edits, 1.8, "order", "late")
    if first.type != "expression_statement":
        return
    if second.type != "declaration" and _set_in(function, second) & function.parsed.words(first) - sets:
        yield Change("expression", line, edits, 1.4, "order", "order")
        return
    assignment, other = nodes.assignment_of(nodes.inner_of(first)), nodes.assignment_of(nodes.inner_of(second))
    if assignment is None or second.type not in ("expression_statement", "declaration"):
        return
    target, values = function.text(assignment[0]), [other[2]] if other is not None else [second]
    is_element = assignment[0].type == "subscript_expression"
    if is_element:
        is_needed = any(target in function.text(value) for value in values)
    else:
        is_needed = bool(sets & used) and not sets & _set_in(function, second) and _lives_on(function, target, second)
    if is_needed:
        yield Change("expression", line, edits, 2.0, "order", "order_after")


def _lives_on(function: Function, name: str, statement: Node) -> bool:
    """Whether a variable is used after a statement, in the next iteration of a loop as well."""
    loop = next((outer for outer in nodes.ancestors(statement, function.body) if outer.type in LOOPS), None)
    variable = function.known_at(statement).get(name)
    if loop is not None and variable is not None and variable.start <= loop.start_byte:
        return True
    behind = (n for n in function.nodes if n.type == "identifier" and n.start_byte > statement.end_byte)
    return any(function.text(n) == name for n in behind)


def _set_in(function: Function, node: Node) -> set[str]:
    assignments = (nodes.assignment_of(n) for n in (node, *descendants(node)))
    return {function.text(a[0]) for a in assignments if a is not None and a[0].type == "identifier"}


def _turned_round(function: Function, branch: Node) -> Iterator[Change]:
    """`if (!x)` for `if (x)`, and the other way round."""
    condition = nodes.condition_of(branch)
    text = function.text(condition) if condition is not None else ""
    if condition is None or not _PLAIN_CONDITION.fullmatch(text):
        return
    other = text.lstrip("! ") if text.startswith("!") else f"!{text}"
    yield function.replacement("guard", condition, other, 1.6, "turned", "turned", line=function.line(branch))


def _lanes(function: Function, call: Node) -> Iterator[Change]:
    """The mask of all lanes in a call that names fewer, and the shuffle by `xor` or `down` in the other one's place."""
    name, arguments = function.callee(call), nodes.arguments_of(call)
    if not _SYNC.fullmatch(name) or not arguments:
        return
    mask = function.text(arguments[0]).lower().rstrip("u")
    if re.fullmatch(r"0x[0-9a-f]+", mask) and int(mask, 16) < int(ALL_LANES, 16):
        yield function.replacement("expression", arguments[0], ALL_LANES, 0.4, "mask", "all_lanes")
    called = call.child_by_field_name("function")
    if name in _SHUFFLES and called is not None:
        meant, words = _SHUFFLES[name]
        yield function.replacement("expression", called, meant, 1.2, "opposite", words)


def _lane(function: Function, node: Node) -> Iterator[Change]:
    """A thread's number within its warp in place of that within its block: `threadIdx.x == 0` for each warp."""
    outer = nodes.outside_brackets(node)
    is_alone = nodes.value_of(outer) is not None or nodes.operator_of(outer) in ("==", "<")
    if is_alone:
        text = "threadIdx.x % 32"
        yield function.replacement("expression", node, text, 1.2, "lane", "lane", line=function.line(node))


def _with_itself(function: Function, node: Node) -> Iterator[Change]:
    """`which ^= which`, which is always 0, with 1: of two buffers the other one, of a distance one less."""
    assignment = nodes.assignment_of(node)
    if assignment is None or assignment[1] not in ("^=", "-=", "%=", "="):
        return
    target, sign, value = assignment
    name = function.text(target)
    if function.text(value) == name and sign != "=":
        yield function.replacement("expression", value, "1", LIKELIEST, "itself", "itself")
    elif nodes.operator_of(value) in ("^", "-") and {
        function.text(n) for n in nodes.sides_of(value) if n is not None
    } == {name}:
        right = value.child_by_field_name("right")
        if right is not None:
            yield function.replacement("expression", right, "1", LIKELIEST, "itself", "itself")


def _other_index(function: Function, node: Node) -> Iterator[Change]:
    """`out[c] = f(in[r * w + c])` with one index in both: what is read at a place is stored there."""
    assignment = nodes.assignment_of(node)
    target = assignment[0] if assignment is not None else None
    own = nodes.index_of(target) if target is not None and target.type == "subscript_expression" else None
    if assignment is None or own is None:
        return
    words = function.parsed.words(own)
    for access in (
        n for n in descendants(assignment[2]) if n.type == "subscript_expression" and not nodes.is_stored(n)
    ):
        index = nodes.index_of(access)
        if index is None or function.text(index) == function.text(own):
            continue
        others = function.parsed.words(index)
        if words < others:
            yield function.replacement("index", own, function.text(index), 1.2, "same_index", "")
        elif others < words:
            yield function.replacement("index", index, function.text(own), 1.4, "same_index", "")


def _type(function: Function, node: Node) -> Iterator[Change]:
    """A shared array of integers that is filled with numbers that have fractions."""
    kind = node.child_by_field_name("type")
    name = declared_name(node.child_by_field_name("declarator"))
    if kind is None or "__shared__" not in function.text(node) or function.text(kind) not in _INTEGERS:
        return
    types = {v.name: v.type for v in function.variables}
    for other in function.nodes:
        assignment = nodes.assignment_of(other)
        if assignment is None or not function.text(assignment[0]).startswith(f"{name}["):
            continue
        sources = " ".join(types.get(name, "") for name in function.parsed.words(assignment[2]))
        if wide := next((w for w in ("double", "float") if w in sources.split()), ""):
            yield function.replacement("expression", kind, wide, 0.5, "type", "fraction")
            return
