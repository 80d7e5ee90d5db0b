"""Device printf against the C library's."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from grader.ptx.limits import LimitExceeded, Limits
from tests.ptx.running import run

LIBC = ctypes.CDLL(None)

INTEGERS = [
    "%d",
    "%5d",
    "%-5d",
    "%05d",
    "%+d",
    "%.3d",
    "%8.3d",
    "%i",
    "%u",
    "%x",
    "%X",
    "%#x",
    "%#X",
    "%o",
    "%#o",
    "%#6o",
    "%hhd",
    "%hd",
    "%hhu",
    "%hx",
]
FLOATS = [
    "%f",
    "%.2f",
    "%10.3f",
    "%-10.3f",
    "%+f",
    "%010.2f",
    "%020f",
    "%F",
    "%#.0f",
    "%e",
    "%.0e",
    "%E",
    "%g",
    "%G",
    "%#g",
    "%.10g",
    "%a",
    "%A",
    "%.0a",
    "%.3a",
    "%15a",
]


def by_the_c_library(formats: Sequence[str], value: object) -> list[str]:
    result = []
    for text in formats:
        room = ctypes.create_string_buffer(1000)
        LIBC.snprintf(room, len(room), text.encode(), value)
        result.append(room.value.decode())
    return result


def by_the_emulator(formats: Sequence[str], kind: str, value: object) -> list[str]:
    calls = "".join(f'printf("{text}|", n);' for text in formats)
    source = f'extern "C" __global__ void k({kind} n) {{ {calls} }}'
    return run(source, 1, 1, value, observe=False).report.printf.split("|")[:-1]


@pytest.mark.parametrize("value", [0, 65, -7, 70000, 2**31 - 1, -(2**31)])
def test_integers(value: int) -> None:
    assert by_the_emulator(INTEGERS, "int", value) == by_the_c_library(INTEGERS, ctypes.c_int(value))


VALUES = [0.0, -0.0, 1.5, 255.96875, -2.25e10, 1e-300, 123456789.125, 5e-324, 1.9999999, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("value", VALUES)
def test_floats(value: float) -> None:
    assert by_the_emulator(FLOATS, "double", np.float64(value)) == by_the_c_library(FLOATS, ctypes.c_double(value))


def test_long_integers_strings_pointers_and_widths_as_arguments() -> None:
    source = r"""
extern "C" __global__ void k(long long n) {
    printf("%lld|%llx|%lu|%p|", n, n, (unsigned long)n, (void*)0x1234);
    printf("%s|%10s|%-6s|%.2s|%s|%%|%c|", "abc", "abc", "abc", "abc", (const char*)0, 'x');
    printf("%*d|%-*d|%.*f|%ld", 6, 42, 6, 42, 2, 3.14159, (long)-3);
}"""
    assert run(source, 1, 1, np.int64(-5), observe=False).report.printf.split("|") == [
        "-5", "fffffffffffffffb", "18446744073709551611", "0x1234",
        "abc", "       abc", "abc   ", "ab", "(null)", "%", "x",
        "    42", "42    ", "3.14", "-3",
    ]  # fmt: skip


def test_texts_of_no_characters_come_to_an_end_too() -> None:
    source = 'extern "C" __global__ void k(int n) { for (int i = 0; i < n; ++i) printf("%s", ""); }'
    assert run(source, 1, 64, np.int32(1), limits=Limits(issued=20_000)).report.printf == ""
    with pytest.raises(LimitExceeded, match="more than 20000 instructions were issued"):
        run(source, 1, 64, np.int32(100), limits=Limits(issued=20_000))
