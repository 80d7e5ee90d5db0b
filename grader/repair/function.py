"""A function of a student's program as the search for changes sees it: tree, names, calls of the file's own macros and
functions; and a change of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader.repair.nodes import arguments_of, is_statement, named_in, operator_of, sides_of, value_of
from grader.submission.cpp import tree
from grader.submission.cpp.parse import parse
from grader.submission.lexical import Edit
from grader.submission.source import SourceText
from grader.submission.structs import fields_of

if TYPE_CHECKING:
    from tree_sitter import Node


Kind = Literal[
    "index",
    "comparison",
    "guard",
    "bound",
    "barrier",
    "padding",
    "array_size",
    "initial_value",
    "expression",
    "constant",
    "launch",
    "host",
    "loop",
]
"""What is wrong at the place; docs/result.md tells them apart."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file's text.

    line: where the fault is, in the file as it was handed in.  edits: in characters of that text.
    cost: how unlikely it is by itself, before anything is known of the run; the likeliest are about 1.
    group: what the ranking knows it by: its kind, or a finer class ("move_barrier", "axis", "size", …).
    detail: for words: "before" or "after" a line, "loop_end", "removed", or "".
    to_line: that a call which is moved belongs before or after; 0 of every other change.
    was, code: what one edit replaces, and the expression that words quote for it; "" where there is more to it.
    """

    kind: Kind
    line: int
    edits: tuple[Edit, ...]
    cost: float
    group: str
    detail: str = ""
    to_line: int = 0
    was: str = ""
    code: str = ""

    @property
    def key(self) -> tuple[tuple[int, int, str], ...]:
        """Equal for changes that make the same text, white space aside."""
        return tuple(sorted((edit.start, edit.end, "".join(edit.text.split())) for edit in self.edits))


def changed(text: str, change: Change) -> str:
    """Return the file's text with the change made."""
    for edit in sorted(change.edits, key=lambda e: (-e.start, -e.end)):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


Role = Literal["size", "index", "value", "array"]

BUILTINS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
BARRIER = "__syncthreads"
MAX_FUNCTIONS = 8
MAX_CONSTANTS = 8

