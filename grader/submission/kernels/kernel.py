"""What a kernel takes and does: parameters, which pointers it reads and writes, its shared arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from grader.submission.cpp import tree
from grader.submission.cpp.constants import SIZES_OF_TYPES, Constants, Lookup
from grader.submission.cpp.syntax import Expression
from grader.submission.kernels.records import Kernel, KernelParameter, SharedArray
from grader.submission.lexical import spend

if TYPE_CHECKING:
    from tree_sitter import Node


# `int i, sum;` and `BASE_TYPE sum;`, not `return sum;`; of pointers and arrays nothing is said.
_DECLARED = re.compile(
    r"(?<![\w.>])(?!(?:return|else|goto|case|delete|throw|typedef|using|extern|static|__shared__)\b)"
    r"(?:(?:unsigned|signed|long|short|register|volatile)\s+){0,3}[A-Za-z_]\w*\s+(?P<names>\w[^;(){}<>\[\]*&]{0,400});"
)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_MAX_VARIABLES = 200


def _unset_variables(body: str, line: int) -> Iterator[tuple[str, int]]:
    """Names with the lines where they are used first: `s += x`, `s++` or `s = s + x`, before `s` had a value.

    body: of a function that begins at `line`, without comments, its lines kept.
    """
    for name, end in list(_declared(body))[:_MAX_VARIABLES]:
        used = re.compile(rf"(?<![\w.>]){name}\b").search(body, end)
        if used is not None and _adds(body, name, used):
            yield name, line + body.count("\n", 0, used.start())


def _declared(body: str) -> Iterator[tuple[str, int]]:
    """Return the variables declared without a value, and where their declarations end."""
    for match in _DECLARED.finditer(body):
        if body[: match.start()].rstrip().endswith(("__shared__", "static", "extern")):
            # Another thread, or nobody, sets the value of these.
            continue
        for part in match["names"].split(","):
            name = _NAME.fullmatch(part)
            if name is not None:
                yield name[1], match.end()


def _adds(body: str, name: str, used: re.Match[str]) -> bool:
    """Whether what a variable holds goes into the value that it is given where it is mentioned."""
    before, after = body[: used.start()].rstrip(), body[used.end() : used.end() + 400].lstrip()
    if before.endswith(("++", "--")) or after.startswith(("++", "--")) or re.match(r"(?:[-+*/%&|^]|<<|>>)=", after):
        return True
    value = re.match(r"=(?!=)([^;]*);", after)
    return value is not None and re.search(rf"(?<![\w.>&]){name}\b(?!\s*=[^=])", value[1]) is not None


_POINTERS = {"pointer_declarator", "abstract_pointer_declarator", "array_declarator", "abstract_array_declarator"}
_REFERENCES = {"reference_declarator", "abstract_reference_declarator"}
# A comma or an error is what the tree has of code that only the compiler can read, or refuse.
_EFFECTS = {"assignment_expression", "update_expression", "call_expression", "comma_expression", "ERROR"}


def kernels_in(parsed: tree.ParsedFile) -> tuple[Kernel, ...]:
    return tree.remembered(parsed, "kernels", lambda: tuple(kernel_of(parsed, item) for item in parsed.kernels))


def kernel_of(parsed: tree.ParsedFile, item: tree.Item) -> Kernel:
    """The record of the kernel that `item` defines."""
    declarator = tree.function_declarator(item.node.child_by_field_name("declarator"))
    body = item.node.child_by_field_name("body")
    parameters = _parameters(parsed, declarator)
    if body is not None:
        reads, writes = pointer_uses(parsed, body, {p.name for p in parameters if p.is_pointer})
        parameters = tuple(_with_use(p, p.name in reads, p.name in writes) for p in parameters)
    line = item.node.start_point.row + 1
    return Kernel(
        name=item.name,
        file=parsed.file,
        line=line,
        end_line=item.node.end_point.row + 1,
        parameters=parameters,
        template_parameters=item.template_parameters,
        shared_arrays=_shared_arrays(parsed, body),
        is_empty=body is None or not any(node.type in _EFFECTS for node in tree.descendants(body)),
        unset=tuple(_unset_variables(tree.text_without_comments(parsed, item.node), line)),
    )


def with_headers(parsed: tree.ParsedFile, headers: Sequence[tree.ParsedFile]) -> tree.ParsedFile:
    """`parsed` with what its own headers define known too: tile sizes and types that stand in a `common.h`."""
    if not headers:
        return parsed
    merged = Constants()
    for constants in (*(header.constants for header in headers), parsed.constants):
        merged.macros.update(constants.macros)
        merged.values.update(constants.values)
        merged.types.update(constants.types)
    return replace(parsed, constants=merged, headers=tuple(headers))


def local_values(parsed: tree.ParsedFile, body: Node) -> Lookup:
    """The constants that a function's body declares."""
    return tree.remembered(parsed, ("locals", body.id), lambda: _local_values(parsed, body)).get


