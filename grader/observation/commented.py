"""Programs of which a launch stands in a comment, run with it as well."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from grader.submission.cpp.commented import with_launches_of_comments
from grader.submission.files.source import SourceText
from grader.submission.observed import Observed


def with_comments_run(
    sources: Sequence[SourceText], seen: Observed, observed: Callable[[Sequence[SourceText]], Observed]
) -> tuple[list[SourceText], Observed]:
    """The files with the launches that stand in comments, of kernels launched nowhere else, and what is seen then.

    seen: of the files as they are, which is what remains where a program runs as it is and does not run with these.
    """
    changed, found = with_launches_of_comments(sources)
    if not found or seen.failed is not None:
        return list(sources), seen
    again = observed(changed)
    ran = {run.files for run in seen.runs if run.launches}
    if again.failed is not None or not ran <= {run.files for run in again.runs if run.launches}:
        return list(sources), seen
    return changed, dataclasses.replace(again, uncommented=found)
