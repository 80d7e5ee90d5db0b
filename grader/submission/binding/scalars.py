"""Which of the lab's sizes each number is that a kernel takes, by the values that the program was seen to hand in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from math import prod

from grader.lab import formula
from grader.lab.records import Lab, Parameter
from grader.submission.cpp.nodes import SIZES_OF_TYPES
from grader.submission.kernels.records import KernelParameter
from grader.submission.observed import SeenArgument

MAX_SCALARS = 8
MAX_PITCHED = 6
"""Numbers of a kernel that is handed how far apart rows lie."""
IS_PITCH = re.compile(r"(?i)\w*(?:pitch|stride)\w*|ld[a-z]?|lead(?:ing)?_?dim\w*")
FITS = 4.0
NAMED = 2.0


def elements_of(pointer: KernelParameter, role: Parameter, seen: SeenArgument | None) -> int:
    """Elements of the array that was handed in, 0 where that is not known."""
    if seen is None or not seen.buffer_bytes:
        return 0
    return (seen.buffer_bytes - seen.offset_bytes) // SIZES_OF_TYPES.get(pointer.dtype or role.dtype, 4)


def agreeing(
    orders: Sequence[tuple[str, ...]], values: Sequence[int | None], arrays: Sequence[tuple[Parameter, int]]
) -> list[tuple[str, ...]]:
    """Those of `orders` (a role for each number) in which every size has one value, and the arrays their lengths."""
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
    found: dict[tuple[str, ...], float] = {}
    for chosen in product([None, *whole], repeat=len(sizes)):
        taken = [index for index in chosen if index is not None]
        if len(set(taken)) < len(taken):
            continue
        known = {size.name: int(values[i] or 0) for size, i in zip(sizes, chosen, strict=True) if i is not None}
        score = sum(
            NAMED - 0.1 * min(rank, 10)
            for size, i in zip(sizes, chosen, strict=True)
            if i is not None and (rank := size.rank_of(scalars[i].name)) is not None
        )
        checked = [(p, n) for p, n in arrays if n and all(axis in known for axis in p.shape if isinstance(axis, str))]
        if any(_length(p, known) != n for p, n in checked):
            continue
        # Nobody names these, so they are what the lab takes them for.
        known = {s.name: s.usual for s in sizes if s.usual is not None} | known
        score += FITS * len(checked)
        if arrays and any(n for _p, n in arrays) and not checked:
            score -= FITS
        roles = []
        for index in places:
            own = next((s.name for s, i in zip(sizes, chosen, strict=True) if i == index), None)
            roles.append(own or _other(scalars[index], values[index], known, sizes, arrays))
            score -= 0.5 * (own is None and roles[-1].startswith("="))
        key = tuple(roles)
        found[key] = max(score, found.get(key, score))
    ranked = sorted(found, key=lambda roles: -found[roles])
    return [roles for roles in ranked if found[roles] >= found[ranked[0]] - 1 and found[roles] > 0]


def _other(
    scalar: KernelParameter,
    value: int | float | None,
    known: Mapping[str, int],
    sizes: Sequence[Parameter],
    arrays: Sequence[tuple[Parameter, int]],
) -> str:
    """What a number is that is none of the sizes chosen: one of them once more, a length, or what it is."""
    same = [size for size in sizes if known.get(size.name) == value]
    if same:
        return min(same, key=lambda size: (rank := size.rank_of(scalar.name)) is None or rank > 100).name
    for parameter, _count in arrays:
        is_known = len(parameter.shape) > 1 and all(a in known for a in parameter.shape if isinstance(a, str))
        if is_known and _length(parameter, known) == value:
            return "=" + " * ".join(str(axis) for axis in parameter.shape)
    # A window is as wide as follows from its radius; a factor may follow from any size.
    for size in sizes:
        texts = [f"2 * {size.name} + 1"] if size.usual is not None else []
        if isinstance(value, float):
            texts += [f"1 / (2 * {size.name} + 1)", f"1 / {size.name}", size.name]
        for text in texts:
            if size.name in known and known[size.name] > 0 and value is not None:
                made = formula.evaluate(text, known)
                if abs(made - value) <= 1e-6 * abs(made):
                    return f"={text}"
    return f"={value}"


def pitched(
    scalars: Sequence[KernelParameter],
    pointers: Sequence[KernelParameter],
    pointer_roles: Sequence[str],
    seen: Mapping[str, SeenArgument],
    lab: Lab,
) -> list[tuple[str, ...]]:
    """Roles for numbers some of which are how far apart rows lie, "=cols * 4" in bytes and "=cols" in elements.

    Only where each matrix was seen to be as large as such a pitch times its number of rows, and its rows are no longer
    than that.  Graded arrays have no gaps between rows.
    """
    arrays = [
        (
            lab.parameter(role),
            seen[p.name].buffer_bytes - seen[p.name].offset_bytes,
            SIZES_OF_TYPES.get(p.dtype or "", 0),
        )
        for p, role in zip(pointers, pointer_roles, strict=True)
        if p.name in seen and seen[p.name].buffer_bytes
    ]
    matrices = [(p.shape, size, item) for p, size, item in arrays if len(p.shape) == 2 and item]
    values = [seen[s.name].value if s.name in seen else None for s in scalars]
    names = sorted({axis for shape, _size, _item in matrices for axis in shape if isinstance(axis, str)})
    if not names or len(matrices) < len(pointers) or len(scalars) > MAX_PITCHED or len(scalars) <= len(names):
        return []
    found: list[tuple[int, tuple[str, ...]]] = []
    for chosen in permutations(range(len(scalars)), len(names)):
        known = {name: values[index] for name, index in zip(names, chosen, strict=True)}
        roles: dict[int, str] = {index: name for name, index in zip(names, chosen, strict=True)}
        for (rows, columns), size, item in matrices:
            high, wide = known.get(str(rows)), known.get(str(columns))
            if not isinstance(high, int) or not isinstance(wide, int) or high <= 0 or size % high:
                break
            pitch = size // high
            for index in range(len(scalars)):
                if index in chosen or pitch < wide * item:
                    continue
                if values[index] == pitch:
                    roles.setdefault(index, f"={columns} * {item}")
                elif values[index] == pitch // item and IS_PITCH.fullmatch(scalars[index].name):
                    roles.setdefault(index, f"={columns}")
            if size != high * wide * item and not any(
                values[i] in (pitch, pitch // item) for i in roles if i not in chosen
            ):
                break
        else:
            if len(roles) == len(scalars):
                rank = sum(
                    lab.parameter(n).rank_of(scalars[i].name) is None for n, i in zip(names, chosen, strict=True)
                )
                found.append((rank, tuple(roles[i] for i in range(len(scalars)))))
    return [roles for rank, roles in sorted(found) if rank == min(found)[0]]


def sizes_in(roles: Sequence[str], lab: Lab) -> set[str]:
    """The sizes that parameters of these roles are told, be it in a formula."""
    formulas = [role[1:] for role in roles if role.startswith("=")]
    named = set(roles).union(*(formula.names_of(text) for text in formulas))
    return named & set(lab.size_names)


def _length(parameter: Parameter, known: Mapping[str, int]) -> int:
    return prod(known[axis] if isinstance(axis, str) else axis for axis in parameter.shape)


def _sizes(order: Sequence[str], values: Sequence[int | float | None]) -> dict[str, int] | None:
    found: dict[str, int] = {}
    for role, value in zip(order, values, strict=True):
        if isinstance(value, int) and found.setdefault(role, value) != value:
            return None
    return found


def _fits(order: Sequence[str], values: Sequence[int | float | None], arrays: Sequence[tuple[Parameter, int]]) -> int:
    """How many arrays have the lengths that follow from the sizes; -1 where one cannot have its length, whatever the
    sizes are that nobody hands in: 16000 elements are no 1000 by 1000 matrices."""
    known = _sizes(order, values) or {}
    possible = [_is_possible(p, n, known) for p, n in arrays if n and any(a in known for a in p.shape)]
    complete = [p for p, n in arrays if n and all(a in known for a in p.shape if isinstance(a, str))]
    return len(complete) if all(possible) else -1


def _is_possible(parameter: Parameter, elements: int, known: Mapping[str, int]) -> bool:
    """Whether an array may have so many elements at the sizes known, whatever the others are."""
    unknown = [axis for axis in parameter.shape if isinstance(axis, str) and axis not in known]
    rest = prod(known[axis] if isinstance(axis, str) else axis for axis in parameter.shape if axis not in unknown)
    if not unknown:
        return rest == elements
    if rest <= 0 or elements % rest:
        return False
    left = elements // rest
    return len(set(unknown)) > 1 or round(left ** (1 / len(unknown))) ** len(unknown) == left
