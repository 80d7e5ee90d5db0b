"""Arrays as files: what is written is read again, and what is wrong with a file of a student's is said."""

from __future__ import annotations

import numpy as np
import pytest

from grader.lab.file_formats import MORE_BYTES, from_file, longest, printed, to_file
from grader.lab.parameters import KINDS
from grader.lab.records import STDOUT, FileRule, Parameter
from grader.message import Message

SIZES = {"rows": 2, "columns": 3}
SHAPE = (2, 3)


def parameter(rule: FileRule, dtype: str = "float32") -> Parameter:
    return Parameter("a", KINDS["in_out"], dtype, ("rows", "columns"), file=rule)


def read(rule: FileRule, data: bytes, dtype: str = "float32", shape: tuple[int, ...] = SHAPE) -> object:
    """The array as nested lists; of a message its id and data."""
    found = from_file(parameter(rule, dtype), data, shape, SIZES)
    return (found.id, dict(found.data)) if isinstance(found, Message) else found.tolist()


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        (FileRule("a.bin", "bin"), np.arange(6, dtype="<f4").tobytes()),
        (
            FileRule("a.bin", "bin", ("columns", "rows")),
            np.array([3, 2], "<i4").tobytes() + np.arange(6, dtype="<f4").tobytes(),
        ),
        (FileRule("a.txt", "text"), b"0 1 2\n3 4 5\n"),
        (FileRule("a.txt", "text", ("rows",)), b"2\n0 1 2\n3 4 5\n"),
        (FileRule("a.csv", "csv"), b"0,1,2\n3,4,5\n"),
        (FileRule("a.raw", "wb"), b"2 3\n0 1 2\n3 4 5\n"),
    ],
)
def test_what_is_written_is_read_again(rule: FileRule, data: bytes) -> None:
    values = np.arange(6, dtype=np.float32).reshape(SHAPE)
    assert to_file(parameter(rule), values, SIZES) == data
    assert read(rule, data) == values.tolist()


def test_pictures() -> None:
    grey, colours = FileRule("a.pgm", "pgm"), FileRule("a.ppm", "ppm")
    values = np.arange(6, dtype=np.uint8).reshape(SHAPE)
    data = b"P5\n3 2\n255\n" + bytes(range(6))
    assert to_file(parameter(grey, "uint8"), values, SIZES) == data
    assert read(grey, data, "uint8") == values.tolist()
    assert read(grey, b"P2 # plain\n3 2\n255\n0 1 2 3 4 5", "uint8") == values.tolist()
    three = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    data = b"P6\n3 2\n255\n" + bytes(range(18))
    assert to_file(parameter(colours, "uint8"), three, SIZES) == data
    assert read(colours, data, "uint8", (2, 3, 3)) == three.tolist()


def test_numbers_keep_all_their_digits() -> None:
    values = np.array([[1 / 3, 1e-30, 16777217], [np.pi, -0.0, 3e38]], np.float32)
    rule = FileRule("a.txt", "text")
    assert read(rule, to_file(parameter(rule), values, SIZES)) == values.tolist()
    whole = np.array([[2**63, 0, 2**64 - 1], [1, 2, 3]], np.uint64)
    assert read(rule, to_file(parameter(rule, "uint64"), whole, SIZES), "uint64") == whole.tolist()


@pytest.mark.parametrize(
    ("rule", "data", "dtype", "said"),
    [
        (FileRule("a.bin", "bin"), bytes(20), "float32", ("outputs.bytes", {"got": 20, "expected": 24})),
        (FileRule("a.bin", "bin", ("rows",)), bytes(28), "float32", ("outputs.header", {"got": "0", "expected": "2"})),
        (FileRule("a.txt", "text"), b"1 2 3", "float32", ("outputs.numbers", {"got": 3, "expected": 6})),
        (FileRule("a.txt", "text"), b"1 2 3 4 5 6.5", "int32", ("outputs.not_whole", {"got": "6.5"})),
        (FileRule("a.txt", "text"), b"1 2 3 4 5 256", "uint8", ("outputs.not_whole", {"got": "256"})),
        (FileRule("a.txt", "text"), b"1 2 3 4 5 " + b"9" * 5000, "int64", ("outputs.not_whole", {"got": "9" * 40})),
        (FileRule("a.txt", "text"), b"1 2 3 4 5 nan", "int32", ("outputs.not_whole", {"got": "nan"})),
        (FileRule("a.raw", "wb"), b"3 2\n1 2 3 4 5 6", "float32", ("outputs.header", {"got": "3 2"})),
        (FileRule("a.pgm", "pgm"), b"P6\n3 2\n255\n", "uint8", ("outputs.magic", {"expected": "P5"})),
        (FileRule("a.pgm", "pgm"), b"P5\n3 by 2\n255\n", "uint8", ("outputs.picture_header", {})),
        (FileRule("a.pgm", "pgm"), b"P5\n2 3\n255\n123456", "uint8", ("outputs.header", {"got": "2 3 255"})),
        (FileRule("a.pgm", "pgm"), b"P5\n3 2\n65535\n123456", "uint8", ("outputs.header", {"got": "3 2 65535"})),
        (FileRule("a.pgm", "pgm"), b"P5\n3 2\n255\n12345", "uint8", ("outputs.bytes", {"got": 16, "expected": 17})),
        (FileRule("a.txt", "text"), b"", "float32", ("outputs.numbers", {"got": 0})),
        (FileRule("a.txt", "text"), b" " * (6 * 64 + MORE_BYTES + 1), "float32", ("outputs.too_long", {})),
        (FileRule(STDOUT, "text", label="sum"), b"6", "float32", ("outputs.no_label", {"label": "sum"})),
    ],
)
def test_what_is_wrong_is_said(rule: FileRule, data: bytes, dtype: str, said: tuple[str, dict[str, object]]) -> None:
    found = read(rule, data, dtype)
    assert isinstance(found, tuple)
    name, given = found
    assert (name, {key: given[key] for key in said[1]}) == said


@pytest.mark.parametrize(
    ("text", "label", "numbers"),
    [
        ("1.5 2 -3e2", "", ["1.5", "2", "-3e2"]),
        ("a[0] = 5, x1 = .5", "", ["0", "5", ".5"]),
        ("GPU: 0.31 ms\n7\nTime elapsed: 12\nвремя 3", "", ["7"]),
        ("12.5 GB/s 3 GFLOPS 8 мс 9", "", ["9"]),
        ("nan inf -inf info", "", ["nan", "inf", "-inf"]),
        ("sum = 1\nSum = 2 of 3\n", "sum", ["2", "3"]),
        ("checksum time: 4 s\nresult: 8", "result:", ["8"]),
    ],
)
def test_numbers_among_what_is_printed(text: str, label: str, numbers: list[str]) -> None:
    assert printed(text.encode(), label) == numbers


def test_the_longest_that_could_be_right() -> None:
    assert longest(FileRule("a.bin", "bin"), 100, 4) == 400 + MORE_BYTES
    assert longest(FileRule("a.txt", "text"), 100, 4) == 6400 + MORE_BYTES
