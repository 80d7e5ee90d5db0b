"""Blocks and shared memory that depend on the sizes, read from host code as formulas."""

from __future__ import annotations

import pytest

from grader.lab import formula
from grader.submission.records import LaunchPlan, VariantBinding
from tests.submission.labs import LINE, bound

KERNEL = """__global__ void shared(float *in, float *out, int n)
{ extern __shared__ float s[]; s[threadIdx.x] = in[n]; out[0] = s[0]; }
"""

BYTES = "static size_t bytes(int threads, int n) { return threads * (n * n | 1) * sizeof(float); }\n"


def plan(host: str, kernel: str = KERNEL) -> LaunchPlan:
    found = bound(f"{kernel}{BYTES}int main(int argc, char **argv) {{ float *a, *b; {host} }}", LINE).bindings["shared"]
    assert isinstance(found, VariantBinding), found
    return found.interpretations[0].launch


@pytest.mark.parametrize(
    ("host", "at_96", "at_4096"),
    [
        ("int m = atoi(argv[1]); shared<<<m, m, 8>>>(a, b, m);", 96, 4096),
        ("const int m = 512; shared<<<dim3(m), dim3(m), 8>>>(a, b, m);", 96, 4096),
        ("int m = 512; int t = m < 1024 ? m : 1024; shared<<<m, t, 8>>>(a, b, m);", 96, 1024),
        ("int m = 512; int t = m > 1024 ? 1024 : m; shared<<<m, t, 8>>>(a, b, m);", 96, 1024),
        ("int m = 512; shared<<<m, std::min(m, 256), 8>>>(a, b, m);", 96, 256),
        ("int m = 512; dim3 block; block.x = m / 4; shared<<<m, block, 8>>>(a, b, m);", 24, 1024),
    ],
)
def test_blocks_that_depend_on_the_size(host: str, at_96: int, at_4096: int) -> None:
    formulas = plan(host).block_formula
    assert [formula.integer(formulas[0], {"n": n}) for n in (96, 4096)] == [at_96, at_4096]


def test_a_block_that_does_not_depend_on_the_size_has_no_formula() -> None:
    found = plan("int m = 512, t = 128; shared<<<m / t, t, 8>>>(a, b, m);")
    assert (found.block, found.block_formula) == ((128, 1, 1), ())


@pytest.mark.parametrize(
    ("host", "at_7"),
    [
        ("int m = 5, t = 256; shared<<<4, t, t * m * m * sizeof(float)>>>(a, b, m);", 256 * 49 * 4),
        ("int m = 5, t = 256; size_t bytes = (t + 2 * m) * sizeof(float); shared<<<4, t, bytes>>>(a, b, m);", 270 * 4),
        ("int m = 5; shared<<<4, 64, (size_t)m * 4>>>(a, b, m);", 28),
        ("int m = 5; shared<<<4, 64, 64 * (m * m | 1) * sizeof(float)>>>(a, b, m);", 64 * 49 * 4),
        ("int m = 6; shared<<<4, 64, (m + 31 & ~31) << (m % 2 ? 2 : 3)>>>(a, b, m);", 128),
        ("int m = 6; shared<<<4, 64, 64 * (m * m + !(m & 1 && m > 3)) * 4>>>(a, b, m);", 64 * 49 * 4),
        ("int m = 5; shared<<<4, 64, bytes(64, m + 1)>>>(a, b, m);", 64 * (8 * 8 | 1) * 4),
    ],
)
def test_shared_memory_that_depends_on_the_size(host: str, at_7: int) -> None:
    assert formula.integer(plan(host).shared_formula, {"n": 7, "threads": 1}) == at_7


def test_shared_memory_that_does_not_is_a_number() -> None:
    found = plan("int m = 5; shared<<<4, 64, 64 * sizeof(float)>>>(a, b, m);")
    assert (found.shared_bytes, found.shared_formula) == (256, "")


def test_constants_of_the_file_that_stand_for_the_size() -> None:
    kernel = KERNEL.replace("int n)", "int unused_)").replace(", int unused_", "").replace("in[n]", "in[N]")
    found = plan("shared<<<N, N, HALF * sizeof(float)>>>(a, b);", f"#define N 512\n#define HALF (N / 2)\n{kernel}")
    assert formula.integer(found.block_formula[0], {"n": 40}) == 40
    assert formula.integer(found.shared_formula, {"n": 40, "threads": 40}) == 80


def test_what_cannot_be_read_is_left_to_the_lab() -> None:
    found = plan("int m = 5; shared<<<4, pick(m), 8>>>(a, b, m);")
    assert found.block_formula == ()
