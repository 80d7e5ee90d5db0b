"""What the grader and the process of a program say to each other.

The process says that it is ready, is given an `Order`, prints and asks for code as often as it likes, and ends it with
`Done`, when another may follow, or `Broken`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from grader.programs.records import FunctionCall, Observation, RunLimits


class Order(msgspec.Struct, frozen=True, tag="order"):
    """A program to run.

    module: its host code as WebAssembly.  stdin: what it reads there.  files: those that it may open, by name.
    arguments: with the program's own name first.  model: what `runtime.devices.model_of` knows.
    units: names of its files; sources: their text, kernels without bodies; unused: places whose error nobody looks at,
    as file and line; parameters: names of the parameters of kernels.
    wanted: files whose contents are wanted when it has ended, and how many bytes of each.
    """

    module: bytes
    stdin: bytes
    files: Mapping[str, bytes]
    arguments: Sequence[bytes]
    model: str
    units: Sequence[str]
    sources: Mapping[str, str]
    unused: Sequence[tuple[str, int]]
    parameters: Mapping[str, Sequence[str]]
    limits: RunLimits
    calls: Sequence[FunctionCall] = ()
    wanted: Mapping[str, int] = {}


class Code(msgspec.Struct, frozen=True, tag="code"):
    """PTX, or "" and the reason: the answer to `Wanted`.

    compiler: whose it is, "nvrtc" or "clang".  cubin: the same as machine code, where a GPU runs it.
    log, entries: of a program's own source, what the compiler said and the symbols by name expression.
    """

    ptx: str
    reason: str
    compiler: str = "nvrtc"
    cubin: bytes = b""
    log: str = ""
    entries: Mapping[str, str] = {}


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The process is confined, by Landlock where the kernel has it.

    capability: of the GPU that kernels will run on, (0, 0) for the emulator.  lacking: why there is none, where one was
    to be used.
    """

    has_landlock: bool
    capability: tuple[int, int] = (0, 0)
    lacking: str = ""


class Printed(msgspec.Struct, frozen=True, tag="printed"):
    """What the program printed to a descriptor, 1 or 2."""

    descriptor: int
    data: bytes


class Wanted(msgspec.Struct, frozen=True, tag="wanted"):
    """Device code that the program needs: of the file with that number, with these templates' name expressions.

    whole: with every kernel that the file registers, whatever it takes: NVRTC has not given all of them.
    sources, options: not of a file but of these texts, which the program hands to NVRTC itself: the first, and what it
    includes.
    """

    unit: int
    names: Sequence[str]
    whole: bool = False
    sources: Sequence[tuple[str, str]] = ()
    options: Sequence[str] = ()


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The program came to an end, whichever."""

    observation: Observation


class Broken(msgspec.Struct, frozen=True, tag="broken"):
    """A fault of ours; traceback: for the log."""

    reason: str
    traceback: str


TO_PROGRAM = msgspec.msgpack.Decoder(Order | Code)
FROM_PROGRAM = msgspec.msgpack.Decoder(Ready | Printed | Wanted | Done | Broken)
"""Made when this is imported: see `grader.processes.channel.Channel`."""
