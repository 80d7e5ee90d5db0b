"""Changes of what differs from its like: limits that a sibling has one less of, numbers of groups where elements are
counted, exclusive ors of two kinds, constants that are squared, factors that others do not have, loops that begin
beyond their first element, indices that nothing keeps within an array whose size is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.comparisons import kind_at
from grader.repair.function import BUILTINS, Access, Change, Function
from grader.submission.cpp.tree import LOOPS, declared_name, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

_LESS_ONE = re.compile(r"(.*)-\s*1\s*")
LIMITS = {"min": 1, "clamp": 2}
"""Functions that keep a number below another, and which of their arguments that is; either one of `min`."""
MOST_NAMES = 4


def slip_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of what differs from its like."""
    limits = [(call, limit) for call in function.nodes for limit in _limits(function, call)]
    has_less = any(_LESS_ONE.fullmatch(function.text(limit)) for _call, limit in limits)
    for call, limit in limits:
        if limit.type in ("identifier", "field_expression"):
            edit = function.inserted(limit.end_byte, " - 1")
            yield Change("index", function.line(call), (edit,), 0.4 if has_less else 1.8, "limit", "limit")
    yield from _limited(function)
    yield from _factors(function)
    yield from _outside_dimensions(function)
    for node in function.nodes:
        if node.type == "if_statement":
            yield from _part_of_warp(function, node)
        elif node.type == "conditional_expression":
            yield from _other_way_round(function, node)
        yield from _chained(function, node)
        yield from _clamped(function, node)
    yield from _members(function)
    yield from _as_stored(function)
    yield from _other_buffer(function)
    groups = dict(_groups(function))
    for node in function.nodes:
        if node.type == "identifier" and function.text(node) in groups:
            yield from _of_elements(function, node, groups[function.text(node)])
        elif nodes.operator_of(node) == "^":
            yield from _other_side(function, node)
        elif nodes.operator_of(node) in ("*", "+"):
            yield from _squared(function, node)


def _limits(function: Function, call: Node) -> Iterator[Node]:
    """Yield what may be the upper limit in a call of `min` or `clamp`."""
    name, arguments = function.callee(call).rpartition("::")[2], nodes.arguments_of(call)
    if name in LIMITS and len(arguments) == LIMITS[name] + 1:
        yield from arguments[-1:] if name == "clamp" else arguments


def _limited(function: Function) -> Iterator[Change]:
    """`x + r < w ? x + r : w` and `if (x > w) x = w;` with the last element in place of the size."""
    for node in function.nodes:
        condition = node.child_by_field_name("condition")
        inner = nodes.condition_of(node) if node.type == "if_statement" else condition
        sides = (
            [side for side in nodes.sides_of(nodes.unbracketed(inner)) if side is not None] if inner is not None else []
        )
        if (
            len(sides) != 2
            or inner is None
            or nodes.operator_of(nodes.unbracketed(inner)) not in ("<", "<=", ">", ">=")
        ):
            continue
        places: list[Node | None] = []
        if node.type == "conditional_expression":
            places = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
        elif node.type == "if_statement" and node.child_by_field_name("alternative") is None:
            assignment = nodes.assignment_of(
                nodes.inner_of(nodes.only_statement(node.child_by_field_name("consequence")))
            )
            places = [assignment[0], assignment[2]] if assignment is not None and assignment[1] == "=" else []
        texts = {function.text(side) for side in sides}
        if len(places) != 2 or {function.text(place) for place in places if place is not None} != texts:
            continue
        for limit in places:
            if limit is None or limit.type not in ("identifier", "field_expression") or nodes.is_stored(limit):
                continue
            # The comparison may well be right.
            edit = function.inserted(limit.end_byte, " - 1")
            yield Change("index", function.line(limit), (edit,), 1.1, "limit", "limit")
            other = next(side for side in sides if function.text(side) == function.text(limit))
            edits = (function.inserted(other.end_byte, " - 1"), function.inserted(limit.end_byte, " - 1"))
            yield Change("index", function.line(limit), edits, 1.2, "limit", "limit")


def _groups(function: Function) -> Iterator[tuple[str, int]]:
    """Yield variables that hold how many groups of so many elements there are: `const int quads = n / 4`."""
    for node in function.nodes:
        value = nodes.value_of(node)
        left, right = nodes.sides_of(value) if value is not None else (None, None)
        text = function.text(right) if right is not None else ""
        is_in_head = node.parent is not None and node.parent.parent is not None and node.parent.parent.type in LOOPS
        if value is None or left is None or left.type != "identifier" or is_in_head or not text.isdigit():
            continue
        if nodes.operator_of(value) == "/" and int(text) > 1:
            yield declared_name(node), int(text)
        elif nodes.operator_of(value) == ">>" and 0 < int(text) < 8:
            yield declared_name(node), 1 << int(text)


