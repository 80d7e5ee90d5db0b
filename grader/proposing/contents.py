"""What stands in the files of a program and in what it prints, as arrays.

What it reads: numbers of ours in each of the formats, of which those are told that were copied to the device. What
comes out: told by how it changes with the sizes and with the data.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from grader.lab.file_formats import numbers_text, printed

Array = npt.NDArray[np.generic]
Values = Mapping[str, int]
Formula = tuple[str, ...]

MOST_NUMBERS = 1 << 15
ENDINGS = {"bin": ".bin", "text": ".txt", "csv": ".csv", "pgm": ".pgm", "ppm": ".ppm"}
"""Suffixes of files, by format."""
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
            name, device_dtype = copied.get(blake2b(part.astype(dtype).tobytes(), digest_size=16).hexdigest(), ("", ""))
            is_alike = device_dtype in ("", dtype) and (layout.format != "bin" or layout.dtype == dtype)
            if name and is_alike:
                kind = layout.dtype if layout.axes and layout.format != "csv" else dtype
                return Read(name, place, kind, at, count, tuple(formulas), layout)
    return None


def place_of(name: str, file_name: str, kind: str, header: Sequence[str], shape: Sequence[str]) -> str:
    """What a parameter's part of the lab file says of where it lies.

    file_name: of its file, or a number where it has none.
    """
    file = name + ENDINGS[kind] if file_name.isdigit() else file_name
    if kind == "text" and header == shape and PurePosixPath(file).suffix == ".raw":
        return f", file: {file}, format: wb"
    spoken = "" if PurePosixPath(file).suffix == ENDINGS[kind] else f", format: {kind}"
    return f", file: {file}{spoken}" + (f", header: [{', '.join(header)}]" if header else "")


Left = Sequence[tuple[Values, bytes]]
"""What each run left, with its sizes: two at different ones, one more at the second's with other data, then others."""

ABSOLUTE = 1e-4
"""How far single-precision numbers may be off that are written with all their digits."""
MOST_LABELS = 8
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)\b", re.IGNORECASE)
_HEADER = re.compile(rb"P([56])\s+(\d{1,9})\s+(\d{1,9})\s+255\s")
_TEXT = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True, slots=True)
class Returned:
    """An array that the program copied back from the device: whose, of which type, and how many bytes."""

    name: str
    dtype: str
    size: int


@dataclass(frozen=True, slots=True)
class Result:
    """An array that comes out.  place: of the file, or "stdout".  shape: names of sizes, and numbers.

    header: sizes that stand before it.  label: the text behind which it is printed.  elements: of each run, None where
    they are not there.  absolute: how far a number that is written with so few digits may be off.
    """

    name: str
    place: str
    format: str
    dtype: str
    shape: Formula
    elements: tuple[Array | None, ...]
    header: Formula = ()
    label: str = ""
    absolute: float = ABSOLUTE


def results_of(left: Mapping[str, Left], returned: Sequence[Returned], taken: Collection[str]) -> list[Result]:
    """The results, each with a name of its own.  left: by place.  taken: names that are others'.

    What is printed beside files has to change with the data: most of it only says what was done.
    """
    results: list[Result] = []
    names = set(taken)
    for place, runs in left.items():
        for one in _printed(runs, returned) if place == "stdout" else _in_file(place, runs, returned):
            if place == "stdout" and len(left) > 1 and not _is_of_data(one):
                continue
            stem = one.name or re.sub(r"\W+", "_", PurePosixPath(place).stem).strip("_").lower()
            wanted = [n for n in (stem, "out", "result") if n.isidentifier() and n != "stdout"]
            more = (f"out{i}" for i in itertools.count(2))
            name = next(n for n in itertools.chain(wanted, more) if n not in names)
            names.add(name)
            results.append(replace(one, name=name))
    return results


def _is_of_data(result: Result) -> bool:
    """Whether the result changes in the third run, whose sizes are those of the second."""
    second, third = result.elements[1:3]
    return second is not None and third is not None and not np.array_equal(second, third)


