"""Headers that come before a program, read by the compiler in advance: made once, kept in the user's cache.

The cache is bounded: what was used least lately goes when something new is made.  Who uses a file holds a lock on it,
and what is held is not removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grader.compiler.headers import STAND_INS
from grader.errors import InternalError
from grader.processes.child import Child, ChildProgram
from grader.programs.toolchain import zig
from grader.programs.toolchain.zig import Library

INCLUDE = Path(__file__).parent / "include"
MAX_KEPT_BYTES = 256 << 20
"""Size of all precompiled headers; those of one version of the grader take 18 MB."""

_COMMON = (
    "-x",
    "cuda",
    "-nocudainc",
    "-nocudalib",
    "-fdelayed-template-parsing",
    "-std=gnu++17",
    # A course's constant expressions take a few thousand; each evaluation may take so many.
    "-fconstexpr-steps=262144",
    "-ftemplate-depth=512",
    # A loop without an effect never ends, as it does where nvcc has compiled it.
    "-fno-finite-loops",
    "-gline-tables-only",
    "-Wno-everything",
    # Older programs have these, and every compiler of their time took them; g++'s library has them to this day.
    "-Wno-register",
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION",
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_BINDERS",
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_AUTO_PTR",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_BINDER_TYPEDEFS",
    "-Wunused-result",
    "-fno-caret-diagnostics",
    "-ferror-limit=10",
)
# nvcc has g++ compile the host's code as it stands: numbers wrap, bytes are read as any type, and a function whose
# `return` is missing goes back to its caller.
_AS_IT_STANDS = (
    *("-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks", "-fno-strict-return"),
    # What nobody has written is read, as with g++, and not whatever the compiler likes.
    *("-fno-builtin-malloc", "-fno-builtin-realloc", "-fno-builtin-aligned_alloc"),
)
# What a program does on the host to compare with takes most of its time: a third less with `-O2`, loops over vectors a
# quarter of it.
_FAST = ("-O2", "-msimd128")
# With this version a launch hands over each argument with its size.
FLAGS = (*_COMMON, *_AS_IT_STANDS, "--cuda-host-only", "-Xclang", "-target-sdk-version=9.0", *_FAST)
C_FLAGS = (
    *("-x", "c", "-std=gnu17", "-fno-finite-loops", "-gline-tables-only", "-Wno-everything", "-Wunused-result"),
    *("-fno-caret-diagnostics", "-ferror-limit=10", *_AS_IT_STANDS, *_FAST),
)
"""Flags for files of a program that are C."""
_WITH_DEVICE_NAMES = "-DGRADER_WHOLE"
# What of CUDA's own headers these would want and is not here: half precision beside them, and marks for profilers.
_LIBRARY_FLAGS = (
    "-D__CUDACC__",
    "-DCCCL_DISABLE_FP16_SUPPORT",
    "-DCCCL_DISABLE_BF16_SUPPORT",
    "-DCCCL_DISABLE_NVTX",
    "-DNVTX_DISABLE",
    # libc++'s string functions have overloads for const.
    "-D_LIBCUDACXX_STRING_H_HAS_CONST_OVERLOADS",
)
_DEVICE_FLAGS = (*_COMMON, _WITH_DEVICE_NAMES, "--cuda-device-only", "-Xclang", "-target-sdk-version=12.8", "-O2", "-S")
RUNTIME: tuple[str, ...] = ("cuda_runtime.h",)
SHORT = ("cuda_fp16.h", "cuda_bf16.h")
"""What Thrust and CUB include of CUDA's."""
USUAL = (
    *("algorithm", "array", "chrono", "fstream", "functional", "iomanip", "iostream", "limits", "map", "memory"),
    *("numeric", "random", "sstream", "stdexcept", "string", "tuple", "vector"),
)
"""C++ headers of course programs: to read one of them takes half a second."""


THRUST = (
    *("device_ptr", "device_vector", "host_vector", "copy", "count", "extrema", "fill", "for_each", "functional"),
    *("inner_product", "reduce", "scan", "sequence", "sort", "transform", "transform_reduce", "tuple", "unique"),
    *("iterator/counting_iterator", "iterator/transform_iterator", "iterator/zip_iterator", "execution_policy"),
)
"""Headers of Thrust, `thrust/….h`: reading them takes two seconds, and most are made of the same parts."""


_LINKABLE = ("-Xclang", "-fgpu-rdc", "--no-offload-new-driver")


@dataclass(frozen=True, slots=True)
class Half:
    """One of the halves that a program is compiled in.

    flags: the compiler's.  folders: of headers that come before ours, whoever may read them.
    """

    flags: tuple[str, ...]
    folders: tuple[Path, ...] = ()

    def include_flags(self) -> list[str]:
        """Return flags for the folders where headers are looked for."""
        return [flag for folder in (*self.folders, INCLUDE, STAND_INS) for flag in ("-isystem", str(folder))]

    def linkable(self) -> Half:
        """The same for files whose device code is linked: each may use what another defines."""
        return Half((*self.flags, *_LINKABLE), self.folders)

    def as_cpp20(self) -> Half:
        """The same for files that are C++20."""
        return Half(tuple("-std=gnu++20" if flag == "-std=gnu++17" else flag for flag in self.flags), self.folders)

    @property
    def is_linkable(self) -> bool:
        """Whether it is for such files."""
        return self.flags[-len(_LINKABLE) :] == _LINKABLE


HOST = Half(FLAGS)
HOST_WITH_DEVICE_NAMES = Half((*FLAGS, _WITH_DEVICE_NAMES))
"""For host code that device code stands in: bodies of lambdas, classes in functions."""


