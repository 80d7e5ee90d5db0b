"""What becomes of the reports of a run, in words: files, what is missing for a PDF, reports that came to nothing."""

from __future__ import annotations

from grader.grading.output.paths import Outputs
from grader.grading.shortages import no_process
from grader.message import Message, msg, verbatim
from grader.processes.pool import Answer, Lost
from grader.report.job import ReportJob
from grader.report.rendering.renderer import DEADLINE_S
from grader.report.rendering.worker import HTML_NAME, PDF_NAME, Reply
from grader.report.visible import visible_line
from grader.words import text

RenderingEvent = Answer[ReportJob, Reply] | Lost[ReportJob]


class Announcer:
    """Turns what the renderers tell into lines; what holds for all reports is said once.

    notices: the lines that a group prints in the end.  code: the exit code that the reports ask for.
    rendered: the students whose page is written; files: the names of the reports that were written, by student.
    """

    def __init__(self, outputs: Outputs) -> None:
        self.notices: list[str] = []
        self.code = 0
        self.rendered: set[str] = set()
        self.files: dict[str, set[str]] = {}
        self._outputs = outputs

    def lines(self, event: RenderingEvent) -> list[str]:
        """Lines to print for an event of a single grading."""
        student = event.task.result.student.id
        if isinstance(event, Lost):
            return self._lost(event, student)
        reply = event.reply
        if reply.event == "html":
            self.rendered.add(student)
            self.files.setdefault(student, set()).add(HTML_NAME)
            return [text(msg("session.report", path=visible_line(reply.text)))]
        if reply.event == "pdf":
            self.files.setdefault(student, set()).add(PDF_NAME)
            return [text(msg("session.pdf", path=visible_line(reply.text)))]
        if reply.event == "no_pdf":
            from grader.report.page.pdf import DEBIAN_PACKAGES

            return self._notice(msg("session.no_pdf", packages=" ".join(DEBIAN_PACKAGES)))
        if reply.event == "unwritable":
            self.code = max(self.code, 2)
            return self._notice(msg("session.unwritable", student=student, reason=reply.text))
        if reply.event == "failed":
            return self._failed(student, None, reply.text)
        return []

    def _lost(self, event: Lost[ReportJob], student: str) -> list[str]:
        self._outputs.discard_partial(student)
        if event.reason == "deadline":
            reason: Message = msg("session.deadline", seconds=f"{DEADLINE_S:.0f}")
        elif event.reason == "unstarted":
            reason = no_process(event.detail)
        elif event.ending is not None and event.ending.by_signal:
            reason = msg("session.signal", signal=str(event.ending))
        else:
            reason = verbatim(str(event.ending or event.detail))
        output = event.ending.output if event.ending is not None else ""
        return self._failed(student, reason, f"{student}: the report: {text(reason)}\n{output}")

    def _failed(self, student: str, reason: Message | None, details: str) -> list[str]:
        self.code = 3
        log = self._outputs.write_log(student, details)
        if reason:
            return self._notice(msg("session.not_rendered_why", student=student, reason=reason, log=log))
        return self._notice(msg("session.not_rendered", student=student, log=log))

    def fails(self, student: str, what: Message, message: Message | str | None, details: str) -> list[str]:
        """Lines about something else that the grader could not do for a student."""
        self.code = 3
        log = self._outputs.write_log(student, details)
        if message:
            return self._notice(msg("session.failed_why", student=student, what=what, error=message, log=log))
        return self._notice(msg("session.failed", student=student, what=what, log=log))

    def _notice(self, notice: Message) -> list[str]:
        line = visible_line(text(notice))
        if line in self.notices:
            return []
        self.notices.append(line)
        return [line]
