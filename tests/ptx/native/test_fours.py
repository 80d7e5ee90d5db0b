"""Four neighbouring threads that go together: memory and counts as where the interpreter runs them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from grader.ptx.lowering.program import program_of
from grader.ptx.native import thread_runner
from grader.ptx.native.quad_bodies import strides_of
from tests.ptx.native.kernels import WHERE
from tests.ptx.native.test_whole_threads import run
from tests.ptx.random_kernels import Program
from tests.ptx.running import Bytes, compiled

N = 20_480
RNG = np.random.default_rng(8)
SPECIAL = np.array(
    [0, 1 << 31, 1, 0x80000001, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F812345, 0x00800000, 0x7F7FFFFF,
     0x3F800000, 0xBF800000, 0x4F000000, 0xCF000000, 0x4F800000, 0xFFFFFFFF, 0x7FFFFFFF, 0x00400000, 0x3EFFFFFF],
    np.uint32,
)  # fmt: skip
BITS = np.where(RNG.random(N) < 0.5, RNG.choice(SPECIAL, N), RNG.integers(0, 1 << 32, N, np.uint32)).astype(np.uint32)
WIDE = np.stack([BITS[::-1], RNG.permutation(BITS)], axis=1).copy().view(np.uint64).reshape(-1)
HIGH = np.array([0x7FF00000, 0xFFF00000, 0x7FF80000, 0xFFFABCDE, 0, 1 << 31, 0x3FF00000, 0x7FE00000], np.uint32)
WIDE[::3] = WIDE[::3] & 0xFFFFFFFF | RNG.choice(HIGH, len(WIDE[::3])).astype(np.uint64) << np.uint64(32)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are carried out by fours whatever that is worth."""
    monkeypatch.setattr(thread_runner, "BY_FOURS_FROM", 0)
    monkeypatch.setattr(thread_runner, "COMPILATION", 0)
    monkeypatch.setattr(thread_runner, "LAUNCH", 0)
    monkeypatch.setattr(thread_runner, "COPIED", 1 << 30)


def check(source: str, arguments: list[Any], grid: Any = None, block: Any = (256,), name: str = "") -> str:
    """Run a kernel both ways; return the WebAssembly of it by fours."""
    grid = grid or (N // 256,)
    _, expected, memory, written = run(source, arguments, False, grid, block)
    done, got, same_memory, same_written = run(source, arguments, True, grid, block)
    assert done, (name, got.hazards)
    assert same_memory == memory, name
    assert same_written == written, name
    assert got.thread_instructions == expected.thread_instructions
    assert got.opcode_counts == expected.opcode_counts
    module = compiled(source)
    text = module.derived["quads"][module.entries()[0]]
    assert text is not None, name
    return str(text.generated.text)


FLOAT = ["add.f32", "sub.f32", "mul.rn.f32", "div.rn.f32", "min.f32", "max.f32", "fma.rn.f32", "sqrt.rn.f32"]
FLOAT += ["rcp.rn.f32", "rsqrt.approx.f32", "neg.f32", "abs.f32", "copysign.f32", "ex2.approx.f32", "div.full.f32"]
INTEGER = ["add.s32", "sub.s32", "mul.lo.s32", "mad.lo.s32", "and.b32", "or.b32", "xor.b32", "not.b32", "min.s32"]
INTEGER += ["max.s32", "min.u32", "max.u32", "neg.s32", "abs.s32", "shl.b32", "shr.s32", "shr.u32", "mul.hi.u32"]
INTEGER += ["div.s32", "rem.u32", "popc.b32"]
LONG = [
    "add.s64",
    "sub.s64",
    "mul.lo.s64",
    "mad.lo.s64",
    "and.b64",
    "or.b64",
    "xor.b64",
    "not.b64",
    "min.s64",
    "neg.s64",
]
DOUBLE = ["add.f64", "sub.f64", "mul.f64", "fma.rn.f64", "div.rn.f64", "neg.f64", "abs.f64", "sqrt.rn.f64"]
ONE = {"sqrt", "rcp", "rsqrt", "neg", "abs", "not", "popc", "ex2"}
THREE = {"fma", "mad"}


def _asm(opcode: str, letter: str, target: str) -> str:
    name = opcode.split(".")[0]
    count = 1 if name in ONE else 3 if name in THREE else 2
    places = ", ".join(f"%{k + 1}" for k in range(count))
    inputs = ", ".join(f'"{"r" if name in ("shl", "shr") and k else letter}"({v})' for k, v in enumerate("abc"[:count]))
    return f'asm("{opcode} %0, {places};" : "={letter}"({target}) : {inputs});'


@pytest.mark.parametrize(
    ("opcodes", "type_name", "letter", "data"),
    [
        (FLOAT, "float", "f", BITS),
        (INTEGER, "unsigned", "r", BITS),
        (LONG, "long long", "l", WIDE),
        (DOUBLE, "double", "d", WIDE),
    ],
)
@pytest.mark.parametrize("loose", [False, True])
def test_arithmetic(opcodes: list[str], type_name: str, letter: str, data: Any, loose: bool) -> None:
    lines = []
    for number, opcode in enumerate(opcodes):
        more = "r = r * a; r = r + a;" if loose and letter in "fd" else ""
        lines.append(f"{{ {type_name} r; {_asm(opcode, letter, 'r')} {more} out[{number} * {N} + i] = r; }}")
    source = f"""__global__ void k({type_name}* out, const {type_name}* in) {{ {WHERE}
        {type_name} a = in[i], b = in[(i * 7 + 3) % {N}], c = in[(i * 5 + 1) % {N}]; {" ".join(lines)} }}"""
    check(source, [Bytes(data.itemsize * N * len(opcodes)), data])


def test_numbers_that_are_computed_or_loaded() -> None:
    multiply = "{.reg .pred p; setp.ne.s32 p, %2, 0; @p mul.f32 %0, %0, %1;}"
    source = f"""__global__ void k(float* out, const float* in, int n) {{ {WHERE} float v = in[i];
        asm("{multiply}" : "+f"(v) : "f"(in[i / 2]), "r"(n)); out[i] = v; }}"""
    check(source, [Bytes(4 * N), BITS, np.int32(1)])


RELATIONS = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]


