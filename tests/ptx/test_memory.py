"""Bounds to the byte, alignment, uninitialised reads; each at its line, with a thread that did it."""

from __future__ import annotations

from time import thread_time

import numpy as np
import pytest

from grader.ptx.launch import Launch, launch
from grader.ptx.memory import POISON, Device
from tests.ptx.nvrtc import compile_ptx
from tests.ptx.running import Bytes, compiled, run

GLOBAL = """
extern "C" __global__ void k(float* a, float* out, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i + offset];
    out[i] = x;
}
"""
DYNAMIC = """
extern "C" __global__ void k(float* out, int offset) {
    extern __shared__ float s[];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + offset];
}
"""
STATIC = """
extern "C" __global__ void k(float* out, int offset) {
    __shared__ float before[64], s[64], after[64];
    before[threadIdx.x] = s[threadIdx.x] = after[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + offset] + before[63 - threadIdx.x] + after[63 - threadIdx.x];
}
"""
LOCAL = """
extern "C" __global__ void k(float* out, int offset) {
    float mine[64];
    for (int k = 0; k < 64; ++k) mine[k] = k * 0.5f;
    mine[threadIdx.x] = 5.0f;
    out[threadIdx.x] = mine[(int)threadIdx.x + offset];
}
"""
CONSTANT = """
__constant__ float c[64];
__device__ float d[64];
extern "C" __global__ void k(float* out, int offset) {
    out[threadIdx.x] = c[(int)threadIdx.x + offset];
    d[(int)threadIdx.x + offset] = 1.0f;
}
"""


def test_global_reads_one_before_and_one_after() -> None:
    for offset, detail, thread, at in ((1, "after", (31, 0, 0), 256), (-1, "before", (0, 0, 0), -4)):
        result = run(GLOBAL, 2, 32, np.ones(64, np.float32), np.zeros(64, np.float32), offset)
        (hazard,) = result.hazards
        assert (hazard.kind, hazard.detail, hazard.line, hazard.space, hazard.op) == (
            "out_of_bounds",
            detail,
            4,
            "global",
            "load",
        )
        assert (hazard.block, hazard.thread) == ((1 if offset > 0 else 0, 0, 0), thread)
        assert (hazard.array, hazard.offset_bytes, hazard.width_bytes, hazard.array_bytes) == ("arg0", at, 4, 256)
        assert hazard.count == 1
        # The thread at fault reads 0, the others what is there.
        assert result[1].sum() == 63


def test_in_bounds_to_the_last_byte_is_no_fault() -> None:
    assert run(GLOBAL, 2, 32, np.ones(65, np.float32), np.zeros(64, np.float32), 1).hazards == []


def test_several_lanes_at_fault_are_counted_and_the_first_is_named() -> None:
    (hazard,) = run(GLOBAL, 2, 32, np.ones(50, np.float32), np.zeros(64, np.float32), 0).hazards
    assert (hazard.count, hazard.block, hazard.thread, hazard.offset_bytes) == (14, (1, 0, 0), (18, 0, 0), 200)


def test_stores_out_of_bounds_leave_the_neighbours_alone() -> None:
    source = 'extern "C" __global__ void k(int* a, int n) { a[(int)threadIdx.x - n] = 7; }'
    for n, detail, count in ((1, "before", 1), (-1, "after", 1), (-40, "after", 32), (1 << 28, "before", 32)):
        result = run(source, 1, 32, np.zeros(32, np.int32), n)
        (hazard,) = result.hazards
        assert (hazard.kind, hazard.detail, hazard.op, hazard.count) == ("out_of_bounds", detail, "store", count)
        assert (result[0] == 7).sum() == 32 - count


