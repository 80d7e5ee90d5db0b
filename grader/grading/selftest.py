"""`grade selftest`: a lab's known-good and known-bad kernels through the whole pipeline, each with its exact verdict.

The kernels lie in the folder that the lab file names by `selftest`, with a table `verdicts.yaml`:

    good/float4.cu: {variants: [padded]}
    bad/missing_barrier.cu: {variants: [shared], fails: {shared.races: 11}}

A kernel is told right when exactly its variants were found in it, exactly those checks fail, each at its line, and no
check errs.  Speed is left out: what is fast enough depends on the machine.  Of a variant that was not found only
`present` can fail, and does so unasked where another one was: a file need not hold all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from grader import words
from grader.errors import FileError, UsageError
from grader.files import write_atomically
from grader.grading.options import GradeOptions
from grader.grading.workers import Failed, Graded, GradeTask, Outcome, Refused, grade_all, job_count
from grader.lab import labs
from grader.lab.expected import Oracle
from grader.lab.records import Lab
from grader.message import Message, as_message, msg, sizes_msg
from grader.result import Check, Result
from grader.running.evidence import OF_DATA
from grader.yaml_file import YamlFile, choose, read

TABLE = "verdicts.yaml"
HEAD = (
    "# The verdict that each kernel must get: the variants that it holds, the checks that fail, and the line of each."
)
KINDS = ("good", "bad")
UNCAUGHT = "uncaught"
"""Folder beside these of wrong kernels that the lab does not catch: no fault of theirs, but something to know."""
MAX_GOOD = 3
"""Right kernels that a setting which would catch a wrong one must not take offence at."""
MACHINE_DEPENDENT = ("speedup",)
"""Checks whose verdict is the machine's as much as the kernel's."""
NOT_OF_THE_KERNEL = ("host_code",)
"""Where kernels are asked for, host code of a specimen is there to show its launches, unless its verdict names it."""


ABSENT = ".present"
"""What fails of a variant that was not found."""


class _Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variants: list[str]
    fails: dict[str, int | None] = {}


@dataclass(frozen=True, slots=True)
class Specimen:
    """A kernel whose verdict is known.

    name: of its file in the lab's folder of kernels, "bad/missing_barrier.cu".
    variants: those that are found in it.
    fails: the checks that fail, with the lines that they name (None: no line).
    left_out: checks of which nothing is said.
    """

    lab: str
    name: str
    file: Path
    variants: frozenset[str]
    fails: Mapping[str, int | None]
    left_out: tuple[str, ...] = (*MACHINE_DEPENDENT, *NOT_OF_THE_KERNEL)


@dataclass(frozen=True, slots=True)
class SpecimenOutcome:
    """What came of a specimen; problems: what is not as it should be, empty when all is.

    is_refused: it was not graded: the lab's files or its own are wrong.
    """

    specimen: Specimen
    problems: tuple[Message, ...]
    is_refused: bool = False

    @property
    def is_missed(self) -> bool:
        """Whether it is a wrong kernel of which nothing fails."""
        expected = [msg("selftest.passes", check=name) for name in self.specimen.fails]
        return bool(expected) and list(self.problems) == expected


def specimens(lab: Lab) -> list[Specimen]:
    """The lab's kernels with known verdicts, in order of its table; none where it has no such folder.

    Raises FileError: the table names what does not exist, leaves a kernel out, or contradicts itself.
    """
    if lab.selftest is None:
        return []
    if not lab.selftest.is_dir():
        raise read(lab.path).error(msg("selftest.no_folder", path=str(lab.selftest)), ("selftest",))
    file = read(lab.selftest / TABLE) if (lab.selftest / TABLE).is_file() else None
    if file is None or file.data is None:
        raise FileError(msg("selftest.no_table", lab=lab.id), lab.selftest / TABLE)
    table = file.decode(dict[str, Any])
    checks = {f"{v.name}.{spec.check}" for v in lab.variants for spec in v.checks}
    listed = [_specimen(file, lab, lab.selftest, name, data, checks) for name, data in table.items()]
    there = {f"{kind}/{path.name}" for kind in KINDS for path in (lab.selftest / kind).glob("*.cu")}
    for name in sorted(there - table.keys()):
        raise file.error(msg("selftest.no_verdict", name=name, lab=lab.id))
    return listed


def own_solutions(lab: Lab) -> list[Specimen]:
    """What the lab of a function or a program measures others by, which has to be right as theirs has."""
    if not lab.makes_launches or len(lab.variants) > 1:
        return []
    variant = lab.variants[0]
    file = variant.reference.file
    return [Specimen(lab.id, f"{file.parent.name}/{file.name}", file, frozenset({variant.name}), {})]


def _specimen(file: YamlFile, lab: Lab, folder: Path, name: str, data: object, checks: set[str]) -> Specimen:
    verdict = file.decode(_Verdict, (name,), data)
    if not (folder / name).is_file() or Path(name).parent.name not in KINDS:
        raise file.error(msg("selftest.no_kernel", path=str(folder / name)), (name,))
    names = [variant.name for variant in lab.variants]
    for index, variant in enumerate(verdict.variants):
        if variant not in names:
            raise file.error(
                msg("selftest.unknown_variant", variant=variant, allowed=choose(variant, names)),
                (name, "variants", index),
            )
    for check in verdict.fails:
        if check not in checks or (check.partition(".")[0] not in verdict.variants and not check.endswith(ABSENT)):
            raise file.error(
                msg("selftest.unknown_check", check=check, allowed=choose(check, checks)), (name, "fails", check)
            )
    if bool(verdict.fails) != name.startswith("bad/"):
        raise file.error(msg("selftest.good_and_bad"), (name,))
    left_out = _left_out(lab, verdict.fails)
    return Specimen(lab.id, name, folder / name, frozenset(verdict.variants), verdict.fails, left_out)


def _left_out(lab: Lab, fails: Iterable[str]) -> tuple[str, ...]:
    of_host_code = lab.program is not None or any(failed.endswith(NOT_OF_THE_KERNEL) for failed in fails)
    return MACHINE_DEPENDENT if of_host_code else (*MACHINE_DEPENDENT, *NOT_OF_THE_KERNEL)


def examine(
    specimens: Sequence[Specimen],
    backend: str = "auto",
    jobs: int | None = None,
    labs_folders: Sequence[Path] = (),
    done: Callable[[SpecimenOutcome], None] | None = None,
) -> list[SpecimenOutcome]:
    """Grade every specimen; outcomes in the order given.

    jobs: specimens at the same time, None for one per core.
    done: told of each outcome as it comes.
    """
    outcomes: list[SpecimenOutcome] = []

    def judged(specimen: Specimen, outcome: Outcome) -> None:
        outcomes.append(SpecimenOutcome(specimen, tuple(problems(specimen, outcome)), isinstance(outcome, Refused)))
        if done is not None:
            done(outcomes[-1])

    _grade(specimens, backend, jobs, labs_folders, judged)
    places = {(specimen.lab, specimen.name): place for place, specimen in enumerate(specimens)}
    return sorted(outcomes, key=lambda outcome: places[outcome.specimen.lab, outcome.specimen.name])


def _grade(
    specimens: Sequence[Specimen],
    backend: str,
    jobs: int | None,
    labs_folders: Sequence[Path],
    done: Callable[[Specimen, Outcome], None] = lambda _specimen, _outcome: None,
) -> list[Outcome]:
    """Return the outcome of each specimen, in order; `done` is called with each as it comes."""
    tasks = [
        GradeTask(
            path=bytes(specimen.file),
            options=GradeOptions(
                lab=specimen.lab,
                backend=backend,
                language=words.language(),
                labs_folders=tuple(str(folder) for folder in labs_folders),
                sweeps=False,
                times=False,
                repairs=False,
                view="teacher",
            ),
        )
        for specimen in specimens
    ]
    by_task = {(specimen.lab, bytes(specimen.file)): specimen for specimen in specimens}
    outcomes: dict[tuple[str, bytes], Outcome] = {}
    for task, outcome in grade_all(tasks, job_count(len(tasks), jobs)) if tasks else ():
        key = (task.options.lab, task.path)
        outcomes[key] = outcome
        done(by_task[key], outcome)
    return [outcomes[task.options.lab, task.path] for task in tasks]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A kernel that had no verdict, and what it got: a row of the table, or why there is none.

    is_uncaught: it is wrong, and nothing that the lab checks fails.
    """

    name: str
    row: str = ""
    problems: tuple[Message, ...] = ()
    is_uncaught: bool = False


