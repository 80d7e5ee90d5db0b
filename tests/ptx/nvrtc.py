"""CUDA C++ to PTX for tests, through NVRTC; needs no GPU."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cuda.bindings import nvrtc

DATA = Path(__file__).parent / "data"


def compile_ptx(source: str, arch: str = "compute_75", options: Sequence[str] = (), name: str = "main.cu") -> str:
    """PTX of a CUDA source, with line information; compiled once per process.

    Raises RuntimeError with the compiler's log where the source does not compile.
    """
    return _compile(source, arch, tuple(options), name)


def compile_file(name: str, arch: str = "compute_75", options: Sequence[str] = ()) -> str:
    """PTX of a file in `tests/ptx/data`."""
    return compile_ptx((DATA / name).read_text(encoding="utf-8"), arch, options)


@cache
def header_options() -> tuple[str, ...]:
    """Options that let a source include CUDA's own headers, which the NVRTC wheel carries inside the library."""
    folder = tempfile.mkdtemp(prefix="nvrtc-headers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    result = nvrtc.nvrtcInstallBundledHeaders(folder.encode(), 0)
    if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC did not unpack its headers: {result[0].name}")
    return (f"-I{folder}", f"-I{folder}/cccl")


def _precompiled(source: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """The option to read CUDA's own headers once per process: that takes 1.2 s, a kernel that includes them 0.4 s.

    `cuda/barrier` cannot be kept: every attempt costs another second.
    """
    known = any(header in source for header in ("<cooperative_groups", "<cuda/atomic>"))
    return ("--pch",) if known and "<cuda/barrier>" not in source and options[:2] == header_options() else ()


@cache
def _compile(source: str, arch: str, options: tuple[str, ...], name: str) -> str:
    """PTX, kept for other processes and the next run of the tests where `COMPILED_PTX` names a folder."""
    folder = os.environ.get("COMPILED_PTX")
    if not folder:
        return _compiled(source, arch, options, name)
    # CUDA's own headers lie in another folder each time.
    named = [option for option in options if option not in header_options()], len(options)
    key = repr((source, arch, named, name, nvrtc.nvrtcVersion(), nvrtc.__file__))
    kept = Path(folder) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.ptx"
    with contextlib.suppress(OSError):
        return kept.read_text("utf-8")
    ptx = _compiled(source, arch, options, name)
    own = kept.with_suffix(f".{os.getpid()}")
    own.write_text(ptx, "utf-8")
    own.replace(kept)
    return ptx


def _compiled(source: str, arch: str, options: tuple[str, ...], name: str) -> str:
    error, program = nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, None, None)
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(error.name)
    try:
        flags = [f"--gpu-architecture={arch}", "-lineinfo", "-default-device", *options, *_precompiled(source, options)]
        if "-G" in flags:
            flags.remove("-lineinfo")
        (error,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = bytes(size + 8)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.rstrip(b"\0").decode(errors="replace"))
        _, size = nvrtc.nvrtcGetPTXSize(program)
        # A buffer of its own each time: the call writes into the bytes object.
        ptx = bytes(size + 8)
        nvrtc.nvrtcGetPTX(program, ptx)
        return ptx.decode()
    finally:
        nvrtc.nvrtcDestroyProgram(program)
