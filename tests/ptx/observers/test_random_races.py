"""The race detector against a comparison of all pairs of accesses: the first line that races is the one it names."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from tests.ptx.running import run

BLOCKS, THREADS, ELEMENTS = 3, 96, 2
LINES = {
    "load": 'asm volatile("ld.{0}.s32 %0, [%1];" : "=r"(x) : "{1}"(m + {2}) : "memory");',
    "store": 'asm volatile("st.{0}.s32 [%0], %1;" :: "{1}"(m + {2}), "r"(x) : "memory");',
    "atomic": 'asm volatile("red.{0}.add.s32 [%0], %1;" :: "{1}"(m + {2}), "r"(1) : "memory");',
}


@dataclass(frozen=True)
class Step:
    """A line: "load", "store" or "atomic" of an element by some threads, or "block" or "warp" (a barrier)."""

    kind: str
    element: int = 0
    block: int | None = None
    low: int = 0
    high: int = THREADS

    def threads(self) -> list[tuple[int, int]]:
        return [(b, t) for b in range(BLOCKS) if self.block in (None, b) for t in range(self.low, self.high)]

    def text(self, space: str) -> str:
        if self.kind in ("block", "warp"):
            return "__syncthreads();" if self.kind == "block" else "__syncwarp();"
        where = f"t >= {self.low} && t < {self.high}" + ("" if self.block is None else f" && b == {self.block}")
        offset = 4 * self.element
        return f"if ({where}) " + LINES[self.kind].format(space, "l" if space == "global" else "r", offset)


def program(seed: int) -> list[Step]:
    pick = random.Random(seed)
    steps = []
    for _ in range(pick.randrange(4, 14)):
        kind = pick.choice(["load"] * 5 + ["store", "atomic", "atomic", "block", "warp", "warp"])
        low, high = pick.choice(
            [(0, 96), (0, 32), (32, 64), (64, 96), *([(k, k + 1) for k in (0, 31, 32, 40, 95)] * 2)]
        )
        if kind == "store":
            high = low + 1
        steps.append(Step(kind, pick.randrange(ELEMENTS), pick.choice([None, 0, 1, 2]), low, high))
    return steps


def first_race(steps: list[Step], space: str) -> int | None:
    """Number of the first step one of whose accesses conflicts with one made before, or with another of the step."""
    blocks = warps = 0
    made: list[tuple[str, int, tuple[int, int], int, int]] = []
    for number, step in enumerate(steps):
        if step.kind in ("block", "warp"):
            blocks += step.kind == "block"
            warps += step.kind == "warp"
            continue
        now = [(step.kind, step.element, thread, blocks, warps) for thread in step.threads()]
        for kind, element, (block, thread), _, _ in now:
            for other_kind, other_element, (other_block, other_thread), epoch, segment in made + now:
                if (block, thread) == (other_block, other_thread) or element != other_element:
                    continue
                if kind == other_kind and kind != "store":
                    continue
                if block == other_block and epoch != blocks:
                    continue
                if block == other_block and thread // 32 == other_thread // 32 and segment != warps:
                    continue
                if block != other_block and space == "shared":
                    continue
                return number
        made += now
    return None


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("seed", range(60))
def test_the_first_race_is_found_and_none_before_it(space: str, seed: int) -> None:
    steps = program(seed)
    memory = "long long m = (long long)a" if space == "global" else "unsigned m = __cvta_generic_to_shared(s)"
    source = 'extern "C" __global__ void k(int* a) {\n'
    source += f"__shared__ int s[{ELEMENTS}]; int t = threadIdx.x, b = blockIdx.x, x = 0; {memory};\n"
    source += "\n".join(step.text(space) for step in steps) + "\n}"
    hazards = run(source, BLOCKS, THREADS, np.zeros(ELEMENTS, np.int32)).hazards
    lines = sorted(hazard.line for hazard in hazards if hazard.kind == "race")
    expected = first_race(steps, space)
    assert lines[:1] == ([] if expected is None else [expected + 3]), source


def test_the_programs_are_of_both_kinds() -> None:
    for space in ("global", "shared"):
        found = [first_race(program(seed), space) for seed in range(60)]
        assert 10 <= sum(race is None for race in found) <= 50
