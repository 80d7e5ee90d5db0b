"""Renders reports in a process of its own: `python -m grader.report.worker [--no-pdf]`.

Started at the very beginning of a run, it imports matplotlib, Jinja and WeasyPrint (over a second together) on
another core while the parent grades.  It reads one `ReportJob` as JSON per line from standard input and answers with
one `Reply` per line on standard output; it ends when its input does.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import msgspec

from grader.files import write_atomically
from grader.report.job import ReportJob
from grader.result import Record

if TYPE_CHECKING:
    from grader.report.figures import Format
    from grader.report.view import View

HTML_NAME = "report.html"
PDF_NAME = "report.pdf"


Event = Literal["html", "pdf", "no_pdf", "failed", "done"]


class Reply(Record, frozen=True):
    """What became of a job: a file was written, a PDF cannot be made here, rendering failed, or all is done.

    text: the file's path, what is missing, or a traceback.
    """

    event: Event
    student: str
    text: str = ""


def main() -> None:
    """Serve jobs until standard input ends."""
    # Imports and one report make next to no garbage in cycles; looking for it takes a tenth of the time.
    gc.disable()
    # Ctrl-C is for the parent to act on; a report under way may be finished.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What libraries print must not get into the replies.
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    _load_for_html()
    if "--no-pdf" not in sys.argv and jobs.empty():
        _load_for_pdf()
    while line := jobs.get():
        job = msgspec.json.decode(line, type=ReportJob)
        for_student = job.result.student.id
        try:
            for event, text in _render(job):
                _send(replies, Reply(event=event, student=for_student, text=text))
        except Exception:
            _send(replies, Reply(event="failed", student=for_student, text=traceback.format_exc()))
        _send(replies, Reply(event="done", student=for_student))
        gc.collect()


def _read(source: IO[bytes], jobs: queue.SimpleQueue[bytes]) -> None:
    for line in source:
        jobs.put(line)
    jobs.put(b"")


def _send(replies: IO[bytes], reply: Reply) -> None:
    replies.write(msgspec.json.encode(reply) + b"\n")


def _load_for_html() -> None:
    from grader.report import figures, html

    figures.load()
    html.load()


def _load_for_pdf() -> None:
    from grader.report import pdf

    # Said when a PDF is asked for.
    try:
        pdf.load()
    except pdf.PdfUnavailable:
        return


def _render(job: ReportJob) -> Iterator[tuple[Event, str]]:
    """An event with its text for each file as it is written."""
    from grader import i18n
    from grader.report import html, pdf

    i18n.use(job.language)
    folder = Path(job.directory)
    page = html.document(job)
    write_atomically(folder / HTML_NAME, _drawn(job, page, "svg").encode())
    yield "html", str(folder / HTML_NAME)
    # A report of an earlier run must not pass for this one's.
    (folder / PDF_NAME).unlink(missing_ok=True)
    if job.pdf:
        try:
            pdf.load()
        except pdf.PdfUnavailable as error:
            yield "no_pdf", str(error)
            return
        write_atomically(folder / PDF_NAME, pdf.render(_drawn(job, page, "png")))
        yield "pdf", str(folder / PDF_NAME)


def _drawn(job: ReportJob, page: View, image_format: Format) -> str:
    """The page with its figures."""
    from grader.report import html

    return html.render(
        page,
        html.figures(job, image_format),
        html.wrong_pictures(job, image_format),
        html.sweep_figures(job, image_format),
    )


if __name__ == "__main__":
    main()
