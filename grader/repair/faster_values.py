"""Changes that may make a right kernel faster by what a thread keeps in registers and computes with: sums kept in a
variable until they are whole, single precision, products in place of powers and quotients, pointers that no other one
overlaps.

Each is tried: nothing here need be right, or fast.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from grader.repair.function import Access, Change, Function, parameter_nodes
from grader.repair.launch_sites import Launch
from grader.repair.nodes import (
    ancestors,
    arguments_of,
    assignment_of,
    inner_of,
    is_stored,
    listed,
    named_in,
    only_statement,
    operator_of,
    sides_of,
    unbracketed,
)
from grader.repair.several_places import numbers_of, replaced_in
from grader.submission.cpp.tree import LOOPS, declared_name, descendants, qualifiers_of
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

SUMS = ("sum", "total", "result", "kept")
INVERSES = ("inverse", "reciprocal", "scale")
_DOUBLE = re.compile(r"(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")


# -- sums in a register ------------------------------------------------------------------


def register_changes(function: Function, launches: Sequence[Launch]) -> Iterator[Change]:
    """Elements that a loop adds to in global memory, `out[i] += …`, kept in variables while it runs.

    The assignment that sets an element before the loop moves behind it, with the guard that it stands in.
    launches: of the kernel; where arrays may overlap there is no such change.
    """
    if not _are_apart(function, launches):
        return
    done: set[int] = set()
    for access in function.accesses:
        loop = _outermost(function, access) if _is_added_to(function, access.node) else None
        if loop is None or loop.id in done or loop.parent is None or loop.parent.type != "compound_statement":
            continue
        edits = _kept(function, loop, access.array)
        done.add(loop.id)
        if edits:
            last = max(edit.end for edit in edits)
            done.update(n.id for n in function.nodes if n.type in LOOPS and function.at(n.start_byte) < last)
            yield Change("expression", access.line, tuple(edits), 1.3, "register", "register")


def _is_added_to(function: Function, node: Node) -> bool:
    """Whether an element is the target of `+=`, or of an assignment of what it is used in."""
    assigned = assignment_of(node.parent)
    if assigned is None or assigned[0] != node:
        return False
    _target, operator, value = assigned
    own = _plain(function, node)
    return operator != "=" or any(n.type == node.type and _plain(function, n) == own for n in descendants(value))


def _plain(function: Function, node: Node) -> str:
    return "".join(function.text(node).split())


def _outermost(function: Function, access: Access) -> Node | None:
    """The outermost loop around an element that goes to the same element in all of its passes."""
    outermost = None
    for outer in ancestors(access.node, function.body):
        if outer.type in LOOPS:
            if _set_in(function, outer) & {*access.words, access.array}:
                break
            outermost = outer
    return outermost


def _set_in(function: Function, node: Node) -> set[str]:
    """Names that are declared, assigned or counted within a statement."""
    names: set[str] = set()
    for part in descendants(node):
        assigned = assignment_of(part)
        if assigned is not None and assigned[0].type == "identifier":
            names.add(function.text(assigned[0]))
        elif part.type == "update_expression":
            names.update(function.text(one) for one in named_in(part))
        elif part.type == "declaration":
            names.update(declared_name(one) for one in part.children_by_field_name("declarator"))
    return names


def _kept(function: Function, loop: Node, array: str) -> list[Edit]:
    """Edits that keep all elements of an array that a loop goes to in variables; [] where they differ by pass."""
    block = loop.parent
    type_text = _element_type(function, array, loop)
    assert block is not None
    if not type_text or any(n.type in ("return_statement", "goto_statement") for n in descendants(loop)):
        return []
    own = [a for a in function.accesses if a.array == array]
    inside = [a for a in own if _holds(loop, a.node)]
    texts = list(dict.fromkeys(_plain(function, a.node) for a in inside))
    if _set_in(function, loop) & {word for a in inside for word in (*a.words, array)}:
        return []
    statements = listed(block)
    first = last = statements.index(loop)
    while last + 1 < len(statements):
        following = [a for a in own if _holds(statements[last + 1], a.node)]
        leaves = any(n.type == "return_statement" for n in descendants(statements[last + 1]))
        if leaves or not following or {_plain(function, a.node) for a in following} - set(texts):
            break
        last += 1
    names = _free(function, SUMS, len(texts))
    ending, indent = statements[last], function.indent(loop)
    edits: list[Edit] = []
    before: list[str] = []
    behind: list[str] = []
    for text, name in zip(texts, names, strict=True):
        example = next(a.node for a in inside if _plain(function, a.node) == text)
        start = _set_before(function, statements[:first], array, text)
        if start is None:
            before.append(f"{type_text} {name} = {function.text(example)};")
            behind.append(f"{function.text(example)} = {name};")
        else:
            statement, value = start
            edits.append(function.replaced(statement, f"{type_text} {name} = {function.text(value)};"))
            whole, cut = function.text(statement), function.at(statement.start_byte)
            left, right = function.at(value.start_byte) - cut, function.at(value.end_byte) - cut
            behind.append(whole[:left] + name + whole[right:])
        edits += [
            function.replaced(a.node, name)
            for a in own
            if _plain(function, a.node) == text and loop.start_byte <= a.node.start_byte < ending.end_byte
        ]
    if before:
        edits.append(function.inserted(loop.start_byte, "".join(f"{line}\n{indent}" for line in before)))
    edits.append(function.inserted(ending.end_byte, "".join(f"\n{indent}{line}" for line in behind)))
    return edits


def _holds(outer: Node, node: Node) -> bool:
    return outer.start_byte <= node.start_byte < outer.end_byte


def _set_before(function: Function, statements: Sequence[Node], array: str, text: str) -> tuple[Node, Node] | None:
    """The last of `statements` if it sets an element to a number, behind a guard or not, and that number; None where
    what goes to the array last does something else."""
    for statement in reversed(statements):
        set_by = statement
        if statement.type == "if_statement" and statement.child_by_field_name("alternative") is None:
            set_by = only_statement(statement.child_by_field_name("consequence")) or statement
        assigned = assignment_of(inner_of(set_by))
        if assigned is not None and assigned[1] == "=" and _plain(function, assigned[0]) == text:
            return (statement, assigned[2]) if assigned[2].type == "number_literal" else None
        others = [a for a in function.accesses if a.array == array and _holds(statement, a.node)]
        if any(_plain(function, a.node) == text for a in others):
            return None
    return None


def _element_type(function: Function, array: str, node: Node) -> str:
    """The type of an array's elements in global memory, without qualifiers; "" where it is not known."""
    variable = function.known_at(node).get(array)
    if variable is None or variable.role != "array":
        return ""
    shared = {
        declared_name(one)
        for n in function.nodes
        if n.type == "declaration" and "__shared__" in qualifiers_of(n)
        for one in n.children_by_field_name("declarator")
    }
    words = [word for word in variable.type.split() if word not in ("const", "volatile", "__restrict__")]
    return "" if array in shared or "volatile" in variable.type else " ".join(words)


