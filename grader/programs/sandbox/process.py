"""Starting the process of a program, and what is said with it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

from grader.errors import InternalError
from grader.message import msg
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.processes.child import END_WAIT_S, Child, ChildProgram
from grader.programs.records import Observation
from grader.programs.sandbox.messages import FROM_PROGRAM, Broken, Code, Done, Order, Printed, Wanted


class ProgramProcess:
    """A process for one program, started at once so that it warms up while the program is compiled."""

    def __init__(self, use_landlock: bool = True) -> None:
        kept = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE",) if name in os.environ}
        program = ChildProgram(
            "grader.programs.sandbox.worker",
            () if use_landlock else ("without-landlock",),
            # Lines of the host's code in what wasmtime says of a crash.
            environment={"WASMTIME_BACKTRACE_DETAILS": "1", **kept},
            is_forkable=True,
        )
        self._child = Child(program, FROM_PROGRAM)
        self._is_ready = False
        self.has_ended = False

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._child.pid

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
            if not self._is_ready:
                channel.receive(deadline)
                self._is_ready = True
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
            self.has_ended = True
            return Observation(None, [], [], msg("programs.process_died", reason=str(self._child.end(END_WAIT_S))))
