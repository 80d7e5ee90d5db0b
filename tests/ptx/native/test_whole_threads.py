"""Blocks that nobody watches, thread by thread: memory and counts as where the interpreter runs them."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import LimitExceeded, Limits
from grader.ptx.memory import Device
from grader.ptx.native import thread_runner
from grader.ptx.records import LaunchReport
from tests.ptx.native.kernels import BITS, FLOATS, KERNELS, WHERE, N
from tests.ptx.nvrtc import compile_ptx, header_options
from tests.ptx.running import Bytes, compiled


def run(source: str, arguments: list[Any], apart: bool, grid: Any, block: Any, **more: Any) -> tuple[Any, ...]:
    module = parse(compile_ptx(source, "compute_80", header_options())) if "#include" in source else compiled(source)
    # What an earlier launch of the kernel has shown.
    module.derived.pop("wanted threads", None)
    device = Device()
    passed = [
        device.buffer(f"arg{k}", int(a) if isinstance(a, Bytes) else a) if isinstance(a, np.ndarray | Bytes) else a
        for k, a in enumerate(arguments)
    ]
    options = {"observe": True, "observed_batches": 1, **more}
    report: LaunchReport = launch(
        module, Launch(module.entries()[0], grid, block, passed, device=device, unwatched_apart=apart, **options)
    )
    arrays = [array for array in device.arrays if array is not None]
    written = [array.valid.tobytes() for array in arrays if array.valid is not None]
    known = module.derived.get("wanted threads", {})
    done = any(wanted.instructions and not wanted.refused for wanted in known.values())
    return done, report, [array.data.tobytes() for array in arrays], written


@pytest.fixture(autouse=True, params=["one", "fours", "fours shared"])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are carried out whatever that is worth: each thread by itself, by fours, by fours on two cores."""
    monkeypatch.setattr(thread_runner, "BY_FOURS_FROM", 1 << 60 if request.param == "one" else 0)
    if "shared" in request.param:
        monkeypatch.setattr(thread_runner, "SHARED_FROM", 0)
    monkeypatch.setattr(thread_runner, "COMPILATION", 0)
    monkeypatch.setattr(thread_runner, "LAUNCH", 0)
    monkeypatch.setattr(thread_runner, "COPIED", 1 << 30)


