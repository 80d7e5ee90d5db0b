"""What a kernel's parameters stand for: a role of the lab for each array and one of its sizes for each number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, permutations, product
from math import prod

from grader.lab import formula
from grader.lab.records import Lab, Parameter
from grader.submission.binding.pitches import IS_PITCH, length_of, pitched
from grader.submission.cpp.constants import SIZES_OF_TYPES
from grader.submission.kernels.records import Kernel, KernelParameter, SeenArgument

MAX_SCALARS = 8
IS_WINDOW = re.compile(r"(?i)\w*(?:window|win|kernel|filter|mask|taps|diameter)\w*|k_?(?:size|width|w)")
FITS = 4.0
NAMED = 2.0


def elements_of(pointer: KernelParameter, role: Parameter, argument: SeenArgument | None) -> int:
    """Elements of the array that was handed in, 0 where that is not known."""
    if argument is None or not argument.buffer_bytes:
        return 0
    return (argument.buffer_bytes - argument.offset_bytes) // SIZES_OF_TYPES.get(pointer.dtype or role.dtype, 4)


def agreeing(
    orders: Sequence[tuple[str, ...]], values: Sequence[int | None], arrays: Sequence[tuple[Parameter, int]]
) -> list[tuple[str, ...]]:
    """The `orders` (a role for each number) in which every size has one value, and the arrays their lengths."""
    return [order for order in orders if _sizes(order, values) is not None and _fits(order, values, arrays) >= 0]


def by_value(
    scalars: Sequence[KernelParameter],
    values: Sequence[int | float | None],
    arrays: Sequence[tuple[Parameter, int]],
    lab: Lab,
) -> list[tuple[str, ...]]:
    """Roles for numbers, likeliest first: a size, a product of sizes ("=n * n"), or as it stands ("=16").

    Empty where no choice of sizes gives the arrays the lengths that they have.
    """
    sizes = [p for p in lab.parameters if p.is_size]
    if len(scalars) > MAX_SCALARS or not sizes:
        return []
    places = range(len(scalars))
    whole = [index for index in places if isinstance(values[index], int)]
    scores: dict[tuple[str, ...], float] = {}
    for chosen in product([None, *whole], repeat=len(sizes)):
        taken = [index for index in chosen if index is not None]
        if len(set(taken)) < len(taken):
            continue
        numbers = {size.name: int(values[i] or 0) for size, i in zip(sizes, chosen, strict=True) if i is not None}
        score = sum(
            NAMED - 0.1 * min(rank, 10)
            for size, i in zip(sizes, chosen, strict=True)
            if i is not None and (rank := size.rank_of(scalars[i].name)) is not None
        )
        checked = [(p, n) for p, n in arrays if n and all(axis in numbers for axis in p.shape if isinstance(axis, str))]
        if any(length_of(p, numbers) != n for p, n in checked):
            continue
        # Nobody names these, so they are what the lab takes them for.
        numbers = {s.name: s.usual for s in sizes if s.usual is not None} | numbers
        score += FITS * len(checked)
        if arrays and any(n for _p, n in arrays) and not checked:
            score -= FITS
        roles = []
        for index in places:
            own = next((s.name for s, i in zip(sizes, chosen, strict=True) if i == index), None)
            roles.append(own or _other(scalars[index], values[index], numbers, sizes, arrays))
            score -= 0.5 * (own is None and roles[-1].startswith("="))
        key = tuple(roles)
        scores[key] = max(score, scores.get(key, score))
    ranked = sorted(scores, key=lambda roles: -scores[roles])
    return [roles for roles in ranked if scores[roles] >= scores[ranked[0]] - 1 and scores[roles] > 0]


def _other(
    scalar: KernelParameter,
    value: int | float | None,
    known_sizes: Mapping[str, int],
    sizes: Sequence[Parameter],
    arrays: Sequence[tuple[Parameter, int]],
) -> str:
    """Return the role of a number that is none of the sizes chosen: a size again, a length, or its value."""
    same = [size for size in sizes if known_sizes.get(size.name) == value]
    if same:
        return min(same, key=lambda size: (rank := size.rank_of(scalar.name)) is None or rank > 100).name
    for parameter, _count in arrays:
        is_known = len(parameter.shape) > 1 and all(a in known_sizes for a in parameter.shape if isinstance(a, str))
        if is_known and length_of(parameter, known_sizes) == value:
            return "=" + " * ".join(str(axis) for axis in parameter.shape)
    # A window is as wide as follows from its radius; a factor may follow from any size.
    for size in sizes:
        if known_sizes.get(size.name) == size.usual is not None and _is_window(scalar, value):
            return f"={window_of(size)}"
        texts = [window_of(size)] if size.usual is not None else []
        if isinstance(value, float):
            texts += [f"1 / (2 * {size.name} + 1)", f"1 / {size.name}", size.name]
        for text in texts:
            if size.name in known_sizes and known_sizes[size.name] > 0 and value is not None:
                computed = formula.evaluate(text, known_sizes)
                if abs(computed - value) <= 1e-6 * abs(computed):
                    return f"={text}"
    return f"={value}"


def window_of(radius: Parameter) -> str:
    return f"2 * {radius.name} + 1"


def _is_window(scalar: KernelParameter, value: int | float | None) -> bool:
    return IS_WINDOW.fullmatch(scalar.name) is not None and isinstance(value, int) and value > 2 and value % 2 == 1


def sizes_in(roles: Sequence[str], lab: Lab) -> set[str]:
    """The sizes that parameters of these roles are told, be it in a formula."""
    formulas = [role[1:] for role in roles if role.startswith("=")]
    named = set(roles).union(*(formula.names_of(text) for text in formulas))
    return named & set(lab.size_names)


def _sizes(order: Sequence[str], values: Sequence[int | float | None]) -> dict[str, int] | None:
    sizes: dict[str, int] = {}
    for role, value in zip(order, values, strict=True):
        if isinstance(value, int) and sizes.setdefault(role, value) != value:
            return None
    return sizes


def _fits(order: Sequence[str], values: Sequence[int | float | None], arrays: Sequence[tuple[Parameter, int]]) -> int:
    """How many arrays have the lengths that follow from the sizes; -1 where one cannot have its length, whatever the
    sizes are that nobody hands in: 16000 elements are no 1000 by 1000 matrices."""
    sizes = _sizes(order, values) or {}
    possible = [_is_possible(p, n, sizes) for p, n in arrays if n and any(a in sizes for a in p.shape)]
    complete = [p for p, n in arrays if n and all(a in sizes for a in p.shape if isinstance(a, str))]
    return len(complete) if all(possible) else -1


def _is_possible(parameter: Parameter, elements: int, sizes: Mapping[str, int]) -> bool:
    """Whether an array may have so many elements at the sizes known, whatever the others are."""
    unknown = [axis for axis in parameter.shape if isinstance(axis, str) and axis not in sizes]
    rest = prod(sizes[axis] if isinstance(axis, str) else axis for axis in parameter.shape if axis not in unknown)
    if not unknown:
        return rest == elements
    if rest <= 0 or elements % rest:
        return False
    left = elements // rest
    return len(set(unknown)) > 1 or round(left ** (1 / len(unknown))) ** len(unknown) == left


MAX_POINTERS = 5
MAX_READINGS = 6
# Readings whose scores are this close are told apart by trying them out, not by name.
DOUBT = 1.0
WIDTH = re.compile(r"(?i)w|width|n?_?cols?|columns?|stride|pitch|ld")
HEIGHT = re.compile(r"(?i)h|height|n?_?rows?")
_OF_ROWS = re.compile(r"\*\s*(?:(?:const|__restrict__|__restrict|restrict)\b\s*)*\*")
_INTEGERS = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}


class Unbindable(Exception):
    """The kernel's parameters cannot be the lab's; `detail` and `data` say why."""

    def __init__(self, detail: str, **data: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.data = data


def role_assignments(
    kernel: Kernel,
    lab: Lab,
    arguments: Sequence[SeenArgument],
    others: Sequence[Sequence[SeenArgument]] = (),
    offset: str = "",
) -> list[tuple[str, ...]]:
    """Roles for the parameters of `kernel`, likeliest first.

    Pointers: what is const or only read is an input, what is written an output; then names; then inputs come first.
    Sizes: by name; where the lab has two and the kernel takes two, the other order as well, unless it names them as the
    task does.  Values that were seen decide first: no size has two, and arrays have the lengths that follow.

    arguments: arguments of a launch that was seen.  others: of the same at other sizes.
    offset: the number that tells where a part of the arrays begins, which is 0 for all of them; "" for none.

    Raises Unbindable: the number of pointers is not the lab's ("pointers"; "in_place": the output is an input, too), a
      parameter is no plain number ("parameter"), an array one of pointers ("rows"), or what is to be used with itself
      are two arrays ("two_inputs").
    """
    arrays = [p for p in lab.parameters if p.is_array]
    sizes = [p for p in lab.parameters if p.is_size]
    pointers = [p for p in kernel.parameters if p.is_pointer]
    scalars = [p for p in kernel.parameters if not p.is_pointer and p.name != offset]
    by_name, *elsewhere = ({a.name: a for a in launch if a.name} for launch in (arguments, *others))
    for scalar in scalars:
        value = by_name[scalar.name].value if scalar.name in by_name else None
        if (scalar.dtype not in _INTEGERS or not sizes) and (value is None or scalar.dtype is None):
            raise Unbindable("parameter", parameter=scalar.name, type=scalar.type_text.strip())
    for pointer in pointers:
        # `float a[][N]` is one pointer to numbers, whatever its type is written as.
        if _OF_ROWS.search(pointer.type_text) and pointer.dtype is None and pointer.span == 1:
            raise Unbindable("rows", parameter=pointer.name, type=pointer.type_text.strip())
    arrays = _with_second_input(pointers, arrays, by_name)
    if len(pointers) != len(arrays) or len(pointers) > MAX_POINTERS:
        own = ", ".join(pointer.name for pointer in pointers)
        in_place = [p.name for p in pointers if p.is_read and p.is_written]
        if len(pointers) == len(arrays) - 1 and len(in_place) == 1 and sum(p.is_written for p in pointers) == 1:
            raise Unbindable("in_place", expected=len(arrays), own=in_place[0])
        raise Unbindable("pointers", expected=len(arrays), got=len(pointers), own=own)
    readings = []
    for pointer_roles in _pointer_orders(pointers, arrays):
        numbers = _Numbers(scalars, sizes, pointers, pointer_roles, by_name, lab, elsewhere)
        for size_roles in _size_roles(numbers):
            arrays_left, sizes_left = iter(pointer_roles), iter(size_roles)
            roles = tuple(
                "=0" if p.name == offset else next(arrays_left if p.is_pointer else sizes_left)
                for p in kernel.parameters
            )
            readings.append(_of_structs(kernel, roles, lab))
    return list(dict.fromkeys(readings))[:MAX_READINGS]


def _of_structs(kernel: Kernel, roles: tuple[str, ...], lab: Lab) -> tuple[str, ...]:
    """`roles` with the height and the width of each matrix that was a struct after that matrix's own shape."""
    shapes = {
        p.name: lab.parameter(role).shape for p, role in zip(kernel.parameters, roles, strict=True) if p.is_pointer
    }
    own_roles = []
    for parameter, role in zip(kernel.parameters, roles, strict=True):
        shape = shapes.get(parameter.owner, ())
        plain = len(shape) == 2 and all(axis in lab.size_names for axis in shape)
        if plain and WIDTH.fullmatch(parameter.name):
            role = str(shape[1])
        elif plain and HEIGHT.fullmatch(parameter.name):
            role = str(shape[0])
        own_roles.append(role)
    return tuple(own_roles)