@pytest.mark.parametrize(
    ("source", "space", "array", "line", "shared_bytes"),
    [
        (DYNAMIC, "shared", "s", 6, 256),
        (STATIC, "shared", "s", 6, 0),
        (LOCAL, "local", "__local_depot0", 6, 0),
        (CONSTANT, "const", "c", 5, 0),
    ],
)
def test_other_spaces_one_before_and_one_after(
    source: str, space: str, array: str, line: int, shared_bytes: int
) -> None:
    for offset, detail, thread, at in ((1, "after", 63, 256), (-1, "before", 0, -4)):
        result = run(source, 1, 64, np.zeros(64, np.float32), offset, shared_bytes=shared_bytes)
        hazard = next(h for h in result.hazards if h.space == space)
        assert (hazard.kind, hazard.detail, hazard.line) == ("out_of_bounds", detail, line)
        assert (hazard.array, hazard.offset_bytes, hazard.array_bytes) == (array, at, 256)
        assert (hazard.thread, hazard.count) == ((thread, 0, 0), 1)
    assert run(source, 1, 64, np.zeros(64, np.float32), 0, shared_bytes=shared_bytes).hazards == []


def test_generic_pointers_where_shared_addresses_are_expected() -> None:
    """PTX cuts them off to 32 bits, and what remains is the address."""
    source = """extern "C" __global__ void k(const float* in, float* out) {
        __shared__ float s[64], copied[64];
        int i = threadIdx.x;
        asm volatile("st.shared.f32 [%0], %1;" :: "l"(&s[i]), "f"(in[i]) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "l"(&copied[i]), "l"(&in[i]) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        float v;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "l"(&s[63 - i]) : "memory");
        out[i] = v + copied[i];
    }"""
    for observe in (True, False):
        result = run(source, 1, 64, np.arange(64, dtype=np.float32), np.zeros(64, np.float32), observe=observe)
        assert result.hazards == [] and (result[1] == 63).all()


@pytest.mark.parametrize(("value", "kinds"), [("blockIdx.x ? last : 0.0f", []), ("last", ["uninitialized"])])
def test_a_load_that_the_compiler_takes_out_of_a_choice(value: str, kinds: list[str]) -> None:
    source = f"""extern "C" __global__ void k(float* out) {{
        __shared__ float last;
        if (blockIdx.x && threadIdx.x == 0) last = out[32];
        __syncthreads();
        out[blockIdx.x * 32 + threadIdx.x] = {value};
    }}"""
    assert "selp" in compile_ptx(source) or value == "last"
    assert [hazard.kind for hazard in run(source, 2, 32, np.ones(65, np.float32)).hazards] == kinds


def test_device_variables_have_bounds_of_their_own() -> None:
    result = run(CONSTANT, 1, 64, np.zeros(64, np.float32), -1)
    assert [(h.array, h.op, h.line) for h in result.hazards] == [("c", "load", 5), ("d", "store", 6)]


def test_vector_accesses_that_straddle_the_end() -> None:
    source = 'extern "C" __global__ void k(float4* a, float4* b) { b[threadIdx.x] = a[threadIdx.x]; }'
    (hazard,) = run(source, 1, 4, np.ones(15, np.float32), np.zeros(16, np.float32)).hazards
    assert (hazard.detail, hazard.width_bytes, hazard.offset_bytes, hazard.thread) == ("after", 16, 48, (3, 0, 0))


def test_misaligned_accesses() -> None:
    source = 'extern "C" __global__ void k(char* a, float* b) { b[threadIdx.x] = *(float*)(a + 4 * threadIdx.x + 2); }'
    (hazard,) = run(source, 1, 32, np.zeros(256, np.int8), np.zeros(32, np.float32)).hazards
    assert (hazard.kind, hazard.detail, hazard.offset_bytes, hazard.count) == ("out_of_bounds", "misaligned", 2, 32)
    source = source.replace("float*", "float2*")
    (hazard,) = run(source, 1, 32, np.zeros(256, np.int8), np.zeros(64, np.float32)).hazards
    assert (hazard.detail, hazard.width_bytes) == ("misaligned", 8)


