"""What a kernel is like by what it does and what it is called: one of the lab's own, or one of another task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.errors import UsageError
from grader.lab.records import Lab, Variant
from grader.submission.binding.roles import HEIGHT, WIDTH
from grader.submission.cpp.parse import parse
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import Kernel
from grader.submission.kernels.shape import KernelShape
from grader.submission.source import decode

AXES = 4.0
STAGED = 3.0
UNLIKE = AXES + STAGED
"""Against a variant speak both the axes of the threads and the arrays that are staged."""

SECOND_AXIS = re.compile(r"\b(?:blockIdx|threadIdx)\s*\.\s*y\b")
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
    macros = (shape.constants.macros.get(word) for word in set(_WORD.findall(shape.text)))
    # `#define ty threadIdx.y`
    texts = (shape.text, *(macro.body for macro in macros if macro is not None))
    return Profile(any(SECOND_AXIS.search(text) for text in texts), frozenset(staged))


def alike(lab: Lab) -> list[Variant]:
    """Variants that some other one equals in all that its record says a kernel does."""
    keys = [(variant.shared_memory, variant.padded) for variant in lab.variants]
    return [
        variant
        for variant, key in zip(lab.variants, keys, strict=True)
        if variant.shared_memory and keys.count(key) > 1
    ]


def profiles(lab: Lab) -> dict[str, Profile]:
    """Profiles of the lab's own kernels, for variants that are `alike`."""
    return {
        variant.name: profile_of(kernel, shape, variant.reference.arguments)
        for variant, kernel, shape in _references(lab, alike(lab))
    }


def likeness(profile: Profile, of_variants: Mapping[str, Profile]) -> dict[str, float]:
    """What speaks for or against each variant, by its name."""
    by_variant = {}
    for name, other in of_variants.items():
        score = 0.0 if profile.has_rows == other.has_rows else -AXES
        if profile.staged and other.staged:
            score += STAGED if profile.staged == other.staged else -STAGED
        by_variant[name] = score
    return by_variant


_TASKS = tuple(
    re.compile(words, re.IGNORECASE)
    for words in (
        r"transpos(?!ed)",
        r"mul(?!ti)|multipl|product|gemm|squar(?!ed|e?_?(?:tile|block))|(?<![a-z])dot|(?<![a-z])mm(?![a-z])",
        r"conv(?!en|er)|blur|stencil|filter(?!ed)|smooth|mean(?!ing|while)|average(?!d)|sobel|gauss"
        r"|window|sliding|moving|halo",
        r"reduc(?!ed|ing|e_?(?:bank|conflict|traffic|load|diverg|global))|scan|prefix|sort(?!ed)|histo",
    )
)
"""What tasks are called: a word in a kernel's name.  How it is done is told by "transposed", "reduced_conflicts"."""


def is_of_another_task(name: str, lab: Lab) -> bool:
    """Whether a kernel is called as other tasks are, and not as the lab is, which is called as one of them itself."""
    of_lab = " ".join((lab.id, *lab.title.values()))
    own = [words.search(of_lab) is not None for words in _TASKS]
    named = [words.search(name) is not None for words in _TASKS]
    return any(own) and any(named) and not any(a and b for a, b in zip(own, named, strict=True))


OtherData = Literal["", "rows_and_columns", "place_by_place", "unequal_lengths"]
"""Why a kernel works on other data than the lab's, or on these in another way than any of the lab's."""


def other_data(kernel: Kernel, shape: KernelShape, lab: Lab, *, is_named: bool) -> OtherData:
    """Whether it goes through rows and columns where the lab has vectors, or joins arrays place by place where each
    element of the lab's result takes a whole row of them.

    is_named: it is called as a variant is; then it is a wrong one.
    """
    arrays = [p for p in lab.parameters if p.is_array]
    pointers = [p for p in kernel.parameters if p.is_pointer]
    if all(len(p.shape) == 1 for p in arrays) and _has_rows(kernel, shape):
        return "rows_and_columns"
    if not shape.is_pointwise:
        return ""
    # One array is to be used with itself there, as in a product.
    joins_two = any(p.twice for p in arrays) and len(pointers) > len(arrays)
    inputs = [p for p in arrays if p.is_input]
    are_matrices = len(inputs) > 1 and all(len(p.shape) > 1 for p in inputs)
    joins_all = not is_named and are_matrices and sum(p.is_read and not p.is_written for p in pointers) == len(inputs)
    return "place_by_place" if joins_two or (joins_all and not _makes_pointwise(lab)) else ""


UNEQUAL = 8
"""So many times the elements are no size in bytes for one in elements, and no margin."""


def unequal_lengths(kernel: Kernel, elements: Mapping[str, int], lab: Lab) -> tuple[str, str] | None:
    """The input and the output that a program was seen to hand in with lengths far apart, where the lab's are of one
    length: sums of blocks, products of chains.

    elements: of each array that was seen, by the parameter's name.
    """
    arrays = [p for p in lab.parameters if p.is_array]
    read = [p.name for p in kernel.parameters if p.is_pointer and p.is_read and not p.is_written]
    written = [p.name for p in kernel.parameters if p.is_pointer and p.is_written]
    if len(arrays) != 2 or Counter(arrays[0].shape) != Counter(arrays[1].shape):
        return None
    if len(read) != 1 or len(written) != 1 or not {*read, *written} <= elements.keys():
        return None
    fewer, more = sorted((elements[read[0]], elements[written[0]]))
    return (read[0], written[0]) if 0 < UNEQUAL * fewer <= more else None


