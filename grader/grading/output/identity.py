"""What a result follows from, as one hash: the same hash, the same result.

Files of the submission, the lab with its oracle and references, the grader's own code and the libraries it stands on,
the backend with the model of the GPU, the options that a result depends on, and the course's secret.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.files import read_plain
from grader.gpu.process import ListedGpu, inventory
from grader.grading.options import GradeOptions
from grader.grading.secret import secret
from grader.grading.task import GradeTask
from grader.lab.records import Lab

LIBRARIES = (
    "numpy",
    "wasmtime",
    "tree-sitter",
    "tree-sitter-cuda",
    "nvidia-cuda-nvrtc",
    "cuda-python",
    "msgspec",
)
"""What marks depend on besides this code."""
LARGEST_BYTES = 1 << 20
"""Of a file that is hashed by its content; no larger one is compiled, so its size and time of change will do."""
MOST_FILES = 2000
_NO_MATTER = {"backend", "language", "labs_folders", "remeasure", "answers"}
"""Options on which no result depends, or that are told otherwise: where a lab lies, which device there is."""
_TEXT_SUFFIXES = (".md",)
_LAB_SUFFIXES = (".py", ".cu", ".cuh", ".h", ".yaml")


class Identity:
    """The hashes of one run's results.

    Parameters
    ----------
    lab : the lab that is graded, with the names of all labs in `known_labs`.

    Raises
    ------
    UsageError : the secret of the course cannot be read.
    """

    def __init__(self, lab: Lab, options: GradeOptions, known_labs: Collection[str]) -> None:
        self._lab_id = lab.id
        self._variants = lab.variants
        self._known_labs = {lab.id, *known_labs}
        self.with_gpu = options.backend != "emulator" and _has_driver()
        self.gpus = inventory() if self.with_gpu else None
        """Those of this machine; None where there is none to use, or that cannot be found out."""
        self.is_known = self.gpus is not None or not self.with_gpu
        self._common = _digest(
            code_hash(),
            *(f"{name} {_version(name)}".encode() for name in LIBRARIES),
            f"{platform.python_version()} {platform.machine()} {sys.byteorder}".encode(),
            (_devices(self.gpus) if self.with_gpu else "emulator").encode(),
            repr(sorted((n, v) for n, v in msgspec.structs.asdict(options).items() if n not in _NO_MATTER)).encode(),
            _of_secret(secret()),
            _toolkits(),
            *(
                part
                for file in lab_files(lab)
                if file.suffix not in _TEXT_SUFFIXES
                for part in (os.fsencode(file.name), file.read_bytes())
            ),
        )

    def of(self, task: GradeTask) -> str:
        """The hash of everything that the result of `task` follows from; "" when that cannot be found out."""
        if not self.is_known:
            return ""
        try:
            return _digest(self._common, task.student.encode("utf-8", "surrogatepass"), *self._files(task.file)).hex()
        except (OSError, UsageError):
            # Told when it is graded.
            return ""

    def _files(self, path: Path) -> Iterator[bytes]:
        """Names and contents of the files that decide, names first."""
        from grader.submission.files.folder import find_sources

        found = find_sources(path, self._lab_id, self._known_labs, self._variants)
        yield found.student.encode("utf-8", "surrogatepass")
        seen = b""
        for file in found.files:
            content = _content(file)
            seen += content
            yield _name(file, found.folder)
            yield content
        # A header may lie anywhere in the student's folder; the work for another lab counts where it is named.
        known = set(found.files)
        others = []
        for file in files_below(found.folder):
            if file in known:
                continue
            if file.suffix.lower() != ".cu":
                content = _content(file)
                seen += content
                yield _name(file, found.folder)
                yield content
            else:
                others.append(file)
        for file in others:
            if os.fsencode(file.name) in seen:
                yield _name(file, found.folder)
                yield _content(file)


def made_from(lab: Lab, language: str, result: str) -> str:
    """The hash of everything that a report in `language` follows from; result: the hash of the result's file."""
    return _digest(code_hash(), repr(lab).encode(), language.encode(), result.encode()).hex()


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _name(file: Path, folder: Path) -> bytes:
    return os.fsencode(os.path.relpath(file, folder))


def _content(file: Path) -> bytes:
    state = file.stat()
    if state.st_size > LARGEST_BYTES:
        return repr((state.st_size, state.st_mtime_ns)).encode()
    return read_plain(file, LARGEST_BYTES)


def files_below(folder: Path) -> list[Path]:
    """The plain files in a folder and the folders in it, in a fixed order."""
    found: list[Path] = []
    for here, folders, names in os.walk(folder):
        folders.sort()
        found += [file for name in sorted(names) if (file := Path(here, name)).is_file()]
        if len(found) > MOST_FILES:
            raise UsageError(str(folder))
    return found


@cache
def code_hash() -> bytes:
    """The grader's own code, words and templates."""
    from grader.files import PACKAGE, data_root

    return code_below(PACKAGE, data_root() / "templates")


def code_below(package: Path, templates: Path) -> bytes:
    """The hash of a package's code and of its templates: what Python compiles of it and a wheel's data are no part."""
    parts = []
    for folder in (package, templates):
        for here, folders, names in os.walk(folder):
            folders[:] = sorted(set(folders) - {"__pycache__"} - ({"data"} if Path(here) == package else set()))
            for file in (Path(here, name) for name in sorted(names)):
                if file.suffix not in (".pyc", ".po") and file.is_file():
                    parts += [_name(file, folder), file.read_bytes()]
    return _digest(*parts)


def lab_files(lab: Lab) -> list[Path]:
    """The lab's own files: what stands beside its oracle and its kernels may be read by them."""
    kernels = [variant.reference.file for variant in lab.variants] + [kernel.file for kernel in lab.best]
    folders = {file.resolve().parent for file in (lab.path, lab.oracle, *kernels)}
    beside = [
        file
        for folder in sorted(folders)
        for file in sorted(folder.iterdir())
        if file.suffix in (*_LAB_SUFFIXES, *_TEXT_SUFFIXES) and file.is_file()
    ]
    return list(dict.fromkeys((*beside, *lab.files.values())))


@cache
def _of_secret(found: str) -> bytes:
    """What tells one secret from another; it takes long to try out, as a hash that is kept may be read by anybody."""
    return hashlib.scrypt(found.encode(), salt=b"kept results", n=1 << 14, r=8, p=1, dklen=32) if found else b""


def _toolkits() -> bytes:
    from grader.compiler.nvrtc import header_folders

    return repr(sorted(map(str, header_folders(os.environ, sys.path)))).encode()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _has_driver() -> bool:
    from grader.gpu.process import has_driver

    return has_driver()


def _devices(gpus: Sequence[ListedGpu] | None) -> str:
    """Models and driver of the GPUs, and which of them programs see."""
    models = sorted({(gpu.model, gpu.memory, gpu.driver) for gpu in gpus or ()})
    return f"{models} {os.environ.get('CUDA_VISIBLE_DEVICES') or ''}"
