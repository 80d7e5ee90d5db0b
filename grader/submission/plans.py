"""How a kernel is launched: as the student's host code says, else as the kernel itself shows, else as the lab does."""

from __future__ import annotations

from collections.abc import Sequence

from grader.lab import Lab, Variant
from grader.submission.constants import SIZES_OF_TYPES
from grader.submission.folder import VariantSettings
from grader.submission.records import Candidate, Kernel, LaunchPlan, LaunchSite
from grader.submission.shape import MAX_THREADS, KernelShape

MAX_CANDIDATES = 8
MAX_BLOCK = (1024, 1024, 64)

Block = tuple[int, int, int]


def is_possible(block: Block) -> bool:
    """Whether a device can run blocks of this shape (CUDA C Programming Guide, compute capabilities)."""
    threads = block[0] * block[1] * block[2]
    return 0 < threads <= MAX_THREADS and all(side <= most for side, most in zip(block, MAX_BLOCK, strict=True))


def requested_launch(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """Of the launches of a kernel whose block is readable, the first impossible one, else the first."""
    readable = [site for site in sites if site.block is not None]
    impossible = [site for site in readable if site.block is not None and not is_possible(site.block)]
    return next(iter(impossible or readable), None)


def candidates(
    kernel: Kernel,
    shape: KernelShape,
    sites: Sequence[LaunchSite],
    readings: Sequence[tuple[str, ...]],
    settings: VariantSettings,
    variant: Variant,
    lab: Lab,
) -> tuple[Candidate, ...]:
    """Readings of `kernel` with a launch for each, likeliest first; at most `MAX_CANDIDATES`.

    Where nothing tells which size the grid's x axis runs over, both orders are given.
    """
    found: list[Candidate] = []
    for roles in readings:
        sizes = {role for role in roles if role in lab.size_names}
        square_only = bool(lab.equal_sizes) and bool(sizes) and not set(lab.equal_sizes) <= sizes
        site = _usable(sites)
        block, origin = _block(shape, site, settings, lab)
        # A launch that no device can run still tells what its grid runs over.
        for covers in _covers(site or next(iter(sites), None), roles, lab):
            tile = _tile(shape, site if origin == "submission" else None, settings, block, len(covers))
            plan = LaunchPlan(
                block=block,
                tile=tile,
                covers=covers,
                exact=not sizes & set(covers),
                origin=origin,
                shared_bytes=_shared_bytes(kernel, site, settings, tile, block, variant),
                line=site.line if site is not None and origin == "submission" else 0,
            )
            found.append(Candidate(roles, plan, square_only))
    return tuple(dict.fromkeys(found))[:MAX_CANDIDATES]


def _usable(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """The first launch that a device can run; one whose block is not readable may still tell what the grid covers."""
    possible = [site for site in sites if site.block is not None and is_possible(site.block)]
    unreadable = [site for site in sites if site.block is None]
    return next(iter(possible or unreadable), None)


def _block(shape: KernelShape, site: LaunchSite | None, settings: VariantSettings, lab: Lab) -> tuple[Block, str]:
    if settings.block is not None:
        x, y, z = [*settings.block, 1, 1][:3]
        return (x, y, z), "submission"
    if site is not None and site.block is not None:
        return site.block, "submission"
    if len(lab.launch.covers) > 1:
        side = shape.side()
        if side is not None and side > 1:
            rows = shape.rows_at_a_time(side) or side
            if is_possible((side, rows, 1)):
                return (side, rows, 1), "inferred"
    else:
        width = shape.width()
        if width is not None:
            return (width, 1, 1), "inferred"
    return lab.launch.block, "lab"


def _tile(
    shape: KernelShape, site: LaunchSite | None, settings: VariantSettings, block: Block, axes: int
) -> tuple[int, ...]:
    """What a block covers along each grid axis: as told, as the grid divides, as the kernel steps, or a thread each."""
    tile = []
    for axis in range(axes):
        told = settings.tile[axis] if settings.tile is not None and axis < len(settings.tile) else None
        divided = site.tile[axis] if site is not None and axis < len(site.tile) else None
        stepped = shape.covered(axis, block)
        rows = shape.side() if axis == 1 and shape.rows_at_a_time(block[0]) == block[1] else None
        tile.append(told or divided or stepped or rows or block[axis])
    return tuple(tile)


def _covers(site: LaunchSite | None, roles: tuple[str, ...], lab: Lab) -> list[tuple[str, ...]]:
    """The size that each grid axis runs over: the one whose argument the grid divides; without a clue, either order."""
    usual = lab.launch.covers
    if len(usual) != 2 or not set(usual) <= set(roles):
        return [usual]
    if site is not None and len(site.arguments) == len(roles):
        by_argument = {text: role for text, role in zip(site.arguments, roles, strict=True) if role in usual}
        read = tuple(by_argument.get(variable, "") for variable in site.grid_over[:2])
        if len(read) == 2 and set(read) == set(usual):
            return [read]
    return [usual, usual[::-1]]


def _shared_bytes(
    kernel: Kernel,
    site: LaunchSite | None,
    settings: VariantSettings,
    tile: tuple[int, ...],
    block: Block,
    variant: Variant,
) -> int:
    """Dynamic shared memory: as told, as launched, else an element for each of the tile, a row longer where padded."""
    if settings.shared_bytes is not None:
        return settings.shared_bytes
    dynamic = [array for array in kernel.shared_arrays if array.dynamic]
    if not dynamic:
        return 0
    if site is not None and site.shared_bytes:
        return site.shared_bytes
    itemsize = SIZES_OF_TYPES.get(dynamic[0].dtype or "float32", 4)
    rows = max(block[1], tile[1] if len(tile) > 1 else 1)
    columns = max(block[0], tile[0])
    return rows * (columns + (1 if variant.padded else 0)) * itemsize
