"""Marks after what a teacher decided: points of `overrides.yaml`, lateness, totals.

Overrides outlive every grading. The ledger in a folder of outputs says which files were applied and what they replaced,
so that what was graded can be had back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from grader import yaml_file
from grader.course.roster import Matching, Person, composed, parse_time, zoned
from grader.course.rules import GROUP_NAME, Rules, days_late, penalty_pct, read_rules
from grader.errors import UsageError
from grader.files import read_kept, write_atomically
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.result import Check, Decisions, Lateness, Override, Result, Score, marked

OVERRIDES_NAME = "overrides.yaml"

_Decided = TypeVar("_Decided")
_Points = Annotated[float, msgspec.Meta(ge=0, le=10_000)]
_Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


class DecidedPoints(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Points and why."""

    points: _Points
    reason: _Reason


class StudentOverrides(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What was decided of one student's work for one lab; checks: by their ids, `<variant>.<check>`."""

    checks: dict[str, DecidedPoints] = {}
    total: DecidedPoints | None = None
    note: str = ""


@dataclass(slots=True)
class Overrides:
    """The decisions of a course, by lab and student, and what they replaced when they were made."""

    path: Path | None = None
    by_lab: Mapping[str, Mapping[str, StudentOverrides]] = field(default_factory=dict)
    seen: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, result: Result) -> StudentOverrides:
        return self.by_lab.get(result.lab, {}).get(result.student.id, StudentOverrides())

    def validate(self, lab: Lab) -> None:
        """See that decisions for `lab` speak of its checks, and give no more points than these have.

        Raises FileError: one does not; names file, line and key.
        """
        points = {f"{v.name}.{check.check}": check.points for v in lab.variants for check in v.checks}
        most = round(sum(points.values()), 2)
        for student, wanted in self.by_lab.get(lab.id, {}).items():
            if wanted.total is not None and wanted.total.points > most:
                what = _too_many(wanted.total.points, most)
                assert self.path is not None
                raise yaml_file.read(self.path).error(what, (lab.id, student, "total", "points"))
            for name, decided in wanted.checks.items():
                if name not in points:
                    what = msg("course.no_check", check=name, allowed=", ".join(points))
                elif decided.points > points[name]:
                    what = _too_many(decided.points, points[name])
                else:
                    continue
                assert self.path is not None
                raise yaml_file.read(self.path).error(what, (lab.id, student, "checks", name))

    def is_outdated(self, result: Result, check: Check | None, decided: DecidedPoints) -> bool:
        """Whether what `decided` replaces (a check's points, or the total) has changed since it was first seen."""
        place = self.seen.setdefault(f"{result.lab}/{result.student.id}", {})
        if check is not None:
            state: object = (check.status, check.earned, check.pending, check.possible)
        else:
            state = [(c.id, c.status, c.earned, c.pending, c.possible) for c in result.checks]
        key = f"{check.id if check else ''} {_digest((decided.points, decided.reason))}"
        return place.setdefault(key, _digest(state)) != _digest(state)


def _too_many(got: float, most: float) -> Message:
    whole = [int(points) if float(points).is_integer() else points for points in (got, most)]
    return msg("course.too_many", got=whole[0], most=whole[1])


def read_overrides(path: Path, seen: dict[str, dict[str, str]]) -> Overrides:
    """The decisions in `path`; seen: what earlier runs saw them replace.

    Raises FileError: it cannot be read or is wrong; names file, line and key.
    """
    file = yaml_file.read(path)
    document = {} if file.data is None else file.data
    by_lab = file.decode(dict[str, dict[str, StudentOverrides]], data=document)
    return Overrides(
        path, {lab: {composed(who): it for who, it in by_student.items()} for lab, by_student in by_lab.items()}, seen
    )


def overridden(check: Check, decided: DecidedPoints, outdated: bool) -> Check:
    """The check with the points that were decided."""
    override = Override(
        points=decided.points,
        was=check.earned,
        was_pending=check.pending,
        was_possible=check.possible,
        reason=decided.reason,
        outdated=outdated,
    )
    # What did not apply counts for who is given points for it.
    possible = max(check.possible, decided.points)
    return msgspec.structs.replace(check, earned=decided.points, pending=0.0, possible=possible, override=override)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