@pytest.mark.parametrize("name", KERNELS)
def test_memory_and_counts(name: str) -> None:
    source, arguments = KERNELS[name]
    shape = ((10, 4, 4), (16, 8, 2)) if "dimensions" in name else ((N // 256,), (256,))
    _, expected, memory, written = run(source, arguments, False, *shape)
    done, got, same_memory, same_written = run(source, arguments, True, *shape)
    assert done
    assert same_memory == memory
    assert same_written == written
    assert got.thread_instructions == expected.thread_instructions
    assert got.opcode_counts == expected.opcode_counts


@pytest.mark.parametrize(
    "body",
    [
        """unsigned old = 0, seen; do { seen = old; if (seen >= in[i]) break;
            old = atomicCAS(out + i % 5, seen, in[i]); } while (old != seen);""",
        """for (bool done = threadIdx.x; !done;) if (atomicCAS(out + 5, 0, 1) == 0) { out[i % 5] += in[i];
            __threadfence(); done = true; atomicExch(out + 5, 0); }""",
    ],
)
def test_updates_that_are_tried_until_they_succeed(body: str) -> None:
    source = f"__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} {body} }}"
    arguments = [np.zeros(8, np.uint32), BITS]
    _, _, memory, _ = run(source, arguments, False, (N // 256,), (256,))
    done, _, same_memory, _ = run(source, arguments, True, (N // 256,), (256,))
    assert done
    assert same_memory == memory


LAST = "blockIdx.x == gridDim.x - 1"


@pytest.mark.parametrize(
    ("body", "hazard"),
    [
        ("out[i + 64 * (blockIdx.x > 80)] = i;", "out_of_bounds"),
        ("__shared__ int s[256]; if (blockIdx.x < 80) s[threadIdx.x] = i; out[i] = s[threadIdx.x];", "uninitialized"),
        (
            f"int* p = out + (blockIdx.x < 80 ? 2 * i : i); if (blockIdx.x < 80 || i == {N - 1}) p[0] = p[1] = i;",
            "out_of_bounds",
        ),
        (
            "__shared__ int s[256]; int* p = s + threadIdx.x / 4 * 4, t = threadIdx.x % 4;"
            " if (t != 2 || blockIdx.x < 80) s[threadIdx.x] = i; __syncthreads(); out[i] = p[0] + p[1] + p[2] + p[3];",
            "uninitialized",
        ),
        ("if (blockIdx.x < 80 || threadIdx.x < 100) __syncthreads(); else __syncthreads(); out[i] = i;", ""),
    ],
)
def test_what_is_wrong_in_a_block_that_nobody_watches_is_told_as_ever(body: str, hazard: str) -> None:
    source = f"__global__ void k(int* out) {{ {WHERE} {body} }}"
    arguments = [Bytes(4 * N)]
    _, expected, memory, _ = run(source, arguments, False, (N // 256,), (256,))
    _, got, same_memory, _ = run(source, arguments, True, (N // 256,), (256,))
    assert [h.kind for h in got.hazards] == [h.kind for h in expected.hazards]
    assert not hazard or hazard in {h.kind for h in got.hazards}
    assert same_memory == memory
    # The attempt was in vain, and is charged nothing.
    assert (got.charged, got.thread_instructions) == (expected.charged, expected.thread_instructions)


def test_who_prints_in_a_block_that_nobody_watches_is_heard() -> None:
    source = f'__global__ void k(int* out, int n) {{ {WHERE} out[i] = i; if (i >= n) printf("%d ", i); }}'
    done, report, _, _ = run(source, [Bytes(4 * N), np.int32(N - 3)], True, (N // 256,), (256,))
    assert not done
    assert report.printf == "".join(f"{i} " for i in range(N - 3, N))


def test_a_race_that_was_seen_leaves_the_order_as_it_is() -> None:
    source = f"__global__ void k(int* out, const unsigned* in) {{ {WHERE} out[i / 2] += in[i]; out[i / 3] = i; }}"
    _, _, memory, _ = run(source, [np.zeros(N, np.int32), BITS], False, (N // 256,), (256,))
    done, got, same_memory, _ = run(source, [np.zeros(N, np.int32), BITS], True, (N // 256,), (256,))
    assert not done
    assert got.hazards
    assert same_memory == memory


@pytest.mark.parametrize(("who", "goes_on"), [("threadIdx.x < 32", True), ("threadIdx.x < 40", False)])
def test_a_long_kernel_whose_blocks_race_goes_on_thread_by_thread(
    monkeypatch: pytest.MonkeyPatch, who: str, goes_on: bool
) -> None:
    """Not one whose threads of one warp race: they go in step."""
    monkeypatch.setattr(thread_runner, "RACING", 0)
    place = "blockIdx.x % 8 * 40 + threadIdx.x % 20 + (threadIdx.x < 32 ? 0 : 20)" if not goes_on else "threadIdx.x"
    source = f"__global__ void k(int* out, const unsigned* in) {{ {WHERE} if ({who}) out[{place}] = 7; }}"
    _, _, memory, _ = run(source, [np.zeros(N, np.int32), BITS], False, (N // 256,), (256,))
    done, got, same_memory, _ = run(source, [np.zeros(N, np.int32), BITS], True, (N // 256,), (256,))
    assert done == goes_on
    assert {hazard.kind for hazard in got.hazards} == {"race"}
    assert same_memory == memory


def test_limits_hold() -> None:
    loop = "for (int a = 0; a < n; a++) s = s * 5 + (s >> a % 7);"
    source = f"__global__ void k(int* out, int n) {{ {WHERE} int s = i; {loop} out[i] = s; }}"
    with pytest.raises(LimitExceeded) as raised:
        run(source, [Bytes(4 * N), np.int32(3000)], True, (N // 256,), (256,), limits=Limits(instructions=200_000_000))
    assert raised.value.kind == "instructions"
    assert raised.value.line == 1


@pytest.mark.parametrize(
    "functions",
    [
        "__device__ __noinline__ unsigned f(unsigned v) { return v & 7 ? f(v - 1) * 3 + v : 1; }",
        "__device__ __noinline__ unsigned f(unsigned v) {"
        + "v = v * 5 + (v >> 3); v ^= v << 7;" * 1000
        + "return v; }\n#define f(v) (f(v) + f(v + 1) + f(v + 2))",
    ],
    ids=["recursive", "too long together"],
)
def test_calls_that_nothing_can_be_put_in_the_place_of_stay_with_the_interpreter(functions: str) -> None:
    source = f"{functions}\n__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} out[i] = f(in[i] & 63); }}"
    _, _, expected, _ = run(source, [Bytes(4 * N), BITS], False, (N // 256,), (256,))
    done, _, memory, _ = run(source, [Bytes(4 * N), BITS], True, (N // 256,), (256,))
    assert not done
    assert memory == expected


def test_loops_that_are_carried_out_at_once_stay_with_the_interpreter() -> None:
    source = """__global__ void k(float* out, const float* a, const float* b, int n) { float v = 0;
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        for (int m = 0; m < n; m++) v += a[y * n + m] * b[m * n + x]; out[y * n + x] = v; }"""
    arguments = [Bytes(4 * N), FLOATS, FLOATS, np.int32(192)]
    done, report, _, _ = run(source, arguments, True, (12, 12), (16, 16))
    assert not done
    assert report.charged * 8 < report.thread_instructions


def test_of_a_long_kernel_whose_blocks_run_side_by_side_a_few_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "CAUTION", 3_000_000)
    source = f"""__global__ void k(int* out, const unsigned* in) {{ {WHERE} int s = out[i];
        for (int a = 0; a < 300; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7)); out[i] = s; }}"""
    arguments = [np.arange(4096, dtype=np.int32), BITS[:4096]]
    _, expected, memory, _ = run(source, arguments, False, (16,), (256,), observed_batches=None)
    done, got, same_memory, _ = run(source, arguments, True, (16,), (256,), observed_batches=None)
    assert done
    assert same_memory == memory
    assert got.thread_instructions == expected.thread_instructions
    assert (got.counters.sampled_blocks, got.counters.total_blocks) == (2, 16)


def test_what_a_first_attempt_stored_where_a_pointer_in_memory_leads_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "CAUTION", 3_000_000)
    source = f"""__global__ void k(int** table, const unsigned* in) {{ {WHERE} table[0][i] += 1; int s = i;
        for (int a = 0; a < 300; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7)); table[0][i] += s & 4096; }}"""
    device, module = Device(), compiled(source)
    counts = device.buffer("counts", np.zeros(4096, np.int32))
    table = device.buffer("table", np.array([counts.address], np.uint64))
    into = device.buffer("in", BITS[:4096])
    options: dict[str, Any] = {"observe": True, "unwatched_apart": True}
    launch(module, Launch(module.entries()[0], (16,), (256,), [table, into], **options))
    assert set(counts.read(np.int32).tolist()) == {1, 4097}


def test_arrays_stay_where_they_live_from_launch_to_launch() -> None:
    body = "out[i] += in[i] * 3 + i; if (i == bad) out[n] = 1;"
    source = f"__global__ void k(int* out, const int* in, int n, int bad) {{ {WHERE} {body} }}"

    def contents(apart: bool) -> list[bytes]:
        module = compiled(source)
        module.derived.pop("wanted threads", None)
        device = Device()
        arrays = [device.buffer(f"a{k}", (BITS[: N + k] + k).view(np.int32)) for k in range(4)]
        seen = []

        def go(out: int, into: int, bad: int = -1) -> None:
            arguments: list[Any] = [arrays[out], arrays[into], np.int32(1 << 20), np.int32(bad)]
            options: dict[str, Any] = {"observe": True, "observed_batches": 1, "unwatched_apart": apart}
            launch(module, Launch(module.entries()[0], (N // 256,), (256,), arguments, **options))
            seen.append(b"".join(array.read(np.uint8).tobytes() for array in arrays))

        for out, into in ((0, 1), (1, 0), (2, 1)):
            go(out, into)
        # The host writes to one; another goes, and one of the same size comes in its place.
        arrays[1].write(np.arange(N, dtype=np.int32))
        device.arrays[device.arrays.index(arrays[0].memory)] = None
        arrays[0] = device.buffer("new", np.zeros(N, np.int32))
        go(0, 1)
        go(2, 0)
        residence = device.residence
        assert (residence is not None) == apart
        assert not apart or all(residence.has(arrays[k].memory) for k in range(3))
        assert not apart or not residence.has(arrays[3].memory)
        # An attempt that is given up leaves nothing.
        go(2, 1, bad=N - 1)
        go(2, 3)
        return seen

    assert contents(True) == contents(False)


def test_room_of_arrays_that_are_gone_is_used_again() -> None:
    source = f"__global__ void k(int* out, const int* in) {{ {WHERE} out[i] = in[i] + 1; }}"
    module = compiled(source)
    device, sizes = Device(), []
    for times in (1, 2, 3, 5):
        arrays = [device.buffer(name, np.zeros(N * times, np.int32)) for name in ("out", "in")]
        options: dict[str, Any] = {"observe": True, "observed_batches": 1, "unwatched_apart": True}
        launch(module, Launch(module.entries()[0], (N // 256,), (256,), arrays, **options))
        assert (arrays[0].read(np.int32)[:N] == 1).all()
        assert all(device.residence.has(array.memory) for array in arrays)
        sizes.append(device.residence.end)
        device.arrays[1:] = [None] * (len(device.arrays) - 1)
    # What both have on top of what they had before, and nothing of what is gone.
    assert [size - sizes[0] for size in sizes] == [8 * N * more for more in (0, 1, 2, 4)]


def test_of_a_long_launch_of_few_threads_the_first_part_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "FIRST_PART", 2000)
    body = "for (int a = 0; a < n; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7)); atomicAdd(out + i % 4, s);"
    source = f"__global__ void k(int* out, const unsigned* in, int n) {{ {WHERE} int s = i; {body} out[i + 4] += s; }}"
    for rounds, watched in ((10, 2), (900, 0)):
        arguments = [np.arange(4096, dtype=np.int32), BITS[:4096], np.int32(rounds)]
        _, expected, memory, written = run(source, arguments, False, (2,), (64,), observed_batches=None)
        _, got, same_memory, same_written = run(source, arguments, True, (2,), (64,), observed_batches=None)
        assert (same_memory, same_written) == (memory, written)
        assert (got.thread_instructions, got.opcode_counts) == (expected.thread_instructions, expected.opcode_counts)
        assert (got.counters.sampled_blocks, got.counters.total_blocks) == (watched, 2)


@pytest.mark.parametrize("end", ["out[i / 2] = s;", "if (s != 5) out[n * 999] = s;"])
def test_what_goes_wrong_before_the_first_part_is_over_is_told_of_few_threads(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "FIRST_PART", 2000)
    loop = "for (int a = 0; a < n; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7));"
    source = f"""__global__ void k(int* out, const unsigned* in, int n) {{ {WHERE}
        int s = i; {loop} atomicAdd(out + 99, s); {end} n *= 20; {loop} out[i + 128] = s; }}"""
    arguments = [np.arange(4096, dtype=np.int32), BITS[:4096], np.int32(60)]
    _, expected, memory, _ = run(source, arguments, False, (2,), (64,), observed_batches=None)
    _, got, same_memory, _ = run(source, arguments, True, (2,), (64,), observed_batches=None)
    assert expected.hazards
    assert got.hazards == expected.hazards
    assert same_memory == memory


def test_one_thread_that_takes_long_is_watched_in_its_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("launch", "native.engine"):
        monkeypatch.setattr(sys.modules[f"grader.ptx.{module}"], "CAUTION" if module == "launch" else "SLICE", 100_000)
    source = """__global__ void k(int* out, const unsigned* in, int n) { int s = 1;
        for (int a = 0; a < n; a++) { s = s * 3 + (in[a % 4096] >> (s & 7)); out[a % 64] ^= s; } }"""
    for rounds, watched in ((2000, 1), (30_000, 0)):
        arguments = [np.arange(64, dtype=np.int32), BITS[:4096], np.int32(rounds)]
        _, expected, memory, written = run(source, arguments, False, (1,), (1,), observed_batches=None)
        _, got, same_memory, same_written = run(source, arguments, True, (1,), (1,), observed_batches=None)
        assert (same_memory, same_written) == (memory, written)
        assert (got.thread_instructions, got.opcode_counts) == (expected.thread_instructions, expected.opcode_counts)
        assert got.counters.sampled_blocks == watched


PARTS = {
    "some have returned": """
        if (i >= n) return;
        int v = in[i]; unsigned m = __activemask(); out[i] = v + __shfl_xor_sync(m, v, 0) + __popc(m);""",
    "halves by themselves": """
        int v = in[i % n];
        if (threadIdx.x & 1) {
            for (int o = 16; o > 1; o /= 2) v += __shfl_down_sync(0xaaaaaaaa, v, o);
            if ((threadIdx.x & 31) == 1) out[i] = v;
        } else out[i] = __popc(__ballot_sync(0x55555555, v > 3)) + __any_sync(0x55555555, v == 7);
        __syncwarp(); out[i] += v;""",
    "those with equal values": """
        int v = in[i % n] % 7, p; unsigned m = __match_any_sync(__activemask(), v);
        out[i] = m * 31u + __match_all_sync(0xffffffffu, v, &p) + p + __match_any_sync(~0u, (long long)v << 40);
        if (v < 5) { unsigned q = __activemask(); out[i] += __shfl_sync(q, i, __ffs(q) - 1) + __popc(q); }""",
    "fewer and fewer": """
        int c = 0;
        for (int j = 0; j < in[i % n] % 9; j++) c += __popc(__ballot_sync(__activemask(), j & 1));
        out[i] = c;""",
    "those ahead wait for others in the loop": """
        unsigned x = threadIdx.x * 7 + in[i % n], c = 0;
        for (unsigned j = 0; j < x % 4; j++) {
            c = c * 3 + __activemask();
            for (unsigned k = 0; k < (c >> threadIdx.x % 3) % 4; k++) c = c * 5 + __activemask();
        }
        out[i] = c;""",
    "all come back to a loop and some skip its first meeting": """
        unsigned v = in[i % n], c = 0;
        for (int j = 0; j < (n & 7) + 5; j++) { if (v + j & 1) c = c * 3 + __activemask(); c = c * 5 + __activemask(); }
        out[i] = c;""",
    "sums of some": """
        int v = in[i % n], r = 1;
        if (v & 1) asm volatile("{ .reg .b32 t; activemask.b32 t; redux.sync.add.s32 %0, %1, t; }" : "=r"(r) : "r"(v));
        out[i] = r;""",
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_warps_meet(name: str) -> None:
    start = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    source = f'extern "C" __global__ void k(const int* in, int* out, int n) {{ {start} {PARTS[name]} }}'
    arguments = [np.random.default_rng(1).integers(0, 40, 4096, np.int32), np.zeros(32_800, np.int32), np.int32(4000)]
    shape = (328,), (96 if "halves" in name else 100,)
    _, expected, memory, written = run(source, arguments, False, *shape)
    done, got, same_memory, same_written = run(source, arguments, True, *shape)
    assert done
    assert same_memory == memory
    assert same_written == written
    assert got.thread_instructions == expected.thread_instructions
    assert got.hazards == expected.hazards == []


WMMA = """#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
extern "C" __global__ void k(const T* a, const T* b, S* c) {
    __shared__ T s[4][M * K];
    int w = blockIdx.x * 4 + threadIdx.x / 32;
    for (int i = threadIdx.x % 32; i < M * K; i += 32) s[threadIdx.x / 32][i] = a[w % 4 * M * K + i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, K, F, wmma::col_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, F, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, S> fc;
    wmma::load_matrix_sync(fc, c + w * M * N, M, wmma::mem_col_major);
    wmma::load_matrix_sync(fa, s[threadIdx.x / 32], M);
    wmma::load_matrix_sync(fb, b + w % 4 * K * N, N);
    for (int i = 0; i < 3; i++) wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c + w * M * N, fc, M, wmma::mem_col_major);
}"""
SYNC = """#include <cuda_fp16.h>
extern "C" __global__ void k(const half* a, const half* b, float* c) {
    __shared__ __align__(16) half s[256], t[256];
    int w = blockIdx.x * 4 + threadIdx.x / 32, l = threadIdx.x % 32;
    for (int i = threadIdx.x; i < 256; i += 128) s[i] = a[i + blockIdx.x % 4 * 256], t[i] = b[i + blockIdx.x % 4 * 256];
    __syncthreads();
    unsigned p[4], q[4];
    unsigned x = __cvta_generic_to_shared(s + l % 16 * 16 + l / 16 * 8), y = x + sizeof s;
    y = __cvta_generic_to_shared(t + l % 16 * 16 + l / 16 * 8);
    float* d = c + w * 128 + l * 4;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(x));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(q[0]), "=r"(q[1]) : "r"(y));
    for (int i = 0; i < 3; i++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
}"""
MATRICES = {
    "half": (WMMA, "half", "half", "half", 16, 16, 16),
    "half into float, wide": (WMMA, "half", "half", "float", 8, 32, 16),
    "bf16, tall": (WMMA, "__nv_bfloat16", "__nv_bfloat16", "float", 32, 8, 16),
    "tf32": (WMMA, "float", "wmma::precision::tf32", "float", 16, 16, 8),
    "bytes": (WMMA, "signed char", "signed char", "int", 16, 16, 16),
    "registers": (SYNC, "half", "half", "float", 16, 8, 16),
}


@pytest.mark.parametrize("name", MATRICES)
def test_products_of_warps(name: str) -> None:
    text, memory, factor, sums, m, n, k = MATRICES[name]
    for word, meant in (("T", memory), ("F", factor), ("S", sums), ("M", m), ("N", n), ("K", k)):
        text = re.sub(rf"\b{word}\b", str(meant), text)
    rng = np.random.default_rng(4)

    def numbers(count: int, kind: str) -> np.ndarray:
        if kind in ("signed char", "int"):
            return rng.integers(-128, 128, count).astype(np.int8 if kind == "signed char" else np.int32)
        values = rng.standard_normal(count).astype(np.float32) * np.float32(3)
        if kind == "__nv_bfloat16":
            return (values.view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(np.float16) if kind == "half" else values

    arguments = [numbers(2048, memory), numbers(2048, memory), numbers(1024 * m * n, sums)]
    shape = (256,), (128,)
    _, expected, wanted, written = run(text, arguments, False, *shape)
    done, got, same_memory, same_written = run(text, arguments, True, *shape)
    assert done
    assert same_memory == wanted
    assert same_written == written
    assert got.thread_instructions == expected.thread_instructions
