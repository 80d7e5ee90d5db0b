"""What may stand in a file that a program reads: numbers of ours in each of the formats, and which were copied."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from grader.lab.file_formats import numbers_text

Array = npt.NDArray[np.generic]
Values = Mapping[str, int]
Formula = tuple[str, ...]

MOST_NUMBERS = 1 << 15
ENDINGS = {"bin": ".bin", "text": ".txt", "csv": ".csv", "pgm": ".pgm", "ppm": ".ppm"}
"""Of files, by format."""
_SEEN_AS = ("float32", "int32", "float64", "uint8", "int64", "uint32")


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands in a file.  header: how many sizes stand first; axes: how many the file has by itself, as a table
    and a picture do, and one that is read to its end; neither: as many numbers as the command line says.  dtype: of a
    binary one.  first: which of the sizes that files have is its first one."""

    format: str
    header: int = 0
    axes: int = 0
    dtype: str = "float32"
    first: int = 0

    @property
    def slots(self) -> list[str]:
        """Its own sizes."""
        return [f"size{self.first + i}" for i in range(max(self.header, self.axes))]


LAYOUTS = (
    Layout("ppm", 0, 2, "uint8"),
    Layout("pgm", 0, 2, "uint8"),
    *(Layout("text", header) for header in (1, 2, 0, 3)),
    Layout("text", 0, 1),
    Layout("csv", 0, 2),
    *(
        Layout("bin", header, axes, dtype)
        for header, axes in ((0, 0), (1, 0), (2, 0), (0, 1))
        for dtype in ("float32", "int32", "float64", "uint8")
    ),
)


@dataclass(frozen=True, slots=True)
class Read:
    """An array that the program reads.  place: the word, "#" with its number, or the file's name, or `STDIN`.

    at: where its numbers begin among those of the place.  formulas: what its number of elements can be a product of.
    is_copied: its numbers were seen to be copied to the device, in this order.
    """

    name: str
    place: str
    dtype: str
    at: int
    count: int
    formulas: tuple[Formula, ...]
    layout: Layout
    is_copied: bool = True


def extents_of(shape: Sequence[str], values: Values) -> list[int]:
    return [int(part) if part.isdigit() else values[part] for part in shape]


def body_of(layout: Layout, sizes: Sequence[int], values: Values, seed: Sequence[int]) -> Array:
    """Numbers of a file: whole ones, which every type holds."""
    rng, low = np.random.default_rng(seed), 3 * seed[0]
    if layout.axes:
        shape = (*sizes[: layout.axes], *((3,) if layout.format == "ppm" else ()))
        return rng.integers(low, 256 if layout.format in ("ppm", "pgm") else low + 10, shape)
    # As many as can be asked for; where nobody says how many, so many as there are.
    count = min(4 * max(values.values()) ** 2, MOST_NUMBERS) if values else sizes[0]
    return rng.integers(low, low + 10, count)


def content_of(layout: Layout, sizes: Sequence[int], body: Array) -> bytes:
    if layout.format in ("ppm", "pgm"):
        height, width = sizes[:2]
        head = f"P{6 if layout.format == 'ppm' else 5}\n{width} {height}\n255\n".encode()
        return head + body.astype(np.uint8).tobytes()
    first = sizes[: layout.header]
    if layout.format == "bin":
        return np.array(first, "<i4").tobytes() + body.astype(layout.dtype).tobytes()
    if layout.format == "csv":
        return numbers_text(body, ",").encode()
    return (" ".join(map(str, first)) + "\n" * bool(first) + numbers_text(body)).encode()


def array_at(
    body: Array, at: int, place: str, layout: Layout, copied: Mapping[str, tuple[str, str]], values: Values
) -> Read | None:
    """The array that begins at a place among the numbers, if one that does was copied to the device."""
    by_count: dict[int, list[Formula]] = {}
    for length in (1, 2, 3):
        for formula in itertools.combinations_with_replacement(values, length):
            by_count.setdefault(math.prod(extents_of(formula, values)), []).append(formula)
    if layout.slots:
        # What it says itself of its shape comes first.
        by_count.setdefault(math.prod(extents_of(layout.slots, values)), []).insert(0, tuple(layout.slots))
    if layout.format == "ppm":
        by_count = {body.size: [(*layout.slots, "3")]}
    for count, formulas in by_count.items():
        if not 1 < count <= body.size - at:
            continue
        part = body[at : at + count]
        for dtype in _SEEN_AS:
            name, seen_as = copied.get(blake2b(part.astype(dtype).tobytes(), digest_size=16).hexdigest(), ("", ""))
            is_alike = seen_as in ("", dtype) and (layout.format != "bin" or layout.dtype == dtype)
            if name and is_alike:
                kind = layout.dtype if layout.axes and layout.format != "csv" else dtype
                return Read(name, place, kind, at, count, tuple(formulas), layout)
    return None


def place_of(name: str, told: str, kind: str, header: Sequence[str], shape: Sequence[str]) -> str:
    """What a parameter's part of the lab file says of where it lies.  told: its file's name, or a number instead."""
    file = name + ENDINGS[kind] if told.isdigit() else told
    if kind == "text" and header == shape and PurePosixPath(file).suffix == ".raw":
        return f", file: {file}, format: wb"
    spoken = "" if PurePosixPath(file).suffix == ENDINGS[kind] else f", format: {kind}"
    return f", file: {file}{spoken}" + (f", header: [{', '.join(header)}]" if header else "")
