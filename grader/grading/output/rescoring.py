"""Scores stored results again by a changed lab file and a teacher's decisions; nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.course.decisions import Decider, find_decider_again, undone, write_ledger
from grader.errors import UsageError, describe_os_error
from grader.exports.roster import rest_of, rules_of
from grader.files import write_atomically
from grader.grading.output.paths import RESULT_NAME
from grader.grading.output.rescored_check import rescored_check
from grader.grading.output.retelling import retell
from grader.grading.output.stored import StoredRun, stored_groups
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import msg
from grader.report.numbers import Numbers
from grader.report.visible import visible_line
from grader.result import Result, encode, score_of, status_of
from grader.words import check_title, text, told


def rescore(folder: Path, language: str, pdf: bool, labs_folders: Sequence[Path]) -> int:
    """Mark what lies in `folder` again and say whose marks change and why; returns the exit code.

    Raises
    ------
    UsageError : no group lies there, or its lab changed in more than points and thresholds.
    """
    try:
        runs = list(stored_groups(folder))
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    if not runs:
        raise UsageError(msg("session.no_group", path=str(folder)))
    known = {run.lab: labs.find(run.lab, labs_folders) for run in runs}
    decider = find_decider_again(folder)
    for run in runs:
        if run.rest != rest_of(known[run.lab]):
            raise UsageError(msg("session.lab_changed", lab=run.lab))
        decider.overrides.validate(known[run.lab])
    changes, untold = 0, 0
    try:
        for run in runs:
            changed, left = _Rescoring(run, known[run.lab], decider, language).mark()
            changes, untold = changes + changed, untold + left
        write_ledger(decider, folder)
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    print(text(msg("session.rescored", n=changes)))
    if untold:
        return 2
    retell(folder, language, pdf, labs_folders)
    return 0


class _Rescoring:
    """A lab's group that is marked again."""

    def __init__(self, run: StoredRun, lab: Lab, decider: Decider, language: str) -> None:
        self._run = run
        self._decider = decider
        self._numbers = Numbers(language)
        self._old = run.checks
        self._new = rules_of(lab)
        self._specs = {f"{v.name}.{check.check}": check for v in lab.variants for check in v.checks}

    def mark(self) -> tuple[int, int]:
        """Write what changes; returns how many marks did, and how many works have to be graded again.

        All are marked by the same rules: where one has to be graded again, nothing is written.
        """
        marked, left = [], 0
        for entry in self._run.entries:
            if entry.result is None:
                continue
            again, unclear = self._again(undone(entry.result))
            if unclear:
                left += 1
                names = ", ".join(unclear)
                print(visible_line(text(msg("session.grade_again", student=entry.student, checks=names))))
                continue
            again = told(self._decider.decided(again, entry.person))
            if again != entry.result:
                marked.append((entry.result, again))
        if left:
            return 0, left
        for before, after in marked:
            write_atomically(self._run.outputs.folder(after.student.id) / RESULT_NAME, encode(after))
            for line in self._differences(before, after) if before.score != after.score else []:
                print(visible_line(line))
        return sum(before.score != after.score for before, after in marked), 0

    def _again(self, result: Result) -> tuple[Result, list[str]]:
        """The result by the new rules, and the checks of it that what is stored does not tell."""
        checks, unclear = [], []
        for check in result.checks:
            old, spec = self._old.get(check.id), self._specs.get(check.id)
            if old is None or spec is None:
                unclear.append(check.id)
                continue
            again = rescored_check(check, spec, old.points, self._settings_changed(check.id))
            if again is None:
                unclear.append(check.id)
            else:
                checks.append(again)
        unclear += sorted(set(self._new) - {check.id for check in result.checks})
        return (
            msgspec.structs.replace(result, checks=checks, score=score_of(checks), status=status_of(checks)),
            unclear,
        )

    def _settings_changed(self, check: str) -> bool:
        return self._old[check].settings != self._new[check].settings

    def _differences(self, before: Result, after: Result) -> list[str]:
        """The mark before and after, and each check whose points differ."""
        points = self._numbers.points
        lines = [f"{after.student.id}: {points(before.score.earned)} → {points(after.score.earned)}"]
        was = {check.id: check for check in before.checks}
        for check in after.checks:
            old = was[check.id]
            if (old.earned, old.possible, old.pending) != (check.earned, check.possible, check.pending):
                title = f"{check.variant}: {check_title(check.check)}"
                lines.append(
                    f"  {title}: {points(old.earned)}/{points(old.possible)} → "
                    f"{points(check.earned)}/{points(check.possible)}"
                )
        return lines
