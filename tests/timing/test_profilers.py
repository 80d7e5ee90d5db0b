"""What other tools print, read."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gpu import unmarked
from grader.gpu.unmarked import ToolFailed, run
from grader.measured import Counters, LineCounters

CSV = """==PROF== Connected to process 4242
==PROF== Profiling "copy" - 0: 0%....50%....100% - 1 pass
"ID","Process ID","Kernel Name","Block Size","gpu__time_duration.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
"","","","","us","sector"
"0","4242","copy(const float *, float *)","(256, 1, 1)","2,944.5","8,192"
"1","4242","copy(const float *, float *)","(256, 1, 1)","3.25","n/a"
"""
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def test_rows_of_nsight_compute() -> None:
    assert unmarked.parse_counters(CSV, [unmarked.TIME, SECTORS]) == [
        {unmarked.TIME: 2_944_500.0, SECTORS: 8192.0},
        {unmarked.TIME: 3250.0},
    ]


@pytest.mark.parametrize("text", ["", "==ERROR== ERR_NVGPUCTRPERM - no permission\n", "==WARNING== No kernels\n"])
def test_no_rows(text: str) -> None:
    assert unmarked.parse_counters(text, [unmarked.TIME]) == []


def counters(sampled: int = 4) -> Counters:
    return Counters(
        size={},
        shared_requests=2,
        shared_wavefronts=10,
        shared_ideal=2,
        shared_excess=8,
        worst_conflict_ways=5,
        shared_efficiency_pct=6.06,
        global_load_requests=3,
        global_load_sectors_per_request=4.0,
        global_load_ideal_per_request=4.0,
        global_store_requests=0,
        global_store_sectors_per_request=None,
        global_store_ideal_per_request=None,
        by_line=[
            LineCounters(line=1, space="shared", op="load", requests=1, wavefronts=9),
            LineCounters(line=2, space="shared", op="load", requests=1, wavefronts=1),
            LineCounters(line=3, space="global", op="load", requests=3, sectors=12),
        ],
        sampled_blocks=sampled,
        total_blocks=4,
    )


VALUES = {
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 10.0,
    "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct": 6.06,
    SECTORS: 12.0,
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 3.0,
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 7.0,
}


def test_counters_stand_beside_the_emulators() -> None:
    found = {w.name: (w.value, w.emulator) for w in unmarked.witnesses(VALUES, counters())}
    assert found == {
        "shared_load_wavefronts": (10.0, 10.0),
        "shared_efficiency_pct": (6.06, 6.06),
        "global_load_sectors": (12.0, 12.0),
        "global_load_requests": (3.0, 3.0),
        "global_store_requests": (7.0, None),
    }


def test_counts_of_a_part_of_the_blocks_are_not_compared() -> None:
    assert all(w.emulator is None for w in unmarked.witnesses(VALUES, counters(sampled=2)))
    assert all(w.emulator is None for w in unmarked.witnesses(VALUES, None))


MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __shared__ write of size 4 bytes
=========     at transposePadded(float *, const float *, int, int)+0x2b0 in transpose.cu:39
=========     by thread (0,1,0) in block (0,0,0)
=========     Access at 0x1080 is out of bounds
=========
========= Invalid __shared__ write of size 4 bytes
=========     at transposePadded(float *, const float *, int, int)+0x2b0 in transpose.cu:39
=========     by thread (1,1,0) in block (0,0,0)
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call
=========     Saved host backtrace up to driver entry point at error
========= ERROR SUMMARY: 3 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at transposeShared(float *, int)+0x190 in transpose.cu:25
=========     and Read access at transposeShared(float *, int)+0x1f0 in transpose.cu:27 [1024 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_findings_once_a_line() -> None:
    (found,) = unmarked.parse_findings(MEMCHECK, "memcheck")
    assert (found.name, found.text, found.line) == ("memcheck", "Invalid __shared__ write of size 4 bytes", 39)
    (race,) = unmarked.parse_findings(RACECHECK, "racecheck")
    assert race.text.startswith("Error: Race reported between Write access") and race.line == 25


def test_nothing_found() -> None:
    assert unmarked.parse_findings("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", "memcheck") == []


def test_a_tool_that_is_not_installed(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="no-such-tool is not installed"):
        run(["no-such-tool"], tmp_path)
