"""The parent's end of `grader.report.rendering.worker`: processes that render reports beside other work."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from functools import cache

import msgspec

from grader.processes.child import ChildProgram
from grader.processes.pool import Pool, Waiting
from grader.processes.system import IS_LINUX
from grader.report.job import ReportJob
from grader.report.rendering.worker import Reply

DEADLINE_S = 600.0
"""For each file of a report, which takes a second or two."""
MEMORY_BYTES = 1 << 30
FORKED_TIDY_BYTES = 64 << 20
"""What a forked renderer may grow by, three to five reports' garbage: another is forked in less time than looking for
it takes."""


@cache
def _replies() -> msgspec.msgpack.Decoder[Reply | Waiting]:
    return msgspec.msgpack.Decoder(Reply | Waiting)


@contextlib.contextmanager
def rendering_pool(pdf: bool = True, size: int = 1, is_forked: bool = False) -> Iterator[Pool[ReportJob, Reply]]:
    """A pool of `size` renderers, which ends with the block; each takes a core and some 200 MB.

    is_forked: they are children of one that has imported all that they need, as long as `fork_server.kept` holds.
    """
    with contextlib.ExitStack() as stack:
        options = [] if pdf else ["--no-pdf"]
        # Where there is no room for it, each of them draws everything itself.
        with contextlib.suppress(OSError):
            temporary = tempfile.TemporaryDirectory(prefix="grade-drawings-", ignore_cleanup_errors=True)
            options.append(f"--drawings={stack.enter_context(temporary)}")
        # What forks imports for PDFs too.
        is_forked = is_forked and pdf and IS_LINUX
        if is_forked:
            options.append("--keep-garbage")
        program = ChildProgram("grader.report.rendering.worker", tuple(options), MEMORY_BYTES, is_forkable=is_forked)
        tidy = {"tidy_bytes": FORKED_TIDY_BYTES} if is_forked else {}
        pool: Pool[ReportJob, Reply]
        pool = Pool(program, _replies(), lambda reply: reply.event == "done", DEADLINE_S, size, **tidy)
        yield stack.enter_context(pool)
