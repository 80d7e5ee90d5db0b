"""How long a kernel of a changed program may run: as long as it needs, as it was handed in, at that size."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from grader.repair.program import RunsLong, is_right
from grader.repair.screen import Budget
from grader.repair.symptom import LEAST_INSTRUCTIONS, MOST_INSTRUCTIONS


def limits(needed: dict[int, int], *, soon: bool = False, ends: str = "") -> dict[int, int]:
    """The limit at each of two sizes, of a kernel that took so many instructions at some of them; ends: why it ends."""
    given: dict[int, int] = {}

    def run_loaded(kernel: Any, loaded: Any, kind: str, sizes: dict[str, int], observe: bool, instructions: int) -> Any:
        given[sizes["n"]] = instructions
        outcome = SimpleNamespace(status="ok", issued=1, hazards=(), reason=ends, thread_instructions=1)
        return SimpleNamespace(kind=kind, sizes=sizes, outcome=outcome, is_right=True)

    planned = [("correct", {"n": 64}), ("correct", {"n": 512})]
    kernel: Any = SimpleNamespace(
        sizes=SimpleNamespace(planned=lambda *_of: planned),
        binding=SimpleNamespace(takes_sizes=True),
        load=lambda *_of: SimpleNamespace(entry="k", built=None),
        geometry=lambda _sizes: SimpleNamespace(grid=(1, 1, 1)),
    )
    trials: Any = SimpleNamespace(lab=SimpleNamespace(cases={"emulator": None}), programs=None, run_loaded=run_loaded)
    runs = [
        SimpleNamespace(
            kind="correct",
            sizes={"n": n},
            backend="emulator",
            outcome=SimpleNamespace(thread_instructions=count),
        )
        for n, count in needed.items()
    ]
    before: Any = SimpleNamespace(runs=runs)
    assert is_right(trials, kernel, before, Budget(10_000_000), soon=soon)
    return given


def test_a_kernel_that_takes_long_as_it_is_may_take_as_long_again() -> None:
    assert limits({512: 3 * MOST_INSTRUCTIONS}) == {64: MOST_INSTRUCTIONS, 512: 6 * MOST_INSTRUCTIONS}


def test_what_does_next_to_nothing_as_it_is_may_do_all_of_its_work() -> None:
    assert limits({64: 10, 512: 10}) == {64: MOST_INSTRUCTIONS, 512: MOST_INSTRUCTIONS}


def test_what_is_to_be_known_soon_is_put_off_where_it_takes_long() -> None:
    assert limits({512: 10}, soon=True) == {64: LEAST_INSTRUCTIONS, 512: LEAST_INSTRUCTIONS}
    # One that took as long as it is does not take long for that.
    assert limits({512: 3 * MOST_INSTRUCTIONS}, soon=True)[512] == 6 * MOST_INSTRUCTIONS
    with pytest.raises(RunsLong):
        limits({512: 10}, soon=True, ends="instructions")
