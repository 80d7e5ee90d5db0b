"""By how much a kernel's innermost loops are unrolled, as its text shows it: by hand or by `#pragma unroll`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.submission.expressions import Expression
from grader.submission.kernels import local_values
from grader.submission.tree import Item, ParsedFile, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

FULLY = 1024
"""For a loop that is unrolled altogether."""

_LOOPS = {"for_statement", "while_statement", "do_statement"}
_WORD = re.compile(r"[^\W\d]\w*")
_PRAGMA = re.compile(
    r"#\s*pragma\s+(?:GCC\s+|nv_)?unroll\b[ \t]*\(?[ \t]*([^)\n]*)|_Pragma\s*\(\s*\"unroll\s*([^\"]*)\"\s*\)"
)


def unroll_factor(parsed: ParsedFile, item: Item, template_values: Mapping[str, str]) -> int:
    """Steps that the innermost loops of a kernel, and of functions it calls, do at a time; 1 where none is unrolled.

    A loop counts as unrolled by hand when its counter goes up by k > 1 and its body says the same thing k times over,
    each time further on; one that fills an array in steps of the block is not unrolled.
    """
    words = set(re.findall(r"[^\W\d]\w*", parsed.text(item.node)))
    called = [f for name, f in parsed.functions.items() if name in words and f.is_device and not f.is_kernel]
    known = {name: parsed.constants.parse(text) for name, text in template_values.items()}
    best = 1
    for function in [item, *called]:
        body = function.node.child_by_field_name("body")
        if body is None:
            continue
        values = local_values(parsed, body)

        def look_up(name: str, values: object = values) -> Expression | None:
            return known.get(name) or values(name)  # type: ignore[operator]

        for loop in descendants(body):
            if loop.type in _LOOPS and not _holds_loop(loop):
                pragma = _pragma(parsed, loop)
                if pragma is not None:
                    value = parsed.constants.integer(pragma, look_up) if pragma.strip() else FULLY
                    best = max(best, value if value is not None else 1)
                elif loop.type == "for_statement":
                    update = loop.child_by_field_name("update")
                    step = re.search(r"\+=\s*(.+)", parsed.text(update)) if update is not None else None
                    value = parsed.constants.integer(step.group(1), look_up) if step else None
                    if value is not None and 1 < value <= 64 and _repeats(parsed, loop) >= 2:
                        best = max(best, value)
    return best


def _holds_loop(loop: Node) -> bool:
    return any(node.type in _LOOPS for node in descendants(loop) if node.id != loop.id)


def _pragma(parsed: ParsedFile, loop: Node) -> str | None:
    """The argument of the unroll pragma right before `loop`, "" for one without; None where there is none."""
    before = loop.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    text = parsed.text(before) if before is not None else ""
    if before is None or before.type not in {"preproc_call", "expression_statement"}:
        # As the first thing of a block or of an outer loop's body the pragma may stand beside its parent.
        start = parsed.data.rfind(b"\n", 0, loop.start_byte)
        earlier = parsed.data[:start].rstrip().rpartition(b"\n")[2] if start > 0 else b""
        text = earlier.decode("utf-8", errors="replace")
    matches = list(_PRAGMA.finditer(text))
    return (matches[-1].group(1) or matches[-1].group(2) or "") if matches else None


def _repeats(parsed: ParsedFile, loop: Node) -> int:
    """How many times the body multiplies: once for each step that it does."""
    body = loop.child_by_field_name("body")
    if body is None:
        return 0
    products = 0
    for node in descendants(body):
        if node.type == "binary_expression" and any(child.type == "*" for child in node.children):
            # `a[i * n + k]` multiplies for an index, not for a result.
            products += not _inside_index(node, body)
        elif node.type == "call_expression" and re.match(r"_*fmaf?", parsed.text(node)):
            products += 1
    # A step may be a macro: `STEP(k) STEP(k + 1)`.
    outside = _without_indices(parsed.text(body))
    for word in _WORD.findall(outside):
        macro = parsed.constants.macros.get(word)
        if macro is not None:
            products += len(re.findall(r"\*|\bfmaf?\b", _without_indices(macro.body)))
    return products


def _without_indices(text: str) -> str:
    """`text` without what stands in brackets, innermost brackets first."""
    before = ""
    while before != text:
        before, text = text, re.sub(r"\[[^\[\]]*\]", "", text)
    return text


def _inside_index(node: Node, stop: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.id != stop.id:
        if parent.type in {"subscript_expression", "subscript_argument_list"}:
            index = parent.child_by_field_name("argument")
            return index is None or not (index.start_byte <= node.start_byte < index.end_byte)
        parent = parent.parent
    return False
