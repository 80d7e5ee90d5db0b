"""A parsed CUDA file: what stands at file level, and how to read the nodes of its tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from grader.submission.cpp.constants import Constants
from grader.submission.cpp.nodes import Number
from grader.submission.effort import spend, spend_on
from grader.submission.files.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node


# A word before the name is the type of another variable of that name.
_ASSIGNED = (
    rb"(?:[;{}()=?:\n]|\belse|\bdo)[ \t]*+%b\s*+(?:(?:[-+*/%%&|^]|<<|>>)?=(?!=)|\+\+|--)"
    rb"|(?:>>|&|\+\+|--)\s*+%b\b"
)
TYPE_NODES = frozenset(["struct_specifier", "class_specifier", "union_specifier", "enum_specifier"])


def node_text(node: Node) -> str:
    """The node's own text."""
    return (node.text or b"").decode("utf-8", errors="replace")


def learn_constants(constants: Constants, node: Node) -> None:
    """Add the values, enumerators and type names that a declaration gives."""
    type_node = node if node.type in TYPE_NODES else node.child_by_field_name("type")
    following: int | None = 0
    for enumerator in enumerators(type_node):
        name, value = enumerator.child_by_field_name("name"), enumerator.child_by_field_name("value")
        if value is not None:
            following = constants.integer(node_text(value))
        if name is not None and following is not None:
            constants.values[node_text(name)] = Number(following)
        following = None if following is None else following + 1
    if node.type == "type_definition" and type_node is not None:
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type == "type_identifier":
                constants.types[node_text(declarator)] = node_text(type_node)
    elif node.type == "alias_declaration":
        name = node.child_by_field_name("name")
        if name is not None and type_node is not None:
            constants.types[node_text(name)] = node_text(type_node)
    elif node.type == "declaration":
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            inner = declarator.child_by_field_name("declarator")
            if value is not None and inner is not None and inner.type == "identifier":
                text = node_text(value)
                expression = constants.parse(
                    text[1:-1] if value.type in {"argument_list", "initializer_list"} else text
                )
                if expression is not None:
                    constants.values[node_text(inner)] = expression


def unset_variables(node: Node) -> list[str]:
    """The variables of a declaration that begin with a number which is no size, 0 or -1, and may change."""
    if node.type != "declaration" or any(node_text(c) in {"const", "constexpr"} for c in node.named_children):
        return []
    found = []
    for declarator in node.children_by_field_name("declarator"):
        value, inner = declarator.child_by_field_name("value"), declarator.child_by_field_name("declarator")
        if value is not None and inner is not None and node_text(value).strip("{} \n") in {"0", "-1", "0u", "0U"}:
            found.append(node_text(inner))
    return found


def is_assigned(data: bytes, name: str) -> bool:
    """Whether a file gives a variable a value after its declaration: by `=`, `++` and the like, `>>`, its address."""
    spend_on(len(data))
    word = re.escape(name.encode())
    return re.search(_ASSIGNED % (word, word), data) is not None


def enumerators(node: Node | None) -> list[Node]:
    """The enumerators of an enumeration's body; none for any other type."""
    body = node.child_by_field_name("body") if node is not None and node.type == "enum_specifier" else None
    return [c for c in body.named_children if c.type == "enumerator"] if body is not None else []


T = TypeVar("T")

WORD = re.compile(r"[^\W\d]\w*")
LOOPS = frozenset(["for_statement", "while_statement", "do_statement"])
# Nodes that are counted at a time.
_BATCH = 64

