"""Who wrote an element, and what from: kernels whose data flow is known by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.memory import Device
from grader.ptx.observers import provenance
from grader.ptx.observers.provenance import Provenance
from grader.ptx.records import Read
from grader.ptx.values import Array
from tests.ptx.nvrtc import compile_ptx

SIDE = 8


def history(
    source: str, block: Sequence[int], grid: Sequence[int] = (1,), elements: int = 64, outputs: int = 64
) -> tuple[Provenance, Array]:
    """Run the only kernel of a source on `in` (0, 1, 2, …) and an `out` that nothing wrote."""
    module = parse(compile_ptx(source))
    device = Device()
    given = device.buffer("in", np.arange(elements, dtype=np.float32))
    out = device.buffer("out", 4 * outputs)
    watch = Provenance(module)
    launch(module, Launch(module.entries()[0], grid, block, [given, out], observers=[watch]))
    return watch, out.read(np.float32)


def elements(reads: Sequence[Read]) -> list[tuple[str, int]]:
    return [(read.array, read.offset_bytes // 4) for read in reads]


def test_a_move_names_thread_line_and_the_element_read() -> None:
    watch, out = history(
        """__global__ void k(const float *in, float *out) {
    int i = blockIdx.x * 16 + threadIdx.x;
    out[i] = in[63 - i];
}""",
        (16,),
        (4,),
    )
    (write,) = watch.writes("out", 4 * 37, 4)
    assert (write.block, write.thread, write.line, write.op) == ((2, 0, 0), (5, 0, 0), 3, "store")
    assert write.bits is not None and np.uint32(write.bits).view(np.float32) == out[37] == 26
    (read,) = watch.reads(write)
    assert (read.array, read.offset_bytes, read.line, read.origin) == ("in", 4 * 26, 3, "input")
    assert (read.block, read.thread) == ((2, 0, 0), (5, 0, 0))


def test_nobody_wrote_it() -> None:
    watch, _ = history("__global__ void k(const float *in, float *out) { out[2 * threadIdx.x] = in[0]; }", (8,))
    assert watch.writes("out", 4, 4) == []
    assert np.flatnonzero(watch.written("out", 256)[::4]).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_the_last_of_several_writers_comes_last() -> None:
    watch, out = history(
        """__global__ void k(const float *in, float *out) {
    out[threadIdx.x / 4] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 9) out[1] = in[40];
}""",
        (16,),
    )
    writes = watch.writes("out", 4, 4)
    assert [(w.thread[0], w.line) for w in writes] == [(4, 2), (5, 2), (6, 2), (7, 2), (9, 4)]
    assert out[1] == 40
    assert elements(watch.reads(writes[-1])) == [("in", 40)]


def test_through_shared_memory_to_the_input() -> None:
    watch, out = history(
        """__global__ void k(const float *in, float *out) {
    __shared__ float tile[8][9];
    int x = threadIdx.x, y = threadIdx.y, b = blockIdx.x * 64;
    tile[y][x] = in[b + y * 8 + x];
    __syncthreads();
    out[b + y * 8 + x] = tile[x][y];
}""",
        (8, 8),
        (2,),
        128,
        128,
    )
    (write,) = watch.writes("out", 4 * (64 + 3 * 8 + 5), 4)
    assert (write.block, write.thread, write.line) == ((1, 0, 0), (5, 3, 0), 6)
    (read,) = watch.reads(write)
    assert (read.array, read.space, read.offset_bytes, read.line) == ("tile", "shared", 4 * (5 * 9 + 3), 6)
    assert read.origin == "written" and read.put is not None
    assert (read.put.block, read.put.thread, read.put.line) == ((1, 0, 0), (3, 5, 0), 4)
    assert elements(read.reads) == [("in", 64 + 5 * 8 + 3)]
    assert out[64 + 3 * 8 + 5] == 64 + 5 * 8 + 3


def test_a_loop_s_elements_are_told_apart_although_the_compiler_unrolls_it() -> None:
    watch, _ = history(
        """__global__ void k(const float *in, float *out) {
    for (int i = threadIdx.x; i < 64; i += 8) out[i] = in[63 - i] + 1;
}""",
        (8,),
    )
    for i in range(64):
        (write,) = watch.writes("out", 4 * i, 4)
        assert elements(watch.reads(write)) == [("in", 63 - i)], i


def test_a_sum_is_made_from_all_its_terms_and_a_value_loaded_once_counts_every_time() -> None:
    watch, _ = history(
        """__global__ void k(const float *in, float *out) {
    float scale = in[63];
    for (int row = 0; row < 2; ++row) {
        float sum = 0;
        for (int i = threadIdx.x; i < 32; i += 8) sum += in[row * 32 + i];
        out[row * 8 + threadIdx.x] = sum * scale;
    }
}""",
        (8,),
    )
    for row in range(2):
        (write,) = watch.writes("out", 4 * (row * 8 + 3), 4)
        assert sorted(elements(watch.reads(write))) == [("in", row * 32 + i) for i in (3, 11, 19, 27)] + [("in", 63)]


def test_what_is_loaded_but_not_used_for_the_value_does_not_count() -> None:
    watch, _ = history(
        """__global__ void k(const float *in, float *out) {
    int i = threadIdx.x;
    float a = in[i], b = in[i + 16];
    out[i] = a;
    out[i + 16] = b;
}""",
        (16,),
    )
    assert elements(watch.reads(watch.writes("out", 4 * 2, 4)[0])) == [("in", 2)]
    assert elements(watch.reads(watch.writes("out", 4 * 18, 4)[0])) == [("in", 18)]


def test_elements_of_vectors() -> None:
    watch, out = history(
        """__global__ void k(const float *in, float *out) {
    float4 v = reinterpret_cast<const float4 *>(in)[threadIdx.x];
    reinterpret_cast<float4 *>(out)[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
}""",
        (16,),
    )
    for element, source in ((20, 23), (21, 22), (22, 21), (23, 20)):
        (write,) = watch.writes("out", 4 * element, 4)
        assert (write.thread, write.offset_bytes, write.width_bytes) == ((5, 0, 0), 4 * element, 4)
        assert write.bits is not None and np.uint32(write.bits).view(np.float32) == out[element]
        assert elements(watch.reads(write)) == [("in", source)]


def test_a_shared_word_read_too_early_has_a_later_writer() -> None:
    watch, _ = history(
        """__global__ void k(const float *in, float *out) {
    __shared__ volatile float word;
    if (threadIdx.x == 0) out[0] = word;
    __syncthreads();
    if (threadIdx.x == 3) word = in[7];
}""",
        (32,),
    )
    (read,) = watch.reads(watch.writes("out", 0, 4)[0])
    assert (read.array, read.origin, read.put, read.line) == ("word", "nothing", None, 3)
    assert read.later is not None and (read.later.thread, read.later.line) == ((3, 0, 0), 5)


def test_an_element_that_is_added_to_was_read_and_nothing_was_there() -> None:
    watch, _ = history("__global__ void k(const float *in, float *out) { out[threadIdx.x] += in[threadIdx.x]; }", (8,))
    reads = watch.reads(watch.writes("out", 8, 4)[-1])
    assert sorted((r.array, r.offset_bytes, r.origin) for r in reads) == [("in", 8, "input"), ("out", 8, "nothing")]


def test_atomics_read_what_they_add_to() -> None:
    watch, _ = history("__global__ void k(const float *in, float *out) { atomicAdd(out, in[threadIdx.x]); }", (4,))
    writes = watch.writes("out", 0, 4)
    assert [(w.op, w.thread[0], w.bits) for w in writes] == [("atomic", i, None) for i in range(4)]
    for i, write in enumerate(writes):
        assert elements(watch.reads(write)) == [("in", i), ("out", 0)]
    assert watch.reads(writes[0])[-1].origin == "nothing"


def test_lanes_of_a_warp_that_exchange_values_share_their_reads() -> None:
    watch, out = history(
        """__global__ void k(const float *in, float *out) {
    float v = in[threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) out[0] = v;
}""",
        (32,),
    )
    assert out[0] == sum(range(32))
    assert elements(watch.reads(watch.writes("out", 0, 4)[0])) == [("in", i) for i in range(32)]


def test_a_tree_of_sums_in_shared_memory_leads_back_to_every_input() -> None:
    watch, out = history(
        """__global__ void k(const float *in, float *out) {
    __shared__ float part[64];
    int t = threadIdx.x;
    part[t] = in[t];
    __syncthreads();
    for (int d = 32; d; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) out[0] = part[0];
}""",
        (64,),
    )
    found: set[int] = set()
    pending = watch.reads(watch.writes("out", 0, 4)[0])
    while pending:
        read = pending.pop()
        pending += read.reads
        if read.array == "in":
            found.add(read.offset_bytes // 4)
    assert out[0] == sum(range(64))
    assert found == set(range(64))


def test_too_large_a_launch_leaves_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "KEPT_LANES", 100)
    source = "__global__ void k(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }"
    assert history(source, (50,))[0].complete
    watch, _ = history(source, (51,))
    assert not watch.complete
    assert watch.writes("out", 0, 4) == []


def test_each_atomic_reads_what_the_one_before_it_left() -> None:
    watch, _ = history("__global__ void k(const float *in, float *out) { atomicAdd(out, in[threadIdx.x]); }", (4,))
    for i, write in enumerate(watch.writes("out", 0, 4)[1:]):
        read = watch.reads(write)[-1]
        assert (read.origin, read.put and read.put.thread) == ("written", (i, 0, 0))


def test_a_value_loaded_before_a_loop_counts_in_every_iteration() -> None:
    watch, _ = history(
        """__global__ void k(const float *in, float *out) {
    float scale = in[63];
    #pragma unroll 1
    for (int row = 0; row < 3; ++row)
        out[row * 8 + threadIdx.x] = in[row * 8 + threadIdx.x] * scale;
}""",
        (8,),
    )
    for row in range(3):
        (write,) = watch.writes("out", 4 * (row * 8 + 3), 4)
        assert sorted(elements(watch.reads(write))) == [("in", row * 8 + 3), ("in", 63)]


def test_blocks_that_run_later_are_found_as_well() -> None:
    watch, out = history(
        """__global__ void k(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + in[i ^ 1];
}""",
        (1024,),
        (20,),
        20480,
        20480,
    )
    (write,) = watch.writes("out", 4 * 20001, 4)
    assert (write.block, write.thread) == ((19, 0, 0), (545, 0, 0))
    assert sorted(elements(watch.reads(write))) == [("in", 20000), ("in", 20001)]
    assert out[20001] == 40001