_INTEGER = re.compile(
    r"(?:const|constexpr|static|volatile|\s)*(?:(?:unsigned|signed|short|long|int|char|size_t|u?int\d*(?:_t)?|ptrdiff_t"
    r"|uint|ushort|ulong)\b\s*)+"
)
_MEMBER = re.compile(r"[^\W\d]\w*(?:\.|->)[^\W\d]\w*")
_NUMBER = re.compile(r"(?:const|constexpr|static|volatile|\s)*(?:float|double|half|__half|T|auto|real|FLOAT)\s*")


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that a function may use between two bytes of the file; of a struct's member "shape.rows".

    role: "size" (an extent or what follows from it alone), "index", "value" (another number) or "array" (pointers too).
    start, end: bytes between which it may be used.  type: of an array's elements, as written.
    """

    name: str
    role: Role
    start: int
    end: int
    type: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """An element of an array that is read or written by index.

    start, end: in characters of the file.  words: of its indices.
    """

    array: str
    line: int
    start: int
    end: int
    words: frozenset[str]
    node: Node


@dataclass(frozen=True)
class Function:
    """A kernel, or a device function that it calls."""

    parsed: tree.ParsedFile
    item: tree.Item
    is_kernel: bool

    @cached_property
    def body(self) -> Node:
        """The braces and what is in them."""
        body = self.item.node.child_by_field_name("body")
        assert body is not None
        return body

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the body, in order of the text."""
        return tuple(tree.descendants(self.body))

    def text(self, node: Node) -> str:
        """Return a node's text."""
        return self.parsed.text(node)

    def callee(self, node: Node) -> str:
        """Return the name of what a call calls, without a template's arguments; "" for other nodes."""
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        return self.text(called).partition("<")[0].strip() if called is not None else ""

    def line(self, node: Node) -> int:
        """Return the line on which a node begins."""
        return int(node.start_point.row) + 1

    def at(self, byte: int) -> int:
        """Return the number of characters before a byte of the file."""
        return len(self.parsed.data[:byte].decode("utf-8", errors="replace"))

    def replaced(self, node: Node, text: str) -> Edit:
        """Return the edit that puts `text` in a node's place."""
        return Edit(self.at(node.start_byte), self.at(node.end_byte), text)

    def exchanged(self, one: Node, other: Node) -> tuple[Edit, Edit]:
        """Return the edits that put two nodes in each other's place."""
        return self.replaced(one, self.text(other)), self.replaced(other, self.text(one))

    def removed(self, node: Node) -> Edit:
        """Return the edit that removes a statement of a block, with the lines that it alone stands on."""
        text = self.parsed.source.text
        start, end = self.at(node.start_byte), self.at(node.end_byte)
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        rest = text[end : last if last >= 0 else len(text)].strip()
        if last >= 0 and not text[first:start].strip() and (not rest or rest.startswith("//")):
            return Edit(first, last + 1, "")
        return Edit(start, end, "")

    def replacement(
        self, kind: Kind, node: Node, text: str, cost: float, group: str, detail: str = "", *, line: int = 0
    ) -> Change:
        """Return the change that puts `text` in a node's place; line: 0 for the node's own."""
        was = self.text(node)
        # An operator, a number and the name of an array are told by what they stand in.
        outer = node.parent
        is_part = outer is not None and (
            not node.is_named
            or (node.type == "number_literal" and operator_of(outer))
            or (outer.type == "subscript_expression" and outer.child_by_field_name("argument") == node)
        )
        code = self.text(outer) if is_part and outer is not None else was
        place, edits = line or self.line(node), (self.replaced(node, text),)
        return Change(kind, place, edits, cost, group, detail, was=was, code=" ".join(code.split()))

    def insertion(
        self, kind: Kind, byte: int, text: str, cost: float, group: str, detail: str = "", *, line: int
    ) -> Change:
        """Return the change that puts `text` before a byte."""
        return Change(kind, line, (self.inserted(byte, text),), cost, group, detail)

    def inserted(self, byte: int, text: str) -> Edit:
        """Return the edit that puts `text` before a byte."""
        place = self.at(byte)
        return Edit(place, place, text)

    def indent(self, node: Node) -> str:
        """Return the white space at the start of the line on which a node begins."""
        line = self.parsed.source.text.split("\n")[node.start_point.row]
        return line[: len(line) - len(line.lstrip())]

    @cached_property
    def statements(self) -> tuple[Node, ...]:
        """All statements, the outer ones first."""
        return tuple(n for n in self.nodes if is_statement(n))

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """All elements of arrays that are read or written by index, in order of the text."""
        accesses = []
        for node in self.nodes:
            parent = node.parent
            is_inner = parent is not None and parent.child_by_field_name("argument") == node
            if node.type != "subscript_expression" or (parent is not None and is_inner and parent.type == node.type):
                continue
            base: Node | None = node
            words: set[str] = set()
            while base is not None and base.type == "subscript_expression":
                indices = base.child_by_field_name("indices")
                words |= self.parsed.words(indices) if indices is not None else set()
                base = base.child_by_field_name("argument")
            if base is not None:
                place = (self.at(node.start_byte), self.at(node.end_byte))
                accesses.append(Access(self.text(base), self.line(node), *place, frozenset(words), node))
        return tuple(accesses)

    @cached_property
    def barriers(self) -> tuple[Node, ...]:
        """Statements that are barriers of the whole block."""
        return tuple(n for n in self.statements if self.text(n).replace(" ", "").startswith(BARRIER + "("))

    @cached_property
    def uses_shared(self) -> bool:
        """Whether the function declares shared memory."""
        return any(n.type == "declaration" and "__shared__" in tree.qualifiers_of(n) for n in self.nodes)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Local variables, parameters, and those constants of the file that any of its kernels mentions."""
        return (*self._constants(), *self._parameters(), *self._locals())

    def known_at(self, node: Node) -> dict[str, Variable]:
        """Return the variables that may be used where a node stands, by name."""
        return {v.name: v for v in self.variables if v.start <= node.start_byte < v.end}

    def _constants(self) -> Iterator[Variable]:
        parsed = self.parsed
        words = {word for k in parsed.functions.values() if k.is_device for word in parsed.words(k.node)}
        names = [n for n, macro in parsed.constants.macros.items() if macro.parameters is None]
        names += list(parsed.constants.values)
        count = 0
        for name in names:
            if name in words and count < MAX_CONSTANTS and isinstance(parsed.constants.evaluate(name), int):
                count += 1
                yield Variable(name, "size", 0, len(parsed.data))
        for name in self.item.template_parameters:
            if name and not re.fullmatch(r"T\d?|[A-Z]?[a-z]*[Tt]ype", name):
                yield Variable(name, "size", 0, len(parsed.data))

    def _parameters(self) -> Iterator[Variable]:
        start, end = self.body.start_byte, self.body.end_byte
        for inner, type_node in parameter_nodes(self.item):
            name, written = tree.declared_name(inner), self.text(type_node)
            fields = fields_of(self.parsed, written.removeprefix("struct ").strip())
            sign = "->" if inner.type == "pointer_declarator" else "."
            if fields and (sign == "." or f"{name}->" in self.text(self.body)):
                for field in fields:
                    of_number: Role = "size" if _INTEGER.fullmatch(field.type_text) else "value"
                    role = "array" if field.is_pointer else of_number
                    yield Variable(f"{name}{sign}{field.name}", role, start, end, field.type_text.rstrip("* "))
                continue
            of_value: Role = "size" if _INTEGER.fullmatch(written) else "value"
            is_pointer = inner.type != "identifier" or "*" in self.parsed.constants.types.get(written, "")
            yield Variable(name, "array" if is_pointer else of_value, start, end, written)

    def _locals(self) -> Iterator[Variable]:
        sizes = {v.name for v in (*self._constants(), *self._parameters()) if v.role == "size"}
        for node in self.nodes:
            type_node = node.child_by_field_name("type") if node.type == "declaration" else None
            if type_node is None:
                continue
            written = self.text(type_node)
            scope = _scope(node)
            for declarator in node.children_by_field_name("declarator"):
                name = tree.declared_name(declarator)
                value = value_of(declarator)
                shape = declarator.child_by_field_name("declarator") if value is not None else declarator
                start, end = declarator.end_byte, scope.end_byte
                if shape is not None and shape.type in ("array_declarator", "pointer_declarator"):
                    yield Variable(name, "array", start, end, written)
                elif _INTEGER.fullmatch(written) or (written == "auto" and value is not None):
                    words = self.parsed.words(value) if value is not None else frozenset[str]()
                    is_index = node.parent is not None and node.parent.type in tree.LOOPS
                    is_size = bool(words & {"blockDim", "gridDim"}) or "const" in self.text(node).split()
                    is_size = is_size or (
                        value is not None and self._is_of(sizes, value) and name not in self._assigned
                    )
                    is_index = is_index or bool(words & {"threadIdx", "blockIdx"}) or not is_size
                    sizes |= set() if is_index else {name}
                    yield Variable(name, "index" if is_index else "size", start, end, written)
                elif _NUMBER.fullmatch(written):
                    yield Variable(name, "value", start, end, written)

    def _is_of(self, names: Collection[str], value: Node) -> bool:
        used = {self.text(node) for node in named_in(value)}
        return bool(used) and used <= set(names)

    @cached_property
    def _assigned(self) -> frozenset[str]:
        nodes = [n.child_by_field_name("left") for n in self.nodes if n.type == "assignment_expression"]
        nodes += [n.child_by_field_name("argument") for n in self.nodes if n.type == "update_expression"]
        return frozenset(self.text(node) for node in nodes if node is not None)

    def names_in(self, node: Node) -> frozenset[str]:
        """Return every word in a node's text, and every member as it is written."""
        return self.parsed.words(node) | frozenset(_MEMBER.findall(self.text(node)))


