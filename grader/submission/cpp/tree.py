"""A parsed CUDA file: its nodes, and what stands at file level."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from grader.submission import lexical
from grader.submission.cpp.constants import Constants, Macro
from grader.submission.cpp.syntax import Number
from grader.submission.lexical import spend, spend_on
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node


# A word before the name is the type of another variable of that name.
_ASSIGNED = (
    rb"(?:[;{}()=?:\n]|\belse|\bdo)[ \t]*+%b\s*+(?:(?:[-+*/%%&|^]|<<|>>)?=(?!=)|\+\+|--)"
    rb"|(?:>>|&|\+\+|--)\s*+%b\b"
)
TYPE_NODES = frozenset(["struct_specifier", "class_specifier", "union_specifier", "enum_specifier"])


def node_text(node: Node) -> str:
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
            if declarator.type in ("type_identifier", "pointer_declarator"):
                stars = "*" * node_text(declarator).count("*")
                const = "const " if stars and any(node_text(part) == "const" for part in node.children) else ""
                constants.types[declared_name(declarator)] = f"{const}{node_text(type_node)}{stars}"
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
    names = []
    for declarator in node.children_by_field_name("declarator"):
        value, inner = declarator.child_by_field_name("value"), declarator.child_by_field_name("declarator")
        if value is not None and inner is not None and node_text(value).strip("{} \n") in {"0", "-1", "0u", "0U"}:
            names.append(node_text(inner))
    return names


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
        return tuple(item for item in self.functions.values() if item.is_kernel)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[Item, ...]]:
        """What stands at file level, by each name that it declares."""
        by_name: dict[str, list[Item]] = {}
        for item in self.items:
            for name in item.names:
                by_name.setdefault(name, []).append(item)
        return {name: tuple(items) for name, items in by_name.items()}

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
    value: T = parsed.memory[key]  # type: ignore[assignment]  # a key has one `make`
    return value


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


# Branches and namespaces in each other; no program of a course has more than a handful.
MAX_NESTING = 100
# Steps of reading that one thing at file level takes, those in namespaces and branches included.
_STEPS_PER_CHILD = 10
# What NVRTC defines itself.
_PREDEFINED = {"__CUDACC__": "1", "__NVCC__": "1", "__CUDA_ARCH__": "750", "__cplusplus": "201703"}


def _either(first: bool | None, second: bool | None) -> bool | None:
    """Logical or where None is "not known"."""
    if first or second:
        return True
    return None if first is None or second is None else False


class TemplateHead(NamedTuple):
    """Names of a template's parameters, and the text of their default arguments, "" for one without."""

    parameters: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()


NO_TEMPLATE = TemplateHead()


@dataclass(frozen=True, slots=True)
class Scope:
    """Where in a file something stands: in a branch of the preprocessor that is taken, in a namespace ("a::b::")."""

    active: bool = True
    namespace: str = ""


