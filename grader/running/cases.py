"""What a kernel is graded with: the likeliest interpretation of it that works, and cases that nobody knows beforehand.

The lab's sizes and seed are public, so a kernel may carry their answers in a table, or work at these sizes only.  One
more case, and one off the tile where the lab grades such, is drawn anew for every submission: the same in every grading
of the same files, another one once a byte is changed, and another one where a teacher has set a secret."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import gcd, prod
from typing import Literal

import numpy as np

from grader.lab.records import Cases, Lab, Sizes
from grader.launching.backend import GAVE_UP, INSTRUCTIONS_PER_LAUNCH, ISSUED_PER_LAUNCH, STEPS_PER_LAUNCH, TAKES_LONG
from grader.launching.kernel import BoundKernel, SizeRules, grid_of
from grader.launching.trial import Run, Trials
from grader.result import CaseKind
from grader.running.evidence import Evidence
from grader.running.explain import explain
from grader.submission.binding.reconcile import OF_PROGRAM
from grader.submission.kernels.records import LaunchSite
from grader.submission.records import Interpretation, VariantBinding

Trial = Callable[[Interpretation, Sizes], Run]
"""Runs an interpretation once, unobserved."""

CONSTANT = re.compile(
    r"(?:#\s*define\s+\w+\s+\(?(\d{1,9})|const(?:expr)?\s+(?:unsigned\s+)?(?:int|size_t)\s+\w+\s*=\s*\(?(\d{1,9}))(?!\d)"
    r"[ \t]*(?:<<[ \t]*(\d))?"
)
"""An integer constant of a CUDA file: `#define N 1024`, `const int N = 1 << 9`."""

MAX_WIRED = 2048
"""The largest square that the emulator is asked for on suspicion; a second of work."""
MAX_WIRED_TRIED = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """An interpretation and the sizes that it is graded by; hard_coded: the only size that it works at, else None."""

    interpretation: Interpretation
    cases: list[tuple[CaseKind, Sizes]]
    hard_coded: Sizes | None = None


def choose(lab: Lab, cases: Cases, binding: VariantBinding, source: Mapping[str, str], trial: Trial) -> Choice:
    """Return the likeliest interpretation that is right at the probe's sizes; the likeliest of all where none is.

    A kernel that takes no size and is wrong at the lab's may have its size written into it as a constant: it is
    graded at that size then.  So is one whose program has a constant for a size, but is right at its own value only.

    source: what was compiled, by file name.
    """
    interpretation = _likeliest(lab, cases, binding, trial)
    planned_cases = SizeRules(lab, interpretation).planned(cases, binding.takes_sizes)
    suspected = [
        sizes
        for sizes in hard_coded_sizes(lab, interpretation, "\n".join(source.values()))
        if _may_be_its_own(sizes, interpretation, binding.requested)
    ]
    if suspected and planned_cases and not trial(interpretation, planned_cases[0][1]).output_is_right:
        hard_coded = next((sizes for sizes in suspected if trial(interpretation, sizes).output_is_right), None)
        if hard_coded is not None:
            return Choice(interpretation, [("observe", hard_coded)], hard_coded)
    kept = as_written(interpretation)
    if not planned_cases and interpretation.declared and is_within(cases, interpretation.declared):
        # One block, as large as the data: none of the lab's sizes is small enough for it, its own is.
        equal = dict.fromkeys(lab.equal_sizes, next((v for r, v in interpretation.declared if r in lab.equal_sizes), 0))
        own_sizes = {**cases.observe, **equal, **dict(interpretation.declared)}
        if SizeRules(lab, kept).has_possible_block(own_sizes):
            return Choice(kept, [("observe", own_sizes)], own_sizes)
    if interpretation.declared and is_within(cases, interpretation.declared):
        kept_cases = SizeRules(lab, kept).planned(cases, binding.takes_sizes)
        # The value may stand in the program a second time, as `/ 5` beside `#define RADIUS 2`.
        changed = _with_other_values(lab, planned_cases, interpretation)
        is_wrong = any(not trial(interpretation, sizes).output_is_right for sizes in changed)
        if is_wrong and kept_cases and trial(kept, kept_cases[0][1]).output_is_right:
            return Choice(kept, kept_cases)
    return Choice(interpretation, planned_cases)


def own_factors(lab: Lab, interpretation: Interpretation) -> dict[str, int]:
    """Return the program's own values of those sizes that are its constants and that no array is as long as: a radius.

    It may be written for these alone, by `[BLOCK + 8]` or `/ 5`, and be right.
    """
    extents = {axis for parameter in lab.parameters for axis in parameter.shape}
    changed = {role for role, _name in interpretation.constants} - extents
    return {role: value for role, value in interpretation.declared if role in changed}


def _with_other_values(
    lab: Lab, planned_cases: Sequence[tuple[CaseKind, Sizes]], interpretation: Interpretation
) -> list[Sizes]:
    """Return the first sizes on the tile that are not the program's own, then one for each further value of
    `own_factors`, on the tile or off it."""
    declared = interpretation.declared
    on_tile = next((s for kind, s in planned_cases if kind != "ragged" and not _agrees(s, declared)), None)
    chosen = [on_tile] if on_tile is not None else []
    for role, value in own_factors(lab, interpretation).items():
        for _kind, sizes in planned_cases:
            if sizes[role] not in (value, *(s[role] for s in chosen)):
                chosen.append(sizes)
    return chosen


def _may_be_its_own(sizes: Sizes, interpretation: Interpretation, requested: LaunchSite | None) -> bool:
    """Whether the program itself may work at these sizes, as far as its own are known."""
    if not _agrees(sizes, interpretation.declared):
        return False
    if requested is None or not requested.observed or requested.grid is None or requested.changed[0]:
        return True
    # A wrong kernel may be right where one block has all the data.
    return prod(requested.grid) == 1 or prod(grid_of(interpretation.launch, sizes)) > 1


def is_made_impossible(interpretation: Interpretation, run: Run, trial: Trial) -> bool:
    """Whether a launch cannot be made because the grader gave a constant of the program another value.

    An array of the kernel's, or its block, may be made of the constant and be too large then.  It is no fault of a
    program whose own value can be launched.
    """
    if not interpretation.declared or _agrees(run.sizes, interpretation.declared):
        return False
    if run.outcome.status != "impossible" and run.outcome.reason != "not_compiled":
        return False
    own = trial(interpretation, {**run.sizes, **dict(interpretation.declared)}).outcome
    return own.status != "impossible" and own.reason != "not_compiled"


def as_written(interpretation: Interpretation) -> Interpretation:
    """Return the interpretation with the program's own values of the sizes that are its constants."""
    return replace(interpretation, constants=(), pinned=(*interpretation.pinned, *interpretation.declared))


