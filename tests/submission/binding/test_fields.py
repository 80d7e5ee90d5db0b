"""What launches hand over: fields of structs as they were seen, and what stands in another's place."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from grader.lab import labs
from grader.submission.binding.bind import bind
from grader.submission.folder import find_sources, read_sources
from grader.submission.kernels.records import Exchanged, Observed, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import VariantBinding

PROGRAM = """\
struct Task { const float *src; float *dst; int n; int count; };
__global__ void simple(Task t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < t.count) for (int k = 0; k < t.n * t.n; k++) t.dst[i * t.n * t.n + k] = t.src[i * t.n * t.n + k];
}
int main()
{
    int n = 5, count = 1000;
    GIVEN
    simple<<<4, 256>>>(t);
}
"""
READ = SeenArgument("", "void*", buffer="d_in", buffer_bytes=100_000, before="data")
WRITTEN = SeenArgument("", "void*", buffer="d_out", buffer_bytes=100_000, read_back=True)


@pytest.mark.parametrize(
    ("given", "arrays", "numbers", "wanted"),
    [
        ("Task t = {d_in, d_out, n, count};", (READ, WRITTEN), (5, 1000), None),
        (
            "Task t = {d_out, d_in, n, count};",
            (WRITTEN, READ),
            (5, 1000),
            Exchanged("src", "d_out", "dst", "d_in", "t", 10),
        ),
        (
            "Task t{d_in, d_out, count, n};",
            (READ, WRITTEN),
            (1000, 5),
            Exchanged("n", "count", "count", "n", "t", 10),
        ),
        (
            "Task t; t.src = d_in; t.dst = d_out; t.n = count; t.count = n;",
            (READ, WRITTEN),
            (1000, 5),
            Exchanged("n", "count", "count", "n", "t", 10),
        ),
    ],
    ids=["in their places", "arrays", "numbers", "numbers that are assigned"],
)
def test_fields_in_each_others_place_are_told_where_the_struct_gets_them(
    given: str,
    arrays: tuple[SeenArgument, SeenArgument],
    numbers: tuple[int, int],
    wanted: Exchanged | None,
    tmp_path: Path,
) -> None:
    (tmp_path / "batch.cu").write_text(PROGRAM.replace("GIVEN", given))
    inside = tuple(zip((0, 8), arrays, strict=True))
    argument = SeenArgument("t", "Task", raw=struct.pack("<QQii", 1 << 40, 2 << 40, *numbers), inside=inside)
    launch = SeenLaunch("simple", (), "batch.cu", 11, (4, 1, 1), (256, 1, 1), 0, (argument,))
    lab = labs.find("batch-square")
    found = find_sources(tmp_path / "batch.cu", lab.id, {lab.id})
    observed = Observed((SeenRun(("batch.cu",), (launch,), ended=True),))
    submission = bind(found, read_sources(found), lab, observed=observed)
    binding = submission.bindings["simple"]
    assert isinstance(binding, VariantBinding)
    assert binding.requested is not None
    assert binding.requested.exchanged == wanted
    # The kernel is read as it means its fields.
    assert binding.interpretations[0].roles == ("in", "out", "n", "count")


PRODUCT = """\
__device__ float first(const float *p) { return p[0]; }
__global__ void column(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < n; j++) {
        float s = 0;
        for (int k = 0; k < n; k++) s += first(a + i * n + k) * b[k * n + j];
        c[i * n + j] = s;
    }
}
int main()
{
    int n = 64;
    column<<<1, 64>>>(GIVEN, dC.get(), n);
}
"""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("dA.get(), dB.get()", None),
        ("dB.get(), dA.get()", Exchanged("a", "dB.get()", "b", "dA.get()")),
        ("first(), second()", None),
    ],
)
def test_arrays_that_one_function_allocates_are_called_as_the_launch_has_them(
    given: str, wanted: Exchanged | None, tmp_path: Path
) -> None:
    (tmp_path / "product.cu").write_text(PRODUCT.replace("GIVEN", given))
    arrays = [SeenArgument(name, "float*", buffer="p", buffer_bytes=4 * 64 * 64, before="data") for name in "abc"]
    arguments = (*arrays, SeenArgument("n", "int", value=64))
    launch = SeenLaunch("column", (), "product.cu", 14, (1, 1, 1), (64, 1, 1), 0, arguments)
    lab = labs.find("matmul")
    found = find_sources(tmp_path / "product.cu", lab.id, {lab.id})
    observed = Observed((SeenRun(("product.cu",), (launch,), ended=True),))
    binding = bind(found, read_sources(found), lab, observed=observed).bindings["column"]
    assert isinstance(binding, VariantBinding) and binding.requested is not None
    assert binding.requested.exchanged == wanted
