"""How submissions are to be graded, in one record that every stage is handed, and what gradings of one user's files
leave for the next: none comes out otherwise for it, only sooner.
"""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

import msgspec

from grader.lab.checks import View

BACKENDS = ("auto", "gpu", "emulator")


class GradeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The same for every submission of a run.

    lab: its id; "" for a lab that is handed over beside.  backend: one of `BACKENDS`.
    language: of messages and reports.  labs_folders: folders with more labs.
    remeasure: time anew what was timed before.  profilers: other tools to ask on a GPU, "ncu", "compute-sanitizer".
    sweeps: False leaves out the lab's sweeps, on which no mark depends.
    repairs: False leaves out the search for the smallest changes that make wrong kernels right, and with predicted
      times right ones faster.
    answers: True leaves them in results of a lab that shows them to teachers only.
    view: who reads the results: students are not told what the lab's sealed tests are made of, nor the answers.
    times: False leaves out the times of kernels, and with them the marks for speed.
    predict: the GPU that times are predicted for; "auto": the lab's, else the one at hand, else a T4; "off": none are.
    stepwise: whether a variant's checks are told as soon as they are judged.
    """

    lab: str = ""
    backend: str = "auto"
    language: str = "en"
    labs_folders: tuple[str, ...] = ()
    remeasure: bool = False
    profilers: tuple[str, ...] = ()
    sweeps: bool = True
    times: bool = True
    stepwise: bool = False
    repairs: bool = True
    answers: bool = False
    view: View = "students"
    predict: str = "off"


DEFAULTS = GradeOptions()


class Warm:
    """Processes that have started, and what was found out before, by what it follows from.

    For the files of one user: what a source did to the compiler's memory must not meet another's.  A context manager
    for the thread that grades; leaving it ends the processes.
    """

    def __init__(self) -> None:
        from grader.launching.programs import RememberedLaunches
        from grader.programs.remembered import LastObserved, RememberedPrograms

        self.launches = RememberedLaunches()
        self.programs = RememberedPrograms()
        self.seen = LastObserved()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        from grader.compiler.process import CompilerProcess
        from grader.processes import fork_server
        from grader.processes.pool import Beside

        self._stack.enter_context(fork_server.kept())
        self.compiler = self._stack.enter_context(CompilerProcess())
        self.beside = Beside()
        self._stack.callback(self.beside.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
