"""What is launched once only comes out as if it were done anew, whatever was edited in between."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.launching.backend import BufferArgument, Code, LaunchOutcome, LaunchRequest, ScalarArgument
from grader.launching.emulator import Emulator
from grader.launching.programs import RememberedLaunches
from tests.ptx.nvrtc import compile_ptx

HELPER = """\
__device__ float doubled(float x)
{
    return 2 * x;
}
"""
CONFLICT = """\
extern "C" __global__ void conflict(float *out, int n)
{
    __shared__ float tile[32][32];
    tile[threadIdx.x][threadIdx.y] = doubled(threadIdx.x);
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
FAULTS = """\
extern "C" __global__ void faults(float *out, int n)
{
    __shared__ float last;
    if (threadIdx.x == 0)
        last = n;
    out[threadIdx.x] = last;
    out[n + threadIdx.x] = (float)(clock64() ^ (long long)out);
}
"""
ENDLESS = """\
extern "C" __global__ void endless(float *out, int n)
{
    while (n)
        out[threadIdx.x] = n;
}
"""
VARIABLE = "__device__ float more[3];\n\n"
ANOTHER = """\
__constant__ int first[5];
extern "C" __global__ void other(int *x) { __shared__ int a[9]; a[*x] = 1; *x = a[first[2]]; }
"""
KERNELS = {"conflict": CONFLICT, "faults": FAULTS, "endless": ENDLESS}


@cache
def code(text: str) -> Code:
    return Code(text, compile_ptx(text))


def request(entry: str, n: int = 1000) -> LaunchRequest:
    out = BufferArgument("out", (1024,), "float32", np.zeros(1024, np.float32), True)
    return LaunchRequest(entry, (1, 1, 1), (32, 8, 1), 0, (out, ScalarArgument(n, "int32")), observe=True)


def plain(outcome: LaunchOutcome) -> object:
    """All of an outcome, to be compared."""
    outputs = {name: array.tobytes() for name, array in outcome.outputs.items()}
    return outputs, dataclasses.replace(outcome, outputs={})


def shifted(text: str, lines: int) -> str:
    return "\n" * lines + text


EDITS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: shifted(text, 1),
    lambda text: shifted(text, 7),
    lambda text: text.replace("__syncthreads();\n", "__syncthreads();\n\n"),
    lambda text: text.replace("out[threadIdx.x] = last;\n    out", "out[threadIdx.x] = last; out"),
    lambda text: text.replace("return 2 * x", "return 3 * x"),
    lambda text: text.replace("return 2 * x;", "\n return 2 * x;"),
    lambda text: text.replace("tile[32][32]", "tile[32][33]"),
    lambda text: text.replace("clock64()", "clock64() + 1"),
    lambda text: text.replace("while (n)", "while (n > 1)"),
    lambda text: text.replace('extern "C" __global__ void faults', VARIABLE + 'extern "C" __global__ void faults'),
    lambda text: ANOTHER + text,
    lambda text: HELPER.replace("doubled", "unused") + text,
)
ORDERS = st.permutations(list(KERNELS))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(ORDERS, st.sampled_from(EDITS), st.sampled_from([1000, 0])), min_size=2, max_size=5))
def test_an_edit_shows_nothing_of_what_was_before(edits: list[tuple[list[str], Callable[[str], str], int]]) -> None:
    remembered = RememberedLaunches()
    for order, edit, n in edits:
        text = edit(HELPER + "".join(KERNELS[name] for name in order))
        warm, fresh = Emulator(remembered), Emulator()
        for entry in (*order, "conflict", "faults"):
            given_twice = [emulator.run(code(text), request(entry, n)) for emulator in (warm, fresh)]
            assert plain(given_twice[0]) == plain(given_twice[1]), text


def test_what_did_not_change_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.launching.emulator import _Launches

    made: list[str] = []
    run = _Launches.run

    def counted(self: _Launches, request: LaunchRequest) -> LaunchOutcome:
        made.append(request.entry)
        return run(self, request)

    monkeypatch.setattr(_Launches, "run", counted)
    remembered = RememberedLaunches()
    text = HELPER + CONFLICT + FAULTS

    def again(changed: str) -> tuple[list[str], dict[str, LaunchOutcome]]:
        made.clear()
        emulator = Emulator(remembered)
        found = {entry: emulator.run(code(changed), request(entry)) for entry in ("conflict", "faults")}
        return list(made), found

    launched, before = again(text)
    assert launched == ["conflict", "faults"]
    launched, after = again("// above\n\n" + text)
    assert launched == []
    counted_lines = [
        [counter.line for counter in found["conflict"].counters.by_line]  # type: ignore[union-attr]
        for found in (before, after)
    ]
    assert counted_lines == [[8, 10, 10], [10, 12, 12]]
    assert [h.line for h in after["faults"].hazards] == [h.line + 2 for h in before["faults"].hazards] != []
    # A kernel between the others, and one that is changed.
    assert again(HELPER + CONFLICT + ENDLESS + FAULTS)[0] == []
    assert again(text.replace("tile[32][32]", "tile[32][33]"))[0] == ["conflict"]
    assert again(text.replace("2 * x", "3 * x"))[0] == ["conflict"]
    # Another number, another launch.
    emulator = Emulator(remembered)
    made.clear()
    emulator.run(code(text), request("conflict", 7))
    assert made == ["conflict"]


def test_what_is_kept_is_bounded() -> None:
    remembered = RememberedLaunches(most_bytes=3 * 4096)
    emulator = Emulator(remembered)
    for n in range(8):
        emulator.run(code(HELPER + CONFLICT), request("conflict", n))
        assert remembered.bytes <= 3 * 4096
    assert 1 <= len(remembered) <= 3
