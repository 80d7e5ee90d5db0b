"""Other tools asked about a kernel on the GPU, when they are installed and permitted; no mark depends on them.

Nsight Compute gives the hardware's own counters of a launch, compute-sanitizer bad memory accesses and races as
NVIDIA's own checker sees them.  They watch launches that are written to a folder, for
`grader.gpu.device.worker.replay` to carry out.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from grader.gpu.messages import HELPERS_MODULE, SCRIPT_NAME, Script
from grader.gpu.process import SharedBuffer
from grader.gpu.session import GpuSession, launch_message
from grader.launching.backend import LaunchRequest
from grader.measured import Counters, Witness
from grader.message import msg
from grader.running.evidence import Evidence

LIMIT_S = 60.0


class ToolFailed(Exception):
    """The tool is not there, not permitted, or did not end in time; says which."""


def run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a tool on the launches in `folder`; its exit status and the end of what it printed.

    Raises ToolFailed: it is not installed, or took longer than `LIMIT_S`.
    """
    path = shutil.which(command[0])
    if path is None:
        raise ToolFailed(f"{command[0]} is not installed")
    replay = [sys.executable, "-m", "grader.gpu.device.worker", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(p).absolute()) for p in sys.path)}
    process = subprocess.Popen(
        [path, *command[1:], *replay],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    try:
        output, _none = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise ToolFailed(f"{command[0]} did not end within {LIMIT_S:g} s") from None
    return process.returncode, output[-20_000:].decode("utf-8", errors="replace")


def write(folder: Path, modules: Mapping[str, bytes], launches: Sequence[tuple[str, LaunchRequest]]) -> None:
    """Write launches, each with the name of its module, and the machine code that they need."""
    messages = []
    for index, (module, request) in enumerate(launches):
        buffer = SharedBuffer()
        messages.append(launch_message(module, request, buffer.place(request)))
        buffer.fill()
        (folder / f"memory.{index}").write_bytes(buffer.content())
        buffer.close()
    (folder / SCRIPT_NAME).write_bytes(msgspec.msgpack.encode(Script(dict(modules), messages)))


TIME = "gpu__time_duration.sum"
"""Metric of a kernel's time, in nanoseconds."""

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

    Raises ToolFailed: Nsight Compute is not there, or may not read the counters.
    """
    write(folder, modules, launches)
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
    rows = parse_counters(text, metrics)
    if len(rows) != len(launches):
        # Rows decide, not the exit status: it is 0 as well when the counters may not be read.
        lines = [line for line in (text + "\n" + output).splitlines() if line.startswith("==")]
        raise ToolFailed(next((line for line in lines if "ERR" in line or "rror" in line), f"ncu: {len(rows)} rows"))
    return rows


def parse_counters(text: str, metrics: Sequence[str]) -> list[dict[str, float]]:
    """The metrics in Nsight Compute's CSV, a row a launch; times in ns; metrics without a number are left out."""
    lines = [line for line in text.splitlines() if line and not line.startswith("==")]
    rows = list(csv.DictReader(lines))
    if not rows:
        return []
    # The first row holds the units.
    units, measured = rows[0], []
    for row in rows[1:]:
        values = {}
        for metric in metrics:
            try:
                number = float((row.get(metric) or "").replace(",", ""))
            except ValueError:
                continue
            values[metric] = number * (_UNITS_NS.get(units.get(metric) or "", 1.0) if metric == TIME else 1.0)
        measured.append(values)
    return measured


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
    values: dict[str, float] = {}
    for row in counters.by_line:
        for kind, space, count in (("wavefronts", "shared", row.wavefronts), ("sectors", "global", row.sectors)):
            if row.space == space:
                key = f"{space}_{row.op}_{kind}"
                values[key] = values.get(key, 0.0) + count
        if row.space == "global":
            key = f"global_{row.op}_requests"
            values[key] = values.get(key, 0.0) + row.requests
    if counters.shared_efficiency_pct is not None:
        values["shared_efficiency_pct"] = counters.shared_efficiency_pct
    return values


FOUND = 86
"""The exit status that it is told to end with when it finds something."""

TOOLS = ("memcheck", "racecheck")
_HEADING = re.compile(r"^=========\s+((?:Invalid|Misaligned|Error: Race|Warning: Race|Barrier|Uninitialized)[^\n]*)$")
_PLACE = re.compile(r"\bin\s+\S*?([\w.+-]+\.\w+):(\d+)|\bat\s+\S*?([\w.+-]+\.\w+):(\d+)")
_NEXT_LINES = 12


def check(folder: Path, modules: Mapping[str, bytes], launches: Sequence[tuple[str, LaunchRequest]]) -> list[Witness]:
    """What it finds in some launches, each kind of finding once a line.

    Raises ToolFailed: it is not there, or fails for reasons of its own.
    """
    write(folder, modules, launches)
    witnessed: list[Witness] = []
    for tool in TOOLS:
        options = ["--error-exitcode", str(FOUND), "--print-limit", "50", "--log-file", str(folder / f"{tool}.txt")]
        extra = ["--racecheck-report", "analysis"] if tool == "racecheck" else []
        status, output = run(["compute-sanitizer", "--tool", tool, *options, *extra], folder)
        try:
            log = (folder / f"{tool}.txt").read_text(encoding="utf-8", errors="replace")
        except OSError:
            log = ""
        findings = parse_findings(log, tool)
        # After an error in the kernel the replay itself ends with 1.
        if not findings and status not in (0, FOUND):
            if witnessed:
                # The kernel stops at what was found before.
                break
            raise ToolFailed(f"compute-sanitizer {tool}: status {status}: {(log + output).strip()[-200:]}")
        witnessed += findings
    return witnessed


def parse_findings(log: str, tool: str) -> list[Witness]:
    """The findings in its log: what, and the line of the student's file where it says so."""
    rows = log.splitlines()
    findings: dict[tuple[str, int | None], Witness] = {}
    for index, row in enumerate(rows):
        heading = _HEADING.match(row)
        if heading is None:
            continue
        line = None
        for following in rows[index : index + _NEXT_LINES]:
            place = _PLACE.search(following)
            if place is not None:
                line = int(place[2] or place[4])
                break
        text = heading[1].strip()
        findings.setdefault((text, line), Witness(tool="compute-sanitizer", name=tool, text=text[:300], line=line))
    return list(findings.values())


def witnessed(
    session: GpuSession, launch: tuple[str, LaunchRequest], evidence: Evidence, tools: Sequence[str]
) -> Evidence:
    """The evidence with what other tools say of a launch of its kernel, of which the counters are."""
    module = launch[0]
    code = {name: session.code()[name] for name in (HELPERS_MODULE, module)}
    gathered: list[Witness] = []
    for tool in tools:
        with TemporaryDirectory(prefix="grader-") as folder:
            try:
                if tool == "ncu":
                    gathered += witnesses(measure(Path(folder), code, [launch])[0], evidence.counters)
                else:
                    gathered += check(Path(folder), code, [launch]) or [_clean(tool)]
            except ToolFailed as failure:
                gathered.append(Witness(tool=tool, name="failed", text=str(failure)[:300]))
    return replace(evidence, witnesses=tuple(gathered))


def _clean(tool: str) -> Witness:
    return Witness(tool=tool, name="clean", text_said=msg("runs.found_nothing"))
