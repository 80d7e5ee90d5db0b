"""How submissions are to be graded: what the command line asks for, in one record that every stage is handed."""

from __future__ import annotations

import msgspec

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
    predict: str = "off"


DEFAULTS = GradeOptions()
