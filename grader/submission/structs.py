"""Structs handed to a kernel, `struct Matrix { int width, height; float *elements; };`, taken apart field by field.

The kernel gets a parameter for every field, and puts the struct together as its first act: an edit of the device code
within a line. What was seen of a launch, and what its text hands over, is taken apart likewise.
"""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import msgspec

from grader.submission import lexical
from grader.submission.cpp.constants import FORMATS, SIZES_OF_TYPES
from grader.submission.cpp.parse import arguments_in, blank, characters
from grader.submission.cpp.tree import Item, ParsedFile, declared_name, descendants, function_declarator
from grader.submission.kernels.kernel import kernels_in, pointer_uses
from grader.submission.kernels.records import Kernel, KernelParameter, LaunchSite, ObservedRuns, SeenArgument, SeenRun
from grader.submission.lexical import Edit, without_comments

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_FIELDS = 8


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct: `type_text` is "float *" or "int", `dtype` what it is or points to."""

    name: str
    type_text: str
    dtype: str
    is_pointer: bool


def with_struct_parameters(
    parsed: ParsedFile, item: Item, kernel: Kernel, template_values: Mapping[str, str]
) -> tuple[Kernel, tuple[Edit, ...]]:
    """The kernel with a parameter for each field of the structs that it takes, and the edits that make it so.

    Only structs of plain numbers and pointers to numbers, and functors, which have no fields: the kernel makes one
    itself.  With any other struct the kernel stays as it is.
    template_values: arguments of a template, of which a functor's type may be one.
    """
    body = item.node.child_by_field_name("body")
    declarator = function_declarator(item.node.child_by_field_name("declarator"))
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    nodes = [n for n in listed.named_children if n.type == "parameter_declaration"] if listed is not None else []
    if body is None or len(nodes) != len(kernel.parameters):
        return kernel, ()
    parameters: list[KernelParameter] = []
    texts: list[str] = []
    declarations = ""
    for node, parameter in zip(nodes, kernel.parameters, strict=True):
        type_node = node.child_by_field_name("type")
        name = parsed.text(type_node).removeprefix("struct ").strip() if type_node is not None else ""
        fields = () if parameter.is_pointer or parameter.dtype else fields_of(parsed, name)
        if not (fields or parameter.is_pointer or parameter.dtype) and "&" not in parameter.type_text:
            plain = template_values.get(name, name).rpartition("::")[2]
            if _is_functor(parsed, plain):
                declarations += f" {name} {parameter.name}{{}};"
                continue
        if not fields or "&" in parameter.type_text:
            parameters.append(parameter)
            texts.append(parsed.text(node))
            continue
        parameters += _parameters(parsed, body, parameter.name, fields)
        texts += [f"{field.type_text} {_flat(parameter.name, field)}" for field in fields]
        given = " ".join(f"{parameter.name}.{f.name} = {_flat(parameter.name, f)};" for f in fields)
        declarations += f" {_declared(parsed, name, parameter.name)} {given}"
    if not declarations:
        return kernel, ()
    assert listed is not None
    head = Edit(*characters(parsed, listed.start_byte + 1, listed.end_byte - 1), ", ".join(texts))
    start = Edit(*characters(parsed, body.start_byte + 1, body.start_byte + 1), declarations)
    # A prototype would now declare another function of the name.
    prototypes = [i for i in parsed.by_name.get(item.name, ()) if i.kind == "prototype" and i.active]
    blanked = [blank(parsed, i.start, i.end) for i in prototypes]
    return replace(kernel, parameters=tuple(parameters)), (head, start, *blanked)


def with_fields_seen(parsed: ParsedFile, kernel: Kernel, handed: Sequence[SeenArgument]) -> tuple[SeenArgument, ...]:
    """The arguments of a launch with the fields of structs of plain numbers as arguments of their own.

    Of a struct that holds arrays too what it holds, where no other struct has another one of that name.
    kernel: as it is before its structs are taken apart.
    """
    types = {p.name: p.type_text for p in kernel.parameters if not p.is_pointer and p.dtype is None}
    arguments: list[SeenArgument] = []
    beside: dict[str, list[SeenArgument]] = {}
    for argument in handed:
        fields = fields_of(parsed, plain_type(types[argument.name])) if argument.raw and argument.name in types else ()
        given = _fields_seen(argument, fields)
        if not any(f.is_pointer for f in fields):
            arguments += given if fields else [argument]
            continue
        arguments.append(argument)
        for field in given:
            beside.setdefault(field.name, []).append(field)
    own = {argument.name for argument in arguments}
    alone = (n[0] for name, n in beside.items() if name not in own and len({(x.value, x.buffer) for x in n}) == 1)
    return (*arguments, *alone)


def _fields_seen(argument: SeenArgument, fields: Sequence[Field]) -> list[SeenArgument]:
    """Return a struct's numbers and known pointers, each named like the parameter that it becomes."""
    dtypes = ["uint64" if field.is_pointer else field.dtype for field in fields]
    numbers = values_of(dtypes, argument.raw) if fields else []
    inside = dict(argument.inside)
    is_only = sum(field.is_pointer for field in fields) == 1
    given = []
    for index, (field, number) in enumerate(zip(fields, numbers, strict=bool(numbers))):
        if not field.is_pointer:
            given.append(SeenArgument(field.name, field.type_text, number))
            continue
        layout = "<" + "".join(f"{_aligned(dtypes, n)}{FORMATS[dtype]}" for n, dtype in enumerate(dtypes[: index + 1]))
        pointer = inside.get(struct.calcsize(layout) - SIZES_OF_TYPES["uint64"])
        if pointer is not None:
            const = " const*" if "const" in field.type_text.split() else "*"
            name = argument.name if is_only else field.name
            given.append(msgspec.structs.replace(pointer, name=name, type_text=f"{field.dtype}{const}"))
    return given