def _local_values(parsed: tree.ParsedFile, body: Node) -> dict[str, Expression]:
    local = Constants(macros=parsed.constants.macros, types=parsed.constants.types)
    for node in tree.descendants(body):
        if node.type == "declaration" and any(parsed.text(c) in {"const", "constexpr"} for c in node.children):
            tree.learn_constants(local, node)
    return local.values


def _with_use(parameter: KernelParameter, is_read: bool, is_written: bool) -> KernelParameter:
    return replace(parameter, is_read=is_read, is_written=is_written)


def _parameters(parsed: tree.ParsedFile, declarator: Node | None) -> tuple[KernelParameter, ...]:
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    parameters = []
    for node in listed.named_children if listed is not None else ():
        if node.type not in {"parameter_declaration", "optional_parameter_declaration"}:
            continue
        type_node = node.child_by_field_name("type")
        base = parsed.text(type_node) if type_node is not None else ""
        pointers = references = 0
        inner = node.child_by_field_name("declarator")
        name = tree.declared_name(inner)
        while inner is not None:
            pointers += inner.type in _POINTERS
            references += inner.type in _REFERENCES
            inner = inner.child_by_field_name("declarator")
        if base == "void" and not pointers and not name:
            continue
        is_const = any(c.type == "type_qualifier" and parsed.text(c) == "const" for c in node.children)
        meant = parsed.constants.types.get(base, "")
        if "*" in meant and "{" not in meant:
            # A `const` of the name itself is one of the pointer.
            base, _star, outer = meant.partition("*")
            pointers += 1 + outer.count("*")
            is_const = "const" in base.split()
            base = " ".join(word for word in base.split() if word != "const")
        plain = not references and (pointers <= 1 or _is_array_of_rows(node))
        parameters.append(
            KernelParameter(
                name=name,
                type_text=("const " if is_const else "") + base + " " + "*" * pointers + "&" * references,
                is_pointer=pointers > 0,
                is_const=is_const,
                dtype=parsed.constants.dtype(base) if plain else None,
                span=_span(parsed, node.child_by_field_name("declarator")) if plain else 1,
            )
        )
    return tuple(parameters)


def _is_array_of_rows(node: Node) -> bool:
    """`float a[][N]` and `float (*a)[N]` are one pointer to numbers, `float **a` is not."""
    return any(n.type == "array_declarator" for n in tree.descendants(node))


def _span(parsed: tree.ParsedFile, declarator: Node | None) -> int:
    """Numbers in a row of `float a[][N]` or `float (*a)[N]`: the product of all extents but a parameter's own first."""
    extents: list[int] = []
    is_pointer = False
    inner = declarator
    while inner is not None:
        if inner.type in {"array_declarator", "abstract_array_declarator"}:
            size = inner.child_by_field_name("size")
            extents.append(parsed.constants.integer(parsed.text(size)) or 0 if size is not None else 0)
        is_pointer |= inner.type in {"pointer_declarator", "abstract_pointer_declarator"}
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in inner.named_children if c.type.endswith("declarator")), None
        )
    # What stands nearest the name comes last here: of an array without a pointer it is the pointer.
    return prod(extents if is_pointer else extents[:-1])


def _shared_arrays(parsed: tree.ParsedFile, body: Node | None) -> tuple[SharedArray, ...]:
    if body is None:
        return ()
    arrays = _declared_shared(parsed, body, local_values(parsed, body))
    words = parsed.words(body)
    for item in tree.remembered(parsed, "shared", lambda: [i for i in parsed.items if "__shared__" in i.qualifiers]):
        if item.active and words & set(item.names):
            arrays += _declared_shared(parsed, item.node, parsed.constants.values.get)
    for name in sorted(words & parsed.functions.keys()):
        arrays += _shared_of_function(parsed, parsed.functions[name], body)
    return tuple(arrays)


