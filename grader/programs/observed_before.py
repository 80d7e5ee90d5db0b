"""What programs did before: runs kept by what was run, and what a changed program is expected to do again."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grader.files import user_cache, write_atomically
from grader.programs.observe import Start
from grader.programs.remembered import RememberedPrograms
from grader.programs.sources import Program
from grader.submission.kernels.records import Observed, SeenChange, SeenRun
from grader.submission.source import SourceText

ALIKE = 0.5
"""Of a file's lines, so many are those that they were; else it is another file."""

Lines = Mapping[tuple[str, int], int]


class LastSeen:
    """What was seen last, when the programs ran last: what does not compile just now will do again what it did."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._seen: Observed | None = None

    def put(self, sources: Sequence[SourceText], seen: Observed) -> None:
        """Keep what was seen of a submission's files, if it is all that there is to see."""
        texts = {source.file: source.text for source in sources}
        is_worse = self._seen is not None and _has_launches(self._seen) and not _has_launches(seen)
        if seen.failed is None and not seen.uncommented and not (is_worse and texts.keys() == self._texts.keys()):
            self._texts, self._seen = texts, seen

    def of(self, sources: Sequence[SourceText]) -> Observed | None:
        """What will be seen of files that have changed since; None where nothing can be said."""
        if self._seen is None or [source.file for source in sources] != list(self._texts):
            return None
        lines: dict[tuple[str, int], int] = {}
        for source in sources:
            moved = _lines_now(self._texts[source.file].split("\n"), source.text.split("\n"))
            if moved is None:
                return None
            lines |= {(source.file, before): now for before, now in moved.items()}
        return dataclasses.replace(self._seen, runs=tuple(_on_lines(run, lines) for run in self._seen.runs))


def _has_launches(seen: Observed) -> bool:
    return any(run.launches for run in seen.runs)


def _lines_now(before: Sequence[str], now: Sequence[str]) -> dict[int, int] | None:
    """Where each line has gone that is still there, 1-based."""
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    lines: dict[int, int] = {}
    same = 0
    for kind, start, end, first, last in matcher.get_opcodes():
        same += (end - start) * (kind == "equal")
        # Lines of which each was changed where it stands are those that they were.
        if kind == "equal" or (kind == "replace" and end - start == last - first):
            lines |= {start + offset + 1: first + offset + 1 for offset in range(end - start)}
    return lines if same >= ALIKE * len(before) else None


def _on_lines(run: SeenRun, lines: Lines) -> SeenRun:
    """A run told of other lines; a line that has gone keeps its number."""

    def now(file: str, line: int) -> int:
        return lines.get((file, line), line)

    def changed(change: SeenChange | None) -> SeenChange | None:
        return None if change is None else dataclasses.replace(change, line=now(change.file, change.line))

    file_of = {(launch.kernel, launch.line): launch.file for launch in run.launches}
    return dataclasses.replace(
        run,
        said=tuple(
            dataclasses.replace(word, line=now(file_of.get((word.kernel, word.line), run.files[0]), word.line))
            for word in run.said
        ),
        launches=tuple(
            msgspec.structs.replace(launch, line=now(launch.file, launch.line), change=changed(launch.change))
            for launch in run.launches
        ),
        faults=tuple(dataclasses.replace(fault, line=now(fault.file, fault.line)) for fault in run.faults),
        copies=tuple(dataclasses.replace(copy, line=now(copy.file, copy.line)) for copy in run.copies),
        cause_line=now(run.cause_file, run.cause_line),
        change=changed(run.change),
    )


# Runs that were made before: the same files, run by the same code, do the same.
#
# A program is known by all that it is made of: its files, those beside them that it may read, and our own code.


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
            runs = msgspec.msgpack.decode(self._place(program, ways).read_bytes(), type=list[SeenRun])
            self.recalled = True
            return runs
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
    for part in ("programs", "ptx", "submission"):
        for path in sorted((root / part).rglob("*")):
            # Some of our headers have a name without a dot.
            if path.suffix != ".pyc" and path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()


def default_folder() -> Path:
    """The user's folder for runs: `~/.cache/cuda-lab-grader/observations`."""
    return user_cache() / "observations"
