"""Order that a kernel makes by hand: fences, flags, locks, tickets; and what only looks like it."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.ptx.nvrtc import header_options
from tests.ptx.running import Run, run

ATOMIC = "#include <cuda/atomic>\n"
GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
BARRIER = "#include <cuda/barrier>\n"


def kernel(body: str, parameters: str = "int* data, int* out, int* flag", head: str = "") -> str:
    """A kernel; `t` is the thread, `b` the block."""
    return (
        f'{head}extern "C" __global__ void k({parameters}) {{\n'
        f"int t = threadIdx.x, b = blockIdx.x, n = blockDim.x;\n{body}\n}}"
    )


def launched(source: str, grid: int = 4, block: int = 64, **more: Any) -> Run:
    zeros = [np.zeros(grid * block, np.int32) for _ in range(3)]
    if "#include" in source:
        unit, entries = with_headers()
        more |= {"entry": entries[source], "options": header_options(), "cooperative": "this_grid" in source}
        return run(unit, grid, block, *zeros, **more)
    return run(source, grid, block, *zeros, **more)


def raced(source: str, grid: int = 4, block: int = 64) -> set[tuple[int, int]]:
    """Pairs of lines, counted from the body's first, the lower first."""
    head = source.index("int t = ")
    first = source.count("\n", 0, head) + 1
    found = [h for h in launched(source, grid, block).hazards if h.kind == "race"]
    return {(min(h.line, h.other_line) - first, max(h.line, h.other_line) - first) for h in found}


TICKET = """data[b * n + t] = b + t;
__syncthreads();
__shared__ bool last;
if (t == 0) { __threadfence();
last = atomicInc((unsigned*)flag, gridDim.x - 1) == gridDim.x - 1; }
__syncthreads();
if (last) {
for (int i = t; i < n * gridDim.x; i += n) out[t] += data[n * gridDim.x - 1 - i];
}"""