def is_within(cases: Cases, values: Sequence[tuple[str, int]]) -> bool:
    """Whether sizes are no larger than the lab's: a program's own may be too much for the emulator."""
    largest = [*cases.correct, cases.observe]
    return all(value <= max(sizes[role] for sizes in largest) for role, value in values)


def _agrees(sizes: Sizes, values: Sequence[tuple[str, int]]) -> bool:
    return all(sizes[role] == value for role, value in values)


def interpretations_of(lab: Lab, cases: Cases, binding: VariantBinding) -> list[Interpretation]:
    """The binding's interpretations, and for a one-dimensional block the other grids that such kernels are written for.

    These are a thread for every element (the grid covers the product of the sizes), and a block for every row or
    column.  The smallest launch comes first then: a guard would hide that another one has threads in excess.  A grid
    that the program itself computes comes before all; beside one that it was seen to launch there is no other.
    """
    interpretations = list(binding.interpretations)
    rule = next((lab.launch_of(variant) for variant in lab.variants if variant.name == binding.variant), lab.launch)
    for interpretation in binding.interpretations:
        plan = interpretation.launch
        is_known = "observed" in (interpretation.origins.covers, plan.grid_formula and interpretation.origins.block)
        if plan.block[1:] == (1, 1) and len(rule.covers) > 1 and not is_known:
            flat = replace(plan, covers=("*".join(rule.covers),), tile=plan.block[:1], grid_formula=())
            lines = [replace(plan, covers=(name,), tile=(1,), grid_formula=()) for name in reversed(rule.covers)]
            interpretations += [replace(interpretation, launch=launch) for launch in (flat, *lines)]
    if len(interpretations) > len(binding.interpretations):
        interpretations.sort(
            key=lambda interpretation: (not interpretation.launch.grid_formula, _threads(lab, cases, interpretation))
        )
    return list(dict.fromkeys(interpretations))


