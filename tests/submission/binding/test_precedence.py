"""Who is believed: one list for every fact of a kernel and its launch, and what binding says of who said it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import pytest

from grader.submission.binding.precedence import OF_LAUNCHES, Fact, first, weakest_of
from grader.submission.files.submission_yaml import LabSettings, VariantSettings
from grader.submission.records import ORIGINS, Origin, Origins, VariantBinding
from tests.submission.labs import LINE, bound

SHARED = """template <int TILE, typename V = float, int HALF = TILE / 2>
__global__ void shared(const V *in, V *out, int n) {
    extern __shared__ float part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = in[i]; __syncthreads(); if (i < n) out[i] = part[threadIdx.x];
}
"""


def origins(text: str, settings: VariantSettings | None = None) -> Origins:
    found = bound(text, LINE, LabSettings(variants={"shared": settings}) if settings else None).bindings["shared"]
    assert isinstance(found, VariantBinding)
    return found.interpretations[0].origins


@pytest.mark.parametrize("count", range(1, len(ORIGINS) + 1))
def test_the_first_in_the_list_that_knows_is_believed(count: int) -> None:
    assert ORIGINS == ("stated", "observed", "read", "inferred", "lab")
    subsets: list[tuple[Origin, ...]] = list(combinations(ORIGINS, count))
    for knowing in subsets:
        known: dict[Origin, Origin] = {origin: origin for origin in knowing}
        sayings: dict[Origin, Callable[[], Origin | None]] = {o: partial(known.get, o) for o in reversed(ORIGINS)}
        assert first(sayings, otherwise="lab") == Fact(knowing[0], knowing[0])
    assert first({"read": lambda: None}, otherwise=7) == Fact(7, "lab")
    # What is known and is nothing is known all the same.
    assert first({"read": lambda: 0, "inferred": lambda: 1}, otherwise=2) == Fact(0, "read")
    about: dict[Origin, Callable[[], str | None]] = {"stated": lambda: "said", "observed": lambda: "seen"}
    assert first(about, otherwise="") == Fact("said", "stated")
    assert first(about, otherwise="", among=OF_LAUNCHES) == Fact("seen", "observed")
    assert weakest_of(["stated", "inferred", "read"]) == "inferred"


def test_host_code_says_how_a_kernel_is_launched_and_instantiated() -> None:
    main = "int main() { shared<64, float, 32><<<(n + 63) / 64, 64, 64 * sizeof(float)>>>(p, q, n); }"
    assert origins(SHARED + main) == Origins(
        kernel="inferred",
        arguments="inferred",
        template="read",
        block="read",
        tile="read",
        covers="lab",
        shared_bytes="read",
    )


def test_without_host_code_the_kernel_and_then_the_lab_say() -> None:
    found = origins(SHARED)
    # What a block covers along the axis is what the kernel multiplies `blockIdx.x` by.
    assert (found.template, found.block, found.tile, found.shared_bytes) == ("lab", "lab", "inferred", "lab")
    text = SHARED.replace("int TILE,", "int TILE = 64,").replace(
        "extern __shared__ float part[]", "__shared__ float part[TILE]"
    )
    found = origins(text.replace("blockDim.x", "TILE"))
    assert (found.template, found.block, found.shared_bytes) == ("inferred", "inferred", "inferred")


def test_of_a_template_the_weakest_argument_counts() -> None:
    main = "int main() { shared<64><<<n / 64, 64>>>(p, q, n); }"
    assert origins(SHARED + main).template == "inferred"


def test_what_the_student_states_outweighs_host_code() -> None:
    main = "int main() { shared<64, float, 32><<<(n + 63) / 64, 64, 64 * sizeof(float)>>>(p, q, n); }"
    stated = VariantSettings(kernel="shared", arguments=["in", "out", "n"], block=[128], shared_bytes=512)
    assert origins(SHARED + main, stated) == Origins(
        kernel="stated",
        arguments="stated",
        template="read",
        block="stated",
        # Where the settings say nothing of it, the host code's division is still read.
        tile="read",
        covers="lab",
        shared_bytes="stated",
    )
