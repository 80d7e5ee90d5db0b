"""Both engines give the same results, counters and hazards, to the bit and to the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.ptx.launch import Launch, launch
from grader.ptx.limits import Limits
from grader.ptx.memory import Device
from grader.ptx.records import LaunchReport
from tests.ptx.native.engines import both, generated_at_once
from tests.ptx.random_kernels import Program
from tests.ptx.running import Bytes, compiled

RNG = np.random.default_rng(5)
FLOATS = RNG.standard_normal(4096).astype(np.float32)
DOUBLES = RNG.standard_normal(512)

K = 'extern "C" __global__ void k'


def generated(source: str, grid: Any, block: Any, *arguments: Any, **more: Any) -> LaunchReport:
    """What came of a launch that generated code carried out to its end."""
    report, launches = both(source, grid, block, *arguments, **more)
    assert launches == 1
    assert isinstance(report, LaunchReport)
    return report


@pytest.mark.parametrize("observe", [True, False])
def test_one_thread_alone(observe: bool) -> None:
    source = K + "(const float* a, float* b, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    source += " b[j * n + i] = a[i * n + j]; }"
    report = generated(source, 1, 1, FLOATS, Bytes(4 * 4096), 64, observe=observe)
    assert report.counters.total("requests", "global") == (8192 if observe else 0)


TILES = """
#define N 64
extern "C" __global__ void k(const float* A, const float* B, float* C, int n) {
    __shared__ float As[32][8], Bs[8][33];
    int t = threadIdx.x, tr = t / 8, tc = t % 8;
    float acc[4][4] = {}, ra[4], rb[4];
    for (int k0 = 0; k0 < n; k0 += 8) {
        for (int i = t; i < 256; i += 64) As[i / 8][i % 8] = A[(blockIdx.y * 32 + i / 8) * n + k0 + i % 8];
        for (int i = t; i < 256; i += 64) Bs[i / 32][i % 32] = B[(k0 + i / 32) * n + blockIdx.x * 32 + i % 32];
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < 4; i++) ra[i] = As[tr * 4 + i][k];
            for (int j = 0; j < 4; j++) rb[j] = Bs[k][tc * 4 + j];
            for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) acc[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++)
        C[(blockIdx.y * 32 + tr * 4 + i) * n + blockIdx.x * 32 + tc * 4 + j] = acc[i][j];
}
"""


def test_register_tiles_between_barriers() -> None:
    report = generated(TILES, (2, 2), 64, FLOATS, FLOATS[::-1].copy(), Bytes(4 * 4096), 64)
    assert report.counters.total("wavefronts", "shared") > report.counters.total("ideal", "shared") > 0
    assert report.hazards == []


def test_one_thread_works_while_the_others_wait() -> None:
    source = (
        K
        + """(const float* a, float* b) {
        __shared__ float s[96];
        int t = threadIdx.x;
        s[t] = a[blockIdx.x * 96 + t];
        __syncthreads();
        if (t == 0) for (int i = 1; i < 96; i++) s[i] += s[i - 1];
        __syncthreads();
        if (t >= 80) return;
        b[blockIdx.x * 96 + t] = s[t] * (t % 3 ? 2.0f : s[95 - t]);
    }"""
    )
    generated(source, 5, 96, FLOATS, Bytes(4 * 480))


def test_lanes_part_and_meet() -> None:
    source = (
        K
        + """(int* a, int n) {
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t >= n) return;
        int x = t, steps = 0;
        while (x != 1) {
            if (steps++ > 60) break;
            x = x % 2 ? 3 * x + 1 : x / 2;
            if (x == 16) continue;
            a[t] = a[t] + x;
        }
        a[n + t] = steps;
    }"""
    )
    report = generated(source, 3, 70, np.zeros(400, np.int32), 200)
    assert report.warp_instructions * 32 > report.thread_instructions


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 8, 29])
@pytest.mark.parametrize("kind", ["char", "short", "float", "float2", "float4", "double"])
def test_banks_and_sectors_of_all_widths(kind: str, stride: int) -> None:
    source = f"""typedef {kind} T; {K}(const T* a, T* b, int n) {{
        __shared__ T s[1200];
        int t = threadIdx.x;
        if (t < n) {{ for (int i = t; i < 1200; i += n) s[i] = a[i % 64]; }}
        __syncthreads();
        if (t % 5 != 3 && t < n) b[t * {stride}] = s[t * {stride}];
        if (t < n / 2) b[4000 + (t ^ 5)] = s[t / 2];
        if (t % 32 < 9 && t < n) b[4100 + t] = s[(t * t * 7 + {stride}) % 1000];
    }}"""
    values = RNG.integers(0, 255, 16 * 64).astype(np.uint8)
    generated(source, 1, 64, values, Bytes(16 * 4200), 41)


def test_calls_of_what_only_numpy_computes_and_local_arrays() -> None:
    source = (
        """struct P { float x; int k; short h[3]; };
    __constant__ float table[4] = {1.0f, 2.5f, -3.0f, 0.125f};
    __device__ float more[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    """
        + K
        + """(const float* a, float* b, struct P p, const double* d, double* e) {
        float kept[9];
        int t = threadIdx.x;
        for (int i = 0; i < 9; i++) kept[(i * 4 + t) % 9] = __sinf(a[t + i]) + exp2f(a[t]) * table[(t + i) & 3];
        float sum = p.x;
        for (int i = 0; i < 9; i++) sum += kept[(t * p.k + i) % 9] * more[i & 7] + p.h[i % 3];
        const float* where = t % 2 ? a : b;
        b[64 + t] = rsqrtf(fabsf(sum)) + where[200] + __brev(t) + __ffs(t) + __fdividef(sum, a[t]);
        e[t] = fma(d[t], (double)sum, d[t + 1]) / sqrt(fabs(d[t])) + (float)d[t] + t / (p.k + 1);
        e[32 + t] = fma(d[t] * 1e-300, 1e-200, (long long)d[t] % 7);
    }"""
    )
    parameters = np.zeros(16, np.uint8)
    parameters[:4] = np.array([1.5], np.float32).view(np.uint8)
    parameters[4:8] = np.array([3], np.int32).view(np.uint8)
    parameters[8:14] = np.array([-2, 7, 300], np.int16).view(np.uint8)
    generated(source, 1, 32, FLOATS, FLOATS.copy(), parameters.tobytes(), DOUBLES, Bytes(8 * 64))


WARPS = (
    K
    + """(const float* a, int* o, int n) {
    int t = threadIdx.x, x = 0;
    float sum = 0;
    for (int i = t; i < n; i += blockDim.x) sum += a[i] * a[i];
    for (int k = 16; k; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
    sum = __shfl_sync(0xffffffff, sum, t & 24, 8) + __shfl_xor_sync(0xffffffff, t, 5) + __shfl_up_sync(-1, t, 3, 16);
    __syncwarp();
    x = __ballot_sync(0xffffffff, a[t] > 0) + __any_sync(0xffffffff, t == 9) + 2 * __all_sync(0xffffffff, t < 50);
    x += __popc(__activemask());
    if (t % 32 < n - 4095) x += __shfl_sync(0xffffffff, x, 1);
    o[t] = x + __float_as_int(sum);
}"""
)


def test_lanes_of_whole_warps_see_each_other() -> None:
    generated(WARPS, 1, 96, FLOATS, Bytes(4 * 96), 2000)


@pytest.mark.parametrize(("threads", "n"), [(80, 2000), (96, 4096)])
def test_parts_of_warps_are_for_the_interpreter(threads: int, n: int) -> None:
    _, launches = both(WARPS, 1, threads, FLOATS, Bytes(4 * 96), n)
    assert launches == 0


def test_what_is_unusual_is_told_by_the_interpreter() -> None:
    for body in (
        "if (t == 40) a[1 << 20] = 1;",
        "a[0] = t;",
        "s[t] = t; a[t] = s[63 - t];",
        "a[t] = s[t];",
        "if (t < 32) __syncthreads(); a[t] = t;",
        "*(int*)((char*)a + t * 4 + 1) = t;",
        "if (t == 3) a[0] = a[70];",
        "atomicAdd(a, t);",
    ):
        source = K + "(int* a) { __shared__ int s[64]; int t = threadIdx.x; " + body + " }"
        _, launches = both(source, 2, 64, np.zeros(64, np.int32))
        assert launches == 0, body


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        ("while (a[1] == 0) ;", Limits()),
        ("int i = 0; while (i >= 0) i ^= a[2]; a[0] = i;", Limits()),
        ("for (int i = 0; i < 1000; i++) a[i & 7] += i;", Limits(instructions=1000)),
        ("for (int i = 0; i < 1000; i++) a[i & 7] += i;", Limits(issued=700)),
    ],
)
def test_limits_and_endless_loops(body: str, limits: Limits) -> None:
    both(K + "(int* a) { " + body + " }", 1, 1, np.zeros(8, np.int32), limits=limits)


@pytest.mark.parametrize("seed", range(100, 112))
def test_random_kernels(seed: int) -> None:
    program = Program(seed)
    a = np.random.default_rng(seed).integers(0, 1 << 32, 64).astype(np.uint32)
    generated(program.source, 2, program.threads, a, np.zeros(2 * program.threads, np.uint32))


ARITHMETIC = (
    K
    + """(const unsigned* a, const unsigned long long* b, unsigned* o, unsigned long long* q) {
    int t = threadIdx.x;
    unsigned x = a[t], y = a[t + 32], z = a[t + 64]; int i = x, j = y;
    unsigned long long u = b[t], v = b[t + 32]; long long m = u, n = v;
    float f = __uint_as_float(x), g = __uint_as_float(y), h = __uint_as_float(z);
    double d = __longlong_as_double(u), e = __longlong_as_double(v), c = __longlong_as_double(b[t + 64]);
    unsigned r[] = {x + y, x * y + z, x / y, x % y, (unsigned)(i / j), (unsigned)(i % j), x << (y & 63), x >> (z & 63),
        (unsigned)(i >> (z & 63)), min(x, y), (unsigned)max(i, j), (unsigned)abs(i),
        __umulhi(x, y), (unsigned)__mulhi(i, j),
        x < y, i < j, (unsigned)(short)x, (unsigned)(signed char)y, (unsigned short)z, __popc(x), __clz(y), ~x & y | z,
        __float_as_uint(f + g), __float_as_uint(f - g), __float_as_uint(f * g), __float_as_uint(f / g),
        __float_as_uint(fmaf(f, g, h)), __float_as_uint(sqrtf(f)), __float_as_uint(fminf(f, g)),
        __float_as_uint(fmaxf(g, h)),
        __float_as_uint(fabsf(f)), __float_as_uint(-g), (unsigned)(int)f, (unsigned)g, __float_as_uint((float)i),
        __float_as_uint((float)y), __float_as_uint((float)u), __float_as_uint((float)m), __float_as_uint((float)d),
        (unsigned)__float2int_rn(g), (unsigned)__float2int_rd(h), f < g, f >= g, f == g, f != g, !(f <= h), __isnanf(f),
        __float_as_uint(__fdividef(f, g)), __float_as_uint(rsqrtf(g)), __float_as_uint(f > g ? h : f),
        __float_as_uint(__fmaf_rz(f, g, h))};
    unsigned long long w[] = {u + v, u * v, u / v, u % v, (unsigned long long)(m / n), (unsigned long long)(m % n),
        u << (x & 127), u >> (x & 127), (unsigned long long)(m >> (y & 127)), min(u, v), (unsigned long long)max(m, n),
        (unsigned long long)x * y, (unsigned long long)((long long)i * j), __umul64hi(u, v), u < v, m < n,
        __double_as_longlong(d + e), __double_as_longlong(d - e), __double_as_longlong(d * e),
        __double_as_longlong(d / e),
        __double_as_longlong(fma(d, e, c)), __double_as_longlong(sqrt(d)), __double_as_longlong((double)f),
        __double_as_longlong((double)i), __double_as_longlong((double)u), __double_as_longlong((double)m),
        __double_as_longlong(-d), __double_as_longlong(fabs(e)), (unsigned long long)(long long)d, d < e, d != e,
        (unsigned long long)__popcll(u), (unsigned long long)__clzll(v), __double_as_longlong(__fma_ru(d, e, c))};
    for (int k = 0; k < sizeof(r) / 4; k++) o[k * 32 + t] = r[k];
    for (int k = 0; k < sizeof(w) / 8; k++) q[k * 32 + t] = w[k];
}"""
)

_SPECIAL_32 = [0, 1, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFA00000, 0x00800000, 0x007FFFFF, 0xFFFFFFFF]
_SPECIAL_32 += [0x3F800000, 0x3F800001, 0x4F000000, 0xCF000000, 0x5F000000, 0x7F7FFFFF, 0x33800000, 0xB3800000]
_SPECIAL_64 = [0, 1, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48 | 5, 0xFFF4 << 48, 1 << 52, (1 << 52) - 1]
_SPECIAL_64 += [(1 << 64) - 1, 0x3FF << 52, 0x3CA << 52, 0x43E << 52, 0x000F << 52, 0x7FEF << 48]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_arithmetic_on_any_bits(data: st.DataObject) -> None:
    words = st.one_of(st.sampled_from(_SPECIAL_32), st.integers(0, (1 << 32) - 1))
    longs = st.one_of(st.sampled_from(_SPECIAL_64), st.integers(0, (1 << 64) - 1))
    a = data.draw(st.lists(words, min_size=12, max_size=96))
    b = data.draw(st.lists(longs, min_size=12, max_size=96))
    first, second = np.resize(np.array(a, np.uint32), 96), np.resize(np.array(b, np.uint64), 96)
    generated(ARITHMETIC, 1, 32, first, second, np.zeros(64 * 32, np.uint32), np.zeros(64 * 32, np.uint64))


def random_accesses(seed: int) -> tuple[str, tuple[Any, ...]]:
    """A kernel for two blocks of 64; every other one keeps to its own places."""
    rng = np.random.default_rng(seed)
    clean = seed % 2 == 0
    # With 16-bit accesses the history is kept byte by byte.
    arrays = ["s", "g", "s", "h" if seed % 3 == 0 else "g"]
    lines = []
    for number in range(int(rng.integers(4, 14))):
        kind = rng.integers(0, 4)
        shift = 0 if clean else int(rng.choice([0, 0, 0, 1, 32, 64]))
        array = arrays[int(rng.integers(0, 4))]
        own = f"(t + {shift}) & 63" if array == "s" else f"((b * 64 + t) + {shift}) & 127"
        if array == "h":
            own = f"2 * ({own}) + (t & 1)"
        if kind == 0:
            lines.append("__syncthreads();")
        elif kind == 1:
            lines.append(f"x += {array}[{own}];")
        elif kind == 2:
            lines.append(f"{array}[{own}] = x + {number};")
        else:
            guard = int(rng.integers(1, 64))
            lines.append(f"if (t < {guard}) {array}[{own}] += {'x' if clean else 't'};")
    source = K + "(int* g, short* h, int* o) { __shared__ int s[64]; int t = threadIdx.x, b = blockIdx.x, x = t;"
    source += " s[t] = t; " + " ".join(lines) + " o[b * 64 + t] = x; }"
    return source, (np.arange(128, dtype=np.int32), np.arange(256, dtype=np.int16), Bytes(512))


@pytest.mark.parametrize("seed", range(40))
def test_random_accesses_with_and_without_races(seed: int) -> None:
    """Whoever runs, the same races are told; and where there are none generated code is not turned away."""
    source, arrays = random_accesses(seed)
    report, launches = both(source, 2, 64, *arrays)
    assert isinstance(report, LaunchReport)
    assert launches == (not report.hazards), source
    # Where nobody looks for races the threads see of each other what they see in step.
    generated(source, 2, 64, *arrays, observe=False)


@pytest.mark.parametrize("array", ["s", "g"])
@pytest.mark.parametrize("barrier", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        "A[t] = t; | A[t ^ 33] = t + 1;",
        "A[t] = t; | x = A[t ^ 33];",
        "x = A[t ^ 33]; | A[t] = x;",
        "x = A[t]; x += A[t ^ 33]; | A[t] = x;",
        "if (t) x = A[t ^ 33]; x += A[t]; | A[t] = x;",
        "x = A[t ^ 33]; x += A[t]; | A[t ^ 1] = x;",
        "A[t] = 1; x = A[t]; | A[t ^ 1] = x;",
        "x = A[7]; | if (t == 7) A[7] = x + 1;",
        "if (t == 7) A[7] = x + 1; | x = A[7];",
    ],
)
def test_a_barrier_makes_the_difference(body: str, barrier: bool, array: str) -> None:
    body = body.replace("|", "__syncthreads();" if barrier else "").replace("A[", "s[" if array == "s" else "g[b + ")
    source = K + "(int* g, int* o) { __shared__ int s[64]; int t = threadIdx.x, b = blockIdx.x * 64, x = t; s[t] = t;"
    source += f" __syncthreads(); {body} __syncthreads(); o[b + t] = x + s[t]; }}"
    report, launches = both(source, 2, 64, np.arange(192, dtype=np.int32), Bytes(512))
    assert isinstance(report, LaunchReport)
    assert (launches, report.hazards == []) == (int(barrier), barrier)


@pytest.mark.parametrize("body", ["g[t] = b;", "if (b) g[t] = t; else x = g[t];", "if (!b) g[t] = t; else x = g[t];"])
def test_a_barrier_is_nothing_between_blocks(body: str) -> None:
    source = K + "(int* g, int* o) { int t = threadIdx.x, b = blockIdx.x, x = 0; __syncthreads(); " + body
    source += " __syncthreads(); o[b * 64 + t] = x; }"
    report, launches = both(source, 2, 64, np.zeros(64, np.int32), Bytes(512))
    assert isinstance(report, LaunchReport)
    assert launches == 0
    assert {hazard.kind for hazard in report.hazards} == {"race"}


def test_launches_that_are_short_are_not_worth_generated_code() -> None:
    """A kernel is interpreted again once its launches were short, until one is long; the bytes of the device count."""
    source = (
        'extern "C" __global__ void k(int* a, int n) { for (int i = 0; i < n; i++) a[threadIdx.x] = i * a[i % 2]; }'
    )
    module, device = compiled(source), Device()
    a = device.buffer("a", np.arange(32, dtype=np.int32))

    def generated(lengths: list[int]) -> list[bool]:
        histories, ran = module.derived.setdefault("engines", {}), []
        for n in lengths:
            before = sum(history.generated for history in histories.values())
            launch(module, Launch("k", (1,), (32,), [a, np.int32(n)], device=device))
            ran.append(sum(history.generated for history in histories.values()) > before)
        return ran

    with generated_at_once():
        assert generated([1] * 7) == [True] * 4 + [False] * 3
        assert generated([500, 500, 1, 1, 1, 1, 1]) == [False] + [True] * 5 + [False]
        device.buffer("large", 1 << 24)
        assert generated([50, 50]) == [False, False]
