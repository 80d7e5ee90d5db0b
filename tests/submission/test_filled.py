"""Constant memory that host code fills, as it is compiled for grading."""

from __future__ import annotations

import struct

import pytest

from grader.lab.labs import find
from grader.submission.kernels.records import Observed, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import Submission, VariantBinding
from tests.submission.labs import bound

ARGUMENTS = (SeenArgument("in", "const float *"), SeenArgument("out", "float *"))
BODY = "{ out[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x] * %s; }"


def seen(**filled: bytes) -> Observed:
    launch = SeenLaunch("naive", (), "main.cu", 3, (2, 2, 1), (32, 32, 1), 0, ARGUMENTS, filled=tuple(filled.items()))
    return Observed((SeenRun(("main.cu",), (launch,), ended=True),))


def made(declaration: str, use: str, **filled: bytes) -> str:
    text = f"{declaration}\n__global__ void naive(const float *in, float *out) {BODY % use}\n"
    submission: Submission = bound(text, observed=seen(**filled))
    assert isinstance(submission.bindings["naive"], VariantBinding)
    return submission.program("main.cu")["main.cu"].split("\n")[0]


@pytest.mark.parametrize(
    ("declaration", "use", "content", "expected"),
    [
        (
            "__constant__ float w[2];",
            "w[0]",
            struct.pack("<2f", 0.5, -2),
            " = {0x1.0000000000000p-1f, -0x1.0000000000000p+1f}",
        ),
        ("static __constant__ double w;", "w", struct.pack("<d", 0.5), " = 0x1.0000000000000p-1"),
        ("__constant__ unsigned bias;", "bias", struct.pack("<I", 7), " = 7u"),
        # Memory of another kind, numbers that C++ does not write, bytes that are no such numbers, a value that it has.
        ("__device__ float w[2];", "w[0]", struct.pack("<2f", 1, 2), ""),
        ("__constant__ float w;", "w", struct.pack("<f", float("nan")), ""),
        ("__constant__ float w;", "w", b"123", ""),
        ("__constant__ float w = 3;", "w", struct.pack("<f", 1), ""),
        # Of a kernel that does not look at it.
        ("__constant__ float w[2];", "2", struct.pack("<2f", 1, 2), ""),
        # A whole number may be a size, which is not what it was in the program's own run.
        ("__constant__ int rows;", "rows", struct.pack("<i", 7), None),
        ("__constant__ int w[2];", "w[1]", struct.pack("<2i", 7, 8), " = {7, 8}"),
    ],
)
def test_what_was_seen_stands_where_it_is_declared(
    declaration: str, use: str, content: bytes, expected: str | None
) -> None:
    name = use.partition("[")[0] if use != "2" else "w"
    assert made(declaration, use, **{name: content}) == declaration.replace(";", f"{expected or ''};")


def test_of_several_contents_the_first_is_taken() -> None:
    launches = []
    for line, (name, number) in enumerate([("naive", 1), ("base", 2)], 4):
        filled = (("w", struct.pack("<f", number)),)
        launches.append(SeenLaunch(name, (), "main.cu", line, (2, 2, 1), (32, 32, 1), 0, ARGUMENTS, filled=filled))
    kernels = "".join(f"__global__ void {k}(const float *in, float *out) {BODY % 'w'}\n" for k in ("naive", "base"))
    seen_run = SeenRun(("main.cu",), tuple(launches))
    submission = bound(f"__constant__ float w;\n{kernels}", observed=Observed((seen_run,)))
    assert submission.program("main.cu")["main.cu"].startswith("__constant__ float w = 0x1.0000000000000p+0f;\n")


def test_what_the_memory_is_made_of_stays_as_it_is() -> None:
    declaration = "#define COLS 2\n#define ROWS 4\n__constant__ float w[COLS * 2];"
    text = f"{declaration}\n__global__ void naive(const float *in, float *out) {BODY % 'w[ROWS - COLS]'}\n"
    submission = bound(text, observed=seen(w=struct.pack("<4f", 1, 2, 3, 4)))
    found = submission.bindings["naive"]
    assert isinstance(found, VariantBinding)
    assert found.interpretations[0].constants == (("rows", "ROWS"),)
    assert dict(found.interpretations[0].pinned) == {"cols": 2}


def test_a_struct_with_a_fraction_is_filled_whole() -> None:
    lab = find("box-blur")
    text = (
        "struct Settings { int radius; float factor; };\n__constant__ Settings settings;\n"
        "__global__ void naive(const float *in, float *out, int n) "
        "{ int i = threadIdx.x; if (i < n) out[i] = in[i] * settings.factor + settings.radius; }\n"
    )
    launch = SeenLaunch(
        "naive", (), "main.cu", 9, (1, 1, 1), (32, 1, 1), 0, (), filled=(("settings", struct.pack("<if", 2, 0.5)),)
    )
    submission = bound(text, lab, observed=Observed((SeenRun(("main.cu",), (launch,)),)))
    made = submission.program("main.cu")["main.cu"].split("\n")
    assert made[:2] == [
        "struct Settings { int radius; float factor; };",
        "__constant__ Settings settings = {2, 0x1.0000000000000p-1f};",
    ]


def test_a_struct_of_sizes_is_given_those_of_each_case() -> None:
    text = (
        "typedef struct { int rows, cols; } Shape;\n__constant__ Shape shape;\n"
        "__global__ void naive(const float *in, float *out) { out[0] = in[shape.rows * shape.cols - 1]; }\n"
    )
    submission = bound(text, observed=seen(shape=struct.pack("<2i", 3, 5)))
    found = submission.bindings["naive"]
    assert isinstance(found, VariantBinding) and dict(found.interpretations[0].constants) == {
        "rows": "rows",
        "cols": "cols",
    }
    made = submission.program("main.cu", {"rows": 7, "cols": 9})["main.cu"]
    assert made.startswith("typedef struct { int rows = 7, cols = 9; } Shape;\n__constant__ Shape shape;\n")
