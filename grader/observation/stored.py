"""Runs that were made before: the same files, run by the same code, do the same.

A program is known by all that it is made of: its files, those beside them that it may read, and our own code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.files import write_atomically
from grader.paths import user_cache
from grader.programs.observe import Start
from grader.programs.remembered import RememberedPrograms
from grader.programs.sources import Program
from grader.submission.observed import SeenRun

MAX_KEPT = 2000


class Stored:
    """A folder of runs, by what was run.

    programs : parts of runs that were made a while ago; None: every run is made whole.
    recalls : whether what lies there is looked at.
    recalled : whether any run was not made, as it lay there.
    """

    def __init__(self, folder: Path, programs: RememberedPrograms | None = None, recalls: bool = True) -> None:
        self._folder = folder
        self._recalls = recalls
        self.programs = programs
        self.recalled = False

    def get(self, program: Program, ways: Sequence[Start]) -> list[SeenRun] | None:
        """The runs of a program, None where it was not run before."""
        if not self._recalls:
            return None
        try:
            found = msgspec.msgpack.decode(self._place(program, ways).read_bytes(), type=list[SeenRun])
            self.recalled = True
            return found
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, program: Program, ways: Sequence[Start], runs: Sequence[SeenRun]) -> None:
        """Keep a program's runs, and the newest of the others; nothing is said where that cannot be."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._place(program, ways), msgspec.msgpack.encode(list(runs)))
            kept = list(self._folder.glob("*.msgpack"))
            if len(kept) > MAX_KEPT:
                for path in sorted(kept, key=lambda path: path.stat().st_mtime)[: MAX_KEPT // 4]:
                    path.unlink(missing_ok=True)

    def _place(self, program: Program, ways: Sequence[Start]) -> Path:
        data = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(program.data.items())}
        parts = (
            list(ways),
            program.units,
            sorted(program.host.items()),
            sorted(program.original.items()),
            data,
            program.device,
        )
        digest = hashlib.sha256(_own_code().encode())
        digest.update(repr(parts).encode(errors="surrogatepass"))
        return self._folder / f"{digest.hexdigest()[:40]}.msgpack"


@functools.cache
def _own_code() -> str:
    """A hash of the code that runs programs, and of the versions of what it is built upon."""
    import importlib.metadata

    import grader

    digest = hashlib.sha256()
    for package in ("ziglang", "wasmtime"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            digest.update(importlib.metadata.version(package).encode())
    root = Path(grader.__file__).parent
    for part in ("programs", "ptx", "observation", "submission"):
        for path in sorted((root / part).rglob("*")):
            # Some of our headers have a name without a dot.
            if path.suffix != ".pyc" and path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()


def default_folder() -> Path:
    """The user's folder for runs: `~/.cache/cuda-lab-grader/observations`."""
    return user_cache() / "observations"