def _of_elements(function: Function, node: Node, width: int) -> Iterator[Change]:
    """An index of single elements, or what it starts from, that begins behind so many groups: `data[quads + i]`."""
    outer = nodes.outside_brackets(node)
    while nodes.operator_of(outer) in ("+", "-"):
        outer = nodes.outside_brackets(outer)
    value = nodes.value_of(outer)
    is_index = outer.type == "subscript_argument_list" or (
        value is not None and value.start_byte <= node.start_byte and not _is_limit(function, declared_name(outer))
    )
    if is_index:
        edit = function.replaced(node, f"{width} * {function.text(node)}")
        yield Change("index", function.line(node), (edit,), 1.2, "groups", "groups")


def _is_limit(function: Function, name: str) -> bool:
    """Whether a variable limits others and is no index itself."""
    return not any(name in access.words for access in function.accesses)


def _other_side(function: Function, node: Node) -> Iterator[Change]:
    """`tile[x][(y + j) ^ y]` with another of the element's names: rows are mixed by what they are stored by."""
    access = next((a for a in nodes.ancestors(node, function.body) if a.type == "subscript_expression"), None)
    while access is not None and access.parent is not None and access.parent.type == "subscript_expression":
        access = access.parent
    names = list(dict.fromkeys(function.text(n) for n in nodes.named_in(access))) if access is not None else []
    variables = function.known_at(node)
    indices = [name for name in names if name in variables and variables[name].role == "index"][:MOST_NAMES]
    base = access.child_by_field_name("argument") if access is not None else None
    row = nodes.index_of(base) if base is not None and base.type == "subscript_expression" else None
    right = node.child_by_field_name("right")
    if row is not None and right is not None and function.text(nodes.unbracketed(right)) != function.text(row):
        # Whole, as the row is written: `tile[y + j][x ^ (y + j)]`.
        text = f"({function.text(row)})" if nodes.operator_of(row) else function.text(row)
        yield function.replacement("index", right, text, 0.9, "index")
    for side in nodes.sides_of(node):
        for name in indices if side is not None and side.type == "identifier" else ():
            if side is not None and name != function.text(side):
                yield function.replacement("index", side, name, 1.0, "index")


def _squared(function: Function, node: Node) -> Iterator[Change]:
    """A constant of the file that is multiplied by itself, or is added where its square may be meant."""
    left, right = nodes.sides_of(node)
    own = {declared_name(n) for n in function.nodes if n.type in ("init_declarator", "declaration")}
    own |= {v.name for v in function.variables if v.start}
    if left is None or right is None:
        return
    name = function.text(right)
    if right.type != "identifier" or name in own:
        return
    if nodes.operator_of(node) == "*" and function.text(left) == name:
        yield function.replacement("expression", node, name, 1.0, "squared", "squared")
    elif nodes.operator_of(node) == "+" and re.search(rf"\b{name}\s*=?\s*\d*\.\d", function.parsed.source.text):
        yield function.replacement("expression", right, f"{name} * {name}", 1.8, "squared")


_TOGGLE = re.compile(r"\(?(?P<count>\w+)\)?(?P<way>&1|%2)")


def _other_buffer(function: Function) -> Iterator[Change]:
    """`cur = t & 1, next = t & 1` with the other one of two buffers in one of them."""
    first: dict[str, Node] = {}
    for node in function.nodes:
        value = nodes.value_of(node)
        text = "".join(function.text(value).split()) if value is not None else ""
        parts = _TOGGLE.fullmatch(text)
        if value is None or parts is None:
            continue
        earlier = first.setdefault(text, value)
        other = f"({parts['count']} + 1) {parts['way'][0]} {parts['way'][1]}"
        for place, cost in ((value, ONE_BUFFER), (earlier, ONE_BUFFER + 0.2)) if earlier != value else ():
            yield function.replacement("index", place, other, cost, "buffer")


ONE_BUFFER = -3.5
"""What a change costs where two variables choose the same one of two buffers: nobody means that."""
_SWIZZLE = re.compile(r"[%^&]")
MOST_ACCESSES = 3


def _as_stored(function: Function) -> Iterator[Change]:
    """An element of a tile read by the index that it is stored by, two names exchanged, and the other way round:
    `tile[x * S + (y + x) % S]` where `tile[y * S + (x + y) % S]` is stored, whatever else is written there."""
    own = {v.name for v in function.variables if v.role == "array" and v.start > function.body.start_byte}
    stored: dict[str, list[Access]] = {}
    read: dict[str, list[Access]] = {}
    for access in function.accesses:
        if access.array in own:
            (stored if nodes.is_stored(access.node) else read).setdefault(access.array, []).append(access)
    for array in stored.keys() & read.keys():
        if max(len(stored[array]), len(read[array])) > MOST_ACCESSES:
            continue
        pairs = [(one, other) for one in read[array] for other in stored[array]]
        for one, model in [*pairs, *(pair[::-1] for pair in pairs)]:
            yield from _like(function, one, model)


