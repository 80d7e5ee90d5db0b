"""Which kernel is which variant: by name first, by what it does where names are silent.

A program may itself call its kernels something, in the text that it prints beside a launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from grader.errors import UsageError
from grader.lab.records import Lab, Variant
from grader.submission.cpp.parse import parse
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import Kernel, LaunchSite
from grader.submission.kernels.shape import KernelShape
from grader.submission.source import decode

AXES = 4.0
STAGED = 3.0

_SECOND_AXIS = re.compile(r"\b(?:blockIdx|threadIdx)\s*\.\s*y\b")
_STORED = re.compile(r"\b(\w+)\s*(?:\[[^\]=;]{0,120}\]\s*)+=(?!=)\s*([^;]{1,300});")
_WORD = re.compile(r"[A-Za-z_]\w*+")


@dataclass(frozen=True, slots=True)
class Profile:
    """has_rows: its threads are numbered along two axes.  staged: roles of the arrays copied to shared memory."""

    has_rows: bool
    staged: frozenset[str]


def profile_of(kernel: Kernel, shape: KernelShape, roles: Sequence[str]) -> Profile:
    """What a kernel does, whose parameters have these roles."""
    by_name = {p.name: role for p, role in zip(kernel.parameters, roles, strict=False) if p.is_pointer}
    shared = {array.name for array in kernel.shared_arrays}
    staged = {
        by_name[word]
        for target, value in _STORED.findall(shape.text)
        if target in shared
        for word in _WORD.findall(value)
        if word in by_name
    }
    return Profile(_SECOND_AXIS.search(shape.text) is not None, frozenset(staged))


def alike(lab: Lab) -> list[Variant]:
    """Variants that some other one equals in all that its record says a kernel does."""
    keys = [(variant.shared_memory, variant.padded) for variant in lab.variants]
    return [
        variant
        for variant, key in zip(lab.variants, keys, strict=True)
        if variant.shared_memory and keys.count(key) > 1
    ]


def profiles(lab: Lab) -> dict[str, Profile]:
    """Those of the lab's own kernels, of variants that are `alike`."""
    by_variant = {}
    for variant in alike(lab):
        reference = variant.reference
        try:
            parsed = parse(decode(reference.file))
        except UsageError:
            # It is told where the lab's own kernels are needed.
            continue
        kernel = next((k for k in kernels_in(parsed) if k.name == reference.kernel), None)
        if kernel is not None:
            by_variant[variant.name] = profile_of(kernel, KernelShape(parsed, kernel, {}), reference.arguments)
    return by_variant


def likeness(profile: Profile, of_variants: Mapping[str, Profile]) -> dict[str, float]:
    """By variant, what speaks for or against it."""
    by_variant = {}
    for name, other in of_variants.items():
        score = 0.0 if profile.has_rows == other.has_rows else -AXES
        if profile.staged and other.staged:
            score += STAGED if profile.staged == other.staged else -STAGED
        by_variant[name] = score
    return by_variant


# A name outweighs everything a kernel does: a tile called padded that is not is a fault to show, not to hide.
NAMED = 100.0
NAMED_BY_FILE = 50.0
UNNAMED = 20.0
# `transpose2` only counts: worth as much where the kernel is what that number usually stands for, else next to nothing.
NUMBERED = 60.0
MISNUMBERED = 8.0
# What the program prints beside a kernel's time.
PRINTED = 90.0
# The same of a kernel that does nothing of the kind: it is this variant where no other wants it.
MISPRINTED = 12.0
BEST_PER_VARIANT = 6
# Outweighs all of the above: no variant goes without a kernel so that another one gets the better of two.
EACH = 400.0
MAX_OTHERS = 2
FEW = 0.25
"""A share of the threads that leaves others with work for more than one element."""

_HELPER = re.compile(r"(?i)init|fill|copy|cpy|print|warm|check|verif|compare|memset|zero|clear|empty|random|generate")
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
    is_pointwise: it looks at one place of its arrays only, the same in each.
    is_idle: nothing launches it, while the program launches a kernel without a body.
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
    is_idle: bool = False
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Assignment:
    """The kernel of each variant that has one; others: what may be that variant as well and is no other."""

    chosen: dict[str, Candidate]
    others: dict[str, list[Candidate]]


