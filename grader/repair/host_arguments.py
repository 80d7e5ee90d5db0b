"""A file's calls of the CUDA runtime, and changes of what they are given: arrays, directions, pitches and sizes.

What is tried follows from what the program's other calls say.  A size may count elements in place of bytes, or lack a
factor: in the call itself, where the size is computed, or in what a function that makes the call is given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function, host_functions, parameter_nodes
from grader.repair.launch_sites import Launch, launches_of
from grader.repair.nodes import (
    arguments_of,
    is_statement,
    listed,
    named_in,
    operator_of,
    shortened,
    sides_of,
    value_of,
)
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants
from grader.submission.structs import fields_of

if TYPE_CHECKING:
    from tree_sitter import Node


COPIES = {"cudaMemcpy": 2, "cudaMemcpyAsync": 2, "cudaMemcpyToSymbol": 2, "cudaMemcpyFromSymbol": 2}
"""Calls that copy, and which of their arguments is the size."""
COPIES |= {"cudaMemcpyToSymbolAsync": 2, "cudaMemcpyFromSymbolAsync": 2}
SETS = {"cudaMemset": 2, "cudaMemsetAsync": 2}
ALLOCATES = {"cudaMalloc": 1, "cudaMallocManaged": 1}
SIZED = {**COPIES, **SETS, **ALLOCATES}
PITCHED = {"cudaMemcpy2D": (0, 2), "cudaMemcpy2DAsync": (0, 2), "cudaMallocPitch": (0,)}
"""Calls that take a pitch, and which of their arguments are the arrays; the pitch comes next to each."""
EXTENT_AT = 4
"""Of a copy of rows: which argument is the width in bytes, before the height."""
FREES = ("cudaFree", "cudaFreeAsync")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the runtime in a host function, the statement that it stands in, and the block that holds that."""

    function: Function
    name: str
    node: Node
    arguments: tuple[Node, ...]
    statement: Node

    @property
    def line(self) -> int:
        """On which it begins."""
        return self.function.line(self.node)

    def text(self, index: int) -> str:
        """Of an argument, "" where there is none."""
        return self.function.text(self.arguments[index]) if index < len(self.arguments) else ""


@dataclass(frozen=True, slots=True)
class Host:
    """A file's host code: its calls of the runtime and its launches, in order of the text; pitched: calls of `PITCHED`,
    which are none of the others."""

    parsed: ParsedFile
    calls: tuple[Call, ...]
    launches: tuple[Launch, ...]
    pitched: tuple[Call, ...] = ()


def host_of(parsed: ParsedFile) -> Host:
    """Return the calls and launches of a file."""
    calls: list[Call] = []
    pitched: list[Call] = []
    for function in host_functions(parsed):
        for node in function.nodes:
            name = function.callee(node)
            statement = statement_of(function, node) if name in SIZED or name in FREES or name in PITCHED else None
            if statement is not None:
                calls_of_kind = pitched if name in PITCHED else calls
                calls_of_kind.append(Call(function, name, node, tuple(arguments_of(node)), statement))
    return Host(parsed, tuple(calls), tuple(launches_of(parsed)), tuple(pitched))


def statement_of(function: Function, node: Node) -> Node | None:
    """Return the statement of a block that a node stands in."""
    current: Node | None = node
    while current is not None and current != function.body:
        parent = current.parent
        if parent is not None and parent.type == "compound_statement" and is_statement(current):
            return current
        current = parent
    return None


DIRECTIONS = ("cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice")
MAX_NAMES = 6
_NAME = re.compile(r"[A-Za-z_]\w*")


def end_changes(host: Host, call: Call, arrays: Collection[str]) -> Iterator[Change]:
    """Yield other arrays to copy to or from, of those that the function copies on the same side; both exchanged."""
    function = call.function
    for index, detail in ((0, "target"), (1, "source")):
        if index >= len(call.arguments):
            continue
        own = call.text(index)
        near = 0.2 if names_in_text(own) & set(arrays) else 0.8
        for text in other_ends(host, call, index):
            better = -0.4 if names_in_text(text) & set(arrays) else 0.0
            edit = function.replaced(call.arguments[index], text)
            yield Change("host", call.line, (edit,), 1.2 + near + better, "ends", detail)
    if len(call.arguments) > 1 and "Symbol" not in call.name:
        edits = (function.replaced(call.arguments[0], call.text(1)), function.replaced(call.arguments[1], call.text(0)))
        # In the device alone nothing tells which of the two is meant.
        cost = 1.0 if "DeviceToDevice" in call.text(3) else 2.2
        yield Change("host", call.line, edits, cost, "ends", "ends")


