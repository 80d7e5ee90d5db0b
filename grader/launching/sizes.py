"""Which of a lab's sizes a kernel can be asked for, and which ones it is graded by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, prod

from grader.device_limits import is_possible_block
from grader.lab.records import Cases, Lab, Sizes, Variant
from grader.launching.geometry import block_of
from grader.result import CaseKind
from grader.submission.records import Interpretation, LaunchPlan


@dataclass(frozen=True, slots=True)
class SizeRules:
    """The sizes of `lab` for a kernel that is read as `interpretation`.

    A kernel that does not take all of the lab's `equal_sizes` is asked for equal ones only; one that needs multiples
    of its tile gets the next multiple.
    """

    lab: Lab
    interpretation: Interpretation

    def planned(self, cases: Cases, takes_sizes: bool) -> list[tuple[CaseKind, Sizes]]:
        """The runs that the kernel is graded by, in order: small exact sizes, the profiled one, partial tiles.

        takes_sizes: sizes that are no multiple of the tile are legal to ask for.  No size is run twice.
        """
        runs: list[tuple[CaseKind, Sizes]] = []
        exact: list[tuple[CaseKind, Sequence[Sizes]]] = [("correct", cases.correct), ("observe", [cases.observe])]
        for kind, rows in exact:
            for sizes in rows:
                if self.fits(sizes):
                    runs.append((kind, self.rounded(sizes)))
        if takes_sizes:
            runs += [("ragged", dict(sizes)) for sizes in cases.ragged if self.fits(sizes)]
        runs = [(kind, self._with_pinned(sizes)) for kind, sizes in runs]
        profiled = [sizes for kind, sizes in runs if kind == "observe"]
        if (
            not profiled
            and plan_is_one_block(self.interpretation.launch)
            and any(kind == "correct" for kind, _sizes in runs)
        ):
            largest = max((s for kind, s in runs if kind == "correct"), key=lambda sizes: prod(sizes.values()))
            runs = [("observe" if sizes is largest else kind, sizes) for kind, sizes in runs]
            profiled = [largest]
        unique: list[tuple[CaseKind, Sizes]] = []
        for kind, sizes in runs:
            if (kind == "observe" or sizes not in profiled) and (kind, sizes) not in unique:
                unique.append((kind, sizes))
        return unique

    def planned_more(self, variant: Variant) -> list[Sizes]:
        """The variant's own sizes, as the kernel can be asked for them; none that its program has fixed."""
        fitting = (sizes for sizes in variant.more_sizes if self.fits(sizes))
        fixed = dict(self.interpretation.pinned)
        return [self.rounded(sizes) for sizes in fitting if all(sizes[n] == v for n, v in fixed.items())]

    def fits(self, sizes: Sizes) -> bool:
        """Whether the kernel can be asked for these sizes: equal ones where it does not take them all."""
        if not self.has_possible_block(sizes):
            return False
        return not self._is_for_squares() or len({sizes[name] for name in self.lab.equal_sizes}) <= 1

    def has_possible_block(self, sizes: Sizes) -> bool:
        """Whether a device can run its block at these sizes, where the only block has a thread for each element."""
        plan = self.interpretation.launch
        return not plan_is_one_block(plan) or is_possible_block(block_of(plan, sizes))

    def probe(self, sizes: Sizes) -> Sizes:
        """These sizes, to try a doubtful interpretation on: a rectangle where the kernel takes one, else a square."""
        sizes = dict(sizes)
        if not self.fits(sizes):
            sizes |= dict.fromkeys(self.lab.equal_sizes, max(sizes[name] for name in self.lab.equal_sizes))
        return self._with_pinned(self.rounded(sizes))

    def rounded(self, sizes: Sizes) -> Sizes:
        """`sizes`, each that the grid covers raised to a multiple of its tile; equal sizes stay equal."""
        equal, plan = self.lab.equal_sizes, self.interpretation.launch
        if plan_is_one_block(plan):
            return dict(sizes)
        steps: dict[str, int] = {}
        for name, tile in zip(plan.covers, plan.tile, strict=False):
            steps[name] = lcm(steps.get(name, 1), tile)
        common = lcm(*(steps.get(name, 1) for name in equal)) if equal else 1
        if len({sizes[name] for name in equal}) == 1:
            steps |= dict.fromkeys(equal, common)
        return {name: -(-value // steps.get(name, 1)) * steps.get(name, 1) for name, value in sizes.items()}

    def _is_for_squares(self) -> bool:
        interpretation = self.interpretation
        known = {
            *interpretation.roles,
            *dict(interpretation.constants),
            *(role for _text, role in interpretation.template),
        }
        return interpretation.square_only or not known.issuperset(self.lab.equal_sizes)

    def _with_pinned(self, sizes: Sizes) -> Sizes:
        """`sizes` with those that the program has fixed for good; sizes that have to be equal to one of them are."""
        fixed = dict(self.interpretation.pinned)
        bound = [fixed[name] for name in self.lab.equal_sizes if name in fixed]
        equal = dict.fromkeys(self.lab.equal_sizes, bound[0]) if bound and self._is_for_squares() else {}
        return {**sizes, **equal, **fixed}


def plan_is_one_block(plan: LaunchPlan) -> bool:
    """Whether the program launches one block, as large as its data."""
    return bool(plan.block_formula) and set(plan.grid_formula) == {"1"}
