"""cuSOLVER's sparse half: systems solved in their band, batches of them, and orders of rows that make bands narrow."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Refused, Served
from grader.programs.runtime.libraries.cusolver import STATUSES
from grader.programs.runtime.state import Handlers

_MOST_ROWS = 1 << 20
_WORK_PER_ROW = 1000
_MOST_BATCHES = 1 << 16


def create(call: Call, handle: int) -> None:
    calls.new_handle(call.state, handle, {}, 2)


def _numbers(call: Call, address: int, count: int, dtype: str, is_host: bool) -> Array:
    if not is_host:
        numbers = call.array(address, count, dtype)
        call.read(numbers)
        return numbers[0].ravel()
    return np.frombuffer(call.state.guest.read(address, count * np.dtype(dtype).itemsize), dtype)


def _give(call: Call, address: int, values: Array, dtype: str, is_host: bool) -> None:
    if is_host:
        call.state.guest.write(address, values.astype(dtype).tobytes())
    else:
        call.store(call.array(address, len(values), dtype), values)


def _places(call: Call, args: Arguments, is_host: bool) -> tuple[Array, Array]:
    if not 0 <= args.m <= _MOST_ROWS or args.count < 0:
        raise Refused(calls.INVALID_VALUE)
    call.work(_WORK_PER_ROW, args.m + 1)
    starts = _numbers(call, args.offsets, args.m + 1, "i4", is_host).astype(np.int64) - args.base
    places = _numbers(call, args.columns, args.count, "i4", is_host).astype(np.int64) - args.base
    lengths = np.diff(starts)
    if args.m and (
        lengths.min() < 0
        or starts[0]
        or starts[-1] != args.count
        or (args.count and not 0 <= places.min() <= places.max() < args.m)
    ):
        raise Refused(calls.INVALID_VALUE)
    return np.repeat(np.arange(args.m), lengths), places


def _order(rows: Array, columns: Array, m: int) -> Array:
    """Return the rows in Cuthill and McKee's order, backwards, of a matrix as if it were symmetric."""
    ends = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    by_row = np.argsort(ends[0], kind="stable")
    bounds = np.searchsorted(ends[0][by_row], np.arange(m + 1)).tolist()
    others = ends[1][by_row].tolist()
    degrees = [end - first for first, end in pairwise(bounds)]
    order: list[int] = []
    is_queued = [False] * m
    for start in sorted(range(m), key=degrees.__getitem__):
        if is_queued[start]:
            continue
        is_queued[start] = True
        queue = deque([start])
        while queue:
            row = queue.popleft()
            order.append(row)
            beside = {other for other in others[bounds[row] : bounds[row + 1]] if not is_queued[other]}
            for other in sorted(beside, key=degrees.__getitem__):
                is_queued[other] = True
                queue.append(other)
    return np.array(order[::-1], np.int64)


def _solved(call: Call, places: tuple[Array, Array], values: Array, right: Array, least: float) -> tuple[Array, int]:
    """Return the solution, and the first column without a pivot above `least`, -1 for none."""
    m = len(right)
    order = _order(*places, m)
    position = np.empty(m, np.int64)
    position[order] = np.arange(m)
    rows, columns = position[places[0]], position[places[1]]
    below, above = int(max(0, (rows - columns).max(initial=0))), int(max(0, (columns - rows).max(initial=0)))
    width = 2 * below + above + 1
    call.work(m, below + 1, below + above + 1)
    if m * width > calls.MAX_ELEMENTS:
        raise Refused(2)
    # Row r has columns r - below to r + above + below: a step down and one to the right are each one step in memory.
    band = np.zeros(m * width + width, values.dtype)
    np.add.at(band, rows * (width - 1) + columns + below, values)
    item = band.itemsize
    whole = np.lib.stride_tricks.as_strided(band[below:], (m, m), ((width - 1) * item, item))
    solved = right[order].copy()
    for step in range(m):
        low, high = min(m, step + below + 1), min(m, step + below + above + 1)
        block = whole[step:low, step:high]
        best = int(np.argmax(np.abs(block[:, 0])))
        if abs(block[best, 0]) <= least:
            return solved, int(order[step])
        if best:
            block[[0, best]] = block[[best, 0]]
            solved[[step, step + best]] = solved[[step + best, step]]
        factors = block[1:, 0] / block[0, 0]
        block[1:] -= factors[:, None] * block[0]
        solved[step + 1 : low] -= factors * solved[step]
    for step in range(m - 1, -1, -1):
        high = min(m, step + below + above + 1)
        solved[step] = (solved[step] - whole[step, step + 1 : high] @ solved[step + 1 : high]) / whole[step, step]
    result = np.empty_like(solved)
    result[order] = solved
    return result, -1


