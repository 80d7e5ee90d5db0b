"""Nsight Compute: the hardware's own counters of a launch."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.backends.base import LaunchRequest
from grader.gpu.profilers import replay
from grader.gpu.profilers.tool import ToolFailed, run
from grader.result import Counters, Witness

TIME = "gpu__time_duration.sum"
"""Nanoseconds."""

METRICS: Mapping[str, str] = {
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_wavefronts",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_wavefronts",
    "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct": "shared_efficiency_pct",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global_load_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "global_store_sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "global_store_requests",
}
"""Nsight Compute's names, and how a report calls them."""

_UNITS_NS = {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}


def measure(
    folder: Path,
    modules: Mapping[str, bytes],
    launches: Sequence[tuple[str, LaunchRequest]],
    metrics: Sequence[str] = (TIME, *METRICS),
) -> list[dict[str, float]]:
    """Metrics of each launch in order; times in ns.  Caches are flushed before each, clocks left as they are.

    Raises
    ------
    ToolFailed : Nsight Compute is not there, or may not read the counters.
    """
    replay.write(folder, modules, launches)
    names = "|".join(re.escape(entry) for entry in dict.fromkeys(request.entry for _module, request in launches))
    command = [
        "ncu",
        "--csv",
        "--page",
        "raw",
        "--log-file",
        str(folder / "ncu.csv"),
        "--kernel-name-base",
        "mangled",
        "--kernel-name",
        f"regex:^({names})$",
        "--clock-control",
        "none",
        "--cache-control",
        "all",
        "--metrics",
        ",".join(metrics),
    ]
    _status, output = run(command, folder)
    try:
        text = (folder / "ncu.csv").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    rows = parse(text, metrics)
    if len(rows) != len(launches):
        # Rows decide, not the exit status: it is 0 as well when the counters may not be read.
        lines = [line for line in (text + "\n" + output).splitlines() if line.startswith("==")]
        raise ToolFailed(next((line for line in lines if "ERR" in line or "rror" in line), f"ncu: {len(rows)} rows"))
    return rows


def parse(text: str, metrics: Sequence[str]) -> list[dict[str, float]]:
    """The metrics in Nsight Compute's CSV, a row a launch; times in ns; metrics without a number are left out."""
    lines = [line for line in text.splitlines() if line and not line.startswith("==")]
    rows = list(csv.DictReader(lines))
    if not rows:
        return []
    # The first row holds the units.
    units, found = rows[0], []
    for row in rows[1:]:
        values = {}
        for metric in metrics:
            try:
                number = float((row.get(metric) or "").replace(",", ""))
            except ValueError:
                continue
            values[metric] = number * (_UNITS_NS.get(units.get(metric) or "", 1.0) if metric == TIME else 1.0)
        found.append(values)
    return found


def witnesses(values: Mapping[str, float], counters: Counters | None) -> list[Witness]:
    """Metrics beside the emulator's figures for the same launch."""
    emulated = _emulated(counters)
    return [
        Witness(tool="ncu", name=name, value=values[metric], emulator=emulated.get(name), text=metric)
        for metric, name in METRICS.items()
        if metric in values
    ]


def _emulated(counters: Counters | None) -> dict[str, float]:
    if counters is None or counters.sampled_blocks < counters.total_blocks:
        return {}
    found: dict[str, float] = {}
    for row in counters.by_line:
        for kind, space, count in (("wavefronts", "shared", row.wavefronts), ("sectors", "global", row.sectors)):
            if row.space == space:
                key = f"{space}_{row.op}_{kind}"
                found[key] = found.get(key, 0.0) + count
        if row.space == "global":
            key = f"global_{row.op}_requests"
            found[key] = found.get(key, 0.0) + row.requests
    if counters.shared_efficiency_pct is not None:
        found["shared_efficiency_pct"] = counters.shared_efficiency_pct
    return found