def without_verdict(lab: Lab) -> list[str]:
    """The kernels in the lab's folder that its table does not name, good ones first, then those that were not caught.

    Raises FileError: the table cannot be read.
    """
    if lab.selftest is None:
        return []
    file = read(lab.selftest / TABLE) if (lab.selftest / TABLE).is_file() else None
    table = file.decode(dict[str, Any]) if file is not None and file.data is not None else {}
    kinds = (*KINDS, UNCAUGHT)
    names = [f"{kind}/{path.name}" for kind in kinds for path in sorted((lab.selftest / kind).glob("*.cu"))]
    return [name for name in names if name not in table]


def record(
    lab: Lab, backend: str = "auto", jobs: int | None = None, labs_folders: Sequence[Path] = ()
) -> list[Recorded]:
    """Grade the kernels without a verdict and put what they get into the table, where that is what they are there for:
    a good one fails nothing, a bad one something.  A bad one that fails nothing goes to the folder of these."""
    assert lab.selftest is not None
    names = without_verdict(lab)
    new = [Specimen(lab.id, name, lab.selftest / name, frozenset(), {}) for name in names]
    results = dict(zip(names, _grade(new, backend, jobs, labs_folders), strict=True))
    recorded = []
    for name, outcome in results.items():
        file = lab.selftest / name
        if not isinstance(outcome, Graded):
            why = as_message(outcome.message) if isinstance(outcome, Refused) else None
            recorded.append(Recorded(name, problems=(why or msg("selftest.failed", reason=name),)))
            continue
        bound = [n for n, variant in outcome.result.variants.items() if variant.kernel]
        fails = _fails(lab, outcome.result, bound, is_good=name.startswith("good/"))
        erring = [c for c in outcome.result.checks if c.variant in bound and c.status == "error"]
        if erring or (name.startswith("good/") and (fails or not bound)):
            messages = [
                msg("selftest.fails", check=c.id, message=c.message_said or c.message)
                for c in (*erring, *fails.values())
            ]
            recorded.append(
                Recorded(
                    name,
                    problems=tuple(messages) or (msg("selftest.binding", got=msg("selftest.nothing"), expected="…"),),
                )
            )
            continue
        if not name.startswith("good/"):
            kind, place = ("bad", file.parent.parent / "bad") if fails else (UNCAUGHT, file.parent.parent / UNCAUGHT)
            place.mkdir(exist_ok=True)
            file.rename(place / file.name)
            name = f"{kind}/{file.name}"
        lines = ", ".join(f"{check}: {c.line or 'null'}" for check, c in fails.items())
        row = f"{name}: {{variants: [{', '.join(bound)}]{f', fails: {{{lines}}}' if fails else ''}}}"
        recorded.append(
            Recorded(name, row if fails or name.startswith("good/") else "", is_uncaught=name.startswith(UNCAUGHT))
        )
    rows = [one.row for one in recorded if one.row]
    if rows:
        table = lab.selftest / TABLE
        before = (table.read_text("utf-8").rstrip("\n") if table.is_file() else "") or HEAD
        write_atomically(table, "\n".join([before, *rows, ""]).encode())
    return recorded


