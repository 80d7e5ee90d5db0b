"""Which kernel is which variant: by name first, by what it does where names are silent.

A program may itself call its kernels something, in the text that it prints beside a launch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Literal

from grader.lab.records import Variant
from grader.submission.binding.kernel_text import UNLIKE
from grader.submission.kernels.records import Kernel

BEST_PER_VARIANT = 6
# Outweighs all rules: no variant goes without a kernel so that another one gets the better of two.
EACH = 400.0
MAX_OTHERS = 2
FEW = 0.25
"""A share of the threads that leaves others with work for more than one element."""

HELPER = re.compile(r"(?i)init|fill|copy|cpy|print|warm|check|verif|compare|memset|zero|clear|empty|random|generate")
# What a kernel may be called that makes each element of the elements in the same place: no lab's work.
_OTHER_WORK = re.compile(r"(?i)add|sum|sub(?!mat)|plus|minus|copy|cpy|scal|const|shift|offset")


Claim = Literal["name", "structure", "number"]
"""What speaks for a kernel's being a variant: what it is called, what it does, or a mere number."""

_WEAK = re.compile(
    r"(?i)kernel|krnl|mat_?(?:rix_?)?mul(?:t|tiply|tiplication)?|mm|gemm|zad\d*_?kernel|opt(?:im\w*)?|fast|improved|best|\d+"
)
"""Words that say nothing of what a kernel does: what it does decides."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is known of a kernel before it is anybody's.

    fits: its parameters can be the lab's.
    claims: variants that the program's own text names where it prints this kernel's time or result.
    likeness: by variant, how much it does what the lab's own kernel does, beside what the variant's record says.
    threads: of the largest launch of it that was seen, 0 where none was.
    expression: its name as it is compiled.  is_instance: of a template, by arguments that the student named.
    name: what it is called, with the words that a template's arguments say.
    pads_rows: a shared array of it is padded in the wrong dimension.
    is_helper: by its name it prepares or checks what other kernels work on.
    is_intermediate: what it makes was never copied to the host, and another kernel reads it.
    is_pointwise: it looks at one place of its arrays only, the same in each.  is_of_another_task: by its name.
    is_idle: nothing launches it, while the program launches a kernel without a body.
    is_skeleton: it has no body, and the program launches it or has no kernel with one.
    share: its threads as a share of those of the kernel with the most; 1 where that is not known.
    """

    kernel: Kernel
    is_padded: bool
    fits: bool
    claims: frozenset[str] = frozenset()
    likeness: Mapping[str, float] = field(default_factory=dict)
    threads: int = 0
    expression: str = ""
    name: str = ""
    is_instance: bool = False
    pads_rows: bool = False
    is_helper: bool = False
    is_intermediate: bool = False
    is_pointwise: bool = False
    is_of_another_task: bool = False
    is_idle: bool = False
    is_skeleton: bool = False
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Assignment:
    """The kernel of each variant that has one; others: what may be that variant as well and is no other."""

    chosen: dict[str, Candidate]
    others: dict[str, list[Candidate]]