def _threads(lab: Lab, cases: Cases, interpretation: Interpretation) -> int:
    grid = grid_of(interpretation.launch, SizeRules(lab, interpretation).probe(cases.probe))
    return prod(grid) * prod(interpretation.launch.block)


def hard_coded_sizes(lab: Lab, interpretation: Interpretation, source: str) -> list[Sizes]:
    """Sizes that may be written into a kernel which takes none: constants of its file that suit its tile.

    Only where all of the lab's sizes may be equal; the largest first.
    """
    may_be_equal = len(lab.size_names) == 1 or set(lab.equal_sizes) == set(lab.size_names)
    if not may_be_equal or any(name in interpretation.roles for name in lab.size_names):
        return []
    values = {int(macro or constant) << int(shift or 0) for macro, constant, shift in CONSTANT.findall(source)}
    squares: list[Sizes] = [
        dict.fromkeys(lab.size_names, value) for value in sorted(values, reverse=True) if 0 < value <= MAX_WIRED
    ]
    return [sizes for sizes in squares if SizeRules(lab, interpretation).rounded(sizes) == sizes][:MAX_WIRED_TRIED]


def _likeliest(lab: Lab, cases: Cases, binding: VariantBinding, trial: Trial) -> Interpretation:
    interpretations = interpretations_of(lab, cases, binding)
    if len(interpretations) > 1:
        for interpretation in interpretations:
            run = trial(interpretation, SizeRules(lab, interpretation).probe(cases.probe))
            if run.output_is_right:
                return interpretation
            if run.outcome.reason in TAKES_LONG:
                break
    # The other grids are tried on suspicion: nothing speaks for them once they are wrong too.
    return _with_axes_exchanged(lab, cases, binding, trial) or binding.interpretations[0]


def _with_axes_exchanged(lab: Lab, cases: Cases, binding: VariantBinding, trial: Trial) -> Interpretation | None:
    """The reading in which the kernel is right once the axes of the launch's grid change places, with the grid as it is
    launched; None where there is none.

    What a grid divides was taken for what its axes run over, so that names alone told which number is which size.
    """
    for interpretation in binding.interpretations:
        plan = interpretation.launch
        is_of_launch = plan.line > 0 and interpretation.origins.covers in OF_PROGRAM
        if not is_of_launch or len(plan.covers) != 2 or len({*plan.covers}) < 2 or "*" in "".join(plan.covers):
            continue
        exchanged = replace(plan, covers=plan.covers[::-1], grid_formula=())
        sizes = SizeRules(lab, interpretation).probe(cases.probe)
        run = trial(replace(interpretation, launch=exchanged), sizes)
        if run.output_is_right:
            pairs = zip(plan.covers, plan.tile, strict=True)
            formulas = plan.grid_formula or tuple(f"ceil_div({over}, {step})" for over, step in pairs)
            return replace(interpretation, launch=replace(exchanged, grid_formula=formulas))
        if run.outcome.reason in TAKES_LONG:
            break
    return None


SEED_BYTES = 6
"""So that a seed is a whole number in every reader of JSON."""
PATIENCE = 10
"""Times the work that a kernel was seen to do, until it is told that it does not come to its end at other sizes."""
LARGE = 64
"""A size from which on a lab's kernels are asked for larger ones than it names; a matrix of a batch stays small."""
MOST_OF_DRAWN = 64
"""Times the elements of a drawn shape that a kernel which cannot be asked for it may be asked for in its place."""
ATTEMPTS = 20
"""Draws in search of sizes that the lab does not name."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What the drawn case is made from; the seed tells nothing of the secret.

    by: "secret" of the course, or "submission": its files alone, so that who reads this code can know the case.
    """

    seed: int
    by: Literal["secret", "submission"]


def draw(lab: Lab, files: Mapping[str, str], secret: str) -> Draw:
    """Return the draw for a submission; files: their texts by name."""
    key = _key(secret, lab.id) if secret else b""
    digest = hashlib.blake2b(digest_size=SEED_BYTES, key=key, person=b"drawn case")
    for text in (lab.id, *(part for name in sorted(files) for part in (name, files[name]))):
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return Draw(int.from_bytes(digest.digest(), "little"), "secret" if secret else "submission")


