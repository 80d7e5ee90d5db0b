"""`grade new-lab --from` of a whole program: how it is started, what it reads and what it writes.

That a lab made of one grades it, the page on new labs shows: tests/lab/test_new_lab_page.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.errors import FileError
from grader.proposing.contents import Layout, Left, Returned, array_at, body_of, content_of, place_of, results_of
from grader.proposing.writing import propose

SIZES = {"#0": 64}, {"#0": 32}, {"#0": 32}


def left(*texts: str) -> Left:
    """What three runs have left, at two sizes."""
    return [(values, text.encode()) for values, text in zip(SIZES, texts, strict=True)]


def test_what_is_printed_is_a_result_where_it_changes_with_the_data() -> None:
    text = "{n} values\nmean: {mean}\nlargest = {top} of all\nTime: {time} ms\n"
    said = [
        text.format(n=n, mean=m, top=t, time=s) for n, m, t, s in ((64, 4.53, 7, 1), (32, 2.25, 8, 2), (32, 3.75, 9, 3))
    ]
    mean, largest = results_of({"stdout": left(*said)}, [Returned("", "", 0)], [])
    assert (mean.name, mean.label, mean.shape, mean.dtype) == ("mean", "mean:", ("1",), "float32")
    assert (largest.label, largest.dtype, largest.elements[2]) == ("largest =", "int32", np.array([9]))
    # Two decimals are all that there is.
    assert mean.absolute == pytest.approx(0.0051)


def test_as_many_numbers_as_a_size_says_are_an_array_named_by_what_came_back() -> None:
    rows = [" ".join(str(i * seed) for i in range(n)) for n, seed in ((64, 1), (32, 2), (32, 3))]
    (out,) = results_of({"stdout": left(*rows)}, [Returned("c", "float32", 64 * 4), Returned("d", "float32", 4)], ["n"])
    assert (out.name, out.shape, out.dtype, out.label) == ("c", ("#0",), "float32", "")
    (out,) = results_of({"x.txt": left(*(f"{n}\n{row}" for n, row in zip((64, 32, 32), rows, strict=True)))}, [], [])
    assert (out.header, out.format, out.name) == (("#0",), "text", "x")


@pytest.mark.parametrize(
    ("said", "labels"),
    [("{n} numbers\nsum: {sum}\nDone in 3 steps\n", ["sum:"]), ("3 steps, 5 blocks\n", []), ("", [])],
)
def test_what_is_printed_beside_a_file_is_a_result_too_if_the_data_decide_it(said: str, labels: list[str]) -> None:
    files = left(*("".join(f"{i * seed}\n" for i in range(n)) for n, seed in ((64, 1), (32, 2), (32, 3))))
    texts = left(*(said.format(n=n, sum=s) for n, s in ((64, 4.5), (32, 2.25), (32, 3.75))))
    written, *printed = results_of({"x.txt": files, "stdout": texts}, [], [])
    assert (written.name, written.shape, [one.label for one in printed]) == ("x", ("#0",), labels)


def test_a_picture_is_told_by_its_first_bytes() -> None:
    sizes = {"h": 4, "w": 6}, {"h": 8, "w": 2}
    runs = [(s, f"P5\n{s['w']} {s['h']}\n255\n".encode() + bytes(s["h"] * s["w"])) for s in sizes]
    (out,) = results_of({"#3": runs}, [], [])
    assert (out.format, out.shape, out.dtype) == ("pgm", ("h", "w"), "uint8")


def test_what_was_copied_says_where_numbers_stand_and_of_which_type_they_are() -> None:
    from hashlib import blake2b

    layout, values = Layout("text", 1), {"size0": 32}
    body = body_of(layout, [32], values, [1, 0, 0])
    assert content_of(layout, [32], body).startswith(b"32\n")
    copied = {blake2b(body[32:64].astype(np.float64).tobytes(), digest_size=16).hexdigest(): ("b", "float64")}
    assert array_at(body, 0, "x", layout, copied, values) is None
    found = array_at(body, 32, "x", layout, copied, values)
    assert found is not None and (found.name, found.dtype, found.formulas[0]) == ("b", "float64", ("size0",))


def test_a_file_is_named_as_the_command_line_has_it() -> None:
    assert place_of("a", "64", "ppm", [], ["h", "w", "3"]) == ", file: a.ppm"
    assert place_of("a", "in0.raw", "text", ["n"], ["n"]) == ", file: in0.raw, format: wb"
    assert place_of("a", "x.dat", "bin", ["n"], ["n"]) == ", file: x.dat, format: bin, header: [n]"


def test_a_program_has_a_main(tmp_path: Path) -> None:
    path = tmp_path / "sum.cu"
    path.write_text("__global__ void k(int *x) { x[0] = 1; }\nvoid f(int *x) { k<<<1, 1>>>(x); }\n", "utf-8")
    with pytest.raises(FileError, match="no `main`"):
        propose("sums", path, tmp_path / "labs", "program", lambda _said: None)


@pytest.mark.slow
def test_what_reads_nothing_and_takes_nothing_has_one_size_only(tmp_path: Path) -> None:
    path = tmp_path / "once.cu"
    text = "__global__ void k(int *x) { x[0] = 1; }\nint main() { int *x; cudaMalloc(&x, 4); k<<<1, 1>>>(x); }\n"
    path.write_text(text, "utf-8")
    with pytest.raises(FileError, match="make its sizes arguments"):
        propose("once", path, tmp_path / "labs", "program", lambda _said: None)
