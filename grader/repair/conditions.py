"""Changes of the conditions that accesses stand under: where there is none, or too weak a one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.barriers import continue_changes, ends_with_return, return_changes
from grader.repair.function import Change, Function, element_of
from grader.submission.cpp.tree import WORD, declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


MOST_SIZES = 3
"""Numbers handed to a kernel that its threads' indices are compared with."""
MAX_GUARDS = 6
"""Conditions that are tried at one place."""
_NEAR_END = re.compile(r"(?P<index>\w+) >= (?P<width>\w+)")
_FAR_END = re.compile(r"(?P<index>\w+) < \w+ - (?P<width>\w+)")
_AT_LEAST_ZERO = re.compile(r"(?P<index>\w+) *>= *0")
_BELOW = re.compile(r"(?P<index>[A-Za-z_]\w*) *< *[\w.]+")
_BELOW_NAME = re.compile(r"(?P<index>[\w.]+) < (?P<limit>[\w.]+)")
_PART_OF_BLOCK = re.compile(r"(?:blockIdx\.x\*[\w.]+|[\w.]+\*blockIdx\.x)")
_LOOSER_THAN_AND = re.compile(r"\|\||\?")
# Shifts and arithmetic bind more tightly than a comparison.
_LOOSER_THAN_LESS = re.compile(r"[&|^?=]|(?<![<>-])[<>](?![<>])")


