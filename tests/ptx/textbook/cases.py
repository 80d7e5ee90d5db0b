"""Kernels in the styles of textbook chapters, each with an independent computation of what it does.

A file holds those of one chapter, each behind a line `//// name [option …]`.  What is an `int` here is one for the
sake of exact results: the shape of the program is what matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array, Case

FOLDER = Path(__file__).parent
SIDE = 48
ROWS = 200
Oracle = Callable[..., Any]


def sections(name: str) -> Iterator[tuple[str, list[str], str]]:
    """(name, options, text) of each kernel of a file; lines keep their numbers."""
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith("////")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        title, *options = lines[start].removeprefix("////").replace("]", "").split("[")
        yield title.strip(), [option.strip() for option in options], "\n" * start + "\n".join(lines[start:end])


def cases(
    name: str,
    oracles: dict[str, Oracle],
    grid: tuple[int, ...],
    block: tuple[int, ...],
    inputs: Callable[[np.random.Generator], list[Argument]],
    shared_bytes: int = 0,
) -> list[Case]:
    """The kernels of a file; the last array among the arguments is what they fill."""
    found = []
    for title, options, text in sections(name):
        shape = {"grid": grid, "block": block}
        for option in options:
            what, *numbers = option.split()
            if what in shape:
                shape[what] = tuple(int(number) for number in numbers)

        def oracle(given: Sequence[Any], title: str = title) -> dict[int, Array]:
            arrays = [a for a in given if isinstance(a, np.ndarray)]
            result = arrays[-1].copy()
            expected = np.asarray(oracles[title](*given[: len(arrays) - 1])).ravel()
            result[: len(expected)] = expected.astype(np.int64).astype(np.uint32).view(np.int32)
            return {len(arrays) - 1: result}

        headers = ("headers",) if "headers" in options else ()
        found.append(
            Case(
                title,
                name,
                "k",
                shape["grid"],
                shape["block"],
                inputs,
                oracle,
                shared_bytes,
                options=headers,
                text=text,
            )
        )
    return found


# -- sums ----


def numbers(n: int, high: int = 1000, room: int = 1) -> Callable[[np.random.Generator], list[Argument]]:
    """An array of so many, room for results, how many there are."""
    return lambda rng: [rng.integers(0, high, n).astype(np.int32), np.zeros(n * room, np.int32), np.int32(n)]


def by_blocks(given: Array, size: int = 128) -> Array:
    padded = np.zeros(-(-len(given) // size) * size, np.int64)
    padded[: len(given)] = given
    return padded.reshape(-1, size).sum(axis=1)


def strided(given: Array, blocks: int = 8) -> Array:
    return np.array([sum(int(given[i]) for i in range(len(given)) if i // 128 % blocks == b) for b in range(blocks)])


REDUCTIONS = cases(
    "reductions.cu",
    {
        name: {
            "first_add_during_load": lambda a: by_blocks(a, 256),
            "single_pass_with_ticket": lambda a: [*by_blocks(a), int(a.sum())],
        }.get(name, by_blocks)
        for name, _options, _text in sections("reductions.cu")
    },
    (8,),
    (128,),
    numbers(1001),
    512,
)

# -- scans, orders, counts ----

SCANS = cases(
    "scans.cu",
    {
        name: (
            (lambda a: [*np.cumsum(a.reshape(-1, 128), axis=1).ravel(), *np.cumsum(a)])
            if name == "blocks_handed_on"
            else (lambda a: np.cumsum(a.reshape(-1, 128), axis=1))
        )
        for name, _options, _text in sections("scans.cu")
    },
    (8,),
    (128,),
    numbers(1024, room=2),
)
SORTING = cases(
    "sorting.cu",
    {name: lambda a: np.sort(a.reshape(-1, 128), axis=1) for name, _options, _text in sections("sorting.cu")},
    (4,),
    (128,),
    numbers(512),
)
HISTOGRAMS = cases(
    "histograms.cu",
    {name: lambda a: np.bincount(a, minlength=64) for name, _options, _text in sections("histograms.cu")},
    (8,),
    (128,),
    numbers(1024, 64),
)

# -- matrices and images ----


def image(rng: np.random.Generator) -> list[Argument]:
    return [rng.integers(0, 100, (SIDE, SIDE)).astype(np.int32), np.zeros(SIDE * SIDE, np.int32), np.int32(SIDE)]


def around(a: Array, radius: int, mode: str = "constant") -> list[list[Array]]:
    """The image moved by every offset within a radius."""
    padded = np.pad(a.astype(np.int64), radius, mode)  # type: ignore[call-overload]
    reach = range(2 * radius + 1)
    return [[padded[j : j + SIDE, i : i + SIDE] for i in reach] for j in reach]


def convolved(a: Array) -> Array:
    row = np.array([1, 2, 3, 2, 1])
    return sum(
        w * moved
        for ws, line in zip(np.outer(row, row), around(a, 2), strict=True)
        for w, moved in zip(ws, line, strict=True)
    )


def five_points(a: Array) -> Array:
    near = around(a, 1)
    return near[0][1] + near[2][1] + near[1][0] + near[1][2] - 4 * near[1][1]


def corner(values: Array) -> Array:
    """A block's result in the first rows and columns of an image that was zero."""
    result = np.zeros((SIDE, SIDE), np.int64)
    result[:16, :16] = values
    return result


