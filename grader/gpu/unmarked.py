"""What is measured besides, and no mark depends on: what other tools say of a kernel on the GPU, where they are
installed and permitted, and what the lab's oracle takes on the CPU.

Nsight Compute gives the hardware's own counters of a launch, compute-sanitizer bad memory accesses and races as
NVIDIA's own checker sees them.  They watch launches that are written to a folder, for
`grader.gpu.device.worker.replay` to carry out.  The oracle is timed in a process of its own, beside what else the
grader does.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from grader.gpu.bench import lab_files, work_at
from grader.gpu.messages import HELPERS_MODULE, SCRIPT_NAME, Script
from grader.gpu.process import SharedBuffer
from grader.gpu.session import GpuSession, launch_message
from grader.lab.expected import Oracle
from grader.lab.file import load
from grader.lab.records import Lab, Sizes
from grader.launching.backend import LaunchRequest
from grader.launching.kernel import shape_at
from grader.measured import Counters, Witness
from grader.message import msg
from grader.processes.channel import Channel, DeadlinePassed, PeerGone
from grader.processes.child import Child, ChildProgram
from grader.running.evidence import Evidence
from grader.timing import CpuTime, Measurement, lock, sampling
from grader.timing.summary import Store, key_of, size_key

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


CPU_ELEMENTS_A_SECOND = 2e7
"""What an oracle is thought to do before it has been timed at any size: a low guess."""
CPU_LIMIT_S = 1.0
"""Sizes that would keep the CPU busy for longer are left out."""
CPU_GROWTH = 1.5
"""From one size to the next, how much slower an element may become: larger arrays leave the caches."""


CPU_PROCESS_LIMIT_S = 60.0
"""How long the process may take; there are no times of the CPU else."""


def cpu_times_beside(lab: Lab, sizes: list[Sizes], store: Store) -> list[CpuTime]:
    """As `cpu_times_of`, in a process of its own; none where that fails.

    To be called by a thread that waits for nothing else meanwhile.
    """
    kept = store.get(_key(lab, sizes))
    if kept is not None:
        return kept.cpu
    arguments = str(lab.path.parent), json.dumps(sizes), str(store.folder)
    try:
        child = Child(ChildProgram("grader.gpu.unmarked", arguments), msgspec.msgpack.Decoder(list[CpuTime]))
    except OSError:
        return []
    try:
        return child.channel.receive(time.monotonic() + CPU_PROCESS_LIMIT_S)
    except (PeerGone, DeadlinePassed):
        return []
    finally:
        child.end()


def main(connection: socket.socket, folder: str, sizes: str, kept: str) -> None:
    """Time the oracle of the lab in `folder` at some sizes, in JSON, and say what it took; kept: the store's folder."""
    lab = load(Path(folder))
    with suppress(PeerGone):
        channel = Channel(connection, msgspec.msgpack.Decoder(None))
        channel.send(cpu_times_of(lab, Oracle(lab), json.loads(sizes), Store(Path(kept))))


def cpu_times_of(lab: Lab, oracle: Oracle, sizes: list[Sizes], store: Store) -> list[CpuTime]:
    """The oracle's times at the sizes where it does not take long; measured once per machine, then kept."""
    unique = {size_key(s): s for s in sizes}
    key = _key(lab, sizes)
    stored = store.get(key)
    if stored is not None:
        return stored.cpu
    with ExitStack() as stack:
        # The gradings of a group come here at the same time: one measures, undisturbed by the others, who then find it.
        # Where that cannot be arranged, each measures for itself.
        with suppress(lock.Busy, OSError):
            stack.enter_context(lock.exclusive("cpu"))
        stored = store.get(key)
        if stored is not None:
            return stored.cpu
        times = _measured(lab, oracle, list(unique.values()))
        blank = Measurement(device="", driver="", nvrtc="", l2="", copy_gb_s=0.0, fp32_gflop_s=0.0, sizes=[], cpu=times)
        store.put(key, blank)
    return times


def _key(lab: Lab, sizes: list[Sizes]) -> str:
    unique = sorted({size_key(one) for one in sizes})
    return key_of({}, f"cpu {unique}", lab_files(lab), f"numpy {np.__version__}", sampling.model(), "")


def _measured(lab: Lab, oracle: Oracle, sizes: list[Sizes]) -> list[CpuTime]:
    times: list[CpuTime] = []
    a_second = CPU_ELEMENTS_A_SECOND
    for size in sorted(sizes, key=lambda sizes: oracle_work(lab, sizes)):
        work = oracle_work(lab, size)
        if work / a_second > CPU_LIMIT_S:
            break
        times.append(sampling.time_cpu(_oracle_run(lab, oracle, size), dict(size)))
        a_second = work / times[-1].best_us * 1e6 / CPU_GROWTH
    return times


def oracle_work(lab: Lab, sizes: Sizes) -> float:
    """A rough size of what the oracle has to do: elements, or operations over what BLAS does with one element."""
    work = work_at(lab, sizes)
    elements = work.traffic_bytes / 4
    return elements if work.operations is None else max(elements, work.operations / 1000)


def _oracle_run(lab: Lab, oracle: Oracle, sizes: Sizes) -> Callable[[], object]:
    """Return the oracle's work at some sizes, repeating the values that it has at the observed size."""
    types = {p.name: p.dtype for p in lab.parameters if p.is_array}
    few, _expected = oracle.case(lab.cases["emulator"].observe, types)
    inputs = {name: np.resize(values, shape_at(lab, name, sizes)) for name, values in few.items()}
    output = next(p.name for p in lab.parameters if p.is_output)
    return lambda: oracle.expected(inputs, sizes, output)
