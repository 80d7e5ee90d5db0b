"""Starting the process of a program, and what is said with it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

from grader.errors import InternalError
from grader.message import msg
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.processes.child import END_WAIT_S, Child, ChildProgram, Ending
from grader.programs.records import Observation
from grader.programs.sandbox.messages import FROM_PROGRAM, Broken, Code, Done, Order, Printed, Ready, Wanted

_OF_DRIVER = ("CUDA_VISIBLE_DEVICES", "NVIDIA_", "LD_LIBRARY_PATH")
"""Beginnings of names of variables that the driver, and who looks for it, reads."""


class ProgramProcess:
    """A process for one program, started at once so that it warms up while the program is compiled.

    on_gpu: kernels run on a GPU; then it is good for one run, as a fault takes the context along.
    """

    def __init__(self, use_landlock: bool = True, on_gpu: bool = False) -> None:
        kept = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE",) if name in os.environ}
        if on_gpu:
            kept |= {name: value for name, value in os.environ.items() if name.startswith(_OF_DRIVER)}
            kept["CUDA_CACHE_DISABLE"] = "1"
        options = ([] if use_landlock else ["without-landlock"]) + (["gpu"] if on_gpu else [])
        program = ChildProgram(
            "grader.programs.sandbox.worker",
            tuple(options),
            # Lines of the host's code in what wasmtime says of a crash.
            environment={"WASMTIME_BACKTRACE_DETAILS": "1", **kept},
            is_forkable=not on_gpu,
        )
        self._child = Child(program, FROM_PROGRAM)
        self._ready: Ready | None = None
        self.has_ended = False

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._child.pid

    def ready(self, deadline: float | None = None) -> Ready:
        """What it says when it is ready.

        Raises
        ------
        DeadlinePassed, PeerGone : it does not say so.
        """
        if self._ready is None:
            said = self._child.channel.receive(deadline)
            assert isinstance(said, Ready)
            self._ready = said
        return self._ready

    def ended(self) -> Ending:
        """How a process that has gone came to its end."""
        self.has_ended = True
        return self._child.end(END_WAIT_S)

    def close(self) -> None:
        """End the process."""
        self.has_ended = True
        self._child.end()

    def run(
        self,
        order: Order,
        code: Callable[[Wanted], Code],
        emit: Callable[[int, bytes], None],
    ) -> Observation:
        """Run a program; again, or with other arguments, while the process has not ended, as it does of a failure.

        Parameters
        ----------
        code : gives the device code that the program wants.
        emit : told what the program prints.

        Raises
        ------
        InternalError : the process failed by a fault of ours.
        """
        channel = self._child.channel
        seconds = order.limits.wall_seconds
        deadline = time.monotonic() + seconds if math.isfinite(seconds) else None
        try:
            self.ready(deadline)
            channel.send(order)
            while True:
                said = channel.receive(deadline)
                match said:
                    case Printed():
                        emit(said.descriptor, said.data)
                    case Wanted():
                        channel.send(code(said))
                    case Done():
                        return said.observation
                    case Broken():
                        error = InternalError(msg("programs.process_failed", reason=said.reason[:300]))
                        # For the log file that the command line writes.
                        error.add_note(said.traceback)
                        self.close()
                        raise error
        except DeadlinePassed:
            self.close()
            return Observation(None, [], [], msg("programs.hangs", seconds=int(seconds)))
        except PeerGone:
            return Observation(None, [], [], msg("programs.process_died", reason=str(self.ended())))