def other_ends(host: Host, call: Call, index: int) -> list[str]:
    """Return other arrays on that side of a copy, or allocated there; other device variables for a symbol."""
    own = call.text(index)
    is_symbol = "Symbol" in call.name and index == ("From" in call.name)
    texts: dict[str, None] = {}
    if is_symbol:
        for other in host.calls:
            if "Symbol" in other.name:
                texts[other.text(int("From" in other.name))] = None
        text = host.parsed.source.text
        for declared in re.findall(
            r"\b__(?:constant|device)__\s+(?:[\w:]+\s+){1,4}(\w+\s*[\[;=,][^;{}()]{0,400})", text
        ):
            # `A[N][N], B[N][N], C[N][N]` in one declaration.
            texts |= dict.fromkeys(re.findall(r"(?:^|,)\s*(\w+)", declared))
    else:
        side = side_of(call, index)
        for other in host.calls:
            if other.function.item != call.function.item and not _are_shared(call, other):
                continue
            if other.name in ALLOCATES and side == "device":
                texts |= dict.fromkeys(sorted(names_in_text(other.text(0)) - {"void"}))
            elif other.name in ("cudaMemcpy", "cudaMemcpyAsync"):
                for place in (0, 1):
                    if side_of(other, place) == side:
                        texts[other.text(place)] = None
        if side == "host":
            allocated = {name for c in host.calls if c.name in ALLOCATES for name in names_in_text(c.text(0))}
            texts |= dict.fromkeys(name for name in _host_arrays(call) if name not in allocated)
    types = _pointed_to(call.function, ("pointer_declarator", "array_declarator"))

    def held(text: str) -> set[str]:
        return {types[name] for name in names_in_text(text) if name in types}

    wanted = held(own)
    return [text for text in texts if text and text != own and (not wanted or held(text) <= wanted)][:MAX_NAMES]


def _are_shared(call: Call, other: Call) -> bool:
    """Whether a call of another function is given nothing that is declared in either of the two: members of an object,
    or what stands outside of functions."""
    declared = {v.name for f in (call.function, other.function) for v in f.variables if v.start > 0}
    return not names_in_text(other.text(0) + " " + other.text(1)) & declared


def side_of(call: Call, index: int) -> str:
    """Return on which side an end of a copy is, by its direction: "host", "device" or "symbol"."""
    kind = call.text(3)
    if "ToSymbol" in call.name:
        return "host" if index == 1 else "symbol"
    if "FromSymbol" in call.name:
        return "host" if index == 0 else "symbol"
    if "HostToDevice" in kind:
        return "host" if index == 1 else "device"
    if "DeviceToHost" in kind:
        return "host" if index == 0 else "device"
    return "device"


def _host_arrays(call: Call) -> Iterator[str]:
    """Arrays of the host that the function declares: as the call has its own, by name or by `.data()`."""
    function = call.function
    shapes = [call.text(i) for i in (0, 1) if side_of(call, i) == "host"]
    suffix = next((s[s.index(".") :] for s in shapes if re.fullmatch(r"\w+\.\w+\(\)", s)), "")
    for node in function.nodes:
        kind = node.child_by_field_name("type") if node.type == "declaration" else None
        if kind is None or node.start_byte > call.node.start_byte:
            continue
        is_vector = "vector" in function.text(kind)
        for declarator in node.children_by_field_name("declarator"):
            text = function.text(declarator)
            name = declared_name(declarator)
            if name and is_vector and suffix:
                yield f"{name}{suffix}"
            elif name and not suffix and ("*" in text.partition("=")[0] or "[" in text.partition("=")[0]):
                yield name


def pitch_changes(host: Host) -> Iterator[Change]:
    """Yield the pitch that an array was allocated with for a copy that names another one."""
    pitches = {
        (call.function.item.start, call.text(0).rpartition("&")[2].strip()): call.text(1).lstrip("& ")
        for call in host.pitched
        if call.name == "cudaMallocPitch"
    }
    for call in host.pitched:
        for place in PITCHED[call.name] if call.name != "cudaMallocPitch" else ():
            own = pitches.get((call.function.item.start, call.text(place)), "")
            if own and len(call.arguments) > place + 1 and call.text(place + 1) != own:
                edit = call.function.replaced(call.arguments[place + 1], own)
                yield Change("host", call.line, (edit,), 0.3, "pitch", "pitch")


