"""Launch plans: block, what that covers, grid and dynamic shared memory, of what is said of each.

For each of these facts there is a function with all that say something of it, in a file of its own where it is long;
`precedence` chooses among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.devices import is_possible_block
from grader.lab.records import Lab, Variant
from grader.submission.binding.blocks import (
    Block,
    LaunchContext,
    Threads,
    block_at,
    covers_of,
    shared_bytes_at,
    shared_bytes_of,
    threads_of,
)
from grader.submission.binding.entries import Entry
from grader.submission.binding.reconcile import OF_PROGRAM, Fact, first, weakest_of
from grader.submission.binding.sizes import NamedSizes, formulas_of, is_unsure
from grader.submission.kernels.records import LaunchSite
from grader.submission.records import Interpretation, LaunchPlan, Origins
from grader.submission.submission_yaml import VariantSettings

MAX_CANDIDATES = 8
USUAL_SQUARES = (32, 8, 1), (16, 16, 1), (32, 32, 1)
USUAL_ROWS = (256, 1, 1), (128, 1, 1), (32, 1, 1)


def requested_launch(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """Of the launches of a kernel whose block is readable, the first impossible one, else the first with arguments in
    each other's place, else the first."""
    readable = [site for site in sites if site.block is not None]
    impossible = [site for site in readable if site.block is not None and not is_possible_block(site.block)]
    return next(iter(impossible or [site for site in readable if site.exchanged] or readable), None)


def interpretations(
    entry: Entry,
    role_assignments: Fact[Sequence[tuple[str, ...]]],
    settings: VariantSettings,
    variant: Variant,
    lab: Lab,
    elsewhere: Sequence[Block] = (),
) -> tuple[Interpretation, ...]:
    """Readings of a kernel with a launch for each, likeliest first; at most `MAX_CANDIDATES`.

    Where nothing tells which size the grid's x axis runs over, both orders are given; where its program was
    seen not to launch it, other blocks beside the likeliest.

    elsewhere: blocks of what such a program launches in its place.
    """
    kernel, shape, sites, fixed = entry.kernel, entry.shape, entry.sites, entry.compile_time
    as_launched: list[Interpretation] = []
    with_other_blocks: list[Interpretation] = []
    readings = [(r, n) for r in role_assignments.value for n in NamedSizes.of(r, fixed, lab).readings(lab)]
    for roles, named in readings:
        sizes = {role for role in roles if role in lab.size_names}
        all_roles = sizes | named.all_roles()
        square_only = bool(lab.equal_sizes) and bool(all_roles) and not set(lab.equal_sizes) <= all_roles
        context = LaunchContext(kernel, shape, _usable(sites), roles, settings, variant, lab, named)
        all_covers = covers_of(context, sites)
        for covers in all_covers.value:
            free = {p.name for p in lab.parameters if p.is_size and p.from_grid}
            # What the host fills constant memory with is handed over like an argument.
            filled = {role for role, name in named.constants if name in fixed.from_host}
            covered = {name for extent in covers for name in extent.split("*")}
            exact = not (sizes | filled) & covered and covered <= free
            plan, origins = _plan(context, covers, exact=exact)
            origins = replace(origins, arguments=role_assignments.origin, covers=all_covers.origin)
            sizes_of_program = (named.constants, named.template, named.pinned, named.declared)
            is_unsure = origins.block == "observed" and _is_unsure(context, covers)
            as_launched.append(Interpretation(roles, plan, square_only, *sizes_of_program, origins, unsure=is_unsure))
            for block in _other_blocks(plan.block, covers, elsewhere) if elsewhere and settings.block is None else ():
                other, origins = _plan(context, covers, exact=exact, block=block)
                origins = replace(origins, arguments=role_assignments.origin, covers=all_covers.origin)
                with_other_blocks.append(Interpretation(roles, other, square_only, *sizes_of_program, origins))
    return tuple(dict.fromkeys([*as_launched, *with_other_blocks]))[:MAX_CANDIDATES]


