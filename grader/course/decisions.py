"""Marks after what a teacher decided: overridden points, lateness, totals.  What was graded can be had back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import msgspec

from grader.course import ledger
from grader.course.overrides import OVERRIDES_NAME, Overrides, overridden, read_overrides
from grader.course.people import Person
from grader.course.rules import GROUP_NAME, Rules, days_late, penalty_pct, read_rules
from grader.course.times import parse_time, zoned
from grader.errors import UsageError
from grader.message import Message, msg
from grader.result import Decisions, Lateness, Override, Result, Score, marked


@dataclass(frozen=True, slots=True)
class Decider:
    """Applies a course's rules and a teacher's decisions."""

    rules: Rules
    overrides: Overrides

    def of_nobody(self, lab: str, students: Collection[str], labs: Collection[str]) -> list[Message]:
        """What of the two files comes to nothing, as it speaks of nobody's work or of no lab.

        students: those whose work for `lab` is graded.  labs: all that are known.
        """
        notices = []
        rules, overrides = self.rules, self.overrides
        for path, spoken_of in (
            (rules.path, [*rules.weights, *(name for _student, name in rules.handed_in)]),
            (overrides.path, list(overrides.by_lab)),
        ):
            notices += [
                msg("course.unknown_lab", file=str(path), lab=name, known=", ".join(sorted(labs)))
                for name in dict.fromkeys(spoken_of)
                if name not in labs
            ]
        for path, named in ((rules.path, rules.extra_days), (overrides.path, overrides.by_lab.get(lab, {}))):
            for student in named:
                if student in students:
                    continue
                like = get_close_matches(student, students, 1)
                if like:
                    told = msg("course.unknown_student_like", file=str(path), student=student, like=like[0])
                else:
                    told = msg("course.unknown_student", file=str(path), student=student)
                notices.append(told)
        return notices

    def decided(self, result: Result, person: Person | None = None) -> Result:
        """The result with everything applied that holds for it, whatever was applied to it before."""
        result = undone(result)
        wanted = self.overrides.of(result)
        checks = [
            overridden(check, decided, self.overrides.is_outdated(result, check, decided))
            if (decided := wanted.checks.get(check.id)) is not None
            else check
            for check in result.checks
        ]
        result = marked(result, checks)
        score, late, asks_time = self._late(result, result.score, person)
        total = None
        if wanted.total is not None:
            is_outdated = self.overrides.is_outdated(result, None, wanted.total)
            total = Override(
                points=wanted.total.points,
                was=score.earned,
                was_pending=score.pending,
                was_possible=score.possible,
                reason=wanted.total.reason,
                outdated=is_outdated,
            )
            score = msgspec.structs.replace(score, earned=wanted.total.points, pending=0.0)
            if result.status == "not_judged":
                # The teacher has judged it.
                has_failed = any(check.status == "fail" for check in checks)
                result = msgspec.structs.replace(result, status="failed" if has_failed else "passed")
        decisions = Decisions(late=late, total=total, note=wanted.note, asks_time=asks_time)
        return msgspec.structs.replace(result, score=score, decisions=None if decisions == Decisions() else decisions)

    def _late(self, result: Result, score: Score, person: Person | None) -> tuple[Score, Lateness | None, bool]:
        student = result.student.id
        due = self.rules.due(result.lab, student, person.extra_days if person else 0.0)
        if due is None:
            return score, None, False
        handed_in = self.rules.handed_in.get((student, result.lab))
        if handed_in is None and person is not None and person.handed_in:
            handed_in = zoned(parse_time(person.handed_in), self.rules.zone)
        if handed_in is None:
            return score, None, True
        days = days_late(handed_in, due.time, self.rules.zone)
        if not days:
            return score, None, False
        percent = penalty_pct(days, due.penalty)
        kept = 1 - percent / 100
        earned, pending = round(score.earned * kept, 2), round(score.pending * kept, 2)
        late = Lateness(
            handed_in=handed_in.astimezone(self.rules.zone).isoformat(timespec="minutes"),
            deadline=due.time.astimezone(self.rules.zone).isoformat(timespec="minutes"),
            days=days,
            penalty_pct=percent,
            lost=round(score.earned - earned, 2),
        )
        return msgspec.structs.replace(score, earned=earned, pending=pending), late, False


def find_decider(folders: Sequence[Path], out: Path) -> Decider:
    """What was decided for works in `folders` whose outputs are in `out`: by `group.yaml` and `overrides.yaml` there.

    Raises
    ------
    UsageError : one of them is wrong, or lies in two places.
    """
    seen = dict(ledger.read_ledger(out).seen)
    rules, overrides = _find(GROUP_NAME, folders, out), _find(OVERRIDES_NAME, folders, out)
    return Decider(
        read_rules(rules) if rules else Rules(),
        read_overrides(overrides, seen) if overrides else Overrides(seen=seen),
    )


def _find(name: str, folders: Sequence[Path], out: Path) -> Path | None:
    found = {(folder / name).resolve() for folder in (*folders, out) if (folder / name).is_file()}
    if len(found) > 1:
        one, other = sorted(found)[:2]
        raise UsageError(msg("course.two_files", one=str(one), other=str(other)))
    return next(iter(found), None)


def find_decider_again(out: Path, lab: str) -> Decider:
    """What is decided now by the files by which it was decided when the outputs for `lab` in `out` were made.

    Raises
    ------
    UsageError : one of them is wrong, is not there any more, or lies in two places.
    """
    kept = ledger.read_ledger(out).of(lab)
    folders = set()
    for file, beside in ((kept.rules, kept.rules_beside), (kept.overrides, kept.overrides_beside)):
        if not file:
            continue
        # A course that was moved, or copied, has its own.
        found = next((path for path in (out / beside, Path(file)) if path.is_file()), None)
        if found is not None:
            folders.add(found.parent.resolve())
        elif not (out / Path(file).name).exists():
            # Without it marks would change that nobody has decided anew.
            raise UsageError(msg("course.file_gone", file=file, folder=str(out)))
    return find_decider(sorted(folders), out)


def see_that_decisions_are_known(decider: Decider, results: Iterable[Result], out: Path) -> None:
    """That what was decided for `results`, which lie in `out`, stands in a file that `decider` has read.

    Raises
    ------
    UsageError : it does not: the folder has lost what tells where these files are.
    """
    for result in results:
        decided = result.decisions or Decisions()
        is_overridden = decided.total or decided.note or any(check.override for check in result.checks)
        for name, path, is_there in (
            (OVERRIDES_NAME, decider.overrides.path, is_overridden),
            (GROUP_NAME, decider.rules.path, decided.late or decided.asks_time),
        ):
            if is_there and path is None:
                raise UsageError(msg("course.file_unknown", file=name, folder=str(out), student=result.student.id))


def write_ledger(decider: Decider, out: Path, lab: str) -> None:
    """Keep in `out` what was applied to `lab` there.

    Raises
    ------
    OSError : it cannot be written.
    """
    ledger.write_ledger(decider.rules, decider.overrides, out, lab)


def undone(result: Result) -> Result:
    """The result as it was graded."""
    if result.decisions is None and all(check.override is None for check in result.checks):
        return result
    checks = [
        check
        if check.override is None
        else msgspec.structs.replace(
            check,
            earned=check.override.was,
            pending=check.override.was_pending,
            possible=check.override.was_possible,
            override=None,
        )
        for check in result.checks
    ]
    return msgspec.structs.replace(marked(result, checks), decisions=None)
