"""Loops that are carried out at once give what their iterations give one by one: to the bit, and to the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.ptx import Device, Launch, LimitExceeded, Limits, Module, launch, parse
from grader.ptx.machine.batch import Group
from grader.ptx.native import counted_loops as loop_code
from grader.ptx.native import counted_runner
from grader.ptx.native.counted_runner import CountedLoop
from grader.ptx.observers.interface import Observer
from tests.ptx.running import Bytes, compiled

RNG = np.random.default_rng(11)
FLOATS = RNG.standard_normal(64 * 64).astype(np.float32)
INTS = RNG.integers(-(2**31), 2**31, 64 * 64).astype(np.int32)
SPECIAL = np.array(
    [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-40, 1.5e-38, 3.4e38, -3.4e38, 1.0], np.float32
)
K = 'extern "C" __global__ void k'


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is too short."""
    monkeypatch.setattr(counted_runner, "PATIENCE", 0)
    monkeypatch.setattr(counted_runner, "FEWEST_TRIPS", 1)


def one_launch(
    module: Module, shortened: bool, shape: tuple[Any, Any], arguments: Sequence[Any], more: Any
) -> tuple[Any, int]:
    """All that comes of a launch, and how many iterations were not carried out one by one."""
    device, trips = Device(), 0
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray | Bytes):
            contents = argument if isinstance(argument, np.ndarray) else int(argument)
            passed.append(device.buffer(f"arg{len(passed)}", contents))
        else:
            passed.append(np.int32(argument) if isinstance(argument, int) else argument)
    plain = CountedLoop.__call__

    def counted(self: CountedLoop, group: Group) -> bool:
        nonlocal trips
        before = group.batch.budget.turns
        done = shortened and plain(self, group)
        trips += group.batch.budget.turns - before
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CountedLoop, "__call__", counted)
        try:
            options = {"observe": True, "device": device, **more}
            report = asdict(launch(module, Launch(module.entries()[0], *shape, passed, **options)))
            # Iterations that are carried out at once are none of the interpreter's steps, and count less to the limit.
            del report["steps"]
            assert trips or report["charged"] == report["thread_instructions"]
            del report["charged"]
        except LimitExceeded as error:
            report = {"error": f"{error.kind} {error.line} {error}"}
    buffers = [b for b, a in zip(passed, arguments, strict=True) if isinstance(a, np.ndarray | Bytes)]
    return (report, [b.read(np.uint8).tobytes() for b in buffers], device.cycles), trips


def shortened(source: str | Module, grid: Any, block: Any, *arguments: Any, **more: Any) -> tuple[dict[str, Any], int]:
    """(report, iterations carried out at once) of a launch, which is compared with one that does without."""
    module = compiled(source) if isinstance(source, str) else source
    shape = ((grid,) if isinstance(grid, int) else grid, (block,) if isinstance(block, int) else block)
    expected, none = one_launch(module, False, shape, arguments, more)
    got, trips = one_launch(module, True, shape, arguments, more)
    assert none == 0
    assert got == expected
    return got[0], trips


PRODUCT = (
    K + "(const float* a, const float* b, float* c, int n) {"
    " int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; float sum = 0.0f;"
    " if (x < n && y < n) { for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x]; c[y * n + x] = sum; } }"
)