def extent_changes(host: Host) -> Iterator[Change]:
    """Yield the width and the height of other copies of rows for one that names others."""
    copies = [call for call in host.pitched if call.name != "cudaMallocPitch" and len(call.arguments) > EXTENT_AT + 1]
    for call in copies:
        for place in (EXTENT_AT, EXTENT_AT + 1):
            for text in dict.fromkeys(
                other.text(place) for other in copies if other.function.item == call.function.item
            ):
                if text != call.text(place):
                    is_in_bytes = "sizeof" in text and "sizeof" not in call.text(place)
                    edit = call.function.replaced(call.arguments[place], text)
                    detail = "bytes" if is_in_bytes else "size"
                    yield Change("host", call.line, (edit,), 0.8 if is_in_bytes else 1.2, "size", detail)


def field_changes(parsed: ParsedFile) -> Iterator[Change]:
    """Yield two values exchanged in a struct's initialiser, `Params p = {d_out, d_in, rows, cols}`."""
    for function in host_functions(parsed):
        for node in function.nodes:
            value = value_of(node)
            declarator, kind = node.child_by_field_name("declarator"), node.parent
            if value is None or value.type != "initializer_list" or declarator is None or kind is None:
                continue
            type_node = kind.child_by_field_name("type")
            name = function.text(type_node).removeprefix("struct ").strip() if type_node is not None else ""
            values, fields = listed(value), fields_of(parsed, name)
            if declarator.type != "identifier" or not 1 < len(values) == len(fields):
                continue
            values = [(n.child_by_field_name("value") or n) if n.type == "initializer_pair" else n for n in values]
            for (one, field), (other, second) in combinations(zip(values, fields, strict=True), 2):
                is_alike = (field.dtype, field.is_pointer) == (second.dtype, second.is_pointer)
                if is_alike and function.text(one) != function.text(other):
                    edits = function.exchanged(one, other)
                    yield Change("launch", function.line(one), edits, 1.3, "fields", "fields")


def direction_changes(call: Call) -> Iterator[Change]:
    for node in call.arguments[3:4]:
        own = call.function.text(node)
        if own in DIRECTIONS:
            for other in DIRECTIONS:
                if other != own:
                    yield call.function.replacement("host", node, other, 1.3, "direction", "direction", line=call.line)


def directions_at(host: Host, lines: Collection[int]) -> Iterator[Change]:
    """Another direction for all copies in these lines at once: who takes the device's memory for the host's does so
    everywhere."""
    copies = [call for call in host.calls if call.name in COPIES and call.line in lines]
    named = [(call, node) for call in copies for node in call.arguments[3:4] if call.function.text(node) in DIRECTIONS]
    for other in DIRECTIONS:
        edits = tuple(call.function.replaced(node, other) for call, node in named if call.function.text(node) != other)
        if len(edits) > 1:
            last = max(call.line for call, _node in named)
            yield Change("host", copies[0].line, edits, 0.2, "direction", "directions", last)


def names_in_text(text: str) -> set[str]:
    return set(_NAME.findall(text))


MAX_SIZES = 6
MAX_FACTORS = 4
_SIZE_OF = re.compile(r"sizeof\s*\(\s*((?:unsigned\s+)?\w+)\s*\)")
_NUMBERS = ("float", "double", "int", "unsigned", "unsigned int", "char", "unsigned char", "short", "bool")


TOO_SMALL = 1.4
"""What a larger size costs less of an array that something leaves."""


def size_changes(host: Host, call: Call, arrays: Collection[str] = ()) -> Iterator[Change]:
    """Yield other sizes for one call, sooner where it allocates one of these arrays."""
    is_left = call.name in ALLOCATES and names_in_text(call.text(0)) & set(arrays) and not _is_agreed(host, call)
    for change in _sizes(host, call):
        yield replace(change, cost=change.cost - TOO_SMALL) if is_left else change


def _is_agreed(host: Host, call: Call) -> bool:
    """Whether of the calls that go on with an array some name the size that it is allocated with, and some another."""
    array = names_in_text(call.text(0)) - {"void"}
    others = [c for c in host.calls if c.function.item == call.function.item and c.name in {**COPIES, **SETS}]
    ends = [(c, {c.text(0).strip(), *([c.text(1).strip()] if c.name in COPIES else [])}) for c in others]
    named = [c.text(SIZED[c.name]) == call.text(SIZED[call.name]) for c, own in ends if array & own]
    return any(named) and not all(named)


