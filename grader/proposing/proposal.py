"""What a lab is proposed from: all that was told of a solution."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.proposing.probing import ProbedFunction, Relation, Shape
from grader.proposing.programs import ProgramPlan
from grader.proposing.solution import Candidate, Launched, Solution


@dataclass(frozen=True, slots=True)
class Fault:
    """A wrong solution.  name: of its file, without ending.  line: where something is missing."""

    name: str
    text: str
    line: int


FILL_IN = "FILL IN"
"""What stands in every line that the teacher has to write."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a lab is made of.

    candidates: of a kernel lab one for each variant, else the function.  relations: by output.  measured: of the
    solution, by check, what the check says of it; empty before it was graded.  plan: of a whole program, whose arrays
    and numbers are its candidate's arguments.
    """

    name: str
    solution: Solution
    candidates: tuple[Candidate, ...]
    probed: ProbedFunction
    relations: Mapping[str, Relation | None]
    is_of_kernels: bool
    faults: tuple[Fault, ...] = ()
    measured: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    plan: ProgramPlan | None = None

    @property
    def first(self) -> Candidate:
        """That everything was told of."""
        return self.candidates[0]

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Of arrays; with their axes as the relations need them."""
        known = next((r for r in self.relations.values() if r is not None), None)
        return {**self.probed.shapes, **(known.shapes if known is not None else {})}

    @property
    def is_complete(self) -> bool:
        """Whether the teacher need write nothing before the lab grades."""
        is_known = self.plan is None or not self.plan.unknown
        has_all = is_known and len(self.probed.shapes) == len(self._arrays)
        return has_all and bool(self.relations) and all(self.relations.values())

    @property
    def _arrays(self) -> list[str]:
        return [a.name for a in self.first.signature.arguments if a.pointers]

    def kind(self, name: str) -> str:
        """Of an array, as the lab file calls it."""
        relation = self.relations.get(name)
        if relation is not None and relation.begins_at_zero:
            return "output"
        return self.probed.kinds.get(name, "")

    @property
    def variants(self) -> list[str]:
        """By name."""
        if not self.is_of_kernels:
            return ["function" if self.plan is None else "program"]
        return [re.sub(r"[^a-z0-9_]", "_", self.launched(c).kernel.name.lower()) for c in self.candidates]

    @staticmethod
    def launched(candidate: Candidate) -> Launched:
        """Of a candidate that is a kernel's."""
        assert candidate.launched is not None
        return candidate.launched