def _with_second_input(
    pointers: Sequence[KernelParameter], arrays: list[Parameter], arguments: Mapping[str, SeenArgument]
) -> list[Parameter]:
    """The lab's arrays, its only input twice for a kernel that takes two: a product where a square is asked.

    Raises Unbindable: the program was seen to hand in different data for the two ("two_inputs").
    """
    inputs = [array for array in arrays if array.is_input]
    if len(pointers) != len(arrays) + 1 or len(inputs) != 1 or not inputs[0].twice:
        return arrays
    read = [p for p in pointers if not p.is_written]
    sizes = {arguments[p.name].buffer_bytes for p in read if p.name in arguments}
    if len(read) != 2 or len(sizes) > 1 or len({p.dtype for p in read}) > 1:
        return arrays
    digests = [arguments[p.name].digest for p in read if p.name in arguments]
    if len(digests) == 2 and all(digests) and digests[0] != digests[1]:
        raise Unbindable("two_inputs", first=read[0].name, second=read[1].name)
    index = arrays.index(inputs[0])
    return [*arrays[: index + 1], inputs[0], *arrays[index + 1 :]]


@dataclass(frozen=True)
class _Numbers:
    """The numbers that a kernel takes, whose arrays have these roles, and what they were in a launch that was seen."""

    scalars: Sequence[KernelParameter]
    sizes: Sequence[Parameter]
    pointers: Sequence[KernelParameter]
    pointer_roles: Sequence[str]
    arguments: Mapping[str, SeenArgument]
    lab: Lab
    others: Sequence[Mapping[str, SeenArgument]] = ()
    """Arguments of launches at other sizes."""

    @cached_property
    def values(self) -> list[int | float | None]:
        return [self.arguments[s.name].value if s.name in self.arguments else None for s in self.scalars]

    @cached_property
    def whole(self) -> list[int | None]:
        return [value if isinstance(value, int) else None for value in self.values]

    @cached_property
    def lengths(self) -> list[tuple[Parameter, int]]:
        """Each array's role and number of elements, 0 where that is not known."""
        roles = [self.lab.parameter(role) for role in self.pointer_roles]
        pairs = zip(self.pointers, roles, strict=True)
        return [(role, elements_of(p, role, self.arguments.get(p.name))) for p, role in pairs]

    @cached_property
    def by_name(self) -> list[tuple[str, ...]]:
        are_whole = all(scalar.dtype in _INTEGERS for scalar in self.scalars)
        return _size_orders(self.scalars, self.sizes) if are_whole and self.sizes else []

    @cached_property
    def likeliest(self) -> list[tuple[str, ...]]:
        return self.by_name if len(self.scalars) >= len(self.sizes) else self.by_name[:1]

    @cached_property
    def has_pitch(self) -> bool:
        """Whether two numbers are the side of a square and the length of its rows in memory, no shorter than that."""
        if len(self.scalars) != 2 or len(self.lab.equal_sizes) != 2:
            return False
        are_pitches = [IS_PITCH.fullmatch(scalar.name) is not None for scalar in self.scalars]
        if sum(are_pitches) != 1:
            return False
        pitch, side = self.values[are_pitches.index(True)], self.values[are_pitches.index(False)]
        if pitch is None or side is None:
            return True
        # A number of bytes is none of elements that the arrays have room for.
        return pitch >= side and all(pitch * side <= elements for _role, elements in self.lengths if elements)

    @cached_property
    def agreed(self) -> list[tuple[str, ...]]:
        """The orders by name that the values allow."""
        agreed = agreeing(self.by_name, self.whole, self.lengths)
        if len(self.scalars) < len(self.sizes):
            # Which of the sizes is left to constants, values alone do not tell: the likeliest that they allow.
            # A size that is no side of an array, as a radius, none of them speaks for.
            sides = {side for p, elements in self.lengths if elements for side in p.shape}
            agreed = [order for order in agreed if order == self.by_name[0] or sides.intersection(order)][:1]
        return agreed

    @cached_property
    def by_value(self) -> list[tuple[str, ...]]:
        return by_value(self.scalars, self.values, self.lengths, self.lab)

    @property
    def has_window(self) -> bool:
        """Whether one that would be a radius, though not called so, is as large as the usual window, or called one."""
        return any(
            (size := self.lab.parameter(role)).usual is not None
            and (value == 2 * size.usual + 1 or _is_window(scalar, value))
            and size.rank_of(scalar.name) is None
            for order in self.agreed
            for scalar, role, value in zip(self.scalars, order, self.whole, strict=True)
        )


