"""Shows stored results again, in the language in use: texts, pages, tables of marks.  Nothing is graded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageError, describe_os_error
from grader.exports import pages
from grader.exports.entries import Entry, Table, source_of
from grader.exports.pages import rows_of
from grader.exports.registry import COURSE_EXPORTS, EXPORTS
from grader.files import read_kept, write_atomically
from grader.grading.output.cache import is_rendered, put_reports, retold
from grader.grading.output.paths import RESULT_NAME, Announcer
from grader.grading.output.stored import StoredRun, find_stored
from grader.grading.output.tables import Tables, compare_once, course_tables
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import msg
from grader.processes.pool import Answer, Pool, wait
from grader.report.job import ReportJob, make_job
from grader.report.rendering import Reply, rendering_pool
from grader.report.visible import visible_line
from grader.result import Result, encode, weightier
from grader.words import text, told

if TYPE_CHECKING:
    from rich.console import Console


def retell(path: Path, language: str, pdf: bool, labs_folders: Sequence[Path], only_stale: bool = False) -> int:
    """Write and show again what lies at `path`, in `language`, which is the one in use; returns the exit code.

    only_stale: of a group's reports, those that already lie there as they would be written are left alone.

    Raises
    ------
    UsageError : nothing is there, it cannot be read or written, or its lab is not known here.
    """
    from grader.report import terminal

    runs = find_stored(path)
    known = {run.lab: labs.find(run.lab, labs_folders) for run in runs}
    out = terminal.console()
    code = 0
    with rendering_pool(pdf) as rendering:
        for run in runs:
            try:
                code = weightier(
                    (code, _Retelling(run, known[run.lab], language, pdf, rendering, out).tell(only_stale))
                )
            except OSError as error:
                raise UsageError(describe_os_error(error)) from error
        for folder in dict.fromkeys(run.outputs.out for run in runs if run.is_group):
            tables = Tables(language)
            found, left_out = course_tables(folder, {}, labs_folders)
            shown = [table for table in found if table.entries]
            for line in (*tables.of_course(COURSE_EXPORTS, shown, folder), *left_out, *tables.problems):
                out.print(visible_line(line), soft_wrap=True)
    return code


class _Retelling:
    """One run that is shown again."""

    def __init__(
        self, run: StoredRun, lab: Lab, language: str, pdf: bool, rendering: Pool[ReportJob, Reply], out: Console
    ) -> None:
        self._run = run
        self._lab = lab
        self._language = language
        self._pdf = pdf
        self._rendering = rendering
        self._out = out
        self._announced = Announcer(run.outputs)

    def tell(self, only_stale: bool) -> int:
        """Write and show it; returns the exit code that the reports ask for."""
        entries = [e if e.result is None else replace(e, result=self._rewritten(e.result)) for e in self._run.entries]
        for entry in entries:
            if entry.result is not None:
                folder = self._run.outputs.folder(entry.student)
                if only_stale and self._run.is_group and is_rendered(folder, self._lab, self._language, self._pdf):
                    self._announced.rendered.add(entry.student)
                    continue
                job = make_job(entry.result, self._lab, self._language, str(folder), self._pdf)
                self._rendering.submit(job, job)
                if not self._run.is_group:
                    self._show(job)
        lines = self._rendered()
        if self._run.is_group:
            lines = self._conclude(entries)
        for line in lines:
            self._out.print(visible_line(line), soft_wrap=True)
        self._out.file.flush()
        return self._announced.code

    def _rewritten(self, result: Result) -> Result:
        """The result with its texts in the language in use, on disk too."""
        again = told(result)
        if again != result:
            folder = self._run.outputs.folder(result.student.id)
            before, after = read_kept(folder / RESULT_NAME), encode(again)
            write_atomically(folder / RESULT_NAME, after)
            retold(folder, before, after, self._language)
        if result.schema_version == 1:
            self._out.print(visible_line(text(msg("session.old_result", student=result.student.id))), soft_wrap=True)
        return again

    def _show(self, job: ReportJob) -> None:
        from grader.report import terminal
        from grader.report.summary import summary

        terminal.show_result(self._out, summary(job))
        self._out.print()

    def _rendered(self) -> list[str]:
        """Waits for the reports; returns lines that name them."""
        lines = []
        while self._rendering.unfinished:
            for event in self._rendering.events():
                lines += self._announced.lines(event)
                if isinstance(event, Answer) and event.is_last:
                    student = event.task.result.student.id
                    names = self._announced.files.pop(student, set())
                    put_reports(self._run.outputs.folder(student), self._lab, self._language, names)
            if self._rendering.unfinished:
                wait(self._rendering)
        return lines

    def _conclude(self, entries: Sequence[Entry]) -> list[str]:
        """Writes a group's tables and shows its marks; returns lines that name the files."""
        from grader.report import terminal

        outputs, names = self._run.outputs, [variant.name for variant in self._lab.variants]
        linked = [
            replace(e, report=outputs.report_link(e.student)) if e.student in self._announced.rendered else e
            for e in entries
        ]
        tables = Tables(self._language)
        sourced = [e if e.result is None else replace(e, source=source_of(e.result)) for e in linked]
        table = Table(self._lab, sourced, similar=compare_once(self._lab, sourced, outputs.out))
        lines = tables.of_lab((*EXPORTS, pages.SIMILAR), table, outputs)
        lines += tables.problems
        rows = rows_of(linked, names, self._language)
        terminal.show_group(self._out, rows, names)
        return [line for line in (*lines, *self._announced.notices) if line]
