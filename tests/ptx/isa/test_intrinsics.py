"""Functions of the CUDA C++ programming guide and the math API, each against arithmetic of Python or NumPy's own.

A row is an expression of `x`, `y` (and `i`, the number of the thread) and what it is for one pair of numbers; all rows
of a table are one kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.memory import Device
from tests.ptx.corpus.numbers import integers
from tests.ptx.nvrtc import compile_ptx, header_options

N = 256
M32 = (1 << 32) - 1
Row = tuple[str, Callable[[Any, Any], Any]]


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def lanes(value: int, bits: int, is_signed: bool = False) -> list[int]:
    parts = [value >> shift & ((1 << bits) - 1) for shift in range(0, 32, bits)]
    return [signed(part, bits) for part in parts] if is_signed else parts


def packed(bits: int, is_signed: bool, function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """Part by part; true counts as all ones."""

    def whole(x: int, y: int) -> int:
        result = 0
        for k, (a, b) in enumerate(zip(lanes(x, bits, is_signed), lanes(y, bits, is_signed), strict=True)):
            value = function(a, b)
            result |= (-int(value) if isinstance(value, bool) else value) % (1 << bits) << bits * k
        return result

    return whole


def saturated(value: int, bits: int, is_signed: bool) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def byte_perm(x: int, y: int, selector: int) -> int:
    raw = (x | y << 32).to_bytes(8, "little")
    return int.from_bytes(bytes(raw[selector >> 4 * k & 7] for k in range(4)), "little")


def find_nth_set(mask: int, base: int, offset: int) -> int:
    """`__fns`, as the CUDA math API describes it."""
    if offset == 0:
        return base if mask >> base & 1 else M32
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [bit for bit in order if mask >> bit & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else M32


def dot(x: int, y: int, signs: tuple[bool, bool], start: int = 5) -> int:
    return start + sum(a * b for a, b in zip(lanes(x, 8, signs[0]), lanes(y, 8, signs[1]), strict=True))


def dot2(x: int, y: int, upper: bool, is_signed: bool) -> int:
    halves = lanes(x, 16, is_signed)
    chosen = lanes(y, 8, is_signed)[2 * upper : 2 * upper + 2]
    return 7 + sum(a * b for a, b in zip(halves, chosen, strict=True))


INTEGERS: list[Row] = [
    ("__brev(x)", lambda x, y: int(f"{x:032b}"[::-1], 2)),
    ("__clz(x)", lambda x, y: 32 - x.bit_length()),
    ("__ffs(x)", lambda x, y: (x & -x).bit_length()),
    ("__popc(x)", lambda x, y: x.bit_count()),
    ("__clzll(((long long)x << 32) | y)", lambda x, y: 64 - (x << 32 | y).bit_length()),
    ("__popcll(((long long)x << 32) | y)", lambda x, y: (x << 32 | y).bit_count()),
    ("__byte_perm(x, y, 0x3715)", lambda x, y: byte_perm(x, y, 0x3715)),
    ("__byte_perm(x, y, y & 0x7777)", lambda x, y: byte_perm(x, y, y & 0x7777)),
    ("__funnelshift_l(x, y, x)", lambda x, y: (y << 32 | x) << (x & 31) >> 32),
    ("__funnelshift_lc(x, y, y & 63)", lambda x, y: (y << 32 | x) << min(y & 63, 32) >> 32),
    ("__funnelshift_r(x, y, x)", lambda x, y: (y << 32 | x) >> (x & 31)),
    ("__funnelshift_rc(x, y, y & 63)", lambda x, y: (y << 32 | x) >> min(y & 63, 32)),
    ("__mul24(x, y)", lambda x, y: signed(x, 24) * signed(y, 24)),
    ("__umul24(x, y)", lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF)),
    ("__mulhi((int)x, (int)y)", lambda x, y: signed(x) * signed(y) >> 32),
    ("__umulhi(x, y)", lambda x, y: x * y >> 32),
    ("__hadd((int)x, (int)y)", lambda x, y: signed(x) + signed(y) >> 1),
    ("__rhadd((int)x, (int)y)", lambda x, y: signed(x) + signed(y) + 1 >> 1),
    ("__uhadd(x, y)", lambda x, y: x + y >> 1),
    ("__sad((int)x, (int)y, x)", lambda x, y: abs(signed(x) - signed(y)) + x),
    ("__usad(x, y, y)", lambda x, y: abs(x - y) + y),
    ("__fns(x, y & 31, (int)(x >> 3) % 5)", lambda x, y: find_nth_set(x, y & 31, (x >> 3) % 5)),
    ("__fns(x, y & 31, -(int)(y >> 9 & 3))", lambda x, y: find_nth_set(x, y & 31, -(y >> 9 & 3))),
    ("__dp4a(x, y, 5u)", lambda x, y: dot(x, y, (False, False))),
    ("__dp4a((int)x, (int)y, 5)", lambda x, y: dot(x, y, (True, True))),
    ("__dp2a_lo((int)x, (int)y, 7)", lambda x, y: dot2(x, y, False, True)),
    ("__dp2a_hi(x, y, 7u)", lambda x, y: dot2(x, y, True, False)),
    ("__vadd2(x, y)", packed(16, False, lambda a, b: a + b)),
    ("__vadd4(x, y)", packed(8, False, lambda a, b: a + b)),
    ("__vsub4(x, y)", packed(8, False, lambda a, b: a - b)),
    ("__vaddss2(x, y)", packed(16, True, lambda a, b: saturated(a + b, 16, True))),
    ("__vaddus4(x, y)", packed(8, False, lambda a, b: saturated(a + b, 8, False))),
    ("__vsubss4(x, y)", packed(8, True, lambda a, b: saturated(a - b, 8, True))),
    ("__vabs4(x)", packed(8, True, lambda a, b: abs(a))),
    ("__vabsdiffs4(x, y)", packed(8, True, lambda a, b: abs(a - b))),
    ("__vabsdiffu2(x, y)", packed(16, False, lambda a, b: abs(a - b))),
    ("__vavgs2(x, y)", packed(16, True, lambda a, b: (a + b + (a + b >= 0)) >> 1)),
    ("__vavgu4(x, y)", packed(8, False, lambda a, b: a + b + 1 >> 1)),
    ("__vcmpeq4(x, y)", packed(8, False, lambda a, b: a == b)),
    ("__vcmpgts2(x, y)", packed(16, True, lambda a, b: a > b)),
    ("__vcmpleu4(x, y)", packed(8, False, lambda a, b: a <= b)),
    ("__vmaxs4(x, y)", packed(8, True, max)),
    ("__vminu2(x, y)", packed(16, False, min)),
    ("__vneg4(x)", packed(8, False, lambda a, b: -a)),
    ("__vsads4(x, y)", lambda x, y: sum(abs(a - b) for a, b in zip(lanes(x, 8, True), lanes(y, 8, True), strict=True))),
    ("__vsadu2(x, y)", lambda x, y: sum(abs(a - b) for a, b in zip(lanes(x, 16), lanes(y, 16), strict=True))),
    ("__vsetgeu4(x, y)", packed(8, False, lambda a, b: int(a >= b))),
    ("__viaddmax_s32((int)x, (int)y, -7)", lambda x, y: max(signed(signed(x) + signed(y)), -7)),
    ("__vimax3_u32(x, y, 99u)", lambda x, y: max(x, y, 99)),
    ("__vimin_s32_relu((int)x, (int)y)", lambda x, y: max(min(signed(x), signed(y)), 0)),
    ("__vibmax_u32(x, y, &flag) + flag", lambda x, y: max(x, y) + (x >= y)),
    ("__float_as_uint(__uint_as_float(x))", lambda x, y: x),
    ("__nv_bswap32(x)", lambda x, y: int.from_bytes(x.to_bytes(4, "little"), "big")),
    ("abs((int)(x >> 1)) + min(x, y) + umin(y, 4u)", lambda x, y: (x >> 1) + min(x, y) + min(y, 4)),
    ("(unsigned)__double2hiint(__hiloint2double((int)x, (int)y) )", lambda x, y: x),
    ("(unsigned)(__mul64hi((long long)x << 31, (long long)y << 29))", lambda x, y: ((x << 31) * (y << 29)) >> 64),
    ("*(const unsigned*)__builtin_assume_aligned(&in[i], 4)", lambda x, y: x),
]


def f32(value: Any) -> np.float32:
    return np.float32(value)


def exact(value: float) -> tuple[int, int]:
    return value.as_integer_ratio()


def rounded(numerator: int, denominator: int, direction: str) -> float:
    """A fraction as a float32: "rz", "ru" or "rd", for results that are normal numbers."""
    from fractions import Fraction

    exact_value = Fraction(numerator, denominator)
    near = np.float32(float(exact_value))
    up = {"ru": True, "rd": False, "rz": exact_value < 0}[direction]
    while Fraction(float(near)) < exact_value:
        near = np.nextafter(near, np.float32(np.inf))
    while Fraction(float(near)) > exact_value:
        near = np.nextafter(near, np.float32(-np.inf))
    # Now the largest that is not above it.
    return float(np.nextafter(near, np.float32(np.inf)) if up and Fraction(float(near)) != exact_value else near)


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


FLOATS: list[Row] = [
    ("__fadd_rn(x, y)", lambda x, y: x + y),
    ("__fmul_rn(x, y)", lambda x, y: x * y),
    ("__fdiv_rn(x, y)", lambda x, y: x / y),
    ("__frcp_rn(x)", lambda x, y: f32(1) / x),
    ("__fsqrt_rn(fabsf(x))", lambda x, y: np.sqrt(abs(x))),
    ("__fmaf_rn(x, y, x)", lambda x, y: f32(np.float64(x) * np.float64(y) + np.float64(x))),
    ("__saturatef(x)", lambda x, y: f32(min(max(x, f32(0)), f32(1)))),
    ("fdimf(x, y)", lambda x, y: x - y if x > y else f32(0)),
    ("copysignf(x, y)", np.copysign),
    ("fminf(x, y) + fmaxf(x, y)", lambda x, y: min(x, y) + max(x, y)),
    (
        "truncf(x) + floorf(x) + ceilf(x) + rintf(x)",
        lambda x, y: f32(f32(f32(np.trunc(x) + np.floor(x)) + np.ceil(x)) + np.rint(x)),
    ),
    ("(float)__float2int_rd(x)", lambda x, y: f32(np.floor(x))),
    ("(float)__float2int_rn(x)", lambda x, y: f32(np.rint(x))),
    ("(float)__float2uint_ru(fabsf(x))", lambda x, y: f32(np.ceil(abs(x)))),
    ("__int2float_rz((int)(x * 1000.0f))", lambda x, y: f32(int(f32(x * f32(1000))))),
    ("__int_as_float(__float_as_int(x) ^ 0x80000000)", lambda x, y: -x),
    ("__double2float_rn((double)x * (double)y)", lambda x, y: f32(np.float64(x) * np.float64(y))),
    ("fmodf(x, 3.0f)", lambda x, y: np.fmod(x, f32(3))),
    ("ldexpf(x, 5) + scalbnf(x, -3)", lambda x, y: x * f32(32) + x / f32(8)),
    ("modff(x, &part)", lambda x, y: f32(np.modf(x)[0])),
    ("frexpf(x, &power) * power", lambda x, y: f32(np.frexp(x)[0] * np.frexp(x)[1])),
    ("(float)(signbit(x) + 2 * isfinite(x) + 4 * isnan(y))", lambda x, y: f32((x < 0) + 2)),
    ("nextafterf(x, y)", np.nextafter),
    ("__fadd_rz(x, y)", lambda x, y: rounded(*exact(float(x) + float(y)), "rz")),
    ("__fmul_ru(x, y)", lambda x, y: rounded(*exact(float(x) * float(y)), "ru")),
    ("__fmul_rd(x, y)", lambda x, y: rounded(*exact(float(x) * float(y)), "rd")),
    (
        "__ldg(&in[i]) + __ldcg(&in[i]) + __ldca(&in[i]) + __ldcs(&in[i]) + __ldlu(&in[i]) + __ldcv(&in[i])",
        lambda x, y: f32(f32(f32(f32(f32(x + x) + x) + x) + x) + x),
    ),
    ("stored(&scratch[i], x)", lambda x, y: x),
    ("norm3df(0.0f, x, 0.0f)", lambda x, y: abs(x)),
    ("__builtin_expect(x > y, 1) ? x : y", lambda x, y: max(x, y)),
]

HALVES: list[Row] = [
    ("__hadd(x, y)", lambda x, y: x + y),
    ("__hsub(x, y)", lambda x, y: x - y),
    ("__hmul(x, y)", lambda x, y: x * y),
    ("__hdiv(x, y)", lambda x, y: x / y),
    ("__hfma(x, y, x)", lambda x, y: x * y + x),
    ("__hneg(x)", lambda x, y: -x),
    ("__habs(x)", lambda x, y: abs(x)),
    ("__hmax(x, y)", max),
    ("__hmin(x, y)", min),
    ("__hadd_sat(x, y)", lambda x, y: min(max(x + y, 0.0), 1.0)),
    ("__hfma_relu(x, y, x)", lambda x, y: max(x * y + x, 0.0)),
    ("hsqrt(__habs(x))", lambda x, y: np.sqrt(abs(x))),
    ("hfloor(x)", lambda x, y: np.floor(x)),
    ("hceil(x)", lambda x, y: np.ceil(x)),
    ("htrunc(x)", lambda x, y: np.trunc(x)),
    ("hrint(x)", lambda x, y: np.rint(x)),
    ("x + y * x - y", None),  # type: ignore[list-item]
    ("x < y ? x : y", min),
    ("__hgt(x, y) ? x : y", max),
    ("__low2TYPE(__hadd2(__halves2TYPE2(x, y), __TYPE2TYPE2(y)))", lambda x, y: x + y),
    ("__high2TYPE(__hmul2(__halves2TYPE2(x, y), __TYPE2TYPE2(x)))", lambda x, y: x * y),
    ("__high2TYPE(__hfma2(__halves2TYPE2(x, y), __halves2TYPE2(x, x), __halves2TYPE2(y, y)))", lambda x, y: x * y + y),
    ("__low2TYPE(__lowhigh2highlow(__halves2TYPE2(x, y)))", lambda x, y: y),
    ("__high2TYPE(__h2div(__halves2TYPE2(x, y), __halves2TYPE2(y, x)))", lambda x, y: y / x),
    ("__low2TYPE(__hmax2(__halves2TYPE2(x, y), __halves2TYPE2(y, x)))", max),
    ("__hbgt2(__halves2TYPE2(x, y), __halves2TYPE2(y, x)) ? x : y", lambda x, y: y),
    ("__high2TYPE(__habs2(__hneg2(__halves2TYPE2(x, y))))", lambda x, y: abs(y)),
    ("__TYPE2float_round", None),  # type: ignore[list-item]
]
HALVES = [row for row in HALVES if row[1] is not None]


@cache
def results(table: str) -> tuple[Any, Any, Any]:
    """(x, y, values of every row) of a table."""
    rng = np.random.default_rng(len(table))
    kind, rows, head = {
        "integers": ("unsigned", INTEGERS, ""),
        "floats": ("float", FLOATS, ""),
        "half": ("half", HALVES, "#include <cuda_fp16.h>\n"),
        "bfloat16": ("bfloat16", HALVES, "#include <cuda_bf16.h>\n"),
    }[table]
    ctype = "__nv_bfloat16" if kind == "bfloat16" else kind
    body = "\n".join(f"    out[{k} * n + i] = {text.replace('TYPE', kind)};" for k, (text, _) in enumerate(rows))
    source = (
        f"{head}__device__ float stored(float* to, float x) {{ __stcs(to, x); float a = __ldcg(to); __stwt(to, -a);"
        " a = -__ldcv(to); __stcg(to, a); __stwb(to, a); return __ldcg(to); }\n"
        f'extern "C" __global__ void k(const {ctype}* in, const {ctype}* other, {ctype}* out, float* scratch,'
        " int n) {\n"
        f"    int i = threadIdx.x, power = 0;\n    float part = 0.0f;\n    bool flag = false;\n"
        f"    {ctype} x = in[i], y = other[i];\n    (void)power; (void)part; (void)flag;\n{body}\n}}"
    )
    options = (*header_options(), "-fmad=false")
    module = parse(compile_ptx(source, "compute_90" if kind == "bfloat16" else "compute_75", options))
    if kind == "unsigned":
        x, y = integers(rng, np.uint32, N), integers(rng, np.uint32, N)
        y[::9] = x[::9]
    else:
        x, y = (rng.normal(0, 30, N).astype(np.float32) for _ in range(2))
        x[:2], y[:2] = (1.5, -2.5), (0.25, 2.5)
        if kind == "bfloat16":
            x, y = ((v.view(np.uint32) >> 16).astype(np.uint16) for v in (x, y))
        elif kind == "half":
            x, y = x.astype(np.float16), y.astype(np.float16)
    device = Device()
    buffers = [device.buffer(name, v) for name, v in (("in", x), ("other", y))]
    out = device.buffer("out", np.zeros(len(rows) * N, x.dtype))
    scratch = device.buffer("scratch", np.zeros(N, np.float32))
    report = launch(module, Launch("k", (1,), (N,), [*buffers, out, scratch, np.int32(N)], device=device, observe=True))
    assert not report.hazards
    return x, y, out.read(x.dtype, (len(rows), N))


@pytest.mark.parametrize("number", range(len(INTEGERS)), ids=[text for text, _ in INTEGERS])
def test_integers(number: int) -> None:
    x, y, found = results("integers")
    oracle = INTEGERS[number][1]
    assert found[number].tolist() == [int(oracle(int(a), int(b))) & M32 for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("number", range(len(FLOATS)), ids=[text for text, _ in FLOATS])
def test_floats(number: int) -> None:
    x, y, found = results("floats")
    oracle = FLOATS[number][1]
    expected = np.array([oracle(a, b) for a, b in zip(x, y, strict=True)], np.float32)
    assert found[number].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
@pytest.mark.parametrize("number", range(len(HALVES)), ids=[text for text, _ in HALVES])
def test_halves(number: int, kind: str) -> None:
    """Of two numbers in half precision a double holds every result exactly, or close enough to round it once."""
    x, y, found = results(kind)
    oracle = HALVES[number][1]

    def wide(values: Any) -> Any:
        if kind == "half":
            return values.astype(np.float64)
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)

    expected = [oracle(float(a), float(b)) for a, b in zip(wide(x), wide(y), strict=True)]
    if kind == "half":
        narrow = np.array(expected).astype(np.float16)
        assert found[number].tolist() == narrow.tolist()
        return
    # To odd in float32 first, so that the second rounding is the only one that counts.
    single = np.array(expected).astype(np.float32)
    inexact = single.astype(np.float64) != np.array(expected)
    word = single.view(np.uint32).astype(np.int64)
    too_far = inexact & (abs(single.astype(np.float64)) > abs(np.array(expected)))
    word = np.where(too_far, word - 1, word) | inexact
    rounded_up = word + 0x7FFF + (word >> 16 & 1)
    assert found[number].tolist() == (rounded_up >> 16).tolist()