def _solver(is_host: bool, is_definite: bool) -> Served:
    @calls.takes("m count base values offsets columns b tolerance:f reorder x singularity")
    def solve(call: Call, args: Arguments) -> None:
        places = _places(call, args, is_host)
        numbers = _numbers(call, args.values, args.count, call.dtype, is_host)
        if is_definite:
            # The lower triangle says what the matrix is.
            lower = places[0] >= places[1]
            beside = places[0] > places[1]
            rows, cols = places[0][lower], places[1][lower]
            below = np.concatenate([numbers[lower], numbers[beside].conj()])
            places = np.concatenate([rows, places[1][beside]]), np.concatenate([cols, places[0][beside]])
            numbers = below
        right = _numbers(call, args.b, args.m, call.dtype, is_host)
        solution, lacking = _solved(call, places, numbers, right, max(0.0, args.tolerance))
        if lacking < 0:
            _give(call, args.x, solution, call.dtype, is_host)
        call.state.guest.pack("i", args.singularity, lacking)

    return solve


@calls.takes("m n count base values offsets columns b x batches")
def solve_batched(call: Call, args: Arguments) -> None:
    if args.m != args.n or not 0 <= args.batches <= _MOST_BATCHES:
        raise Refused(calls.INVALID_VALUE)
    places = _places(call, args, is_host=False)
    numbers = _numbers(call, args.values, args.count * args.batches, call.dtype, is_host=False).reshape(
        args.batches, args.count
    )
    right = _numbers(call, args.b, args.m * args.batches, call.dtype, is_host=False).reshape(args.batches, args.m)
    solved = [_solved(call, places, numbers[number], right[number], 0.0)[0] for number in range(args.batches)]
    if solved:
        call.store(call.array(args.x, args.m * args.batches), np.concatenate(solved))


@calls.takes("m count base offsets columns into")
def order(call: Call, args: Arguments) -> None:
    """An order of rows that keeps what a factorisation fills in small: another than the library's."""
    _give(call, args.into, _order(*_places(call, args, is_host=True), args.m), "i4", is_host=True)


@calls.takes("m n count base offsets columns p q values buffer")
def permute(call: Call, args: Arguments) -> None:
    """A(p, q) in the place of A; `values`, a number for each of its, is put in the new order, too."""
    if args.m != args.n:
        raise Refused(calls.INVALID_VALUE)
    places = _places(call, args, is_host=True)
    moved = [
        np.argsort(_numbers(call, address, args.m, "i4", is_host=True), kind="stable") for address in (args.p, args.q)
    ]
    rows, others = moved[0][places[0]], moved[1][places[1]]
    taken = np.lexsort((others, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=args.m))])
    given = _numbers(call, args.values, args.count, "i4", is_host=True)
    _give(call, args.offsets, starts + args.base, "i4", is_host=True)
    _give(call, args.columns, others[taken] + args.base, "i4", is_host=True)
    _give(call, args.values, given[taken], "i4", is_host=True)


@calls.takes("m count base offsets ends columns told")
def is_symmetric(call: Call, args: Arguments) -> None:
    rows, others = _places(call, args, is_host=True)
    places = set(zip(rows.tolist(), others.tolist(), strict=True))
    call.state.guest.pack("i", args.told, int(places == {(other, row) for row, other in places}))


HANDLERS: Handlers = {
    "cusolverSpCreate": calls.served(create, is_bound=False, statuses=STATUSES),
    "cusolverSpDestroy": calls.served(calls.destroy, is_bound=False, statuses=STATUSES),
    "cusolverSpSetStream": calls.served(calls.set_stream, statuses=STATUSES),
    "cusolverSpOrder": calls.served(order, statuses=STATUSES),
    "cusolverSpPermute": calls.served(permute, statuses=STATUSES),
    "cusolverSpIsSymmetric": calls.served(is_symmetric, statuses=STATUSES),
}
_SOLVERS: dict[str, Served] = {
    "csrlsv": _solver(is_host=False, is_definite=False),
    "csrlsvHost": _solver(is_host=True, is_definite=False),
    "csrlsvchol": _solver(is_host=False, is_definite=True),
    "csrlsvcholHost": _solver(is_host=True, is_definite=True),
    "csrqrsvBatched": solve_batched,
}
for _name, _function in _SOLVERS.items():
    HANDLERS |= calls.of_types("cusolverSp", _name, _function, calls.ALL, STATUSES)
