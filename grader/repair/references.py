"""Wrong references: changes of host code that computes what a program compares its results with.

The kernels are right, so the program's own check is the proof: a change counts with which it calls all results right.
Only code that makes elements of an array of another's is changed, never a comparison, and never what fills the inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.errors import InternalError, UsageError
from grader.programs.execution import run_each
from grader.programs.observation import WITH_RESULTS, sources_of
from grader.programs.own_check import references_in, said
from grader.programs.records import Start
from grader.programs.starts import applied, changes
from grader.repair.clues import clues_of
from grader.repair.function import Change, changed, host_functions
from grader.repair.ranking import changes_of, in_order
from grader.submission.changes import Original
from grader.submission.cpp.tree import ParsedFile
from grader.submission.kernels.records import SeenRun
from grader.submission.source import SourceText

MAX_RUN = 12
"""Changed programs that are compiled and run."""
SOONER = {"exchange": 0.8, "size": 0.8, "index": 0.4, "divisor": 0.4}
"""What changes of a group cost less: who writes loops for a CPU exchanges names sooner than they miss an end."""
_OF_KERNELS = re.compile(r"\b(?:threadIdx|blockIdx|blockDim|gridDim|__\w+|atomic\w+)\b")


def reference_changes(original: Original, run: SeenRun) -> Iterator[tuple[ParsedFile, Change]]:
    """Yield changes of references with which a program calls right what it calls wrong in `run`, likeliest first."""
    sources = [source for source in original.submission.sources if source.file in run.files]
    if not run.said or any(source.notebook for source in sources):
        return
    sources.sort(key=lambda source: run.files.index(source.file))
    for parsed, change in _ranked(original, run)[:MAX_RUN]:
        text = changed(parsed.source.text, change)
        if _is_said_right([replace(s, text=text) if s.path == parsed.source.path else s for s in sources], run):
            yield parsed, change


def _ranked(original: Original, run: SeenRun) -> list[tuple[ParsedFile, Change]]:
    ranked = []
    for parsed in original.files():
        if parsed.file not in run.files:
            continue
        spans = [(r.node.start_byte, r.node.end_byte) for r in references_in(parsed)]
        for function in host_functions(parsed):
            own = [
                (function.at(a), function.at(b))
                for a, b in spans
                if function.body.start_byte <= a < function.body.end_byte
            ]
            rows = changes_of([function], {}, ()) if own else ()
            within = [
                (f, replace(c, cost=c.cost - SOONER.get(c.group, 0.0)))
                for f, c in rows
                if c.kind not in ("barrier", "guard")
                and not any(_OF_KERNELS.search(edit.text) for edit in c.edits)
                and all(any(low <= edit.start and edit.end <= high for low, high in own) for edit in c.edits)
            ]
            ranked += in_order(clues_of([function], "correct", (), None, (), {}), within)
    return [(function.parsed, change) for function, change in ranked]


def _is_said_right(sources: Sequence[SourceText], run: SeenRun) -> bool:
    """Whether a changed program calls all results right that it calls anything in `run`."""
    texts, arguments = {source.file: source.text for source in sources}, run.arguments
    if run.change is not None:
        own = run.change
        numbers = [
            c for c in changes(texts, arguments, "programs.too_long") if (c.file, c.name) == (own.file, own.name)
        ]
        change = next((c for c in numbers if c.numbers == (own.before, own.after)), None)
        if change is None:
            return False
        smaller, more = applied(change, texts, arguments)
        texts, arguments = texts | smaller, tuple(more)
    try:
        (observation,) = run_each(sources_of(sources, texts), [Start(arguments, run.stdin)], WITH_RESULTS)
    except (InternalError, UsageError):
        return False
    words = said(observation)
    return observation.exit is not None and len(words) >= len(run.said) and all(word.is_right for word in words)