def values_of(dtypes: Sequence[str], content: bytes) -> list[int | float]:
    """The numbers of these types that lie behind each other in a struct; none where it is not made so."""
    layout = "<" + "".join(f"{_aligned(dtypes, index)}{FORMATS[dtype]}" for index, dtype in enumerate(dtypes))
    size = struct.calcsize(layout)
    # What is behind the last field fills the struct up to the largest alignment.
    return list(struct.unpack_from(layout, content)) if 0 <= len(content) - size < 8 else []


def _aligned(dtypes: Sequence[str], index: int) -> str:
    """Bytes that are left out before a field, as a format."""
    place = 0
    for before in dtypes[:index]:
        size = SIZES_OF_TYPES[before]
        place = -(-place // size) * size + size
    return "x" * (-place % SIZES_OF_TYPES[dtypes[index]])


def is_handle(parsed: ParsedFile, parameter: KernelParameter) -> bool:
    """Whether a parameter points to structs that have the arrays' addresses in them: what lies there is no element."""
    return (
        parameter.is_pointer
        and parameter.dtype is None
        and any(f.is_pointer for f in fields_of(parsed, _pointed(parameter)))
    )


def _pointed(parameter: KernelParameter) -> str:
    return plain_type(parameter.type_text)


def plain_type(type_text: str) -> str:
    """A type without what stands around its name."""
    return re.sub(r"\b(?:const|struct|volatile)\b|[*&]|\b__restrict__\b", " ", type_text).strip()


def with_struct_arrays(parsed: ParsedFile, kernel: Kernel) -> Kernel:
    """The kernel with its arrays of structs, `struct Matrix { float v[4][4]; };`, taken for the numbers in them."""
    parameters = []
    for parameter in kernel.parameters:
        if parameter.is_pointer and parameter.dtype is None and parameter.type_text.count("*") == 1:
            dtype, span = _numbers_in(parsed, _pointed(parameter))
            parameter = replace(parameter, dtype=dtype, span=span) if dtype else parameter
        parameters.append(parameter)
    return replace(kernel, parameters=tuple(parameters))


def _numbers_in(parsed: ParsedFile, name: str) -> tuple[str, int]:
    """The type of the numbers that a struct is made of, and how many; "" where they are of several or none."""
    dtypes: set[str | None] = set()
    count = 0
    file = next((file for file in (parsed, *parsed.headers) if _body_in(file, name) is not None), parsed)
    body = _body_in(file, name)
    for node in body.named_children if body is not None else ():
        type_node = node.child_by_field_name("type")
        if node.type != "field_declaration" or type_node is None:
            continue
        for declarator in node.children_by_field_name("declarator"):
            inner: Node | None = declarator
            extents = []
            while inner is not None and inner.type == "array_declarator":
                size = inner.child_by_field_name("size")
                extents.append(parsed.constants.integer(file.text(size)) if size is not None else None)
                inner = inner.child_by_field_name("declarator")
            if inner is None or inner.type not in {"field_identifier", "function_declarator"}:
                return "", 1
            if inner.type == "field_identifier":
                dtypes.add(parsed.constants.dtype(file.text(type_node)))
                count += prod(extent or 0 for extent in extents)
    dtype = next(iter(dtypes)) if len(dtypes) == 1 else None
    if body is None or dtype is None or _is_padded(parsed, file, body, count * SIZES_OF_TYPES[dtype]):
        return "", 1
    return dtype, count


def _is_padded(parsed: ParsedFile, file: ParsedFile, body: Node, size_bytes: int) -> bool:
    """Whether the alignment that a struct is given, `__align__(16)` or `alignas(16)`, may leave a gap behind it."""
    head = file.text(body.parent).split("{")[0] if body.parent is not None else ""
    aligned = re.search(r"\b(?:alignas|__(?:builtin_)?align__|aligned)\s*+\(\s*+(\w+)", head)
    alignment = parsed.constants.integer(aligned[1]) if aligned is not None else 1
    return not alignment or size_bytes % alignment != 0


def _is_functor(parsed: ParsedFile, name: str) -> bool:
    """Whether a struct has nothing in it but functions, and needs nothing to be made."""
    file = next((file for file in (parsed, *parsed.headers) if _body_in(file, name) is not None), parsed)
    body = _body_in(file, name)
    if body is None:
        return False
    has_calls = any("operator()" in file.text(node) for node in body.named_children)
    kinds = {"function_definition", "template_declaration", "access_specifier", "comment", "alias_declaration"}
    makes = re.search(rf"(?<!~)\b{re.escape(name)}\s*\(", file.text(body))
    return has_calls and makes is None and all(node.type in kinds for node in body.named_children)


def _declared(parsed: ParsedFile, name: str, variable: str) -> str:
    """A variable of the struct's; one that has constructors is its memory, taken as it is."""
    file = next((file for file in (parsed, *parsed.headers) if _body_in(file, name) is not None), parsed)
    body = _body_in(file, name)
    if body is None or not re.search(rf"(?<!~)\b{re.escape(name)}\s*\(", file.text(body)):
        return f"{name} {variable};"
    raw = f"{variable}__bytes"
    return (
        f"alignas({name}) unsigned char {raw}[sizeof({name})]; {name} &{variable} = *reinterpret_cast<{name} *>({raw});"
    )


def fields_of(parsed: ParsedFile, name: str) -> Sequence[Field]:
    """The fields of the struct `name`: plain numbers and pointers to such; () for any other type."""
    for file in (parsed, *parsed.headers):
        body = _body_in(file, name)
        if body is not None:
            return _fields(file, body)
    return ()


def _body_in(file: ParsedFile, name: str) -> Node | None:
    for item in file.by_name.get(name, ()) if name else ():
        if item.active and item.kind in {"type", "variable"}:
            return next((n for n in descendants(item.node) if n.type == "field_declaration_list"), None)
    return None


def _fields(parsed: ParsedFile, body: Node) -> Sequence[Field]:
    fields: list[Field] = []
    is_public = body.parent is None or body.parent.type != "class_specifier"
    for node in body.named_children:
        type_node = node.child_by_field_name("type")
        if node.type == "access_specifier":
            is_public = "public" in parsed.text(node)
        if node.type != "field_declaration" or type_node is None or _is_method(node):
            continue
        if not is_public:
            # What nobody else can set.
            return ()
        type_text = parsed.text(type_node)
        dtype = parsed.constants.dtype(type_text)
        for declarator in node.children_by_field_name("declarator"):
            is_pointer = declarator.type == "pointer_declarator"
            if dtype is None or (not is_pointer and declarator.type != "field_identifier"):
                return ()
            fields.append(Field(declared_name(declarator), type_text + " *" * is_pointer, dtype, is_pointer))
    return fields if len(fields) <= MAX_FIELDS else ()


def _is_method(node: Node) -> bool:
    """Whether a declaration within a struct is a function's: a method, a constructor, an operator."""
    return any(n.type == "function_declarator" for n in descendants(node)) or any(
        c.type == "storage_class_specifier" for c in node.children
    )


def _parameters(parsed: ParsedFile, body: Node, owner: str, fields: Sequence[Field]) -> list[KernelParameter]:
    pointers = {f"{owner}.{field.name}" for field in fields if field.is_pointer}
    reads, writes = pointer_uses(parsed, body, pointers)
    parameters = []
    for field in fields:
        text = f"{owner}.{field.name}"
        if field.is_pointer:
            # The one array of a matrix goes by the matrix's name.
            name = owner if len(pointers) == 1 else field.name
            is_const = "const" in field.type_text.split()
            parameters.append(
                KernelParameter(
                    name,
                    field.type_text,
                    is_pointer=True,
                    is_const=is_const,
                    dtype=field.dtype,
                    is_read=text in reads,
                    is_written=text in writes,
                )
            )
        else:
            parameters.append(
                KernelParameter(
                    field.name, field.type_text, is_pointer=False, is_const=False, dtype=field.dtype, owner=owner
                )
            )
    return parameters


def _flat(owner: str, field: Field) -> str:
    return f"{owner}__{field.name}"


MAX_TEXT = 2000
"""Characters of an initialiser."""
_Given = tuple[dict[str, str], int]
"""What each field gets, as the text has it, and the line in which that begins."""


@dataclass(frozen=True, slots=True)
class Flat:
    """Kernels and launches as if each field of a struct were a parameter by itself.

    places: for the launches of a kernel in a line the variable that is the struct, and where that gets its fields.
    """

    kernels: tuple[Kernel, ...]
    sites: tuple[LaunchSite, ...]
    observed: ObservedRuns
    places: Mapping[tuple[str, int], tuple[str, int]] = dataclasses.field(default_factory=dict)


def flat(files: Sequence[ParsedFile], sites: Sequence[LaunchSite], observed: ObservedRuns) -> Flat:
    """What `files` and their programs' runs tell, with the structs taken apart that the grader can take apart."""
    kernels: list[Kernel] = []
    taken: dict[str, tuple[ParsedFile, Kernel]] = {}
    for parsed in files:
        for kernel in kernels_in(parsed):
            whole = with_struct_parameters(
                parsed, parsed.functions[kernel.name], with_struct_arrays(parsed, kernel), {}
            )[0]
            kernels.append(whole)
            if whole.parameters != kernel.parameters and any(_type_of(p.type_text, parsed) for p in kernel.parameters):
                taken.setdefault(kernel.name, (parsed, kernel))
    if not taken:
        return Flat(tuple(kernels), tuple(sites), observed)
    places: dict[tuple[str, int], tuple[str, int]] = {}
    hosts = {parsed.file: _Host(without_comments(parsed.source.text)) for parsed in files}
    flat_sites = [
        _flat_site(s, hosts[s.file], *taken[s.kernel], places) if s.kernel in taken and s.file in hosts else s
        for s in sites
    ]

    def of_run(run: SeenRun) -> SeenRun:
        launches = (
            msgspec.structs.replace(x, arguments=with_fields_seen(*taken[x.kernel], x.arguments))
            if x.kernel in taken
            else x
            for x in run.launches
        )
        return replace(run, launches=tuple(launches))

    return Flat(
        tuple(kernels), tuple(flat_sites), replace(observed, runs=tuple(of_run(run) for run in observed.runs)), places
    )


def _type_of(type_text: str, parsed: ParsedFile) -> str:
    """Return the struct type of a parameter; "" for any other type."""
    name = plain_type(type_text)
    return name if "*" not in type_text and "&" not in type_text and fields_of(parsed, name) else ""


@dataclass(frozen=True, slots=True)
class _Host:
    """A file's text without its comments; by struct and variable where the variable's fields are set, in order."""

    text: str
    settings: dict[tuple[str, str], list[tuple[int, Mapping[str, str]]]] = dataclasses.field(default_factory=dict)

    def set_before(self, line: int, struct: str, variable: str, fields: Sequence[str]) -> _Given | None:
        """What each field of a variable gets in the lines before one; None where not all of them are read."""
        if (struct, variable) not in self.settings:
            self.settings[struct, variable] = self._settings(struct, variable, fields)
        texts: dict[str, str] = {}
        first = 0
        lexical.spend(len(self.settings[struct, variable]))
        for at, values in self.settings[struct, variable]:
            if at >= line:
                break
            # A declaration begins anew.
            if not first or len(values) == len(fields):
                first = at
            texts |= values
        return (texts, first) if set(texts) == set(fields) else None

    def _settings(self, struct: str, variable: str, fields: Sequence[str]) -> list[tuple[int, Mapping[str, str]]]:
        """Return declarations with an initialiser, which set all fields, and assignments to single fields."""
        lexical.spend_on(len(self.text))
        pattern = (
            rf"\b{struct}\s++{variable}\s*+=?+\s*+(?:{struct}\s*+)?+\{{(?P<list>[^{{}}]{{0,{MAX_TEXT}}}+)\}}"
            rf"|\b{variable}\s*+\.\s*+(?P<field>\w++)\s*+=(?!=)\s*+(?P<value>[^;{{}}]{{1,200}}+);"
        )
        settings: list[tuple[int, Mapping[str, str]]] = []
        line, counted = 1, 0
        for match in re.finditer(pattern, self.text):
            line += self.text.count("\n", counted, match.start())
            counted = match.start()
            if match["field"] is None:
                settings.append((line, _listed(match["list"], fields) or {}))
            elif match["field"] in fields:
                settings.append((line, {match["field"]: match["value"].strip()}))
        return settings


def _flat_site(
    site: LaunchSite, host: _Host, parsed: ParsedFile, kernel: Kernel, places: dict[tuple[str, int], tuple[str, int]]
) -> LaunchSite:
    """Return a launch with a text for each field in the struct's place; unchanged where that cannot be read."""
    if len(site.arguments) != len(kernel.parameters):
        return site
    texts: list[str] = []
    for given, parameter in zip(site.arguments, kernel.parameters, strict=True):
        name = _type_of(parameter.type_text, parsed)
        if not name:
            texts.append(given)
            continue
        fields = [one.name for one in fields_of(parsed, name)]
        read = _given(host, name, given.strip(), fields, site.line)
        if read is None:
            return site
        values, line = read
        texts += [values[one] for one in fields]
        places[site.kernel, site.line] = (given.strip(), line)
    return replace(site, arguments=tuple(texts))


def _given(host: _Host, struct: str, argument: str, fields: Sequence[str], line: int) -> _Given | None:
    """Return what each field of a struct argument gets; None where not all fields can be read."""
    written = re.fullmatch(rf"(?:{struct}\s*+)?+\{{(?P<list>[^{{}}]{{0,{MAX_TEXT}}}+)\}}", argument)
    if written is not None:
        values = _listed(written["list"], fields)
        return (values, line) if values is not None else None
    return host.set_before(line, struct, argument, fields) if re.fullmatch(r"\w+", argument) else None


def _listed(text: str, fields: Sequence[str]) -> dict[str, str] | None:
    """Return an initialiser's values by field; None where their number differs."""
    values = [value for value in arguments_in(text, 0, len(text)) if value]
    if values and all(value.startswith(".") for value in values):
        named = [value[1:].partition("=") for value in values]
        by_field = {name.strip(): value.strip() for name, _sign, value in named}
        return by_field if set(by_field) == set(fields) else None
    return dict(zip(fields, values, strict=True)) if len(values) == len(fields) else None