@dataclass(frozen=True, slots=True)
class _Rule:
    """roles: for each number, likeliest first; None where the rule says nothing, and the next one is asked.

    reason: why the rule is there, and at this place.  example: parameters and values that it decides.
    """

    roles: Callable[[_Numbers], list[tuple[str, ...]] | None]
    reason: str
    example: str


_RULES = (
    _Rule(
        lambda n: n.likeliest if all(value is None for value in n.values) and not n.has_pitch else None,
        "Where no launch was seen, names are all there is.",
        "(int rows, int cols)",
    ),
    _Rule(
        lambda n: [(n.sizes[0].name,) * 2] if n.by_name and n.has_pitch else None,
        "Rows of a square lie one side apart, as graded arrays have no gaps.",
        "(int n, int pitch) with 1000, 1024",
    ),
    _Rule(
        lambda n: pitched(n.scalars, n.pointers, n.pointer_roles, [n.arguments, *n.others], n.lab) or None,
        "Memory that is as long as a number times the rows tells that this number is a pitch.",
        "(int w, int h, size_t pitch) with 500, 300, 2048, arrays of 300 * 2048 bytes",
    ),
    _Rule(
        lambda n: (n.by_value or n.agreed) if n.has_window else None,
        "A window has a name like a radius', and is 2 * radius + 1.",
        "(int n, int window) with 10000, 11",
    ),
    _Rule(lambda n: n.agreed or None, "Names, where the lengths of arrays allow them.", "(int cols, int rows)"),
    _Rule(
        lambda n: n.by_value or None,
        "Values, where names contradict them or say nothing.",
        "(int a, int b) with 300, 500, arrays of 150000 elements",
    ),
    _Rule(lambda n: n.likeliest, "Values that fit nothing are no reason against the names.", "(int n) with 0"),
)
"""Which number is which size, in order; the first that says something decides."""


