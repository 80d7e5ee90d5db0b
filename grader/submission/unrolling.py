"""A kernel's innermost loops unrolled by another factor: a pragma set before them, or the one there changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.submission.edits import Edit
from grader.submission.tree import Item, ParsedFile, descendants

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOPS = frozenset(["for_statement", "while_statement", "do_statement"])
_PRAGMA_BEFORE = re.compile(
    r"(?:#[ \t]*pragma[ \t]+(?:GCC[ \t]+|nv_)?unroll\b[^\n]*|_Pragma\s*\(\s*\"\s*unroll[^\"]*\"\s*\))(?=\s*\Z)"
)


def unroll_edits(parsed: ParsedFile, item: Item, factor: int) -> tuple[Edit, ...]:
    """What has to change so that the deepest loops of a kernel, and of functions it calls, go `factor` steps at a time.

    Lines keep their numbers.  () where it has no loop.  Loops less deep than others of the same function are left
    alone: they load what the deepest ones work on.
    """
    words = set(re.findall(r"[^\W\d]\w*", parsed.text(item.node)))
    called = [f for name, f in parsed.functions.items() if name in words and f.is_device and not f.is_kernel]
    return tuple(
        edit
        for function in [item, *called]
        for loop in _deepest(function.node)
        for edit in [_edit(parsed, loop, factor)]
    )


def has_pragma(parsed: ParsedFile, item: Item) -> bool:
    """Whether one of these loops has an unroll pragma already."""
    return any(_PRAGMA_BEFORE.search(_before(parsed, loop)) for loop in _deepest(item.node))


def _edit(parsed: ParsedFile, loop: Node, factor: int) -> Edit:
    before = _before(parsed, loop)
    match = _PRAGMA_BEFORE.search(before)
    if match is None:
        return Edit(len(before), len(before), f'_Pragma("unroll {factor}") ')
    text = f"#pragma unroll {factor}" if match.group().startswith("#") else f'_Pragma("unroll {factor}")'
    return Edit(match.start(), match.end(), text)


def _before(parsed: ParsedFile, loop: Node) -> str:
    return parsed.data[: loop.start_byte].decode("utf-8", errors="replace")


def _deepest(function: Node) -> list[Node]:
    """The loops within which no other is, and which lie within the most others."""
    depths: dict[int, int] = {}
    nodes: dict[int, Node] = {}
    for node in descendants(function):
        if node.type in _LOOPS:
            nodes[node.id] = node
            depths[node.id] = _depth(node, function)
    most = max(depths.values(), default=0)
    return [node for key, node in nodes.items() if depths[key] == most]


def _depth(node: Node, stop: Node) -> int:
    depth, parent = 0, node.parent
    while parent is not None and parent.id != stop.id:
        depth += parent.type in _LOOPS
        parent = parent.parent
    return depth
