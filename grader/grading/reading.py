"""A submission read for a lab: its files found, its programs run, its kernels bound to the lab's variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grader.lab.records import Lab
from grader.submission.files.source import SourceText
from grader.submission.observed import Observed
from grader.submission.records import Missing, Submission

if TYPE_CHECKING:
    from grader.grading.warm import Warm
    from grader.observation.stored import Stored

Seen = tuple[list[SourceText], Observed]
"""The files as they are graded, launches of comments among them, and what was seen of their programs."""
Made = TypeVar("Made")


class Reading:
    """The work at `path`, read.

    Raises
    ------
    UsageError : no such file, no text, empty; a `submission.yaml` that is wrong.
    """

    def __init__(self, path: Path, lab: Lab, warm: Warm | None) -> None:
        from grader.submission.files.folder import find_sources, read_sources

        self._lab = lab
        self._warm = warm
        self._store = self._kept_runs()
        self.found = find_sources(path, lab.id, _known_labs(lab), lab.variants)
        self._sources = read_sources(self.found)

    def bound(self, seen: Seen) -> Submission:
        """Its kernels, bound by what its text says and what was seen; in doubt a program is run again."""
        from grader.observation.probing import probed
        from grader.submission.binding.bind import bind

        sources, observed = seen
        submission = bind(self.found, sources, self._lab, observed=observed)
        if any(not isinstance(b, Missing) and b.interpretations[0].unsure for b in submission.bindings.values()):
            observed = probed(sources, observed, self._store)
            submission = bind(self.found, sources, self._lab, observed=observed)
        return submission

    def changed(self, texts: Mapping[Path, SourceText]) -> Submission:
        """The submission with other texts for some of its files, its programs run anew.

        Raises
        ------
        UsageError : the files take too much work to read.
        """
        sources = [texts.get(source.path, source) for source in self._sources]
        made = [replace(s, written=s.text) if s.path in texts else s for s in sources]
        return self.bound((sources, self._seen_of(made, self._store)))

    def with_programs_run(self, follows: Callable[[Seen], Made]) -> Made:
        """What `follows` from what is seen of its programs.

        Where they were run before and have changed, they are expected to do the same again: what follows from that is
        begun while they run, and kept if it is so.
        """
        if self._warm is None:
            return follows(self._observed(self._store))
        runs = self._warm.programs.awaited()
        observing = self._warm.beside.start(lambda: self._observed(self._store))
        observing.add_done_callback(lambda _done: runs.set())
        expected = self._warm.seen.of(self._sources)
        runs.wait()
        ahead: tuple[Seen, Made] | None = None
        if expected is not None and not observing.done():
            guess = (list(self._sources), expected)
            try:
                ahead = guess, follows(guess)
            except Exception:
                # Of files as they cannot be: what is wrong with them as they are is told below.
                ahead = None
        seen = observing.result()
        self._warm.seen.put(self._sources, seen[1])
        if self._store.recalled:
            # For the next time: what lay on the disk is what came of a program, not what it was made into.
            self._warm.beside.start(lambda: self._observed(self._kept_runs(recalls=False)))
        return ahead[1] if ahead is not None and ahead[0] == seen else follows(seen)

    def _kept_runs(self, recalls: bool = True) -> Stored:
        from grader.observation.stored import Stored, default_folder

        return Stored(default_folder(), self._warm.programs if self._warm is not None else None, recalls)

    def _observed(self, store: Stored) -> Seen:
        from grader.observation.commented import with_comments_run

        def seen_of(sources: Sequence[SourceText]) -> Observed:
            return self._seen_of(sources, store)

        return with_comments_run(self._sources, seen_of(self._sources), seen_of)

    def _seen_of(self, sources: Sequence[SourceText], store: Stored) -> Observed:
        from grader.observation.programs import USUAL_BLOCK
        from grader.observation.stage import observed

        sizes = [int(size) for size in self._lab.cases["emulator"].observe.values()]
        threads = next((n for n in self._lab.launch.block if isinstance(n, int)), USUAL_BLOCK)
        return observed(sources, store, sizes, threads)


def _known_labs(lab: Lab) -> set[str]:
    """Names of the labs that there are: built in, in this folder, and beside the one that is graded."""
    from grader.lab.labs import folders

    return set(folders([lab.path.parent.parent]))
