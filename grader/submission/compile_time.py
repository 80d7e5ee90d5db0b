"""Sizes and arrays that a program fixes when it is compiled, made into what the grader can choose.

`#define N 1024`, `const int N = 1024;` and `enum { N = 1024 };` are given other values where they are defined;
`__device__ float A[N][N];`, which kernels without parameters work on, becomes a parameter of the kernel that hides it.
Both are edits of the device code within a line, so that line numbers stay true.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from grader.lab.records import Lab, Parameter
from grader.submission.cpp import tree
from grader.submission.cpp.parse import blank, characters
from grader.submission.kernels.kernel import pointer_uses
from grader.submission.kernels.records import Kernel, KernelParameter
from grader.submission.lexical import Edit, spend, spend_on

if TYPE_CHECKING:
    from tree_sitter import Node


_CHANGED = (
    re.compile(r"\b(\w++)[\s)]*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"),
    re.compile(r"(?:\+\+|--|&)\s*+(?:\w+\s*::\s*|\(\s*)*(\w++)"),
    # A reference is bound to it.
    re.compile(r"&\s*+\w++\s*+[=({]\s*+(?:\w+\s*::\s*|\(\s*)*(\w++)"),
)
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|&(?!&)")


def words_of_host(parsed: tree.ParsedFile) -> frozenset[str]:
    """Every word of functions that run on the host."""
    items = (i for i in parsed.items if i.active and not (i.is_kernel or i.is_device or i.kind == "variable"))
    return tree.remembered(
        parsed, "words of host", lambda: frozenset(word for item in items for word in parsed.words(item.node))
    )


def changed_by_device(parsed: tree.ParsedFile) -> frozenset[str]:
    """Names to which functions of the device give a value, or whose address they hand on: counters, no sizes."""
    return tree.remembered(parsed, "changed by device", lambda: frozenset(_find_changed_by_device(parsed)))


def _find_changed_by_device(parsed: tree.ParsedFile) -> Iterator[str]:
    changing = {name for name, macro in parsed.constants.macros.items() if _CHANGES.search(macro.body)}
    for item in parsed.items:
        if not item.active or not (item.is_kernel or item.is_device):
            continue
        text = parsed.text(item.node)
        spend_on(len(text))
        for pattern in _CHANGED:
            yield from (match[1] for match in pattern.finditer(text))
        for statement in re.split("[;{}]", text) if changing else ():
            words = tree.WORD.findall(statement)
            if not changing.isdisjoint(words):
                yield from words


MAX_WORDS = 4096
SET_BY_HOST = 0
"""Stands for the value of a constant that the host copies to the device: `__constant__ int n;`."""
MAX_ELEMENTS = 16
"""Elements of an array in constant memory that may be sizes: `__constant__ int dims[2];`."""
_STEPS = tuple(
    re.compile(
        rf"\bblockIdx\s*\.\s*{axis}\s*\*\s*(\w+)\s*\)?\s*\+\s*threadIdx\s*\.\s*{axis}\b"
        rf"|\bthreadIdx\s*\.\s*{axis}\s*\+\s*\(?\s*blockIdx\s*\.\s*{axis}\s*\*\s*(\w+)\b(?!\s*[*.])"
        rf"|\b(\w+)\s*\*\s*blockIdx\s*\.\s*{axis}\s*\)?\s*\+\s*threadIdx\s*\.\s*{axis}\b"
        rf"|\bthreadIdx\s*\.\s*{axis}\s*\+\s*\(?\s*(\w+)\s*\*\s*blockIdx\s*\.\s*{axis}\b(?!\s*[*.])"
    )
    for axis in "xy"
)
_OF_DEVICE = frozenset(["__constant__", "__device__", "__managed__"])
_PREFIX = re.compile(r"(?:c|d|g|dev|const|device|C|D|G|DEV|CONST|DEVICE)_(?=\w)|(?:[cdgk]|dev|const)(?=[A-Z])")


def mentioned(parsed: tree.ParsedFile, item: tree.Item) -> set[str]:
    """Every name that the kernel's text mentions, through macros, constants, arrays and the functions it calls."""
    return set(tree.remembered(parsed, ("mentioned", item.node.id), lambda: _mentioned(parsed, item, ())))