def test_null_and_wild_pointers() -> None:
    source = 'extern "C" __global__ void k(float* a, long long p) { a[threadIdx.x] = *(float*)p; }'
    for pointer in (0, 4, 0x7FFF_FFFF_0000, -8):
        (hazard,) = run(source, 1, 32, np.zeros(32, np.float32), np.int64(pointer)).hazards
        assert (hazard.kind, hazard.detail, hazard.array, hazard.count) == ("out_of_bounds", "unmapped", "", 32)


def test_writing_to_constant_memory_is_refused() -> None:
    source = """
__constant__ int c[4] = {1, 2, 3, 4};
extern "C" __global__ void k(int* out, int n) {
    int* p = n > 5 ? out : (int*)c;
    p[threadIdx.x] = 9;
    out[threadIdx.x] = c[threadIdx.x];
}
"""
    result = run(source, 1, 4, np.zeros(4, np.int32), 1)
    assert result.kinds() == [("out_of_bounds", "read_only", 5)]
    assert result[0].tolist() == [1, 2, 3, 4]


def test_one_access_that_goes_to_several_arrays_and_beyond() -> None:
    source = """
struct Table { float* rows[4]; };
extern "C" __global__ void k(Table t, float* out) {
    out[threadIdx.x] = t.rows[threadIdx.x & 3][threadIdx.x >> 2];
}
"""
    device = Device()
    rows = [device.buffer(f"row{k}", np.full(8, k, np.float32)) for k in range(3)]
    out = device.buffer("out", np.zeros(32, np.float32))
    pointers = np.array([*(row.address for row in rows), 0], np.uint64).tobytes()
    report = launch(compiled(source), Launch("k", (1,), (32,), [pointers, out], device=device))
    np.testing.assert_array_equal(out.read(np.float32), np.arange(32) % 4 % 3)
    (hazard,) = report.hazards
    assert (hazard.detail, hazard.count, hazard.thread) == ("unmapped", 8, (3, 0, 0))


# -- memory that nothing wrote -----------------------------------------------------------------------------------------


def test_reading_an_output_that_nobody_wrote() -> None:
    source = 'extern "C" __global__ void k(float* out) { out[threadIdx.x] += 1.0f; }'
    result = run(source, 1, 32, Bytes(128))
    assert result.kinds() == [("uninitialized", "", 1)]
    assert result.hazards[0].count == 32
    assert run(source, 1, 32, np.zeros(32, np.float32)).hazards == []


def test_an_exchange_reads_where_its_old_value_is_looked_at() -> None:
    source = 'extern "C" __global__ void k(float* out, float* old) { %s atomicExch(&out[threadIdx.x], 2.0f); }'
    for kept, kinds in (("", []), ("old[threadIdx.x] =", [("uninitialized", "", 1)])):
        result = run(source % kept, 1, 32, Bytes(128), np.zeros(32, np.float32))
        assert result.kinds() == kinds


def test_shared_memory_that_only_some_threads_filled() -> None:
    source = """
extern "C" __global__ void k(const float* a, float* out, int n) {
    __shared__ float s[64];
    if (threadIdx.x < n) s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
"""
    a, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    (hazard,) = run(source, 2, 64, a, out, 60, observe=False).hazards
    assert (hazard.kind, hazard.line, hazard.space, hazard.array) == ("uninitialized", 6, "shared", "s")
    assert (hazard.thread, hazard.offset_bytes, hazard.count) == ((0, 0, 0), 252, 8)
    assert run(source, 2, 64, a, out, 64, observe=False).hazards == []


PADDED = """
struct Record { char c; double d; short h; int i; char e; };
extern "C" __global__ void k(Record* out) {
    __shared__ Record s[64];
    int t = threadIdx.x;
    s[t].c = t;
    s[t].d = t * 0.5;
    s[t].h = -t;
    s[t].i = 7 * t;
    s[t].e = 3;
    __syncthreads();
    out[t] = s[63 - t];
}
"""