_OF_SECOND_AXIS = re.compile(r"\b(\w+)\s*=(?!=)([^=;{}]*\b(?:blockIdx|threadIdx)\s*\.\s*y\b[^=;{}]*)")
_FIRST_AXIS = re.compile(r"\b(?:blockIdx|threadIdx)\s*\.\s*x\b")
_OF_BLOCKS = re.compile(r"\bblockIdx\s*\.\s*y\b")
# `j = y - RADIUS`, in a loop over neighbours.
_BESIDE = re.compile(r"\b(\w+)\s*=\s*(\w+)\s*[+-]\s*\w+\s*[;,]")
_OF_LAUNCH = re.compile(r"(?i)block|grid|tile|thread|warp|dim")


def _has_rows(kernel: Kernel, shape: KernelShape) -> bool:
    """Whether it takes the numbers of rows and columns, or multiplies what its second axis numbers by a number that is
    handed in or a constant: `y * width`."""
    numbers = [p.name for p in kernel.parameters if not p.is_pointer]
    if SECOND_AXIS.search(shape.text) is None:
        return _is_taken_apart(shape, numbers)
    if any(map(WIDTH.fullmatch, numbers)) and any(map(HEIGHT.fullmatch, numbers)):
        return True
    names = (*shape.constants.macros, *shape.constants.values)
    constants = [name for name in names if not _OF_LAUNCH.search(name)]
    numbered = _OF_SECOND_AXIS.findall(shape.text)
    # What the first axis is added to numbers all threads or blocks: of a vector, too.
    rows = {name: value for name, value in numbered if _FIRST_AXIS.search(_first_of(value)) is None}
    of_blocks = {name for name, value in rows.items() if _OF_BLOCKS.search(value)}
    beside = _BESIDE.findall(shape.text)

    def multiplied(lengths: Iterable[str], rows: Collection[str], direct: str) -> bool:
        named = {*rows, *(name for name, row in beside if row in rows)}
        lengths = [re.escape(name) for name in lengths]
        choices = [direct, *([rf"(?<![.\w])(?:{'|'.join(sorted(named))})\b(?:\s*[+-]\s*\w+)?\s*\)?"] if named else [])]
        row, length = rf"(?:{'|'.join(choices)})", rf"\(?\s*\b(?:{'|'.join(lengths)})\b"
        product = rf"{row}\s*\*\s*{length}|{length}\s*\)?\s*\*\s*\(?\s*{row}"
        return bool(lengths) and re.search(product, shape.text) is not None

    # Within a block a constant is the block's side, whatever it is called: `threadIdx.y * BX + threadIdx.x`.
    across = r"\(\s*blockIdx\s*\.\s*y\b[^()]*\bthreadIdx\s*\.\s*y\s*\)"
    return multiplied(numbers, rows, r"\bthreadIdx\s*\.\s*y\s*\)?") or multiplied(constants, of_blocks, across)


def _first_of(values: str) -> str:
    """The value that a list of declarations gives its first name."""
    depth = 0
    for place, sign in enumerate(values):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            return values[:place]
    return values


_NUMBERED = re.compile(r"\b(\w+)\s*=[^=;{}]*\bblockIdx\s*\.\s*x\b")
_COPIED = re.compile(r"\b(\w+)\s*=\s*\(?\s*(\w+)\s*\)?\s*[;,]")


def _is_taken_apart(shape: KernelShape, numbers: Sequence[str]) -> bool:
    """Whether the number of a thread becomes a row and a column: divided by a length, and its remainder taken.

    The length is handed in, or is a constant called a width: by others a vector is cut into pieces.
    """
    constants = (*shape.constants.macros, *shape.constants.values)
    lengths = {name for name in numbers if not _OF_LAUNCH.search(name)}
    lengths |= {name for name in constants if WIDTH.fullmatch(name)}
    copies = {name: length for name, length in _COPIED.findall(shape.text) if length in lengths}

    def divided_by(operator: str) -> set[tuple[str, str]]:
        pairs = re.findall(rf"\b(\w+)\s*{operator}\s*\(?\s*([A-Za-z_]\w*)\b", shape.text)
        return {(number, copies.get(length, length)) for number, length in pairs}

    both = divided_by("/(?!=)") & divided_by("%(?!=)")
    threads = {*_NUMBERED.findall(shape.text)}
    return any(number in threads and length in lengths for number, length in both)


def _makes_pointwise(lab: Lab) -> bool:
    """Whether a kernel of the lab's own makes each element of those in the same place: it adds matrices."""
    return any(shape.is_pointwise for _variant, _kernel, shape in _references(lab, lab.variants))


def _references(lab: Lab, variants: Sequence[Variant]) -> Iterator[tuple[Variant, Kernel, KernelShape]]:
    """The lab's own kernels, as far as they can be read: where they cannot is told where they are needed."""
    for variant in variants:
        try:
            parsed = parse(decode(variant.reference.file))
        except UsageError:
            continue
        kernel = next((k for k in kernels_in(parsed) if k.name == variant.reference.kernel), None)
        if kernel is not None:
            yield variant, kernel, KernelShape(parsed, kernel, {})
