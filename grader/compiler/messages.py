"""What the grader and its compiler process say to each other.  Program text and what is made of it are bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """NVRTC is loaded and the process confined.

    headers: the folder of the device's headers, "" while they are not unpacked.
    """

    version: str
    has_landlock: bool
    headers: str


class Unusable(msgspec.Struct, frozen=True, tag="unusable"):
    """There will be no compiling.

    why: "no_toolkit" (NVRTC brings no headers and no toolkit does; detail: its version), "no_headers" (they cannot be
      unpacked), "unusable" (NVRTC cannot be loaded).
    """

    why: Literal["no_toolkit", "no_headers", "unusable"]
    detail: str


class Compile(msgspec.Struct, frozen=True, tag="compile"):
    """A source to compile; see `grader.compiler.nvrtc.compile_source`."""

    file: str
    source: bytes
    headers: Mapping[str, bytes]
    names: Sequence[str]
    options: Sequence[str]
    cpu_seconds: float
    data_bytes: int


class Compiled(msgspec.Struct, frozen=True, tag="compiled"):
    """What came of it.

    status: "ok", "errors" (of the source), "no_memory" (beyond this process's bound), "refused" (NVRTC's own reason,
      in the log).
    symbols: lowered name by name expression.
    """

    status: Literal["ok", "errors", "no_memory", "refused"]
    log: bytes
    ptx: bytes = b""
    cubin: bytes = b""
    symbols: Mapping[str, bytes] = {}


FROM_COMPILER = msgspec.msgpack.Decoder(Ready | Unusable | Compiled)
"""Made when this is imported: see `grader.processes.channel.Channel`."""
