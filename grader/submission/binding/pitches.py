"""Numbers that say how far apart rows lie: pitches in bytes, leading dimensions in elements.

`cudaMallocPitch` gives rows that begin at whole lines of memory, and a program may round them up itself.  Which number
is the distance of which array's rows is seen in how much memory each array has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import prod

from grader.lab.records import Lab, Parameter
from grader.submission.cpp.constants import SIZES_OF_TYPES
from grader.submission.kernels.records import KernelParameter, SeenArgument

MAX_PITCHED = 8
"""Numbers of a kernel that is handed how far apart rows lie."""
MAX_PITCHED_ORDERS = 24
IS_PITCH = re.compile(
    r"(?i:\w*(?:pitch|stride)\w*|ld(?:_?[a-z]{1,6})?|\w+_ld|lead(?:ing)?_?dim\w*|(?:row|line)_?(?:step|len(?:gth)?))"
    r"|\w*[a-z]L[dD]"
)


def length_of(parameter: Parameter, sizes: Mapping[str, int]) -> int:
    """Elements of an array at these sizes."""
    return prod(sizes[axis] if isinstance(axis, str) else axis for axis in parameter.shape)


@dataclass(frozen=True, slots=True)
class _Rows:
    """An array, by its place, whose rows may lie further apart than they are long.

    role: what the distance of rows is in elements without gaps, "cols".  parts: how many such rows the array has.
    """

    array: int
    parts: int
    role: str
    row_bytes: int
    item_bytes: int
    buffer_bytes: int

    @property
    def is_divided(self) -> bool:
        return self.buffer_bytes % self.parts == 0 and self.buffer_bytes // self.parts >= self.row_bytes

    def role_of(self, value: int | float | None, *, is_named: bool) -> str | None:
        """What a number is to these rows: their distance in elements or in bytes, None for neither.

        Where nobody calls it a pitch, only what the array was made for: longer than the rows, or a number of bytes.
        """
        in_bytes = f"={self.role} * {self.item_bytes}" if self.role != "1" else f"={self.item_bytes}"
        if self.is_divided:
            apart = self.buffer_bytes // self.parts
            if value == apart and self.item_bytes > 1:
                return in_bytes
            if value == apart / self.item_bytes and (is_named or apart > self.row_bytes):
                return f"={self.role}"
        if not is_named or not isinstance(value, int):
            return None
        if self.row_bytes <= value * self.item_bytes and self._has_room(value * self.item_bytes):
            return f"={self.role}"
        return in_bytes if self.row_bytes <= value and self._has_room(value) else None

    def _has_room(self, apart: int) -> bool:
        """Whether the array was made for rows so far apart, be it for some more of them, as in whole tiles."""
        return self.buffer_bytes % apart == 0 and self.parts <= self.buffer_bytes // apart < 2 * self.parts


def pitched(
    scalars: Sequence[KernelParameter],
    pointers: Sequence[KernelParameter],
    pointer_roles: Sequence[str],
    launches: Sequence[Mapping[str, SeenArgument]],
    lab: Lab,
) -> list[tuple[str, ...]]:
    """Roles for numbers some of which are how far apart rows lie, "=cols * 4" in bytes and "=cols" in elements.

    Only where each array was seen to have room for so many rows so far apart.  Graded arrays have no gaps between rows.
    Where a number may be the distance of rows of several arrays, names tell which, then the order, and what both leave
    open the other launches.

    launches: arguments by name, first of the launch that the kernel is graded by.
    """
    readings = _pitched(scalars, pointers, pointer_roles, launches[0], lab) if launches else []
    for launch in launches[1:]:
        allowed = set(_pitched(scalars, pointers, pointer_roles, launch, lab, is_all=True)) if len(readings) > 1 else ()
        readings = [reading for reading in readings if reading in allowed] or readings
    best = min((_unpaired(r, scalars, pointers, pointer_roles, lab) for r in readings), default=(0, 0))
    ranked = sorted(readings, key=lambda reading: _unpaired(reading, scalars, pointers, pointer_roles, lab))
    return [r for r in ranked if best[0] or _unpaired(r, scalars, pointers, pointer_roles, lab) == best]


def _pitched(
    scalars: Sequence[KernelParameter],
    pointers: Sequence[KernelParameter],
    pointer_roles: Sequence[str],
    arguments: Mapping[str, SeenArgument],
    lab: Lab,
    *,
    is_all: bool = False,
) -> list[tuple[str, ...]]:
    """What one launch allows; is_all: of sizes also what their names speak against."""
    arrays = [
        (lab.parameter(role), arguments[p.name].buffer_bytes - arguments[p.name].offset_bytes, item)
        for p, role in zip(pointers, pointer_roles, strict=True)
        if p.name in arguments and arguments[p.name].buffer_bytes and (item := SIZES_OF_TYPES.get(p.dtype or "", 0))
    ]
    values = [arguments[s.name].value if s.name in arguments else None for s in scalars]
    names = sorted({axis for p, _size, _item in arrays for axis in p.shape if isinstance(axis, str)})
    if not names or len(arrays) < len(pointers) or len(scalars) > MAX_PITCHED:
        return []
    ranked: list[tuple[int, tuple[str, ...]]] = []
    for numbered in _choices(names, len(scalars), lab):
        numbers = {name: values[index] for name, index in numbered.items()}
        sizes = {name: value for name, value in numbers.items() if isinstance(value, int) and value > 0}
        if len(sizes) < len(names) or any(length_of(p, sizes) * item > size for p, size, item in arrays):
            continue
        of_arrays = [_rows_of(index, *array, sizes) for index, array in enumerate(arrays)]
        roles: list[list[str]] = []
        explained: set[int] = set()
        is_any = False
        for index, (scalar, value) in enumerate(zip(scalars, values, strict=True)):
            if index in numbered.values():
                roles.append([next(name for name, own in numbered.items() if own == index)])
                continue
            is_named = IS_PITCH.fullmatch(scalar.name) is not None
            own = [p.name for p in lab.parameters if p.is_size and p.rank_of(scalar.name) is not None]
            # What is called as a size is one.
            candidates = [row for rows in of_arrays for row in rows] if is_named or not own else []
            fitting = [(row.array, role) for row in candidates if (role := row.role_of(value, is_named=is_named))]
            explained.update(array for array, _role in fitting)
            is_any = is_any or bool(fitting)
            again = [name for name in own if sizes.get(name, value) == value]
            roles.append(list(dict.fromkeys(role for _array, role in fitting)) or again[:1])
        gaps = {index for index, (p, size, item) in enumerate(arrays) if size != length_of(p, sizes) * item}
        if is_any and all(roles) and gaps <= explained:
            unnamed = [n for n, i in numbered.items() if lab.parameter(n).rank_of(scalars[i].name) is None]
            as_sizes = sum(IS_PITCH.fullmatch(scalars[i].name) is not None for i in numbered.values())
            is_square = len(set(numbered.values())) < len(names)
            rank = 2 * (as_sizes + len(unnamed) * (not is_square)) + is_square
            ranked += [(rank, order) for order in islice(product(*roles), MAX_PITCHED_ORDERS)]
    least = min(ranked, default=(0, ()))[0]
    return list(dict.fromkeys(roles for rank, roles in sorted(ranked) if is_all or rank == least))


def _choices(names: Sequence[str], count: int, lab: Lab) -> Iterator[dict[str, int]]:
    """Yield which of so many numbers is which size, each its own; then one for both sides of a square."""
    for chosen in permutations(range(count), len(names)):
        yield dict(zip(names, chosen, strict=True))
    if len(lab.equal_sizes) == 2 and set(lab.equal_sizes) <= set(names):
        first, second = sorted(lab.equal_sizes, key=lab.size_names.index)
        rest = [name for name in names if name != second]
        for chosen in permutations(range(count), len(rest)):
            numbered = dict(zip(rest, chosen, strict=True))
            yield numbered | {second: numbered[first]}


def _rows_of(
    array: int, parameter: Parameter, buffer_bytes: int, item_bytes: int, sizes: Mapping[str, int]
) -> list[_Rows]:
    """The rows of an array, and of one with three axes its matrices, each of which may lie apart; of a vector its
    elements."""
    shape = parameter.shape
    found = []
    for axes in range(1, max(len(shape), 2)):
        outer, inner = shape[:axes], shape[axes:]
        parts = prod(sizes[axis] if isinstance(axis, str) else axis for axis in outer)
        row = prod(sizes[axis] if isinstance(axis, str) else axis for axis in inner)
        role = " * ".join(str(axis) for axis in inner) or "1"
        found.append(_Rows(array, parts, role, row * item_bytes, item_bytes, buffer_bytes))
    return found


_OF_PITCH = re.compile(
    r"(?i)pitch|strides?|lead(?:ing)?_?dim(?:ension)?|(?<![a-z])ld|ld(?![a-z])|(?<=[a-z])Ld|steps?|bytes|rows?|_"
)


def _unpaired(
    roles: Sequence[str],
    scalars: Sequence[KernelParameter],
    pointers: Sequence[KernelParameter],
    pointer_roles: Sequence[str],
    lab: Lab,
) -> tuple[int, int]:
    """How many pitches are not called after the array whose rows lie so far apart, and how many do not stand in the
    order of the arrays."""
    pitches = [(s.name, role) for s, role in zip(scalars, roles, strict=True) if role.startswith("=")]
    unnamed = disordered = 0
    for place, (name, role) in enumerate(pitches):
        rest = _OF_PITCH.sub("", name).lower()
        called = {
            index
            for index, (p, of_lab) in enumerate(zip(pointers, pointer_roles, strict=True))
            if rest and (p.name.lower().strip("_").startswith(rest) or lab.parameter(of_lab).rank_of(rest) is not None)
        }
        own = {
            index
            for index, of_lab in enumerate(pointer_roles)
            if role.removeprefix("=").partition(" * ")[0] in lab.parameter(of_lab).shape[1:]
        }
        unnamed += len(called) != 1 or not called & own
        disordered += len(pitches) == len(pointers) and place not in own
    return unnamed, disordered