def parameter_nodes(item: tree.Item) -> Iterator[tuple[Node, Node]]:
    """Yield declarator and type of each named parameter of a function."""
    declarator = tree.function_declarator(item.node.child_by_field_name("declarator"))
    parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
    for node in parameters.named_children if parameters is not None else ():
        inner, type_node = node.child_by_field_name("declarator"), node.child_by_field_name("type")
        if inner is not None and type_node is not None:
            yield inner, type_node


def functions_of(parsed: tree.ParsedFile, kernel: str) -> list[Function]:
    """Return a kernel, then the device functions of the file that it calls; [] where it is not there."""
    item = parsed.functions.get(kernel)
    if item is None or item.node.child_by_field_name("body") is None:
        return []
    by_name = {kernel: item}
    pending = [item]
    while pending and len(by_name) < MAX_FUNCTIONS:
        current = pending.pop(0)
        words = parsed.words(current.node)
        for name, other in parsed.functions.items():
            is_called = name in words and name not in by_name and other.is_device and not other.is_kernel
            if is_called and other.node.child_by_field_name("body") is not None:
                by_name[name] = other
                pending.append(other)
    return [Function(parsed, other, other.is_kernel) for other in by_name.values()]


def host_functions(parsed: tree.ParsedFile) -> Iterator[Function]:
    """Yield the host functions of a file, those of its classes too, in order of the text."""
    for item in parsed.items:
        if item.kind == "type" and item.active:
            yield from (Function(parsed, method, is_kernel=False) for method in _methods(item))
        is_of_host = item.kind == "function" and item.active and not item.is_device
        if is_of_host and item.node.child_by_field_name("body") is not None:
            yield Function(parsed, item, is_kernel=False)


