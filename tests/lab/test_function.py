"""Labs that ask for a function: their keys, and the signature taken apart; what is wrong is refused at its line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from grader.errors import FileError
from grader.files import data_root
from grader.lab.expected import Oracle
from grader.lab.file import load
from grader.lab.parameters import Argument, arguments_of, signature_of

SIGNATURE = "signature: 'void solve(float a, const float *x, float *y, int n)'"


@pytest.fixture
def edit(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of the built-in lab saxpy in which one text is replaced by another; returns the lab's folder."""
    for part in ("assignments/saxpy", "reference/saxpy"):
        shutil.copytree(data_root() / part, tmp_path / part)
    folder = tmp_path / "assignments/saxpy"

    def replace(old: str, new: str) -> Path:
        text = (folder / "lab.yaml").read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        (folder / "lab.yaml").write_text(text.replace(old, new), "utf-8")
        return folder

    return replace


def test_the_built_in_one() -> None:
    lab = load(data_root() / "assignments/saxpy")
    assert lab.function is not None
    assert (lab.function.memory, lab.function.signature.name) == ("device", "solve")
    assert lab.function.signature.spelled == "void solve(float a, const float *x, float *y, int n)"
    assert {p.name: (p.kind.name, p.dtype) for p in lab.parameters} == {
        "a": ("scalar", "float32"),
        "x": ("input", "float32"),
        "y": ("in_out", "float32"),
        "n": ("size", "int32"),
    }
    assert lab.variants[0].reference.file.name == "saxpy.cu"


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        ("interface: function", "interface: module", "interface", ["module", "kernel", "function"]),
        (SIGNATURE, "signature: 'void solve(float a'", "signature", ["void solve(float a", "allowed: a C++ function"]),
        (SIGNATURE, "signature: 'float solve(float a, const float *x, float *y, int n)'", "signature", ["got float"]),
        (SIGNATURE, "signature: 'void solve(float a, const float *z, float *y, int n)'", "signature",
         ["signature: unknown name 'z'; ", "x"]),
        (SIGNATURE, "signature: 'void solve(float a, const float *x, float *y)'", "n", ["got void solve", "name: n"]),
        (SIGNATURE, "signature: 'void solve(float a, float *x, float *y, int n)'", "x", ["float *", "const T *"]),
        (SIGNATURE, "signature: 'void solve(float a, const float *x, const float *y, int n)'", "y", ["in_out", "T *"]),
        (SIGNATURE, "signature: 'void solve(float a, const float *x, float *y, float n)'", "n", ["whole numbers"]),
        (SIGNATURE, "signature: 'void solve(float a, const pixel *x, float *y, int n)'", "x", ["const pixel *"]),
        (SIGNATURE, SIGNATURE.replace("const float", "const float4"), "x.shape", ["float4", "got [n]", "extent is 4"]),
        (SIGNATURE, "", "", ["missing key `signature`"]),
        (SIGNATURE, "signature: ['void solve(int n)', 'void other(int n)']", "signature", ["need a `harness`"]),
        (SIGNATURE, SIGNATURE.replace("void", "__global__ void"), "signature", ["or a kernel", "need a `harness`"]),
        ("memory: device", "memory: shared", "memory", ["shared", "allowed: device, host"]),
        ("memory: device", "", "", ["missing key `memory`"]),
        ("{kind: input, shape: [n]}", "{kind: input, dtype: float64, shape: [n]}", "x.dtype", ["float64", "float32"]),
        ("values: [2.5, -0.75]", "names: [a]", "a", ["missing key `values`"]),
        ("{kind: in_out, shape: [n]}", "{kind: in_out, shape: [n], initial: 0}", "y.initial", ["kind output"]),
        ("{kind: input, shape: [n]}", "{kind: input, shape: [m + 1]}", "x.shape[0]", ["'m'", "n"]),
        ("{kind: input, shape: [n]}", "{kind: input, shape: [n -]}", "x.shape[0]", ["n -"]),
        ("{kind: input, shape: [n]}", "{kind: input, shape: [n - 1]}", "x.shape[0]", ["at least 1", "got 0"]),
        ("n: {kind: size}", "n: {kind: size, values: [1]}", "n.values", ["kind scalar"]),
        ("seed: 1", "seed: 1\nlaunch: {block: [64], covers: [n]}", "launch", ["interface: kernel"]),
        ("timing: {sizes:", "timing: {l2: warm, sizes:", "timing.l2", ["interface: kernel"]),
        ("timing: {sizes: [{n: 65536}", "timing: {sizes: [{m: 65536}", "timing.sizes[0]", ["'m'"]),
        ("      coalescing: 10", "      technique: {points: 10, shared_memory: any}", "technique",
         ["another `interface` (kernel)"]),
        ("reference: saxpy.cu", "reference: {file: a.cu, kernel: k, arguments: [], block: [1], tile: [1]}", "reference",
         ["allowed: file.cu"]),
        ("reference: saxpy.cu", "reference: oracle.py", "reference", ["solve"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_place(
    edit: Callable[[str, str], Path], old: str, new: str, at: str, words: list[str]
) -> None:
    folder = edit(old, new)
    with pytest.raises(FileError) as caught:
        load(folder)
    told = str(caught.value)
    assert "lab.yaml" in told
    for word in [at, *words]:
        assert word in told, told


def test_sizes_for_a_gpu_may_be_there_or_not(edit: Callable[[str, str], Path]) -> None:
    assert set(load(edit("seed: 1", "seed: 1")).cases) == {"emulator"}
    lab = load(edit("  emulator:\n", "  gpu: {correct: [{n: 5000}], observe: {n: 9000}}\n  emulator:\n"))
    assert lab.cases["gpu"].correct == ({"n": 5000},) and lab.timing is not None


def test_truth_values_and_vectors_are_the_numbers_that_they_are_made_of(edit: Callable[[str, str], Path]) -> None:
    folder = edit("{kind: input, shape: [n]}", "{kind: input, shape: [n, 4]}")
    path = folder / "lab.yaml"
    signature = "void solve(float a, const uchar4 *x, bool *y, int n)"
    path.write_text(path.read_text("utf-8").replace(SIGNATURE, f"signature: '{signature}'"), "utf-8")
    lab = load(folder)
    assert (lab.parameter("x").dtype, lab.parameter("y").dtype) == ("uint8", "uint8")
    assert lab.function is not None and lab.function.signature.spelled == signature


def test_an_extent_may_be_a_formula_of_the_sizes(edit: Callable[[str, str], Path]) -> None:
    lab = load(edit("{kind: in_out, shape: [n]}", "{kind: in_out, shape: [2, n // 2 + 1]}"))
    assert lab.parameter("y").extents_at({"n": 7}) == (2, 4)
    with pytest.raises(FileError, match=r"y.*\(2, 4\)"):
        Oracle(lab).case({"n": 7}, {"x": "float32", "y": "float32"})


def test_keys_of_a_function_are_refused_in_a_lab_of_kernels(tmp_path: Path) -> None:
    for part in ("assignments/transpose", "reference/transpose"):
        shutil.copytree(data_root() / part, tmp_path / part)
    path = tmp_path / "assignments/transpose/lab.yaml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("seed: 1", "seed: 1\nmemory: device"), "utf-8")
    with pytest.raises(FileError, match="interface: function"):
        load(path.parent)
    for kind in ("in_out", "scratch"):
        path.write_text(text.replace("{kind: input,", f"{{kind: {kind},"), "utf-8")
        with pytest.raises(FileError, match=r"kind: .*interface: function"):
            load(path.parent)
    path.write_text(text.replace("launch: {block: [32, 32], covers: [cols, rows]}\n", ""), "utf-8")
    with pytest.raises(FileError, match="missing key `launch`"):
        load(path.parent)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("float const *__restrict__ in", "const float *"),
        ("const float in[]", "const float *"),
        ("float *const out", "float *"),
        ("const int n", "int"),
        ("unsigned int n", "unsigned"),
        ("long long int n", "long long"),
        ("std::size_t n", "size_t"),
        ("unsigned char *pixels", "unsigned char *"),
        ("float **rows", "float **"),
        ("real *x", "float *"),
        ("std::vector<float> x", None),
    ],
)
def test_types_are_told_apart_however_they_are_written(text: str, spelled: str | None) -> None:
    found = arguments_of(text, {"real": "float"}.get)
    assert (found[0].spelled if found else None) == spelled


def test_a_signature_is_spelled_in_one_way() -> None:
    found = signature_of('extern "C" void solve (const float* in,float*out , int n);')
    assert found is not None
    assert found.spelled == "void solve(const float *in, float *out, int n)"
    assert found.arguments[0] == Argument("in", "float", 1, is_const=True)
    assert signature_of("void solve(const float *, int n)") is None


def test_a_second_call_has_other_data_and_another_factor() -> None:
    lab = load(data_root() / "assignments/saxpy")
    oracle, dtypes = Oracle(lab), {"x": "float32", "y": "float32"}
    first, right = oracle.case({"n": 8}, dtypes)
    second, _right = oracle.case({"n": 8}, dtypes, again=True)
    assert float(first["a"]) in (2.5, -0.75)
    assert -0.75 < float(second["a"]) < 2.5
    assert not (first["x"] == second["x"]).any()
    a, x, y = (np.asarray(first[name], np.float64) for name in "axy")
    assert abs(np.asarray(right["y"], np.float64) - (a * x + y)).max() < 1e-5
