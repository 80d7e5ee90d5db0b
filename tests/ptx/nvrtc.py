"""CUDA C++ to PTX for tests, through NVRTC; needs no GPU."""

from __future__ import annotations

import atexit
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