# What lies in a folder of outputs of the decisions that were applied there: by which files, and what they replaced.

LEDGER_NAME = ".decisions.json"


class DecidedBy(msgspec.Struct, frozen=True):
    """The files by which a lab was marked, "" for none; also relative to the folder of outputs: both may be moved."""

    rules: str = ""
    overrides: str = ""
    rules_beside: str = ""
    overrides_beside: str = ""


class Ledger(msgspec.Struct, frozen=True):
    """What was applied.

    labs: by which files, by lab; rules, overrides: those of labs that are not in it, as earlier versions wrote them.
    seen: what each decision replaced when it was first seen, as hashes by "lab/student" and by check ("" the total).
    weights: of labs in the course.
    """

    rules: str = ""
    overrides: str = ""
    labs: dict[str, DecidedBy] = {}
    seen: dict[str, dict[str, str]] = {}
    weights: dict[str, float] = {}

    def of(self, lab: str) -> DecidedBy:
        """The files by which `lab` was marked."""
        return self.labs.get(lab, DecidedBy(self.rules, self.overrides))


def read_ledger(out: Path) -> Ledger:
    """What earlier runs into `out` kept; an empty one where there is none."""
    try:
        return msgspec.json.decode(read_kept(out / LEDGER_NAME), type=Ledger)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return Ledger()


def _write(rules: Rules, overrides: Overrides, out: Path, lab: str) -> None:
    """Keep in `out` what was applied to `lab` there; what holds for other labs, perhaps by other files, stays.

    Raises OSError: it cannot be written.
    """
    # Read only now: another lab may have been graded meanwhile.
    old = read_ledger(out)
    decided = DecidedBy(
        rules=str(rules.path or ""),
        overrides=str(overrides.path or ""),
        rules_beside=_beside(rules.path, out),
        overrides_beside=_beside(overrides.path, out),
    )
    others = {name for name, files in old.labs.items() if name != lab and files.rules not in ("", decided.rules)}
    labs = old.labs if decided == old.of(lab) else {**old.labs, lab: decided}
    ledger = Ledger(
        rules=old.rules,
        overrides=old.overrides,
        labs=labs,
        seen={
            **{key: value for key, value in old.seen.items() if not key.startswith(f"{lab}/")},
            **{key: value for key, value in overrides.seen.items() if key.startswith(f"{lab}/")},
        },
        weights={
            **{name: weight for name, weight in old.weights.items() if name in others},
            **{name: weight for name, weight in rules.weights.items() if name not in others},
        },
    )
    if ledger != old:
        write_atomically(out / LEDGER_NAME, msgspec.json.encode(ledger, order="sorted"))


def _beside(file: Path | None, out: Path) -> str:
    if file is None:
        return ""
    try:
        return os.path.relpath(file.resolve(), out.resolve())
    except ValueError:
        # Another drive.
        return ""


# Marks after what a teacher decided: overridden points, lateness, totals.  What was graded can be had back.


