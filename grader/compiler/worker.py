"""The compiler process: starts, loads NVRTC, confines itself, then compiles what it is sent until the pipe closes.

Started by `grader.compiler.process`.  It imports little, as its start is part of every run.  It can read NVRTC's own
files and write none, holds no secret, and has an empty environment and no arguments to hide.  Resource limits bound its
memory and processor time; the parent kills it when the wall-clock limit has passed (an included FIFO uses no time).

NVRTC is reached through cuda.bindings: one source in, PTX (and CUBIN) out.  Before 13.3 the device's headers lie in
other packages, of which a toolkit's folder is looked for.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from grader.compiler.result import Compile, Compiled, Ready, Unusable

# One file of each package that device headers include: nvidia-cuda-runtime, -crt and -cccl.
_LANDMARKS = ("cooperative_groups.h", "crt/mma.h", "cccl/nv/target")
_VERSION = re.compile(r"^#define\s+CUDA_VERSION\s+(\d{1,9})", re.MULTILINE)


def header_folders(environment: Mapping[str, str], packages: Iterable[str]) -> list[Path]:
    """Where a toolkit's headers may lie, likeliest first; absolute, none of them need exist.

    environment: CUDA_HOME and CUDA_PATH name a toolkit's folder; packages: folders that pip installs to (`sys.path`).
    """
    named = [environment.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    folders = [Path(folder) / "include" for folder in named if folder.startswith("/")]
    for folder in packages:
        folders += sorted(Path(folder).absolute().glob("nvidia/cu[0-9]*/include"))
    return [*folders, Path("/usr/local/cuda/include")]


def matching_folder(folders: Iterable[Path], version: tuple[int, int]) -> Path | None:
    """The folder with the headers for NVRTC `version`: the very same version, else one of the same major version.

    A folder that lacks some of the headers, or that cannot be read, does not count.
    """
    versioned = [(folder, of_folder) for folder in folders if (of_folder := _version(folder)) is not None]
    same = [folder for folder, of_folder in versioned if of_folder == version]
    related = [folder for folder, of_folder in versioned if of_folder[0] == version[0]]
    chosen = next(iter(same + related), None)
    # The real folder: what confines the compiler goes by it.
    return chosen.resolve() if chosen is not None else None


def _version(folder: Path) -> tuple[int, int] | None:
    """Version of the toolkit whose headers lie in `folder`, (13, 0); None where they are not all there."""
    try:
        if not all((folder / landmark).is_file() for landmark in _LANDMARKS):
            return None
        match = _VERSION.search((folder / "cuda.h").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return divmod(int(match[1]) // 10, 100) if match else None


_FAILED_NAME = re.compile(r"#pragma nv_mangled_name (.*)")
_NAME_MAP = "__nv_name_map("
FRONT_END = "-Xcudafe="
"""Begins an option for the compiler's front end."""
_NOT_KNOWN = b"Command-line error: invalid option"
_INSTALL = "nvrtcInstallBundledHeaders"
_BEYOND_MINIMAL = re.compile(rb"cuda|tex|surf|Tex|Surf|\bCU|<<<|include|import")
"""What may be, or bring, a name that NVRTC leaves out with `--minimal` (NVRTC user guide, "Supported Compile Options"):
textures, surfaces, types and functions of the runtime, launches from the device."""


@dataclass(frozen=True, slots=True)
class Output:
    """What NVRTC made of a source.

    symbols: lowered name by name expression; an expression that names nothing is left out.
    """

    succeeded: bool
    log: bytes
    ptx: bytes = b""
    cubin: bytes = b""
    symbols: Mapping[str, bytes] = field(default_factory=dict)


class GaveUp(RuntimeError):
    """NVRTC ran out of memory, or fell over its own feet: what it was given is too much for it."""


def version() -> tuple[int, int]:
    """NVRTC's version; loads the library.

    Raises Exception: whatever the bindings raise when the library is missing or broken.
    """
    from cuda.bindings import nvrtc

    result, major, minor = nvrtc.nvrtcVersion()
    _check(result)
    return int(major), int(minor)


def library_folder() -> str:
    """The folder that the loaded NVRTC lies in, with its companion library of built-ins."""
    return _library_file().rpartition("/")[0]


def _library_file() -> str:
    with Path("/proc/self/maps").open() as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if "libnvrtc.so" in path:
                return f"/{path}"
    raise RuntimeError("NVRTC is loaded from no file")


def brings_headers() -> bool:
    """Whether the loaded NVRTC holds the device's headers (fp16, cooperative groups, …): since 13.3."""
    return hasattr(_library(), _INSTALL)


def install_headers(folder: str) -> None:
    """Unpack the headers that come inside NVRTC into `folder`.

    Raises RuntimeError: NVRTC could not; in its own words.
    """
    # Past the bindings: those of an earlier version lack the function that the library has.
    words = ctypes.c_char_p()
    if getattr(_library(), _INSTALL)(folder.encode(), ctypes.c_uint(0), ctypes.byref(words)):
        raise RuntimeError((words.value or b"NVRTC does not say why").decode(errors="replace"))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(_library_file())