def _size_roles(numbers: _Numbers) -> list[tuple[str, ...]]:
    """Roles for the numbers: by name as far as that agrees with the values that were seen, else by value."""
    scalars = numbers.scalars
    names = list(dict.fromkeys(scalar.name for scalar in scalars))
    if len(names) < len(scalars) and len({numbers.lab.parameter(role).shape for role in numbers.pointer_roles}) == 1:
        # Members of one name of structs for arrays of one shape are one size.
        each = [next(scalar for scalar in scalars if scalar.name == name) for name in names]
        orders = _size_roles(replace(numbers, scalars=each))
        return [tuple(order[names.index(scalar.name)] for scalar in scalars) for order in orders]
    return next(roles for rule in _RULES if (roles := rule.roles(numbers)) is not None)


def _pointer_orders(pointers: Sequence[KernelParameter], arrays: Sequence[Parameter]) -> list[tuple[str, ...]]:
    scored = []
    for order in permutations(range(len(arrays))):
        score = sum(_pointer_score(p, arrays[index]) for p, index in zip(pointers, order, strict=True))
        inversions = sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
        scored.append((score - 0.5 * inversions, tuple(arrays[index].name for index in order)))
    best = max(score for score, _order in scored)
    ranked = sorted(scored, key=lambda pair: -pair[0])
    return list(dict.fromkeys(order for score, order in ranked if score >= best - DOUBT))