def compared(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The same, each with what follows from the others: where all are called helpers and launched, none is one."""
    most = max((k.threads for k in candidates if k.fits), default=0)
    helpers = [HELPER.search(k.kernel.name) is not None for k in candidates]
    others = [
        k.is_of_another_task or (k.is_pointwise and _OTHER_WORK.search(k.kernel.name) is not None) for k in candidates
    ]
    has_work = any(k.fits and not k.kernel.is_empty for k in candidates)
    has_empty = any(k.kernel.is_empty and k.threads and k.fits for k in candidates)
    none_left = most > 0 and all(is_helper or not k.fits for k, is_helper in zip(candidates, helpers, strict=True))
    return [
        replace(
            k,
            is_helper=(is_helper and not none_left) or is_other,
            is_idle=has_empty and not k.threads,
            is_skeleton=k.kernel.is_empty and (k.threads > 0 or not has_work),
            share=k.threads / most if k.threads and most else 1.0,
        )
        for k, is_helper, is_other in zip(candidates, helpers, others, strict=True)
    ]


def assign(
    variants: Sequence[Variant], all_candidates: Sequence[Candidate], given: Mapping[str, Candidate]
) -> Assignment:
    """A kernel for as many variants as can have one; no kernel for two.

    all_candidates: the kernels, `compared`.  given: kernels that the student named; they are taken as they are.
    """
    taken = {(k.kernel.file, k.kernel.name) for k in given.values() if not k.is_instance}
    instances = {(k.kernel.file, k.expression) for k in given.values()}
    free = [
        k
        for k in all_candidates
        if (k.kernel.file, k.kernel.name) not in taken and (k.kernel.file, k.expression) not in instances
    ]
    several_files = len({k.kernel.file for k in all_candidates}) > 1
    open_variants = [variant for variant in variants if variant.name not in given]
    scores: list[list[tuple[float, int]]] = []
    of_variants: list[dict[int, tuple[float, Claim]]] = []
    for variant in open_variants:
        pairs = {i: Pair(variant, k, open_variants, several_files) for i, k in enumerate(free)}
        scored = {i: score for i, pair in pairs.items() if (score := score_of(pair)) is not None}
        # Among equals, the later static one: courses go from the plain to the better.  Without names, the first.
        ranked = sorted(((score, i) for i, (score, _claim) in scored.items()), key=lambda pair: (-pair[0], pair[1]))
        scores.append([(score + EACH, i) for score, i in ranked[:BEST_PER_VARIANT]])
        of_variants.append(scored)
    _total, best = _best(scores, 0, frozenset())
    assigned = dict(given)
    assigned |= {variant.name: free[i] for variant, i in zip(open_variants, best, strict=True) if i is not None}
    others: dict[str, list[Candidate]] = {}
    # A kernel that may be several variants is another one of that which it is likeliest to be.
    most = {i: max(scored[i][0] for scored in of_variants if i in scored) for i in {*chain(*of_variants)}}
    for variant, chosen, scored in zip(open_variants, best, of_variants, strict=True):
        if chosen is not None and not free[chosen].kernel.is_empty:
            claim = scored[chosen][1]
            # One of few threads, for rows, may be called what another with a thread for each element is.
            claims = {claim, "structure"} if free[chosen].share < FEW else {claim}
            equal = [i for i, (score, c) in scored.items() if c in claims and i not in best and score >= most[i]]
            usable = [free[i] for i in equal if free[i].fits and not free[i].is_helper]
            others[variant.name] = usable[:MAX_OTHERS]
    return Assignment(assigned, others)


def _best(
    scores: Sequence[Sequence[tuple[float, int]]], index: int, used: frozenset[int]
) -> tuple[float, tuple[int | None, ...]]:
    """Return the highest total from variant `index` on and each variant's kernel; the first of equal ones."""
    if index == len(scores):
        return 0.0, ()
    rest, chosen = _best(scores, index + 1, used)
    best: tuple[float, tuple[int | None, ...]] = (rest, (None, *chosen))
    for score, kernel in scores[index]:
        if kernel not in used:
            rest, chosen = _best(scores, index + 1, used | {kernel})
            if score + rest > best[0]:
                best = (score + rest, (kernel, *chosen))
    return best


@dataclass(frozen=True)
class Pair:
    """A kernel that may be a variant, and what `RULES` ask of the two.

    variants: those that are looked for.  several_files: whether a file's name may tell kernels apart.
    """

    variant: Variant
    candidate: Candidate
    variants: Sequence[Variant]
    several_files: bool

    @cached_property
    def is_usable(self) -> bool:
        """Whether it has a body and the lab's parameters, and is there for its own sake."""
        return self.candidate.fits and not self.candidate.is_helper and not self.candidate.kernel.is_empty

    @cached_property
    def is_compared_with(self) -> bool:
        """Whether one thread of it does what the parallel versions beside it are compared with, whatever its name."""
        return self.candidate.threads == 1 and self.candidate.share < 1

    @cached_property
    def number(self) -> int | None:
        """The rank of the variant's pattern that its name has, where that ends in a number: `transpose2`."""
        rank = None if self.is_compared_with else name_rank(self.variant, self.candidate.name)
        if rank is None:
            return None
        match = re.search(self.variant.names[rank], self.candidate.name, re.IGNORECASE)
        return rank if match is not None and match.group()[-1:].isdigit() else None

    @cached_property
    def named(self) -> float | None:
        """What its name counts, or its file's; None where neither is the variant's."""
        if self.is_compared_with or self.candidate.is_of_another_task:
            return None
        return _named(self.variant, self.candidate, self.several_files)

    @cached_property
    def is_printed(self) -> bool:
        """Whether the program calls it this variant, and no other, where it prints its time or result."""
        is_claimed = self.candidate.claims == {self.variant.name} and not self.is_compared_with
        return is_claimed and not self.candidate.is_helper

    @cached_property
    def fits_memory(self) -> bool:
        return self.variant.shared_memory in (None, self.candidate.kernel.uses_shared)

    @cached_property
    def fits_padding(self) -> bool:
        return self.variant.padded in (None, self.candidate.is_padded)

    @cached_property
    def fits_loops(self) -> bool:
        return self.variant.unrolled in (None, self.candidate.kernel.unroll > 1)

    @cached_property
    def fits(self) -> bool:
        """Whether it is built as the variant; a loop that need not be unrolled may be: that is common in a tile."""
        return self.fits_memory and self.fits_padding and (self.fits_loops or not self.variant.unrolled)

    @cached_property
    def dynamic(self) -> float:
        """Taken off: of two tiles the static one, as how much memory a dynamic one gets may not be readable."""
        return 1.0 if any(array.dynamic for array in self.candidate.kernel.shared_arrays) else 0.0

    @cached_property
    def likeness(self) -> float:
        return self.candidate.likeness.get(self.variant.name, 0.0)

    @cached_property
    def unusable(self) -> float:
        """Taken off a name for other parameters than the lab's, or no body."""
        return 50.0 if not self.candidate.fits else 30.0 if self.candidate.kernel.is_empty else 0.0

    @cached_property
    def built(self) -> float:
        """What its being built as the variant adds to a name, or takes off it."""
        memory, padding, loops = (5, self.fits_memory), (3, self.fits_padding), (4, self.fits_loops)
        built: float = sum(points if fits else -points for points, fits in (memory, padding, loops))
        # `tiled` says nothing of padding: one with it is the variant without only where another is the one with it.
        built -= 90.0 if self.variant.padded is False and self.candidate.is_padded else 0.0
        return built - self.dynamic - self.unusable

    @cached_property
    def structure(self) -> float:
        """What it counts by what it does alone."""
        # What is named for another variant is this one only when that has a better one: two kernels called shared.
        is_another = any(_named(v, self.candidate, self.several_files) is not None for v in self.variants)
        score = 10.0 if is_another else 20.0
        # If there are several, the one that has a thread for every element.
        score -= 0.0 if self.candidate.share >= FEW else 1.0 if self.candidate.threads > 1 else 8.0
        score -= 10.0 if self.candidate.is_intermediate else 0.0
        score += 3.0 if self.variant.shared_memory is not None else 0.0
        return score - self.dynamic - (0.0 if self.fits_loops else 2.0) + self.likeness


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes a kernel a variant's, or nobody's.

    holds: whether it says something of a pair that no rule before it decides.
    points: what the pair counts, against the other kernels for this variant and against this kernel's other variants;
        None: it is not that variant.
    least: fewer points it does not get.  claim: what speaks for the pair.
    reason: why the rule is there, and at this place.  example: kernels of a transposition that it decides.
    """

    name: str
    holds: Callable[[Pair], object]
    points: Callable[[Pair], float] | None
    claim: Claim
    reason: str
    example: str
    least: float = 1.0


RULES = (
    Rule(
        "unlike",
        lambda p: p.named is None and not p.is_printed and p.likeness <= -UNLIKE,
        None,
        "structure",
        "A tile of both matrices is not a row of one of them, however many such kernels there are.",
        "of a product: tile2, where tile1 is one as well",
    ),
    Rule(
        "number",
        lambda p: (
            p.number is not None
            and p.is_usable
            and p.fits_memory
            and p.fits_padding
            and p.fits_loops
            and p.likeness >= 0
        ),
        lambda p: 60.0 - (p.number or 0) - p.dynamic + p.likeness,
        "structure",
        "A number only counts: worth a name where the kernel is what that number usually stands for.",
        "k2 is a padded tile",
    ),
    Rule(
        "another number",
        lambda p: p.number is not None and p.is_usable and p.fits_memory,
        lambda p: 8.0 - 0.5 * min(p.number or 0, 10) - p.dynamic,
        "number",
        "The second of two equal tiles is the one that should be something else.",
        "k2 is a tile that lacks its padding, and k1 is one as well",
        least=-10.0,
    ),
    Rule(
        "helper's name",
        lambda p: p.named is not None and p.candidate.is_helper,
        lambda p: 15.0 - p.unusable,
        "name",
        "Anything that is called the variant and does not prepare or check is better.",
        "copyNaive, where no other kernel is called naive",
    ),
    Rule(
        "name",
        lambda p: p.named is not None,
        lambda p: (p.named or 0.0) + p.built,
        "name",
        "A name outweighs what a kernel does: a tile called padded that is not is a fault to show, not to hide.",
        "padded is a tile without padding",
    ),
    Rule(
        "printed",
        lambda p: p.is_printed,
        lambda p: (90.0 if p.fits_memory else 12.0) + p.built,
        "name",
        "A program names its kernels in what it prints of them; one that is built otherwise is the variant where no "
        "other kernel wants it.",
        'k<<<…>>> with printf("shared memory: %f ms") behind it',
    ),
    Rule(
        "empty",
        lambda p: p.candidate.is_skeleton and p.candidate.fits and not p.candidate.is_helper,
        lambda p: (4.0 if p.fits_memory else 2.0) / (1 + [v.name for v in p.variants].index(p.variant.name)),
        "structure",
        "What the program launches is what is judged, be it empty; and so is a skeleton where no kernel has a body.",
        "work without a body, launched",
        least=0.0,
    ),
    Rule(
        "nobody's",
        lambda p: not p.is_usable or p.candidate.is_idle,
        None,
        "structure",
        "Helpers, kernels for other parameters, and those that the program leaves aside for an empty one.",
        "initialize, warmup",
    ),
    Rule(
        "wrong padding",
        lambda p: not p.fits and p.fits_memory and p.variant.padded and p.candidate.pads_rows,
        lambda p: 12.0 - p.dynamic,
        "structure",
        "The padding is there, in the wrong dimension: a fault to show, where nothing better is that variant.",
        "work with tile[33][32]",
    ),
    Rule(
        "built otherwise",
        lambda p: not p.fits,
        None,
        "structure",
        "Without any name, no kernel is a variant that it is not built as.",
        "work without shared memory is neither shared nor padded",
    ),
    Rule(
        "structure",
        lambda p: True,
        lambda p: p.structure,
        "structure",
        "Without any name, a kernel is what it does.",
        "work with tile[32][33] is padded",
        least=0.5,
    ),
)
"""The rules in their order; the first that holds decides."""


def rule_of(pair: Pair) -> Rule:
    """The rule that decides what a kernel counts for a variant."""
    return next(rule for rule in RULES if rule.holds(pair))


def score_of(pair: Pair) -> tuple[float, Claim] | None:
    """How well a kernel fits a variant and what speaks for it; None where it cannot be that variant."""
    rule = rule_of(pair)
    return (max(rule.points(pair), rule.least), rule.claim) if rule.points is not None else None


def name_rank(variant: Variant, name: str) -> int | None:
    """The place of the first of the variant's patterns found in `name`."""
    return next((i for i, pattern in enumerate(variant.names) if re.search(pattern, name, re.IGNORECASE)), None)


def _named(variant: Variant, candidate: Candidate, several_files: bool) -> float | None:
    """Return what a kernel's name counts for a variant, or its file's where a submission has several files."""
    rank = strong_rank(variant, candidate.name)
    if rank is not None:
        return 100.0 - 4.0 * min(rank, 10)
    stem = candidate.kernel.file.rpartition(".")[0]
    return 50.0 if several_files and strong_rank(variant, stem) is not None else None


def strong_rank(variant: Variant, name: str) -> int | None:
    """The place of the first of the variant's patterns that finds in `name` what says something of a kernel.

    A number only counts, be it behind a word: `transpose2`.
    """
    for rank, pattern in enumerate(variant.names):
        match = re.search(pattern, name, re.IGNORECASE)
        if match is not None and not _WEAK.fullmatch(match.group()) and not match.group()[-1].isdigit():
            return rank
    return None