def compile_source(
    file: str, source: bytes, headers: Mapping[str, bytes], names: Sequence[str], options: Sequence[str]
) -> Output:
    """Compile `source`, called `file` in messages; `names` are C++ expressions that name kernels.

    A name that NVRTC cannot find or that is ambiguous does not spoil the rest: the source is compiled again without it.
    """
    if any(option.startswith("--gpu-architecture=compute_") for option in options) and not _BEYOND_MINIMAL.search(
        source
    ):
        # The same PTX in four fifths of the time; what is wrong is told of all that there is.
        output = _compile(file, source, headers, names, [*options, "--minimal"])
        if output.succeeded:
            return output
    output = _compile(file, source, headers, names, options)
    log = output.log.decode("utf-8", errors="replace")
    if output.succeeded or _NAME_MAP not in log:
        return output
    failed = {match.strip() for match in _FAILED_NAME.findall(log)}
    return _compile(file, source, headers, [name for name in names if name not in failed], options)


def _compile(
    file: str, source: bytes, headers: Mapping[str, bytes], names: Sequence[str], options: Sequence[str]
) -> Output:
    from cuda.bindings import nvrtc

    header_names = [name.encode() for name in headers] or None
    header_texts = list(headers.values()) or None
    result, program = nvrtc.nvrtcCreateProgram(source, file.encode(), len(headers), header_texts, header_names)
    _check(result)
    try:
        for name in names:
            _check(nvrtc.nvrtcAddNameExpression(program, name.encode())[0])
        encoded = [option.encode() for option in options]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = _fetch(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0")
        of_front_end = [option for option in options if option.startswith(FRONT_END)]
        if of_front_end and (result == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION or _NOT_KNOWN in log):
            # They are handed on to a part that NVRTC's documentation does not speak of: a version may lack them.
            return _compile(file, source, headers, names, [o for o in options if o not in of_front_end])
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            return Output(succeeded=False, log=log)
        _check(result)
        symbols = {}
        for name in names:
            result, symbol = nvrtc.nvrtcGetLoweredName(program, name.encode())
            _check(result)
            symbols[name] = bytes(symbol)
        ptx = _fetch(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).rstrip(b"\0")
        cubin = _fetch(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        return Output(succeeded=True, log=log, ptx=ptx, cubin=cubin, symbols=symbols)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _fetch(size_of: Any, copy: Any, program: Any) -> bytes:
    result, size = size_of(program)
    _check(result)
    if not size:
        return b""
    # A fresh buffer with room to spare: NVRTC writes into the bytes object itself, and CPython shares short ones.
    buffer = bytes(size + 8)
    _check(copy(program, buffer)[0])
    return buffer[:size]


def _check(result: Any) -> None:
    if result.name in {"NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_INTERNAL_ERROR"}:
        raise GaveUp(f"NVRTC: {result.name}")
    if int(result) != 0:
        raise RuntimeError(f"NVRTC: {result.name} ({int(result)})")


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
    from grader.processes import channel, limits  # noqa: F401

    version()


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
    from grader.processes import limits

    version_text = ".".join(map(str, version()))
    headers = _headers(Path(header_folder) / version_text, toolkits, install)
    readable = [library_folder(), *([str(headers)] if headers else [])]
    confined = use_landlock and limits.confine_files(readable)
    limits.bound_for_good(file_bytes=0, descriptors=DESCRIPTORS, address_bytes=ADDRESS_BYTES, data_bytes=DATA_BYTES)
    return Ready(version_text, confined, str(headers or ""))


def _headers(unpacked: Path, toolkits: list[Path], install: bool) -> Path | None:
    """The folder of the device's headers: NVRTC's own in `unpacked`, or a toolkit's where NVRTC brings none.

    None: they were not unpacked yet and nothing asks for them (not `install`).
    """

    if unpacked.is_dir():
        return unpacked
    if not brings_headers():
        folder = matching_folder(toolkits, version())
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

    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
    try:
        install_headers(str(fresh))
        # Where another process was quicker, its folder is not empty and this fails.
        with contextlib.suppress(OSError):
            fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _answer(request: Compile) -> Compiled:
    from grader.processes import limits

    limits.allow_cpu_seconds(request.cpu_seconds)
    limits.allow_data_bytes(request.data_bytes)
    try:
        output = compile_source(request.file, request.source, request.headers, request.names, request.options)
    except (MemoryError, GaveUp) as error:
        return Compiled("no_memory", str(error).encode())
    except RuntimeError as error:
        return Compiled("refused", str(error).encode())
    status: Literal["ok", "errors"] = "ok" if output.succeeded else "errors"
    return Compiled(status, output.log[:MAX_LOG_BYTES], output.ptx, output.cubin, output.symbols)
