"""Tensor cores: every shape and order of `wmma`, what is rounded, and what is told when something is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.memory import Device
from tests.ptx.nvrtc import compile_ptx, header_options
from tests.ptx.running import run

HEAD = "#include <mma.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda;\n"
PRODUCTS = (
    "template <class T, class F, class S, int M, int N, int K, class LA, class LB, wmma::layout_t LC>\n"
    "__device__ void multiply(const T* a, const T* b, S* c, int lda, int ldb, int ldc) {\n"
    "    wmma::fragment<wmma::matrix_a, M, N, K, F, LA> fa;\n"
    "    wmma::fragment<wmma::matrix_b, M, N, K, F, LB> fb;\n"
    "    wmma::fragment<wmma::accumulator, M, N, K, S> fc;\n"
    "    wmma::load_matrix_sync(fa, a, lda);\n"
    "    wmma::load_matrix_sync(fb, b, ldb);\n"
    "    wmma::load_matrix_sync(fc, c, ldc, LC);\n"
    "    wmma::mma_sync(fc, fa, fb, fc);\n"
    "    wmma::store_matrix_sync(c, fc, ldc, LC);\n"
    "}\n"
)
TYPES = {
    "half": ("half", "half", np.dtype(np.float16)),
    "bf16": ("__nv_bfloat16", "__nv_bfloat16", np.dtype(np.uint16)),
    "tf32": ("float", "wmma::precision::tf32", np.dtype(np.float32)),
    "s8": ("signed char", "signed char", np.dtype(np.int8)),
    "u8": ("unsigned char", "unsigned char", np.dtype(np.uint8)),
    "double": ("double", "double", np.dtype(np.float64)),
}
SUMS = {"half": np.float16, "float": np.float32, "int": np.int32, "double": np.float64}
FORMS = [
    (kind, sums, m, n, 16, *orders)
    for kind, sums in (("half", "half"), ("half", "float"), ("bf16", "float"), ("s8", "int"), ("u8", "int"))
    for (m, n), orders in zip(((16, 16), (8, 32), (32, 8)), ("rcr", "crc", "ccr"), strict=True)
] + [("tf32", "float", 16, 16, 8, *orders) for orders in ("rrc", "crr")]
FORMS += [("double", "double", 8, 8, 4, *orders) for orders in ("rcr", "crc")]


def entry(number: int, kind: str, sums: str, m: int, n: int, k: int, *orders: str) -> str:
    memory, factor, _dtype = TYPES[kind]
    major = [f"wmma::{'row' if order == 'r' else 'col'}_major" for order in orders[:2]]
    layout = f"wmma::mem_{'row' if orders[2] == 'r' else 'col'}_major"
    return (
        f'extern "C" __global__ void k{number}(const {memory}* a, const {memory}* b, {sums}* c, '
        "int lda, int ldb, int ldc) {\n"
        f"    multiply<{memory}, {factor}, {sums}, {m}, {n}, {k}, {', '.join(major)}, {layout}>"
        "(a, b, c, lda, ldb, ldc);\n}\n"
    )


@pytest.fixture(scope="module")
def module() -> Any:
    text = HEAD + PRODUCTS + "".join(entry(number, *form) for number, form in enumerate(FORMS))
    return parse(compile_ptx(text, "compute_80", header_options()))


def stored(matrix: Any, order: str) -> Any:
    """As it lies in memory, eight elements more to a row (or column) than it has."""
    lines = matrix if order == "r" else matrix.T
    return np.pad(lines, ((0, 0), (0, 8)))


@pytest.mark.parametrize("number", range(len(FORMS)), ids=["-".join(map(str, form)) for form in FORMS])
def test_every_shape_and_order(module: Any, number: int) -> None:
    kind, sums, m, n, k, *orders = FORMS[number]
    rng = np.random.default_rng(number)
    low = 0 if kind == "u8" else -9
    a, b, c = (rng.integers(low, 10, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    factors = [(x.view(np.uint32) >> 16) if kind == "bf16" else x for x in (a, b)]
    placed = [stored(x, order).astype(TYPES[kind][2]) for x, order in zip(factors, orders, strict=False)]
    placed.append(stored(c, orders[2]).astype(SUMS[sums]))
    device = Device()
    buffers = [device.buffer(name, x) for name, x in zip("abc", placed, strict=True)]
    steps = [np.int32(x.shape[1]) for x in placed]
    report = launch(module, Launch(f"k{number}", (1,), (32,), [*buffers, *steps], device=device, observe=True))
    # Two fragments are loaded, multiplied and stored, each of which takes far longer than an addition.
    assert report.charged > report.thread_instructions + 4 * 32 * 100
    got = buffers[2].read(SUMS[sums], placed[2].shape)[:, :-8]
    assert np.array_equal(got if orders[2] == "r" else got.T, a @ b + c)
    assert (report.hazards, report.counters.by_line) == ([], []), "how a device fetches fragments is not known"


@pytest.mark.parametrize(
    ("use", "m", "n", "rows", "columns", "places"),
    [
        ("matrix_a", 32, 8, 32, 16, "0,2 0,3 8,2 8,3 0,10 0,11 8,10 8,11 16,2 16,3 24,2 24,3 16,10 16,11 24,10 24,11"),
        ("matrix_b", 16, 16, 16, 16, "2,0 3,0 10,0 11,0 2,8 3,8 10,8 11,8"),
        ("matrix_b", 8, 32, 16, 32, "2,0 3,0 2,8 3,8 10,0 11,0 10,8 11,8 2,16 3,16 2,24 3,24 10,16 11,16 10,24 11,24"),
        ("accumulator", 8, 32, 8, 32, "2,0 3,0 2,8 3,8 2,16 3,16 2,24 3,24"),
        ("accumulator", 32, 8, 32, 8, "0,2 0,3 8,2 8,3 16,2 16,3 24,2 24,3"),
    ],
)
def test_elements_lie_as_on_an_h200(use: str, m: int, n: int, rows: int, columns: int, places: str) -> None:
    """Row and column of each that lane 1 holds."""
    kind, order = ("float", "") if use == "accumulator" else ("half", ", wmma::row_major")
    layout = ", wmma::mem_row_major" if use == "accumulator" else ""
    source = f"""extern "C" __global__ void k(const {kind}* in, float* out) {{
        wmma::fragment<wmma::{use}, {m}, {n}, 16, {kind}{order}> f;
        wmma::load_matrix_sync(f, in, {columns}{layout});
        if (threadIdx.x == 1) for (int i = 0; i < f.num_elements; i++) out[i] = f.x[i];
    }}"""
    numbers = np.arange(rows * columns, dtype=np.float32 if kind == "float" else np.float16)
    wanted = [tuple(map(int, place.split(","))) for place in places.split()]
    got = run(HEAD + source, 1, 32, numbers, np.zeros(16, np.float32), options=header_options())[1].astype(int)
    assert [divmod(int(x), columns) for x in got[: len(wanted)]] == wanted


PLAIN = """extern "C" __global__ void k(const half* a, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, a + 256, 16);
    wmma::fill_fragment(fc, 0.0f);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}"""


def plain(a: Any, block: int = 32, c: int = 256, source: str = PLAIN) -> Any:
    return run(HEAD + source, 1, block, a, np.zeros(c, np.float32), options=header_options())


def test_a_sum_is_rounded_once() -> None:
    """Against sums without any rounding error (Shewchuk's)."""
    a = (np.random.default_rng(5).standard_normal(512) * 30).astype(np.float16)
    x, y = (part.astype(np.float64).reshape(16, 16) for part in (a[:256], a[256:]))
    exact = [[math.fsum(float(p) * float(q) for p, q in zip(x[i], y[:, j], strict=True)) for j in range(16)]
             for i in range(16)]  # fmt: skip
    assert np.array_equal(plain(a)[1], np.array(exact).astype(np.float32).ravel())


def test_infinities_and_what_is_no_number() -> None:
    a = np.zeros(512, np.float16)
    a[0], a[16], a[256:272] = np.inf, np.nan, [1, 0, -1, *[2] * 13]
    got = plain(a)[1].reshape(16, 16).view(np.uint32)
    assert (got[0, 0], got[0, 1], got[0, 2]) == (0x7F800000, 0x7FFFFFFF, 0xFF800000)
    assert set(got[1].tolist()) == {0x7FFFFFFF} and not got[2:].any()


def test_a_fragment_outside_its_array_is_told() -> None:
    found = plain(np.zeros(511, np.float16)).hazards
    assert [(h.kind, h.detail, h.line, h.op) for h in found] == [("out_of_bounds", "after", 9, "load")]
    found = plain(np.zeros(512, np.float16), c=255).hazards
    assert [(h.kind, h.line, h.op, h.width_bytes) for h in found] == [("out_of_bounds", 12, "store", 4)]


def test_part_of_a_warp_is_told() -> None:
    source = PLAIN.replace("    wmma::mma", "    if (threadIdx.x < 20) wmma::mma")
    assert {(h.kind, h.detail, h.line) for h in plain(np.zeros(512, np.float16), source=source).hazards} == {
        ("warp_sync", "missing_lanes", 11)
    }


STAGED = """extern "C" __global__ void k(const half* a, float* c) {
    __shared__ half s[256];
    __shared__ float d[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    for (int i = threadIdx.x; i < 256; i += 64) s[i] = a[i];
    __syncthreads();
    wmma::load_matrix_sync(fa, s, 16);
    wmma::load_matrix_sync(fb, s, 16);
    wmma::fill_fragment(fc, 0.0f);
    wmma::mma_sync(fc, fa, fb, fc);
    if (threadIdx.x < 32) wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 64) c[i] = d[255 - i];
}"""


def test_fragments_in_shared_memory_are_watched() -> None:
    a = np.random.default_rng(1).integers(-5, 6, 256).astype(np.float16)
    good = plain(a, 64, source=STAGED)
    square = a.astype(np.float64).reshape(16, 16)
    assert np.array_equal(good[1], (square @ square.T).ravel()[::-1]) and good.hazards == []
    parts = STAGED.split("__syncthreads();")
    for missing in (1, 2):
        broken = "__syncthreads();".join(parts[:missing]) + "".join(parts[missing : missing + 1])
        broken += "".join("__syncthreads();" + part for part in parts[missing + 1 :])
        assert "race" in {h.kind for h in plain(a, 64, source=broken).hazards}, missing
    unwritten = STAGED.replace("i < 256; i += 64) s", "i < 250; i += 64) s")
    assert ("uninitialized", 12) in {(h.kind, h.line) for h in plain(a, 64, source=unwritten).hazards}


@pytest.mark.parametrize(
    "code",
    [
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1}, {%0}, {%1}, {%0,%1};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%0,%1,%0,%1}, {%0,%0,%0,%0}, {%1,%1}, {%0,%1,%0,%1};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1}, {%0,%0,%0,%0}, {%1,%1}, {%0,%1};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%0,%1}, {%0,%0}, {%1,%1}, {%0,%1,%0,%1}, %0, 0;",
    ],
)
def test_what_there_is_not_is_refused(code: str) -> None:
    source = (
        'extern "C" __global__ void k(float* out) {\n    unsigned x = 0, y = 0;\n'
        f'    asm volatile("{code}" : "+r"(x), "+r"(y));\n    out[0] = x + y;\n}}'
    )
    with pytest.raises(UnsupportedInstruction) as caught:
        run(source, 1, 32, np.zeros(1, np.float32))
    assert caught.value.line == 3