def device_half(architecture: str, library: Path | None = None) -> Half:
    """Device code for a virtual architecture, "compute_75"; library: `thrust_folder`, for programs that use it."""
    return _with_library(Half((*_DEVICE_FLAGS, _for(architecture))), library)


def host_half(architecture: str, library: Path | None) -> Half:
    """Host code of a program that uses the library; names of kernels hold the architecture."""
    return _with_library(Half((*FLAGS, _WITH_DEVICE_NAMES, _for(architecture))), library)


def _for(architecture: str) -> str:
    return f"--cuda-gpu-arch={architecture.replace('compute_', 'sm_', 1)}"


def _with_library(half: Half, folder: Path | None) -> Half:
    if folder is None:
        return half
    return Half((*half.flags, *_LIBRARY_FLAGS, f"-fmacro-prefix-map={folder}/="), (INCLUDE / "library", folder))


def thrust_folder() -> Path | None:
    """Return the folder of Thrust's, CUB's and libcu++'s headers (the extra `thrust`); None where they are missing."""
    for entry in sys.path:
        folder = Path(entry) / "nvidia" / "cuda_cccl" / "include"
        if (folder / "thrust" / "version.h").is_file():
            return folder.resolve()
    return None


@contextlib.contextmanager
def precompiled(headers: Sequence[str], library: Library, half: Half = HOST) -> Iterator[Path]:
    """`headers` as the compiler of a half wants them, in a file that stays while the context is open.

    Raises InternalError: they cannot be read or kept.
    """
    target = _place(headers, library, half)
    held = _held(target)
    while held is None:
        _make(headers, library, half)
        held = _held(target)
    try:
        yield target
    finally:
        os.close(held)


def begin() -> None:
    """Have a process make what most programs are compiled with, the library and the usual headers, where it is not
    there yet; whoever needs it meanwhile waits for it, and tells what is wrong with it."""
    global _beginning
    with contextlib.suppress(OSError):
        _beginning = Child(ChildProgram("grader.programs.toolchain.advance"), msgspec.msgpack.Decoder(None))


def main(_connection: socket.socket) -> None:
    """What `begin` has done."""
    with contextlib.suppress(InternalError, OSError), precompiled((*RUNTIME, *USUAL), zig.build()):
        pass


_beginning: Child[None] | None = None


def _held(target: Path) -> int | None:
    """Open a file with a lock that keeps it from being removed; None where it is not there."""
    import fcntl

    try:
        descriptor = os.open(target, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    if os.fstat(descriptor).st_nlink == 0:
        os.close(descriptor)
        return None
    with contextlib.suppress(OSError):
        os.utime(target)
    return descriptor


def _make(headers: Sequence[str], library: Library, half: Half) -> None:
    """Precompile the headers asked for and the usual ones, so that an image which is read-only has all of them."""
    with zig.building():
        # Never made a second time: a process that was given the right to read a file would lose it with the file.
        wanted = [(headers, half), (RUNTIME, HOST), ((*RUNTIME, *USUAL), HOST)]
        sets = {_place(some, library, of): (some, of) for some, of in wanted}
        missing = [(some, of, place) for place, (some, of) in sets.items() if not place.is_file()]
        with ThreadPoolExecutor(len(sets)) as pool:
            list(pool.map(lambda item: _precompile(item[0], item[1], item[2], library), missing))
        _prune(sets)


def _prune(keep: Collection[Path]) -> None:
    """Remove the least recently used files until the rest is within its bound, and remains of builds."""
    folder = zig.cache_folder()
    for left in folder.glob(".building-*"):
        shutil.rmtree(left, ignore_errors=True)
    kept = {path: path.stat() for path in folder.glob("headers-*.pch")}
    total = sum(state.st_size for state in kept.values())
    for path in sorted(kept, key=lambda path: kept[path].st_mtime_ns):
        if total <= MAX_KEPT_BYTES:
            return
        if path not in keep and _removed(path):
            total -= kept[path].st_size


def _removed(path: Path) -> bool:
    """Remove a file that nobody holds, and the header that it was made of; return whether it is gone."""
    import fcntl

    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        path.with_suffix(".h").unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _place(headers: Sequence[str], library: Library, half: Half) -> Path:
    digest = hashlib.sha256(repr((_lines(headers), _precompile_flags(library, half))).encode())
    for path in sorted(path for path in INCLUDE.rglob("*") if path.is_file()):
        digest.update(path.read_bytes())
    return zig.cache_folder() / f"headers-{digest.hexdigest()[:16]}.pch"


def _lines(headers: Sequence[str]) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


def _precompile_flags(library: Library, half: Half) -> list[str]:
    return [*half.flags, "-fpch-instantiate-templates", *half.include_flags(), *zig.cpp_flags(library.overlay)]


def _precompile(headers: Sequence[str], half: Half, target: Path, library: Library) -> None:
    # The compiler looks at the header again when it reads the result, so it stays where it was.
    source = target.with_suffix(".h")
    source.write_text(_lines(headers))
    flags = _precompile_flags(library, half)
    with tempfile.TemporaryDirectory(dir=zig.cache_folder(), prefix=".building-") as name:
        precompiled = Path(name) / "first.pch"
        command = [str(zig.executable()), "clang", *flags, "-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp"]
        done = subprocess.run(
            [*command, *(() if "-S" in flags else ("-c",)), str(source), "-o", str(precompiled)],
            capture_output=True,
            text=True,
            cwd="/",
        )
        if done.returncode:
            raise zig.cannot_build(done.stderr)
        precompiled.replace(target)
