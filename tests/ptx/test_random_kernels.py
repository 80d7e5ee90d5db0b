"""Control flow at random against Python threads: results to the bit, and no fault where there is none."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_the_kernels_have_what_is_tried() -> None:
    text = "".join(Program(seed).source for seed in range(SEEDS))
    for word in ("if (", "else", "for (", "break", "continue", "__syncthreads"):
        assert text.count(word) >= 10, word
