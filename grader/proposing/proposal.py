"""What a lab is proposed from, all that was found out about a solution; and the oracle and the task made of that."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.lab.parameters import DTYPES
from grader.proposing.probing import ProbedFunction, Relation, Shape
from grader.proposing.programs import ProgramPlan
from grader.proposing.solution import CandidateFunction, Launched, Solution


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
    candidates: tuple[CandidateFunction, ...]
    probed: ProbedFunction
    relations: Mapping[str, Relation | None]
    is_of_kernels: bool
    faults: tuple[Fault, ...] = ()
    measured: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    plan: ProgramPlan | None = None

    @property
    def first(self) -> CandidateFunction:
        """The candidate from which everything else was found out."""
        return self.candidates[0]

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Shapes of arrays, with their axes as the relations need them."""
        relation = next((r for r in self.relations.values() if r is not None), None)
        return {**self.probed.shapes, **(relation.shapes if relation is not None else {})}

    @property
    def is_complete(self) -> bool:
        """Whether the teacher need write nothing before the lab grades."""
        is_planned = self.plan is None or not self.plan.unknown
        has_all = is_planned and len(self.probed.shapes) == len(self._arrays)
        return has_all and bool(self.relations) and all(self.relations.values())

    @property
    def _arrays(self) -> list[str]:
        return [a.name for a in self.first.signature.arguments if a.pointers]

    def kind(self, name: str) -> str:
        """An array's kind, as the lab file calls it."""
        relation = self.relations.get(name)
        if relation is not None and relation.begins_at_zero:
            return "output"
        return self.probed.kinds.get(name, "")

    @property
    def variants(self) -> list[str]:
        if not self.is_of_kernels:
            return ["function" if self.plan is None else "program"]
        return [re.sub(r"[^a-z0-9_]", "_", self.launched(c).kernel.name.lower()) for c in self.candidates]

    @staticmethod
    def launched(candidate: CandidateFunction) -> Launched:
        """The launch of a candidate that is a kernel."""
        assert candidate.launched is not None
        return candidate.launched


_COUNTED = re.compile(r'np\.bincount\(inputs\["(?P<input>\w+)"\].*?minlength=(?P<extent>[^)]+)\)\[:')
_WORDS = {
    "en": {
        "write": "Write",
        "started": "a program that is started as `{command}`",
        "reads": "It reads:",
        "leaves": "It leaves:",
        "input": "- `{name}`, {shape} of `{dtype}`: {place}",
        "stdin": "standard input, which is `{text}`",
        "stdout": "printed; nothing else that is printed may be a number, except times and speeds",
        "file": "the file that the command line names",
        "task": "the task, as students read it.",
    },
    "ru": {
        "write": "Напишите",
        "started": "программу, которая запускается так: `{command}`",
        "reads": "Она читает:",
        "leaves": "После неё остаётся:",
        "input": "- `{name}`, {shape} типа `{dtype}`: {place}",
        "stdin": "стандартный ввод вида `{text}`",
        "stdout": "на стандартном выводе; других чисел, кроме времени и скорости, там быть не должно",
        "file": "файл, указанный в командной строке",
        "task": "условие, как его прочтут студенты.",
    },
}


def task(proposal: Proposal, language: str) -> str:
    """What is to be written, as far as it is known."""
    words = _WORDS[language]
    if proposal.plan is not None:
        what = words["started"].format(command=command(proposal.plan))
        more = _places(proposal, proposal.plan, words)
    else:
        names = proposal.variants if proposal.is_of_kernels else [proposal.first.signature.spelled]
        what, more = ", ".join(f"`{name}`" for name in names), []
    return "\n\n".join([f"{words['write']} {what}.", *more, f"<!-- {FILL_IN}: {words['task']} -->"]) + "\n"


def _places(proposal: Proposal, plan: ProgramPlan, words: dict[str, str]) -> list[str]:
    lists: dict[str, list[str]] = {"reads": [], "leaves": []}
    for a in proposal.first.signature.arguments:
        kind, shape = proposal.kind(a.name), proposal.shapes.get(a.name)
        if not a.pointers or shape is None or kind not in ("input", "output"):
            continue
        place = plan.places.get(a.name, "")
        where = words["file"]
        if "file: stdout" in place:
            where = words["stdout"]
        elif f"{{{a.name}}}" in plan.stdin:
            where = words["stdin"].format(text=" ".join(plan.stdin.replace("{", "").replace("}", "").split()))
        elif named := re.search(r"file: ([\w./-]+)", place):
            where = f"`{named[1]}`" if f"{{{a.name}}}" not in plan.arguments else f"{words['file']} (`{named[1]}`)"
        row = {"name": a.name, "shape": " × ".join(shape), "dtype": DTYPES[a.type], "place": where}
        lists["reads" if kind == "input" else "leaves"].append(words["input"].format(**row))
    return ["\n".join([words[name], "", *rows]) for name, rows in lists.items() if rows]