@dataclass(frozen=True, slots=True)
class Decider:
    """Applies a course's rules and a teacher's decisions."""

    rules: Rules
    overrides: Overrides

    def for_people(self, people: Sequence[Person]) -> Decider:
        """The same with everybody by their id, whatever the files call them: that, or what else is known of them.

        Raises FileError: a file speaks of one person by two names.
        """
        ids, matching = {person.id for person in people}, Matching(people)

        def name_of(name: str) -> str:
            listed = None if name in ids else matching.find(Person(id=name, name=name))
            return name if listed is None else listed.id

        rules, overrides = self.rules, self.overrides
        by_lab = {lab: _by_id(by_name, name_of, overrides.path, (lab,)) for lab, by_name in overrides.by_lab.items()}
        handed_in: dict[str, dict[str, datetime]] = {}
        for (name, lab), time in rules.handed_in.items():
            handed_in.setdefault(lab, {})[name] = time
        place = ("students",)
        return Decider(
            replace(
                rules,
                extra_days=_by_id(rules.extra_days, name_of, rules.path, place),
                handed_in={
                    (student, lab): time
                    for lab, by_name in handed_in.items()
                    for student, time in _by_id(by_name, name_of, rules.path, place).items()
                },
            ),
            replace(overrides, by_lab=by_lab),
        )

    def of_nobody(self, lab: str, people: Sequence[Person], labs: Collection[str]) -> list[Message]:
        """What of the two files comes to nothing, as it speaks of nobody's work or of no lab.

        people: those whose work for `lab` is graded.  labs: all that are known.
        """
        students = {person.id for person in people}
        names = dict.fromkeys(
            filter(None, (name for p in people for name in (p.id, p.login, p.name, p.email, p.number)))
        )
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
                like = get_close_matches(student, names, 1)
                if like:
                    notice = msg("course.unknown_student_like", file=str(path), student=student, like=like[0])
                else:
                    notice = msg("course.unknown_student", file=str(path), student=student)
                notices.append(notice)
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
            lost_pending=round(score.pending - pending, 2),
        )
        return msgspec.structs.replace(score, earned=earned, pending=pending), late, False


def _by_id(
    by_name: Mapping[str, _Decided], name_of: Callable[[str], str], path: Path | None, place: tuple[str, ...]
) -> dict[str, _Decided]:
    """What was decided, by students' ids.  Raises FileError: two names are one student's."""
    names: dict[str, str] = {}
    for name in by_name:
        first = names.setdefault(name_of(name), name)
        if first != name:
            assert path is not None
            raise yaml_file.read(path).error(msg("course.decided_twice", first=first, second=name), (*place, name))
    return {student: by_name[name] for student, name in names.items()}


def find_decider(folders: Sequence[Path], out: Path) -> Decider:
    """What was decided for works in `folders` whose outputs are in `out`: by `group.yaml` and `overrides.yaml` there.

    Raises UsageError: one of them is wrong, or lies in two places.
    """
    ledger = dict(read_ledger(out).seen)
    rules, overrides = _find(GROUP_NAME, folders, out), _find(OVERRIDES_NAME, folders, out)
    return Decider(
        read_rules(rules) if rules else Rules(),
        read_overrides(overrides, ledger) if overrides else Overrides(seen=ledger),
    )


def _find(name: str, folders: Sequence[Path], out: Path) -> Path | None:
    paths = {(folder / name).resolve() for folder in (*folders, out) if (folder / name).is_file()}
    if len(paths) > 1:
        one, other = sorted(paths)[:2]
        raise UsageError(msg("course.two_files", one=str(one), other=str(other)))
    return next(iter(paths), None)


def find_decider_again(out: Path, lab: str) -> Decider:
    """What is decided now by the files by which it was decided when the outputs for `lab` in `out` were made.

    Raises UsageError: one of them is wrong, is not there any more, or lies in two places.
    """
    kept = read_ledger(out).of(lab)
    folders = set()
    for file, beside in ((kept.rules, kept.rules_beside), (kept.overrides, kept.overrides_beside)):
        if not file:
            continue
        # A course that was moved, or copied, has its own.
        existing = next((path for path in (out / beside, Path(file)) if path.is_file()), None)
        if existing is not None:
            folders.add(existing.parent.resolve())
        elif not (out / Path(file).name).exists():
            # Without it marks would change that nobody has decided anew.
            raise UsageError(msg("course.file_gone", file=file, folder=str(out)))
    return find_decider(sorted(folders), out)


def see_that_decisions_are_known(decider: Decider, results: Iterable[Result], out: Path) -> None:
    """See that every decision on `results`, which lie in `out`, stands in a file that `decider` has read.

    Raises UsageError: it does not: the folder has lost what tells where these files are.
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
    """Keep in `out` what was applied to `lab` there.  Raises OSError: it cannot be written."""
    _write(decider.rules, decider.overrides, out, lab)


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
