"""Kernels in the styles of textbook chapters: accepted, right, without false alarm, and no barrier goes unmissed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import LimitExceeded, Limits
from grader.ptx.memory import Device
from grader.ptx.records import LaunchReport
from tests.ptx.corpus.case import Case
from tests.ptx.nvrtc import compile_ptx, header_options
from tests.ptx.textbook.cases import CASES as CHAPTERS
from tests.ptx.textbook.idioms import IDIOMS

CASES = [*CHAPTERS, *IDIOMS]

SYNC = re.compile(
    r"__syncthreads\(\);|__syncwarp\(m?\);|__threadfence\(\);|block\.sync\(\);|tile\.sync\(\);|cg::wait\(block\);"
    r"|(?:if \(step < 4\) )?grid\.sync\(\);"
    r"|__threadfence_block\(\);|wait_but\(\d\);|meet\([^;]*\);|wait_for\(&[^;]*\);|wait_late\(token\);"
    r"|fence_before_flag\(\);"
    r"|bar\.arrive_and_wait\(\);|(?:if \(round\) )?(?:full|empty)->arrive_and_wait\(\);"
)
NOT_NEEDED = (" /* unused */", " /* acquire */")
"""Behind a barrier: one that orders nothing; a fence that the emulator does not ask for."""


def launched(case: Case, text: str) -> tuple[LaunchReport, list[Any], list[Any]]:
    """The report, the arguments as they were, and what buffers hold afterwards."""
    options = header_options() if case.options else ()
    device = Device()
    given = case.make_arguments(np.random.default_rng(zlib.crc32(case.name.encode())))
    passed: list[Any] = [device.buffer(f"p{k}", a) if isinstance(a, np.ndarray) else a for k, a in enumerate(given)]
    what = Launch(
        "k", case.grid, case.block, passed,
        cooperative="this_grid" in text,
        device=device, shared_bytes=case.shared_bytes, observe=True,
        limits=Limits(instructions=50_000_000, seconds=600),
    )  # fmt: skip
    report = launch(parse(compile_ptx(text, options=options)), what)
    results = [p.read(a.dtype, a.shape) for p, a in zip(passed, given, strict=True) if isinstance(a, np.ndarray)]
    return report, given, results


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow if c.options else ()) for c in CASES], ids=lambda case: case.name
)
def test_accepted_right_and_no_false_alarm(case: Case) -> None:
    report, given, results = launched(case, case.text)
    assert case.oracle is not None
    for number, expected in case.oracle(given).items():
        np.testing.assert_array_equal(results[number], expected)
    assert report.hazards == []


def without() -> Iterator[Any]:
    """Each kernel with each of its barriers and fences taken out."""
    for case in CASES:
        for found in SYNC.finditer(case.text):
            if not case.text.startswith(NOT_NEEDED, found.end()):
                line = case.text.count("\n", 0, found.start()) + 1
                text = case.text[: found.start()] + ";" + case.text[found.end() :]
                yield pytest.param(case, text, id=f"{case.name}-{line}-{found.start()}")


@pytest.mark.slow
@pytest.mark.parametrize(("case", "text"), list(without()))
def test_every_barrier_is_missed(case: Case, text: str) -> None:
    try:
        report, _given, _results = launched(case, text)
    except LimitExceeded as error:
        assert error.kind in ("deadlock", "endless")
        return
    assert {h.kind for h in report.hazards} & {"race", "uninitialized", "barrier_divergence"}


def test_enough_of_them() -> None:
    assert len(CASES) >= 50 and len({case.name for case in CASES}) == len(CASES)
    assert len(list(without())) >= 100
