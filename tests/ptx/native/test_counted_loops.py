"""Loops that are carried out at once give what their iterations give one by one: to the bit, and to the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import LimitExceeded, Limits
from grader.ptx.machine.batch import Group
from grader.ptx.memory import Device
from grader.ptx.native import counted_runner
from grader.ptx.native.counted_runner import CountedLoop
from grader.ptx.native.memories import LoopModule
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


@pytest.mark.parametrize(("apart", "is_shortened"), [(1, True), (3, True), (40, False)])
def test_loops_whose_accesses_lie_far_apart_are_not_worth_what_lies_between(apart: int, is_shortened: bool) -> None:
    source = K + "(const float* a, float* c, int n, int step) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
    # A module of its own each: loops remember what was in vain.
    source += f" float sum = {apart}.0f; for (int k = i; k < n; k += step) sum += a[k]; c[i] = sum; }}"
    n = 2048 * apart * 16
    values = np.resize(FLOATS, n)
    _, trips = shortened(source, 8, 256, values, Bytes(4 * 2048), n, 2048 * apart)
    assert (trips > 1) == is_shortened


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


def accumulating(number: str, stored: str, more: str = "") -> str:
    """A product that adds up in memory, `number`s by `number`s; stored: where, with `more` behind the loop."""
    return (
        K + f"(const {number}* a, const {number}* b, {number}* c, {number}* d, int n) {{"
        " int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
        f" if (x >= n || y >= n) return; {stored} = 0;\n"
        f" for (int k = 0; k < n; ++k) {stored} += a[y * n + k] * b[k * n + x];\n {more} }}"
    )


@pytest.mark.parametrize("observe", [True, False])
@pytest.mark.parametrize("number", ["float", "double", "int", "long long"])
@pytest.mark.parametrize("n", [64, 61])
def test_sums_that_are_kept_in_memory(number: str, n: int, observe: bool) -> None:
    dtype = {"float": np.float32, "double": np.float64, "int": np.int32, "long long": np.int64}[number]
    a, b = (INTS if number in ("int", "long long") else FLOATS * 100).astype(dtype), FLOATS[::-1].astype(dtype)
    words = Bytes(a.nbytes)
    report, trips = shortened(
        accumulating(number, "c[y * n + x]"), (4, 4), (16, 16), a, b, words, words, n, observe=observe
    )
    assert trips == n // 4 + n % 4
    assert report["hazards"] == []


@pytest.mark.parametrize("observe", [True, False])
@pytest.mark.parametrize(
    ("body", "shortens"),
    [
        # Two sums, for which the first is loaded anew; sums of threads that lie apart; what every iteration leaves.
        ("for (int k = 0; k < n; k++) { c[t] += a[t + k]; d[t] -= a[t + 2 * k]; }", True),
        ("for (int k = 0; k < n; k++) c[3 * t] += a[t + k];", True),
        ("for (int k = 0; k < n; k++) { c[t] += a[t + k]; c[t + 2048] = a[k]; }", True),
        ("for (int k = 0; k < n; k++) c[t + k * 2048] = a[t + k * 2048] * 2 + d[t + k * 2048];", "unobserved"),
        ("for (int k = 0; k < n; k++) c[t + k * 2048] += 1;", "unobserved"),
        ("for (int k = 0; k < n; k++) c[t * n + k] = a[k];", "unobserved"),
        # What was not written before the loop is written behind it, as far as the loop went.
        (
            "for (int k = 0; k < n; k++) e[t + k * 2048] = a[t + k];\nc[t] = e[t + 4096] + e[t + n * 2048];",
            "unobserved",
        ),
        # Threads that all go round as often, though none ends where another one does; and such as do not.
        ("for (int k = t; k < 2048 * n; k += 2048) c[k] = a[k] * 2 + d[k];", "unobserved"),
        ("for (int k = t; k < 2048 * n - 100; k += 2048) c[k] += a[k];", "unobserved"),
        ("for (unsigned k = t + 5; k <= 2048 * n; k += 2048) c[k] += a[k];", "unobserved"),
        ("float s = 0; for (int k = 2048 * n - 1 - t; k > t; k -= 2048) s += a[k];\nc[t] = s;", True),
        ("float s = 0; for (int k = t; k < 40 * n; k++) s += a[k];\nc[t] = s;", False),
        # Places of several threads; what another one has stored is loaded.
        ("for (int k = 0; k < n; k++) c[t / 2] += a[t + k];", False),
        ("for (int k = 0; k < n; k++) c[5] += a[t + k];", False),
        ("for (int k = 0; k < n; k++) c[t + k / 64] = a[t + k] + 1;", False),
        ("for (int k = 0; k < n; k++) c[t + k] = a[t] * k;", False),
        ("for (int k = 0; k < n; k++) c[t + k] = a[t + k] + 1;", False),
        ("for (int k = 0; k < n; k++) c[t] += c[t + k] + a[k];", False),
        ("for (int k = 0; k < n; k++) c[t] += c[k];", False),
        # Not all of it was written before; it was after one iteration.
        ("for (int k = 0; k < n; k++) c[t] += e[t + k];", False),
        ("for (int k = 0; k < n; k++) { c[t] += a[k]; e[t] += 1; }", True),
    ],
)
def test_loops_that_store(body: str, shortens: bool | str, observe: bool) -> None:
    source = K + "(const float* a, float* c, float* d, float* e, int n) {"
    source += " int t = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "\n}"
    many = np.resize(FLOATS, 1 << 17)
    _, trips = shortened(source, 8, 256, many, many[::-1].copy(), many * 2, Bytes(many.nbytes), 32, observe=observe)
    assert (trips > 0) == (not observe if shortens == "unobserved" else shortens)


@pytest.mark.parametrize("behind", ["d[y * n + x] = c[x * n + y];", "c[(x * n + y) / 2] = 1;", "c[x * n + y] = 0;"])
def test_races_with_what_a_loop_has_stored(behind: str) -> None:
    source = accumulating("float", "c[y * n + x]", behind)
    words = Bytes(4 * 4096)
    report, trips = shortened(source, (4, 4), (16, 16), FLOATS, FLOATS, words, words, 64)
    assert trips == 16
    assert {hazard["kind"] for hazard in report["hazards"]} >= {"race"}
    _, trips = shortened(source.replace("c[y * n + x] = 0", "c[x * n + y] = 0"), (4, 4), (16, 16), *[FLOATS] * 4, 64)
    assert trips == 0


def test_numbers_that_are_none_and_are_stored() -> None:
    """Of float32 there is one NaN; which one of float64, generated code does not say: such loops are not shortened."""
    a, b = np.resize(SPECIAL, 4096), RNG.permutation(np.resize(SPECIAL, 4096)).astype(np.float32)
    words = Bytes(4 * 4096)
    _, trips = shortened(accumulating("float", "c[y * n + x]"), (4, 4), (16, 16), a, b, words, words, 64)
    assert trips == 16
    _, trips = shortened(
        accumulating("double", "c[y * n + x]"),
        (4, 4),
        (16, 16),
        *[a.astype(np.float64)] * 2,
        *[Bytes(8 * 4096)] * 2,
        64,
    )
    assert trips == 0
    half = np.where(np.arange(4096) < 2048, 1.0, np.nan)
    shortened(accumulating("double", "c[y * n + x]"), (4, 4), (16, 16), half, half, *[Bytes(8 * 4096)] * 2, 64)


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
        monkeypatch.setattr(LoopModule, "of", lambda form, shape: None)
    _, trips = shortened(PRODUCT.replace("* b", "*b"), (4, 4), (16, 16), FLOATS, FLOATS, Bytes(4 * 4096), 64)
    assert trips == 0
    assert len(looked) == 1


WORDS = ("s32", "u32")


@st.composite
def loops(draw: st.DrawFn) -> str:
    """PTX of a kernel of 2,048 threads with one loop of random addressing and arithmetic, of four or eight bytes."""
    start = draw(st.integers(-3, 40))
    step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
    trips = draw(st.integers(1, 30))
    word = draw(st.sampled_from(WORDS))
    down = draw(st.booleans())
    size, number = draw(st.sampled_from([(4, "f32"), (4, "f32"), (8, "f64")]))
    # Addresses: base + size · (t · spread + k · stride), by way of 32 or of 64 bits.
    lines: list[str] = []
    floats, places = ["%f0", "%f1", "%f2"], ["%rd4", "%rd4+8192"]
    for count in range(draw(st.integers(1, 3))):
        spread, stride = draw(st.sampled_from([0, 1, 2, 5])), draw(st.sampled_from([0, 1, 4, -1, 2048, 10240]))
        offset = size * draw(st.integers(-2, 60))
        a, b = f"%r{10 + 2 * count}", f"%r{11 + 2 * count}"
        d, e = f"%rd{10 + 2 * count}", f"%rd{11 + 2 * count}"
        array = draw(st.sampled_from(["%rd1", "%rd1", "%rd2"]))
        lines += [f"mul.lo.s32 {a}, %r1, {spread};", f"mad.lo.s32 {b}, %r2, {stride}, {a};"]
        lines += [f"mul.wide.{word} {d}, {b}, {size};"] if draw(st.booleans()) else [
            f"cvt.u64.u32 {e}, {b};" if word == "u32" else f"cvt.s64.s32 {e}, {b};",
            f"shl.b64 {d}, {e}, {size.bit_length() - 1};",
        ]  # fmt: skip
        lines += [f"add.s64 {e}, {array}, {d};", f"ld.global.{number} %f{10 + count}, [{e}+{offset}];"]
        floats.append(f"%f{10 + count}")
        places.append(f"{e}+{offset}")
    if draw(st.booleans()):
        lines.append(f"ld.global.{number} %f14, [{draw(st.sampled_from(places[:2]))}];")
        floats.append("%f14")
    constant = "0f3FC00000" if size == 4 else "0d3FF8000000000000"
    for _ in range(draw(st.integers(1, 4))):
        target = draw(st.sampled_from(floats[:3]))
        operands = [draw(st.sampled_from([*floats, constant])) for _ in range(3)]
        operation, count = draw(st.sampled_from([("fma.rn", 3), ("add", 2), ("sub", 2), ("mul", 2), ("add.rn", 2)]))
        lines.append(f"{operation}.{number} {target}, {', '.join(operands[:count])};")
        if draw(st.integers(0, 2)) == 0:
            lines.append(f"st.global.{number} [{draw(st.sampled_from(places))}], {draw(st.sampled_from(floats))};")
    advance = ["add.s32 %r3, %r3, -1;"] if down else ["add.s32 %r3, %r3, 1;"]
    ends = "setp.ne.s32 %p1, %r3, 0;" if down else f"setp.lt.u32 %p1, %r3, {trips};"
    first = f"mov.u32 %r3, {trips if down else 0};"
    if not down and draw(st.booleans()):
        # Each thread from where it stands on.
        stride, comparison = draw(st.sampled_from([700, 2048, 4096])), draw(st.sampled_from(["lt", "le"]))
        first, advance = "mov.u32 %r3, %r1;", [f"add.s32 %r3, %r3, {stride};"]
        ends = f"setp.{comparison}.{word} %p1, %r3, {stride * trips + draw(st.sampled_from([0, 0, 300]))};"
    stores = [f"st.global.{number} [%rd4+{16384 * k}], {register};" for k, register in enumerate(floats[:3])]
    zero, one = ("0f00000000", "0f3F800000") if size == 4 else ("0d0000000000000000", "0d3FF0000000000000")
    body = [
        "ld.param.u64 %rd1, [a];", "ld.param.u64 %rd2, [c];", "mov.u32 %r4, %ctaid.x;", "mov.u32 %r5, %tid.x;",
        "mad.lo.s32 %r1, %r4, 256, %r5;", f"mul.wide.u32 %rd3, %r1, {size};", "add.s64 %rd4, %rd2, %rd3;",
        f"mov.u32 %r2, {start};", first, f"mov.{number} %f0, {zero};", f"mov.{number} %f1, {one};",
        f"ld.global.{number} %f2, [%rd1+16];", "$L:", *lines, f"add.s32 %r2, %r2, {step};", *advance, ends,
        "@%p1 bra $L;", *stores, f"ld.global.{number} %f9, [%rd1];", f"add.{number} %f9, %f9, %f0;",
        f"st.global.{number} [%rd4+49152], %f9;", "ret;",
    ]  # fmt: skip
    head = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 c)\n{\n"
    head += f".reg .pred %p<2>;\n.reg .{number} %f<20>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n"
    return head + "\n".join(body) + "\n}\n"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(loops(), st.booleans(), st.booleans())
def test_random_loops(text: str, observe: bool, written: bool) -> None:
    data = np.resize(FLOATS, 32768)
    shortened(parse(text), 8, 256, data, data[::-1].copy() if written else Bytes(4 * 32768), observe=observe)
