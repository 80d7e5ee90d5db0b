"""Headers that come before a program, read by the compiler in advance: made once, kept in the user's cache.

The cache is bounded: what was used least lately goes when something new is made.  Who uses a file holds a lock on it,
and what is held is not removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grader.errors import InternalError
from grader.message import msg
from grader.programs.toolchain import zig
from grader.programs.toolchain.library import Library

INCLUDE = Path(__file__).parent / "include"
MAX_KEPT_BYTES = 96 << 20
"""Of all headers read in advance; those of one version of the grader take 18 MB."""

FLAGS = (
    "-x",
    "cuda",
    "--cuda-host-only",
    "-nocudainc",
    "-nocudalib",
    "-Xclang",
    "-target-sdk-version=9.0",
    "-fdelayed-template-parsing",
    "-std=gnu++17",
    "-O1",
    # A course's constant expressions take a few thousand; each evaluation may take so many.
    "-fconstexpr-steps=262144",
    "-ftemplate-depth=512",
    # A loop without an effect never ends, as it does where nvcc has compiled it.
    "-fno-finite-loops",
    "-gline-tables-only",
    "-Wno-everything",
    # Older programs have it, and every compiler of their time took it.
    "-Wno-register",
    "-Wunused-result",
    "-fno-caret-diagnostics",
    "-ferror-limit=10",
)
RUNTIME: tuple[str, ...] = ("cuda_runtime.h",)
USUAL = (
    *("algorithm", "array", "chrono", "fstream", "functional", "iomanip", "iostream", "limits", "map", "memory"),
    *("numeric", "random", "sstream", "stdexcept", "string", "tuple", "vector"),
)
"""C++ headers of course programs: to read one of them takes half a second."""


@contextlib.contextmanager
def precompiled(headers: Sequence[str], library: Library) -> Iterator[Path]:
    """`headers` as the compiler wants them, in a file that stays while the context is open.

    Raises
    ------
    InternalError : they cannot be read or kept.
    """
    target = _place(headers, library)
    held = _held(target)
    while held is None:
        _make(headers, library)
        held = _held(target)
    try:
        yield target
    finally:
        os.close(held)


def _held(target: Path) -> int | None:
    """An open descriptor whose lock keeps a file from being removed; None where it is not there."""
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


def _make(headers: Sequence[str], library: Library) -> None:
    """The set asked for, and with it the usual ones: an image that is read only has all of them."""
    with zig.building():
        # Never made a second time: a process that was given the right to read a file would lose it with the file.
        sets = {_place(some, library): some for some in (headers, RUNTIME, (*RUNTIME, *USUAL))}
        missing = [(some, place) for place, some in sets.items() if not place.is_file()]
        with ThreadPoolExecutor(len(sets)) as pool:
            list(pool.map(lambda item: _precompile(item[0], item[1], library), missing))
        _prune(sets)


def _prune(keep: Collection[Path]) -> None:
    """Remove what was used least lately until the rest is within its bound, and what ended builds have left."""
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
    """Remove a file that nobody holds, and the header that it was made of; whether it is gone."""
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


def _place(headers: Sequence[str], library: Library) -> Path:
    digest = hashlib.sha256(repr((_lines(headers), _precompile_flags(library))).encode())
    for path in sorted(path for path in INCLUDE.rglob("*") if path.is_file()):
        digest.update(path.read_bytes())
    return zig.cache_folder() / f"headers-{digest.hexdigest()[:16]}.pch"


def _lines(headers: Sequence[str]) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


def _precompile_flags(library: Library) -> list[str]:
    return [*FLAGS, "-fpch-instantiate-templates", "-isystem", str(INCLUDE), *zig.cpp_flags(library.overlay)]


def _precompile(headers: Sequence[str], target: Path, library: Library) -> None:
    # The compiler looks at the header again when it reads the result, so it stays where it was.
    source = target.with_suffix(".h")
    source.write_text(_lines(headers))
    flags = _precompile_flags(library)
    with tempfile.TemporaryDirectory(dir=zig.cache_folder(), prefix=".building-") as name:
        made = Path(name) / "first.pch"
        command = [str(zig.executable()), "clang", *flags, "-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp"]
        done = subprocess.run([*command, "-c", str(source), "-o", str(made)], capture_output=True, text=True, cwd="/")
        if done.returncode:
            raise InternalError(msg("programs.cannot_build", reason=done.stderr.strip()[:300]))
        made.replace(target)