_OF_POINTERS: tuple[tuple[Callable[[KernelParameter], bool], float, float, str], ...] = (
    (lambda p: p.is_const, 10, -20, "`const float *in` is never written."),
    (lambda p: p.is_written, -10, 10, "What `out[i] = …` writes is asked for, unless it is declared otherwise."),
    (lambda p: p.is_read and not p.is_written, 5, -10, "An output that is only read is never made."),
)
"""What a parameter shows, and what that counts for its being an input, and an output; why."""


def _pointer_score(pointer: KernelParameter, parameter: Parameter) -> float:
    score = sum(
        output if parameter.is_output else given for holds, given, output, _why in _OF_POINTERS if holds(pointer)
    )
    return score + (4.0 if parameter.rank_of(pointer.name) is not None else 0.0)


def _size_orders(scalars: Sequence[KernelParameter], sizes: Sequence[Parameter]) -> list[tuple[str, ...]]:
    if not scalars:
        return [()]
    if len(sizes) == 1:
        return [(sizes[0].name,) * len(scalars)]
    ranks = [[size.rank_of(scalar.name) for size in sizes] for scalar in scalars]
    if len(scalars) > len(sizes):
        # A size for each side of each matrix, or the row's length beside the sizes (a pitch): what no name tells may be
        # any of them, the first one likeliest.
        choices = [
            [sizes[_best(row)].name] if any(r is not None for r in row) else [s.name for s in sizes] for row in ranks
        ]
        return list(islice(product(*choices), MAX_READINGS))
    orders = []
    for order in permutations(range(len(sizes)), len(scalars)):
        name_ranks = [ranks[i][index] for i, index in enumerate(order)]
        # Names that match count most, better patterns break ties, the lab's order comes last.
        score = (-sum(rank is not None for rank in name_ranks), sum(rank or 0 for rank in name_ranks), order)
        orders.append((score, tuple(sizes[index].name for index in order)))
    ranked = [order for _score, order in sorted(orders)]
    is_named = all(scalar.name.lower() == role for scalar, role in zip(scalars, ranked[0], strict=True))
    if is_named and len(scalars) == len(sizes):
        # The task's own names mean what the task says: the other order is a mistake, not another meaning.
        return ranked[:1]
    return ranked


def _best(ranks: Sequence[int | None]) -> int:
    return min(range(len(ranks)), key=lambda i: (ranks[i] is None, ranks[i] or 0, i))
