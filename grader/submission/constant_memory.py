"""Constant memory that the host fills with other things than sizes: given where it is declared what was seen in it.

`__constant__ float weights[5];`, which the program's `cudaMemcpyToSymbol` fills, becomes
`__constant__ float weights[5] = {…};`: host code does not run when kernels are graded.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from grader.lab.records import Lab
from grader.submission.compile_time import arrays_set_by_host, elements_of, size_rank
from grader.submission.cpp import tree
from grader.submission.cpp.constants import FORMATS, SIZES_OF_TYPES
from grader.submission.cpp.parse import characters
from grader.submission.lexical import Edit
from grader.submission.structs import fields_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node


def filled_edits(
    parsed: tree.ParsedFile, words: Collection[str], filled: Mapping[str, bytes], lab: Lab
) -> tuple[tuple[Edit, ...], frozenset[str], dict[str, int]]:
    """The edits that fill the constant memory which a kernel mentions, what the extents of that are made of, and the
    sizes seen in fields of structs that are given each case's.

    words: every name that the kernel mentions.  filled: what was seen in the program's variables.  Whole numbers that
    may be a size of the lab are left out, and so is what holds no plain numbers.
    """
    edits: list[Edit] = []
    extents: set[str] = set()
    sizes: dict[str, int] = {}
    for item in parsed.items if filled else ():
        type_node = item.node.child_by_field_name("type")
        if item.kind != "variable" or not item.active or "__constant__" not in item.qualifiers or type_node is None:
            continue
        dtype = parsed.constants.dtype(parsed.text(type_node))
        for declarator in item.node.children_by_field_name("declarator"):
            name = tree.declared_name(declarator)
            if dtype is None and declarator.type == "identifier" and name in words and name in filled:
                of_struct, own_sizes = _of_struct(parsed, declarator, parsed.text(type_node), filled[name], lab)
                edits += of_struct
                sizes |= own_sizes
            if declarator.type not in {"identifier", "array_declarator"} or dtype not in FORMATS:
                continue
            is_array = declarator.type == "array_declarator"
            of_extent = _words_of(parsed, declarator) - {name}
            # As many as a size has neighbours are weights.
            are_weights = is_array and any(_may_be_size(word, lab) for word in of_extent)
            may_be_sizes = "int" in dtype and not are_weights and (is_array or _may_be_size(name, lab))
            if name not in words or name not in filled or may_be_sizes:
                continue
            text = _initialiser(dtype, filled[name], is_array)
            if text:
                edits.append(Edit(*characters(parsed, declarator.end_byte, declarator.end_byte), f" = {text}"))
                extents |= of_extent
    return tuple(edits), frozenset(extents), sizes


def whole_numbers(parsed: tree.ParsedFile, filled: Mapping[str, bytes]) -> dict[str, int]:
    """Numbers that were seen in constant memory: n, "dims[0]" of `__constant__ int dims[2]`, fields of a struct."""
    by_name: dict[str, int] = {}
    for name, content in filled.items():
        for item in parsed.by_name.get(name, ()):
            type_node = item.node.child_by_field_name("type")
            dtype = parsed.constants.dtype(parsed.text(type_node)) if type_node is not None else None
            if type_node is not None and dtype is None:
                fields = fields_of(parsed, parsed.text(type_node).removeprefix("struct ").strip())
                if fields and all("int" in f.dtype and not f.is_pointer for f in fields):
                    numbers = values_of([f.dtype for f in fields], content)
                    by_name |= {f.name: int(n) for f, n in zip(fields, numbers, strict=bool(numbers))}
            if dtype not in FORMATS or "int" not in dtype:
                continue
            _node, count = arrays_set_by_host(parsed).get(name, (None, 0))
            if len(content) != SIZES_OF_TYPES[dtype] * max(count, 1):
                continue
            whole = struct.unpack(f"<{max(count, 1)}{FORMATS[dtype]}", content)
            by_name |= zip(elements_of(name, count) or [name], whole, strict=True)
    return by_name


def _of_struct(
    parsed: tree.ParsedFile, declarator: Node, type_text: str, content: bytes, lab: Lab
) -> tuple[list[Edit], dict[str, int]]:
    """The edits that fill a struct of plain numbers, one of them a fraction, and the sizes of the lab among its fields.

    Of sizes that vary from case to case a field is given each case's; a fraction that comes of one is not known there,
    so that the struct stays empty.
    """
    fields = fields_of(parsed, type_text.removeprefix("struct ").strip())
    numbers = values_of([f.dtype for f in fields], content)
    if any(f.is_pointer for f in fields) or all("int" in f.dtype for f in fields) or not numbers:
        return [], {}
    values = dict(zip((f.name for f in fields), numbers, strict=True))
    fractions = {f.name: values[f.name] for f in fields if "int" not in f.dtype}
    varying = {name for name in values if _may_be_size(name, lab, varies=True)}
    is_unknown = any(_comes_of(fraction, values[name]) for fraction in fractions.values() for name in varying)
    of_others = fractions.keys() | parsed.constants.macros.keys()
    if not all(map(math.isfinite, numbers)) or is_unknown or varying & of_others:
        return [], {}
    place = characters(parsed, declarator.end_byte, declarator.end_byte)
    edits, text = [], " = {"
    for field, number in zip(fields, numbers, strict=True):
        if field.name in varying:
            edits.append(Edit(*place, text, field.name, int(number)))
            text = ", "
        else:
            text += _number(field.dtype, number) + ", "
    # The last of several edits for one place comes first in the text.
    sizes = {name: int(values[name]) for name in values if _may_be_size(name, lab)} if varying else {}
    return [Edit(*place, text.removesuffix(", ") + "}"), *reversed(edits)], sizes


def _comes_of(fraction: float, size: float) -> bool:
    """Whether a fraction may have been computed of a size: its reciprocal, a spacing of so many points."""
    around = (size - 1, size, size + 1, size * size)
    return any(
        math.isclose(abs(fraction), k * n**power, rel_tol=1e-5)
        for n in around
        for power in (-1, 1)
        for k in (0.5, 1, 2)
        if n
    )


def _may_be_size(name: str, lab: Lab, varies: bool = False) -> bool:
    sizes = (p for p in lab.parameters if p.is_size and not (varies and p.usual is not None))
    return any(size_rank(name, p) is not None for p in sizes)


def _initialiser(dtype: str, content: bytes, is_array: bool) -> str:
    """Bytes as C++ has them; "" where they are no numbers of that type."""
    count, rest = divmod(len(content), SIZES_OF_TYPES[dtype])
    if rest or not count or (count > 1 and not is_array):
        return ""
    numbers = struct.unpack(f"<{count}{FORMATS[dtype]}", content)
    if not all(math.isfinite(number) for number in numbers):
        return ""
    texts = [_number(dtype, number) for number in numbers]
    return "{" + ", ".join(texts) + "}" if is_array else texts[0]


def _number(dtype: str, number: int | float) -> str:
    suffix = {"float32": "f", "uint32": "u", "int64": "ll", "uint64": "ull"}.get(dtype, "")
    return (number.hex() if isinstance(number, float) else str(number)) + suffix


def _words_of(parsed: tree.ParsedFile, declarator: Node) -> set[str]:
    words: set[str] = set()
    pending = tree.WORD.findall(parsed.text(declarator))
    while pending and len(words) < 100:
        word = pending.pop()
        if word in words:
            continue
        words.add(word)
        macro = parsed.constants.macros.get(word)
        pending += tree.WORD.findall(macro.body) if macro is not None else ()
        for item in parsed.by_name.get(word, ()):
            if item.kind == "variable" and item.active and item.qualifiers & {"const", "constexpr"}:
                pending += tree.WORD.findall(parsed.text(item.node))
    return words
