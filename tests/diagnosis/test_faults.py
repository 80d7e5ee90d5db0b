"""A hazard as a sentence: who, what, which element of which memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.diagnosis.text import hazard_msg
from grader.ptx.records import Hazard
from grader.words import text

BASE = Hazard("uninitialized", "", 7, "shared", "load", "tile", 64, 4, 128, (1, 0, 0), (5, 0, 0))
WHO = "Thread (5, 0, 0) of block (1, 0, 0) "


def said(kind: str, detail: str = "", **changes: Any) -> str:
    return text(hazard_msg(replace(BASE, kind=kind, detail=detail, **changes)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "reads element 16 of tile, which was never written."),
        ({"offset_bytes": 66}, "reads tile, byte 66, which was never written."),
        ({"width_bytes": 0}, "reads tile, byte 64, which was never written."),
        ({"array": ""}, "reads shared memory, byte 64, which was never written."),
        ({"array": "", "space": "global"}, "reads global memory, byte 64, which was never written."),
    ],
)
def test_what_was_never_written(changes: dict[str, Any], words: str) -> None:
    assert said("uninitialized", **changes) == WHO + words


def test_all_local_arrays_of_a_thread_are_one_to_the_compiler() -> None:
    sentence = said("uninitialized", space="local", array="__local_depot0")
    assert sentence.startswith(WHO) and "__local_depot0" not in sentence and "local" in sentence


@pytest.mark.parametrize(
    ("detail", "changes", "words"),
    [
        ("after", {"offset_bytes": 128}, "reads element 32 of tile, which has elements 0 to 31 (4 bytes each)."),
        (
            "after",
            {"offset_bytes": 128, "op": "store"},
            "writes element 32 of tile, which has elements 0 to 31 (4 bytes each).",
        ),
        ("before", {"offset_bytes": -8}, "reads element -2 of tile, which has elements 0 to 31 (4 bytes each)."),
        # No element begins there, or the array is no whole number of them.
        ("before", {"offset_bytes": -2}, "reads 2 bytes before the start of tile (128 bytes)."),
        ("before", {"offset_bytes": -1, "op": "store"}, "writes 1 byte before the start of tile (128 bytes)."),
        ("after", {"offset_bytes": 126}, "reads 2 bytes past the end of tile (128 bytes)."),
        ("after", {"offset_bytes": 128, "array_bytes": 126}, "reads 6 bytes past the end of tile (126 bytes)."),
        ("after", {"offset_bytes": 128, "op": "atomic", "array_bytes": 126}, "writes 6 bytes past the end of tile"),
        ("after", {"offset_bytes": 0, "array_bytes": 0}, "reads element 0 of tile, which has no elements at all."),
        (
            "after",
            {"offset_bytes": 0, "array_bytes": 0, "op": "store"},
            "writes element 0 of tile, which has no elements at all.",
        ),
        (
            "misaligned",
            {"width_bytes": 16},
            "accesses tile at an address that is not a multiple of 16 bytes, as an access of that width requires.",
        ),
        ("unmapped", {}, "reads at an address that belongs to no array."),
        ("unmapped", {"op": "store"}, "writes at an address that belongs to no array."),
        ("freed", {}, "uses memory that has been freed."),
        ("freed", {"op": "free"}, "frees memory that has been freed already."),
        ("not_allocated", {"op": "free"}, "frees a pointer that neither malloc() nor new returned."),
        ("no_texture", {}, "reads through a texture object that does not exist."),
        ("no_surface", {}, "uses a surface object that does not exist."),
        ("outside_surface", {}, "reaches outside the surface (x counts bytes, y rows)."),
    ],
)
def test_an_access_outside(detail: str, changes: dict[str, Any], words: str) -> None:
    assert said("out_of_bounds", detail, **changes).startswith(WHO + words)


def test_what_a_gpu_s_guard_zones_show_names_nobody() -> None:
    assert said("out_of_bounds", "beside", array="out") == (
        "The kernel writes outside out: on the GPU, bytes next to it have changed."
    )


@pytest.mark.parametrize(
    ("detail", "changes", "words"),
    [
        (
            "read_write",
            {},
            "reads the element of tile that thread (3, 0, 0) of block (1, 0, 0) writes (line 9), with no",
        ),
        ("read_write", {"op": "store"}, "writes the element of tile that thread (3, 0, 0) of block (1, 0, 0) reads"),
        (
            "write_write",
            {"op": "store"},
            "writes the element of tile that thread (3, 0, 0) of block (1, 0, 0) writes too",
        ),
        ("write_write_same_value", {"op": "store"}, "writes the element of tile that thread (3, 0, 0)"),
        ("scope", {}, "and thread (3, 0, 0) of block (1, 0, 0) access the same element of tile (line 9)"),
        (
            "read_write",
            {"other_block": (0, 2, 0)},
            "reads the element of tile that thread (3, 0, 0) of block (0, 2, 0)",
        ),
        ("read_write", {"other_thread": None}, "reads the element of tile that thread (0, 0, 0) of block (1, 0, 0)"),
        (
            "unfinished_copy",
            {},
            "reads the element of tile that is still being copied: thread (3, 0, 0) of block (1, 0, 0) began the "
            "asynchronous copy in line 9 and has not waited for it.",
        ),
        (
            "unfinished_copy",
            {"other_thread": (5, 0, 0)},
            "reads the element of tile that it is still copying: it began",
        ),
        ("unfinished_copy", {"op": "store"}, "writes the element of tile that is still being copied: thread (3, 0, 0)"),
        ("unfinished_copy", {"op": "store", "other_thread": (5, 0, 0)}, "writes the element of tile that it is still"),
        ("late_copy", {}, "reads the element of tile that thread (3, 0, 0) of block (1, 0, 0) has copied"),
        ("read_write", {"array": ""}, "reads the element of shared memory that thread"),
        ("read_write", {"array": "", "space": "global"}, "reads the element of global memory that thread"),
    ],
)
def test_a_race_names_both(detail: str, changes: dict[str, Any], words: str) -> None:
    assert said("race", detail, **({"other_thread": (3, 0, 0), "other_line": 9} | changes)).startswith(WHO + words)


ELSEWHERE = "waits at this barrier, while others of its block wait at the one in line 9."
NEVER = "waits at a barrier that other threads of its block never reach."


@pytest.mark.parametrize(
    ("kind", "detail", "line", "words"),
    [
        ("barrier_divergence", "different_barriers", 9, ELSEWHERE),
        ("barrier_divergence", "different_barriers", 0, NEVER),
        ("barrier_divergence", "bypassed", 9, NEVER),
        ("warp_sync", "missing_lanes", 0, "passes a warp mask with lanes that do not take part."),
        ("warp_sync", "not_a_member", 0, "passes a warp mask that leaves its own lane out."),
        ("warp_sync", "inactive_source", 0, "takes its value in a shuffle from a lane that does not take part in it."),
    ],
)
def test_who_does_not_come(kind: str, detail: str, line: int, words: str) -> None:
    assert said(kind, detail, other_line=line) == WHO + words
