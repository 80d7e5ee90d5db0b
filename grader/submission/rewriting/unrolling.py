"""A kernel's innermost loops unrolled by another factor: a pragma set before them, or the one there changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.submission.cpp.edits import Edit
from grader.submission.cpp.positions import characters
from grader.submission.cpp.tree import Item, ParsedFile
from grader.submission.kernels.loops import called_functions, loops_in, pragma_before

if TYPE_CHECKING:
    from tree_sitter import Node


def unroll_edits(parsed: ParsedFile, item: Item, factor: int) -> tuple[Edit, ...]:
    """What has to change so that the deepest loops of a kernel, and of functions it calls, go `factor` steps at a time.

    Lines keep their numbers.  () where it has no loop.  Loops less deep than others of the same function are left
    alone: they load what the deepest ones work on.
    """
    return tuple(
        _edit(parsed, function.node, loop, factor)
        for function in [item, *called_functions(parsed, item)]
        for loop in _deepest(parsed, function.node)
    )


def has_pragma(parsed: ParsedFile, item: Item) -> bool:
    """Whether one of these loops has an unroll pragma already."""
    return any(pragma_before(parsed, item.node, loop) is not None for loop in _deepest(parsed, item.node))


def _edit(parsed: ParsedFile, function: Node, loop: Node, factor: int) -> Edit:
    pragma = pragma_before(parsed, function, loop)
    if pragma is None:
        place, _end = characters(parsed, loop.start_byte, loop.start_byte)
        return Edit(place, place, f'_Pragma("unroll {factor}") ')
    _argument, start, end = pragma
    is_directive = parsed.data[start : start + 1] == b"#"
    text = f"#pragma unroll {factor}" if is_directive else f'_Pragma("unroll {factor}")'
    return Edit(*characters(parsed, start, end), text)


def _deepest(parsed: ParsedFile, function: Node) -> list[Node]:
    """The loops that lie within the most others."""
    loops = loops_in(parsed, function)
    most = max((loop.depth for loop in loops), default=0)
    return [loop.node for loop in loops if loop.depth == most]
