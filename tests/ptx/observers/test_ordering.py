"""What puts accesses in order, and whom the race detector has to remember: cases with few threads, known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from grader.ptx import limits
from grader.ptx.observers import shadow
from tests.ptx.running import Run, run

Brief = tuple[str, bool, int, str, int, str, int]


def races(source: str, grid: int, block: int, *arguments: object) -> list[Brief]:
    """(detail, within a warp, line, op, other line, other op, threads) of the races of a kernel; line 1 is its head."""
    result: Run = run('extern "C" __global__ void k(' + source, grid, block, *arguments)
    assert {h.kind for h in result.hazards} <= {"race"}
    return [
        (h.detail, h.within_warp, h.line, h.op, h.other_line, h.other_op, h.count)
        for h in result.hazards
        if h.kind == "race"
    ]


def ints(count: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.zeros(count, np.int32)


@pytest.mark.parametrize("writer", range(4))
def test_a_block_that_writes_what_all_blocks_have_read(writer: int) -> None:
    """Whichever block it is, also the one whose own reads come last."""
    source = """int* in, int* out, int writer) {
    int x = in[0];
    __syncthreads();
    if (blockIdx.x == writer && threadIdx.x == 0)
        in[0] = 5;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}"""
    (race,) = races(source, 4, 64, ints(1), ints(256), writer)
    assert race == ("read_write", False, 5, "store", 2, "load", 1)
    assert races(source, 1, 64, ints(1), ints(256), 0) == []


@pytest.mark.parametrize("writer", [0, 31, 32, 63, 64, 95])
def test_a_thread_that_writes_what_all_warps_have_read(writer: int) -> None:
    """A __syncwarp() orders the writer's own warp before it, and no other."""
    source = """int* out, int writer) {
    __shared__ int s[1];
    if (threadIdx.x == 0) s[0] = 1;
    __syncthreads();
    int x = s[0];
    __syncwarp();
    if (threadIdx.x == writer)
        s[0] = 5;
    out[threadIdx.x] = x;
}"""
    assert races(source, 1, 96, ints(96), writer) == [("read_write", False, 8, "store", 5, "load", 1)]
    assert races(source, 1, 32, ints(96), writer) == []


def test_another_blocks_read_is_not_forgotten_for_later_ones_nearby() -> None:
    source = """int* in, int* out) {
    int t = threadIdx.x, b = blockIdx.x, x = 0;
    if (b == 1 && t == 0)
        x = in[0];
    if (b == 0 && t == 0) x += in[0];
    if (b == 0 && t == 40) x += in[0];
    if (b == 0 && t == 1) x += in[0];
    __syncthreads();
    if (b == 0 && t == 2)
        in[0] = 5;
    out[64 * b + t] = x;
}"""
    assert races(source, 2, 64, ints(1), ints(128)) == [("read_write", False, 10, "store", 4, "load", 1)]
    assert races(source, 1, 64, ints(1), ints(128)) == []


@pytest.mark.parametrize("reader", range(3))
def test_a_block_that_reads_what_all_blocks_add_to(reader: int) -> None:
    source = """int* sum, int* out, int reader) {
    atomicAdd(sum, 1);
    __syncthreads();
    if (blockIdx.x == reader && threadIdx.x == 0)
        out[0] = *sum;
}"""
    kinds = races(source, 3, 64, ints(1), ints(1), reader)
    assert {race[:6:1] for race in kinds} <= {
        ("read_write", False, 5, "load", 2, "atomic"),
        ("read_write", False, 2, "atomic", 5, "load"),
    }
    assert kinds
    assert races(source, 1, 64, ints(1), ints(1), 0) == []


def test_a_write_before_a_warps_atomics_is_not_forgotten() -> None:
    source = """int* sum, int n) {
    if (threadIdx.x == 40)
        sum[0] = n;
    if (threadIdx.x < 32)
        atomicAdd(sum, 1);
    __syncwarp();
    if (threadIdx.x == 33)
        sum[0] = 7;
}"""
    found = {race[:6] for race in races(source, 1, 64, ints(1), 0)}
    assert ("write_write", False, 5, "atomic", 3, "store") in found
    assert ("write_write", False, 8, "store", 5, "atomic") in found
    assert not any(line == 8 and other == 3 for _, _, line, _, other, _ in found)


HISTOGRAM = """const int* in, int* out, int n) {
    __shared__ int bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (bins[i]) atomicAdd(&out[i], bins[i]);
}"""