def _fails(lab: Lab, result: Result, bound: Sequence[str], is_good: bool) -> dict[str, Check]:
    """The failed checks that a kernel's verdict is made of, by id.

    Of a wrong one in which no variant was found: that none was.  Of one that nothing else fails for: host code by which
    data are wrong; what it does not look at is no fault of a specimen's.
    """
    failed = {c.id: c for c in result.checks if c.status == "fail"}
    if not bound:
        return {name: c for name, c in failed.items() if name.endswith(ABSENT)}
    failed = {name: c for name, c in failed.items() if c.variant in bound}
    counted = {name: c for name, c in failed.items() if c.check not in _left_out(lab, ())}
    if counted or is_good:
        return counted
    return {name: c for name, c in failed.items() if set(c.data.get("kinds", ())) & set(OF_DATA)}


def problems(specimen: Specimen, outcome: Outcome) -> list[Message]:
    """In what an outcome is not the verdict that the specimen must get."""
    match outcome:
        case Graded(result=result):
            return _problems(specimen, result)
        case Refused(message=message):
            return [as_message(message)]
        case Failed(details=details):
            return [msg("selftest.failed", reason=details.strip().rpartition("\n")[2])]


def _problems(specimen: Specimen, result: Result) -> list[Message]:
    problems: list[Message] = []
    bound = {name for name, variant in result.variants.items() if variant.kernel}
    if bound != specimen.variants:
        problems.append(
            msg(
                "selftest.binding",
                got=", ".join(sorted(bound)) or msg("selftest.nothing"),
                expected=", ".join(sorted(specimen.variants)) or msg("selftest.nothing"),
            )
        )
    fails: dict[str, int | None] = {}
    for check in result.checks:
        if check.check in specimen.left_out or (check.variant not in bound and check.id not in specimen.fails):
            continue
        if check.status == "fail":
            fails[check.id] = check.line
            if check.id not in specimen.fails:
                problems.append(msg("selftest.fails", check=check.id, message=check.message_said or check.message))
        elif check.status == "error":
            problems.append(msg("selftest.why", check=check.id, message=check.message_said or check.message))
    for name, line in specimen.fails.items():
        if name not in fails:
            problems.append(msg("selftest.passes", check=name))
        elif fails[name] != line:
            problems.append(msg("selftest.line", check=name, got=fails[name], expected=line))
    return problems


