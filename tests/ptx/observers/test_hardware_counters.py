"""The emulator's counters against Nsight Compute's on an NVIDIA H200 (compute capability 9.0, nvcc 13.0, ncu 2025.3.1).

`data/h200_memory_kernels.cu` holds the kernels, `data/h200_memory_counters.csv` a row of counters for each.
"""

from __future__ import annotations

import ast
import csv
from functools import cache

import numpy as np
import pytest

from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.memory import Device
from grader.ptx.observers.traffic import SECTOR_BYTES, WAVEFRONT_BYTES
from grader.ptx.records import Counters
from tests.ptx.nvrtc import DATA, compile_file

_TABLE = (DATA / "h200_memory_counters.csv").read_text(encoding="utf-8")
ROWS = {row["kernel"]: row for row in csv.DictReader(_TABLE.splitlines())}

WIDENED = "the assembler fetches neighbouring elements that one thread loads with one 64- or 128-bit load"
TWICE = "the assembler keeps in registers what the kernel loads again (PTX shows the compiler's loads)"

SHARED_LOADS = frozenset({"shared_load_requests", "shared_load_wavefronts"})
GLOBAL_LOADS = frozenset({"global_load_requests", "global_load_sectors"})
DIFFERENT: dict[str, tuple[str, frozenset[str]]] = {
    "matmul_tile8": (WIDENED, SHARED_LOADS | {"shared_efficiency_pct"}),
    "matmul_tile16": (WIDENED, SHARED_LOADS | {"shared_efficiency_pct"}),
    "matmul_tile32": (WIDENED, SHARED_LOADS | {"shared_efficiency_pct"}),
    "batchsq_shared_n5": (TWICE, SHARED_LOADS),
    "batchsq_shared_n10": (WIDENED, SHARED_LOADS | {"shared_efficiency_pct", "hw_load_conflicts"}),
    "batchsq_simple_n5": (TWICE, GLOBAL_LOADS),
    "batchsq_simple_n8": (TWICE, GLOBAL_LOADS),
    "batchsq_simple_n10": (TWICE, GLOBAL_LOADS),
}
"""Rows in which machine code differs from PTX: why, and in which columns."""


@cache
def module() -> Module:
    return parse(compile_file("h200_memory_kernels.cu"))


@cache
def counters(kernel: str) -> Counters:
    row = ROWS[kernel]
    device = Device()
    arguments = [device.buffer("in", (np.arange(1 << 20) % 1000 + 1).astype(np.float32))]
    if len(module().functions[kernel].parameters) == 3:
        arguments.append(device.buffer("b", np.ones(1 << 20, np.float32)))
    arguments.append(device.buffer("out", np.zeros(1 << 20, np.float32)))
    report = launch(
        module(),
        Launch(
            kernel,
            ast.literal_eval(row["grid"]),
            ast.literal_eval(row["block"]),
            arguments,
            device=device,
            shared_bytes=int(row["dynamic_shared_bytes"]),
            observe=True,
            max_shared_bytes=227 * 1024,
        ),
    )
    return report.counters


def measured(kernel: str) -> dict[str, float]:
    """The emulator's counters under the names of the CSV's columns."""
    c = counters(kernel)
    result: dict[str, float] = {}
    for op in ("load", "store"):
        result[f"shared_{op}_requests"] = c.total("requests", "shared", op)
        result[f"shared_{op}_wavefronts"] = c.total("wavefronts", "shared", op)
        result[f"hw_{op}_conflicts"] = c.total("wavefronts", "shared", op) - c.total("ideal", "shared", op)
        result[f"global_{op}_requests"] = c.total("requests", "global", op)
        result[f"global_{op}_sectors"] = c.total("sectors", "global", op)
        short = {"load": "gld", "store": "gst"}[op]
        used = c.total("unique_bytes", "global", op)
        result[f"{short}_efficiency_pct"] = 100 * used / max(SECTOR_BYTES * c.total("sectors", "global", op), 1)
    # Atomics on shared memory count in the efficiency, though neither as loads nor as stores.
    used, wavefronts = c.total("unique_bytes", "shared"), c.total("wavefronts", "shared")
    result["shared_efficiency_pct"] = 100 * used / max(WAVEFRONT_BYTES * wavefronts, 1)
    return result


def agrees(column: str, row: dict[str, str], ours: dict[str, float]) -> bool:
    if column.endswith("_pct"):
        return abs(float(row[column]) - ours[column]) <= 0.005 + 1e-9
    return int(row[column]) == ours[column]


def test_every_row_has_a_kernel_and_is_compared() -> None:
    assert set(ROWS) <= set(module().entries())
    assert set(DIFFERENT) < set(ROWS)
    assert len(ROWS) == 86
    columns = set(next(iter(ROWS.values()))) - {"kernel", "grid", "block", "dynamic_shared_bytes"}
    assert columns == set(measured("ld_f32_stride1"))


@pytest.mark.parametrize("kernel", ROWS)
def test_counters_agree_with_the_hardware(kernel: str) -> None:
    row, ours = ROWS[kernel], measured(kernel)
    different = {column for column in ours if not agrees(column, row, ours)}
    assert different == DIFFERENT.get(kernel, ("", frozenset()))[1]


@pytest.mark.parametrize("kernel", [name for name, (_, columns) in DIFFERENT.items() if columns >= GLOBAL_LOADS])
def test_where_global_loads_were_dropped_each_costs_the_same(kernel: str) -> None:
    row, ours = ROWS[kernel], measured(kernel)
    sectors_per_request = int(row["global_load_sectors"]) / int(row["global_load_requests"])
    assert ours["global_load_sectors"] / ours["global_load_requests"] == sectors_per_request
    assert ours["global_load_requests"] > int(row["global_load_requests"])


@pytest.mark.parametrize(("kernel", "wavefronts"), [("batchsq_shared_n5", 1), ("batchsq_shared_n10", 4)])
def test_where_shared_loads_were_merged_each_costs_the_same(kernel: str, wavefronts: int) -> None:
    row, ours = ROWS[kernel], measured(kernel)
    assert int(row["shared_load_wavefronts"]) == wavefronts * int(row["shared_load_requests"])
    assert ours["shared_load_wavefronts"] == wavefronts * ours["shared_load_requests"]


@pytest.mark.parametrize("tile", [8, 16, 32])
def test_widened_loads_of_the_tiled_product(tile: int) -> None:
    """N = 128: a warp loads one element of each tile 16384 / 32 · 128 times; four loads of `a` became one."""
    row, ours = ROWS[f"matmul_tile{tile}"], measured(f"matmul_tile{tile}")
    each = 128 * 128 // 32 * 128
    assert ours["shared_load_requests"] == ours["shared_load_wavefronts"] == 2 * each
    assert int(row["shared_load_requests"]) == each + each // 4
