"""Control flow at random against Python threads: results to the bit, and no fault where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.ptx.access import Access
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.observers.interface import Observer
from grader.ptx.values import Lanes
from tests.ptx.random_kernels import Program
from tests.ptx.running import run

SEEDS = 60


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_kernel_does_what_its_threads_would_do_alone(seed: int) -> None:
    program = Program(seed)
    a = np.random.default_rng(seed).integers(0, 1 << 32, 64).astype(np.uint32)
    result = run(program.source, 2, program.threads, a, np.zeros(2 * program.threads, np.uint32))
    assert result[1].tolist() == program.expected(2, a.tolist()), program.source
    assert result.hazards == [], program.source


class Seen(Observer):
    """What is carried out, and where it goes."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def executed(self, instructions: tuple[Instruction, ...], lanes: Lanes) -> None:
        self.events.append(([i.text for i in instructions], lanes.ids.tolist()))

    def access(self, event: Access) -> None:
        self.events.append((event.instruction.text, event.address.offsets().tolist()))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_without_its_data_a_kernel_does_the_same_at_the_same_places(seed: int) -> None:
    program = Program(seed)
    a = np.random.default_rng(seed).integers(0, 1 << 32, 64).astype(np.uint32)
    whole, without = Seen(), Seen()
    for seen in (whole, without):
        arrays = a, np.zeros(2 * program.threads, np.uint32)
        run(program.source, 2, program.threads, *arrays, observers=[seen], moves_no_data=seen is without)
    assert whole.events == without.events


@pytest.mark.parametrize(
    ("value", "is_stored"),
    [("a[i] * 2", False), ("i + n", False), ("a[a[i]]", True), ("1 + atomicAdd(out + 64, a[i])", True)],
)
def test_without_its_data_nothing_is_stored_but_what_may_decide(value: str, is_stored: bool) -> None:
    source = f"""
extern "C" __global__ void k(const unsigned* a, unsigned* out, unsigned n) {{
    unsigned i = threadIdx.x;
    out[i] = {value};
}}
"""
    a = np.arange(64, dtype=np.uint32)[::-1].copy()
    for moves_no_data in (False, True):
        out = run(source, 1, 64, a, np.zeros(65, np.uint32), 5, moves_no_data=moves_no_data)[1]
        assert out[:64].any() == (is_stored or not moves_no_data)


def test_the_kernels_have_what_is_tried() -> None:
    text = "".join(Program(seed).source for seed in range(SEEDS))
    for word in ("if (", "else", "for (", "break", "continue", "__syncthreads"):
        assert text.count(word) >= 10, word


def test_without_its_data_an_atomic_operation_finds_what_was_stored() -> None:
    source = """
extern "C" __global__ void k(unsigned* out) {
    __shared__ unsigned next;
    if (threadIdx.x == 0) next = blockIdx.x * 32 + 5;
    __syncthreads();
    out[atomicAdd(&next, 1)] = 1;
}
"""
    whole, without = Seen(), Seen()
    for seen in (whole, without):
        run(source, 2, 32, np.zeros(80, np.uint32), observers=[seen], moves_no_data=seen is without)
    assert whole.events == without.events