def test_of_what_is_loaded_together_the_number_is_named_that_nobody_wrote() -> None:
    source = """
extern "C" __global__ void k(float* out, int n) {
    __shared__ __align__(16) float s[64];
    if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float4 four = *(const float4 *)&s[threadIdx.x / 4 * 4];
    out[threadIdx.x] = four.x + four.y + four.z + four.w;
}
"""
    for n, offset in ((42, 42 * 4), (40, 40 * 4)):
        (hazard,) = run(source, 1, 64, np.zeros(64, np.float32), n, observe=False).hazards
        assert (hazard.kind, hazard.offset_bytes, hazard.width_bytes) == ("uninitialized", offset, 4)


def test_copying_a_struct_with_its_padding_reads_nothing_unwritten() -> None:
    layout = np.dtype([("c", "i1"), ("d", "f8"), ("h", "i2"), ("i", "i4"), ("e", "i1")], align=True)
    result = run(PADDED, 1, 64, np.zeros(64, layout))
    assert result.hazards == []
    assert result[0].tolist() == [(t, t * 0.5, -t, 7 * t, 3) for t in range(63, -1, -1)]


def test_one_thread_that_copies_what_nobody_wrote_is_told() -> None:
    source = """
extern "C" __global__ void k(void** values, void** out) {
    if (threadIdx.x == 3) out[threadIdx.x] = values[threadIdx.x];
}
"""
    (hazard,) = run(source, 1, 32, Bytes(256), np.zeros(32, np.uint64)).hazards
    assert (hazard.kind, hazard.line, hazard.count, hazard.offset_bytes) == ("uninitialized", 3, 1, 24)


def test_a_member_that_was_forgotten_is_found_in_the_copy() -> None:
    layout = np.dtype([("c", "i1"), ("d", "f8"), ("h", "i2"), ("i", "i4"), ("e", "i1")], align=True)
    broken = PADDED.replace("    s[t].d = t * 0.5;\n", "")
    (hazard,) = run(broken, 1, 64, np.zeros(64, layout)).hazards
    assert (hazard.kind, hazard.line, hazard.count, hazard.offset_bytes) == ("uninitialized", 11, 64, 63 * 32 + 8)


def test_half_of_a_word_is_missing_where_something_is_computed_from_it() -> None:
    source = """
extern "C" __global__ void k(int* out) {
    __shared__ unsigned short s[64];
    s[2 * threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = ((int*)s)[threadIdx.x] + 1;
}
"""
    (hazard,) = run(source, 1, 32, np.zeros(32, np.int32)).hazards
    assert (hazard.kind, hazard.line, hazard.count) == ("uninitialized", 6, 32)


def test_an_atomic_on_memory_that_nobody_wrote() -> None:
    source = 'extern "C" __global__ void k(int* bins) { atomicAdd(&bins[threadIdx.x & 7], 1); }'
    (hazard,) = run(source, 1, 32, Bytes(32)).hazards
    assert (hazard.kind, hazard.op, hazard.count) == ("uninitialized", "atomic", 32)


def test_a_word_of_which_one_byte_was_written_counts_as_unwritten_as_a_whole() -> None:
    source = """
extern "C" __global__ void k(unsigned char* bytes, int* out) {
    if (threadIdx.x < 16) bytes[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x < 6) out[threadIdx.x] = ((int*)bytes)[threadIdx.x];
}
"""
    (hazard,) = run(source, 1, 32, Bytes(24), np.zeros(6, np.int32)).hazards
    assert (hazard.kind, hazard.line, hazard.thread, hazard.count) == ("uninitialized", 5, (4, 0, 0), 2)


def test_what_one_block_wrote_does_not_make_anothers_shared_memory_valid() -> None:
    source = """
extern "C" __global__ void k(float* out) {
    __shared__ float s[32];
    if (blockIdx.x == 0) s[threadIdx.x] = 1.0f;
    out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}
"""
    (hazard,) = run(source, 3, 32, np.zeros(96, np.float32)).hazards
    assert (hazard.kind, hazard.block, hazard.count) == ("uninitialized", (1, 0, 0), 64)


