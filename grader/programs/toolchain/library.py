"""The C and C++ library that programs are linked with: built once from the sources that `ziglang` brings, then kept.

They lie in a folder of the user's cache named by the version and by what they are built from; a process that builds
them works beside it and renames, so that another sees all of it or nothing.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader.errors import InternalError, describe_os_error
from grader.message import msg
from grader.processes.system import cores
from grader.programs.toolchain import zig

_HERE = Path(__file__).parent
SHIPPED = _HERE / "built"
"""The library as `scripts/pack_library.py` has built it, under its key."""
RECIPE = 1
"""To be raised when `_build` makes something else of the same sources and flags."""

_TOP = "libc/wasi/libc-top-half"
_BOTTOM = "libc/wasi/libc-bottom-half"
_C = ("-std=gnu17", "-O2", "-w", "-DNDEBUG", "-DBULK_MEMORY_THRESHOLD=32", "-mthread-model", "single")
_CPP = ("-std=c++23", "-O2", "-w", "-DNDEBUG", "-D_LIBCPP_BUILDING_LIBRARY", "-fvisibility=hidden")
_INCLUDES = {
    "c++": ("libcxx/src", "libcxx/libc"),
    "c++abi": ("libcxx/src", "libunwind/include"),
    "c": (
        f"{_BOTTOM}/cloudlibc/src",
        f"{_TOP}/musl/src/include",
        "libc/musl/src/include",
        f"{_TOP}/musl/src/internal",
        "libc/musl/src/internal",
        f"{_TOP}/musl/arch/wasm32",
        "libc/musl/arch/generic",
        f"{_TOP}/headers/private",
    ),
    "c-bottom": (
        f"{_BOTTOM}/headers/private",
        f"{_BOTTOM}/cloudlibc/src/include",
        f"{_BOTTOM}/cloudlibc/src",
        f"{_TOP}/musl/src/include",
        "libc/musl/src/include",
        f"{_TOP}/musl/src/internal",
        "libc/musl/src/internal",
    ),
}
_DEFINES = {
    "c++": ("-DLIBC_NAMESPACE=__llvm_libc_common_utils", "-DLIBCXX_BUILDING_LIBCXXABI"),
    "c++abi": ("-D_LIBCXXABI_BUILDING_LIBRARY",),
}


@dataclass(frozen=True, slots=True)
class Library:
    """Where the built library lies."""

    folder: Path

    @property
    def overlay(self) -> Path:
        """Headers that stand before those of `ziglang`."""
        return self.folder / "include"

    @property
    def link_inputs(self) -> list[str]:
        """Objects and archives, in the order of the command line."""
        names = ("start.o", "support.o", "exception_tag.o", "libc++.a", "libc.a", "libzigc.a", "libcompiler_rt.a")
        return [str(self.folder / name) for name in names]


def key() -> str:
    """What the library is called: version of the package, and a hash of everything else that it is made of."""
    flags = (RECIPE, zig.COMMON, zig.LIBCXX, zig.EXCEPTIONS, _C, _CPP, _INCLUDES, _DEFINES)
    digest = hashlib.sha256(repr(flags).encode())
    for path in [_HERE / "library_sources.txt", *sorted(_HERE.glob("support/*"))]:
        digest.update(path.read_bytes())
    return f"{zig.VERSION}-{digest.hexdigest()[:16]}"


def find() -> Library | None:
    """The built library, None where it was not built yet."""
    folder = zig.cache_folder() / key()
    return Library(folder) if folder.is_dir() else None


def build(progress: Callable[[int, int], None] | None = None) -> Library:
    """The library; if it is not there, unpacked now, or built where the package brings another one.

    progress: told how many of how many files are compiled.

    Raises
    ------
    InternalError : a file does not compile, the cache cannot be written, or `ziglang` has another version.
    """
    found = find()
    if found is not None:
        return found
    target = zig.cache_folder() / key()
    try:
        with zig.building():
            if target.is_dir():
                # Another process has built it meanwhile.
                return Library(target)
            fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=".building-"))
            try:
                if not _unpack(fresh):
                    _build(fresh, progress)
                fresh.rename(target)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise InternalError(msg("programs.cannot_build", reason=describe_os_error(error))) from error
    return Library(target)


def _unpack(folder: Path) -> bool:
    """Whether the package brings the library ready-made; into `folder` then."""
    archive = SHIPPED / f"{key()}.tar.xz"
    if not archive.is_file():
        return False
    with tarfile.open(archive) as packed:
        # `extractall(filter=…)` is only known from Python 3.11.4 on; older ones pay no heed to this attribute.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(folder)
    return True


def _build(folder: Path, progress: Callable[[int, int], None] | None) -> None:
    lib = zig.folder() / "lib"
    _overlay(lib, folder)
    jobs = _jobs(lib, folder)
    done = 0
    with ThreadPoolExecutor(cores()) as pool:
        for _result in pool.map(_run, [command for command, _output in jobs]):
            done += 1
            if progress:
                progress(done, len(jobs))
    archives: dict[str, list[str]] = {}
    for (_command, output), archive in zip(jobs, [_archive_of(output) for _command, output in jobs], strict=True):
        if archive:
            archives.setdefault(archive, []).append(str(output))
    for archive, members in archives.items():
        _run([str(zig.executable()), "ar", "rcs", str(folder / archive), *members])
    for name, extra in (("compiler_rt", ("-target", "wasm64-freestanding")), ("c", ("-target", "wasm64-wasi", "-lc"))):
        source = folder / "zig" / f"{name}.zig" if name == "compiler_rt" else lib / f"{name}.zig"
        output = folder / {"compiler_rt": "libcompiler_rt.a", "c": "libzigc.a"}[name]
        caches = ["--cache-dir", str(folder / "zig-cache"), "--global-cache-dir", str(folder / "zig-cache")]
        command = [str(zig.executable()), "build-lib", str(source), *extra, "-O", "ReleaseSmall", "-fllvm"]
        _run([*command, f"-femit-bin={output}", *caches])
    for left in ("objects", "zig", "zig-cache", "real.c"):
        path = folder / left
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _overlay(lib: Path, folder: Path) -> None:
    """The few files that know a 32-bit machine only, for 64 bits."""
    header = (lib / "libc/include/wasm-wasi-musl/wasi/api.h").read_text()
    header = re.sub(r"#error <wasi/api.h> only supports wasm32[^\n]*", "", header)
    (folder / "include" / "wasi").mkdir(parents=True)
    (folder / "include" / "wasi" / "api.h").write_text(re.sub(r"_Static_assert\([^;]*;", "", header))
    real = (lib / _BOTTOM / "sources/__wasilibc_real.c").read_text()
    (folder / "real.c").write_text(re.sub(r"\bint32_t\b", "int64_t", real))
    shutil.copytree(lib / "compiler_rt", folder / "zig" / "compiler_rt")
    shutil.copy(lib / "compiler_rt.zig", folder / "zig")
    # Comparisons of 128-bit floats return C's int.
    compare = folder / "zig" / "compiler_rt" / "comparef.zig"
    known = "isAARCH64())\n"
    compare.write_text(compare.read_text().replace(known, "isAARCH64() or builtin.cpu.arch == .wasm64)\n", 1))


def _sources() -> list[tuple[str, str]]:
    """(group, path in `ziglang`) of every source."""
    found, group = [], ""
    for line in (_HERE / "library_sources.txt").read_text().splitlines():
        if line.startswith("["):
            group = line[1:-1]
        elif not line.startswith("#"):
            place, _colon, names = line.partition(": ")
            found += [(group, f"{place}/{name}") for name in names.split()]
    return found


def _jobs(lib: Path, folder: Path) -> list[tuple[list[str], Path]]:
    """Commands with what they make."""
    (folder / "objects").mkdir()
    overlay = folder / "include"
    jobs = []

    def add(group: str, source: Path, output: Path, more: Sequence[str] = ()) -> None:
        is_cpp = source.suffix == ".cpp"
        includes = [flag for place in _INCLUDES.get(group, ()) for flag in ("-I", str(lib / place))]
        flags = [*(zig.cpp_flags(overlay) if is_cpp else zig.c_flags(overlay))]
        if not is_cpp and group == "c++abi":
            flags += zig.EXCEPTIONS
        flags += [*(_CPP if is_cpp else _C), *_DEFINES.get(group, ()), *includes, *more]
        # C's own headers of musl's inside must come before the public ones.
        command = [str(zig.executable()), "clang", "-c", str(source), *includes, *flags, "-o", str(output)]
        jobs.append((command, output))

    for number, (group, path) in enumerate(_sources()):
        prefix = "cpp" if group.startswith("c++") else "c"
        add(group, lib / path, folder / "objects" / f"{prefix}-{number:03d}-{Path(path).name}.o")
    add("c-bottom", folder / "real.c", folder / "objects" / "c-real.o")
    add("c-bottom", lib / _BOTTOM / "crt/crt1-command.c", folder / "start.o")
    add("c", _HERE / "support" / "support.c", folder / "support.o")
    tag = [str(zig.executable()), "clang", "-c", str(_HERE / "support" / "exception_tag.s")]
    output = folder / "exception_tag.o"
    jobs.append(([*tag, "-target", zig.TARGET, "-mexception-handling", "-o", str(output)], output))
    return jobs


def _archive_of(output: Path) -> str:
    if output.parent.name != "objects":
        return ""
    return "libc++.a" if output.name.startswith("cpp-") else "libc.a"


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd="/")
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr[-300:]]
        raise InternalError(msg("programs.cannot_build", reason=errors[0][:300]))
