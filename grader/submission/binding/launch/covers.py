"""Which size each axis of a grid runs over."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from grader.submission.binding.launch.context import LaunchContext
from grader.submission.binding.precedence import Fact, first
from grader.submission.kernels.records import LaunchSite


def covers_of(context: LaunchContext, sites: Sequence[LaunchSite]) -> Fact[list[tuple[str, ...]]]:
    """The size that each grid axis runs over; without a clue, either order.

    A kernel that numbers all elements, or all tiles, along one axis runs over the product, "rows*cols"; one that
    is launched with a block for each row runs over the rows alone.
    """
    # A launch that no device can run still tells what its grid runs over.
    site = context.site or next(iter(sites), None)
    usual = context.rule.covers
    either_order = len(set(usual)) == 2 and set(usual) <= set(context.roles)

    def inferred() -> list[tuple[str, ...]] | None:
        is_flat = len(usual) > 1 and context.shape.is_flat and (site is None or len(site.tile) <= 1)
        return [("*".join(usual),)] if is_flat else None

    return first(
        {
            context.said: lambda: _read(context, site, either_order) if site is not None else None,
            "inferred": inferred,
        },
        otherwise=[usual, usual[::-1]] if either_order else [usual],
    )


def _read(context: LaunchContext, site: LaunchSite, either_order: bool) -> list[tuple[str, ...]] | None:
    """As the arguments tell that the grid divides."""
    usual = context.rule.covers
    alone_seen = _covered_alone(context, site)
    if alone_seen:
        return [(name,) for name in alone_seen]
    if len(usual) > 1 and len(site.grid_expressions) == 1 and site.tile == (1,):
        alone = dict(zip(site.arguments, context.roles, strict=False)).get(site.grid_over[0])
        if alone in usual and "blockIdx.y" not in context.shape.text:
            return [(alone,)]
    if len(usual) > 1 and context.grid_formula():
        return [("*".join(usual),)]
    if either_order and len(site.arguments) == len(context.roles):
        by_argument = {t: role for t, role in zip(site.arguments, context.roles, strict=True) if role in usual}
        read = tuple(by_argument.get(variable, "") for variable in site.grid_over[:2])
        if len(read) == 2 and set(read) == set(usual):
            return [read]
    return None


def _covered_alone(context: LaunchContext, site: LaunchSite) -> list[str]:
    """Of several sizes those that a launch seen along one axis runs over alone: a thread for each row, say."""
    usual = context.rule.covers
    if len(usual) < 2 or not site.observed or site.grid is None or site.block is None:
        return []
    if ".y" in context.shape.text or context.shape.numbers_elements:
        return []
    sizes = context.own.sizes()
    if prod(site.grid[1:]) * prod(site.block[1:]) > 1 or not all(sizes.get(name, 0) > 1 for name in usual):
        return []
    threads, reach = site.block[0], site.grid[0] * site.block[0]
    if 2 * reach > prod(sizes[name] for name in usual):
        return []
    return [name for name in dict.fromkeys(usual) if abs(reach - sizes[name]) < threads]
