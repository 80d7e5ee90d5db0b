"""What programs will be seen to do, before they have run: what they did before they were changed, on today's lines.

No more than a guess, to begin with what follows from it: whoever takes it compares it with what was seen.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence

from grader.submission.files.source import SourceText
from grader.submission.observed import Observed, SeenChange, SeenRun

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
            known = _lines_now(self._texts[source.file].split("\n"), source.text.split("\n"))
            if known is None:
                return None
            lines |= {(source.file, before): now for before, now in known.items()}
        return dataclasses.replace(self._seen, runs=tuple(_on_lines(run, lines) for run in self._seen.runs))


def _has_launches(seen: Observed) -> bool:
    return any(run.launches for run in seen.runs)


def _lines_now(before: Sequence[str], now: Sequence[str]) -> dict[int, int] | None:
    """Where each line has gone that is still there, 1-based."""
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    found: dict[int, int] = {}
    same = 0
    for kind, start, end, first, last in matcher.get_opcodes():
        same += (end - start) * (kind == "equal")
        # Lines of which each was changed where it stands are those that they were.
        if kind == "equal" or (kind == "replace" and end - start == last - first):
            found |= {start + offset + 1: first + offset + 1 for offset in range(end - start)}
    return found if same >= ALIKE * len(before) else None


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
            dataclasses.replace(launch, line=now(launch.file, launch.line), change=changed(launch.change))
            for launch in run.launches
        ),
        faults=tuple(dataclasses.replace(fault, line=now(fault.file, fault.line)) for fault in run.faults),
        cause_line=now(run.cause_file, run.cause_line),
        change=changed(run.change),
    )
