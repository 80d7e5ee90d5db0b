"""Launching: what is impossible, how grids are cut into batches, special registers, printf, observers."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import LaunchError, LimitExceeded, Limits
from grader.ptx.memory import Device
from grader.ptx.records import Counters
from tests.ptx.ptx_text import HEADER, module_text
from tests.ptx.running import compiled, run

SOURCE = """
extern __shared__ int dynamic[];
extern "C" __global__ void k(int* out, int n) {
    __shared__ int s[1000];
    s[threadIdx.x % 1000] = n;
    dynamic[0] = n;
    if (n > 5) out[threadIdx.x] = s[0] + dynamic[0];
}
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": (0,)}, r"grid\.x is 0, allowed are 1 to 2147483647"),
        ({"grid": (1, 70000)}, r"grid\.y is 70000, allowed are 1 to 65535"),
        ({"grid": (1, 1, 65536)}, r"grid\.z is 65536, allowed are 1 to 65535"),
        ({"block": (2048,)}, r"block\.x is 2048, allowed are 1 to 1024"),
        ({"block": (1, 1, 65)}, r"block\.z is 65, allowed are 1 to 64"),
        ({"block": (33, 32)}, r"block \(33, 32, 1\) has 1056 threads, at most 1024 are allowed"),
        ({"shared_bytes": 45153}, r"49153 bytes of shared memory a block, at most 49152"),
        ({"entry": "other"}, r"no kernel 'other' in the module; there are: k"),
        ({"arguments": []}, r"k takes 2 arguments, 0 were given"),
        ({"arguments": [np.int32(1), np.int32(1)]}, r"argument k_param_0 takes 8 bytes, 4 were given"),
        ({"arguments": [np.int64(0), np.int64(1)]}, r"argument k_param_1 takes 4 bytes, 8 were given"),
    ],
)
def test_impossible_launches(change: dict[str, object], message: str) -> None:
    device = Device()
    settings: dict[str, object] = {"entry": "k", "grid": (1,), "block": (32,), "shared_bytes": 16}
    settings["arguments"] = [device.buffer("out", np.zeros(32, np.int32)), np.int32(1)]
    with pytest.raises(LaunchError, match=message):
        launch(compiled(SOURCE), Launch(**(settings | change), device=device))  # type: ignore[arg-type]


def test_the_last_byte_of_shared_memory_may_be_used() -> None:
    run(SOURCE, 1, 32, np.zeros(32, np.int32), 1, shared_bytes=49152 - 4000)
    run(SOURCE, 1, 32, np.zeros(32, np.int32), 1, shared_bytes=100_000, max_shared_bytes=232_448)