def _sizes(host: Host, call: Call) -> Iterator[Change]:
    function, index = call.function, SIZED.get(call.name, -1)
    if not 0 <= index < len(call.arguments):
        return
    node = call.arguments[index]
    own, source = function.text(node), _definition(function, node)
    yield from _of_bytes(call, node, source)
    if "Symbol" in call.name:
        symbol = call.text(int("From" in call.name))
        if symbol and own != f"sizeof({symbol})":
            yield function.replacement("host", node, f"sizeof({symbol})", 1.1, "size", "size", line=call.line)
    same = [c for c in host.calls if c.function.item == function.item and SIZED.get(c.name, 99) < len(c.arguments)]
    sizes = dict.fromkeys(c.text(SIZED[c.name]) for c in same)
    for other in [s for s in sizes if s and s != own][:MAX_SIZES]:
        yield function.replacement("host", node, other, 1.7, "size", "size", line=call.line)
    yield from numbers_changed(function, source)
    for part in named_in(source):
        # `total * sizeof(float)`, where `total` lacks a factor.
        number = _definition(function, part)
        if number.id != part.id:
            # What several sizes are computed by is likelier wrong than each of them.
            uses = sum(function.text(part) in function.parsed.words(c.arguments[SIZED[c.name]]) for c in same)
            shift = -0.6 if uses > 1 else 0.1
            yield from (replace(change, cost=change.cost + shift) for change in numbers_changed(function, number))
    yield from _by_callers(host, call, source)


def _of_bytes(call: Call, node: Node, source: Node) -> Iterator[Change]:
    """`* sizeof(float)` where there is none, and the elements' own size for that of a pointer to them."""
    function, widths = call.function, _widths(call)
    own, text = function.text(node), function.text(source)
    if "sizeof" not in text and not any("sizeof" in function.text(_definition(function, n)) for n in named_in(source)):
        for width in widths:
            # Of a name other calls may ask for elements.
            edit = function.replaced(node, f"{_bracketed(own)} * sizeof({width})")
            yield Change("host", call.line, (edit,), 1.2, "size", "bytes")
            if source.id != node.id:
                edit = function.replaced(source, f"{_bracketed(text)} * sizeof({width})")
                yield Change("host", function.line(source), (edit,), 1.4, "size", "bytes")
    types = _pointed_to(function)
    for part in (n for n in descendants(source) if n.type == "sizeof_expression"):
        # The size of another type than that of the elements.
        kind = function.text(part).removeprefix("sizeof").strip(" ()")
        is_type = kind.endswith("*") or kind in _NUMBERS
        for width in [w for w in widths if w != kind] if is_type and widths else ():
            text = f"sizeof({width})"
            yield function.replacement("host", part, text, 0.7, "size", "size", line=function.line(part))
    for part in descendants(source):
        inner = _SIZE_OF.fullmatch(function.text(part)) if part.type == "sizeof_expression" else None
        if inner is not None and inner[1] in types:
            yield function.replacement("host", part, f"sizeof({types[inner[1]]})", 0.9, "size", "size")


def numbers_changed(function: Function, size: Node) -> Iterator[Change]:
    """Yield a part that is one too many, `bytes / 2`, `n - 1`; a factor that is lost, `rows * sizeof(float)`."""
    for whole, left in shortened(size):
        yield function.replacement("host", whole, function.text(left), 1.8, "size", "size", line=function.line(size))
    place = _before_width(function, size)
    if place is None:
        return
    words = function.names_in(size)
    parameters = {declared_name(inner) for inner, _type in parameter_nodes(function.item)}
    numbers = [v for v in function.known_at(size).values() if v.role in ("size", "index") and v.start > 0]
    # What the function is given to be a size first; then what may stand there twice, `n * n`.
    numbers.sort(key=lambda v: (v.name in words, v.name not in parameters))
    for number_of, variable in enumerate(numbers[:MAX_FACTORS]):
        edit = function.inserted(place.end_byte, f" * {variable.name}")
        yield Change("host", function.line(size), (edit,), 2.0 + 0.1 * number_of, "size", "size")
    # A constant that is a side of what has two of them: `N_MAX * N_MAX`; the smallest first, the rest is room for more.
    constants = {
        node.end_byte: (value, function.text(node))
        for node in descendants(size)
        if node.type == "identifier" and (value := _constant(function, node)) > 1
    }
    for number_of, (end, (_value, name)) in enumerate(sorted(constants.items(), key=lambda row: row[1])[:MAX_FACTORS]):
        edit = function.inserted(end, f" * {name}")
        yield Change("host", function.line(size), (edit,), 2.0 + 0.1 * number_of, "size", "size")


def _constant(function: Function, node: Node) -> int:
    """Return the number that a name stands for in the whole file; 0 of any other."""
    name = function.text(node)
    value = function.parsed.constants.evaluate(name) if name not in function.known_at(node) else None
    return value if isinstance(value, int) else 0