# What orders the accesses, and what is left when the line that says so is gone: (source, line to leave out, races).
GOOD: dict[str, str] = {
    "ticket": kernel(TICKET),
    "ticket, every thread fences before the barrier": kernel(
        TICKET.replace("__syncthreads();\n__shared__", "__threadfence(); __syncthreads();\n__shared__").replace(
            "{ __threadfence();", "{"
        )
    ),
    "ticket that is set back": kernel(TICKET.replace("\n}", "\nif (t == 0) flag[0] = 0; }")),
    "flag, volatile": kernel(
        """if (b == 0) { data[t] = t; __syncthreads();
if (t == 0) { __threadfence(); *(volatile int*)flag = 1; } }
else { if (t == 0) { while (*(volatile int*)flag == 0); __threadfence(); }
__syncthreads(); out[b * n + t] = data[n - 1 - t]; }"""
    ),
    "flag, release and acquire": kernel(
        """cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
if (b == 0) { data[t] = t; __syncthreads();
if (t == 0) ready.store(1, cuda::memory_order_release); }
else { while (ready.load(cuda::memory_order_acquire) == 0);
out[b * n + t] = data[n - 1 - t]; }""",
        head=ATOMIC,
    ),
    "flag in shared memory": kernel(
        """__shared__ volatile int ready; __shared__ int s[64];
if (t == 0) ready = 0;
__syncthreads();
if (t == 40) { s[7] = 5; __threadfence_block(); ready = 1; }
if (t < 32) { while (ready == 0); __threadfence_block(); out[b * n + t] = s[7]; }"""
    ),
    "chain of blocks": kernel(
        """if (t == 0) { while (b > 0 && atomicAdd(&flag[b - 1], 0) == 0);
data[b] = b + (b ? data[b - 1] : 0); __threadfence(); atomicExch(&flag[b], 1); }"""
    ),
    "chain through a third block": kernel(
        """if (b == 0) { data[t] = t; __threadfence(); __syncthreads(); if (t == 0) atomicExch(&flag[0], 1); }
if (b == 1 && t == 0) { while (atomicAdd(&flag[0], 0) == 0); __threadfence(); atomicExch(&flag[1], 1); }
if (b == 2) { while (*(volatile int*)&flag[1] == 0); __threadfence(); out[t] = data[63 - t]; }"""
    ),
    "lock": kernel(
        """bool done = false;
while (!done) if (atomicCAS(flag, 0, 1) == 0) {
*out += t; __threadfence(); atomicExch(flag, 0); done = true; }"""
    ),
    "lock, release": kernel(
        """cuda::atomic_ref<int, cuda::thread_scope_device> lock(*flag);
if (t == 0) { int no = 0; while (!lock.compare_exchange_weak(no, 1, cuda::memory_order_acquire)) no = 0;
*out += 1; lock.store(0, cuda::memory_order_release); }""",
        head=ATOMIC,
    ),
    "barrier object": kernel(
        """__shared__ cuda::barrier<cuda::thread_scope_block> bar; __shared__ int s[64];
if (t == 0) init(&bar, n);
__syncthreads();
for (int i = 0; i < 3; ++i) { s[t] = t + i;
bar.arrive_and_wait();
out[b * n + t] += s[63 - t];
bar.arrive_and_wait();
}""",
        head=BARRIER,
    ),
    "barrier object, split": kernel(
        """__shared__ cuda::barrier<cuda::thread_scope_block> bar; __shared__ int s[64];
if (t == 0) init(&bar, n);
__syncthreads();
s[t] = t; auto token = bar.arrive(); data[b * n + t] = t;
bar.wait(std::move(token));
out[b * n + t] += s[63 - t];""",
        head="#include <cuda/std/utility>\nnamespace std { using cuda::std::move; }\n" + BARRIER,
    ),
    "semaphores": kernel(
        """typedef cuda::counting_semaphore<cuda::thread_scope_block, 8> S;
__shared__ alignas(S) char memory[2][sizeof(S)]; __shared__ int s[2];
S &full = *(S*)memory[0], &empty = *(S*)memory[1];
if (t == 0) { new (&full) S(0); new (&empty) S(2); }
__syncthreads();
if (t == 0) for (int i = 0; i < 6; ++i) { empty.acquire(); s[i % 2] = i; full.release(); }
if (t == 32) for (int i = 0; i < 6; ++i) { full.acquire(); out[b] += s[i % 2]; empty.release(); }""",
        head="#include <cuda/semaphore>\n",
    ),
    "tile of two warps": kernel(
        """__shared__ cg::block_tile_memory<128> memory; __shared__ int s[128];
auto block = cg::this_thread_block(memory); auto tile = cg::tiled_partition<64>(block);
s[t] = t;
tile.sync();
out[b * n + t] = s[t ^ 63];""",
        head=GROUPS,
    ),
    "barrier of the grid": kernel(
        "data[b * n + t] = t;\ncg::this_grid().sync();\nout[b * n + t] = data[n * gridDim.x - 1 - b * n - t];",
        head=GROUPS,
    ),
    "barrier of the grid, again and again": kernel(
        """for (int i = 0; i < 4; ++i) {
data[b * n + t] = t;
cg::this_grid().sync();
out[b * n + t] += data[n * gridDim.x - 1 - b * n - t];
cg::this_grid().sync(); }""",
        head=GROUPS,
    ),
    "barrier of the grid, split": kernel(
        """cg::grid_group grid = cg::this_grid();
data[b * n + t] = t;
auto token = grid.barrier_arrive();
flag[b * n + t] = t;
grid.barrier_wait(std::move(token));
out[b * n + t] = data[n * gridDim.x - 1 - b * n - t] + flag[b * n + t];""",
        head=GROUPS + "#include <cuda/std/utility>\nnamespace std { using cuda::std::move; }\n",
    ),
    "barrier of the grid, then a flag": kernel(
        """data[b * n + t] = t;
__syncthreads();
if (t == 0) {
__threadfence(); atomicAdd(flag, 1);
if (b == 0) { while (*(volatile int*)flag < gridDim.x); __threadfence(); *(volatile int*)&flag[1] = 1; }
else while (*(volatile int*)&flag[1] == 0);
__threadfence(); }
__syncthreads();
out[b * n + t] = data[n * gridDim.x - 1 - b * n - t];"""
    ),
    "barrier of the grid by hand": kernel(
        """data[b * n + t] = t;
__syncthreads();
if (t == 0) { __threadfence(); atomicAdd(flag, 1); while (*(volatile int*)flag < gridDim.x); __threadfence(); }
__syncthreads();
out[b * n + t] = data[n * gridDim.x - 1 - b * n - t];"""
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_no_false_alarm(name: str) -> None:
    block = 128 if "tile" in name else 64
    result = launched(GOOD[name], block=block)
    assert [h for h in result.hazards if h.kind == "race"] == []


# Each with something left out: what races then.
BROKEN: list[tuple[str, str, str]] = [
    ("ticket", "__threadfence();", ""),
    ("ticket", "\n__syncthreads();\n__shared__", "\n__shared__"),
    ("ticket", "__syncthreads();\nif (last)", "if (last)"),
    ("ticket", "__threadfence();", "__threadfence_block();"),
    ("flag, volatile", "__threadfence(); *(vol", "*(vol"),
    ("flag, volatile", "__syncthreads();\nif (t == 0) { __", "if (t == 0) { __"),
    ("flag, volatile", "__syncthreads(); out", "out"),
    ("flag, release and acquire", "memory_order_release", "memory_order_relaxed"),
    ("flag, release and acquire", "__syncthreads();", ""),
    ("flag, release and acquire", "thread_scope_device", "thread_scope_block"),
    ("flag in shared memory", "__threadfence_block(); ready", "ready"),
    ("chain of blocks", "__threadfence(); ", ""),
    ("chain through a third block", "while (atomicAdd(&flag[0], 0) == 0);", ""),
    ("lock", "__threadfence();", ""),
    ("lock", "atomicCAS(flag, 0, 1) == 0", "atomicCAS(flag, 0, 0) == 0"),
    ("lock, release", "store(0, cuda::memory_order_release)", "store(0, cuda::memory_order_relaxed)"),
    ("barrier object", "bar.arrive_and_wait();\nout", "out"),
    ("barrier object", "bar.arrive_and_wait();\n}", "}"),
    ("barrier object, split", "bar.wait(std::move(token));", ""),
    ("semaphores", "__syncthreads();", ""),
    ("semaphores", "full.acquire();", ""),
    ("tile of two warps", "tile.sync();", ""),
    ("tile of two warps", "tiled_partition<64>", "tiled_partition<32>"),
    ("barrier of the grid", "cg::this_grid().sync();", "__syncthreads();"),
    ("barrier of the grid, again and again", "cg::this_grid().sync();\nout", "__syncthreads();\nout"),
    ("barrier of the grid, again and again", "cg::this_grid().sync(); }", "__syncthreads(); }"),
    ("barrier of the grid, split", "+ flag[b * n + t]", "+ flag[n * gridDim.x - 1 - b * n - t]"),
    ("barrier of the grid, split", "grid.barrier_wait(std::move(token));", "__syncthreads();"),
    ("barrier of the grid, then a flag", "__threadfence(); *(vol", "*(vol"),
    ("barrier of the grid, then a flag", "while (*(volatile int*)flag < gridDim.x);", ""),
    ("barrier of the grid by hand", "__threadfence(); atomicAdd", "atomicAdd"),
    ("barrier of the grid by hand", "while (*(volatile int*)flag < gridDim.x);", ""),
    ("barrier of the grid by hand", "__syncthreads();\nout", "out"),
]


@cache
def with_headers() -> tuple[str, dict[str, str]]:
    """One source of all kernels above that include headers, which take a second or two to read, and their names."""
    every = [*GOOD.values(), *(GOOD[name].replace(what, instead, 1) for name, what, instead in BROKEN)]
    entries = {source: f"k{i}" for i, source in enumerate(every) if "#include" in source}
    heads = {line for source in entries for line in source.partition('extern "C"')[0].splitlines()}
    # Directives sort before what follows them.
    bodies = [source[source.index('extern "C"') :].replace(" k(", f" {entries[source]}(") for source in entries]
    return "\n".join([*sorted(heads), *bodies]), entries


@pytest.mark.parametrize(
    ("name", "what", "instead"), [pytest.param(*one, id=f"{one[0]} -- {one[1][:30]}") for one in BROKEN]
)
def test_what_is_left_out_is_missed(name: str, what: str, instead: str) -> None:
    source = GOOD[name]
    assert what in source
    block = 128 if "tile" in name else 64
    assert raced(source.replace(what, instead, 1), block=block), "nothing was found"


# -- atomics of different blocks, of block scope ----

SCOPES = [
    ("atomicAdd{0}(flag, t);", (1, 1)),
    ("if (b < 2) atomicAdd{0}(flag, t);\nelse atomicAdd(flag, t);", (1, 2)),
    ("if (b > 1) atomicAdd{0}(flag, t);\nelse atomicAdd(flag, t);", (1, 2)),
    ("atomicExch(flag, t);\nif (b == 2) out[t] = atomicCAS{0}(flag, 9, 8);", (1, 2)),
]


@pytest.mark.parametrize(("body", "lines"), SCOPES)
def test_atomics_of_block_scope_are_none_to_other_blocks(body: str, lines: tuple[int, int]) -> None:
    assert raced(kernel(body.format(""))) == set()
    assert launched(kernel(body.format("_block")), grid=1).hazards == []
    found = launched(kernel(body.format("_block"))).hazards
    assert {(h.kind, h.detail) for h in found} == {("race", "scope")}
    assert lines in raced(kernel(body.format("_block")))
    # Each block has a place of its own, in whichever memory.
    assert raced(kernel(body.format("_block").replace("flag", "&flag[b]"))) == set()
    own = "__shared__ int s; if (t == 0) s = 0; __syncthreads();\n" + body.format("_block").replace("flag", "&s")
    assert raced(kernel(own)) == set()


FLAG = """if (b == 0 && t == 0) asm volatile("st.{0}.global.s32 [%0], 1;" :: "l"(flag) : "memory");
if (b == 1 && t == 0) {{ int v; do asm volatile("ld.{1}.global.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
while (!v); out[0] = v; }}"""


@pytest.mark.parametrize(
    ("store", "load", "told"),
    [
        ("release.gpu", "acquire.gpu", False),
        ("relaxed.gpu", "relaxed.sys", False),
        ("relaxed.gpu", "relaxed.cta", True),
        ("release.cta", "acquire.gpu", True),
        ("release.gpu", "acquire.cta", True),
    ],
)
def test_flags_of_block_scope_are_none_to_other_blocks(store: str, load: str, told: bool) -> None:
    found = launched(kernel(FLAG.format(store, load))).hazards
    assert {(h.kind, h.detail) for h in found} == ({("race", "scope")} if told else set())


# -- what only looks like order ----

STAGED = "__shared__ int s[64]; s[t] = data[t];\n{0}\nout[b * n + t] = s[63 - t];"
DECOYS = {
    "dead code": "if (flag[0] < 0) { atomicAdd(&s[0], 1); __threadfence(); }",
    "dead code, volatile": "if (flag[0] < 0) { *(volatile int*)&s[1] = 1; __threadfence_block(); }",
    "a fence alone": "__threadfence();",
    "a fence and an atomic elsewhere": "__threadfence(); atomicAdd(&flag[b], 1);",
    "fences and atomics whose result nobody looks at": "__threadfence(); atomicAdd(flag, 1); atomicAdd(flag, 1);",
    "a lane that fences": "if (t == 0) { __threadfence(); atomicExch(flag, 1); }",
    "an atomic on what is staged": "__threadfence(); atomicAdd(&s[t], 0);",
    "volatile": "__threadfence_block(); *(volatile int*)&s[t] = data[t] + 1;",
}


@pytest.mark.parametrize("name", DECOYS)
def test_decoys_order_nothing(name: str) -> None:
    assert raced(kernel(STAGED.format(DECOYS[name])))
    assert raced(kernel(STAGED.format(DECOYS[name] + " __syncthreads();"))) == set()


VOLATILE_SUM = """__shared__ volatile int s[64]; __shared__ bool last;
s[t] = data[b * n + t];
__syncthreads();
for (int d = 32; d > 0; d /= 2) { if (t < d) s[t] = s[t] + s[t + d];
__syncthreads(); }
if (t == 0) { data[b] = s[0]; __threadfence(); last = atomicAdd(flag, 1) == gridDim.x - 1; }
__syncthreads();
if (last) { s[t] = t < gridDim.x ? *(volatile int*)&data[t] : 0;
__syncthreads();
for (int d = 32; d > 0; d /= 2) { if (t < d) s[t] = s[t] + s[t + d];
__syncthreads(); }
if (t == 0) out[0] = s[0]; }"""


def test_volatile_shared_memory_beside_a_fence_is_watched() -> None:
    source = kernel(VOLATILE_SUM).replace("data[b] = s[0]", "out[1 + b] = s[0]").replace("&data[t]", "&out[1 + t]")
    assert raced(source) == set()
    parts = source.split("__syncthreads();")
    assert len(parts) == 6
    for number in range(1, len(parts)):
        broken = "__syncthreads();".join(parts[:number]) + "__syncthreads();".join(["", *parts[number:]])[16:]
        assert broken.count("__syncthreads();") == 4
        assert raced(broken), number


@pytest.mark.parametrize("kept", ["KEPT_ENTRIES", "MAX_STEPS", "MAX_WALKS"])
def test_a_graph_that_grows_too_large_raises_no_false_alarm(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.ptx.observers import happens_before

    monkeypatch.setattr(happens_before, kept, 3)
    for name in ("ticket", "barrier of the grid by hand", "lock", "chain of blocks"):
        assert [h for h in launched(GOOD[name]).hazards if h.kind == "race"] == [], name
    assert raced(GOOD["ticket"].replace("__threadfence();", ""))


def test_fences_in_place_of_barriers_cost_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has heard of anybody: there is no order to look for, however many accesses are in conflict."""
    source = """
extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __threadfence_block();
        for (int i = 0; i < 16; ++i) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __threadfence_block();
    }
    c[y * n + x] = sum;
}
"""
    happens_before = importlib.import_module("grader.ptx.observers.happens_before")
    monkeypatch.setattr(happens_before, "Walk", None)
    ones = np.ones((32, 32), np.float32)
    result = run(source, (2, 2), (16, 16), ones, ones, np.zeros((32, 32), np.float32), 32)
    assert {(h.kind, h.line, h.other_line) for h in result.hazards} == {
        ("race", 10, 7), ("race", 10, 8), ("race", 7, 10), ("race", 8, 10),
    }  # fmt: skip
