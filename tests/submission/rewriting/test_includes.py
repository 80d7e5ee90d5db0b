"""Headers that a file includes: of what kind each is, and where it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.submission.rewriting.includes import find_header, header_kind, includes_of
from tests.submission.labs import parsed


def test_headers_outside_the_folder_are_not_found(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside.h").write_text("#define X 1\n")
    (inside / "link.h").symlink_to(tmp_path / "outside.h")
    (inside / "own.h").write_text("#define Y 1\n")
    assert find_header("own.h", inside, inside) == inside / "own.h"
    assert find_header("../outside.h", inside, inside) is None
    assert find_header("link.h", inside, inside) is None
    assert find_header(str(tmp_path / "outside.h"), inside, inside) is None


@pytest.mark.parametrize(
    ("name", "quoted", "kind"),
    [
        ("cuda_fp16.h", False, "device"),
        ("cuda_fp16.h", True, "device"),
        ("cuda/std/array", False, "device"),
        ("cuda/../own.h", True, "local"),
        ("cub/block/block_reduce.cuh", False, "device"),
        ("cub/cub.cuh", False, "host"),
        ("thrust/sort.h", False, "host"),
        ("cuda_runtime.h", True, "host"),
        ("stdio.h", True, "host"),
        ("iostream", False, "host"),
        ("anything.h", False, "host"),
        ("utils.h", True, "local"),
        ("inc/matrix.cuh", True, "local"),
        ("helper_cuda.h", True, "host"),
    ],
)
def test_kinds_of_headers(name: str, quoted: bool, kind: str) -> None:
    assert header_kind(name, quoted) == kind


def test_includes_in_dead_branches_do_not_count() -> None:
    found = includes_of(parsed('#if 0\n#include "gone.h"\n#endif\n#include <stdio.h>\n#include MACRO\n'))
    assert [(i.name, i.line, i.kind) for i in found] == [("stdio.h", 4, "host")]


def test_headers_lie_where_builds_look_for_them(tmp_path: Path) -> None:
    for name in ("include/check.cuh", "other/far.cuh", "src/main.cu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert find_header("check.cuh", tmp_path / "src", tmp_path) == tmp_path / "include/check.cuh"
    assert find_header("far.cuh", tmp_path / "src", tmp_path) is None