def _methods(item: tree.Item) -> Iterator[tree.Item]:
    """Yield the functions of the host that a class defines within its braces."""
    for node in tree.descendants(item.node):
        if node.type == "function_definition" and node.child_by_field_name("body") is not None:
            qualifiers = tree.qualifiers_of(node)
            name = tree.declared_name(tree.function_declarator(node.child_by_field_name("declarator")) or node)
            if not qualifiers & {"__device__", "__global__"}:
                yield replace(item, kind="function", names=(name,), node=node, start=node.start_byte, end=node.end_byte)


_VECTOR = re.compile(r"(?:float|double|u?int|u?char|u?short|u?long)([1-4])")


def zero_of(kind: str) -> str:
    """Return what is written for nothing of a type: `make_float4(0, 0, 0, 0)` of a vector, 0 of any other."""
    vector = _VECTOR.fullmatch(kind)
    return f"make_{kind}({', '.join('0' * int(vector[1]))})" if vector is not None else "0"


_FRACTION = re.compile(r"\d\.|\.\d|\b(?:float|double)\b")


def is_rounded_down(function: Function, node: Node) -> bool:
    """Whether an expression divides one whole number by another, with nothing added that would round up."""
    left = node.child_by_field_name("left")
    if operator_of(node) != "/" or left is None:
        return False
    return "+" not in function.text(left) and _FRACTION.search(function.text(node)) is None


def _scope(node: Node) -> Node:
    current = node.parent
    while current is not None and current.parent is not None:
        if current.type in ("compound_statement", "for_statement"):
            return current
        current = current.parent
    return node


_BRACKETED = re.compile(r"(?<!\w)\(\s*(\w+)\s*\)")
_INDEX = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class Element:
    """The element that `AT(M, r, c)` stands for: its array, row and column, as the call has them."""

    array: str
    row: Node
    column: Node