def heated(a: Array) -> Array:
    now = a[:16, :16].astype(np.int64)
    for _ in range(5):
        p = np.pad(now, 1)
        now = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) // 4
    return corner(now)


def shortest(a: Array) -> Array:
    d = a[:16, :16].astype(np.int64)
    for p in range(16):
        d = np.minimum(d, d[:, p : p + 1] + d[p : p + 1])
    return corner(d)


def lived(a: Array) -> Array:
    cells = a & 1
    count = sum(np.roll(cells, (j, i), (0, 1)) for j in (-1, 0, 1) for i in (-1, 0, 1)) - cells
    return (count == 3) | ((count == 2) & (cells == 1))


def product(a: Array) -> Array:
    return a.astype(np.int64) @ a


GRIDS = cases(
    "grids.cu",
    {
        "tiled_transpose": lambda a: a.T,
        "tiled_product": product,
        "product_of_coarsened_threads": product,
        "product_with_two_buffers": product,
        "convolution_with_halo": convolved,
        "five_points": five_points,
        "median_of_nine": lambda a: np.sort([m for line in around(a, 1, "edge") for m in line], axis=0)[4],
        "row_sums_of_blocks": lambda a: a.sum(axis=1)[:9],
        "steps_of_heat_in_one_block": heated,
        "gauss_elimination_steps": lambda a: corner(np.ones((16, 16), np.int64)),
        "floyd_warshall_block": shortest,
        "game_of_life": lived,
    },
    (3, 3),
    (16, 16),
    image,
)

# -- one array ----


def in_blocks(function: Callable[[Array], Array]) -> Oracle:
    return lambda a: np.array([function(part) for part in a.astype(np.int64).reshape(-1, 128)])


def darts(a: Array) -> Array:
    state, inside = a.astype(np.uint32) * np.uint32(747796405) + np.uint32(2891336453), np.zeros(len(a), np.int64)
    for _ in range(20):
        state = state * np.uint32(1664525) + np.uint32(1013904223)
        x = (state >> 16 & 1023).astype(np.int64)
        state = state * np.uint32(1664525) + np.uint32(1013904223)
        y = (state >> 16 & 1023).astype(np.int64)
        inside += x * x + y * y < 1024 * 1024
    return inside


def forces(a: Array) -> Array:
    difference = a[None, :].astype(np.int64) - a[:, None]
    return np.fmod(difference, 17).sum(axis=1)


def odd_first(a: Array) -> Array:
    rows = a.reshape(-1, 32)
    result = np.full(rows.shape, -1)
    for row, given in zip(result, rows, strict=True):
        odd = given[given % 2 == 1]
        row[: len(odd)] = odd
    return result


def turns(part: Array) -> Array:
    total = 0
    for w in range(4):
        total = (total * 7 + int(part[w * 32])) & 0xFFFFFFFF
    return np.full(128, total)


def votes(part: Array) -> Array:
    return np.full(128, (part % 2).sum() * 4 + (part > 900).any() * 2 + 1)


def rounds(part: Array) -> Array:
    total = np.zeros(128, np.int64)
    for r in range(3):
        total = total * 3 + part[::-1] + r
    return total


def consumed(part: Array) -> Array:
    total = np.zeros(128, np.int64)
    for r in range(4):
        total[64:] = total[64:] * 5 + part[:64][::-1] + r
    return total


def tiles(part: Array) -> Array:
    sums = (part.reshape(8, 16) * np.arange(1, 17)).sum(axis=1)
    return np.roll(np.repeat(sums, 16), -64)


