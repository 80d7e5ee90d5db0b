"""The parent's end of `grader.report.rendering.worker`: processes that render reports beside other work."""

from __future__ import annotations

from functools import cache

import msgspec

from grader.processes.child import ChildProgram
from grader.processes.pool import Pool, Waiting
from grader.report.job import ReportJob
from grader.report.rendering.worker import Reply

DEADLINE_S = 120.0
"""For each file of a report, which takes a second or two."""
MEMORY_BYTES = 1 << 30
TIDY_BYTES = 640 << 20


@cache
def _replies() -> msgspec.msgpack.Decoder[Reply | Waiting]:
    return msgspec.msgpack.Decoder(Reply | Waiting)


def rendering_pool(pdf: bool = True, size: int = 1) -> Pool[ReportJob, Reply]:
    """A pool of `size` renderers; each takes a core and some 200 MB."""
    options = () if pdf else ("--no-pdf",)
    program = ChildProgram("grader.report.rendering.worker", options, MEMORY_BYTES)
    return Pool(program, _replies(), lambda reply: reply.event == "done", DEADLINE_S, size, TIDY_BYTES)
