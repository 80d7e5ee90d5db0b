"""`grade selftest`: a lab's known-good and known-bad kernels through the whole pipeline, each with its exact verdict.

The kernels lie in the folder that the lab file names by `selftest`, with a table `verdicts.yaml`:

    good/float4.cu: {variants: [padded]}
    bad/missing_barrier.cu: {variants: [shared], fails: {shared.races: 11}}

A kernel is told right when exactly its variants were found in it, exactly those checks fail, each at its line, and no
check errs.  Speed is left out: what is fast enough depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from grader import words
from grader.errors import UsageError
from grader.grading.options import GradeOptions
from grader.grading.task import Failed, Graded, GradeTask, Outcome, Refused
from grader.grading.workers import grade_all, job_count
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import Message, as_message, msg
from grader.result import Result
from grader.yaml_file import YamlFile, choose, read

TABLE = "verdicts.yaml"
KINDS = ("good", "bad")
MACHINE_DEPENDENT = ("speedup",)
"""Checks whose verdict is the machine's as much as the kernel's."""
NOT_OF_THE_KERNEL = ("host_code",)
"""Where kernels are asked for, host code of a specimen is there to show its launches, unless its verdict names it."""


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
    """What came of a specimen; problems: what is not as it should be, empty when all is."""

    specimen: Specimen
    problems: tuple[Message, ...]


def specimens(lab: Lab) -> list[Specimen]:
    """The lab's kernels with known verdicts, in order of its table; none where it has no such folder.

    Raises
    ------
    FileError : the table names what does not exist, leaves a kernel out, or contradicts itself.
    """
    if lab.selftest is None:
        return []
    if not lab.selftest.is_dir():
        raise read(lab.path).error(msg("selftest.no_folder", path=str(lab.selftest)), ("selftest",))
    file = read(lab.selftest / TABLE)
    table = file.decode(dict[str, Any])
    checks = {f"{v.name}.{spec.check}" for v in lab.variants for spec in v.checks}
    found = [_specimen(file, lab, lab.selftest, name, data, checks) for name, data in table.items()]
    there = {f"{kind}/{path.name}" for kind in KINDS for path in (lab.selftest / kind).glob("*.cu")}
    for name in sorted(there - table.keys()):
        raise file.error(msg("selftest.no_verdict", name=name))
    return found


def _specimen(file: YamlFile, lab: Lab, folder: Path, name: str, data: object, checks: set[str]) -> Specimen:
    verdict = file.decode(_Verdict, (name,), data)
    if not (folder / name).is_file() or Path(name).parent.name not in KINDS:
        raise file.error(msg("selftest.no_kernel", path=str(folder / name)), (name,))
    known = [variant.name for variant in lab.variants]
    for index, variant in enumerate(verdict.variants):
        if variant not in known:
            raise file.error(
                msg("selftest.unknown_variant", variant=variant, allowed=choose(variant, known)),
                (name, "variants", index),
            )
    for check in verdict.fails:
        if check not in checks or check.partition(".")[0] not in verdict.variants:
            raise file.error(
                msg("selftest.unknown_check", check=check, allowed=choose(check, checks)),
                (name, "fails", check),
            )
    if bool(verdict.fails) != name.startswith("bad/"):
        raise file.error(msg("selftest.good_and_bad"), (name,))
    of_host_code = lab.program is not None or any(failed.endswith(NOT_OF_THE_KERNEL) for failed in verdict.fails)
    left_out = MACHINE_DEPENDENT if of_host_code else (*MACHINE_DEPENDENT, *NOT_OF_THE_KERNEL)
    return Specimen(lab.id, name, folder / name, frozenset(verdict.variants), verdict.fails, left_out)


def examine(
    found: Sequence[Specimen],
    backend: str = "auto",
    jobs: int | None = None,
    labs_folders: Sequence[Path] = (),
    done: Callable[[SpecimenOutcome], None] | None = None,
) -> list[SpecimenOutcome]:
    """Grade every specimen; outcomes in the order given.

    Parameters
    ----------
    jobs : specimens at the same time, None for one per core.
    done : told of each outcome as it comes.
    """
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
            ),
        )
        for specimen in found
    ]
    by_task = {(specimen.lab, bytes(specimen.file)): specimen for specimen in found}
    outcomes: dict[tuple[str, bytes], SpecimenOutcome] = {}
    for task, outcome in grade_all(tasks, job_count(len(tasks), jobs)) if tasks else ():
        key = (task.options.lab, task.path)
        outcomes[key] = SpecimenOutcome(by_task[key], tuple(problems(by_task[key], outcome)))
        if done is not None:
            done(outcomes[key])
    return [outcomes[task.options.lab, task.path] for task in tasks]


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
    found: list[Message] = []
    bound = {name for name, variant in result.variants.items() if variant.kernel}
    if bound != specimen.variants:
        found.append(
            msg(
                "selftest.binding",
                got=", ".join(sorted(bound)) or msg("selftest.nothing"),
                expected=", ".join(sorted(specimen.variants)),
            )
        )
    fails: dict[str, int | None] = {}
    for check in result.checks:
        if check.variant not in bound or check.check in specimen.left_out:
            continue
        if check.status == "fail":
            fails[check.id] = check.line
            if check.id not in specimen.fails:
                found.append(msg("selftest.fails", check=check.id, message=check.message_said or check.message))
        elif check.status == "error":
            found.append(msg("selftest.why", check=check.id, message=check.message_said or check.message))
    for name, line in specimen.fails.items():
        if name not in fails:
            found.append(msg("selftest.passes", check=name))
        elif fails[name] != line:
            found.append(msg("selftest.line", check=name, got=fails[name], expected=line))
    return found


def selftest(lab_id: str | None, backend: str, jobs: int | None, labs_folders: Sequence[Path]) -> int:
    """The command: a row for each kernel, and 0 when every one got its verdict, 1 when not.

    Raises
    ------
    UsageError : no such lab, or it has no kernels to be tested with.
    FileError : the files of the lab are wrong.
    """
    from grader.report import terminal

    chosen = [labs.find(lab_id, labs_folders)] if lab_id is not None else labs.all_labs(labs_folders)
    known = [specimen for lab in chosen for specimen in specimens(lab)]
    if not known:
        raise UsageError(msg("selftest.lab_without", lab=lab_id or ""))
    out = terminal.console()
    count = 0

    def tell(outcome: SpecimenOutcome) -> None:
        nonlocal count
        count += 1
        mark = "✗" if outcome.problems else "✓"
        out.print(f"{count}/{len(known)} {mark} {outcome.specimen.lab}/{outcome.specimen.name}", soft_wrap=True)

    outcomes = examine(known, backend, jobs, labs_folders, tell)
    titles = [msg("selftest.kernel"), msg("selftest.must_fail"), msg("selftest.verdict")]
    terminal.show_table(out, [words.text(title) for title in titles], [_row(f, len(chosen) > 1) for f in outcomes])
    wrong = sum(bool(outcome.problems) for outcome in outcomes)
    out.print(words.text(msg("selftest.count", n=len(outcomes) - wrong, total=len(outcomes))))
    return 1 if wrong else 0


def _row(outcome: SpecimenOutcome, with_lab: bool) -> tuple[str, str, str]:
    specimen = outcome.specimen
    fails = ", ".join(
        words.text(msg("selftest.place", check=check, line=line)) if line else check
        for check, line in specimen.fails.items()
    )
    name = f"{specimen.lab}/{specimen.name}" if with_lab else specimen.name
    verdict = "✓" if not outcome.problems else "✗ " + "; ".join(words.text(problem) for problem in outcome.problems)
    return name, fails or words.text(msg("selftest.nothing")), verdict
