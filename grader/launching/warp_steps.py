"""Where accesses to memory cost points: what a warp does there, request by request and lane by lane.

The observed launch is made once more, up to the end of the first blocks that come there, with a warp followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from grader.lab.checks import SPACES
from grader.launching.kernel import BoundKernel, shape_at
from grader.launching.trial import Trials
from grader.measured import Counters, LineCounters, WarpArray, WarpRequest, WarpSteps
from grader.ptx.records import LaneAccess, Site
from grader.ptx.records import WarpRequest as RawRequest
from grader.ptx.records import WarpSteps as RawSteps
from grader.result import Check, Result

MOST_SITES = 2
"""Of a check: its own line first."""


def with_warp_steps(result: Result, trials: Trials, kernels: Mapping[str, BoundKernel]) -> Result:
    """`result` with the steps of a warp at each access that cost points.

    kernels : of the variants, read as they were graded.
    """
    variants = dict(result.variants)
    for name, kernel in kernels.items():
        counters = variants[name].counters
        if counters is None:
            continue
        sites = costly_sites(counters, [c for c in result.checks if c.variant == name])
        if not sites:
            continue
        steps = {
            raw.site: _steps(kernel, counters.size, raw) for raw in _followed(trials, kernel, counters.size, sites)
        }
        by_line = [structs.replace(c, steps=steps.get(_site(c))) for c in counters.by_line]
        variants[name] = structs.replace(variants[name], counters=structs.replace(counters, by_line=by_line))
    return structs.replace(result, variants=variants)


def costly_sites(counters: Counters, checks: Sequence[Check]) -> list[Site]:
    """The accesses for which checks took points off, those of the lines that they name first."""
    sites: dict[Site, None] = {}
    for check in checks:
        space = SPACES.get(check.check)
        if space is None or check.status != "fail" or check.line is None:
            continue
        rows = [c for c in counters.by_line if c.space == space and c.requests and c.op in ("load", "store")]
        costly = [c for c in rows if c.line == check.line or _cost(c) > c.ideal]
        costly.sort(key=lambda c: (c.line != check.line, -_cost(c) / max(c.ideal, 1)))
        sites.update((_site(c), None) for c in costly[:MOST_SITES])
    return list(sites)


def _site(row: LineCounters) -> Site:
    return Site(row.line, row.space, row.op, row.width_bytes)


def _cost(row: LineCounters) -> int:
    return row.wavefronts if row.space == "shared" else row.sectors


def _followed(
    trials: Trials, kernel: BoundKernel, sizes: Mapping[str, int], sites: Sequence[Site]
) -> tuple[RawSteps, ...]:
    loaded = kernel.load(trials.programs, sizes)
    if loaded.entry is None:
        return ()
    inputs, expected = trials.oracle.case(sizes, kernel.dtypes)
    launch = replace(kernel.launch(loaded, sizes, inputs, expected), followed=tuple(sites))
    return trials.backend.run(loaded.built.code, launch).steps


def _steps(kernel: BoundKernel, sizes: Mapping[str, int], raw: RawSteps) -> WarpSteps:
    arrays: dict[tuple[str, int], int] = {}
    for request in raw.requests:
        for lane in request.lanes:
            arrays.setdefault((lane.array, lane.start), len(arrays))
    return WarpSteps(
        block=raw.block,
        warp=raw.warp,
        arrays=[_array(kernel, sizes, raw, name, start) for name, start in arrays],
        requests=[_request(request, arrays, raw.element_bytes) for request in raw.requests],
        first=raw.first,
        total=raw.total,
    )


def _array(kernel: BoundKernel, sizes: Mapping[str, int], raw: RawSteps, name: str, start: int) -> WarpArray:
    """An array by the name that it has in the student's text."""
    shape: list[int] = []
    shown = name
    if raw.site.space == "shared":
        declared = next((a for a in kernel.binding.kernel.shared_arrays if a.name == name), None)
        dims = [size for size in declared.dims if size] if declared else []
        if declared and len(dims) == len(declared.dims) and _bytes(declared.dtype) == raw.element_bytes:
            shape = dims
    else:
        pairs = zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True)
        shown = next((parameter.name for role, parameter in pairs if role == name), name)
        if _bytes(kernel.dtypes.get(name)) == raw.element_bytes:
            shape = list(shape_at(kernel.lab, name, sizes))
    return WarpArray(name=shown, element_bytes=raw.element_bytes, start=start, shape=shape)


def _bytes(dtype: str | None) -> int:
    return np.dtype(dtype).itemsize if dtype else 0


def _request(raw: RawRequest, arrays: Mapping[tuple[str, int], int], element_bytes: int) -> WarpRequest:
    return WarpRequest(
        cost=raw.cost, ideal=raw.ideal, at_once=raw.at_once, runs=list(runs_of(raw.lanes, arrays, element_bytes))
    )


def runs_of(
    lanes: Sequence[LaneAccess], arrays: Mapping[tuple[str, int], int], element_bytes: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """Accesses of lanes, in their order, as runs of neighbouring lanes with even steps (`WarpRequest.runs`)."""
    run: list[int] = []
    for access in lanes:
        array, element = arrays[access.array, access.start], access.offset_bytes // element_bytes
        if run and run[0] == array and run[1] + run[2] == access.lane:
            step = element - (run[3] + (run[2] - 1) * run[4])
            if run[2] == 1 or step == run[4]:
                run[2], run[4] = run[2] + 1, step
                continue
        if run:
            yield run[0], run[1], run[2], run[3], run[4]
        run = [array, access.lane, 1, element, 0]
    if run:
        yield run[0], run[1], run[2], run[3], run[4]