def test_shared_memory_of_other_kernels_is_not_counted() -> None:
    source = """
extern "C" __global__ void big(int* out) { __shared__ int s[10000]; s[threadIdx.x] = 1; out[0] = s[threadIdx.x ^ 1]; }
extern "C" __global__ void also(int* out) { __shared__ int t[5000]; t[threadIdx.x] = 1; out[0] = t[threadIdx.x ^ 1]; }
"""
    for entry in ("big", "also"):
        run(source, 1, 1, np.zeros(1, np.int32), entry=entry)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((3000,), (17,)),
        ((1001,), (48,)),
        ((40,), (1000,)),
        ((2,), (1,)),
        ((7, 5, 3), (5, 3, 2)),
        ((300, 2), (17, 3)),
        ((1, 1, 70), (8, 8, 8)),
    ],
)
def test_every_thread_of_every_block_runs_once_whatever_the_sizes(
    grid: tuple[int, ...], block: tuple[int, ...]
) -> None:
    source = """
extern "C" __global__ void k(int* out) {
    __shared__ int first;
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (t == 0) first = block;
    __syncthreads();
    out[block * (blockDim.x * blockDim.y * blockDim.z) + t] += first * 2000 + t + 1;
}
"""
    blocks, threads = int(np.prod(grid)), int(np.prod(block))
    result = run(source, grid, block, np.zeros((blocks, threads), np.int32))
    expected = np.arange(blocks)[:, None] * 2000 + np.arange(threads)[None, :] + 1
    np.testing.assert_array_equal(result[0], expected)
    assert result.hazards == []
    stores = [c for c in result.report.counters.by_line if c.op == "store" and c.space == "global"]
    assert sum(c.lanes for c in stores) == blocks * threads
    assert sum(c.requests for c in stores) == blocks * -(-threads // 32)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results, counters and hazards are the same however many blocks run side by side."""
    source = """
extern "C" __global__ void k(const int* a, int* out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? a[i] : 0;
    if (blockIdx.x % 7 != 3) __syncthreads();
    if (i < n) out[i] = s[63 - t] + a[(i * 3) % n];
    out[n] = 1;
    atomicAdd(&out[n + 1], a[i % n]);
}
"""
    a = np.random.default_rng(1).integers(0, 9, 1900).astype(np.int32)
    seen = []
    for lanes in (64, 640, 16384):
        monkeypatch.setattr(importlib.import_module("grader.ptx.limits"), "BATCH_LANES", lanes)
        result = run(source, 30, 64, a, np.zeros(1902, np.int32), 1900)
        report = result.report
        hazards = [(h.kind, h.detail, h.line, h.other_line, h.count) for h in report.hazards]
        seen.append((result[1].tolist(), report.counters.by_line, report.thread_instructions, hazards))
    assert seen[0][1:3] == seen[1][1:3] == seen[2][1:3]
    assert seen[0][0] == seen[1][0] == seen[2][0]
    assert seen[0][3] == seen[1][3] == seen[2][3]
    assert {(kind, detail) for kind, detail, *_ in seen[0][3]} == {
        ("race", "read_write"),
        ("race", "write_write_same_value"),
    }


def test_a_module_keeps_its_variables_between_launches_on_a_device() -> None:
    source = """
__device__ int counter = 10;
extern "C" __global__ void bump(int* out) { out[0] = atomicAdd(&counter, 1); }
"""
    module = compiled(source)
    device = Device()
    out = device.buffer("out", np.zeros(1, np.int32))
    for expected in (10, 11, 12):
        launch(module, Launch("bump", (1,), (1,), [out], device=device))
        assert out.read(np.int32).tolist() == [expected]
    other = Device()
    fresh = other.buffer("out", np.zeros(1, np.int32))
    launch(module, Launch("bump", (1,), (1,), [fresh], device=other))
    assert fresh.read(np.int32).tolist() == [10]


def test_only_some_chunks_are_observed_but_all_are_run() -> None:
    source = 'extern "C" __global__ void k(int* out) { out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x; }'
    result = run(source, 2560, 64, np.zeros(2560 * 64, np.int32), observed_batches=3)
    counters = result.report.counters
    assert (counters.sampled_blocks, counters.total_blocks) == (3 * 256, 2560)
    assert counters.total("requests", "global", "store") == 3 * 256 * 2
    assert (result[0].reshape(-1, 64) == np.arange(64)).all()
    # 10 batches of 256 blocks; 7 instructions a thread.
    batch = result.report.thread_instructions // 10
    for affordable, watched in ((10 * batch, 10), (5 * batch, 5), (batch // 2, 2), (0, 2)):
        spread = run(source, 2560, 64, np.zeros(2560 * 64, np.int32), observed_instructions=affordable).report.counters
        assert spread.sampled_blocks == watched * 256
    nothing = run(source, 4, 64, np.zeros(256, np.int32), observe=False).report.counters
    assert nothing == Counters([], 4, 4)


def test_special_registers_that_depend_on_the_launch() -> None:
    names = ["ntid.x", "ntid.y", "nctaid.z", "warpid", "nwarpid", "total_smem_size", "dynamic_smem_size"]
    body = "".join(f"mov.u32 %r{k}, %{name};\nst.global.u32 [%rd3+{4 * k}], %r{k};\n" for k, name in enumerate(names))
    text = module_text(
        "ld.param.u64 %rd1, [k_param_0];\nmov.u32 %r10, %tid.x;\nsetp.ne.u32 %p1, %r10, 70;\n@%p1 bra DONE;\n"
        f"mov.u64 %rd3, %rd1;\n{body}DONE:\nret;"
    )
    device = Device()
    out = device.buffer("out", np.zeros(len(names), np.uint32))
    launch(parse(text), Launch("k", (1, 1, 3), (96,), [out], device=device, shared_bytes=64))
    assert out.read(np.uint32).tolist() == [96, 1, 3, 2, 64, 128, 64]


PRINTS = [
    ('"%d %i %u", -5, 7, 4000000000u', "-5 7 4000000000"),
    ('"%5d|%-5d|%05d|%+d", 42, 42, 42, 42', "   42|42   |00042|+42"),
    ('"%x %X %o %#x", 255, 255, 8, 16', "ff FF 10 0x10"),
    ('"%f %.2f %8.3f %e %g", 1.5, 2.0, 3.14159, 12345.678, 0.0001', "1.500000 2.00    3.142 1.234568e+04 0.0001"),
    ('"%lld %llu %ld", -(1LL << 40), 1ULL << 63, 5L', "-1099511627776 9223372036854775808 5"),
    ('"%c%c %s|%10s", 65, 66, "text", "right"', "AB text|     right"),
    ('"%%|%d%%", 50', "%|50%"),
    ('"%*d|%.*f", 6, 42, 1, 2.55', "    42|2.5"),
    ('"no arguments"', "no arguments"),
    ('"%f %f", 1.0f / 0.0f * (out[1] + 1), -1.0f / 0.0f * (out[1] + 1)', "inf -inf"),
    ('"%*d|", -6, 42', "42    |"),
    ('"%hhd %hd %hhu", 300, 70000, 300', "44 4464 44"),
]


@pytest.mark.parametrize(("call", "text"), PRINTS)
def test_printf_writes_what_c_writes(call: str, text: str) -> None:
    source = f'extern "C" __global__ void k(float* out) {{ printf({call}); }}'
    assert run(source, 1, 1, np.zeros(2, np.float32)).report.printf == text


def test_printf_of_many_threads_comes_in_order_and_is_capped() -> None:
    source = 'extern "C" __global__ void k(int* out) { if (threadIdx.x % 2) printf("%d,", threadIdx.x); }'
    assert run(source, 1, 8, np.zeros(1, np.int32)).report.printf == "1,3,5,7,"
    report = run(source, 100, 1024, np.zeros(1, np.int32), limits=Limits(printf_bytes=100)).report
    assert len(report.printf) == 100


def test_more_threads_than_the_launch_bounds_promise() -> None:
    source = 'extern "C" __global__ void __launch_bounds__(48) k(int* a) { a[threadIdx.x] = 1; }'
    assert run(source, 1, 48, np.zeros(48, np.int32))[0].all()
    assert run(source, 1, (6, 8), np.zeros(48, np.int32))[0][:6].all()
    with pytest.raises(LaunchError, match="the block has 49 threads, __launch_bounds__ allows 48"):
        run(source, 1, 49, np.zeros(64, np.int32))


def test_a_block_that_the_kernel_requires() -> None:
    source = HEADER + ".entry k() .reqntid 32, 2 { ret; }"
    launch(parse(source), Launch("k", (1,), (32, 2), []))
    with pytest.raises(LaunchError, match=r"the block is \(64, 1, 1\), the kernel requires \(32, 2, 1\)"):
        launch(parse(source), Launch("k", (1,), (64,), []))


def test_few_threads_that_go_on_for_long_run_into_a_limit_of_their_own() -> None:
    source = 'extern "C" __global__ void k(volatile int* a, int n) { for (int i = 0; i < n; ++i) a[0] = i; }'
    limits = Limits(issued=2000)
    assert run(source, 1, 1024, np.zeros(1, np.int32), 100, observe=False, limits=limits)[0][0] == 99
    with pytest.raises(LimitExceeded, match="more than 2000 instructions were issued") as caught:
        run(source, 1, 1, np.zeros(1, np.int32), 3000, observe=False, limits=limits)
    assert caught.value.kind == "instructions"


def test_blocks_that_contend_for_one_place_run_few_at_a_time() -> None:
    """Threads that run together try together, and one gets through: n of them make n (n + 1) / 2 attempts."""
    source = """
extern "C" __global__ void k(int* p) {
    int old = *p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, seen + 1);
    } while (seen != old);
}
"""
    result = run(source, 12, 128, np.zeros(1, np.int32), observe=False)
    assert result[0].tolist() == [12 * 128]
    assert result.report.opcode_counts["atom"] == (1024 * 1025 + 512 * 513) // 2
