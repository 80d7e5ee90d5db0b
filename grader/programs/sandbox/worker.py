"""The process of one program: confines itself, runs the module as often as it is told, serves its calls, reports.

Started by `sandbox.process`; `sandbox.messages` is what is said.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from grader.programs.sandbox.run import ProgramRun, engine

if TYPE_CHECKING:
    from grader.processes.channel import Channel
    from grader.programs.sandbox.messages import Code, Order


def main(connection: socket.socket, *options: str) -> None:
    """Serve one run; options: "without-landlock" to do as on a kernel that lacks it."""
    import wasmtime

    from grader.processes import limits
    from grader.processes.channel import Channel, PeerGone
    from grader.programs.sandbox.messages import TO_PROGRAM, Broken, Done, Order, Ready

    channel: Channel[Order | Code] = Channel(connection, TO_PROGRAM)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    prepare()
    # What a first compilation asks of the system it asks before this process is confined.
    wasmtime.Module(engine(), b"\0asm\1\0\0\0")
    confined = "without-landlock" not in options and limits.confine_files(_own_files())
    limits.bound_for_good(file_bytes=0, descriptors=64)
    with contextlib.suppress(PeerGone):
        channel.send(Ready(confined))
        try:
            # Runs of one program, each with all of its state made anew.
            while True:
                order = channel.receive()
                assert isinstance(order, Order)
                done = Done(ProgramRun(order, channel).run())
                # What the run held goes before the next one begins, however it hangs together.
                gc.collect()
                channel.send(done)
        except PeerGone:
            raise
        except Exception as error:
            import traceback

            words = (f"{type(error).__name__}: {error}", traceback.format_exc()[-3000:])
            # What the program named need be no text.
            channel.send(Broken(*(word.encode("utf-8", "backslashreplace").decode() for word in words)))


def _own_files() -> list[str]:
    """What Python may still want to import: its own library, NumPy's, and the parts of the grader that run here."""
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

    import grader.diagnosis.faults
    import grader.programs.runtime
    import grader.programs.sandbox
    import grader.ptx

    for package in (grader.ptx, grader.programs.runtime, grader.programs.sandbox):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in ("ctypes.util", "dataclasses", "struct", "traceback", "grader.programs.emulated"):
        importlib.import_module(name)