def _shared_of_function(parsed: tree.ParsedFile, function: tree.Item, caller: Node) -> list[SharedArray]:
    """Shared arrays of a device function that kernels call; a template's as for the first call with its arguments."""
    inner = function.node.child_by_field_name("body")
    if inner is None or not function.is_device or function.is_kernel:
        return []
    given: tuple[str, ...] = ()
    if function.template_parameters:
        call = re.search(rf"\b{re.escape(function.name)}\s*<([^<>;{{}}]{{0,200}})>\s*\(", parsed.text(caller))
        given = tuple(part.strip() for part in call[1].split(",")) if call is not None else ()
    key = ("shared of", function.node.id, given)
    fixed = {
        name: value
        for name, text in zip(function.template_parameters, given, strict=False)
        if (value := parsed.constants.parse(text)) is not None
    }
    local = local_values(parsed, inner)
    return tree.remembered(
        parsed, key, lambda: _declared_shared(parsed, inner, lambda name: fixed.get(name) or local(name))
    )


def _declared_shared(parsed: tree.ParsedFile, node: Node, values: Lookup) -> list[SharedArray]:
    arrays = []
    for declaration, words in _shared_declarations(parsed, node):
        type_node = declaration.child_by_field_name("type")
        for declarator in declaration.children_by_field_name("declarator"):
            dims: list[int | None] = []
            for size in _sizes(declarator):
                extent = parsed.constants.integer(parsed.text(size), values) if size is not None else None
                # No array has such an extent: the compiler says so, unless it never sees it.
                dims.append(extent if extent is not None and extent > 0 else None)
            arrays.append(
                SharedArray(
                    name=tree.declared_name(declarator),
                    line=declarator.start_point.row + 1,
                    dtype=parsed.constants.dtype(parsed.text(type_node)) if type_node is not None else None,
                    dims=tuple(dims),
                    dynamic="extern" in words,
                    element_bytes=_bytes_of(parsed, parsed.text(type_node)) if type_node is not None else 0,
                )
            )
    return arrays


_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1-4])")


def _bytes_of(parsed: tree.ParsedFile, type_text: str) -> int:
    """The size of a number, or of CUDA's vectors of up to four; 0 of any other type."""
    vector = _VECTOR.fullmatch(type_text)
    sign, base, count = vector.groups() if vector is not None else ("", type_text, "1")
    text = ("unsigned " if sign else "") + base.replace("longlong", "long long")
    return SIZES_OF_TYPES.get(parsed.constants.dtype(text) or "", 0) * int(count)


def _shared_declarations(parsed: tree.ParsedFile, node: Node) -> Iterator[tuple[Node, set[str]]]:
    """Every declaration of shared memory below `node`, with what stands before its names."""
    for declaration in tree.descendants(node):
        if declaration.type == "declaration":
            words = {parsed.text(c) for c in declaration.children if not c.type.endswith("declarator")}
            if "__shared__" in words:
                yield declaration, words


def _sizes(declarator: Node) -> list[Node | None]:
    """What stands in each pair of brackets of an array's declarator, the first first; None for an empty one."""
    sizes = []
    current: Node | None = declarator
    while current is not None and current.type == "array_declarator":
        sizes.append(current.child_by_field_name("size"))
        current = current.child_by_field_name("declarator")
    return sizes[::-1]


def first_extents(parsed: tree.ParsedFile, node: Node) -> Iterator[str]:
    """The first size, as it is written, of each shared array below `node` that has one."""
    for declaration, _words in _shared_declarations(parsed, node):
        for declarator in declaration.children_by_field_name("declarator"):
            sizes = _sizes(declarator)
            if sizes and sizes[0] is not None:
                yield parsed.text(sizes[0])


def pointer_uses(parsed: tree.ParsedFile, body: Node, pointers: set[str]) -> tuple[set[str], set[str]]:
    """Which of `pointers` the body reads through and writes through, by way of pointers made from them too.

    A pointer handed to a device function of the same file is used as that uses it; one handed to any other function
    counts as both.
    """
    nodes = list(tree.descendants(body))
    origin = _origins(parsed, nodes, pointers)
    reads: set[str] = set()
    writes: set[str] = set()
    only_written: set[int] = set()
    for node in nodes:
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            operator = node.child_by_field_name("operator")
            name = _accessed(parsed, left)
            if name in origin and left is not None:
                writes.add(origin[name])
                if operator is not None and parsed.text(operator) == "=":
                    only_written.add(left.id)
        elif node.type == "update_expression":
            name = _accessed(parsed, node.child_by_field_name("argument"))
            if name in origin:
                writes.add(origin[name])
        elif node.type == "call_expression":
            called, handed = _handed(parsed, node)
            inner = _uses_of_function(parsed, called, len(handed))
            for place, name in enumerate(handed):
                if name in origin:
                    is_read, is_written = (place in of for of in inner) if inner is not None else (True, True)
                    writes |= {origin[name]} if is_written else set()
                    reads |= {origin[name]} if is_read and not called.startswith("atomic") else set()
    for node in nodes:
        name = _accessed(parsed, node) if node.id not in only_written else ""
        if name in origin:
            reads.add(origin[name])
    return reads, writes


