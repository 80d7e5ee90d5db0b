"""Which interpretation of a kernel is graded: the likeliest one that works."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from grader.lab.records import Cases, Lab, Sizes
from grader.launching.backend import TAKES_LONG
from grader.launching.kernel import SizeRules, grid_of
from grader.launching.trial import Run
from grader.result import CaseKind
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
    """The likeliest interpretation whose result is right on the probe's sizes; the likeliest of all when none is.

    A kernel that takes no size and is wrong at the lab's may have its size written into it as a constant: it is
    graded at that size then.  So is one whose program has a constant for a size, but is right at its own value only.

    Parameters
    ----------
    source : what was compiled, by file name.
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
        changed = next(
            (s for kind, s in planned_cases if kind != "ragged" and not _agrees(s, interpretation.declared)), None
        )
        kept_cases = SizeRules(lab, kept).planned(cases, binding.takes_sizes)
        # The value may stand in the program a second time, as `/ 5` beside `#define RADIUS 2`.
        is_wrong = changed is not None and not trial(interpretation, changed).output_is_right
        if is_wrong and kept_cases and trial(kept, kept_cases[0][1]).output_is_right:
            return Choice(kept, kept_cases)
    return Choice(interpretation, planned_cases)


def _may_be_its_own(sizes: Sizes, interpretation: Interpretation, requested: LaunchSite | None) -> bool:
    """Whether the program itself may work at these sizes, as far as is known of its own."""
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
    """The interpretation with the program's own values of the sizes that are its constants."""
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
    return binding.interpretations[0]