def selftest(
    lab_id: str | None, backend: str, jobs: int | None, labs_folders: Sequence[Path], recording: bool = False
) -> int:
    """The command: a row for each kernel, and 0 when every one got its verdict, 1 when not.

    recording: kernels without a verdict get the one that they have now.

    Raises UsageError: no such lab, it has no kernels to be tested with, or all of them are refused for one reason.
    Raises FileError: the files of the lab are wrong.
    """
    from grader.report import terminal

    chosen = [labs.find(lab_id, labs_folders)] if lab_id is not None else labs.all_labs(labs_folders)
    out = terminal.console()
    for lab in chosen if recording else ():
        for one in record(lab, backend, jobs, labs_folders) if lab.selftest is not None else ():
            for line in told_of(one):
                out.print(words.text(line), soft_wrap=True)
    with_verdict = {lab.id: specimens(lab) for lab in chosen}
    if not any(with_verdict.values()):
        raise UsageError(msg("selftest.lab_without", lab=lab_id or ""))
    all_specimens = [one for lab in chosen for one in (*own_solutions(lab), *with_verdict[lab.id])]
    count = 0

    def tell(outcome: SpecimenOutcome) -> None:
        nonlocal count
        count += 1
        mark = "✗" if outcome.problems else "✓"
        out.print(f"{count}/{len(all_specimens)} {mark} {outcome.specimen.lab}/{outcome.specimen.name}", soft_wrap=True)

    outcomes = examine(all_specimens, backend, jobs, labs_folders, tell)
    for lab in chosen:
        own = [outcome for outcome in outcomes if outcome.specimen.lab == lab.id]
        if len(own) > 1 and all(o.is_refused and o.problems == own[0].problems for o in own):
            # It is the lab that is wrong, its oracle say, and none of its kernels.
            raise UsageError(own[0].problems[0])
    titles = [msg("selftest.kernel"), msg("selftest.must_fail"), msg("selftest.verdict")]
    terminal.show_table(out, [words.text(title) for title in titles], [_row(f, len(chosen) > 1) for f in outcomes])
    wrong = sum(bool(outcome.problems) for outcome in outcomes)
    out.print(words.text(msg("selftest.count", n=len(outcomes) - wrong, total=len(outcomes))))
    faults = [fault for lab in chosen if (fault := Oracle(lab).without_effect()) is not None]
    for lab in chosen:
        for line in uncaught(lab, [o for o in outcomes if o.specimen.lab == lab.id]):
            out.print(words.text(line), soft_wrap=True)
    for fault in faults:
        out.print(words.text(fault.message), soft_wrap=True)
    return 1 if wrong or faults else 0


def told_of(one: Recorded) -> list[Message]:
    """What to say of a kernel that was to get its verdict."""
    if one.row:
        return [msg("selftest.recorded", row=one.row)]
    if one.is_uncaught:
        return [msg("selftest.uncaught", name=one.name)]
    return [msg("selftest.not_recorded", name=one.name, why=problem) for problem in one.problems]


def uncaught(lab: Lab, outcomes: Sequence[SpecimenOutcome]) -> list[Message]:
    """For each wrong kernel that fails no check, what would catch it: checks that the lab lacks, thresholds, sizes."""
    from grader.grading.all_checks import would_catch

    if lab.selftest is None:
        return []
    missed = [o.specimen.file for o in outcomes if o.is_missed]
    missed += sorted((lab.selftest / UNCAUGHT).glob("*.cu"))
    good = [o.specimen.file for o in outcomes if o.specimen.name.startswith("good/") and not o.problems][:MAX_GOOD]
    messages = []
    for file in missed if good else ():
        name = f"{file.parent.name}/{file.name}"
        settings = would_catch(lab, good, file)
        if not settings:
            messages.append(msg("selftest.nothing_would", name=name))
        for setting in settings:
            where = sizes_msg(setting.sizes) if setting.sizes is not None else None
            variant = setting.check.partition(".")[0]
            data = {"name": name, "variant": variant, "setting": setting.text}
            messages.append(
                msg("selftest.would", **data) if where is None else msg("selftest.would_at", **data, sizes=where)
            )
    return messages


def _row(outcome: SpecimenOutcome, with_lab: bool) -> tuple[str, str, str]:
    specimen = outcome.specimen
    fails = ", ".join(
        words.text(msg("selftest.place", check=check, line=line)) if line else check
        for check, line in specimen.fails.items()
    )
    name = f"{specimen.lab}/{specimen.name}" if with_lab else specimen.name
    verdict = "✓" if not outcome.problems else "✗ " + "; ".join(words.text(problem) for problem in outcome.problems)
    return name, fails or words.text(msg("selftest.nothing")), verdict