def _other_blocks(known: Block, covers: Sequence[str], elsewhere: Sequence[Block]) -> list[Block]:
    """Blocks that a kernel may be written for which nothing launches, with as many sides as the grid has axes."""
    has_sides = len(covers) > 1
    fitting = [block for block in elsewhere if (block[1] > 1) == has_sides and is_possible_block(block)]
    usual: tuple[Block, ...] = USUAL_SQUARES if has_sides else USUAL_ROWS
    return [block for block in dict.fromkeys((*fitting, *usual)) if block != known]


def _plan(
    context: LaunchContext, covers: tuple[str, ...], *, exact: bool, block: Block | None = None
) -> tuple[LaunchPlan, Origins]:
    """The launch, and who says its block, tile and shared memory; with that `block` where one is given."""
    threads = threads_of(context) if block is None else Fact(Threads(block), "lab")
    block = block_at(threads.value.formulas, threads.value.block, context.lab)
    # What host code divides the grid by goes with its own block.
    site = context.site if threads.origin in OF_PROGRAM else None
    tiles = [_tile(context, axis, block, site) for axis in range(len(covers))]
    tile = tuple(fact.value for fact in tiles)
    shared = shared_bytes_of(context, tile, block)
    plan = LaunchPlan(
        block=block,
        tile=tile,
        covers=covers,
        exact=exact,
        shared_bytes=shared_bytes_at(shared.value.formula, block, context.lab, shared.value.number),
        line=site.line if site is not None else 0,
        block_formula=threads.value.formulas,
        shared_formula=shared.value.formula,
        grid_formula=_grid(context, threads.value, covers, tile)
        if threads.origin in OF_PROGRAM
        else context.grid_formula(),
        is_read=site is not None
        and all(context.formula(e, top=False) for e in site.block_expressions or (None,))
        and context.formula(site.shared_expression) is not None,
    )
    weakest = weakest_of(fact.origin for fact in tiles)
    return plan, Origins(block=threads.origin, tile=weakest, shared_bytes=shared.origin)


def _tile(context: LaunchContext, axis: int, block: Block, site: LaunchSite | None) -> Fact[int]:
    """What a block covers along a grid axis: as stated, as the grid divides, as the kernel steps, one a thread."""
    stated, rule = context.settings.tile or (), context.rule
    usual = rule.tile[axis] if axis < len(rule.tile) else 0

    def inferred() -> int | None:
        # Where the lab says what a block covers, `blockIdx.x * N` is an address: the N-th row of so many elements.
        # A block of several rows is launched in another way than the lab's.
        if usual and not (len(rule.covers) == 1 and block[1] > 1):
            return None
        rows = context.shape.side() if axis == 1 and context.shape.rows_at_a_time(block[0]) == block[1] else None
        return context.shape.covered(axis, block) or rows or None

    return first(
        {
            "stated": lambda: (stated[axis] or None) if axis < len(stated) else None,
            context.said: lambda: (site.tile[axis] or None) if site is not None and axis < len(site.tile) else None,
            "inferred": inferred,
        },
        otherwise=usual or block[axis],
    )


def _grid(context: LaunchContext, threads: Threads, covers: tuple[str, ...], tile: tuple[int, ...]) -> tuple[str, ...]:
    """The grid's formulas, where it has another number of blocks than it takes to cover the sizes."""
    if context.site is None or (context.settings.tile is not None and not context.site.observed):
        return context.grid_formula()
    if context.site.grid == (1, 1, 1) and threads.formulas:
        # One block, as large as the data.
        return ("1",) * len(covers)
    probes = [(grid, context.own.choices_of(arguments)) for grid, arguments in context.site.probes]
    formulas = formulas_of(context.site, context.formula, covers, tile, context.own.choices(), context.lab, probes)
    return formulas or context.grid_formula()


def _is_unsure(context: LaunchContext, covers: tuple[str, ...]) -> bool:
    """Whether a run at other sizes would tell more of the grid."""
    return context.site is not None and is_unsure(context.site, context.formula, covers, context.own.choices())


def _usable(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """The first launch that a device can run; one whose block is not readable may still tell what the grid covers."""
    possible = [site for site in sites if site.block is not None and is_possible_block(site.block)]
    unreadable = [site for site in sites if site.block is None]
    return next(iter(possible or unreadable), None)