def _before_width(function: Function, size: Node) -> Node | None:
    """What a factor is put behind: what is multiplied by `sizeof`, else the size itself; None of what is no product."""
    left, right = sides_of(size)
    if operator_of(size) == "*" and left is not None and right is not None:
        return left if "sizeof" in function.text(right) and "sizeof" not in function.text(left) else right
    return size if size.type in ("identifier", "sizeof_expression", "field_expression") else None


def _by_callers(host: Host, call: Call, size: Node) -> Iterator[Change]:
    function = call.function
    names = [declared_name(inner) for inner, _type in parameter_nodes(function.item)]
    used = [place for place, name in enumerate(names) if name in function.parsed.words(size)]
    if not used:
        return
    counts_bytes = "sizeof" in function.text(size)
    own_name = function.item.name.rpartition("::")[2]
    for caller in host_functions(host.parsed):
        for node in caller.nodes:
            if re.split(r"\.|->|::", caller.callee(node))[-1].strip() != own_name:
                continue
            arguments = arguments_of(node)
            for place in used:
                if place < len(arguments):
                    yield from _of_argument(caller, call, arguments[place], counts_bytes=counts_bytes)


def _of_argument(caller: Function, call: Call, argument: Node, *, counts_bytes: bool) -> Iterator[Change]:
    source = _definition(caller, argument)
    text = caller.text(argument)
    line = caller.line(argument)
    if not counts_bytes and "sizeof" not in caller.text(source):
        for width in _widths(call, caller):
            edit = caller.replaced(argument, f"{_bracketed(text)} * sizeof({width})")
            yield Change("host", line, (edit,), 1.3, "size", "bytes")
    if counts_bytes and operator_of(argument) == "*" and "sizeof" in text:
        for side, other in (("left", "right"), ("right", "left")):
            part, rest = argument.child_by_field_name(side), argument.child_by_field_name(other)
            if part is not None and rest is not None and part.type == "sizeof_expression":
                yield caller.replacement("host", argument, caller.text(rest), 1.3, "size", "size", line=line)
    yield from numbers_changed(caller, source)


def _bracketed(text: str) -> str:
    """Return a text that may be multiplied as it is."""
    return text if re.fullmatch(r"(?:\w|->|[.()* ])*|\([^()]*\)", text) else f"({text})"


def _definition(function: Function, node: Node) -> Node:
    """Return the expression that a named size is computed by, be it in a function of its own; any other size itself."""
    if node.type == "call_expression" and not arguments_of(node):
        return _returned(function, node) or node
    if node.type != "identifier":
        return node
    name = function.text(node)
    for other in function.nodes:
        if other.start_byte >= node.start_byte:
            break
        value = value_of(other)
        if value is not None and declared_name(other) == name and value.type != "number_literal":
            return value
    return node


def _returned(function: Function, call: Node) -> Node | None:
    """Return the expression that a function of the program's own gives back, where it does nothing else."""
    name = re.split(r"\.|->|::", function.callee(call))[-1].strip()
    for other in host_functions(function.parsed):
        statements = [n for n in other.body.named_children if is_statement(n)]
        if other.item.name.rpartition("::")[2] == name and [n.type for n in statements] == ["return_statement"]:
            return next((n for n in statements[0].named_children if n.type != "comment"), None)
    return None


def _widths(call: Call, *callers: Function) -> list[str]:
    """Return types that the elements may have: what the call's arrays point to, then types that other sizes name."""
    types = _pointed_to(call.function)
    ends = [t for place in (0, 1) for word in re.findall(r"\w+", call.text(place)) if (t := types.get(word))]
    bodies = " ".join(f.text(f.body) for f in (call.function, *callers))
    named = [name for name in _SIZE_OF.findall(bodies) if name in _NUMBERS]
    return (list(dict.fromkeys([*ends, *named])) or ["float"])[:2]


def _pointed_to(function: Function, shapes: Collection[str] = ("pointer_declarator",)) -> dict[str, str]:
    """The types of what the function's pointers point to, `void` left out, by the pointers' names; shapes: of what is
    declared, by the grammar's names."""
    pointed_types = {}
    rows = [(inner, type_node) for inner, type_node in parameter_nodes(function.item)]
    for node in function.nodes:
        type_node = node.child_by_field_name("type") if node.type == "declaration" else None
        if type_node is not None:
            rows += [(inner, type_node) for inner in node.children_by_field_name("declarator")]
    for inner, type_node in rows:
        declarator = inner.child_by_field_name("declarator") if inner.type == "init_declarator" else inner
        text = function.text(type_node)
        if declarator is not None and declarator.type in shapes and text != "void":
            pointed_types[declared_name(inner)] = text
    return pointed_types
