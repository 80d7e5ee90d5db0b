"""Programs of the grader's and the lab's own that were compiled before: they are the same for every submission.

What is kept lies in the user's cache, each program under a hash of all that its machine code follows from.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grader.compiler.nvrtc import header_folders
from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.files import user_cache, write_atomically

MAX_KEPT = 500
"""Programs; each is some ten kilobytes."""


class KeptCompiler:
    """Compiles for a GPU what is not a student's, and never sees a student's file.

    The process that does it is started at once.  What does not compile is not kept.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """folder: where programs are kept; None for `compiled` in the user's cache."""
        self._folder = folder if folder is not None else user_cache() / "compiled"
        self._process = CompilerProcess()

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def nvrtc_version(self) -> str:
        """NVRTC's version, "13.5".

        Raises
        ------
        InternalError : NVRTC cannot be loaded.
        """
        return self._process.nvrtc_version()

    def compile(self, sources: Mapping[str, str], names: Sequence[str], architecture: str) -> CompileResult:
        """As `CompilerProcess.compile`.

        Raises
        ------
        InternalError : NVRTC cannot be loaded, or does not know `architecture`.
        """
        place = self._folder / f"{self._key(sources, names, architecture)}.msgpack"
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.msgpack.decode(place.read_bytes(), type=CompileResult)
        result = self._process.compile(sources, names, architecture)
        if result.ok:
            # Where it cannot be kept it is compiled the next time.
            with contextlib.suppress(OSError):
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_atomically(place, msgspec.msgpack.encode(result))
                self._drop_oldest()
        return result

    def _key(self, sources: Mapping[str, str], names: Sequence[str], architecture: str) -> str:
        parts = list(sources.items()), list(names), architecture, self.nvrtc_version()
        toolkits = sorted(map(str, header_folders(os.environ, sys.path)))
        return hashlib.sha256(repr((_own_code(), parts, toolkits)).encode()).hexdigest()[:40]

    def _drop_oldest(self) -> None:
        kept = list(self._folder.glob("*.msgpack"))
        if len(kept) > MAX_KEPT:
            for path in sorted(kept, key=lambda path: path.stat().st_mtime)[: MAX_KEPT // 4]:
                path.unlink(missing_ok=True)


@functools.cache
def _own_code() -> str:
    """A hash of what calls NVRTC, and of the headers that it is given."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix != ".pyc" and path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