def _like(function: Function, access: Access, model: Access) -> Iterator[Change]:
    """An access with the index of another one in which two names are exchanged."""
    variables, text, index = function.known_at(access.node), function.text(access.node), function.text(model.node)
    names = [name for name in sorted(model.words) if name in variables and variables[name].role == "index"][:MOST_NAMES]
    if not model.words <= variables.keys() or not _SWIZZLE.search(index):
        return
    for one, other in combinations(names, 2):
        swap = {one: other, other: one}
        parts = re.split(r"(\w+)", index)
        turned = "".join(swap.get(part, part) for part in parts)
        if turned != text:
            yield function.replacement("index", access.node, turned, 1.0, "as_stored")


MEMBERS = "xyzw"
AGAIN = -0.8
"""What a change costs of a member that is set twice, where another one is never set."""


def _members(function: Function) -> Iterator[Change]:
    """One member of a vector for another, those first of which one is set twice, or never used."""
    names = {v.name for v in function.variables}
    places = [row for node in function.nodes if (row := _member_of(function, node)) is not None]
    used: dict[str, set[str]] = {}
    for _field, base, member, _is_target in places:
        used.setdefault(base, set()).add(member)
    stored = Counter((base, member) for _field, base, member, is_target in places if is_target)
    for field, base, member, is_target in places:
        if f"{base}.{member}" in names:
            continue
        last = max(MEMBERS.index(m) for m in used[base])
        for other in MEMBERS[: last + 2].replace(member, ""):
            is_lacking = not stored[base, other] if is_target else other not in used[base]
            cost = 3.0 if not is_lacking else AGAIN if stored[base, member] > 1 and is_target else 1.6
            yield function.replacement("expression", field, other, cost, "member", "member")


def _member_of(function: Function, node: Node) -> tuple[Node, str, str, bool] | None:
    """Return of `v.x` the member, `v`, "x", and whether it is set; None for other nodes."""
    field, base = node.child_by_field_name("field"), node.child_by_field_name("argument")
    if node.type != "field_expression" or field is None or base is None:
        return None
    name, member = function.text(base), function.text(field)
    is_vector = len(member) == 1 and member in MEMBERS and name not in BUILTINS
    return (field, name, member, nodes.is_stored(node)) if is_vector else None


def _other_way_round(function: Function, node: Node) -> Iterator[Change]:
    """`i < n ? 0 : a[i]` with its two values in each other's place."""
    condition, one, other = (node.child_by_field_name(name) for name in ("condition", "consequence", "alternative"))
    if condition is None or one is None or other is None or function.text(one) == function.text(other):
        return
    edits = function.exchanged(one, other)
    is_number = [n.type == "number_literal" or function.callee(n).startswith("make_") for n in (one, other)]
    lets_in = any(nodes.operator_of(n) in ("<", "<=") for n in (condition, *descendants(condition)))
    cost = 0.4 if lets_in and is_number == [True, False] else 2.0
    yield Change("expression", function.line(node), edits, cost, "turned", "turned_values")


def _factors(function: Function) -> Iterator[Change]:
    """A number that an index is multiplied by, as most of the others are: `3 * p + c` beside `4 * q + c`."""
    places = [
        (side, function.text(side))
        for node in function.nodes
        if nodes.operator_of(node) == "*" and kind_at(function, node) == "index"
        for side in nodes.sides_of(node)
        if side is not None and side.type == "number_literal" and function.text(side).isdigit()
    ]
    count = Counter(text for _side, text in places)
    for side, text in places:
        for other, times in count.most_common(MOST_NAMES):
            if other != text and times >= count[text]:
                yield function.replacement("index", side, other, 1.2, "factor")