@pytest.mark.parametrize("observe", [True, False])
@pytest.mark.parametrize("block", [(16, 16), (32, 8), (64, 4), (8, 32)])
def test_a_product(block: tuple[int, int], observe: bool) -> None:
    grid = (64 // block[0], 64 // block[1])
    report, trips = shortened(PRODUCT, grid, block, FLOATS, FLOATS[::-1].copy(), Bytes(4 * 4096), 64, observe=observe)
    assert trips == 16  # unrolled by four
    assert report["hazards"] == []
    assert bool(report["counters"]["by_line"]) == observe


@pytest.mark.parametrize("n", [61, 62, 63])
def test_sizes_that_nothing_divides(n: int) -> None:
    """Two loops, the second of n % 4 iterations; threads outside have left, and lanes do not come in fours."""
    _, trips = shortened(PRODUCT, (4, 4), (16, 16), FLOATS, FLOATS[::-1].copy(), Bytes(4 * 4096), n)
    assert trips == n // 4 + n % 4


@pytest.mark.parametrize(
    ("body", "shortens"),
    [
        ("for (int k = 0; k < n; k++) s = s * a[k + t % 3] + a[t];", True),
        ("for (int k = 0; k < n; k++) s = __fmaf_rn(s, 0.5f, a[k * 2 + t]);", True),
        ("for (int k = n - 1; k >= 0; k--) s += a[k + t % 16] * 2.0f;", True),
        ("float r = 1.0f; for (int k = 0; k < n; k++) { s += a[t + k]; r = __fmul_rn(r, a[k]); } s += r;", True),
        ("for (long long k = 0; k < n; k++) s += a[k * 5 + t];", True),
        # Threads that move by steps of their own, or all load the same; addresses that wrap around; an exit each.
        ("for (int k = 0; k < n; k++) s += a[(n - k) * (t & 15)];", False),
        ("for (int k = 0; k < n; k++) s += a[k];", False),
        ("for (int k = 0; k < n; k++) s -= a[(t * 7 + k * 3) % 64 + k];", False),
        ("for (int k = 0; k < t % 40; k++) s += a[k + t];", False),
        ("for (int k = 0; s < 3; k++) s += fabsf(a[k + t % 2048]) + 0.1f;", False),
    ],
)
def test_other_bodies(body: str, shortens: bool) -> None:
    source = K + "(const float* a, float* c, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.5f;"
    source += body + " c[t] = s; }"
    _, trips = shortened(source, 8, 256, FLOATS, Bytes(4 * 2048), 37)
    assert (trips > 0) == shortens


def test_whole_numbers() -> None:
    source = K + "(const int* a, const int* b, int* c, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x, s = 7;"
    source += " for (int k = 0; k < n; k++) s += a[k + t] * b[k] - a[t * 2 + k]; c[t] = s; }"
    _, trips = shortened(source, 8, 160, INTS, INTS[::-1].copy(), Bytes(4 * 1280), 41)
    assert trips > 0


def test_numbers_that_are_none_and_numbers_close_to_zero() -> None:
    """NaNs have a GPU's bits, and nothing is flushed to zero."""
    a = np.resize(SPECIAL, 4096)
    b = RNG.permutation(np.resize(SPECIAL, 4096)).astype(np.float32)
    shortened(PRODUCT, (4, 4), (16, 16), a, b, Bytes(4 * 4096), 64)
    tiny = (FLOATS * np.float32(1e-22)).astype(np.float32)
    shortened(PRODUCT, (4, 4), (16, 16), tiny, tiny[::-1].copy(), Bytes(4 * 4096), 64)
    halves = (RNG.integers(-(2**12), 2**12, (2, 4096)) / 2**11).astype(np.float32)
    shortened(PRODUCT, (4, 4), (16, 16), halves[0], halves[1], Bytes(4 * 4096), 64)


@pytest.mark.parametrize("elements", [4095, 4000, 64])
def test_what_lies_outside_is_told_as_ever(elements: int) -> None:
    report, _ = shortened(PRODUCT, (4, 4), (16, 16), FLOATS, FLOATS[:elements].copy(), Bytes(4 * 4096), 64)
    assert {hazard["kind"] for hazard in report["hazards"]} == {"out_of_bounds"}


def test_what_nobody_wrote_is_told_as_ever() -> None:
    report, _ = shortened(PRODUCT, (4, 4), (16, 16), FLOATS, Bytes(4 * 4096), Bytes(4 * 4096), 64)
    assert {hazard["kind"] for hazard in report["hazards"]} == {"uninitialized"}


def test_whoever_writes_later_to_what_a_loop_has_read_is_in_a_race() -> None:
    source = K + "(float* a, float* c, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;"
    source += "\n for (int k = 0; k < n; k++) s += a[k + t % 2];\n c[t] = s;\n if (t == 77) a[5] = s; }"
    report, trips = shortened(source, 8, 256, FLOATS, Bytes(4 * 2048), 64)
    assert trips == 16
    assert {hazard["kind"] for hazard in report["hazards"]} == {"race"}


def test_loops_after_a_write_to_what_they_read() -> None:
    source = K + "(float* a, float* c, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;"
    source += "\n if (t == 77) a[5] = s;\n for (int k = 0; k < n; k++) s += a[k + t % 2];\n c[t] = s; }"
    report, trips = shortened(source, 8, 256, FLOATS, Bytes(4 * 2048), 64)
    assert trips == 16
    assert {hazard["kind"] for hazard in report["hazards"]} == {"race"}


@pytest.mark.parametrize("limits", [Limits(instructions=200_000), Limits(issued=150)])
def test_limits_end_it_where_they_would(limits: Limits) -> None:
    report, _ = shortened(PRODUCT, (4, 4), (16, 16), FLOATS, FLOATS, Bytes(4 * 4096), 64, limits=limits)
    assert report["error"].startswith("instructions 1 ")


def test_iterations_at_once_count_less_to_the_limit() -> None:
    shape, arguments = ((4, 4), (16, 16)), (FLOATS, FLOATS, Bytes(4 * 4096), 64)
    options = {"limits": Limits(instructions=400_000)}
    # Not the module of the test before, whose loop a limit has ended.
    module = compiled(PRODUCT.replace("* b", " * b"))
    (report, *_), trips = one_launch(module, True, shape, arguments, options)
    assert trips
    assert report["thread_instructions"] > 1_000_000
    (report, *_), _ = one_launch(module, False, shape, arguments, options)
    assert report["error"].startswith("instructions 1 ")


def test_whoever_wants_to_see_every_access_does() -> None:
    class Counter(Observer):
        seen = 0

        def access(self, event: Any) -> None:
            self.seen += 1

    counter = Counter()
    _, trips = shortened(PRODUCT, (4, 4), (16, 16), FLOATS, FLOATS, Bytes(4 * 4096), 64, observers=[counter])
    assert trips == 0
    assert counter.seen == 2 * (2 * 64 + 1)


@pytest.mark.parametrize("wasm", [True, False])
def test_what_is_not_worth_it_or_not_possible_is_found_out_once(monkeypatch: pytest.MonkeyPatch, wasm: bool) -> None:
    looked = []
    plain = counted_runner.CountedLoop._progress

    def counted(*args: Any) -> counted_runner.Progress:
        looked.append(args)
        return plain(*args)

    monkeypatch.setattr(counted_runner.CountedLoop, "_progress", counted)
    if wasm:
        monkeypatch.setattr(counted_runner, "PATIENCE", 10**9)
    else:
        monkeypatch.setattr(loop_code.Module, "of", lambda form, shape: None)
    _, trips = shortened(PRODUCT.replace("* b", "*b"), (4, 4), (16, 16), FLOATS, FLOATS, Bytes(4 * 4096), 64)
    assert trips == 0
    assert len(looked) == 1


WORDS = ("s32", "u32")


@st.composite
def loops(draw: st.DrawFn) -> str:
    """PTX of a kernel of 2,048 threads with one loop of random addressing and arithmetic."""
    start = draw(st.integers(-3, 40))
    step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
    trips = draw(st.integers(1, 30))
    word = draw(st.sampled_from(WORDS))
    down = draw(st.booleans())
    # Addresses: base + 4 · (t · spread + k · stride), by way of 32 or of 64 bits.
    lines: list[str] = []
    floats = ["%f0", "%f1", "%f2"]
    for number in range(draw(st.integers(1, 3))):
        spread, stride = draw(st.sampled_from([0, 1, 2, 5])), draw(st.sampled_from([0, 1, 4, -1]))
        offset = 4 * draw(st.integers(-2, 60))
        a, b = f"%r{10 + 2 * number}", f"%r{11 + 2 * number}"
        d, e = f"%rd{10 + 2 * number}", f"%rd{11 + 2 * number}"
        lines += [f"mul.lo.s32 {a}, %r1, {spread};", f"mad.lo.s32 {b}, %r2, {stride}, {a};"]
        lines += [f"mul.wide.{word} {d}, {b}, 4;"] if draw(st.booleans()) else [
            f"cvt.u64.u32 {e}, {b};" if word == "u32" else f"cvt.s64.s32 {e}, {b};", f"shl.b64 {d}, {e}, 2;"
        ]  # fmt: skip
        lines += [f"add.s64 {e}, %rd1, {d};", f"ld.global.f32 %f{10 + number}, [{e}+{offset}];"]
        floats.append(f"%f{10 + number}")
    for _ in range(draw(st.integers(1, 4))):
        target = draw(st.sampled_from(floats[:3]))
        operands = [draw(st.sampled_from([*floats, "0f3FC00000"])) for _ in range(3)]
        operation, count = draw(st.sampled_from([("fma.rn", 3), ("add", 2), ("sub", 2), ("mul", 2), ("add.rn", 2)]))
        lines.append(f"{operation}.f32 {target}, {', '.join(operands[:count])};")
    advance = ["add.s32 %r3, %r3, -1;"] if down else ["add.s32 %r3, %r3, 1;"]
    ends = "setp.ne.s32 %p1, %r3, 0;" if down else f"setp.lt.u32 %p1, %r3, {trips};"
    first = trips if down else 0
    stores = [f"st.global.f32 [%rd4+{8192 * k}], {register};" for k, register in enumerate(floats[:3])]
    body = [
        "ld.param.u64 %rd1, [a];", "ld.param.u64 %rd2, [c];", "mov.u32 %r4, %ctaid.x;", "mov.u32 %r5, %tid.x;",
        "mad.lo.s32 %r1, %r4, 256, %r5;", "mul.wide.u32 %rd3, %r1, 4;", "add.s64 %rd4, %rd2, %rd3;",
        f"mov.u32 %r2, {start};", f"mov.u32 %r3, {first};", "mov.f32 %f0, 0f00000000;", "mov.f32 %f1, 0f3F800000;",
        "ld.global.f32 %f2, [%rd1+16];", "$L:", *lines, f"add.s32 %r2, %r2, {step};", *advance, ends, "@%p1 bra $L;",
        *stores, "ld.global.f32 %f9, [%rd1];", "add.f32 %f9, %f9, %f0;", "st.global.f32 [%rd4+24576], %f9;", "ret;",
    ]  # fmt: skip
    head = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 c)\n{\n"
    head += ".reg .pred %p<2>;\n.reg .f32 %f<20>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n"
    return head + "\n".join(body) + "\n}\n"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(loops())
def test_random_loops(text: str) -> None:
    data = np.resize(FLOATS, 16384)
    shortened(parse(text), 8, 256, data, Bytes(4 * 8192))