def test_what_a_kernel_wrote_is_known_afterwards() -> None:
    source = 'extern "C" __global__ void k(int* a, int n) { if (threadIdx.x < n) a[2 * threadIdx.x] = 1; }'
    buffer = run(source, 1, 32, Bytes(256), 30).buffers[0]
    written = buffer.written().view(np.uint8).reshape(-1, 4)
    assert written.sum() == 30 * 4
    assert written[0:60:2].all()
    assert (buffer.read(np.uint8)[4:8] == POISON).all()


def test_memory_that_nothing_has_set_is_no_number_of_any_format() -> None:
    source = """
    extern "C" __global__ void k(float* f, double* d, unsigned short* h, const float4* unset) {
        __shared__ float s[32];
        __shared__ double t[32];
        float local[4];
        const int i = threadIdx.x;
        if (i > 64) { s[i] = 0; t[i] = 0; for (int k = 0; k < 4; ++k) local[(i + k) & 3] = k; }
        f[i] += 1;
        f[32 + i] = s[i] * 2;
        f[64 + i] = unset[i].z - unset[i].w;
        f[96 + i] = local[f != nullptr ? i & 3 : 0] + 1;
        d[i] += 1;
        d[32 + i] = t[i] + 1;
        asm("{ .reg .b16 one; mov.b16 one, 0x3C00; add.f16 %0, %1, one; }" : "=h"(h[i]) : "h"(h[i]));
    }"""
    buffers = run(source, 1, 32, Bytes(512), Bytes(512), Bytes(64), Bytes(512)).buffers
    for buffer, dtype in zip(buffers, (np.float32, np.float64, np.float16), strict=False):
        assert np.isnan(buffer.read(dtype)).all()


# -- buffers -----------------------------------------------------------------------------------------------------------


def test_buffers_are_copied_in_and_out() -> None:
    device = Device()
    source = np.arange(6, dtype=np.float64).reshape(2, 3)
    buffer = device.buffer("b", source)
    source[:] = 0
    out = buffer.read(np.float64, (2, 3))
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    out[:] = -1
    assert buffer.read(np.float64).sum() == 15
    buffer.write(np.array([9.0]))
    assert buffer.read(np.float64).tolist() == [9, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="56 bytes do not fit in buffer 'b' of 48 bytes"):
        buffer.write(np.zeros(7))


def test_buffers_lie_far_apart_and_aligned() -> None:
    device = Device()
    addresses = [device.buffer(f"b{k}", 1000).address for k in range(5)]
    assert all(address % 256 == 0 for address in addresses)
    assert min(np.diff(addresses)) >= 1 << 27
    others = [Device(seed=seed).buffer("b", 1000).address for seed in range(5)]
    assert len({*others, addresses[0]}) == 5 and all(0x7F00 << 32 < address < 1 << 47 for address in others)


def test_one_padded_struct_that_all_threads_copy() -> None:
    layout = np.dtype([("c", "i1"), ("d", "f8"), ("h", "i2"), ("i", "i4"), ("e", "i1")], align=True)
    result = run(PADDED.replace("s[63 - t]", "s[9]"), 1, 64, np.zeros(64, layout))
    assert result.hazards == []
    assert result[0].tolist() == [(9, 4.5, -9, 63, 3)] * 64


def test_only_every_second_lane_is_misaligned() -> None:
    source = 'extern "C" __global__ void k(char* a, int* b) { b[threadIdx.x] = *(int*)(a + 2 * threadIdx.x); }'
    (hazard,) = run(source, 1, 32, np.zeros(256, np.int8), np.zeros(32, np.int32)).hazards
    assert (hazard.detail, hazard.thread, hazard.count) == ("misaligned", (1, 0, 0), 16)


MOVING = """
extern "C" __global__ void k(const char* a, int* b, int step, int n) {
    int sum = 0;
    #pragma unroll 1
    for (int i = 0; i < n; ++i)
        sum += *(const int*)(a + 4 * threadIdx.x + step * i);
    b[threadIdx.x] = sum;
}
"""