def _in_file(place: str, runs: Left, returned: Sequence[Returned]) -> Iterator[Result]:
    first = runs[0][1]
    elements: tuple[Array | None, ...]
    picture = _HEADER.match(first)
    if picture is not None:
        kind, channels = ("ppm", ("3",)) if picture[1] == b"6" else ("pgm", ())
        for height, width in itertools.product(runs[0][0], repeat=2):
            elements = tuple(_pixels(data, values[height], values[width]) for values, data in runs)
            if elements[0] is not None and elements[1] is not None:
                yield Result("", place, kind, "uint8", (height, width, *channels), elements, absolute=1.0)
                return
    elif _TEXT.fullmatch(first):
        tokens = [[match[0] for match in _NUMBER.finditer(data.decode("utf-8", "replace"))] for _values, data in runs]
        kind = "csv" if b"," in first else "text"
        yield from _of_tokens(place, kind, runs, tokens, returned)
    else:
        for dtype in dict.fromkeys([*(one.dtype for one in returned), "float32", "int32"]):
            each = np.dtype(dtype).itemsize
            for header in range(3):
                counts = [(len(data) - 4 * header) / each for _values, data in runs]
                heads = [np.frombuffer(data, "<i4", min(header, len(data) // 4)).tolist() for _values, data in runs]
                named, shape = _names_of(heads, runs), _shape(counts, runs)
                if named is None or shape is None or len(named) != header:
                    continue
                cut = [data[4 * header :] for _values, data in runs]
                elements = tuple(
                    np.frombuffer(data, dtype) if len(data) == _count(shape, values) * each else None
                    for (values, _data), data in zip(runs, cut, strict=True)
                )
                yield Result(_returned(returned, shape, runs[0][0]).name, place, "bin", dtype, shape, elements, named)
                return


def _pixels(data: bytes, height: int, width: int) -> Array | None:
    match = _HEADER.match(data)
    if match is None or (int(match[2]), int(match[3])) != (width, height):
        return None
    count = height * width * (3 if match[1] == b"6" else 1)
    return np.frombuffer(data, np.uint8, count, match.end()) if len(data) - match.end() == count else None


def _of_tokens(
    place: str, kind: str, runs: Left, tokens: Sequence[Sequence[str]], returned: Sequence[Returned], label: str = ""
) -> Iterator[Result]:
    """Yield the numbers as an array, if there are as many as the sizes say; sizes may stand before them."""
    for header in range(1 if place == "stdout" else 3):
        named = _names_of([row[:header] for row in tokens], runs)
        shape = _shape([len(row) - header for row in tokens], runs)
        if named is None or len(named) != header or shape is None:
            continue
        first, second = tokens[:2]
        are_few = place == "stdout" and not label and shape[0].isdigit()
        if are_few and any(_is_size(one, other, runs) for one, other in zip(first, second, strict=False)):
            # A size among a few numbers is none of the results.
            continue
        rows = [row[header:] for row in tokens]
        like = _returned(returned, shape, runs[0][0])
        is_whole = all(word.lstrip("+-").isdigit() for row in rows for word in row)
        dtype = like.dtype or ("int32" if is_whole else "float32")
        if not is_whole and np.dtype(dtype).kind in "iu":
            dtype = "float32"
        elements = tuple(
            np.array([float(word) for word in row]).astype(dtype) if len(row) == _count(shape, values) else None
            for row, (values, _data) in zip(rows, runs, strict=True)
        )
        name = like.name or re.sub(r"\W+", "_", label).strip("_").lower()
        yield Result(name, place, kind, dtype, shape, elements, named, label, _absolute(rows[0]))
        return


def _absolute(words: Sequence[str]) -> float:
    """Return the largest rounding error of numbers printed with a fixed number of decimals."""
    decimals = {len(word.partition(".")[2]) for word in words}
    (places,) = decimals if len(decimals) == 1 else (0,)
    return max(ABSOLUTE, 0.51 * 10.0**-places) if places else ABSOLUTE


def _names_of(heads: Sequence[Sequence[object]], runs: Left) -> Formula | None:
    """Return the sizes that the first numbers equal in the first two runs; None where they are no sizes."""
    named = []
    for first, second in zip(heads[0], heads[1], strict=False):
        slot = next(
            (s for s in runs[0][0] if (str(runs[0][0][s]), str(runs[1][0][s])) == (str(first), str(second))), None
        )
        if slot is None:
            return None
        named.append(slot)
    return tuple(named)


def _shape(counts: Sequence[float], runs: Left) -> Formula | None:
    """Return the product of sizes that gives the number of elements in the first two runs, or a constant."""
    if min(counts[:2]) < 1:
        return None
    if counts[0] == counts[1]:
        return (str(int(counts[0])),) if counts[0] <= MOST_LABELS else None
    for length in (1, 2, 3):
        for formula in itertools.combinations_with_replacement(runs[0][0], length):
            if all(_count(formula, values) == count for (values, _d), count in zip(runs[:2], counts, strict=False)):
                return formula
            threefold = (*formula, "3")
            if all(_count(threefold, values) == count for (values, _d), count in zip(runs[:2], counts, strict=False)):
                return threefold
    return None


def _is_size(first: str, second: str, runs: Left) -> bool:
    counts = [int(word) if word.isdigit() and len(word) < 10 else 0 for word in (first, second)]
    return counts[0] != counts[1] and _shape(counts, runs) is not None


def _count(shape: Formula, values: Values) -> int:
    return math.prod(int(part) if part.isdigit() else values[part] for part in shape)


def _returned(returned: Sequence[Returned], shape: Formula, values: Values) -> Returned:
    """Return the only device array of that length; one without a name where there is none, or several."""
    count = _count(shape, values)
    alike = {one.name: one for one in returned if one.dtype and one.size == count * np.dtype(one.dtype).itemsize}
    return next(iter(alike.values())) if len(alike) == 1 else Returned("", "", 0)


def _printed(runs: Left, returned: Sequence[Returned]) -> Iterator[Result]:
    """Yield all numbers printed as one array; else those behind each label whose number changes with the data."""
    tokens = [printed(data) for _values, data in runs]
    whole = list(_of_tokens("stdout", "text", runs, tokens, returned))
    if whole:
        yield from whole
        return
    labels: set[str] = set()
    for label in _labels(runs):
        rows = [printed(data, label) for _values, data in runs]
        # A size that is told behind them is none of the results.
        pairs = enumerate(zip(rows[0], rows[1], strict=False))
        end = next((i for i, (one, other) in pairs if _is_size(one, other, runs)), None)
        rows = [row[:end] for row in rows]
        for one in _of_tokens("stdout", "text", runs, rows, returned, label):
            if label.casefold() not in labels and len(labels) < MOST_LABELS:
                labels.add(label.casefold())
                yield one


def _labels(runs: Left) -> Iterator[str]:
    """Yield the texts before the first number of a line that differs between runs and is no size."""
    first, second, third = ([*data.decode("utf-8", "replace").split("\n")] for _values, data in runs[:3])
    pairs = [(1, 2, second, third), (0, 1, first, second)]
    for a, b, rows, others in pairs:
        if len(rows) != len(others):
            continue
        for row, other in zip(rows, others, strict=True):
            numbers = [*_NUMBER.finditer(row)]
            again = [match[0] for match in _NUMBER.finditer(other)]
            for match, word in zip(numbers, again, strict=False):
                label = row[: match.start()].rpartition("\t")[2].strip()
                is_size = (a, b) == (0, 1) and _is_size(match[0], word, runs)
                if match[0] != word and not is_size and re.search(r"[^\W\d]{2}|=|:", label) and printed(row.encode()):
                    cut = re.split(r"\d[\s,;]*", label)[-1].strip()
                    if cut and "'" not in cut:
                        yield cut
                    break
