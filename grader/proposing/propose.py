"""From a solution to a lab's folder: read, run, called, written, its wrong versions graded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from grader.errors import FileError
from grader.grading.all_checks import measured
from grader.grading.selftest import record, told_of
from grader.lab import labs
from grader.lab.file import load
from grader.lab.parameters import DTYPES
from grader.message import Message, msg
from grader.programs.observation import observed
from grader.proposing.probing import Probe, ProbedFunction, Relation, relation_of
from grader.proposing.programs import ProgramProbe
from grader.proposing.proposal import FILL_IN, Proposal
from grader.proposing.solution import (
    CandidateFunction,
    Solution,
    of_launches,
    of_source,
    read,
    with_const,
    with_parameters,
)
from grader.proposing.writing import faults_of, files_of, write

Say = Callable[["Message | str"], None]
MOST_CONSTANTS = 4096


def propose(name: str, path: Path, into: Path, interface: str | None, say: Say, run: str = "") -> Path:
    """Write the lab `name` into the folder `into`, as far as it can be told from the solution at `path`.

    interface: "kernel", "function" or "program", None for what the solution has.  say: told of what was found out, as
    it comes.  run: of a program, what stands behind its name where it is started.
    Raises UsageError: the name is none for a lab, or taken; the file is no text, or cannot be written.  Raises
    FileError: nothing can be proposed from it, with what to change.
    """
    folder = labs.free_folder(name, into)
    solution = read(path.absolute())
    if interface == "program" or run or (interface is None and solution.has_files):
        proposal = _of_program(name, solution, run)
    else:
        proposal = _of_parts(name, solution, interface, say)
    for message in _findings(proposal, folder):
        say(message)
    write(folder, files_of(proposal))
    if proposal.is_complete:
        lab = load(folder)
        figures = measured(lab, folder / "kernels" / "good" / "solution.cu")
        write(folder, {"lab.yaml": files_of(replace(proposal, measured=figures))["lab.yaml"]})
        for one in record(load(folder), "emulator", None, [into]):
            for said in told_of(one):
                say(said)
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".yaml", ".py", ".md"):
            for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
                if FILL_IN in line and "Lines with" not in line:
                    say(msg("proposing.fill_in", path=str(file), line=number, text=line.strip(" #<>!-")))
    return folder


def _of_program(name: str, solution: Solution, run: str) -> Proposal:
    if not solution.has_main:
        raise FileError(msg("proposing.no_main"), solution.source.path)
    candidate, probed, plan = ProgramProbe(solution, run).run()
    relations = _relations(candidate, probed)
    faults = tuple(faults_of(solution.source))
    return Proposal(name, solution, (candidate,), probed, relations, is_of_kernels=False, faults=faults, plan=plan)


def _of_parts(name: str, solution: Solution, interface: str | None, say: Say) -> Proposal:
    """Propose a lab of the file's function, or of the kernels that its `main` launches."""
    candidates = _candidates(solution, interface)
    probed = Probe(candidates[0], _constants(solution)).run()
    if not probed.sizes and (parameters := with_parameters(solution, candidates)) is not None:
        source, sizes = parameters
        solution = of_source(source)
        candidates = _candidates(solution, interface)
        probed = Probe(candidates[0], _constants(solution)).run()
        say(msg("proposing.made_parameters", names=", ".join(sizes)))
    if probed.unchanged and candidates[0].launched is None:
        # What a lab's function only reads is const; where the file's own does not compile so, it stays as it is.
        changed = with_const(candidates[0], probed.unchanged)
        again = Probe(changed, _constants(solution)).run()
        if not again.problem and again.kinds:
            say(msg("proposing.made_const", names=", ".join(probed.unchanged), function=changed.name))
            candidates, probed = [changed], again
    _check(solution, candidates[0], probed)
    return _proposal(name, solution, candidates, probed, interface)