def _outside_dimensions(function: Function) -> Iterator[Change]:
    """What an array with declared sizes is accessed by, where a condition around it keeps it from being negative, or
    nothing keeps it within: `if (v >= 0) ++bins[v]` with `v < VALUES` as well."""
    sizes: dict[str, list[str]] = {}
    for node in function.nodes:
        if node.type == "array_declarator" and (node.parent is None or node.parent.type != "array_declarator"):
            sizes[declared_name(node)] = _dimensions(function, node)
    for access in function.accesses:
        indices = _indices(access.node)
        for index, size in zip(indices, sizes.get(access.array, ()), strict=False):
            variable = function.known_at(index).get(function.text(index))
            if index.type != "identifier" or variable is None or variable.role != "index" or not size:
                continue
            test = f"{variable.name} < {size}"
            branch = next((a for a in nodes.ancestors(index, function.body) if a.type == "if_statement"), None)
            condition = nodes.condition_of(branch) if branch is not None else None
            statement = next(
                (a for a in nodes.ancestors(index, function.body) if a.type == "expression_statement"), None
            )
            if branch is not None and condition is not None and variable.name in function.parsed.words(condition):
                if test not in function.text(condition) and nodes.operator_of(condition) != "||":
                    edit = function.inserted(condition.end_byte, f" && {test}")
                    yield Change("guard", function.line(branch), (edit,), 1.0, "dimension")
            elif statement is not None and statement not in function.barriers:
                edit = function.inserted(statement.start_byte, f"if ({test}) ")
                yield Change("guard", function.line(statement), (edit,), 2.0, "dimension", "missing")


def _dimensions(function: Function, declarator: Node) -> list[str]:
    """Return the sizes of a declared array as they are written, the slowest axis first."""
    sizes = []
    current: Node | None = declarator
    while current is not None and current.type == "array_declarator":
        size = current.child_by_field_name("size")
        sizes.append(function.text(size) if size is not None and not nodes.operator_of(size) else "")
        current = current.child_by_field_name("declarator")
    return sizes[::-1]


def _indices(access: Node) -> list[Node]:
    """Return the indices of an element, the slowest axis first."""
    indices = []
    current: Node | None = access
    while current is not None and current.type == "subscript_expression":
        index = nodes.index_of(current)
        indices += [index] if index is not None else []
        current = current.child_by_field_name("argument")
    return indices[::-1]


def _chained(function: Function, node: Node) -> Iterator[Change]:
    """`a[i] = b[i] = v` with one of the two targets: the other may still be needed as it was."""
    outer = nodes.assignment_of(node)
    inner = nodes.assignment_of(outer[2]) if outer is not None else None
    for one, cost in ((outer, 0.9), (inner, 1.2)) if outer is not None and inner is not None else ():
        if one is not None and inner is not None and one[1] == inner[1] == "=":
            text = f"{function.text(one[0])} = {function.text(inner[2])}"
            yield function.replacement("expression", node, text, cost, "chained", "chained")


_VECTOR = re.compile(r"(?:u?(?:char|short|int|long)|float|double)([234])")
_SHUFFLES = re.compile(r"__shfl(?:_up|_down|_xor)?_sync")


def _clamped(function: Function, node: Node) -> Iterator[Change]:
    """`tile[t] = a[min(j, n - 1)]` with 0 where there is no more: the last element would be counted again and again."""
    assignment = nodes.assignment_of(node)
    value = assignment[2] if assignment is not None and assignment[1] == "=" else None
    index = nodes.index_of(value) if value is not None and value.type == "subscript_expression" else None
    if value is None or index is None or function.callee(index).rpartition("::")[2] != "min":
        return
    array = function.text(value.children[0])
    for own, other in zip(nodes.arguments_of(index), nodes.arguments_of(index)[::-1], strict=True):
        last = _LESS_ONE.fullmatch(function.text(other))
        if last is None or other == own:
            continue
        types = {v.name: v.type for v in function.known_at(node).values() if v.role == "array"}
        element = re.sub(r"\b(?:const|volatile|__restrict__)\b|\*", "", types.get(array, "")).strip()
        vector = _VECTOR.fullmatch(element)
        zero = f"make_{element}({', '.join('0' * int(vector[1]))})" if vector is not None else "0"
        text = f"{function.text(own)} < {last[1].strip()} ? {array}[{function.text(own)}] : {zero}"
        yield function.replacement("guard", value, text, 0.9, "clamped", "clamped")


def _part_of_warp(function: Function, branch: Node) -> Iterator[Change]:
    """`if (threadIdx.x < 8)` around a shuffle of all lanes with 32 in place of the 8."""
    condition, body = nodes.condition_of(branch), branch.child_by_field_name("consequence")
    if condition is None or body is None or nodes.operator_of(nodes.unbracketed(condition)) != "<":
        return
    limit = nodes.unbracketed(condition).child_by_field_name("right")
    if limit is None or not any(_SHUFFLES.fullmatch(function.callee(n)) for n in descendants(body)):
        return
    constants = function.parsed.constants
    width = constants.evaluate(function.text(limit))
    if isinstance(width, int) and width >= 32:
        return
    names = [
        v.name for v in function.known_at(branch).values() if v.role == "size" and constants.evaluate(v.name) == 32
    ]
    whole = names[0] if names else "32"
    yield function.replacement("guard", limit, whole, 0.3, "shuffle", "warp", line=function.line(branch))
