"""What becomes of the reports of a run, in words: files, what is missing for a PDF, reports that came to nothing."""

from __future__ import annotations

from grader.grading.outputs import Outputs
from grader.grading.workers import no_process
from grader.i18n import _
from grader.processes.pool import Answer, Lost
from grader.report.job import ReportJob
from grader.report.renderer import DEADLINE_S
from grader.report.visible import visible_line
from grader.report.worker import Reply

RenderingEvent = Answer[ReportJob, Reply] | Lost[ReportJob]


class Announcer:
    """Turns what the renderers tell into lines; what holds for all reports is said once.

    notices: the lines that a group prints in the end.  code: the exit code that the reports ask for.
    rendered: the students whose page is written.
    """

    def __init__(self, outputs: Outputs) -> None:
        self.notices: list[str] = []
        self.code = 0
        self.rendered: set[str] = set()
        self._outputs = outputs

    def lines(self, event: RenderingEvent) -> list[str]:
        """Lines to print for an event of a single grading."""
        student = event.task.result.student.id
        if isinstance(event, Lost):
            return self._lost(event, student)
        reply = event.reply
        if reply.event == "html":
            self.rendered.add(student)
            return [_("Report: {path}").format(path=visible_line(reply.text))]
        if reply.event == "pdf":
            return [_("PDF:    {path}").format(path=visible_line(reply.text))]
        if reply.event == "no_pdf":
            from grader.report.pdf import DEBIAN_PACKAGES

            line = _("No PDF: Pango is missing; install it with: apt install {packages}")
            return self._notice(line.format(packages=" ".join(DEBIAN_PACKAGES)))
        if reply.event == "unwritable":
            self.code = max(self.code, 2)
            text = _("{student}: the report could not be written: {reason}")
            return self._notice(text.format(student=student, reason=reply.text))
        if reply.event == "failed":
            return self._failed(student, "", reply.text)
        return []

    def _lost(self, event: Lost[ReportJob], student: str) -> list[str]:
        self._outputs.discard_partial(student)
        if event.reason == "deadline":
            reason = _("it took longer than {seconds} s").format(seconds=f"{DEADLINE_S:.0f}")
        elif event.reason == "unstarted":
            reason = no_process(event.detail)
        elif event.ending is not None and event.ending.by_signal:
            reason = _("its process was ended by {signal}").format(signal=event.ending)
        else:
            reason = str(event.ending or event.detail)
        output = event.ending.output if event.ending is not None else ""
        return self._failed(student, reason, f"{student}: the report: {reason}\n{output}")

    def _failed(self, student: str, reason: str, details: str) -> list[str]:
        self.code = 3
        log = self._outputs.write_log(student, details)
        if reason:
            text = _("{student}: the report could not be rendered ({reason}); details are in {log}")
            return self._notice(text.format(student=student, reason=reason, log=log))
        text = _("{student}: the report could not be rendered; details are in {log}")
        return self._notice(text.format(student=student, log=log))

    def fails(self, student: str, what: str, message: str, details: str) -> list[str]:
        """Lines about something else that the grader could not do for a student."""
        self.code = 3
        log = self._outputs.write_log(student, details)
        if message:
            text = _("{student}: {what}: the grader failed ({error}); details are in {log}")
            return self._notice(text.format(student=student, what=what, error=message, log=log))
        text = _("{student}: {what}: the grader failed; details are in {log}")
        return self._notice(text.format(student=student, what=what, log=log))

    def _notice(self, line: str) -> list[str]:
        line = visible_line(line)
        if line in self.notices:
            return []
        self.notices.append(line)
        return [line]
