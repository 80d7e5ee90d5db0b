"""What a lab's work takes on the CPU: its oracle, timed in a process of its own, beside what else the grader does.  No
mark depends on it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
import numpy as np

from grader.gpu.bench import lab_files, work_at
from grader.lab.expected import Oracle
from grader.lab.file import load
from grader.lab.records import Lab, Sizes
from grader.launching.kernel import shape_at
from grader.processes.channel import Channel, DeadlinePassed, PeerGone
from grader.processes.child import Child, ChildProgram
from grader.timing import CpuTime, Measurement, lock, sampling
from grader.timing.summary import Store, key_of, size_key

CPU_ELEMENTS_A_SECOND = 2e7
"""What an oracle is thought to do before it has been timed at any size: a low guess."""
CPU_LIMIT_S = 1.0
"""Sizes that would keep the CPU busy for longer are left out."""
CPU_GROWTH = 1.5
"""From one size to the next, how much slower an element may become: larger arrays leave the caches."""


LIMIT_S = 60.0
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
        child = Child(ChildProgram("grader.gpu.cpu", arguments), msgspec.msgpack.Decoder(list[CpuTime]))
    except OSError:
        return []
    try:
        return child.channel.receive(time.monotonic() + LIMIT_S)
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
