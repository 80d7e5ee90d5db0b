"""A few launches written to a folder, for `grader.gpu.device.replay` to carry out while a profiler watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grader.backends.base import LaunchRequest
from grader.gpu.host.session import launch_message
from grader.gpu.host.shared_buffer import SharedBuffer
from grader.gpu.messages import SCRIPT_NAME, Script


def write(folder: Path, modules: Mapping[str, bytes], launches: Sequence[tuple[str, LaunchRequest]]) -> None:
    """Write launches, each with the name of its module, and the machine code that they need."""
    messages = []
    for index, (module, request) in enumerate(launches):
        buffer = SharedBuffer()
        messages.append(launch_message(module, request, buffer.place(request)))
        buffer.fill()
        (folder / f"memory.{index}").write_bytes(buffer.content())
        buffer.close()
    (folder / SCRIPT_NAME).write_bytes(msgspec.msgpack.encode(Script(dict(modules), messages)))