def _relations(candidate: CandidateFunction, probed: ProbedFunction) -> dict[str, Relation | None]:
    scalars = [a.name for a in candidate.signature.arguments if not a.pointers and a.name not in probed.sizes]
    outputs = [n for n, kind in probed.kinds.items() if kind in ("output", "in_out")]
    return {output: relation_of(probed, output, scalars) for output in outputs}


def _candidates(solution: Solution, interface: str | None) -> list[CandidateFunction]:
    """Return what the lab could ask for; all but the first are variants of the same."""
    if solution.candidates and interface != "kernel":
        return [solution.candidates[0]]
    candidates = of_launches(solution, observed([solution.source])) if solution.has_main else []
    if not candidates:
        raise FileError(msg("proposing.no_candidate", types=", ".join(DTYPES)), solution.source.path)
    types = [(a.name, a.spelled) for a in candidates[0].signature.arguments]
    return [
        c
        for c in candidates
        if [(a.name, a.spelled) for a in c.signature.arguments] == types and _inputs(c) == _inputs(candidates[0])
    ]


def _inputs(candidate: CandidateFunction) -> list[str]:
    """Return the digests of what `main` copied into the arrays before the launch."""
    assert candidate.launched is not None
    return [argument.digest for argument in candidate.launched.launch.arguments if argument.before == "data"]


def _constants(solution: Solution) -> set[int]:
    """Return the named whole numbers of the file that may be an array's length."""
    constants = solution.parsed.constants
    values = [constants.integer(name) for name in (*constants.values, *constants.macros)]
    return {value for value in values if value is not None and 1 < value <= MOST_CONSTANTS}


def _check(solution: Solution, candidate: CandidateFunction, probed: ProbedFunction) -> None:
    """Refuse what no call came to its end of, or which has no size.  Raises FileError: with what to change."""
    place = (solution.source.path, candidate.launched.launch.line if candidate.launched is not None else None)
    if not probed.sizes:
        names = ", ".join(a.name for a in candidate.signature.arguments if a.pointers)
        raise FileError(msg("proposing.with_main", names=names), *place)
    if probed.problem:
        raise FileError(
            msg("proposing.not_called", function=candidate.name, why=msg(f"proposing.why_{probed.problem}")), *place
        )


def _proposal(
    name: str,
    solution: Solution,
    candidates: Sequence[CandidateFunction],
    probed: ProbedFunction,
    interface: str | None,
) -> Proposal:
    first = candidates[0]
    scalars = [a.name for a in first.signature.arguments if not a.pointers and a.name not in probed.sizes]
    relations = _relations(first, probed)
    # The grader launches bare kernels itself: only what it can hand them, and a grid that covers sizes.
    is_plain = set(probed.kinds.values()) <= {"input", "output"} and not scalars and bool(probed.kinds)
    covers = all(one.launched is not None and all(axis.size for axis in one.launched.grid) for one in candidates)
    is_template = any(one.launched is not None and one.launched.launch.template_arguments for one in candidates)
    is_of_kernels = first.launched is not None and is_plain and covers and not is_template and interface != "function"
    used = candidates if is_of_kernels else candidates[:1]
    source = solution.source if is_of_kernels else first.source
    return Proposal(name, solution, tuple(used), probed, relations, is_of_kernels, tuple(faults_of(source)))


def _findings(proposal: Proposal, folder: Path) -> list[Message]:
    parameters = [
        msg("proposing.parameter", name=n, kind=proposal.kind(n), shape=f"[{', '.join(proposal.shapes.get(n, ()))}]")
        for n in proposal.probed.kinds
    ]
    messages = list(parameters)
    calls = len(proposal.probed.samples)
    for name, relation in proposal.relations.items():
        if relation is None:
            messages.append(msg("proposing.no_relation", name=name, path=str(folder / "reference" / "oracle.py")))
        else:
            messages.append(msg("proposing.relation", name=name, text=relation.text, calls=calls))
    return messages