def _free(function: Function, names: Sequence[str], count: int) -> list[str]:
    """As many names as are asked for, none of which the file uses."""
    used = function.parsed.words(function.parsed.root)
    numbered = [[name if count == 1 else f"{name}{n}" for n in range(count)] for name in names]
    return next((some for some in numbered if not used & set(some)), [f"{names[0]}_{n}" for n in range(count)])


# -- arithmetic --------------------------------------------------------------------------


def arithmetic_changes(functions: Sequence[Function]) -> Iterator[Change]:
    """Single precision for numbers and variables, products and roots in place of powers, one quotient for several with
    the same divisor: each, and both first ones together."""
    single = [edit for function in functions for edit in _in_single(function)]
    single = [*single, *_constants_in_single(functions)]
    without_powers = [edit for function in functions for edit in _without_powers(function)]
    if single:
        yield Change("expression", _line_of(functions[0], single), tuple(single), 1.2, "precision", "precision")
    if without_powers:
        line = _line_of(functions[0], without_powers)
        yield Change("expression", line, tuple(without_powers), 1.2, "powers", "powers")
    if single and without_powers:
        left = [e for e in single if not any(w.start <= e.start < w.end for w in without_powers)]
        edits = (*left, *without_powers)
        yield Change("expression", _line_of(functions[0], edits), edits, 1.4, "powers", "powers")
    for function in functions:
        yield from _quotients(function)


def _line_of(function: Function, edits: Sequence[Edit]) -> int:
    return function.parsed.source.text.count("\n", 0, min(edit.start for edit in edits)) + 1


def _in_single(function: Function) -> Iterator[Edit]:
    """Numbers of double precision with an `f` behind them, and `float` where a variable or a cast is `double`; none
    where the kernel is handed doubles."""
    if any("double" in function.text(type_node) for _inner, type_node in parameter_nodes(function.item)):
        return
    for node in function.nodes:
        if node.type == "number_literal" and _DOUBLE.fullmatch(function.text(node)):
            yield function.inserted(node.end_byte, "f")
        elif node.type == "primitive_type" and function.text(node) == "double":
            yield function.replaced(node, "float")


def _constants_in_single(functions: Sequence[Function]) -> Iterator[Edit]:
    """The same of the constants of the file that device code uses."""
    if not functions:
        return
    parsed = functions[0].parsed
    used = {word for function in functions for word in parsed.words(function.body)}
    for name, node in numbers_of(parsed):
        text = parsed.text(node).strip()
        if name in used and _DOUBLE.fullmatch(text):
            yield replaced_in(parsed, node, f"{text}f")


_POWERS = {2.0: "{x} * {x}", 3.0: "{x} * {x} * {x}", 0.5: "sqrtf({x})", 1.5: "{x} * sqrtf({x})", -0.5: "rsqrtf({x})"}