def test_a_load_in_a_loop_that_runs_past_the_end() -> None:
    arguments = np.zeros(100, np.int32), np.zeros(32, np.int32)
    assert run(MOVING, 1, 32, *arguments, 128, 3).hazards == []
    (hazard,) = run(MOVING, 1, 32, *arguments, 128, 4).hazards
    assert (hazard.detail, hazard.thread, hazard.count, hazard.offset_bytes) == ("after", (4, 0, 0), 28, 400)
    (hazard,) = run(MOVING, 1, 32, *arguments, 2, 2).hazards
    assert (hazard.detail, hazard.thread, hazard.count, hazard.offset_bytes) == ("misaligned", (0, 0, 0), 32, 2)


def test_a_padded_struct_in_a_buffer_that_was_not_filled() -> None:
    source = """
struct Pair { char c; double d; };
extern "C" __global__ void k(Pair* p, Pair* out) {
    if (threadIdx.x == 0) {
        p->c = 1;
        p->d = 2;
    }
    __syncthreads();
    out[threadIdx.x] = *p;
}
"""
    result = run(source, 1, 32, Bytes(16), np.zeros(64, np.float64))
    assert result.hazards == []
    assert result[1][1::2].tolist() == [2.0] * 32
    (hazard,) = run(source.replace("p->d = 2;", ""), 1, 32, Bytes(16), np.zeros(64, np.float64)).hazards
    assert (hazard.kind, hazard.line, hazard.offset_bytes) == ("uninitialized", 9, 8)


@pytest.mark.parametrize(
    ("body", "grid", "block"),
    [
        ("out[i] = in[i];", 4, 64),
        ("atomicAdd(out + i % 7, in[i]);", 4, 64),
        ("if (i == 0) for (int k = 0; k < 20000; k++) out[k % 256] = in[k % 256] + k;", 1, 1),
        ("int s = 0; for (int k = 0; k < 2000; k++) s += in[k % 256] >> (i & 3); out[i % 256] = s;", 80, 256),
        ("for (int k = 0; k < 256; k++) out[i % 256 * 256 + k] = in[k] * 3;", 256, 256),
        ("*(int4*)(out + 4 * i) = *(int4*)(in + 4 * (i % 64));", 4, 64),
    ],
)
@pytest.mark.parametrize("times", [1, 3])
def test_a_launch_leaves_the_digests_of_what_it_only_reads(body: str, grid: int, block: int, times: int) -> None:
    module = compiled(
        f"__global__ void k(int* out, const int* in) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}"
    )
    device = Device()
    out, source = device.buffer("out", np.zeros(65_536, np.int32)), device.buffer("in", np.arange(256, dtype=np.int32))
    for _ in range(times):
        out.memory.digest = source.memory.digest = b"known"
        launch(
            module, Launch(module.entries()[0], (grid,), (block,), [out, source], observe=True, unwatched_apart=True)
        )
        assert source.memory.digest == b"known"
        assert out.memory.digest is None
        out.write(np.zeros(65_536, np.int32))


def test_reserved_memory_is_cleared_by_nobody() -> None:
    # What was freed lies on the heap: zeros made of that would be written anew.
    held = [np.full(16 << 20, 1, np.uint8) for _number in range(8)]
    began = thread_time()
    del held[1:7]
    again = [np.full(16 << 20, 1, np.uint8) for _number in range(6)]
    filled_s = thread_time() - began
    del again
    began = thread_time()
    for number in range(60):
        device = Device(seed=number)
        reserved = device.reserve("a", 16 << 20)
    assert thread_time() - began < filled_s
    reserved.write(np.arange(4, dtype=np.int32))
    assert reserved.memory.data[:5].tolist() == [0, 0, 0, 0, 1]
    assert not reserved.memory.data[16:].any() and reserved.memory.data.size == 16 << 20
