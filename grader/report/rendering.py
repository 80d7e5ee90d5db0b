"""Reports rendered in processes of their own, beside other work.

Such a process starts at the very beginning of a run and imports Jinja and WeasyPrint (most of a second together) on
another core while the parent grades.  It takes one `ReportJob` after another and answers each with `Reply` records.
"""

from __future__ import annotations

import contextlib
import gc
import socket
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from grader.errors import describe_os_error
from grader.files import write_atomically
from grader.measured import Record
from grader.processes import fork_server
from grader.processes.channel import Channel, PeerGone
from grader.processes.child import ChildProgram
from grader.processes.limits import resident_bytes, trim_heap
from grader.processes.pool import Pool, Waiting
from grader.report.job import ReportJob

if TYPE_CHECKING:
    from grader.report.draw import Medium
    from grader.report.views import Page


# In the process.

GARBAGE_BYTES = 64 << 20
"""How much more may be held than after the last collection of garbage, before the next one."""
HTML_NAME = "report.html"
PDF_NAME = "report.pdf"


Event = Literal["html", "pdf", "no_pdf", "unwritable", "failed", "done"]


class Reply(Record, frozen=True, tag="reply"):
    """What became of a job: a file was written, a PDF cannot be made here, a file cannot be written, rendering failed;
    "done" is the last of a job.

    text: the file's path, what is missing, path and reason, or a traceback.
    """

    event: Event
    student: str
    text: str = ""


def prepare() -> None:
    """Load what all reports need, before renderers are forked."""
    gc.disable()
    _load_for_pages()
    # Fonts are left to those who are forked: Pango begins threads over them.
    _load_for_pdf()


def main(connection: socket.socket, *options: str) -> None:
    """Serve jobs until the parent closes the channel; options: "--no-pdf" when no PDF will be asked for,
    "--keep-garbage" where its parent replaces it when it has grown.
    """
    # Imports make next to no garbage in cycles, and a report some 20 MB; looking for it takes a tenth of the time.
    gc.disable()
    channel = Channel(connection, msgspec.msgpack.Decoder(ReportJob))
    _load_for_pages()
    ahead: list[Callable[[], object]] = [] if "--no-pdf" in options else [_load_for_pdf, _load_fonts]
    is_first, kept_bytes = True, resident_bytes()
    while True:
        while ahead and not channel.has_news():
            # What goes wrong is told where it is asked for.
            with contextlib.suppress(Exception):
                ahead.pop(0)()
        try:
            job = channel.receive()
        except PeerGone:
            return
        student = job.result.student.id
        try:
            for event, text in _render(job):
                channel.send(Reply(event=event, student=student, text=text))
        except PeerGone:
            return
        except OSError as error:
            channel.send(Reply(event="unwritable", student=student, text=describe_os_error(error)))
        except Exception:
            channel.send(Reply(event="failed", student=student, text=traceback.format_exc()))
        channel.send(Reply(event="done", student=student))
        held = resident_bytes()
        if "--keep-garbage" in options or (held and held - kept_bytes < GARBAGE_BYTES):
            continue
        gc.collect()
        if is_first:
            # What is loaded by now stays: looking through it again takes a tenth of the time.
            gc.freeze()
            is_first = False
        trim_heap()
        kept_bytes = resident_bytes()


def _load_for_pages() -> None:
    from grader.report import html

    html.load()


def _load_for_pdf() -> None:
    from grader.report import html, pdf

    # That there is none is said when a PDF is asked for.
    with contextlib.suppress(pdf.PdfUnavailable):
        pdf.load_styles(html.STYLES)


def _load_fonts() -> None:
    from grader.report import html, pdf

    with contextlib.suppress(pdf.PdfUnavailable):
        pdf.render("<p>a <b>b</b> <code>c</code></p>", html.STYLES)


def _render(job: ReportJob) -> Iterator[tuple[Event, str]]:
    """Yield an event with its text for each file as it is written."""
    from grader import i18n
    from grader.report import html, pdf

    i18n.use(job.language)
    folder = Path(job.directory)
    page = html.document(job)
    write_atomically(folder / HTML_NAME, drawn(job, page, "screen").encode())
    yield "html", str(folder / HTML_NAME)
    # A report of an earlier run must not pass for this one's.
    (folder / PDF_NAME).unlink(missing_ok=True)
    if job.pdf:
        try:
            pdf.load()
        except pdf.PdfUnavailable as error:
            yield "no_pdf", str(error)
            return
        html.ON_PAPER.clear()
        on_paper = drawn(job, page, "paper")
        write_atomically(folder / PDF_NAME, pdf.render(on_paper, html.STYLES, html.ON_PAPER))
        yield "pdf", str(folder / PDF_NAME)


def drawn(job: ReportJob, page: Page, medium: Medium) -> str:
    """The page with its figures."""
    from grader.report import html

    return html.render(
        page,
        html.figures(job, medium),
        html.wrong_pictures(job, medium),
        html.sweep_figures(job, medium),
        paged=medium == "paper",
    )


# The parent's end.

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
def rendering_pool(pdf: bool = True, size: int = 1) -> Iterator[Pool[ReportJob, Reply]]:
    """A pool of `size` renderers, which ends with the block; each takes a core and some 200 MB.

    Within `fork_server.kept` they are children of one that has imported all that they need.
    """
    options = [] if pdf else ["--no-pdf"]
    is_forked = fork_server.is_kept()
    if is_forked:
        options.append("--keep-garbage")
    program = ChildProgram("grader.report.rendering", tuple(options), MEMORY_BYTES, is_forkable=is_forked)
    tidy = {"tidy_bytes": FORKED_TIDY_BYTES} if is_forked else {}
    pool: Pool[ReportJob, Reply]
    pool = Pool(program, _replies(), lambda reply: reply.event == "done", DEADLINE_S, size, **tidy)
    with pool:
        yield pool
