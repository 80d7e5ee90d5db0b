"""The compiler that the `ziglang` package brings, and the flags that every host program is compiled with.

Programs are compiled for a 64-bit WebAssembly machine, so that pointers, `long` and `size_t` are as wide as on the
GPU: structs passed by value have one layout on both sides, and sizes from 4 GiB on are what they are.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.errors import InternalError
from grader.files import user_cache
from grader.message import msg

TARGET = "wasm64-unknown-wasip1"
VERSION = "0.17.1"
"""Of the package that the flags and the list of library sources were tried with."""

BUILT_BYTES = 64 << 20
"""What the library and the headers that are read in advance take, with room to spare."""

LIBCXX = (
    "-D_LIBCPP_ABI_VERSION=1",
    "-D_LIBCPP_ABI_NAMESPACE=__1",
    "-D_LIBCPP_HAS_THREADS=0",
    "-D_LIBCPP_HAS_MONOTONIC_CLOCK=1",
    "-D_LIBCPP_HAS_TERMINAL=1",
    "-D_LIBCPP_HAS_MUSL_LIBC=1",
    "-D_LIBCPP_HAS_FILESYSTEM=1",
    "-D_LIBCPP_HAS_RANDOM_DEVICE=1",
    "-D_LIBCPP_HAS_LOCALIZATION=1",
    "-D_LIBCPP_HAS_UNICODE=1",
    "-D_LIBCPP_HAS_WIDE_CHARACTERS=1",
    "-D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0",
    "-D_LIBCPP_PSTL_BACKEND_SERIAL",
    "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "-D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
    "-DLIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS",
    "-D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
    "-DLIBCXXABI_HAS_NO_THREADS",
)
COMMON = (
    "--no-default-config",
    "-target",
    TARGET,
    "-nostdinc",
    "-fno-stack-protector",
    "-fno-trapping-math",
    "-mbulk-memory",
    "-mnontrapping-fptoint",
    "-msign-ext",
    "-mmutable-globals",
    # musl's atomics know a 32-bit machine; there are no threads here, so none of them runs.
    "-Da_cas_p(p,t,s)=((void*)0)",
)
EXCEPTIONS = ("-fexceptions", "-fwasm-exceptions", "-fdeclspec", "-mllvm", "-wasm-use-legacy-eh=false")
CLASS_TYPES = ("_ZTVN10__cxxabiv120__si_class_type_infoE", "_ZTVN10__cxxabiv121__vmi_class_type_infoE")
"""Virtual functions of the types of classes: with one base at their beginning, and with others.  Exported by each
program, for what reads the exception that ended it."""


def folder() -> Path:
    """The folder of the `ziglang` package.

    Raises
    ------
    InternalError : it is not installed.
    """
    import importlib.util

    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        raise InternalError(msg("programs.no_toolchain", version=VERSION))
    return Path(found.origin).parent


def executable() -> Path:
    """The compiler and linker."""
    return folder() / "zig"


def c_flags(overlay: Path) -> list[str]:
    """Flags of C; overlay: the folder of the headers that `library` has made."""
    lib = folder() / "lib"
    headers = (overlay, lib / "include", lib / "libc/include/wasm-wasi-musl", lib / "libc/include/generic-musl")
    return [*COMMON, *(flag for header in headers for flag in ("-isystem", str(header)))]


def cpp_flags(overlay: Path) -> list[str]:
    """Flags of C++."""
    lib = folder() / "lib"
    headers = [flag for name in ("libcxx", "libcxxabi") for flag in ("-isystem", str(lib / name / "include"))]
    return ["-nostdinc++", *headers, *c_flags(overlay), *LIBCXX, *EXCEPTIONS]


def cache_folder() -> Path:
    """The user's folder for what is built once: `~/.cache/cuda-lab-grader/programs`.

    Where that can be neither made nor written, or has no room for what is to be built, one of the user's own in the
    system's temporary folder: a mark must not depend on it.
    """
    # One name for it, whatever leads there: what is read in advance knows the files by their names.
    usual = (user_cache() / "programs").resolve()
    if _can_be_used(usual) and _has_room(usual):
        return usual
    own = Path(tempfile.gettempdir()).resolve() / f"cuda-lab-grader-{os.getuid()}"
    # What another user made there is not to be trusted.
    return own / "programs" if _can_be_used(own) and _is_private(own) else usual


def _can_be_used(folder: Path) -> bool:
    """Whether there is such a folder, or is now, and files can be made in it."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _has_room(folder: Path) -> bool:
    """Whether the library lies there, or what it takes can be written there: a full disk, a quota used up."""
    if any(folder.glob(f"{VERSION}-*")):
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            os.posix_fallocate(probe.fileno(), 0, BUILT_BYTES)
    except OSError as error:
        return error.errno not in (errno.ENOSPC, errno.EDQUOT)
    return True


def _is_private(folder: Path) -> bool:
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022


@contextmanager
def building() -> Iterator[None]:
    """Held while something is built into `cache_folder`, which it makes: two processes never build the same at once.

    Raises
    ------
    OSError : the folder cannot be made or written.
    """
    import fcntl

    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        # Ends with the process, however that ends.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