class FileLevel:
    """Goes through everything at file level, into namespaces, `extern "C"` and the preprocessor's branches."""

    def __init__(self, data: bytes, defined: Iterable[tuple[str, str]] = ()) -> None:
        self.data = data
        self.items: list[Item] = []
        self.depth = 0
        # Functions within a function: those within them are found by the same walk.
        self.is_within = False
        self.constants = Constants(macros={name: Macro(body) for name, body in (*_PREDEFINED.items(), *defined)})

    def container(self, node: Node, scope: Scope) -> None:
        for child in node.children:
            self.child(child, scope)

    def child(self, node: Node, scope: Scope) -> None:
        lexical.spend(_STEPS_PER_CHILD)
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.add("other", (), node, node, scope)
        else:
            self.readable_child(node, scope)
        self.depth -= 1

    def readable_child(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind in {"preproc_if", "preproc_ifdef"}:
            self.conditional(node, scope)
        elif kind == "linkage_specification":
            body = node.child_by_field_name("body")
            if body is not None and body.type == "declaration_list":
                self.container(body, scope)
            elif body is not None:
                self.declaration(body, node, scope)
        elif kind == "namespace_definition":
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            if body is not None:
                inner = f"{scope.namespace}{node_text(name)}::" if name is not None else scope.namespace
                self.container(body, replace(scope, namespace=inner))
        elif kind == "template_declaration":
            self.template(node, scope)
        elif kind == "ERROR":
            # A piece that the grammar cannot place: what is readable in it still counts.
            start = len(self.items)
            self.container(node, scope)
            if len(self.items) == start:
                self.add("other", (), node, node, scope)
        elif node.is_named:
            self.declaration(node, node, scope)

    def conditional(self, node: Node, scope: Scope) -> None:
        """An `#if` with its branches."""
        branch: Node | None = node
        taken: bool | None = False
        while branch is not None:
            branch, taken = self.branch(branch, scope, taken)

    def branch(self, node: Node, scope: Scope, taken: bool | None) -> tuple[Node | None, bool | None]:
        """One branch; `taken`: whether an earlier one was, None when that is not known.  The next, and that again."""
        holds = self.condition(node)
        here = replace(scope, active=scope.active and taken is not True and holds is not False)
        parts = {node.child_by_field_name(name) for name in ("name", "condition", "alternative")}
        for child in node.children:
            if child not in parts:
                self.child(child, here)
        return node.child_by_field_name("alternative"), _either(taken, holds)

    def condition(self, node: Node) -> bool | None:
        """Whether a branch's condition holds, None when that is not known."""
        if node.type == "preproc_else":
            return True
        name = node.child_by_field_name("name")
        if name is not None:
            defined = node_text(name) in self.constants.macros
            return defined if node.children[0].type in {"#ifdef", "#elifdef"} else not defined
        condition = node.child_by_field_name("condition")
        text = node_text(condition) if condition is not None else ""
        text = re.sub(
            r"defined\s*\(?\s*(\w+)\s*\)?", lambda m: "1" if m.group(1) in self.constants.macros else "0", text
        )
        value = self.constants.evaluate(text)
        return None if value is None else bool(value)

    def template(self, node: Node, scope: Scope) -> None:
        parameters = node.child_by_field_name("parameters")
        listed = [p for p in parameters.named_children if p.type != "comment"] if parameters is not None else []
        head = TemplateHead(tuple(_template_name(p) for p in listed), tuple(_template_default(p) for p in listed))
        for inner in node.named_children:
            if inner.type in {"function_definition", "declaration", "alias_declaration"} or inner.type in TYPE_NODES:
                self.declaration(inner, node, scope, head)
                return
        self.add("other", (), node, node, scope)

    def declaration(self, node: Node, whole: Node, scope: Scope, template: TemplateHead = NO_TEMPLATE) -> None:
        kind, names = self.classify(node)
        self.add(kind, names, node, whole, scope, template)
        if scope.active:
            self.learn(kind, node)

    def classify(self, node: Node) -> tuple[str, tuple[str, ...]]:
        kind = node.type
        declarators = node.children_by_field_name("declarator")
        if kind == "function_definition" and declarators and function_declarator(declarators[0]) is not None:
            return "function", (declared_name(declarators[0]),)
        if kind in {"declaration", "type_definition", "alias_declaration"} or kind in TYPE_NODES:
            names = [declared_name(d) for d in declarators]
            type_node = node if kind in TYPE_NODES else node.child_by_field_name("type")
            own = (
                type_node.child_by_field_name("name")
                if type_node is not None and type_node.type in TYPE_NODES
                else None
            )
            if kind == "alias_declaration":
                own = node.child_by_field_name("name")
            if own is not None:
                names.append(node_text(own))
            names += [node_text(e.child_by_field_name("name") or e) for e in enumerators(type_node)]
            if kind != "declaration":
                return "type", tuple(names)
            is_prototype = bool(declarators) and all(function_declarator(d) is not None for d in declarators)
            return "prototype" if is_prototype and not _is_object(node) else "variable", tuple(names)
        simple = {
            "using_declaration": "using",
            "namespace_alias_definition": "using",
            "preproc_include": "include",
            "preproc_def": "macro",
            "preproc_function_def": "macro",
            "template_instantiation": "instantiation",
        }
        name = node.child_by_field_name("name")
        return simple.get(kind, "other"), (node_text(name),) if kind.startswith("preproc_") and name is not None else ()

    def add(
        self,
        kind: str,
        names: tuple[str, ...],
        node: Node,
        whole: Node,
        scope: Scope,
        template: TemplateHead = NO_TEMPLATE,
    ) -> None:
        self.items.append(
            Item(
                kind,
                names,
                node,
                whole.start_byte,
                whole.end_byte,
                scope.active,
                scope.namespace,
                template.parameters,
                qualifiers_of(node),
                template.defaults,
            )
        )
        # An unclosed brace makes the next kernels part of a host function's body.
        if kind == "function" and node.has_error and not self.is_within:
            body = node.child_by_field_name("body")
            self.is_within = True
            for inner in descendants(body) if body is not None else ():
                if inner.type == "function_definition" and qualifiers_of(inner) & {"__global__", "__device__"}:
                    self.declaration(inner, inner, scope)
            self.is_within = False

    def learn(self, kind: str, node: Node) -> None:
        """Keep what `node` says of constants and types."""
        if kind == "macro":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            parameters = node.child_by_field_name("parameters")
            if name is not None:
                names = tuple(node_text(p) for p in parameters.named_children) if parameters is not None else None
                # As it was written: what is read has a `;` for a body that is not there.
                written = self.data[value.start_byte : value.end_byte] if value is not None else b""
                body = re.sub(r"\\\n", " ", written.decode("utf-8", errors="replace")).strip()
                self.constants.macros[node_text(name)] = Macro(body, names, node.start_point.row + 1)
        elif kind in {"variable", "type"}:
            learn_constants(self.constants, node)
            for unset in unset_variables(node):
                if is_assigned(self.data, unset):
                    self.constants.values.pop(unset, None)


def _template_name(node: Node) -> str:
    name = declared_name(node.child_by_field_name("declarator"))
    if name:
        return name
    inner = [c for c in node.named_children if c.type in {"type_identifier", "identifier"}]
    return node_text(inner[-1]) if inner else ""


def _template_default(node: Node) -> str:
    value = node.child_by_field_name("default_value") or node.child_by_field_name("default_type")
    return node_text(value) if value is not None else ""


def _is_object(node: Node) -> bool:
    """`dim3 block(a, b);` reads like a prototype; a type known to be an object's says it is none."""
    type_node = node.child_by_field_name("type")
    return type_node is not None and node_text(type_node) in {"dim3", "cudaEvent_t", "cudaError_t"}