def command(plan: ProgramPlan) -> str:
    """How the program is started, as one types it."""
    words = " ".join(["program", *plan.arguments]).replace("{", "").replace("}", "")
    return words + " < input" * bool(plan.stdin)


def oracle(proposal: Proposal) -> str:
    """The oracle's text: inputs by chance, and what was found to come out."""
    calls = len(proposal.probed.samples)
    inputs, notes = [], []
    for a in proposal.first.signature.arguments:
        if not a.pointers or proposal.kind(a.name) not in ("input", "in_out"):
            continue
        shape = ", ".join(_python(extent) for extent in proposal.shapes.get(a.name, ()))
        dtype = np.dtype(DTYPES[a.type])
        most = _bins(proposal, a.name) or ("256" if dtype == np.uint8 else "10")
        is_real = dtype.kind == "f" and proposal.plan is None
        drawn = f"rng.integers(-32, 33, ({shape},)) / 16" if is_real else f"rng.integers(0, {most}, ({shape},))"
        inputs.append(f'        "{a.name}": {drawn},')
    outputs = []
    for name, relation in proposal.relations.items():
        shape = ", ".join(proposal.shapes.get(name, ()))
        if relation is None:
            notes.append(f"{name}, an array of shape ({shape})")
        else:
            text = relation.text
            if relation.begins_at_zero:
                text = text.partition(" + ")[2]
            outputs.append(f'        "{name}": {text},')
    remark = (
        f"The formulas gave what the solution gave at {calls} calls of two sizes; whether that is your task, you know."
        if not notes
        else f"{FILL_IN}: `expected` has to be written; until then the lab grades nothing."
    )
    body = ["    return {", *outputs, "    }"]
    if notes or not proposal.relations:
        wanted = "; ".join(notes) or "every output"
        body = [
            f"    # {FILL_IN}: return a dict with {wanted}, computed with NumPy in double precision",
            "    # from `inputs` (arrays and scalars by name) and `sizes`.",
            *(f"    # {line}".rstrip() for line in _quoted(proposal.solution.reference)),
            f'    raise NotImplementedError("expected() has to return {wanted}")',
        ]
    return "\n".join(
        [
            f'"""What must come out, computed with NumPy, by no student\'s code.\n\n{remark}\n"""',
            "\nfrom __future__ import annotations\n\nimport numpy as np\n\n",
            f"def inputs(sizes, rng):\n    # {_why(inputs)} {FILL_IN} where the task needs others.",
            "    return {",
            *inputs,
            "    }\n\n\ndef expected(inputs, sizes):",
            *body,
            "",
        ]
    )


def _why(inputs: Sequence[str]) -> str:
    are_real = {line.endswith(" / 16,") for line in inputs}
    texts = {True: "Sixteenths: sums and products of a few are exact.", False: "Whole numbers."}
    return " ".join(texts[kind] for kind in sorted(are_real, reverse=True))


def _bins(proposal: Proposal, name: str) -> str:
    """Return the limit of an input whose elements are counted: none of the counts is to stay empty."""
    for relation in proposal.relations.values():
        match = _COUNTED.search(relation.text) if relation is not None else None
        if match is not None and match["input"] == name:
            return match["extent"]
    return ""


def _quoted(text: str) -> list[str]:
    return ["", "What the solution's own file computes for comparison:", *text.split("\n")] if text else []


def _python(extent: str) -> str:
    return (
        re.sub(r"[A-Za-z_]\w*(?!\w*\()", lambda m: f'sizes["{m[0]}"]', extent)
        if "ceil_div" not in extent
        else _rounded(extent)
    )


def _rounded(extent: str) -> str:
    name, tile = extent.removeprefix("ceil_div(").removesuffix(")").split(", ")
    return f'-(-sizes["{name}"] // {tile})'
