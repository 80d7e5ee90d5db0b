"""The compiler process: starts, loads NVRTC, confines itself, then compiles what it is sent until the pipe closes.

Started by `grader.compiler.process` as `python -I -c …`.  It imports little, as its start is part of every run.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path


class CannotUnpack(Exception):
    """The folder for NVRTC's headers cannot be written."""


class NoHeaders(Exception):
    """NVRTC brings no headers of the device and no toolkit has them; its text is NVRTC's version."""


def main(arguments: list[str]) -> None:
    """Serve compile requests on standard input and output.

    arguments: the folder of NVRTC's headers; a JSON list of folders that may hold a toolkit's; then "install" to unpack
      NVRTC's where they are missing, and "without-landlock" to do as on a kernel that lacks it.
    """
    results = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    # What the compiler prints must not get between the frames.
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)

    from grader.compiler import protocol

    try:
        toolkits = [Path(folder) for folder in json.loads(arguments[1])]
        ready = _prepare(arguments[0], toolkits, "install" in arguments[2:], "without-landlock" not in arguments[2:])
    except NoHeaders as error:
        protocol.send(results, [b"no-toolkit", str(error).encode()])
        return
    except CannotUnpack as error:
        protocol.send(results, [b"no-headers", str(error).encode()])
        return
    except Exception as error:
        protocol.send(results, [b"failed", f"{type(error).__name__}: {error}".encode()])
        return
    try:
        protocol.send(results, [b"ready", *ready])
        while True:
            request = protocol.receive(0)
            protocol.send(results, _answer(request))
    except protocol.PeerGone:
        return


def _prepare(header_folder: str, toolkits: list[Path], install: bool, use_landlock: bool) -> list[bytes]:
    """Load NVRTC and give up every other right; version, kind of confinement and header folder as sent back."""
    from grader.compiler import nvrtc, sandbox

    sandbox.die_with_parent()
    version = ".".join(map(str, nvrtc.version()))
    headers = _headers(Path(header_folder) / version, toolkits, install)
    readable = [nvrtc.library_folder(), *([str(headers)] if headers else [])]
    confined = use_landlock and sandbox.confine_files(readable)
    sandbox.limit_resources()
    return [version.encode(), b"landlock" if confined else b"none", str(headers or "").encode()]


def _headers(unpacked: Path, toolkits: list[Path], install: bool) -> Path | None:
    """The folder of the device's headers: NVRTC's own in `unpacked`, or a toolkit's where NVRTC brings none.

    None: they were not unpacked yet and nothing asks for them (not `install`).
    """
    from grader.compiler import nvrtc, toolkit

    if unpacked.is_dir():
        return unpacked
    if not nvrtc.brings_headers():
        found = toolkit.matching_folder(toolkits, nvrtc.version())
        if found is None and install:
            raise NoHeaders(unpacked.name)
        return found
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


def _answer(request: list[bytes]) -> list[bytes]:
    """Compile what `request` holds: see `grader.compiler.process` for its parts."""
    from grader.compiler import nvrtc, sandbox

    cpu_seconds, option_count, header_count = (int(part) for part in request[:3])
    rest = request[3:]
    options, rest = [part.decode() for part in rest[:option_count]], rest[option_count:]
    pairs, rest = rest[: 2 * header_count], rest[2 * header_count :]
    headers = {name.decode(): text for name, text in zip(pairs[::2], pairs[1::2], strict=True)}
    file, source, names = rest[0].decode(), rest[1], [part.decode() for part in rest[2:]]
    sandbox.allow_cpu_seconds(cpu_seconds)
    try:
        output = nvrtc.compile_source(file, source, headers, names, options)
    except (RuntimeError, MemoryError) as error:
        return [b"refused", str(error).encode()]
    symbols = [part for name, symbol in output.symbols.items() for part in (name.encode(), symbol)]
    return [b"ok" if output.succeeded else b"errors", output.log[: 1 << 20], output.ptx, output.cubin, *symbols]


if __name__ == "__main__":
    main(sys.argv[1:])
