"""Predicted times: what bounds a kernel is named, and a change that hardware rewards is rewarded."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from grader.devices import gpus
from grader.errors import UsageError
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.frontend.parser import parse
from grader.timing.instructions import Processor, aligned_loads, read_device, resident_blocks, schedule
from grader.timing.model import FITTED, ONE_PROGRAM, TWO_PROGRAMS, UNITS, predict, ratio_spread, spread_of
from grader.timing.prediction import profiled
from grader.timing.profile import Profile, profile
from grader.timing.trace import Argument, follow, sampled_blocks

COPY = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry copy(.param .u64 a, .param .u64 b, .param .u32 stride)
{
    .reg .b64 %d<6>;
    .reg .b32 %r<6>;
    .reg .f32 %f<2>;
    ld.param.u64 %d0, [a];
    ld.param.u64 %d1, [b];
    ld.param.u32 %r0, [stride];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.lo.s32 %r5, %r4, %r0;
    mul.wide.s32 %d2, %r5, 4;
    add.s64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3];
    mul.wide.s32 %d4, %r4, 4;
    add.s64 %d5, %d1, %d4;
    st.global.f32 [%d5], %f0;
    ret;
}
"""
ELEMENTS = 1 << 22
H200 = read_device("h200")


def copied(
    stride: int, threads: int = 256, text: str = COPY, device: Processor = H200, size_bytes: int = 4 * ELEMENTS
) -> Profile:
    grid = (ELEMENTS // threads, 1, 1)
    resident = resident_blocks(device, threads, 16, 0)
    together, neighbours = sampled_blocks(grid, resident, device)
    numbers = [*together, *(n for n in neighbours if n >= 0)]
    arguments = [
        Argument(size_bytes=size_bytes * stride),
        Argument(size_bytes=4 * ELEMENTS),
        Argument(number=np.int32(stride)),
    ]
    traces = follow(parse(text), "copy", grid, (threads, 1, 1), 0, arguments, [(n, 10000) for n in numbers])
    rest = traces[len(together) :]
    beside = [rest.pop(0) if n >= 0 else None for n in neighbours]
    return profile(traces[: len(together)], beside, grid, resident, device.cache_bytes(resident, 0), device)


@pytest.mark.parametrize(
    ("grid", "middle"),
    [((9, 1, 1), 4), ((2, 1, 1), 0), ((8192, 2, 1), 0), ((2, 9, 1), 2 * 4), ((8, 8, 1), 4 * 8), ((4, 2, 3), 4 * 2)],
)
def test_of_two_blocks_along_an_axis_the_last_stands_for_no_others(grid: tuple[int, int, int], middle: int) -> None:
    # It may have one row of 32: 33 rows were predicted in less time than their bytes take.
    (first, *_more), _neighbours = sampled_blocks(grid, 1, H200)
    assert first == middle


def test_bytes_of_a_copy_are_counted_over_the_whole_grid() -> None:
    asked = copied(1)
    assert asked.read_bytes == asked.written_bytes == 4 * ELEMENTS
    # Eight sectors of each array for a warp's 128 bytes: four loaded, four stored.
    assert asked.l2_sectors == asked.stored_sectors == 8 * 4


def test_a_strided_copy_reads_what_lies_between_too() -> None:
    asked = copied(8)
    # A sector for each element, and memory gives 64 bytes where 32 are asked for.
    assert asked.l2_sectors == 256
    assert asked.read_bytes == ELEMENTS * 32
    assert asked.tags > copied(1).tags


def test_l1_serves_lanes_by_banks_and_two_lines_a_cycle() -> None:
    # 32 lines either way, of which 64 words apart all go to one bank, 49 words apart each to its own.
    (one_bank, stored), apart = (copied(64).tags, copied(1).tags / 2), copied(49).tags
    assert one_bank == 8 * 32 + stored
    assert apart == 8 * 16 + stored


def test_a_line_that_is_stored_in_part_is_a_whole_one_for_l2_and_is_read_from_memory_first() -> None:
    none = COPY.replace("ld.global.f32 %f0, [%d3]", "mov.f32 %f0, 0f00000000").replace("[%d5]", "[%d3]")
    scattered, dense = copied(8, text=none), copied(1, text=none)
    assert scattered.stored_sectors == 8 * dense.stored_sectors
    assert scattered.written_bytes == scattered.read_bytes == ELEMENTS * 32
    assert dense.read_bytes == 0
    # What was loaded before is there.
    assert copied(8, text=COPY.replace("[%d5]", "[%d3]")).read_bytes == ELEMENTS * 32


LOAD = "    ld.global.f32 %f0, [%d3];\n"
BARRIER = "    bar.sync 0;\n"


@pytest.mark.parametrize(
    ("lines", "before", "times"),
    [
        (16, LOAD + BARRIER, 1),
        (16, LOAD, 8),
        (16, BARRIER + LOAD, 8),
        (32, LOAD + BARRIER, 8),
    ],
    ids=["behind a barrier", "no barrier", "waiting for loads", "too many lines"],
)
def test_l1_gathers_what_warps_behind_a_barrier_store_to_a_few_lines(lines: int, before: str, times: int) -> None:
    # Each of 8 warps stores to all lines of its block.
    place = f"""    and.b32 %r4, %r3, {lines - 1};
    shl.b32 %r4, %r4, 5;
    shr.u32 %r5, %r3, {lines.bit_length() - 1};
    add.s32 %r4, %r4, %r5;
    mad.lo.s32 %r4, %r1, 256, %r4;
    mul.wide.s32 %d4, %r4, 4;
"""
    text = COPY.replace("    mul.wide.s32 %d4, %r4, 4;\n", place).replace(LOAD, before)
    assert copied(1, text=text).stored_sectors == 4 * lines * times


LOOP = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry sums(.param .u64 a, .param .u32 step)
{
    .reg .pred %p<2>;
    .reg .b64 %d<4>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    ld.param.u64 %d0, [a];
    ld.param.u32 %r1, [step];
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %d1, %r2, 4096;
    add.s64 %d0, %d0, %d1;
    mov.u32 %r0, BOUND;
    mov.f32 %f0, 0f00000000;
again:
    ld.global.f32 %f1, [%d0];
    add.f32 %f0, %f0, %f1;
    add.s64 %d0, %d0, 128;
    add.s32 %r0, %r0, STEP;
    setp.gt.s32 %p0, %r0, 0;
    @%p0 bra again;
    st.global.f32 [%d0], %f0;
    ret;
}
"""


def summed(step: str = "-1", bound: str = "32", blocks: int = 64) -> Profile:
    module = parse(LOOP.replace("STEP", step).replace("BOUND", bound))
    arguments = [Argument(size_bytes=1 << 20), Argument(number=np.int32(-1))]
    grid = (blocks, 1, 1)
    made = profiled(partial(follow, module, "sums", grid, (32, 1, 1), 0, arguments), grid, 32, 1 << 17, H200, 40_000)
    assert made is not None
    return made


def test_of_a_loop_that_counts_by_a_constant_four_loads_are_on_their_way_together() -> None:
    waits = [asked.path - asked.path_inside for asked in (summed(), summed("%r1"))]
    assert waits[1] > 3 * waits[0]


def test_blocks_that_have_other_work_count_as_their_mean_and_the_longest() -> None:
    equal, rising = summed(), summed(bound="%r2")
    assert (equal.mean_work, equal.most_work) == (1, 1)
    assert rising.mean_work == pytest.approx(1, rel=0.1)
    assert rising.most_work > 1.5
    assert predict(rising, H200, FITTED).time_us > 1.2 * predict(replace(rising, most_work=1.0), H200, FITTED).time_us


def with_more(*instructions: str) -> str:
    return COPY.replace("    ret;", "".join(f"    {i};\n" for i in instructions) + "    ret;")


def test_sixteen_loads_of_a_warp_are_on_their_way_and_a_further_one_waits_for_the_first() -> None:
    paths = [
        copied(1, text=with_more(*(f"ld.global.f32 %f0, [%d3+{512 * n}];" for n in range(count)))).path
        for count in (7, 15, 23)
    ]
    # With the copy's own load: 8 and 16 are waited for once, 24 twice.
    assert paths[1] - paths[0] < 20
    assert paths[2] - paths[1] > H200.latency["l2"]


def test_a_load_that_may_be_of_what_was_stored_waits_for_the_store() -> None:
    later = "ld.global.f32 %f1, [%d3+1048576]", "st.global.f32 [%d5+4], %f1"
    ordered, free, none = (
        copied(2, text=with_more(*later)).path,
        copied(2, text=with_more(later[0].replace("global", "global.nc"), later[1])).path,
        copied(2).path,
    )
    assert ordered > none + 0.5 * H200.latency["l2"]
    assert free < none + 0.2 * H200.latency["l2"]


def test_what_a_block_asks_for_again_comes_from_memory_where_the_wave_is_larger_than_l2() -> None:
    # Four lines a thread, and those once more: a multiprocessor's threads touch 1 MB of lines, a wave 69 MB of memory.
    parts = [f"ld.global.f32 %f1, [%d3+{offset}]" for offset in (128, 256, 384)]
    once, twice = copied(128, text=with_more(*parts)), copied(128, text=with_more(*parts, *parts))
    assert twice.l2_sectors > 1.5 * once.l2_sectors
    assert twice.read_bytes > 1.2 * once.read_bytes
    few = replace(H200, l2_bytes=1 << 30)
    assert copied(128, text=with_more(*parts, *parts), device=few).read_bytes == once.read_bytes


def test_blocks_that_share_nothing_with_their_neighbours_read_no_more_than_an_array_holds() -> None:
    # Every fourth block reads the same.
    text = COPY.replace("mul.lo.s32 %r5, %r4, %r0;", "and.b32 %r5, %r4, 1023;\n    mul.lo.s32 %r5, %r5, %r0;")
    assert copied(1, text=text, size_bytes=4096).read_bytes == 4096


@pytest.mark.parametrize(
    ("made", "joined"),
    [
        ("shl.b32 %r2, %r1, 6", 3),
        ("shl.b32 %r2, %r1, 3", 0),
        ("mul.lo.s32 %r2, %r1, 48", 3),
        ("mad.lo.s32 %r2, %r1, 48, %r0", 0),
        # A row's length that the kernel is given may be any.
        ("mul.lo.s32 %r2, %r1, %r0", 0),
        ("and.b32 %r2, %r1, -16", 3),
        ("mov.u32 %r2, tile", 3),
        ("mov.u32 %r2, tile+8", 0),
    ],
)
def test_loads_of_shared_memory_are_joined_where_the_assembler_knows_that_they_are_aligned(
    made: str, joined: int
) -> None:
    loads = "".join(f"ld.shared.f32 %f{n}, [%r2+{4 * n}];\n" for n in range(4))
    module = parse(
        f""".version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u32 n)
{{
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .shared .align 4 .b8 tile[8192];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    {made};
    {loads}
    ret;
}}
"""
    )
    (kernel,) = module.functions.values()
    instructions = tuple(node for node in kernel.body if isinstance(node, Instruction))
    assert len(schedule(instructions, aligned_loads(kernel)).joined) == joined


@pytest.mark.parametrize(("slower", "faster"), [((8, 256), (1, 256)), ((32, 256), (8, 256)), ((1, 32), (1, 256))])
def test_what_hardware_rewards_is_predicted_to_be_faster(slower: tuple[int, int], faster: tuple[int, int]) -> None:
    slow, fast = (predict(copied(*case), H200, FITTED).time_us for case in (slower, faster))
    assert slow > 1.25 * fast


def test_small_blocks_are_limited_by_their_starts() -> None:
    assert predict(copied(1, 32), H200, FITTED).limiter == "block_starts"


def test_bank_conflicts_cost_time_where_the_units_of_shared_memory_are_busy() -> None:
    asked = replace(copied(1), shared=3200.0, shared_ideal=100.0)
    conflicts = predict(asked, H200, FITTED)
    assert conflicts.limiter == "shared"
    assert conflicts.without_us["bank_conflicts"] == predict(replace(asked, shared=100.0), H200, FITTED).time_us
    assert conflicts.time_us > 5 * predict(replace(asked, shared=100.0), H200, FITTED).time_us
    # Of few of them nothing is said that would read "1.0 times as fast".
    gains = [
        made.time_us / less_us
        for excess in range(0, 400, 10)
        for made in [predict(replace(asked, shared=100.0 + excess), H200, FITTED)]
        for less_us in made.without_us.values()
    ]
    assert gains and min(gains) < 1.2 and all(round(gain, 1) > 1 for gain in gains)


def test_warps_of_a_large_block_fill_pauses_unless_barriers_keep_them_together() -> None:
    asked = replace(copied(1, threads=1024), resident=1)
    times = [predict(replace(asked, barriers=count * asked.warps), H200).time_us for count in (0, 1, 2)]
    assert times[0] < 0.9 * times[1]
    assert times[1] == pytest.approx(times[2], rel=0.05)


def test_the_last_wave_is_not_given_away() -> None:
    asked = copied(1)
    full = replace(asked, blocks=132 * 8 * 2, read_bytes=0.0, written_bytes=0.0)
    more = predict(replace(full, blocks=full.blocks + 1), H200, FITTED).time_us
    assert more > predict(full, H200, FITTED).time_us


def test_shares_and_interval() -> None:
    made = predict(copied(1), H200, FITTED)
    assert sum(made.shares.values()) == pytest.approx(1)
    low, high = made.interval_us
    assert low * high == pytest.approx(made.time_us**2)
    unchecked = predict(copied(1), replace(H200, is_checked=False), FITTED).interval_us
    assert unchecked[1] / unchecked[0] == pytest.approx((high / low) ** 2)


def test_a_time_that_is_counted_is_surer_than_one_that_is_waited_for() -> None:
    widths = {unit: spread_of({unit: 0.8, "launch": 0.2}) for unit in UNITS}
    assert widths["l1"] < widths["dram"] < widths["latency"] < widths["atomics"]


def test_a_ratio_is_the_surer_the_more_alike_both_times_are_spent() -> None:
    stores, waits = {"l2": 0.9, "launch": 0.1}, {"latency": 0.9, "launch": 0.1}
    same, other = ratio_spread(stores, stores, ONE_PROGRAM), ratio_spread(stores, waits, ONE_PROGRAM)
    assert same == ONE_PROGRAM[0] < spread_of(stores)
    assert same < other == ratio_spread(waits, stores, ONE_PROGRAM) < ratio_spread(stores, waits, TWO_PROGRAMS)


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks"),
    # As cudaOccupancyMaxActiveBlocksPerMultiprocessor gave them on an H200.
    [(256, 10, 0, 8), (1024, 32, 0, 2), (64, 40, 0, 24), (64, 88, 0, 10), (32, 4, 0, 32)],
)
def test_occupancy(threads: int, registers: int, shared: int, blocks: int) -> None:
    assert resident_blocks(H200, threads, registers, shared) == blocks


@pytest.mark.parametrize("name", gpus())
def test_every_device_says_where_its_figures_are_from(name: str) -> None:
    device = read_device(name)
    assert device.sources
    assert device.is_checked == (name in ("h100", "h200"))


def test_an_unknown_device_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="h200"):
        read_device("gt9000")
