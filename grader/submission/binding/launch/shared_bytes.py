"""Dynamic shared memory of a launch: who says how much, and how it follows from the sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from grader.lab import formula
from grader.submission.binding.launch.context import LaunchContext
from grader.submission.binding.launch.profiled import Block
from grader.submission.binding.precedence import OF_LAUNCHES, Fact, first
from grader.submission.expressions.number_types import SIZES_OF_TYPES


@dataclass(frozen=True, slots=True)
class SharedBytes:
    """Dynamic shared memory, and its formula of the sizes and of `threads`, "" where it has none."""

    number: int = 0
    formula: str = ""


def shared_bytes_of(context: LaunchContext, tile: tuple[int, ...], block: Block) -> Fact[SharedBytes]:
    """Dynamic shared memory: without better, an element for each of the tile, a row longer where it is padded."""
    stated = context.settings.shared_bytes
    dynamic = [array for array in context.kernel.shared_arrays if array.dynamic]
    itemsize = SIZES_OF_TYPES.get((dynamic[0].dtype if dynamic else None) or "float32", 4)
    rows = max(block[1], tile[1] if len(tile) > 1 else 1)
    usual = rows * (max(block[0], tile[0]) + (1 if context.variant.padded else 0)) * itemsize

    def read() -> SharedBytes | None:
        if context.site is None or (not dynamic and not context.site.observed):
            return None
        if not dynamic:
            return SharedBytes()
        text = context.formula(context.site.shared_expression) or ""
        if context.site.observed:
            return SharedBytes(context.site.shared_bytes or 0, text or _usual_formula(context))
        return SharedBytes(context.site.shared_bytes or usual, text) if context.site.shared_bytes or text else None

    return first(
        {
            "stated": lambda: SharedBytes(stated) if stated is not None else None,
            context.said: read,
            "inferred": lambda: None if dynamic else SharedBytes(),
        },
        otherwise=SharedBytes(usual, context.rule.shared_bytes),
        among=OF_LAUNCHES,
    )


def _usual_formula(context: LaunchContext) -> str:
    """The lab's formula of shared memory, where it gives what was seen at the program's own sizes."""
    if context.site is None or context.site.block is None or not context.rule.shared_bytes:
        return ""
    try:
        usual = formula.integer(context.rule.shared_bytes, {**context.own.sizes(), "threads": prod(context.site.block)})
    except formula.FormulaError:
        return ""
    return context.rule.shared_bytes if usual == context.site.shared_bytes else ""