def _without_powers(function: Function) -> Iterator[Edit]:
    """Products and roots in place of `pow` with a number, `rsqrtf` in place of 1 over a root."""
    for node in function.nodes:
        callee, arguments = function.callee(node), arguments_of(node)
        if callee in ("pow", "powf", "__powf") and len(arguments) == 2:
            base = unbracketed(arguments[0])
            number = re.fullmatch(r"(-?[\d.]+)[fF]?", function.text(arguments[1]))
            wanted = _POWERS.get(float(number[1])) if number is not None and number[1].strip(".-") else None
            is_plain = base.type in ("identifier", "field_expression", "subscript_expression")
            if wanted is not None and is_plain and not any(n.type == "call_expression" for n in descendants(base)):
                yield function.replaced(node, f"({wanted.format(x=function.text(base))})")
        left, right = sides_of(node)
        if operator_of(node) == "/" and left is not None and right is not None:
            root = unbracketed(right)
            is_one = re.fullmatch(r"1(\.0*)?[fF]?", function.text(left)) is not None
            under = root.child_by_field_name("arguments")
            if is_one and function.callee(root) in ("sqrt", "sqrtf") and under is not None:
                # What stands under the root may be a power.
                yield Edit(function.at(node.start_byte), function.at(under.start_byte), "rsqrtf")
                yield Edit(function.at(root.end_byte), function.at(node.end_byte), "")


def _quotients(function: Function) -> Iterator[Change]:
    """Quotients of a block by the same divisor, made products with its inverse."""
    divisions: dict[tuple[int, str], list[Node]] = {}
    for node in function.nodes:
        divisor = sides_of(node)[1] if operator_of(node) == "/" else None
        block = next((n for n in ancestors(node, function.body) if n.type == "compound_statement"), None)
        if divisor is not None and block is not None and divisor.type != "number_literal":
            divisions.setdefault((block.id, _plain(function, unbracketed(divisor))), []).append(node)
    for nodes in divisions.values():
        first, divisor = nodes[0], sides_of(nodes[0])[1]
        if len(nodes) < 2 or divisor is None:
            continue
        variables = function.known_at(first)
        values = [variables[name] for name in map(function.text, named_in(divisor)) if name in variables]
        # Whole numbers have no inverse.
        if not values or any(value.role != "value" for value in values):
            continue
        (name,) = _free(function, INVERSES, 1)
        statement = next(n for n in (first, *ancestors(first, function.body)) if _is_in_block(n))
        indent = function.indent(statement)
        edits = [
            function.inserted(statement.start_byte, f"const float {name} = 1.0f / {function.text(divisor)};\n{indent}")
        ]
        for node in nodes:
            operator, right = node.child_by_field_name("operator"), sides_of(node)[1]
            if operator is not None and right is not None:
                edits += [function.replaced(operator, "*"), function.replaced(right, name)]
        yield Change("expression", function.line(first), tuple(edits), 1.3, "quotients", "quotients")


def _is_in_block(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "compound_statement"


# -- pointers ------------------------------------------------------------------------------


def restrict_changes(function: Function, launches: Sequence[Launch]) -> Iterator[Change]:
    """All pointers of a kernel `__restrict__`, so that loads need not wait for stores before them.

    launches: of the kernel; where one hands an array over twice there is no such change.  Nor is there one where no
    loop stores and loads: ten kernels without such a loop took as long on an H200.
    """
    pointers = [inner for inner, _type in parameter_nodes(function.item) if inner.type == "pointer_declarator"]
    plain = [node for node in pointers if "restrict" not in function.text(node)]
    names = [declared_name(node) for node in plain]
    if not plain or not _loads_behind_stores(function, {declared_name(node) for node in pointers}):
        return
    if not _are_apart(function, launches):
        return
    edits = []
    for node, name in zip(plain, names, strict=True):
        stars = function.text(node)[: -len(name)].rstrip() if function.text(node).endswith(name) else ""
        if stars != "*":
            return
        edits.append(function.replaced(node, f"*__restrict__ {name}"))
    yield Change("expression", function.line(plain[0]), tuple(edits), 1.1, "pointer", "restrict")


def _are_apart(function: Function, launches: Sequence[Launch]) -> bool:
    """Whether each launch of a kernel hands every array over once, and from its beginning."""
    parameters = [inner for inner, _type in parameter_nodes(function.item)]
    for launch in launches:
        given = zip(launch.arguments, parameters, strict=False)
        arrays = [argument for argument, inner in given if inner.type == "pointer_declarator"]
        handed = [launch.function.text(name) for argument in arrays for name in named_in(argument)]
        is_moved = any(operator_of(node) for argument in arrays for node in descendants(argument))
        if is_moved or len(set(handed)) < len(handed):
            return False
    return True


def _loads_behind_stores(function: Function, pointers: Collection[str]) -> bool:
    """Whether a loop stores by one of the pointers and loads by another, so that the next pass waits."""
    own = [access for access in function.accesses if access.array in pointers]
    for loop in function.nodes:
        if loop.type in LOOPS:
            inside = [a for a in own if loop.start_byte <= a.node.start_byte < loop.end_byte]
            stored = {access.array for access in inside if is_stored(access.node)}
            if stored and any(access.array not in stored for access in inside):
                return True
    return False
