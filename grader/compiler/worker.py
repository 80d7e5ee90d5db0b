"""The compiler process: starts, loads NVRTC, confines itself, then compiles what it is sent until the pipe closes.

Started by `grader.compiler.process`.  It imports little, as its start is part of every run.  It can read NVRTC's own
files and write none, holds no secret, and has an empty environment and no arguments to hide.  Resource limits bound its
memory and processor time; the parent kills it when the wall-clock limit has passed (an included FIFO uses no time).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Literal

import msgspec

from grader.compiler.result import Compile, Compiled, Ready, Unusable

MAX_LOG_BYTES = 1 << 20
ADDRESS_BYTES = 2 << 30
DATA_BYTES = 640 << 20
"""Memory of its own, at most; see `grader.compiler.process`."""
DESCRIPTORS = 64


class CannotUnpack(Exception):
    """The folder for NVRTC's headers cannot be written."""


class NoHeaders(Exception):
    """NVRTC brings no headers of the device and no toolkit has them; its text is NVRTC's version."""


def prepare() -> None:
    """Load what any compilation needs."""
    from grader.compiler import nvrtc
    from grader.processes import channel, limits  # noqa: F401

    nvrtc.version()


def main(connection: socket.socket, header_folder: str, toolkits: str, *options: str) -> None:
    """Serve compile requests on `connection` until it is closed.

    header_folder: where NVRTC's headers are; toolkits: a JSON list of folders that may hold a toolkit's.
    options: "install" to unpack NVRTC's headers where they are missing; "without-landlock" to do as on a kernel that
      lacks it.
    """
    from grader.processes.channel import Channel, PeerGone

    channel: Channel[Compile] = Channel(connection, msgspec.msgpack.Decoder(Compile))
    # Line tables hold the working folder: a fixed one keeps outputs alike and says nothing of this machine.
    os.chdir("/")
    with contextlib.suppress(PeerGone):
        try:
            folders = [Path(folder) for folder in json.loads(toolkits)]
            ready = _prepare(header_folder, folders, "install" in options, "without-landlock" not in options)
        except NoHeaders as error:
            channel.send(Unusable("no_toolkit", str(error)))
            return
        except CannotUnpack as error:
            channel.send(Unusable("no_headers", str(error)))
            return
        except Exception as error:
            channel.send(Unusable("unusable", f"{type(error).__name__}: {error}"))
            return
        channel.send(ready)
        while True:
            channel.send(_answer(channel.receive()))


def _prepare(header_folder: str, toolkits: list[Path], install: bool, use_landlock: bool) -> Ready:
    """Load NVRTC and give up every other right."""
    from grader.compiler import nvrtc
    from grader.processes import limits

    version = ".".join(map(str, nvrtc.version()))
    headers = _headers(Path(header_folder) / version, toolkits, install)
    readable = [nvrtc.library_folder(), *([str(headers)] if headers else [])]
    confined = use_landlock and limits.confine_files(readable)
    limits.bound_for_good(file_bytes=0, descriptors=DESCRIPTORS, address_bytes=ADDRESS_BYTES, data_bytes=DATA_BYTES)
    return Ready(version, confined, str(headers or ""))


def _headers(unpacked: Path, toolkits: list[Path], install: bool) -> Path | None:
    """The folder of the device's headers: NVRTC's own in `unpacked`, or a toolkit's where NVRTC brings none.

    None: they were not unpacked yet and nothing asks for them (not `install`).
    """
    from grader.compiler import nvrtc

    if unpacked.is_dir():
        return unpacked
    if not nvrtc.brings_headers():
        folder = nvrtc.matching_folder(toolkits, nvrtc.version())
        if folder is None and install:
            raise NoHeaders(unpacked.name)
        return folder
    if not install:
        return None
    try:
        _install(unpacked)
    except OSError as error:
        raise CannotUnpack(f"{error.filename}: {error.strerror}") from error
    except RuntimeError as error:
        raise CannotUnpack(str(error)) from error
    return unpacked


def _install(folder: Path) -> None:
    """Unpack NVRTC's headers beside `folder`, then rename: another process sees all of them or none."""
    import shutil
    import tempfile

    from grader.compiler import nvrtc

    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
    try:
        nvrtc.install_headers(str(fresh))
        # Where another process was quicker, its folder is not empty and this fails.
        with contextlib.suppress(OSError):
            fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _answer(request: Compile) -> Compiled:
    from grader.compiler import nvrtc
    from grader.processes import limits

    limits.allow_cpu_seconds(request.cpu_seconds)
    limits.allow_data_bytes(request.data_bytes)
    try:
        output = nvrtc.compile_source(request.file, request.source, request.headers, request.names, request.options)
    except (MemoryError, nvrtc.GaveUp) as error:
        return Compiled("no_memory", str(error).encode())
    except RuntimeError as error:
        return Compiled("refused", str(error).encode())
    status: Literal["ok", "errors"] = "ok" if output.succeeded else "errors"
    return Compiled(status, output.log[:MAX_LOG_BYTES], output.ptx, output.cubin, output.symbols)
