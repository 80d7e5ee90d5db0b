"""What was seen of a submission's programs while they ran: what binding takes before anything that the text says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.message import Message

Contents = Literal["", "zeros", "data", "kernel"]
"""What a buffer held before a launch: nothing that anybody wrote, zeros, what the host copied, what a kernel wrote."""


@dataclass(frozen=True, slots=True)
class SeenArgument:
    """An argument of a launch.

    value: of a number; None for a pointer or a struct.
    buffer: name of the array that a pointer points to, "" where it points to none; `buffer_bytes`, `offset_bytes`: how
      large that is, and where in it.
    before: what the buffer held; digest: of the host's data in it, "" where unknown.
    read_back: the host copied from it after the launch.
    raw: of a small struct, its bytes.
    """

    name: str
    type_text: str
    value: int | float | None = None
    buffer: str = ""
    buffer_bytes: int = 0
    offset_bytes: int = 0
    before: Contents = ""
    digest: str = ""
    read_back: bool = False
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A launch in the order of a run.

    launch: which of `SeenRun.launches` it is, -1: none of these.  buffers: of each of its arguments the array, by a
    number that no other array of the run has; 0 for none.
    """

    launch: int
    buffers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SeenCopy:
    """A copy between the host and an array of the device, or what set it: see `grader.programs.records.ObservedCopy`.

    launches: how many of `SeenRun.order` had been made before.
    """

    way: str
    file: str
    line: int
    array: str
    serial: int
    bytes: int
    is_whole: bool
    host: int = 0
    launches: int = 0


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A number of the program's that was made another for a run: a constant of `file`; of no file: an argument.

    name: "" where it has none.  value: what the constant is then; `before` and `after` are as the text has them, as
      "16 << 20" and "16 << 10".
    """

    file: str
    line: int
    name: str
    before: str
    after: str
    value: int = 0


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Two arguments of a launch in each other's place: the parameters, and what the launch has for each."""

    first: str
    first_given: str
    second: str
    second_given: str


@dataclass(frozen=True, slots=True)
class SeenLaunch:
    """A launch that a program made.

    kernel: its plain name; template_arguments: what stands between <…>, () for no template.
    refused: no device can make it.
    checked: the program looked for its error afterwards.
    change: of the run that it was made in, None where that was the program as it is.
    filled: names of small variables of the device into which the host had copied something, and what.
    exchanged: the launch has two of them in each other's place; `arguments` are as the kernel means them.
    """

    kernel: str
    template_arguments: tuple[str, ...]
    file: str
    line: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[SeenArgument, ...]
    refused: bool = False
    checked: bool = False
    change: SeenChange | None = None
    filled: tuple[tuple[str, bytes], ...] = ()
    exchanged: Exchanged | None = None


@dataclass(frozen=True, slots=True)
class SeenFault:
    """Something that the host code did wrong, or untidily (`is_untidy`): `kind` as `grade run` has it."""

    kind: str
    file: str
    line: int
    message: Message
    is_untidy: bool = False


@dataclass(frozen=True, slots=True)
class SeenWord:
    """A line that a program printed of its own results: right or wrong.

    kernel: whose results, by its plain name; "" where that is not clear.  line: of the launch; 0 where unknown.
    """

    text: str
    is_right: bool
    kernel: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run of a program: `files` are its own, the one with `main` first.

    ended: it came to its own end, so that what it did not launch it does not launch.
    cause: why it did not run, or not to its end; `cause_line` in `cause_file`: where it was then, 0 where unknown.
    arguments, stdin: what it was given.
    probe: made at other sizes than the program's own, to see what its launches become.
    results: made with its kernels, to see what comes of them: its launches are others' business.  said: what it says of
      its results.  exit: with which code it ended, None where it did not.
    asked_for: kernels that it launched, be it with nothing to work upon.
    order: the launches that it made.  copies: between host and device, in their order.  Both () where there were more
      of either than are kept: what the rest did nobody knows.
    """

    files: tuple[str, ...]
    launches: tuple[SeenLaunch, ...] = ()
    ended: bool = False
    cause: Message | None = None
    cause_file: str = ""
    cause_line: int = 0
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    change: SeenChange | None = None
    probe: bool = False
    faults: tuple[SeenFault, ...] = ()
    results: bool = False
    said: tuple[SeenWord, ...] = ()
    exit: int | None = None
    asked_for: tuple[str, ...] = ()
    order: tuple[SeenStep, ...] = ()
    copies: tuple[SeenCopy, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """All runs of a submission's programs, those as they were handed in first.

    uncommented: file, kernel and line of launches that stand in comments, and were taken as if they did not.
    failed: they could not be run for a reason that is not theirs, so no check can be judged.
    absent: this system runs no programs at all, so that what is graded may differ from elsewhere.
    """

    runs: tuple[SeenRun, ...] = ()
    failed: Message | None = None
    absent: Message | None = None
    uncommented: tuple[tuple[str, str, int], ...] = ()

    @property
    def launches(self) -> tuple[SeenLaunch, ...]:
        """Of all runs that were made to see them, in order, each once."""
        runs = (run for run in self.runs if not run.probe and not run.results)
        return tuple(dict.fromkeys(launch for run in runs for launch in run.launches))

    @property
    def probes(self) -> tuple[SeenLaunch, ...]:
        """Launches at other sizes than the program's own."""
        return tuple(dict.fromkeys(launch for run in self.runs if run.probe for launch in run.launches))

    def ended(self, file: str) -> bool:
        """Whether a program with that file came to its own end."""
        return any(run.ended for run in self.runs if file in run.files and not run.results)


NOTHING_OBSERVED = Observed()