def _mentioned(parsed: tree.ParsedFile, item: tree.Item, ends: Collection[str]) -> frozenset[str]:
    """See `mentioned`; the definitions of `ends` are not looked into."""
    mentioned: set[str] = set()
    pending = list(parsed.words(item.node))
    while pending and len(mentioned) < MAX_WORDS:
        word = pending.pop()
        if word in mentioned:
            continue
        mentioned.add(word)
        spend(1)
        if word in ends:
            continue
        macro = parsed.constants.macros.get(word)
        if macro is not None:
            pending += tree.WORD.findall(macro.body)
        for other in parsed.by_name.get(word, ()):
            if other.active and not other.is_kernel and other.kind != "macro":
                pending += parsed.words(other.node) - mentioned
    return frozenset(mentioned)


def size_names(parsed: tree.ParsedFile, item: tree.Item, kernel: Kernel) -> dict[str, int]:
    """Constants of the file that the kernel depends on, with their values; a tile's side is none of them."""
    sides = _tile_sides(parsed, item)
    # `__constant__ int dims[DIM];` holds sizes: how many they are is none.
    of_sizes = arrays_set_by_host(parsed)
    words = tree.remembered(parsed, ("sizes", item.node.id), lambda: _mentioned(parsed, item, of_sizes))
    own = {p.name for p in kernel.parameters} | set(kernel.template_parameters)
    by_name = {}
    spend((len(parsed.constants.macros) + len(parsed.constants.values)) // 8)
    for name in [*parsed.constants.macros, *parsed.constants.values]:
        if name not in words:
            continue
        macro = parsed.constants.macros.get(name)
        if name in sides or name in own or (macro is not None and macro.parameters is not None):
            continue
        value = tree.remembered(parsed, ("value", name), partial(parsed.constants.evaluate, name))
        if isinstance(value, int) and value > 0:
            by_name[name] = value
    by_name |= {name: SET_BY_HOST for name, _node in _set_by_host(parsed) if name in words - own}
    arrays = {name: count for name, (_node, count) in of_sizes.items() if name in words - own}
    return by_name | {element: SET_BY_HOST for name, count in arrays.items() for element in elements_of(name, count)}


def elements_of(name: str, count: int) -> list[str]:
    """What the elements of an array are called among the constants: "dims[0]"."""
    return [f"{name}[{index}]" for index in range(count)]


def match_sizes(names: Collection[str], lab: Lab, taken: Collection[str]) -> dict[str, str]:
    """The constant that stands for each of the lab's sizes that is not `taken`, by role: the best-named one."""
    ranked = sorted(
        (rank, order, parameter.name, name)
        for parameter in lab.parameters
        if parameter.is_size and parameter.name not in taken
        for order, name in enumerate(names)
        if (rank := size_rank(name, parameter)) is not None
    )
    by_role: dict[str, str] = {}
    for _rank, _order, role, name in ranked:
        if role not in by_role and name not in by_role.values():
            by_role[role] = name
    return by_role


def size_rank(name: str, parameter: Parameter) -> int | None:
    """See `Parameter.rank_of`; `c_n`, `d_n`, `dN` and `kN` count as n."""
    rank = parameter.rank_of(name)
    return rank if rank is not None else parameter.rank_of(_PREFIX.sub("", name, count=1))


def constant_edits(parsed: tree.ParsedFile, names: Collection[str]) -> tuple[Edit, ...]:
    """Where the values of these constants stand."""
    edits = []
    for name, node in _definitions(parsed):
        if name in names:
            # What a macro is replaced by reaches to the end of the line, comments included.
            text = re.split(r"\s*(?://|/\*)", parsed.text(node))[0]
            edits.append(Edit(*characters(parsed, node.start_byte, node.start_byte + len(text.encode())), "", name))
    for name, node in _set_by_host(parsed):
        if name in names:
            edits.append(Edit(*characters(parsed, node.end_byte, node.end_byte), " = ", name))
            edits += [edit for edit in _made_constant(parsed, name) if edit not in edits]
    for name, (node, count) in arrays_set_by_host(parsed).items():
        elements = elements_of(name, count)
        if not set(elements).isdisjoint(names):
            place = characters(parsed, node.end_byte, node.end_byte)
            # The last of several edits for one place comes first in the text.
            edits.append(Edit(*place, "}"))
            edits += [Edit(*place, ", ", element, SET_BY_HOST) for element in reversed(elements[1:])]
            edits.append(Edit(*place, " = {", elements[0], SET_BY_HOST))
    return tuple(edits)


def with_global_arrays(
    parsed: tree.ParsedFile, item: tree.Item, kernel: Kernel, lab: Lab
) -> tuple[Kernel, tuple[Edit, ...]]:
    """The kernel with the global arrays that it works on as parameters before its own, and the edits that make them so.

    Only as many as the kernel lacks of the lab's arrays; those named like one come first.
    """
    arrays = [p for p in lab.parameters if p.is_array]
    lacking = len(arrays) - sum(p.is_pointer for p in kernel.parameters)
    declared = _global_arrays(parsed) if lacking > 0 else {}
    words = mentioned(parsed, item) if declared else set()
    own = {p.name for p in kernel.parameters}
    names = [name for name in declared if name in words and name not in own]
    names.sort(key=lambda name: min((r for p in arrays if (r := p.rank_of(name)) is not None), default=1 << 16))
    names = names[:lacking]
    body = item.node.child_by_field_name("body")
    declarator = tree.function_declarator(item.node.child_by_field_name("declarator"))
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if len(names) < max(lacking, 1) or body is None or listed is None:
        return kernel, ()
    reads, writes = pointer_uses(parsed, body, set(names))
    parameters = tuple(
        KernelParameter(
            name,
            f"{declared[name][0]} *",
            is_pointer=True,
            is_const=False,
            dtype=dtype,
            is_read=name in reads,
            is_written=name in writes,
            is_global=True,
        )
        for name in names
        for dtype in [parsed.constants.dtype(declared[name][0])]
    )
    text = ", ".join(f"{type_text} {declarator_text}" for type_text, declarator_text in (declared[n] for n in names))
    inner = parsed.text(listed)[1:-1].strip()
    start, end = listed.start_byte + 1, listed.end_byte - 1
    if inner in {"", "void"}:
        edit = Edit(*characters(parsed, start, end), text)
    else:
        edit = Edit(*characters(parsed, start, start), f"{text}, ")
    # A prototype would now declare another function of the name.
    prototypes = [i for i in parsed.by_name.get(item.name, ()) if i.kind == "prototype" and i.active]
    blanked = [blank(parsed, i.start, i.end) for i in prototypes]
    return replace(kernel, parameters=parameters + kernel.parameters), (edit, *blanked)


def _tile_sides(parsed: tree.ParsedFile, item: tree.Item) -> set[str]:
    """Names of the sides of tiles.

    They stand in two or more extents of a shared array, `[T][T + 1]`, or are what blocks cover along both axes.
    """
    text = parsed.text(item.node)
    axes = [{name for pair in step.findall(text) for name in pair} for step in _STEPS]
    sides = set.intersection(*axes) - {""}
    for node in tree.descendants(item.node):
        if node.type == "declaration" and "__shared__" in parsed.text(node):
            for declarator in node.children_by_field_name("declarator"):
                extents = re.findall(r"\[([^\]]*)\]", parsed.text(declarator))
                words = [set(tree.WORD.findall(extent)) for extent in extents]
                sides |= {word for here in words for word in here if sum(word in other for other in words) > 1}
    return sides


def _definitions(parsed: tree.ParsedFile) -> tuple[tuple[str, Node], ...]:
    return tree.remembered(parsed, "definitions", lambda: tuple(_find_definitions(parsed)))


def _find_definitions(parsed: tree.ParsedFile) -> Iterator[tuple[str, Node]]:
    for item in parsed.items:
        if not item.active:
            continue
        if item.kind == "macro":
            value = item.node.child_by_field_name("value")
            if value is not None and item.node.child_by_field_name("parameters") is None:
                yield item.name, value
        elif item.kind in {"variable", "type"}:
            for node in tree.descendants(item.node):
                if node.type == "enumerator":
                    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
                    if name is not None and value is not None:
                        yield parsed.text(name), value
                elif node.type == "init_declarator" and item.qualifiers & {"const", "constexpr"}:
                    value = node.child_by_field_name("value")
                    if value is not None and value.type not in {"argument_list", "initializer_list"}:
                        yield tree.declared_name(node), value


def _set_by_host(parsed: tree.ParsedFile) -> tuple[tuple[str, Node], ...]:
    """Name and declarator of every whole number in constant memory that the file gives no value.

    Of other memory of the device those that host code mentions and no kernel writes.  Fields of a struct too, where
    they stand in the file: the struct's own declaration can give them one.
    """
    return tree.remembered(parsed, "set by host", lambda: tuple(_find_set_by_host(parsed)))


def _find_set_by_host(parsed: tree.ParsedFile) -> Iterator[tuple[str, Node]]:
    for item in parsed.items:
        if item.kind == "variable" and item.active and item.qualifiers & _OF_DEVICE:
            type_node = item.node.child_by_field_name("type")
            dtype = parsed.constants.dtype(parsed.text(type_node)) if type_node is not None else None
            is_constant = "__constant__" in item.qualifiers
            if not is_constant and not changed_by_device(parsed).isdisjoint(item.names):
                continue
            for declarator in item.node.children_by_field_name("declarator"):
                name = parsed.text(declarator)
                if declarator.type != "identifier" or not (is_constant or name in words_of_host(parsed)):
                    continue
                if dtype is not None and "int" in dtype:
                    yield name, declarator
                elif dtype is None and type_node is not None and is_constant:
                    yield from _whole_numbers_in(parsed, type_node)


def _made_constant(parsed: tree.ParsedFile, name: str) -> Iterator[Edit]:
    """What makes a variable in global memory one in constant memory: loads of a size are no reads of the data."""
    for item in parsed.by_name.get(name, ()):
        qualifiers = [n for n in item.node.children if parsed.text(n) in {"__device__", "__managed__"}]
        for index, node in enumerate(qualifiers if item.kind == "variable" and item.active else ()):
            yield Edit(*characters(parsed, node.start_byte, node.end_byte), "" if index else "__constant__")


def arrays_set_by_host(parsed: tree.ParsedFile) -> dict[str, tuple[Node, int]]:
    """Declarator and length of every short array of whole numbers in constant memory that the file gives no values."""
    return tree.remembered(parsed, "arrays set by host", lambda: dict(_find_arrays_set_by_host(parsed)))


def _find_arrays_set_by_host(parsed: tree.ParsedFile) -> Iterator[tuple[str, tuple[Node, int]]]:
    for item in parsed.items:
        if item.kind != "variable" or not item.active or "__constant__" not in item.qualifiers:
            continue
        type_node = item.node.child_by_field_name("type")
        dtype = parsed.constants.dtype(parsed.text(type_node)) if type_node is not None else None
        for declarator in item.node.children_by_field_name("declarator"):
            name, size = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("size")
            is_array = declarator.type == "array_declarator" and name is not None and name.type == "identifier"
            count = parsed.constants.integer(parsed.text(size)) if is_array and size is not None else None
            if name is not None and count and 0 < count <= MAX_ELEMENTS and dtype is not None and "int" in dtype:
                yield parsed.text(name), (declarator, count)


def _whole_numbers_in(parsed: tree.ParsedFile, type_node: Node) -> Iterator[tuple[str, Node]]:
    """Name and declarator of each field of a struct that is a whole number and has no value."""
    name = parsed.text(type_node).removeprefix("struct ").strip()
    declared = [type_node, *(i.node for i in parsed.by_name.get(name, ()) if i.active and i.kind == "type")]
    bodies = (n for node in declared for n in tree.descendants(node) if n.type == "field_declaration_list")
    body = next(bodies, None)
    numbers: list[tuple[str, Node]] = []
    for node in body.named_children if body is not None else ():
        field_type = node.child_by_field_name("type")
        dtype = parsed.constants.dtype(parsed.text(field_type)) if field_type is not None else None
        for declarator in node.children_by_field_name("declarator"):
            is_plain = declarator.type == "field_identifier" and not node.child_by_field_name("default_value")
            if not is_plain or dtype is None or "int" not in dtype:
                # One field with a value and one without are no constant to the compiler.
                return
            numbers.append((parsed.text(declarator), declarator))
    yield from numbers


def _global_arrays(parsed: tree.ParsedFile) -> dict[str, tuple[str, str]]:
    """Type and declarator of every `__device__` array or pointer of plain numbers, by name."""
    return tree.remembered(parsed, "global arrays", lambda: _find_global_arrays(parsed))


def _find_global_arrays(parsed: tree.ParsedFile) -> dict[str, tuple[str, str]]:
    arrays = {}
    for item in parsed.items:
        if item.kind != "variable" or not item.active or not item.qualifiers & {"__device__", "__managed__"}:
            continue
        type_node = item.node.child_by_field_name("type")
        type_text = parsed.text(type_node) if type_node is not None else ""
        for declarator in item.node.children_by_field_name("declarator"):
            if declarator.type == "init_declarator":
                declarator = declarator.child_by_field_name("declarator") or declarator
            if declarator.type in {"array_declarator", "pointer_declarator"} and parsed.constants.dtype(type_text):
                arrays[tree.declared_name(declarator)] = (type_text, " ".join(parsed.text(declarator).split()))
    return arrays