_DECLARATORS = frozenset(
    ["pointer_declarator", "reference_declarator", "array_declarator", "init_declarator", "parenthesized_declarator"]
)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing at file level, its template head and `extern "C"` included.

    kind: "function", "prototype", "variable", "type", "using", "include", "macro", "instantiation" or "other".
    names: what it declares, e.g. both names of `struct A {…} a;`.
    node: the declaration itself; start, end: bytes of the whole.
    active: False in a branch that the preprocessor leaves out.
    template_defaults: text of each template parameter's default argument, "" for one without.
    """

    kind: str
    names: tuple[str, ...]
    node: Node
    start: int
    end: int
    active: bool = True
    namespace: str = ""
    template_parameters: tuple[str, ...] = ()
    qualifiers: frozenset[str] = frozenset()
    template_defaults: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0] if self.names else ""

    @property
    def is_kernel(self) -> bool:
        return "__global__" in self.qualifiers

    @property
    def is_device(self) -> bool:
        return bool(self.qualifiers & {"__global__", "__device__", "__constant__", "__managed__", "__shared__"})


@dataclass(frozen=True)
class ParsedFile:
    """A parsed file.

    data: the text as UTF-8, which the nodes' byte positions refer to.
    functions: every function with a body, by name; of several with one name, the first active one.
    headers: the submission's own headers whose definitions `constants` knows beside the file's own.
    """

    source: SourceText
    data: bytes
    root: Node
    items: tuple[Item, ...]
    constants: Constants
    functions: Mapping[str, Item] = field(default_factory=dict)
    headers: tuple[ParsedFile, ...] = ()

    @property
    def file(self) -> str:
        return self.source.file

    @cached_property
    def kernels(self) -> tuple[Item, ...]:
        """The functions that are kernels."""
        return tuple(item for item in self.functions.values() if item.is_kernel)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[Item, ...]]:
        """What stands at file level, by each name that it declares."""
        found: dict[str, list[Item]] = {}
        for item in self.items:
            for name in item.names:
                found.setdefault(name, []).append(item)
        return {name: tuple(items) for name, items in found.items()}

    @cached_property
    def memory(self) -> dict[object, object]:
        """What was found out about the file already, by whoever found it out (see `remembered`)."""
        return {}

    def text(self, node: Node) -> str:
        start, end = node.start_byte, node.end_byte
        spend_on(end - start)
        return self.data[start:end].decode("utf-8", errors="replace")

    def words(self, node: Node) -> frozenset[str]:
        """Every word in a node's text."""
        return remembered(self, ("words", node.id), lambda: frozenset(WORD.findall(self.text(node))))


def remembered(parsed: ParsedFile, key: object, make: Callable[[], T]) -> T:
    """What `make` gives, made once for a file and a key: reading goes over the same text many times."""
    if key not in parsed.memory:
        parsed.memory[key] = make()
    found: T = parsed.memory[key]  # type: ignore[assignment]  # a key has one `make`
    return found


def descendants(node: Node) -> Iterator[Node]:
    """`node` and everything below it, in order of the text."""
    stack = [node]
    count = 0
    while stack:
        current = stack.pop()
        count += 1
        if count % _BATCH == 0:
            spend(_BATCH)
        yield current
        stack.extend(reversed(current.children))
    spend(1 + count % _BATCH)


def declared_name(node: Node | None) -> str:
    """The name that a declarator declares, "" where it declares none."""
    while node is not None:
        if node.type in {"identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name"}:
            return node_text(node)
        if node.type in {"qualified_identifier", "template_function"}:
            node = node.child_by_field_name("name")
            continue
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None)
        node = inner
    return ""


def function_declarator(node: Node | None) -> Node | None:
    """The function that a declarator declares; None for a variable, a pointer to a function included."""
    while node is not None:
        if node.type == "function_declarator":
            inner = node.child_by_field_name("declarator")
            return None if inner is not None and inner.type == "parenthesized_declarator" else node
        if node.type not in _DECLARATORS:
            return None
        node = node.child_by_field_name("declarator") or next(
            (c for c in node.named_children if c.type.endswith("declarator")), None
        )
    return None


def qualifiers_of(node: Node) -> frozenset[str]:
    """`__global__`, `const`, `static`, … of a declaration."""
    words = {
        node_text(c) for c in node.children if c.type.startswith("__") or c.type.endswith(("qualifier", "specifier"))
    }
    return frozenset(word for word in words if " " not in word and "{" not in word)


def text_without_comments(parsed: ParsedFile, body: Node) -> str:
    """The text of `body`, blanks in place of comments, its lines kept."""
    data = bytearray(parsed.data[body.start_byte : body.end_byte])
    for node in descendants(body):
        if node.type == "comment":
            start, end = node.start_byte - body.start_byte, node.end_byte - body.start_byte
            data[start:end] = re.sub(rb"[^\n]", b" ", data[start:end])
    return data.decode("utf-8", errors="replace")
