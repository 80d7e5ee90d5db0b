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
from grader.submission.cpp.edits import Edit
from grader.submission.cpp.positions import characters
from grader.submission.cpp.tree import WORD, ParsedFile, declared_name
from grader.submission.expressions.number_types import FORMATS, SIZES_OF_TYPES
from grader.submission.rewriting.compile_time import arrays_set_by_host, elements_of, size_rank
from grader.submission.rewriting.structs import fields_of, values_of

if TYPE_CHECKING:
    from tree_sitter import Node


def filled_edits(
    parsed: ParsedFile, words: Collection[str], filled: Mapping[str, bytes], lab: Lab
) -> tuple[tuple[Edit, ...], frozenset[str]]:
    """The edits that fill the constant memory which a kernel mentions, and what the extents of that are made of.

    words: every name that the kernel mentions.  filled: what was seen in the program's variables.  Whole numbers that
    may be a size of the lab are left out, and so is what holds no plain numbers.
    """
    edits: list[Edit] = []
    extents: set[str] = set()
    for item in parsed.items if filled else ():
        type_node = item.node.child_by_field_name("type")
        if item.kind != "variable" or not item.active or "__constant__" not in item.qualifiers or type_node is None:
            continue
        dtype = parsed.constants.dtype(parsed.text(type_node))
        for declarator in item.node.children_by_field_name("declarator"):
            name = declared_name(declarator)
            if dtype is None and declarator.type == "identifier" and name in words and name in filled:
                text = _of_struct(parsed, parsed.text(type_node), filled[name], lab)
                if text:
                    edits.append(Edit(*characters(parsed, declarator.end_byte, declarator.end_byte), f" = {text}"))
            if declarator.type not in {"identifier", "array_declarator"} or dtype not in FORMATS:
                continue
            is_array = declarator.type == "array_declarator"
            if name not in words or name not in filled or ("int" in dtype and (is_array or _may_be_size(name, lab))):
                continue
            text = _initialiser(dtype, filled[name], is_array)
            if text:
                edits.append(Edit(*characters(parsed, declarator.end_byte, declarator.end_byte), f" = {text}"))
                extents |= _words_of(parsed, declarator) - {name}
    return tuple(edits), frozenset(extents)


def whole_numbers(parsed: ParsedFile, filled: Mapping[str, bytes]) -> dict[str, int]:
    """Numbers that were seen in constant memory: n, "dims[0]" of `__constant__ int dims[2]`, fields of a struct."""
    found: dict[str, int] = {}
    for name, content in filled.items():
        for item in parsed.by_name.get(name, ()):
            type_node = item.node.child_by_field_name("type")
            dtype = parsed.constants.dtype(parsed.text(type_node)) if type_node is not None else None
            if type_node is not None and dtype is None:
                fields = fields_of(parsed, parsed.text(type_node).removeprefix("struct ").strip())
                if fields and all("int" in f.dtype and not f.is_pointer for f in fields):
                    numbers = values_of([f.dtype for f in fields], content)
                    found |= {f.name: int(n) for f, n in zip(fields, numbers, strict=bool(numbers))}
            if dtype not in FORMATS or "int" not in dtype:
                continue
            _node, count = arrays_set_by_host(parsed).get(name, (None, 0))
            if len(content) != SIZES_OF_TYPES[dtype] * max(count, 1):
                continue
            whole = struct.unpack(f"<{max(count, 1)}{FORMATS[dtype]}", content)
            found |= zip(elements_of(name, count) or [name], whole, strict=True)
    return found


def _of_struct(parsed: ParsedFile, type_text: str, content: bytes, lab: Lab) -> str:
    """A struct of plain numbers, one of them a fraction, as C++ has it: none of them may vary from case to case."""
    fields = fields_of(parsed, type_text.removeprefix("struct ").strip())
    varying = {p.name for p in lab.parameters if p.kind == "size" and p.usual is None}
    sized = (p.name for f in fields for p in lab.parameters if p.kind == "size" and size_rank(f.name, p) is not None)
    if any(f.is_pointer for f in fields) or all("int" in f.dtype for f in fields) or varying & set(sized):
        return ""
    numbers = values_of([f.dtype for f in fields], content)
    texts = [_number(f.dtype, number) for f, number in zip(fields, numbers, strict=bool(numbers))]
    return "{" + ", ".join(texts) + "}" if texts and all(map(math.isfinite, numbers)) else ""


def _may_be_size(name: str, lab: Lab) -> bool:
    return any(size_rank(name, p) is not None for p in lab.parameters if p.kind == "size")


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


def _words_of(parsed: ParsedFile, declarator: Node) -> set[str]:
    """Every name that a declarator mentions, through macros and constants."""
    found: set[str] = set()
    pending = WORD.findall(parsed.text(declarator))
    while pending and len(found) < 100:
        word = pending.pop()
        if word in found:
            continue
        found.add(word)
        macro = parsed.constants.macros.get(word)
        pending += WORD.findall(macro.body) if macro is not None else ()
        for item in parsed.by_name.get(word, ()):
            if item.kind == "variable" and item.active and item.qualifiers & {"const", "constexpr"}:
                pending += WORD.findall(parsed.text(item.node))
    return found
