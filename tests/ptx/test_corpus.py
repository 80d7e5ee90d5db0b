"""Every kernel of the corpus against its oracle, and without false alarms."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import numpy as np
import pytest

from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.memory import Buffer, Device
from grader.ptx.records import LaunchReport
from tests.ptx.corpus.case import FOLDER
from tests.ptx.corpus_cases import CASES, Array, Case, Struct, buffers, pack
from tests.ptx.nvrtc import compile_ptx, header_options


@cache
def module(source: str, options: tuple[str, ...], debug: bool) -> Module:
    text = (FOLDER / source).read_text(encoding="utf-8")
    flags = [flag for option in options for flag in (header_options() if option == "headers" else (option,))]
    if "__int128" in text:
        flags.append("--device-int128")
    return parse(compile_ptx(text, options=[*flags, "-G"] if debug else flags))


def run(case: Case, debug: bool = False) -> tuple[list[Any], list[Array], LaunchReport]:
    """(arguments as they were, buffers afterwards, report)."""
    arguments = case.make_arguments(np.random.default_rng(zlib.crc32(case.name.encode())))
    device = Device()
    made = [device.buffer(f"buffer{k}", array) for k, array in enumerate(buffers(arguments))]
    waiting = iter(made)
    passed: list[Buffer | np.generic | bytes] = []
    for argument in arguments:
        if isinstance(argument, Struct):
            passed.append(pack(argument, (buffer.address for buffer in waiting)))
        else:
            passed.append(next(waiting) if isinstance(argument, np.ndarray) else argument)
    report = launch(
        module(case.source, case.options, debug),
        Launch(case.entry, case.grid, case.block, passed, device=device, shared_bytes=case.shared_bytes, observe=True),
    )
    results = [b.read(a.dtype, a.shape) for b, a in zip(made, buffers(arguments), strict=True)]
    return arguments, results, report


def assert_as_expected(case: Case, arguments: list[Any], results: list[Array]) -> None:
    before = buffers(arguments)
    expected: dict[int, Array] = dict(enumerate(before))
    assert case.oracle is not None
    # Structs are handed over as they are; plain buffers are numbered among all buffers.
    with np.errstate(all="ignore"):
        expected |= {k % len(before): array for k, array in case.oracle(arguments).items()}
    for number, (want, got) in enumerate(zip((expected[k] for k in range(len(before))), results, strict=True)):
        if case.exact:
            assert want.dtype == got.dtype, number
            if got.dtype.kind == "f":
                same = (want.view(f"u{want.itemsize}") == got.view(f"u{got.itemsize}")) | np.isnan(want) & np.isnan(got)
            else:
                same = want == got
            assert same.all(), (number, np.argwhere(~same)[:5], want[~same][:5], got[~same][:5])
        else:
            size = np.maximum(np.abs(want), 1.0) if case.absolute else np.abs(want)
            gap = np.abs(want - got.astype(np.float64)) / np.spacing(size.astype(got.dtype)).astype(np.float64)
            bad = ~((gap <= case.ulps) | (np.isnan(want) & np.isnan(got)) | (want == got))
            assert not bad.any(), (number, np.argwhere(bad)[:5], want[bad][:5], got[bad][:5], gap[bad][:5])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results_are_right_and_nothing_is_reported(case: Case) -> None:
    arguments, results, report = run(case)
    if case.race_free:
        assert report.hazards == []
    assert_as_expected(case, arguments, results)


@pytest.mark.parametrize("case", [c for c in CASES if "headers" not in c.options], ids=lambda case: case.name)
def test_debug_builds_do_the_same(case: Case) -> None:
    arguments, results, report = run(case, debug=True)
    if case.race_free:
        assert report.hazards == []
    assert_as_expected(case, arguments, results)