def compared(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The same, each with what follows from the others: where all are called helpers and launched, none is one."""
    most = max((k.threads for k in candidates if k.fits), default=0)
    helpers = [_HELPER.search(k.kernel.name) is not None for k in candidates]
    others = [k.is_pointwise and _OTHER_WORK.search(k.kernel.name) is not None for k in candidates]
    has_empty = any(k.kernel.is_empty and k.threads and k.fits for k in candidates)
    none_left = most > 0 and all(is_helper or not k.fits for k, is_helper in zip(candidates, helpers, strict=True))
    return [
        replace(
            k,
            is_helper=(is_helper and not none_left) or is_other,
            is_idle=has_empty and not k.threads,
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
    claims: list[dict[int, Claim]] = []
    for variant in open_variants:
        scored = {
            i: s for i, k in enumerate(free) if (s := _score(variant, k, open_variants, several_files)) is not None
        }
        # Of equal ones, the later static one: courses go from the plain to the better.  Without names, the first.
        ranked = sorted(((score, i) for i, (score, _claim) in scored.items()), key=lambda pair: (-pair[0], pair[1]))
        scores.append([(score + EACH, i) for score, i in ranked[:BEST_PER_VARIANT]])
        claims.append({i: claim for i, (_score, claim) in scored.items()})
    _total, best = _best(scores, 0, frozenset())
    assigned = dict(given)
    assigned |= {variant.name: free[i] for variant, i in zip(open_variants, best, strict=True) if i is not None}
    others: dict[str, list[Candidate]] = {}
    for variant, chosen, by_kernel in zip(open_variants, best, claims, strict=True):
        if chosen is not None and not free[chosen].kernel.is_empty:
            equal = [i for i, claim in by_kernel.items() if claim == by_kernel[chosen] and i not in best]
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


def name_rank(variant: Variant, name: str) -> int | None:
    """The place of the first of the variant's patterns found in `name`."""
    return next((i for i, pattern in enumerate(variant.names) if re.search(pattern, name, re.IGNORECASE)), None)


def _numbered_rank(variant: Variant, name: str) -> int | None:
    """Return the rank of a pattern that matches a number: such a name counts kernels and says nothing of them."""
    rank = name_rank(variant, name)
    if rank is None:
        return None
    match = re.search(variant.names[rank], name, re.IGNORECASE)
    return rank if match is not None and match.group()[-1:].isdigit() else None


def _score(
    variant: Variant, candidate: Candidate, variants: Sequence[Variant], several_files: bool
) -> tuple[float, Claim] | None:
    """Return how well a kernel fits a variant and what speaks for it; None where it cannot be that variant."""
    kernel = candidate.kernel
    is_helper = candidate.is_helper
    fits_memory = variant.shared_memory is None or kernel.uses_shared == variant.shared_memory
    fits_padding = variant.padded is None or candidate.is_padded == variant.padded
    fits_loops = variant.unrolled is None or (kernel.unroll > 1) == variant.unrolled
    # A loop that a variant need not unroll may be unrolled all the same: `#pragma unroll` in a tile is common.
    can_be = fits_memory and fits_padding and (fits_loops or not variant.unrolled)
    # Of two tiles the static one: how much memory a dynamic one gets may not be readable.
    dynamic = 1.0 if any(array.dynamic for array in kernel.shared_arrays) else 0.0
    likeness = candidate.likeness.get(variant.name, 0.0)
    named = _named(variant, candidate, several_files)
    numbered = _numbered_rank(variant, candidate.name)
    claims = candidate.claims
    if candidate.threads == 1 and candidate.share < 1:
        # What one thread does beside a parallel version is there to be compared with that, whatever it is called.
        named = numbered = None
        claims = frozenset[str]()
    if numbered is not None and not is_helper and candidate.fits and not kernel.is_empty:
        if fits_memory and fits_padding and fits_loops and likeness >= 0:
            return NUMBERED - numbered - dynamic + likeness, "structure"
        if fits_memory:
            return MISNUMBERED - 0.5 * min(numbered, 10) - dynamic, "number"
    if named is None and claims == {variant.name} and not is_helper:
        named = PRINTED if fits_memory else MISPRINTED
    if named is None:
        if kernel.is_empty and candidate.threads and candidate.fits and not is_helper:
            # What the program launches is what is judged, be it empty.
            place = [other.name for other in variants].index(variant.name)
            return (4.0 if fits_memory else 2.0) / (1 + place), "structure"
        if is_helper or kernel.is_empty or not candidate.fits or candidate.is_idle:
            return None
        if not can_be:
            # The padding is there, in the wrong dimension: a fault to show, where nothing better is that variant.
            shows_fault = fits_memory and variant.padded and candidate.pads_rows
            return (MISPRINTED - dynamic, "structure") if shows_fault else None
        less = dynamic + (0.0 if fits_loops else 2.0)
        return max(_unnamed_score(variant, candidate, variants, several_files) - less + likeness, 0.5), "structure"
    score = named + (5 if fits_memory else -5) + (3 if fits_padding else -3) + (4 if fits_loops else -4) - dynamic
    if is_helper:
        # Anything better is better: `copyShared` beside a tile without a telling name.
        score = UNNAMED - 5
    if not candidate.fits:
        score -= 50
    elif kernel.is_empty:
        score -= 30
    return max(score, 1.0), "name"


def _unnamed_score(variant: Variant, candidate: Candidate, variants: Sequence[Variant], several_files: bool) -> float:
    """Return how well a kernel fits a variant whose name it does not have."""
    # What is named for another variant is this one only when that has a better one: two kernels called shared.
    score = UNNAMED / 2 if any(_named(v, candidate, several_files) is not None for v in variants) else UNNAMED
    # If there are several, the one that has a thread for every element.
    score -= 0.0 if candidate.share >= FEW else 1.0 if candidate.threads > 1 else 8.0
    score -= 10.0 if candidate.is_intermediate else 0.0
    return score + (3 if variant.shared_memory is not None else 0)


def _named(variant: Variant, candidate: Candidate, several_files: bool) -> float | None:
    """Return what a kernel's name counts for a variant, or its file's where a submission has several files."""
    rank = strong_rank(variant, candidate.name)
    if rank is not None:
        return NAMED - 4.0 * min(rank, 10)
    stem = candidate.kernel.file.rpartition(".")[0]
    return NAMED_BY_FILE if several_files and strong_rank(variant, stem) is not None else None


def strong_rank(variant: Variant, name: str) -> int | None:
    """The place of the first of the variant's patterns that finds in `name` what says something of a kernel.

    A number only counts, be it behind a word: `transpose2`.
    """
    for rank, pattern in enumerate(variant.names):
        match = re.search(pattern, name, re.IGNORECASE)
        if match is not None and not _WEAK.fullmatch(match.group()) and not match.group()[-1].isdigit():
            return rank
    return None


MAX_LINES = 16
# What is said of a launch, of sizes and of errors names no variant: "Block: 16x16", "3 rows", "error in line 7".
_NUMBER = r"\s*[:=(,#]?\s*(?:\d|%\d*l*z?[dux])"
_NO_CLAIM = re.compile(
    r"(?i)(?:number of|num|threads?|grids?|per|max\w*|/)[\W_]*blocks?\b|\bblocks\b"
    rf"|\bblock[\W_]*(?:size|dim\w*|count|shape|per)\b|\b(?:blocks?|lines?|rows?|cols?|columns?){_NUMBER}"
    # What a comparison says of a result: "the answer is wrong".
    r"|\b(?:(?:is|are|was|were|results?|answer|ans)\W+)+(?:not\W+)?wrong\b|\bwrong\W*(?:results?\b|answer|!|\\n|$)"
    r"|(?:\d|%\d*l*z?[dux])\s*(?:rows?|cols?|columns?|lines?)\b|\bshared mem\w*[\W_]*(?:per|size)\b"
)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*+)"?')


def claimed(
    sites: Sequence[LaunchSite],
    all_sites: Iterable[LaunchSite],
    lines: Mapping[str, Sequence[str]],
    variants: Sequence[Variant],
) -> frozenset[str]:
    """The variants that are named in what is printed between a kernel's launch and the next kernel's.

    lines: of each file's text.
    """
    names: set[str] = set()
    others = sorted({(site.file, site.line) for site in all_sites})
    for site in sites:
        after = next((line for file, line in others if file == site.file and line > site.line), site.line + MAX_LINES)
        text = "\n".join(lines.get(site.file, ())[site.line - 1 : min(after - 1, site.line + MAX_LINES)])
        for string in _STRING.findall(text):
            said = _NO_CLAIM.sub(" ", string)
            named = [(rank, v.name) for v in variants if (rank := strong_rank(v, said)) is not None]
            if named:
                names.add(min(named)[1])
    return frozenset(names)