def _uses_of_function(parsed: tree.ParsedFile, called: str, count: int) -> tuple[set[int], set[int]] | None:
    """Which of `count` arguments a device function of the file reads through and writes through; None where that is not
    known: of an overloaded one, one that gives an address back, and one that comes to call itself."""
    name = called.partition("<")[0].strip()
    items = [item for item in parsed.by_name.get(name, ()) if item.kind == "function" and item.active]
    item = items[0] if len(items) == 1 and items[0].is_device and not items[0].is_kernel else None
    body = item.node.child_by_field_name("body") if item is not None else None
    declarator = item.node.child_by_field_name("declarator") if item is not None else None
    if body is None or declarator is None or declarator.type != "function_declarator":
        return None
    names = [parameter.name for parameter in _parameters(parsed, declarator)]
    open_ones: set[int] = tree.remembered(parsed, "functions followed", set)
    if len(names) != count or body.id in open_ones:
        return None

    def followed() -> tuple[set[int], set[int]]:
        open_ones.add(body.id)
        reads, writes = pointer_uses(parsed, body, set(names))
        open_ones.discard(body.id)
        return {n for n, name in enumerate(names) if name in reads}, {
            n for n, name in enumerate(names) if name in writes
        }

    return tree.remembered(parsed, ("uses of", body.id), followed)


def _origins(parsed: tree.ParsedFile, nodes: Sequence[Node], pointers: set[str]) -> dict[str, str]:
    """Which of `pointers` each name that holds an address points into."""
    origin = {name: name for name in pointers}
    # `float *row = in + y * n;` makes another name for `in`; two rounds reach a name made from such a name.
    for _round in range(2):
        for node in nodes:
            target, value = _pointer_copy(parsed, node)
            if target and value is not None and target not in origin:
                base = _base(parsed, value)
                if base in origin:
                    origin[target] = origin[base]
    return origin


def _handed(parsed: tree.ParsedFile, call: Node) -> tuple[str, list[str]]:
    """What is called, and the pointer that each argument is, "" for none; a cast is handed nothing."""
    arguments = call.child_by_field_name("arguments")
    function = call.child_by_field_name("function")
    called = parsed.text(function) if function is not None else ""
    if "_cast" in called or arguments is None:
        return called, []
    given = [node for node in arguments.named_children if node.type != "comment"]
    return called, ["" if node.type == "subscript_expression" else _base(parsed, node) for node in given]


def _pointer_copy(parsed: tree.ParsedFile, node: Node) -> tuple[str, Node | None]:
    if node.type == "init_declarator":
        declarator = node.child_by_field_name("declarator")
        if declarator is not None and declarator.type in {"pointer_declarator", "identifier"}:
            return tree.declared_name(declarator), node.child_by_field_name("value")
    if node.type == "assignment_expression":
        left = node.child_by_field_name("left")
        if left is not None and left.type == "identifier":
            return parsed.text(left), node.child_by_field_name("right")
    return "", None


def _accessed(parsed: tree.ParsedFile, node: Node | None) -> str:
    """The pointer that `p[i]`, `p[i][j]` or `*(p + i)` goes through; "" for anything else."""
    inner = node
    while inner is not None and inner.type == "subscript_expression":
        spend(1)
        inner = inner.child_by_field_name("argument")
    if inner is not None and inner.type == "pointer_expression" and inner.children[0].type == "*":
        return _base(parsed, inner.child_by_field_name("argument"))
    # What a row of `p[i][j]` is taken from; a name alone is no access.
    return _base(parsed, inner) if inner is not node else ""


def _base(parsed: tree.ParsedFile, node: Node | None) -> str:
    """The pointer that an address is computed from: `p` in `(float *)(p + i)` and `&p[i]`."""
    while node is not None:
        spend(1)
        if node.type in {"identifier", "field_expression"}:
            return parsed.text(node)
        if node.type == "binary_expression":
            # In `i + p` the pointer comes second; the caller looks the name up, so the left one is tried first.
            node = node.child_by_field_name("left")
        elif node.type == "parenthesized_expression":
            node = next(iter(node.named_children), None)
        elif node.type == "cast_expression":
            node = node.child_by_field_name("value")
        elif node.type in {"pointer_expression", "subscript_expression"}:
            # `&p[i]`, and `p[i]` within it.
            node = node.child_by_field_name("argument")
        elif node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            function = node.child_by_field_name("function")
            if function is None or "_cast" not in parsed.text(function):
                return ""
            node = next(iter(arguments.named_children), None) if arguments is not None else None
        else:
            return ""
    return ""
