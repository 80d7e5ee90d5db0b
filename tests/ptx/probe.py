"""What a kernel that asks about itself must be told, by a device and by the emulator alike."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = (Path(__file__).parent / "data" / "probe.cu").read_text("utf-8")
BLOCKS, THREADS, FACTS = 200, 64, 40
STATIC_BYTES = 33 * 32 * 4 + 64 * 8
DYNAMIC_BYTES = 4096

NAMES = (
    *("in", "out", "in_global", "in_constant", "first", "second", "dynamic", "local"),
    *("shared_first", "shared_second", "shared_dynamic", "local_offset", "global_in"),
    *("is_global", "is_shared", "is_local"),
    *("smid", "nsmid", "warpid", "nwarpid", "laneid", "total_smem", "dynamic_smem", "gridid"),
    *("clock_start", "clock_end", "clock_low", "clock_high", "timer_start", "timer_end"),
    *("launches", "warp_size", "shared_window", "same_window", "local_window", "architecture"),
)


def facts(out: Any) -> dict[str, Any]:
    """By name: (blocks, threads) uint64."""
    table = np.asarray(out).view(np.uint64).reshape(BLOCKS, THREADS, FACTS)
    return {name: table[:, :, number] for number, name in enumerate(NAMES)}


def assert_like_a_device(told: dict[str, Any]) -> None:
    """All that holds on every device since compute capability 7.0."""

    def one(name: str) -> int:
        values = np.unique(told[name])
        assert len(values) == 1, f"{name}: {values[:5]}"
        return int(values[0])

    # Addresses: of 49 bits at most, above what 32 bits hold, arrays of the host's aligned as cudaMalloc says.
    for name in ("in", "out", "in_global", "in_constant", "first", "second", "dynamic"):
        assert 1 << 32 < one(name) < 1 << 49, name
    assert one("in") % 256 == one("out") % 256 == 0
    assert THREADS * 4 <= abs(one("in") - one("out")) < 1 << 36
    assert one("global_in") == one("in")
    for name in ("is_global", "is_shared", "is_local"):
        assert one(name) == 1, name

    # Shared memory: within what a block can have, arrays apart, one window for all of it.
    places = {name: one(f"shared_{name}") for name in ("first", "second", "dynamic")}
    sizes = {"first": 33 * 32 * 4, "second": 64 * 8, "dynamic": DYNAMIC_BYTES}
    assert all(0 <= place <= 228 * 1024 - sizes[name] and place % 8 == 0 for name, place in places.items())
    ordered = sorted(places, key=lambda name: places[name])
    for before, after in pairwise(ordered):
        assert places[before] + sizes[before] <= places[after]
    assert one("shared_window") == one("same_window") and one("shared_window") % (1 << 24) == 0
    assert (told["local"] > 1 << 32).all() and (told["local"] < 1 << 49).all()
    assert (told["local_offset"] < 1 << 32).all() and one("local_window") % (1 << 24) == 0

    # Where a thread runs.
    assert one("nsmid") > 1 and (told["smid"] < one("nsmid")).all()
    assert len(np.unique(told["smid"])) > 1
    assert (told["smid"] == told["smid"][:, :1]).all()
    assert one("nwarpid") in (32, 48, 64) and (told["warpid"] < one("nwarpid")).all()
    assert (told["warpid"].reshape(BLOCKS, -1, 32) == told["warpid"].reshape(BLOCKS, -1, 32)[:, :, :1]).all()
    assert (told["laneid"] == np.arange(THREADS) % 32).all() and one("warp_size") == 32
    assert one("dynamic_smem") == DYNAMIC_BYTES
    assert one("total_smem") >= STATIC_BYTES + DYNAMIC_BYTES and one("total_smem") % 128 == 0
    assert one("gridid") < 1 << 63
    assert one("architecture") >= 700

    # Time: it goes on, everywhere, and not in step.
    assert (told["clock_end"] > told["clock_start"]).all() and (told["clock_start"] > 100_000).all()
    assert len(np.unique(told["clock_start"][:, 0])) > BLOCKS // 4
    assert ((told["clock_low"] - told["clock_end"]) % (1 << 32) < 1 << 31).all()
    assert (told["clock_high"] - (told["clock_end"] >> np.uint64(32)) <= 1).all()
    assert (told["timer_end"] >= told["timer_start"]).all() and (told["timer_start"] > 1 << 50).all()


def assert_state_lasts(first: dict[str, Any], second: dict[str, Any]) -> None:
    """A variable of the program counts on from launch to launch, block by block."""
    for told, base in ((first, 0), (second, BLOCKS)):
        assert np.array_equal(np.sort(told["launches"][:, 0]), base + np.arange(BLOCKS))