def is_own_call(function: Function, call: Node) -> bool:
    """Whether a call is one of a macro or a device function of the file, or of a method."""
    called = call.child_by_field_name("function")
    if called is not None and called.type == "field_expression":
        return True
    name = function.callee(call)
    macro, item = function.parsed.constants.macros.get(name), function.parsed.functions.get(name)
    is_device_function = item is not None and item.is_device and not item.is_kernel
    return is_device_function or (macro is not None and macro.parameters is not None)


def stands_in_index(function: Function, call: Node, argument: Node) -> bool:
    """Whether what is called uses an argument in an index."""
    place = next((n for n, node in enumerate(arguments_of(call)) if node == argument), -1)
    return bool(_indexed(function.parsed, function.callee(call)).get(place, False))


def element_of(function: Function, call: Node) -> Element | None:
    """Return the element that a macro's call stands for; None where its text does not tell row and column."""
    name, arguments = function.callee(call), arguments_of(call)
    macro = function.parsed.constants.macros.get(name)
    if macro is None or macro.parameters is None or len(macro.parameters) != len(arguments):
        return None
    places = tree.remembered(function.parsed, ("element", name), lambda: _places(macro.body, macro.parameters or ()))
    if places is None:
        return None
    array, row, column = places
    argument_of = dict(zip(macro.parameters, arguments, strict=True))
    return Element(
        function.text(argument_of[array]) if array in argument_of else array, argument_of[row], argument_of[column]
    )


def _indexed(parsed: tree.ParsedFile, name: str) -> Mapping[int, bool]:
    """By place of a parameter of a macro or a function: whether it stands in an index there."""

    def made() -> dict[int, bool]:
        macro, item = parsed.constants.macros.get(name), parsed.functions.get(name)
        if macro is not None and macro.parameters is not None:
            words = {word for index in _INDEX.findall(macro.body) for word in tree.WORD.findall(index)}
            return {place: parameter in words for place, parameter in enumerate(macro.parameters)}
        if item is None or item.node.child_by_field_name("body") is None:
            return {}
        inner = Function(parsed, item, is_kernel=False)
        words = {word for access in inner.accesses for word in access.words}
        names = [tree.declared_name(inner) for inner, _type in parameter_nodes(item)]
        return {place: name in words for place, name in enumerate(names)}

    return tree.remembered(parsed, ("indexed", name), made)


def _places(body: str, parameters: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Names of array, row and column in a macro's body `M[(r) * n + (c)]` or `M[r][c]`, the last two its parameters."""
    # A name in brackets before a sign may be read as a type.
    plain = _BRACKETED.sub(r"\1", body)
    text = f"void f() {{ {plain}; }}"
    parsed = parse(SourceText(Path("macro.cu"), text, "utf-8"))
    subscripts = [n for n in tree.descendants(parsed.root) if n.type == "subscript_expression"]
    if not subscripts:
        return None
    base, indices = subscripts[0].child_by_field_name("argument"), subscripts[0].child_by_field_name("indices")
    if base is None or indices is None or not indices.named_children:
        return None
    first = indices.named_children[0]
    sides: tuple[Node | None, ...]
    if base.type == "subscript_expression":
        inner, rows = base.child_by_field_name("argument"), base.child_by_field_name("indices")
        sides = (inner, rows.named_children[0] if rows is not None and rows.named_children else None, first)
    else:
        left, right = sides_of(first)
        product = next((s for s in (left, right) if s is not None and s.type == "binary_expression"), None)
        sides = (
            base,
            product.child_by_field_name("left") if product is not None else None,
            right if product == left else left,
        )
    texts = ["".join(c for c in parsed.text(side) if c not in "() ") if side is not None else "" for side in sides]
    array, row, column = texts
    return (array, row, column) if array and {row, column} <= set(parameters) and row != column else None
