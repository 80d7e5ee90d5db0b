"""Results with sweeps, for the tests of this folder."""

from __future__ import annotations

from typing import Literal

import msgspec

from grader.measured import Estimate, SweepPoint, SweepRecord
from grader.report.job import ReportJob, SweepText
from grader.result import Result
from tests import sample_results
from tests.report.jobs import job

SIZE = SweepText(id="size", title="Size", x_label="rows, N")
TILE = SweepText(id="tile", title="Tile", x_label="side, T", line_label="N")
MEMORY = SweepText(id="memory", title="Memory", x_label="threads")


def point(
    variant: str,
    x: int,
    value: float | None,
    of: Literal["submission", "reference"] = "submission",
    metric: str = "sectors",
    **more: object,
) -> SweepPoint:
    """A point with a value; without one it is impossible."""
    values = {} if value is None else {metric: Estimate(value=value)}
    status: Literal["ok", "impossible"] = "ok" if value is not None else "impossible"
    reason = "" if value is not None else "4096 threads per block, at most 1024 are allowed"
    made = SweepPoint(variant=variant, of=of, x=x, size={"n": 64}, status=status, reason=reason, values=values)
    return msgspec.structs.replace(made, **more)


def size_sweep(backend: Literal["emulator", "gpu"] = "emulator", metric: str = "sectors") -> SweepRecord:
    """Over sizes: `shared` is better than `naive` from 64 on; `padded` has only its reference."""
    rows = {"naive": (8.0, 8.0, 8.0), "shared": (8.0, 4.0, 2.0)}
    points = [
        point(name, x, value, size={"n": x}, metric=metric)
        for name, values in rows.items()
        for x, value in zip((32, 64, 128), values, strict=True)
    ]
    points += [point("padded", x, 1.0, of="reference", size={"n": x}, metric=metric) for x in (32, 64, 128)]
    points += [point("naive", x, 9.0, of="reference", size={"n": x}, metric=metric) for x in (32, 64, 128)]
    return SweepRecord(
        id="size",
        backend=backend,
        x="n",
        lines="",
        metrics=[metric],
        points=points,
        left_out={"padded": "it was not run"},
    )


def tile_sweep() -> SweepRecord:
    """Two lines a variant; 64 is impossible, and `shared` also at 8 on its first line."""
    points = []
    for line, factor in ((32, 1.0), (64, 2.0)):
        for x, value in ((8, 12.0), (16, 6.0), (32, 3.0), (64, None)):
            points.append(point("naive", x, value and value * factor, line=line))
            shared = None if (x, line) == (8, 32) else value
            points.append(point("shared", x, shared and shared / 2, line=line))
    return SweepRecord(id="tile", backend="emulator", x="t", lines="n", metrics=["sectors"], points=points)


def with_predicted(record: SweepRecord, device: str = "H200", factor: float = 1.5) -> SweepRecord:
    """The same with times predicted at its own values, the x itself in µs, and one value more that has no time."""
    own = [p for p in record.points if p.of == "submission" and p.status == "ok"]
    foretold = [
        msgspec.structs.replace(
            p,
            values={
                f"predicted_{metric}": Estimate(value=p.x, low=p.x / factor, high=p.x * factor)
                for metric in dict.fromkeys(("time", *record.metrics))
            },
        )
        for p in own
    ]
    foretold.append(msgspec.structs.replace(own[-1], x=512, status="failed", reason="not predicted", values={}))
    return msgspec.structs.replace(record, predicted=foretold, predicted_device=device)


def memory_sweep() -> SweepRecord:
    """Kinds of host memory, on a GPU."""
    rows = {"pageable": (1200.0, 1000.0), "mapped": (300.0, 200.0)}
    points = [
        point("naive", x, value, line=mode, metric="total_time")
        for mode, values in rows.items()
        for x, value in zip((64, 256), values, strict=True)
    ]
    return SweepRecord(id="memory", backend="gpu", x="t", lines="host_memory", metrics=["total_time"], points=points)


def swept(*records: SweepRecord, language: str = "en") -> ReportJob:
    """A job whose result has these sweeps."""
    result: Result = msgspec.structs.replace(sample_results.passed(), sweeps=list(records))
    return job(result, sweeps=(SIZE, TILE, MEMORY), language=language)