@cache
def _key(secret: str, lab: str) -> bytes:
    """Return a key that takes long to try out (RFC 7914, 16 MiB and some 50 ms a try)."""
    return hashlib.scrypt(secret.encode(), salt=lab.encode(), n=1 << 14, r=8, p=1, dklen=64)


def with_drawn_cases(trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool) -> Evidence:
    """`evidence` with the drawn cases, of a kernel that is right at the lab's own exact sizes.

    trials: of a lab whose seed is the drawn one.  kernel: read as it was graded.  explained: as in `run_variant`.
    """
    exact = evidence.runs_of("correct", "observe")
    if not exact or any(run.outcome.status != "ok" for run in evidence.runs):
        return evidence
    if not all(run.output_is_right for run in exact):
        return evidence
    runs = []
    for kind, sizes in drawn_cases(trials.lab, evidence, kernel.sizes):
        run = trials.run(kernel, kind, sizes)
        if is_made_impossible(kernel.interpretation, run, lambda c, s: trials.run(kernel.read_as(c), "correct", s)):
            continue
        if run.outcome.status == "unsupported" and run.outcome.reason != "steps":
            continue
        if run.outcome.reason not in GAVE_UP:
            runs.append(replace(run, drawn=True))
            continue
        if any(_is_out_of_proportion(run, other) for other in exact):
            # Whatever ended it: it takes far longer than its other sizes let expect.
            outcome = replace(run.outcome, status="fault", reason="instructions", said=None)
            runs.append(replace(run, outcome=outcome, drawn=True))
        break
    diagnoses = explain(trials, kernel, runs) if explained else {}
    evidence = replace(evidence, runs=(*evidence.runs, *runs), diagnoses={**diagnoses, **evidence.diagnoses})
    if not all(run.output_is_right for run in runs):
        return evidence
    return _with_unusual_cases(trials, evidence, kernel, explained)


def _with_unusual_cases(trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool) -> Evidence:
    """Shapes and data that the lab's file names as sensible, of a kernel that is right at usual ones.

    What cannot be launched so, or comes to no end, is no fault: a row may have to fit into a block.
    """
    equal = replace(trials, oracle=trials.oracle.of_equal_values())
    cases = [(trials, kind, sizes) for kind, sizes in drawn_shapes(trials.lab, evidence, kernel.sizes)]
    if trials.lab.drawn.equal_values:
        sizes = evidence.hard_coded_sizes or _as_asked(kernel.sizes, trials.lab.cases["emulator"].probe, exact=True)
        cases.append((equal, "correct", sizes))
    for asked, kind, sizes in cases:
        if not kernel.sizes.has_possible_block(sizes):
            continue
        run = replace(asked.run(kernel, kind, sizes), drawn=True)
        if run.outcome.status != "ok":
            continue
        diagnoses = explain(asked, kernel, [run]) if explained else {}
        evidence = replace(evidence, runs=(*evidence.runs, run), diagnoses={**diagnoses, **evidence.diagnoses})
    return evidence


