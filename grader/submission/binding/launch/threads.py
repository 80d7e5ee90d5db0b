"""Threads of a block: who says how many there are, and how they follow from the sizes."""

from __future__ import annotations

from dataclasses import dataclass

from grader.device_limits import is_possible_block
from grader.submission.binding.launch.context import LaunchContext
from grader.submission.binding.launch.profiled import Block, lab_block
from grader.submission.binding.precedence import OF_LAUNCHES, Fact, first


@dataclass(frozen=True, slots=True)
class Threads:
    """A block; `formulas` of the sizes for its axes where it depends on them, () where it does not."""

    block: Block
    formulas: tuple[str, ...] = ()


def threads_of(context: LaunchContext) -> Fact[Threads]:
    """Threads of a block."""
    rule = context.rule
    formulas = tuple(str(n) for n in rule.block) if any(isinstance(n, str) for n in rule.block) else ()
    return first(
        {
            "stated": lambda: _stated(context),
            context.said: lambda: _read(context),
            "inferred": lambda: _inferred(context),
        },
        otherwise=Threads(lab_block(rule, context.lab), formulas),
        among=OF_LAUNCHES,
    )


def _stated(context: LaunchContext) -> Threads | None:
    if context.settings.block is None:
        return None
    x, y, z = [*context.settings.block, 1, 1][:3]
    return Threads((x, y, z))


def _read(context: LaunchContext) -> Threads | None:
    site = context.site
    if site is None:
        return None
    formulas = tuple(context.formula(e, top=False) or "" for e in site.block_expressions)
    if site.block is not None:
        depends = any(context.formula(e) for e in site.block_expressions)
        return Threads(site.block, formulas if depends and all(formulas) else _sides_of_data(context))
    if not formulas or not all(formulas):
        return None
    # The formulas may have no value at the profiled sizes.
    inferred = _inferred(context)
    return Threads(inferred.block if inferred is not None else lab_block(context.rule, context.lab), formulas)


def _sides_of_data(context: LaunchContext) -> tuple[str, ...]:
    """The block's axes as sizes, where a launch of one block was seen that is as large as the data.

    Only of a kernel that knows of no other block: `k<<<1, m>>>(a, b, n, p)`, whose text does not tell what `m` is.
    """
    site = context.site
    if site is None or not site.observed or site.grid != (1, 1, 1) or site.block is None:
        return ()
    if "blockIdx" in context.shape.text or "gridDim" in context.shape.text or not is_possible_block(site.block):
        return ()
    own, usual = context.own.sizes(), context.rule.covers
    found = []
    for axis, threads in enumerate(site.block):
        names = [*usual[axis : axis + 1], *usual, *context.lab.size_names]
        found.append("1" if threads == 1 else next((name for name in names if own.get(name) == threads), ""))
    return tuple(found) if all(found) and any(name != "1" for name in found) else ()


def _inferred(context: LaunchContext) -> Threads | None:
    width = context.shape.width()
    if len(context.rule.covers) <= 1:
        return Threads((width, 1, 1)) if width is not None else None
    if context.shape.is_flat:
        return Threads((width or 256, 1, 1))
    side = context.shape.side()
    if side is None or side <= 1:
        return None
    block = (side, context.shape.rows_at_a_time(side) or side, 1)
    return Threads(block) if is_possible_block(block) else None