def test_comparisons_selections_and_conversions() -> None:
    lines, number = [], 0
    for type_name, letter, values, relations in (
        ("f32", "f", "ab", RELATIONS),
        ("s32", "r", "xy", RELATIONS[:6]),
        ("u32", "r", "xy", [*RELATIONS[:6], "lo", "hs"]),
        ("s64", "l", "uv", RELATIONS[:6]),
        ("f64", "d", "pq", RELATIONS),
    ):
        for relation in relations:
            compare = f"{relation}.{type_name}"
            asm = (
                f".reg .pred p, q, s; setp.lt.u32 s, %3, 77777777; setp.{compare} p|q, %1, %2;"
                f" setp.{relation}.and.{type_name} s, %1, %2, s; xor.pred p, p, s; selp.b32 %0, %3, 5, p;"
                " @q add.s32 %0, %0, 9;"
            )
            inputs = ", ".join(f'"{letter}"({value})' for value in values)
            asm = f'asm("{{{asm}}}" : "=r"(r) : {inputs}, "r"(x));'
            lines.append(f"{{ unsigned r; {asm} out[{number} * {N} + i] = r; }}")
            number += 1
    for cast in (
        "(unsigned)(int)a", "(unsigned)a", "__float_as_uint((float)x)", "__float_as_uint((float)(int)x)",
        "(unsigned)((long long)(int)x >> 7)", "(unsigned)((unsigned long long)x >> 7)", "(unsigned)(u + v)",
        "(unsigned)(unsigned char)x + (unsigned)(short)y", "(unsigned)((long long)(int)x * (int)y >> 32)",
        "__float_as_uint((float)p)", "(unsigned)__double_as_longlong((double)a)", "__float_as_uint(x & 1 ? a : b)",
        "(unsigned)(__double_as_longlong(x & 1 ? p : q) >> 9)", "(unsigned)((unsigned long long)x * y >> 16)",
        "(x & 64 && a < b) || y > 9u", "x >> (y & 63)", "(unsigned)(u << 13 >> 3)", "min((int)x, 3) + max(y, x)",
    ):  # fmt: skip
        lines.append(f"out[{number} * {N} + i] = {cast};")
        number += 1
    source = f"""__global__ void k(unsigned* out, const unsigned* in, const unsigned long long* wide) {{ {WHERE}
        unsigned x = in[i], y = in[(i * 7 + 3) % {N}]; float a = __uint_as_float(x), b = __uint_as_float(y);
        long long u = wide[i], v = wide[i / 2]; double p = __longlong_as_double(u), q = __longlong_as_double(v);
        {" ".join(lines)} }}"""
    check(source, [Bytes(4 * N * number), BITS, WIDE])