def test_a_histogram_in_shared_memory_of_blocks_that_do_not_divide_its_bins() -> None:
    values = np.random.default_rng(1).integers(0, 256, 10007).astype(np.int32)
    result = run('extern "C" __global__ void k(' + HISTOGRAM, 5, 96, values, ints(256), len(values))
    assert result[1].tolist() == np.bincount(values, minlength=256).tolist()
    assert result.hazards == []


# -- compare-and-swap --------------------------------------------------------------------------------------------------

SWAP = """{kind}* p) {{
    {kind} mine = threadIdx.x % 7;
    {word}* word = ({word}*)p;
    {word} old = *word, seen;
    do {{
        seen = old;
        old = atomicCAS(word, seen, {pack}({unpack}(seen) + mine));
    }} while (seen != old);
    {extra}
}}"""


@pytest.mark.parametrize(
    ("kind", "word", "pack", "unpack"),
    [
        ("int", "int", "", ""),
        ("double", "unsigned long long", "__double_as_longlong", "__longlong_as_double"),
        ("float", "int", "__float_as_int", "__int_as_float"),
    ],
)
def test_the_read_before_a_loop_of_compare_and_swap_does_no_harm(
    kind: str, word: str, pack: str, unpack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CUDA C++ programming guide's own way of making any operation atomic starts with a plain read."""
    # Of n threads side by side one gets through at a time: few of them, so that no clock has a say.
    monkeypatch.setattr(limits, "CONTENDING_LANES", 128)
    source = SWAP.format(kind=kind, word=word, pack=pack, unpack=unpack, extra="")
    # More blocks than run side by side: those that come later read what the first have changed.
    kept = np.zeros(1, {"int": "i4", "float": "f4", "double": "f8"}[kind])
    result = run('extern "C" __global__ void k(' + source, 4, 48, kept)
    assert result.hazards == []
    assert result[0].tolist() == [4 * sum(t % 7 for t in range(48))]
    assert result.report.warp_instructions < 20_000


def test_other_reads_and_writes_beside_compare_and_swap_race() -> None:
    source = SWAP.format(kind="int", word="int", pack="", unpack="", extra="if (threadIdx.x == 3) p[1] = *word;")
    assert {race[:1] + race[2:6] for race in races(source, 2, 64, ints(2))} >= {("read_write", 9, "load", 7, "atomic")}
    source = SWAP.format(kind="int", word="int", pack="", unpack="", extra="if (threadIdx.x == 3) *word = 1;")
    found = {race[:1] + race[2:6] for race in races(source, 2, 64, ints(2))}
    assert ("write_write", 9, "store", 7, "atomic") in found


# -- barriers for some threads of a block ------------------------------------------------------------------------------

HALVES = """int* out) {{
    __shared__ int s[128];
    int t = threadIdx.x, half = t / 64;
    s[t] = t;
    asm volatile("bar.sync %0, 64;" :: "r"({number}) : "memory");
    out[t] = s[{index}];
}}"""


def test_a_barrier_of_half_a_block_orders_that_half_only() -> None:
    own = HALVES.format(number="half + 1", index="half * 64 + 63 - t % 64")
    result = run('extern "C" __global__ void k(' + own, 1, 128, ints(128))
    assert result.hazards == []
    assert result[0].tolist() == [*range(63, -1, -1), *range(127, 63, -1)]
    other = HALVES.format(number="half + 1", index="127 - t")
    assert races(other, 1, 128, ints(128)) == [("read_write", False, 6, "load", 4, "store", 128)]
    whole = HALVES.format(number="0", index="127 - t").replace(", 64;", ";")
    assert races(whole, 1, 128, ints(128)) == []


def test_order_is_handed_on_from_barrier_to_barrier() -> None:
    """Warp 0 meets warp 1, then warp 1 meets warp 2: what warp 0 wrote before is ordered before warp 2's reads."""
    source = """int* out) {
    __shared__ int s[32];
    int t = threadIdx.x, w = t / 32;
    if (w == 0) s[t] = t;
    if (w < 2) asm volatile("bar.sync 1, 64;" ::: "memory");
    if (w > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
    if (w == 2)
        out[t % 32] = s[95 - t];
    LAST
}"""
    chain = source.replace("LAST", "")
    assert races(chain, 1, 96, ints(32)) == []
    # The other way round nothing is handed on: warp 0 does not know how far warp 2 has come.
    back = source.replace("LAST", "if (w == 0) s[t] = 0;")
    found = races(back, 1, 96, ints(32))
    assert [race[:2] for race in found] == [("read_write", False)]
    assert {found[0][2], found[0][4]} == {8, 9}


PIPELINE = """int* out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    for (int i = 0; i < n; ++i)
        if (t < 64) {
            s[t] = 100 * i + t;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[i * 64 + t - 64] = s[127 - t];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
}"""


def test_producers_that_arrive_and_consumers_that_wait() -> None:
    result = run('extern "C" __global__ void k(' + PIPELINE, 1, 128, ints(320), 5)
    assert result.hazards == []
    assert result[0].tolist() == [100 * i + 63 - t for i in range(5) for t in range(64)]


def test_who_only_arrives_does_not_learn_that_the_others_have_come() -> None:
    source = """int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        s[t] = t;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        s[t] = 0;
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[t - 64] = s[127 - t];
    }
}"""
    (race,) = races(source, 1, 128, ints(64))
    assert (race[:2], {race[2], race[4]}, race[-1]) == (("read_write", False), {7, 10}, 64)


def test_a_reducing_barrier_keeps_its_votes_while_another_is_complete() -> None:
    source = """int* out) {
    int t = threadIdx.x;
    unsigned count;
    volatile int* go = out + 160;
    #define VOTE(number, threads) asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0;" \\
        "bar.red.popc.u32 %0, " #number ", " #threads ", p;}" : "=r"(count) : "r"(t % 4) : "memory")
    if (t < 64) {
        while (go[1] == 0);
        VOTE(1, 64);
        *go = 1;
    } else if (t < 96) {
        go[1] = 1;
        VOTE(2, 96 /* the first */);
    } else {
        while (*go == 0);
        VOTE(2, 96);
    }
    out[t] = count;
}"""
    result = run('extern "C" __global__ void k(' + source, 1, 160, ints(162), observe=False)
    assert result[0][:160].tolist() == [48] * 64 + [72] * 96


# -- what a long launch may forget -------------------------------------------------------------------------------------


def test_accesses_that_are_forgotten_leave_the_latest_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thread 0 is busy with other elements between the two accesses that race."""
    monkeypatch.setattr(shadow, "KEPT_LANES", 1000)
    source = """int* a, int n) {
    if (threadIdx.x == 0)
        for (int i = 0; i < 20; ++i) a[2 + i] = i;
    if (threadIdx.x == 40)
        a[1] = 1;
    if (threadIdx.x == 0) {
        for (int i = 0; i < n; ++i)
            a[2 + i % 100] += i;
        a[0] = a[1];
    }
}"""
    assert races(source, 1, 64, ints(128), 3000) == [("read_write", False, 9, "load", 5, "store", 1)]


def test_who_only_arrived_is_not_ordered_behind_those_who_waited() -> None:
    source = """int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 32) asm volatile("bar.arrive 1, 64;" ::: "memory");
    if (t >= 32) {
        s[t] = t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    if (t < 32)
        out[t] = s[t + 32];
}"""
    assert races(source, 1, 64, ints(32)) == [("read_write", False, 10, "load", 6, "store", 32)]


def test_who_only_arrived_learns_nothing_by_the_time_the_others_have_met() -> None:
    """Warp 0 arrives where warp 1 waits, and goes on when it has met warp 2, which knows nothing of warp 1."""
    source = """int* out) {
    __shared__ int s[32];
    int t = threadIdx.x, w = t / 32;
    if (w == 1) s[t - 32] = t;
    if (w == 0) asm volatile("bar.arrive 1, 64;" ::: "memory");
    if (w == 1) asm volatile("bar.sync 1, 64;" ::: "memory");
    if (w != 1) asm volatile("bar.sync 2, 64;" ::: "memory");
    if (w == 0)
        out[t] = s[t];
}"""
    assert races(source, 1, 96, ints(32)) == [("read_write", False, 9, "load", 4, "store", 32)]


def test_a_barrier_of_the_block_orders_all_after_one_of_some() -> None:
    source = HALVES.replace("    out[t]", "    __syncthreads();\n    s[127 - t] = 0;\n    __syncthreads();\n    out[t]")
    assert races(source.format(number="half + 1", index="127 - t"), 1, 128, ints(128)) == []


def test_a_syncwarp_of_one_warp_orders_no_other() -> None:
    source = """int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 32) __syncwarp();
    out[t] = s[t ^ 1];
}"""
    assert races(source, 1, 64, ints(64)) == [("read_write", True, 6, "load", 4, "store", 32)]


def test_volatile_reads_of_global_memory_poll() -> None:
    source = """int* flag, int* out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *flag = 1;
    if (threadIdx.x == 0 && blockIdx.x == 1) out[0] = *(volatile int*)flag;
}"""
    assert races(source, 2, 32, ints(1), ints(1)) == []
    assert races(source.replace("(volatile int*)", ""), 2, 32, ints(1), ints(1)) != []
