"""Every lab's oracle: deterministic, of the shapes that the lab says, and (for the transposition) telling."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from grader.errors import FileError
from grader.files import data_root
from grader.lab import labs
from grader.lab.compare import compare, sentinel
from grader.lab.expected import Oracle
from grader.lab.file import load
from grader.lab.records import Lab, Tolerance
from tests.every_lab import EVERY_LAB

LAB = labs.find("transpose")


@pytest.mark.parametrize("lab", EVERY_LAB, ids=lambda lab: lab.id)
def test_cases_are_repeatable(lab: Lab) -> None:
    sizes = lab.cases["emulator"].probe
    one, other = Oracle(lab).case(sizes, {}), Oracle(lab).case(sizes, {})
    for arrays, again in zip(one, other, strict=True):
        assert arrays.keys() == again.keys()
        for name in arrays:
            np.testing.assert_array_equal(arrays[name], again[name])


@pytest.mark.parametrize("sizes", [(1, 40), (31, 65), (256, 256)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "float64"])
def test_a_transposition_of_elements_that_all_differ(sizes: tuple[int, int], dtype: str) -> None:
    rows, cols = sizes
    inputs, outputs = Oracle(LAB).case({"rows": rows, "cols": cols}, {"in": dtype, "out": dtype})
    given, out = inputs["in"], outputs["out"]
    assert given.dtype == out.dtype == np.dtype(dtype)
    assert len(np.unique(given)) == rows * cols
    assert all(out[c, r] == given[r, c] for r in range(rows) for c in range(0, cols, 7))


def test_another_size_or_seed_gives_other_numbers() -> None:
    from dataclasses import replace

    first = Oracle(LAB).case({"rows": 8, "cols": 8}, {})[0]["in"]
    assert not np.array_equal(first, Oracle(replace(LAB, seed=2)).case({"rows": 8, "cols": 8}, {})[0]["in"])


def test_elements_differ_beyond_what_floats_count_exactly() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("oracle", LAB.oracle)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["HALVES"] = (100,)  # the same rule for large matrices, seen at a small one
    values = module.inputs({"rows": 50, "cols": 60}, np.random.default_rng(1))["in"]
    assert np.isfinite(values).all()
    assert len(np.unique(values.view(np.uint32))) == 3000


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def expected(inputs, sizes):\n    return {}\n", "has no function `inputs`"),
        ("import nowhere\n", "ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("def inputs(s, r):\n    exit('no')\ndef expected(i, s):\n    return {}\n", "py:2: the oracle failed at"),
        ("def inputs(s, r):\n    return {'in': 1}\ndef expected(i, s):\n    return {}\n", "py:1: the oracle failed at"),
        ("def inputs(s, r):\n    return 1\ndef expected(i, s):\n    return {}\n", "py:1: `inputs` returns int; "),
        ("\ndef inputs(s, r:\n", "py:2: SyntaxError"),
        (
            "import numpy as np\ndef inputs(s, r):\n    return {'in': np.zeros((2, 3))}\n"
            "def expected(i, s):\n    return {'out': i['in']}\n",
            r"py:2: `in` has shape \(2, 3\), the lab says \(4, 5\)",
        ),
        (
            "import numpy as np\ndef inputs(s, r):\n    return {'in': np.zeros((4, 5))}\n"
            "def expected(i, s):\n    return {}\n",
            "py:4: `expected` does not give `out`; got: ",
        ),
    ],
)
def test_a_wrong_oracle_blames_the_lab(tmp_path: Path, code: str, words: str) -> None:
    for part in ("assignments/transpose", "reference/transpose"):
        shutil.copytree(data_root() / part, tmp_path / part)
    (tmp_path / "reference/transpose/oracle.py").write_text(code)
    lab = load(tmp_path / "assignments/transpose")
    with pytest.raises(FileError, match=words):
        Oracle(lab).case({"rows": 4, "cols": 5}, {})


OPEN = """
import numpy as np
def inputs(sizes, rng):
    return {}
def expected(inputs, sizes):
    counts = np.arange(sizes["width"] * sizes["height"]).reshape(sizes["height"], sizes["width"])
    return {"counts": np.ma.array(counts, mask=counts % 2 == 1)}
"""


def test_elements_that_the_oracle_leaves_open_may_be_anything_that_was_written(tmp_path: Path) -> None:
    for part in ("assignments/mandelbrot", "reference/mandelbrot"):
        shutil.copytree(data_root() / part, tmp_path / part)
    (tmp_path / "reference/mandelbrot/oracle.py").write_text(OPEN)
    lab = load(tmp_path / "assignments/mandelbrot")
    sizes = {"width": 4, "height": 2, "limit": 3}
    right = Oracle(lab).case(sizes, {"counts": "int32"})[1]["counts"]
    got = np.arange(8, dtype=np.int32).reshape(2, 4)
    wrong = [
        (at, compare("counts", changed(got, at, value), right, Tolerance(0), {}))
        for at in (1, 4)
        for value in (9, None)
    ]
    assert [(at, difference.mismatches, difference.unwritten) for at, difference in wrong] == [
        (1, 0, 0),
        (1, 1, 1),
        (4, 1, 0),
        (4, 1, 1),
    ]


def changed(array: np.ndarray, at: int, value: int | None) -> np.ndarray:
    """With another value at an element; None: as if nobody had written it."""
    other = array.copy()
    other.reshape(-1)[at] = sentinel((1,), "int32")[0] if value is None else value
    return other


def test_an_oracle_of_kernels_leaves_nothing_open(tmp_path: Path) -> None:
    for part in ("assignments/transpose", "reference/transpose"):
        shutil.copytree(data_root() / part, tmp_path / part)
    path = tmp_path / "reference/transpose/oracle.py"
    path.write_text(
        "import numpy as np\ndef inputs(s, r):\n    return {'in': np.ones((s['rows'], s['cols']), np.float32)}\n"
        "def expected(i, s):\n    return {'out': np.ma.masked_equal(i['in'].T, 0)}\n"
    )
    with pytest.raises(FileError, match="leaves elements of `out` open"):
        Oracle(load(tmp_path / "assignments/transpose")).case({"rows": 2, "cols": 3}, {})