SHAPES: dict[str, tuple[Any, Any]] = {
    "a row of fours": ((N // 256,), (256,)),
    "no row of whole warps": ((N // 180 // 4 * 4,), (60, 3)),
    "rows of four": ((N // 256, 2), (4, 32)),
    "three dimensions": ((10, 4, 2), (8, 4, 8)),
}
KERNELS: dict[str, str] = {
    "places side by side, in steps of all kinds, and from the end": """
        out[i] = in[i]; out[M + 3 * i] = in[i] ^ in[M - 1 - i]; out[4 * M + 2 * (M - 1 - i)] = in[i / 3];
        ((unsigned short*)(out + 6 * M))[i] = ((unsigned short*)in)[i]; ((unsigned char*)(out + 7 * M))[i] = i;
        ((uint2*)(out + 8 * M))[i] = ((const uint2*)in)[i / 2]; ((uint4*)(out + 10 * M))[i] = ((const uint4*)in)[i / 4];
        ((double*)(out + 14 * M))[i] = in[i] * 0.5; ((unsigned*)out)[16 * M + i * n] = n;""",
    "places that lie anyhow or side by side, as it happens": """
        int lo = i & (n * 8 - 1), at = (i - lo) * 2 + lo; out[at] = in[at % M]; out[at + n * 8] = in[in[i] % M];
        unsigned long long* w = (unsigned long long*)(out + 4 * M); w[at] = (unsigned long long)in[at % M] << 20 | at;
        unsigned char* c = (unsigned char*)(out + 10 * M); c[at] = ((const unsigned char*)in)[in[at % M] % (4 * M)];""",
    "numbers that wrap around between neighbours": """
        int late = i - (M - 64); unsigned j = late - n - 1; unsigned long long u, v, w; long long x;
        asm volatile("mul.wide.u32 %0, %1, 8;" : "=l"(u) : "r"(j));
        asm volatile("cvt.u64.u32 %0, %1;" : "=l"(v) : "r"(2 * (late - n) - 22));
        asm volatile("mad.wide.s32 %0, %1, -3, %2;" : "=l"(x) : "r"(0x7fffffff - n - 22 + late), "l"(5ll));
        asm volatile("mul.wide.u32 %0, %1, 5;" : "=l"(w) : "r"(n + 30 - late)); out[M + i] = u >> 20;
        out[2 * M + i] = v >> 30; out[3 * M + i] = x >> 30; out[4 * M + i] = w >> 31;
        out[5 * M + i] = (long long)(5 - 3 * i) * 8 >> 1; out[i] = j < M ? in[j] : 7;""",
    "conditions at which neighbours part, and where they meet again": """
        __shared__ unsigned s[1024]; int v = 5; if (t % 7 == 3) v = t; else if (t & 1) { v = in[i]; if (v < 0) v ^= t; }
        s[t] = v; __syncthreads(); int w = t % 5 == 2 ? 9 : n; __syncthreads(); v += s[(t * 3) % T] * w;
        for (int a = 0; a < (t & 3); a++) v = v * 3 + a; __syncthreads(); s[t] = w; __syncthreads();
        for (int a = 0; a < n; a++) { if (v & 1 << a) continue; v += s[(t + a) % T]; if (v % 11 == 0) break; }
        out[i] = v + w;""",
    "what is the same of four threads until they part": """
        __shared__ unsigned s[1024]; unsigned same = n, row = t >> 2; if (t == 41) same = 3; s[t] = same + row;
        __syncthreads(); unsigned long long far = same * 8ull + row; for (unsigned a = 0; a < same; a++)
        far += s[(row * 4 + a) % T]; __syncthreads(); out[i] = far + same; bool odd = same & 1; __syncthreads();
        out[M + i] = odd ? row : far >> 3;""",
    "threads that return before others": """
        __shared__ unsigned s[1024]; s[t] = in[i]; if (t % 9 == 4 && t > 20) return; if (t >= 40 && t < 48) return;
        __syncthreads(); unsigned v = s[t]; if (t < 20) v += s[19 - t]; __syncthreads();
        if (t % 16 == 0 && t > 20) return; out[i] = v; __syncthreads(); out[M + i] = v * n;""",
    "atomics, and arrays of a thread's own": """
        __shared__ unsigned h[64]; if (t < 64) h[t] = 0; __syncthreads(); atomicAdd(&h[in[i] & 63], t);
        atomicMax(out + 6 * M, in[i]); int own[6]; for (int a = 0; a < 6; a++) own[a] = a * t; own[in[i] % 6] += n;
        unsigned v = own[in[i] / 8 % 6]; __syncthreads(); out[i] = h[t & 63] + v;
        atomicAdd(out + 5 * M + (in[i] & 31), 1u);""",
}


@pytest.mark.parametrize(("name", "shape"), list(itertools.product(KERNELS, SHAPES)))
def test_memory_and_counts(name: str, shape: str) -> None:
    grid, block = SHAPES[shape]
    threads = int(np.prod(block))
    total = int(np.prod(grid)) * threads
    source = f"""constexpr int M = {total}, T = {threads};
        __global__ void k(unsigned* out, const unsigned* in, int n) {{
        int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * T + t; {KERNELS[name]} }}"""
    data = RNG.integers(0, 1 << 32, total, np.uint32)
    check(source, [np.zeros(24 * total, np.uint32), data, np.int32(4)], grid, block, name)


def test_shuffles_and_votes_after_neighbours_have_parted() -> None:
    source = f"""__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE}
        int t = threadIdx.x; unsigned v = in[i]; float f = (float)(v & 255) / 7; if (t % 5 == 1) v = v * 3 + 1;
        for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
        f += __shfl_down_sync(~0u, f, 3); unsigned b = __ballot_sync(~0u, in[i] & 1);
        if (t & 2) b ^= t; v ^= __shfl_sync(~0u, b, t & 7); out[i] = v + b + __any_sync(~0u, v == 3);
        out[{N} + i] = f; }}"""
    check(source, [Bytes(8 * N), BITS])


@pytest.mark.parametrize("seed", range(12))
def test_a_random_kernel(seed: int) -> None:
    program = next(p for p in map(Program, range(100 * seed, 100 * seed + 100)) if p.threads % 4 == 0)
    blocks = N // program.threads
    a = np.random.default_rng(seed).integers(0, 1 << 32, 64).astype(np.uint32)
    check(program.source, [a, np.zeros(blocks * program.threads, np.uint32)], (blocks,), (program.threads,))


FAR = "(blockIdx.x < 70 ? 0 : i == 20001 ? {} : 0)"


@pytest.mark.parametrize(
    ("body", "hazard", "size"),
    [
        ("out[i] = i;", "out_of_bounds", N - 2),
        ("out[3 * i] = i; out[3 * i + 1] = i;", "out_of_bounds", 3 * N - 4),
        ("out[N - 1 - i - (blockIdx.x == 79)] = 1;", "out_of_bounds", N),
        ("int at = i & n; out[at ^ 1] = 1;", "out_of_bounds", N - 2),
        (f"*(int*)((char*)(out + (i & n)) + {FAR.format(2)}) = i;", "out_of_bounds", N),
        (f"*(int*)((char*)(out + (i & n)) + {FAR.format('1ll << 32')}) = i;", "out_of_bounds", N),
        (
            "out[4 * i] = i; int v = n ? out[4 * i + (blockIdx.x > 70 && i % 4 == 2)] : 0; out[4 * i] = v;",
            "uninit",
            4 * N,
        ),
    ],
)
def test_what_is_wrong_is_told_as_ever(body: str, hazard: str, size: int) -> None:
    source = f"constexpr int N = {N}; __global__ void k(int* out, int n) {{ {WHERE} {body} }}"
    arguments = [Bytes(4 * size), np.int32(0xFFFFF)]
    _, expected, memory, _ = run(source, arguments, False, (N // 256,), (256,))
    _, got, same_memory, _ = run(source, arguments, True, (N // 256,), (256,))
    assert [h.kind for h in got.hazards] == [h.kind for h in expected.hazards]
    assert hazard in str([h.kind for h in got.hazards])
    assert same_memory == memory


def test_a_row_that_does_not_consist_of_fours_goes_thread_by_thread() -> None:
    source = f"__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} out[i] = in[i] * 3; }}"
    done, _, _, _ = run(source, [Bytes(4 * N), BITS], True, (N // 50,), (50,))
    assert done
    assert "quads" not in compiled(source).derived


@pytest.mark.parametrize(
    ("expression", "step"),
    [
        ("blockIdx.x * blockDim.x + t", 1),
        ("(t & 15) * 4", 4),
        ("t >> 2", 0),
        ("t >> 4 << 3", 0),
        ("t / 2", None),
        ("(t & 3) * 64 + (t >> 2)", 64),
        ("n - 2 * t", -2),
        ("t ^ 1", None),
        ("(t & -4) | n", 0),
        ("(blockIdx.x << 8 | t) * 12", 12),
        ("t * n", None),
        ("threadIdx.y * n + blockIdx.x", 0),
        ("t & 2", None),
        ("(t | 3) + n", 0),
    ],
)
def test_steps_of_numbers(expression: str, step: int | None) -> None:
    keep = 'asm volatile("mov.b32 %0, %0;" : "+r"(v));'
    source = f"__global__ void k(int n) {{ int t = threadIdx.x; int v = {expression}; {keep} }}"
    code = program_of(compiled(source)).code(compiled(source).entries()[0])
    last = [i for block in code.blocks for i in block.instructions if i.opcode == "mov"][-1]
    assert strides_of(code)[last.operands[0].index].step == step  # type: ignore[union-attr]