def drawn_shapes(lab: Lab, evidence: Evidence, rules: SizeRules) -> Iterator[tuple[CaseKind, Sizes]]:
    """Yield the lab's drawn shapes, as the kernel can be asked for them: off the tile where that is graded."""
    if evidence.hard_coded_sizes is not None:
        return
    graded = any(spec.check == "ragged_sizes" for spec in evidence.variant.checks)
    ragged = evidence.runs_of("ragged")
    is_ragged = graded and bool(ragged) and all(run.output_is_right for run in ragged)
    rng = np.random.default_rng([lab.seed, 2])
    taken = [run.sizes for run in evidence.runs]
    steps = _steps(lab.cases["emulator"])
    for shape in lab.drawn.shapes:
        drawn = {name: int(rng.integers(low, high + 1)) for name, (low, high) in shape.items()}
        if graded and not is_ragged:
            # It may work on several elements at a time, which no tile tells: what is no multiple of them is another
            # check's.
            drawn = {name: -(-size // steps[name]) * steps[name] for name, size in drawn.items()}
        sizes = _as_asked(rules, drawn, exact=not is_ragged)
        # For a kernel of square matrices a thin one would become as large as it is long.
        if sizes not in taken and prod(sizes.values()) <= MOST_OF_DRAWN * prod(drawn.values()):
            taken.append(sizes)
            yield "ragged" if is_ragged else "correct", sizes


def _is_out_of_proportion(ended: Run, completed: Run) -> bool:
    """Whether a launch that was ended takes far longer than `completed`, which came to its end, suggests.

    Nothing that a lab asks for takes longer than by the third power of its sizes.
    """
    growth = prod(max(1.0, value / completed.sizes[name]) ** 3 for name, value in ended.sizes.items())
    executed, issued = completed.outcome.thread_instructions, completed.outcome.issued
    if executed is None or issued is None:
        return False
    patience = PATIENCE * growth
    most = STEPS_PER_LAUNCH if ended.outcome.reason == "steps" else ISSUED_PER_LAUNCH
    return executed * patience <= INSTRUCTIONS_PER_LAUNCH and issued * patience <= most


def drawn_cases(lab: Lab, evidence: Evidence, rules: SizeRules) -> Iterator[tuple[CaseKind, Sizes]]:
    """Yield the sizes that `lab.seed` draws within the lab's rules, as the kernel can be asked for them."""
    cases = lab.cases["emulator"]
    rng = np.random.default_rng([lab.seed, 1])
    taken = [run.sizes for run in evidence.runs]
    exact = _new(taken, rules, lambda: _exact(rng, cases, rules, evidence.hard_coded_sizes))
    if rules.has_possible_block(exact):
        yield "correct", exact
    ragged = evidence.runs_of("ragged")
    graded = any(spec.check == "ragged_sizes" for spec in evidence.variant.checks)
    if graded and ragged and all(run.output_is_right for run in ragged):
        off_the_tile = _new(taken, rules, lambda: _off_the_tile(rng, cases, rules))
        if rules.has_possible_block(off_the_tile):
            yield "ragged", off_the_tile


def _new(taken: list[Sizes], rules: SizeRules, attempt: Callable[[], Sizes]) -> Sizes:
    """Return the first draw that can be run at sizes not taken yet; the last draw where there is none."""
    sizes: Sizes = {}
    for _number in range(ATTEMPTS):
        sizes = attempt()
        if sizes not in taken and rules.has_possible_block(sizes):
            break
    return sizes


def _exact(rng: np.random.Generator, cases: Cases, rules: SizeRules, hard_coded: Sizes | None) -> Sizes:
    """Multiples of what the lab's exact sizes are multiples of; large ones larger than all these, by half at most.

    A kernel may do nothing beyond the sizes that its writer tried.
    """
    if hard_coded is not None:
        return hard_coded
    rows = [*cases.correct, cases.observe]
    sizes = {}
    for name, step in _steps(cases).items():
        values = [row[name] for row in rows]
        low, high = min(values), max(values)
        if high >= LARGE:
            low, high = high + step, max(high * 3 // 2, high + step)
        sizes[name] = step * int(rng.integers(-(-low // step), high // step + 1))
    return _as_asked(rules, sizes, exact=True)


def _steps(cases: Cases) -> Sizes:
    """Return the greatest common divisor of the lab's exact values of each size."""
    return {name: gcd(*(row[name] for row in (*cases.correct, cases.observe))) for name in cases.observe}


def _off_the_tile(rng: np.random.Generator, cases: Cases, rules: SizeRules) -> Sizes:
    """Draw sizes between the smallest and the largest of the lab's own ragged ones."""
    sizes = {
        name: int(rng.integers(min(r[name] for r in cases.ragged), max(r[name] for r in cases.ragged) + 1))
        for name in rules.lab.size_names
    }
    return _as_asked(rules, sizes, exact=False)


def _as_asked(rules: SizeRules, sizes: Sizes, exact: bool) -> Sizes:
    equal = rules.lab.equal_sizes
    if equal and not rules.fits(sizes):
        sizes = {**sizes, **dict.fromkeys(equal, max(sizes[name] for name in equal))}
    fixed = dict(rules.interpretation.pinned)
    bound = [fixed[name] for name in equal if name in fixed]
    if bound and not rules.fits({**sizes, **fixed}):
        sizes = {**sizes, **dict.fromkeys(equal, bound[0])}
    return {**(rules.rounded(sizes) if exact else sizes), **fixed}
