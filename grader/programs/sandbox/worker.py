"""The process of one program: confines itself, runs the module as often as it is told, serves its calls, reports.

Started by `sandbox.process`, which also has the messages.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import re
import socket
from pathlib import Path

from grader.driver import DriverError
from grader.processes import limits
from grader.processes.channel import Channel, PeerGone
from grader.programs.card import MAX_PRINTED_BYTES, OpenCard, open_card
from grader.programs.records import RunLimits
from grader.programs.sandbox.process import TO_PROGRAM, Again, Broken, Code, Done, Order, Ready
from grader.programs.sandbox.run import ProgramRun, engine


def main(connection: socket.socket, *options: str) -> None:
    """Serve one run.

    options: "without-landlock" to do as on a kernel that lacks it; "gpu" to run kernels on a GPU.
    """
    import wasmtime

    last: Order | None = None
    channel: Channel[Order | Again | Code] = Channel(connection, TO_PROGRAM)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    prepare()
    card, lacking = _card() if "gpu" in options else (None, "")
    # What a first compilation asks of the system it asks before this process is confined.
    wasmtime.Module(engine(RunLimits().host_bytes), b"\0asm\1\0\0\0")
    rights = dict.fromkeys(_own_files(), limits.READ) | (_driver_files() if card is not None else {})
    confined = "without-landlock" not in options and limits.confine(rights)
    if card is None:
        limits.bound_for_good(file_bytes=0, descriptors=64)
    else:
        limits.bound_for_good(file_bytes=MAX_PRINTED_BYTES, descriptors=1024)
    with contextlib.suppress(PeerGone):
        channel.send(Ready(confined, card.info if card is not None else None, lacking))
        # What is there by now stays: who looks for what is gone need not look at it.
        gc.collect()
        gc.freeze()
        if card is not None:
            # A program queues thousands of launches, and what is kept of each makes no circles.
            gc.set_threshold(100_000, 50, 100)
        try:
            # Runs of one program, each with all of its state made anew.
            while True:
                request = channel.receive()
                order = last if isinstance(request, Again) else request
                assert isinstance(order, Order)
                last = order if card is not None else None
                run = ProgramRun(order, channel, card)
                observation = run.run()
                done = Done(observation, is_last=not run.close())
                del run
                # What the run held goes before the next one begins, however it hangs together.
                gc.collect()
                channel.send(done)
                if done.is_last:
                    return
        except PeerGone:
            raise
        except Exception as error:
            import traceback

            words = (f"{type(error).__name__}: {error}", traceback.format_exc()[-3000:])
            # What the program named need be no text.
            channel.send(Broken(*(word.encode("utf-8", "backslashreplace").decode() for word in words)))


def _card() -> tuple[OpenCard | None, str]:

    try:
        return open_card(), ""
    except (DriverError, ImportError, RuntimeError, OSError) as error:
        return None, (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _driver_files() -> dict[str, int]:
    """Return rights for what the driver may still open: devices, and libraries beside those that it has loaded."""

    devices = {str(path): limits.READ | limits.WRITE_TO for path in Path("/dev").glob("nvidia*")}
    with Path("/proc/self/maps").open() as maps:
        loaded = {line.rstrip("\n").partition("/")[2] for line in maps}
    folders = {
        str(Path(f"/{path}").parent) for path in loaded if re.search(r"/lib(?:cuda|nvidia)[\w.-]*\.so", f"/{path}")
    }
    return devices | dict.fromkeys(sorted(folders), limits.READ)


def _own_files() -> list[str]:
    """Return folders that Python may still import from: its library, NumPy, and parts of the grader."""
    import numpy as np
    import wasmtime

    import grader.programs
    import grader.ptx

    modules = (os, np, wasmtime, grader.ptx, grader.programs)
    return sorted({str(Path(module.__file__).parent) for module in modules if module.__file__})


@functools.cache
def prepare() -> None:
    """Import all that a run may need: a confined process reads few files."""
    import importlib
    import pkgutil

    import wasmtime  # noqa: F401

    import grader.diagnosis.text
    import grader.programs.runtime
    import grader.programs.sandbox
    import grader.ptx

    for package in (grader.ptx, grader.programs.runtime, grader.programs.sandbox):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in (
        "ctypes.util",
        "dataclasses",
        "struct",
        "traceback",
        "grader.programs.emulated",
        "grader.programs.card",
    ):
        importlib.import_module(name)