def staged(a: Array) -> Array:
    total = np.zeros(128, np.int64)
    for part in a.astype(np.int64).reshape(-1, 128):
        total = (total * 3 + part[np.arange(128) * 5 % 128]) & 0xFFFFFFFF
    return np.tile(total, len(a) // 128)


def stencil(a: Array) -> Array:
    return np.convolve(a.astype(np.int64), np.ones(7, np.int64), "same")


VARIOUS = cases(
    "various.cu",
    {
        "saxpy_grid_stride": lambda a: 3 * a + np.arange(len(a)),
        "reversed_in_shared_memory": in_blocks(lambda part: part[::-1]),
        "stencil_of_radius_three": stencil,
        "n_body_tiles": forces,
        "monte_carlo": darts,
        "compaction_with_atomic_offset": lambda a: [a[a % 3 == 0].sum(), sum(range((a % 3 == 0).sum()))],
        "ballot_compaction": odd_first,
        "warps_take_turns": in_blocks(turns),
        "counted_votes": in_blocks(votes),
        "lock_of_a_block": lambda a: [a.sum()],
        "maximum_with_cas": lambda a: [a.max()],
        "block_barrier_object": in_blocks(rounds),
        "producers_and_consumers": in_blocks(consumed),
        "partitioned_groups": in_blocks(tiles),
        "staged_copies": staged,
    },
    (4,),
    (128,),
    numbers(512),
)

# -- sparse matrices and graphs ----


def sparse(rng: np.random.Generator) -> list[Argument]:
    counts = rng.integers(0, 40, ROWS)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns, values = rng.integers(0, ROWS, starts[-1]), rng.integers(-9, 10, starts[-1])
    x = rng.integers(0, 1000, ROWS)
    return [starts, *(a.astype(np.int32) for a in (columns, values, x)), np.zeros(ROWS, np.int32), np.int32(ROWS)]


def times_vector(starts: Array, columns: Array, values: Array, x: Array) -> Array:
    rows = np.repeat(np.arange(ROWS), np.diff(starts))
    return np.bincount(rows, values.astype(np.float64) * x[columns], ROWS)


def reached(starts: Array, columns: Array, values: Array, x: Array) -> Array:
    result = np.zeros(ROWS, np.int64)
    for node in np.flatnonzero(x > 500).tolist():
        np.maximum.at(result, columns[starts[node] : starts[node + 1]], x[node])
    return result


SPARSE = cases(
    "sparse.cu",
    {
        name: reached if name == "breadth_first_level" else times_vector
        for name, _options, _text in sections("sparse.cu")
    },
    (4,),
    (128,),
    sparse,
)

# -- whole grids ----


def _smoothed(a: Array, _now: Array) -> Array:
    for _step in range(5):
        a = (a + np.roll(a, 1) + np.roll(a, -1)) // 3
    return a


COOPERATIVE = cases(
    "cooperative.cu",
    {
        "sum_in_one_launch": lambda a, _part: [a.sum()],
        "smoothing_in_steps": _smoothed,
        "prefix_sums_in_one_launch": lambda a, _total: a.cumsum(),
        "odd_even_transposition_sort": lambda a, _unused: np.sort(a),
    },
    (6,),
    (64,),
    lambda rng: [
        rng.integers(0, 1000, 350).astype(np.int32), np.zeros(350, np.int32), np.zeros(350, np.int32), np.int32(350),
    ],
)  # fmt: skip

# -- warps with jobs of their own, copies that go on by themselves ----


def _tiles(width: int) -> Oracle:
    """Each lane's sum over tiles read backwards, the first once, the second twice and so on."""

    def oracle(a: Array) -> Array:
        table = a[: len(a) // width * width].reshape(-1, width)[:, ::-1].astype(np.int64)
        return (table * np.arange(1, len(table) + 1)[:, None]).sum(axis=0)

    return oracle


def _padded(a: Array, fill: int = 0) -> Array:
    return np.pad(a, (0, -len(a) % 64), constant_values=fill).reshape(-1, 64).astype(np.int64)


def _sorted_parts(a: Array) -> Array:
    return np.concatenate([np.sort(a[low : low + 128]) for low in range(0, len(a), 128)])


def _neighbours(a: Array) -> Array:
    rows = _padded(a)
    return (rows[:, np.arange(64) ^ 1] * 2 + rows).ravel()[: len(a)]


def _wanted(a: Array) -> Array:
    rows = np.zeros((4, 64), np.int64)
    for row, part in zip(rows, _padded(a, 1), strict=True):
        found = part[part % 3 == 0]
        row[: len(found)] = found
    return rows.ravel()[: len(a)]


MODERN = cases(
    "modern.cu",
    {
        "sums_by_warps": lambda a: _padded(a).sum(axis=1),
        "sums_of_levels": lambda a: _padded(a).sum(axis=1),
        "copies_in_two_buffers": _tiles(64),
        "copies_in_four_stages": _tiles(64),
        "named_barriers": _tiles(32),
        "counted_barriers": _tiles(32),
        "split_barrier": lambda a: a * 3 + _padded(a)[:, ::-1].ravel()[: len(a)],
        "look_back": lambda a: a.cumsum(),
        "persistent_blocks": _neighbours,
        "sum_by_the_last_block": lambda a: _padded(a).sum(axis=1),
        "odd_even_sort_until_done": _sorted_parts,
        "swizzled_transpose": lambda a: a[:192].reshape(3, 8, 8).swapaxes(1, 2),
        "blocks_in_a_row": lambda a: _padded(a).sum(axis=1).cumsum(),
        "ring_between_warps": lambda a: a[:80],
        "compaction_by_warps": _wanted,
        "locked_list": lambda a: np.ones(4),
    },
    (4,),
    (64,),
    numbers(252),
)

CASES = [*REDUCTIONS, *SCANS, *SORTING, *HISTOGRAMS, *GRIDS, *VARIOUS, *SPARSE, *COOPERATIVE, *MODERN]
