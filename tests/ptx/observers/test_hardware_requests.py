"""Single requests of one warp, against the counters of an NVIDIA H200 (compute capability 9.0, ncu 2025.3.1).

`data/h200_requests.csv`, a request a row.  units: each lane's address in units of its width, "-" for a lane that takes
no part.  count: `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*` or `l1tex__t_sectors_pipe_lsu_mem_global_op_*`, where
those of the load that fetched the addresses (4 sectors) are taken off.  conflicts:
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_*`.  cycles: for one such request when 16 warps of a block make 512
each, `clock64` around them.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

from grader.ptx.observers import traffic
from tests.ptx.nvrtc import DATA

ROWS = list(csv.DictReader((DATA / "h200_requests.csv").read_text(encoding="utf-8").splitlines()))


def selected(space: str, op: str, width: int) -> tuple[list[dict[str, str]], np.ndarray, np.ndarray]:
    """Rows of the file, the (n, 32) byte addresses and the active lanes in them."""
    rows = [row for row in ROWS if (row["space"], row["op"], int(row["width_bytes"])) == (space, op, width)]
    units = [row["units"].split() for row in rows]
    active = np.array([[unit != "-" for unit in lanes] for lanes in units])
    offsets = np.array([[0 if unit == "-" else int(unit) * width for unit in lanes] for lanes in units], np.int64)
    assert len(rows) >= 102
    return rows, offsets, active


@pytest.mark.parametrize("op", ["load", "store"])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_wavefronts_and_conflicts(width: int, op: str) -> None:
    rows, offsets, active = selected("shared", op, width)
    wavefronts, ideal = traffic.shared_wavefronts(offsets, active, width, op)
    for row, mine, least in zip(rows, wavefronts, ideal, strict=True):
        assert (mine, mine - least) == (int(row["count"]), int(row["conflicts"])), row


@pytest.mark.parametrize(("op", "width"), [("store", 1), *((op, w) for op in ("load", "store") for w in (2, 4, 8, 16))])
def test_sectors(width: int, op: str) -> None:
    rows, offsets, active = selected("global", op, width)
    for row, mine in zip(rows, traffic.global_sectors(offsets, active), strict=True):
        assert mine == int(row["count"]), row


@pytest.mark.parametrize("op", ["load", "store"])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_wavefront_is_a_cycle(width: int, op: str) -> None:
    rows, offsets, active = selected("shared", op, width)
    wavefronts, _ideal = traffic.shared_wavefronts(offsets, active, width, op)
    timed = [(float(row["cycles"]), mine) for row, mine in zip(rows, wavefronts, strict=True) if row["cycles"] and mine]
    assert timed
    assert max(abs(cycles - mine) for cycles, mine in timed) < 0.25