def guard_changes(function: Function, extents: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """Conditions for accesses that have none, or too weak ones.

    extents: what the axes of the arrays that the kernel is handed are called in it, by the array's name there.
    """
    shown: set[tuple[int, str]] = set()
    for access in function.nodes:
        if not _is_access(function, access) or _is_inner(access):
            continue
        statement = next((a for a in nodes.ancestors(access, function.body) if nodes.is_statement(a)), None)
        if statement is None or statement.type == "declaration":
            continue
        is_store = nodes.is_stored(access)
        derived = _derived(function, access, extents)
        pool = [(text, 1.4 if n == 0 else 2.2) for n, text in enumerate(derived)]
        pool += [(text, 2.8) for text in _pool(function, access) if text not in derived]
        base = access.child_by_field_name("argument")
        # What ends with the whole array takes no other condition's place: that keeps a thread within its own part.
        is_exact = bool(derived) and (base is None or len(extents.get(function.text(base), ())) <= 2)
        for text, cost in pool[:MAX_GUARDS]:
            if (
                derived
                and not is_exact
                and any(a.type == "if_statement" for a in nodes.ancestors(access, function.body))
            ):
                continue
            for change in _guarded(function, access, statement, text, cost, is_store, is_exact):
                key = (change.edits[0].start, repr(change.edits))
                if key not in shown:
                    shown.add(key)
                    yield change
    yield from _conditions(function)
    yield from _between_barriers(function, extents)


def surplus_changes(function: Function, covers: Sequence[str]) -> Iterator[Change]:
    """The return of threads beyond what the grid covers, behind the indices of the whole grid that nothing limits.

    covers: what the sizes along the grid's axes are called in the kernel, "" where that is not known.
    """
    if not function.is_kernel:
        return
    limits = [function.names_in(c) for n in function.nodes if (c := nodes.condition_of(n) or _condition_of_choice(n))]
    first_index: dict[str, tuple[str, Node]] = {}
    for node in function.statements:
        if node.type == "declaration" and node.parent == function.body:
            for declarator in node.children_by_field_name("declarator"):
                words = function.names_in(declarator)
                for axis in "xyz" if "threadIdx" in words else "":
                    if f"blockIdx.{axis}" in words and not any(declared_name(declarator) in names for names in limits):
                        first_index.setdefault(axis, (declared_name(declarator), node))
    if not covers:
        yield from _surplus_of_any(function, first_index)
    unlimited = [
        (first_index[axis], over) for axis, over in zip("xyz", covers, strict=False) if axis in first_index and over
    ]
    last = max((node.end_byte for (_name, node), _over in unlimited), default=0)
    if unlimited and not any(b.start_byte > last for b in function.barriers):
        (_name, place), _over = max(unlimited, key=lambda row: row[0][1].end_byte)
        text = " || ".join(f"{name} >= {over}" for (name, _node), over in unlimited)
        edit = function.inserted(last, f"\n{function.indent(place)}if ({text}) return;")
        yield Change("guard", place.end_point.row + 1, (edit,), 1.2, "surplus", "missing")


def _surplus_of_any(function: Function, first_index: Mapping[str, tuple[str, Node]]) -> Iterator[Change]:
    """The same where nobody says what the grid runs over: any of the numbers that the kernel is handed."""
    parameters = [v.name for v in function.variables if v.start == function.body.start_byte and v.role == "size"]
    parameters = parameters[:MOST_SIZES]
    for number, sizes in enumerate(permutations(parameters, len(first_index)) if first_index else ()):
        place = max((node for _name, node in first_index.values()), key=lambda node: node.end_byte)
        if any(b.start_byte > place.end_byte for b in function.barriers):
            return
        tests = [f"{name} >= {size}" for (name, _node), size in zip(first_index.values(), sizes, strict=True)]
        edit = function.inserted(place.end_byte, f"\n{function.indent(place)}if ({' || '.join(tests)}) return;")
        yield Change("guard", place.end_point.row + 1, (edit,), 1.3 + 0.1 * number, "surplus", "missing")


def clip_changes(function: Function) -> Iterator[Change]:
    """Yield the size of a block's part, `int here = blockDim.x`, limited to what is left from its first element on."""
    declared = [(n, v) for n in function.nodes if n.type == "init_declarator" and (v := n.child_by_field_name("value"))]
    firsts = [n for n, value in declared if _PART_OF_BLOCK.fullmatch("".join(function.text(value).split()))]
    for node, value in declared:
        variables = function.known_at(value)
        names = {function.text(n) for n in nodes.named_in(value)}
        is_whole = names <= {"blockDim.x", *(v.name for v in variables.values() if v.role == "size" and not v.start)}
        if not names or not is_whole or nodes.operator_of(value) or not _is_number(function, node):
            continue
        limits = [v.name for v in variables.values() if v.role == "size" and v.start == function.body.start_byte]
        for first in (declared_name(n) for n in firsts if n.start_byte != node.start_byte):
            for limit in reversed(limits if first in variables else []):
                text = function.text(value)
                part = text if text.startswith("(") else f"(int){text}"
                edit = function.replaced(value, f"min({part}, {limit} - {first})")
                yield Change("expression", function.line(node), (edit,), 1.0, "clip")


def _is_number(function: Function, declarator: Node) -> bool:
    name = declared_name(declarator)
    return any(v.name == name and v.role in ("size", "index") for v in function.variables)


def _condition_of_choice(node: Node) -> Node | None:
    return node.child_by_field_name("condition") if node.type == "conditional_expression" else None


def _between_barriers(function: Function, extents: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """Conditions around all that a kernel does with arrays before and after its barriers, to which all threads come.

    Each statement gets what its own accesses need to stay within their arrays; where that does not follow from them,
    what keeps the thread's number below a size that no condition of the kernel speaks of yet.
    """
    if not function.is_kernel or not function.barriers or any(b.parent != function.body for b in function.barriers):
        return
    spoken_of = {w for n in function.nodes if n.type == "if_statement" for w in function.names_in(n)}
    parameters = [v for v in function.variables if v.start == function.body.start_byte]
    sizes = [v.name for v in parameters if v.role == "size" and v.name not in spoken_of]
    variables = function.known_at(function.barriers[0]).values()
    indices = [v.name for v in variables if v.role == "index" and v.start > function.body.start_byte]
    for text in [*(f"{index} < {size}" for size in sizes[::-1] for index in indices), ""][:MAX_GUARDS]:
        places: dict[int, tuple[Node, str]] = {}
        for access in function.nodes:
            outer = next(
                (a for a in (access, *nodes.ancestors(access, function.body)) if a.parent == function.body), None
            )
            if not _is_access(function, access) or outer is None or outer.type in ("declaration", "if_statement"):
                continue
            derived = _derived(function, access, extents)
            needed = derived[0] if derived else text
            if (
                needed
                and outer.start_byte not in places
                and _usable(function, outer, needed, set(function.known_at(outer)))
            ):
                places[outer.start_byte] = outer, needed
        if len(places) > 1:
            edits = tuple(function.inserted(at, f"if ({needed}) ") for at, (_outer, needed) in places.items())
            outer, _needed = next(iter(places.values()))
            yield Change("guard", function.line(outer), edits, 1.9, "wrap_all", "missing_around")


def _guarded(
    function: Function, access: Node, statement: Node, text: str, cost: float, is_store: bool, is_global: bool
) -> Iterator[Change]:
    line = function.line(access)
    conditions = [a for a in nodes.ancestors(access, function.body) if a.type == "if_statement"]
    inside = [c for c in conditions if nodes.condition_of(c) is not None and not _holds(c, access)]
    for branch in inside[:1]:
        condition = nodes.condition_of(branch)
        assert condition is not None
        if function.text(condition) != text:
            edit = function.replaced(condition, text)
            if is_global:
                yield function.replacement(
                    "guard", condition, text, cost - 0.2, "derived_guard", line=function.line(branch)
                )
            edit = function.replaced(condition, _both(function.text(condition), text))
            yield Change("guard", function.line(branch), (edit,), cost + 0.6, "conjunct")
    ternary = next((a for a in nodes.ancestors(access, statement) if a.type == "conditional_expression"), None)
    if ternary is not None and not is_store:
        condition = ternary.child_by_field_name("condition")
        if condition is not None and function.text(condition) != text:
            if is_global:
                edit = function.replaced(condition, text)
                yield Change("guard", function.line(ternary), (edit,), cost - 0.1, "derived_guard")
            edit = function.replaced(condition, _both(function.text(condition), text))
            yield Change("guard", function.line(ternary), (edit,), cost + 0.6, "conjunct")
    if not is_store and ternary is None and not _is_changed(access):
        edit = function.replaced(access, f"({text} ? {function.text(access)} : 0)")
        yield Change("guard", line, (edit,), cost + 0.5, "ternary", "missing")
    names = set(function.known_at(statement))
    outer: Node | None = statement
    while outer is not None and nodes.is_statement(outer):
        if (
            outer.type != "declaration"
            and not any(b.start_byte >= outer.start_byte for b in _barriers_in(function, outer))
            and _usable(function, outer, text, names)
        ):
            edit = function.inserted(outer.start_byte, f"if ({text}) ")
            yield Change("guard", function.line(outer), (edit,), cost + 0.1, "wrap", "missing")
        outer = outer.parent if outer.parent is not None and outer.parent != function.body else None
        while outer is not None and not nodes.is_statement(outer) and outer != function.body:
            outer = outer.parent
        if outer == function.body:
            outer = None
    returns = _return_place(function, text)
    if returns is not None:
        below = _BELOW_NAME.fullmatch(text)
        test = f"{below['index']} >= {below['limit']}" if below is not None else f"!({text})"
        edit = function.inserted(returns.end_byte, f"\n{function.indent(returns)}if ({test}) return;")
        yield Change("guard", returns.end_point.row + 1, (edit,), cost + 0.3, "return", "missing")


def _usable(function: Function, outer: Node, text: str, names: set[str]) -> bool:
    visible = set(function.known_at(outer))
    return all(word in visible for word in WORD.findall(text) if word in names)


def _barriers_in(function: Function, node: Node) -> list[Node]:
    return [b for b in function.barriers if node.start_byte <= b.start_byte < node.end_byte]


def _return_place(function: Function, text: str) -> Node | None:
    """Return the declaration after which all names of a condition are known; None where a barrier follows it."""
    words = set(WORD.findall(text))
    used = [v for v in function.variables if v.name in words and v.role != "array"]
    start = max((v.start for v in used), default=0)
    declarations = [s for s in function.statements if s.type == "declaration" and s.parent == function.body]
    place = next((d for d in declarations if d.start_byte < start <= d.end_byte), None)
    if place is None or any(b.start_byte > place.start_byte for b in function.barriers):
        return None
    return place


def _conditions(function: Function) -> Iterator[Change]:
    for node in function.nodes:
        if nodes.operator_of(node) == "&&" and (node.parent is None or nodes.operator_of(node.parent) != "&&"):
            yield from _lower_ends(function, node)
        if node.type != "if_statement":
            continue
        condition, body = nodes.condition_of(node), node.child_by_field_name("consequence")
        if condition is None or body is None:
            continue
        yield from _one_of_pair(function, node, condition)
        yield from _whole_index(function, condition, body)
        returns = "return" in function.text(body).split(";")[0].replace("{", " ").split()
        for text in _pool(function, body if not returns else node)[:MAX_GUARDS]:
            if returns:
                edit = function.replaced(
                    condition, f"{_bracketed(function.text(condition), _LOOSER_THAN_AND)} || !({text})"
                )
                yield Change("guard", function.line(node), (edit,), 3.0, "conjunct")
        if ends_with_return(body) and node.child_by_field_name("alternative") is None:
            yield from return_changes(function, node, condition)
        yield from continue_changes(function, node)
        if not returns and not nodes.only_leaves(body) and node.child_by_field_name("alternative") is None:
            yield from _looped(function, node, condition, body)
            yield from _by_one(function, node, condition, body)
            edit = Edit(function.at(node.start_byte), function.at(body.start_byte), "")
            yield Change("guard", function.line(node), (edit,), 3.2, "unguarded", "removed")


def _lower_ends(function: Function, node: Node) -> Iterator[Change]:
    """`r >= 0 && r < rows && c < cols` with the lower end that one of its indices lacks and another has."""
    terms = [function.text(n) for n in (node, *descendants(node)) if nodes.operator_of(n) in ("<", ">=")]
    below = {m["index"] for text in terms if (m := _AT_LEAST_ZERO.fullmatch(text))}
    above = [m["index"] for text in terms if (m := _BELOW.fullmatch(text))]
    for index in dict.fromkeys(above if below else ()):
        if index not in below:
            edit = function.inserted(node.end_byte, f" && {index} >= 0")
            yield Change("guard", function.line(node), (edit,), 0.9, "lower_end")


def _whole_index(function: Function, condition: Node, body: Node) -> Iterator[Change]:
    """`if (i < n) v = a[first + i];` with the whole index in the condition."""
    left = condition.child_by_field_name("left")
    if nodes.operator_of(condition) != "<" or left is None or left.type != "identifier":
        return
    for access in function.accesses:
        index = nodes.index_of(access.node)
        if index is None or not body.start_byte <= access.node.start_byte < body.end_byte:
            continue
        terms = [function.text(term) for _sign, term in nodes.terms_of(index)]
        if len(terms) > 1 and function.text(left) in terms:
            yield function.replacement("guard", left, function.text(index), 0.7, "whole_index")


def _one_of_pair(function: Function, node: Node, condition: Node) -> Iterator[Change]:
    """`if (i < n)` for one thread of each pair alone, where the other's index is made of its own by `^`."""
    for other in function.nodes:
        value = nodes.value_of(other)
        left = value.child_by_field_name("left") if value is not None and nodes.operator_of(value) == "^" else None
        if left is None or left.type != "identifier" or other.start_byte > node.start_byte:
            continue
        partner, own = declared_name(other), function.text(left)
        text = function.text(condition)
        if partner not in function.parsed.words(condition) and partner in function.known_at(condition):
            edit = function.replaced(condition, _both(text, f"{partner} > {own}"))
            yield Change("guard", function.line(node), (edit,), 1.2, "pair")


def _looped(function: Function, node: Node, condition: Node, body: Node) -> Iterator[Change]:
    """`if (threadIdx.x < n)` as a loop by the block's threads, of which there may be fewer."""
    left, right = nodes.sides_of(condition)
    if left is None or right is None or nodes.operator_of(condition) != "<" or _barriers_in(function, body):
        return
    yield from _remainder(function, node, left)
    own = function.text(left)
    places = [n for n in descendants(body) if n.type == left.type and function.text(n) == own]
    if own not in _thread_numbers(function) or not places:
        return
    name = next(n for n in ("e", "el", "item", "index_") if n not in function.parsed.words(function.body))
    clause = node.child_by_field_name("condition") or condition
    goes_on = f"for (int {name} = {own}; {name} < {function.text(right)}; {name} += blockDim.x)"
    head = Edit(function.at(node.start_byte), function.at(clause.end_byte), goes_on)
    edits = (head, *(function.replaced(place, name) for place in places))
    yield Change("guard", function.line(node), edits, 1.8, "loop", "loop")


def _thread_numbers(function: Function) -> set[str]:
    """Return what a thread's number within a block of one axis is called: itself, and variables that are given it."""
    values = {declared_name(n): function.text(v) for n in function.nodes if (v := nodes.value_of(n)) is not None}
    return {"threadIdx.x"} | {name for name, value in values.items() if value == "threadIdx.x"}


def _remainder(function: Function, node: Node, left: Node) -> Iterator[Change]:
    """`if (k < n)` behind a loop that leaves several elements over: a loop of what goes on counting."""
    name = function.text(left)
    loops = (n for n in function.nodes if n.type == "for_statement" and n.end_byte <= node.start_byte)
    updates = (update for loop in loops if (update := loop.child_by_field_name("update")) is not None)
    clause = node.child_by_field_name("condition")
    is_counted = left.type == "identifier" and any(name in function.parsed.words(update) for update in updates)
    if clause is None or not is_counted or node.child_by_field_name("alternative") is not None:
        return
    inside = function.text(clause).removeprefix("(").removesuffix(")")
    edit = Edit(function.at(node.start_byte), function.at(clause.end_byte), f"for (; {inside}; ++{name})")
    yield Change("bound", function.line(node), (edit,), 1.0, "loop", "remainder")


def _by_one(function: Function, node: Node, condition: Node, body: Node) -> Iterator[Change]:
    """`if (lane < n)` around an atomic operation that one thread is to carry out."""
    left, operator = condition.child_by_field_name("left"), nodes.operator_of(condition)
    if left is not None and operator in ("<", "<=") and "atomic" in function.text(body):
        edit = function.replaced(condition, f"{function.text(left)} == 0")
        yield Change("guard", function.line(node), (edit,), 2.0, "by_one")


def _derived(function: Function, access: Node, extents: Mapping[str, Sequence[str]]) -> list[str]:
    """Return conditions that keep an access within its array, from its index and the array's axes."""
    called = element_of(function, access) if access.type == "call_expression" else None
    if called is not None and len(extents.get(called.array, ())) == 2:
        high, wide = extents[called.array]
        rows, columns = f"{_side(function, called.row)} < {high}", f"{_side(function, called.column)} < {wide}"
        return [f"{rows} && {columns}", rows, columns]
    base = access.child_by_field_name("argument")
    indices = access.child_by_field_name("indices")
    if base is None or indices is None or not indices.named_children:
        return []
    axes = extents.get(function.text(base), ())
    index = indices.named_children[0]
    if not axes and nodes.operator_of(index) == "+":
        return _within_row(function, index)
    if len(axes) == 1:
        name = _side(function, index)
        both = f"{name} >= 0 && {name} < {axes[0]}"
        return [f"{name} < {axes[0]}", both]
    if len(axes) == 2 and nodes.operator_of(index) == "+":
        terms = list(nodes.terms_of(index))
        products = [term for sign, term in terms if nodes.operator_of(term) == "*" and sign == "+"]
        row = products[0].child_by_field_name("left") if products else None
        if row is None:
            return []
        rest = "".join(f" {sign} {function.text(t)}" for sign, t in terms if t != products[0])
        column = rest.removeprefix(" + ") if len(terms) > 2 else _side(function, terms[terms[0][1] == products[0]][1])
        rows, columns = f"{_side(function, _without_cast(row))} < {axes[0]}", f"{column} < {axes[1]}"
        return [f"{rows} && {columns}", rows, columns]
    if len(axes) > 2:
        # A block may copy what several of the first axis have in one row.
        return [f"{_side(function, index)} < {' * '.join(axes)}"]
    return []


def _within_row(function: Function, index: Node) -> list[str]:
    """Return what keeps `row * width + column` within an array of unknown shape: the column below the width; besides,
    the row below another number that is handed over; both from 0 on where a difference is one of them."""
    variables = function.known_at(index)
    handed = [v.name for v in variables.values() if v.role == "size" and v.start == function.body.start_byte]
    values = [(declared_name(n), function.text(v)) for n in function.nodes if (v := nodes.value_of(n)) is not None]
    for node in (index, *descendants(index)):
        left, column = nodes.sides_of(node) if nodes.operator_of(node) == "+" else (None, None)
        row, width = nodes.sides_of(left) if left is not None and nodes.operator_of(left) == "*" else (None, None)
        names = [function.text(nodes.unbracketed(n)) for n in (row, column) if n is not None]
        if width is None or function.text(width) not in handed or len(names) < 2:
            continue
        if any(name not in variables or variables[name].role != "index" for name in names):
            return []
        below = f"{names[1]} < {function.text(width)}"
        both = [f"{names[0]} < {high} && {below}" for high in handed if high != function.text(width)][:MOST_SIZES]
        lower = [f"{name} >= 0" for name in names if any(made == name and "-" in text for made, text in values)]
        return [*(" && ".join([*lower, test]) for test in both), below] if lower else [below, *both]
    return []


def _without_cast(node: Node) -> Node:
    value = node.child_by_field_name("value") if node.type == "cast_expression" else None
    return value if value is not None else node


def _side(function: Function, node: Node) -> str:
    """Return an index as the left side of a comparison, in brackets only where it needs them."""
    return _bracketed(function.text(nodes.unbracketed(node)), _LOOSER_THAN_LESS)


def _pool(function: Function, access: Node) -> list[str]:
    variables = function.known_at(access)
    conditions: list[str] = []
    for node in function.nodes:
        if node.type == "if_statement":
            condition = nodes.condition_of(node)
        elif node.type == "conditional_expression":
            condition = node.child_by_field_name("condition")
        else:
            continue
        if condition is None or function.parsed.words(condition) & {"threadIdx", "blockIdx"}:
            continue
        body = node.child_by_field_name("consequence")
        if body is not None and function.text(body).lstrip("{ ").startswith("return"):
            conditions.append(f"!({function.text(condition)})")
        else:
            conditions.append(function.text(condition))
    words = function.parsed.words(access)
    indices = sorted((v for v in variables.values() if v.role == "index"), key=lambda v: v.name not in words)
    sizes = [v for v in variables.values() if v.role == "size"]
    sizes.sort(key=lambda v: v.start == 0)
    conditions += _other_ends(tuple(conditions), [s.name for s in sizes[:2]])
    conditions += [f"{i.name} < {s.name}" for i in indices[:3] for s in sizes[:2]]
    return list(dict.fromkeys(conditions))


def _other_ends(conditions: Sequence[str], sizes: Sequence[str]) -> Iterator[str]:
    """What keeps as far from the other end of an array: `i < n - R` beside `i >= R`."""
    for condition in conditions:
        near = _NEAR_END.fullmatch(condition)
        if near is not None:
            yield from (f"{near['index']} < {size} - {near['width']}" for size in sizes if size != near["width"])
        far = _FAR_END.fullmatch(condition)
        if far is not None:
            yield f"{far['index']} >= {far['width']}"


def _holds(branch: Node, access: Node) -> bool:
    """Whether an access stands outside the branch's body: in its condition or in its `else`."""
    body = branch.child_by_field_name("consequence")
    return body is None or not body.start_byte <= access.start_byte < body.end_byte


def _both(condition: str, other: str) -> str:
    return f"{_bracketed(condition, _LOOSER_THAN_AND)} && {_bracketed(other, _LOOSER_THAN_AND)}"


def _bracketed(text: str, looser: re.Pattern[str]) -> str:
    return f"({text})" if looser.search(text) else text


def _is_access(function: Function, node: Node) -> bool:
    if node.type == "call_expression":
        return element_of(function, node) is not None
    return node.type == "subscript_expression"


def _is_inner(access: Node) -> bool:
    parent = access.parent
    return (
        parent is not None
        and parent.type == "subscript_expression"
        and parent.child_by_field_name("argument") == access
    )


def _is_changed(access: Node) -> bool:
    parent = access.parent
    if parent is None:
        return False
    return parent.type in ("update_expression", "pointer_expression", "field_expression")
