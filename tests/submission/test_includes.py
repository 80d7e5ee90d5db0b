"""Headers that a file includes: of what kind each is, and where it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.submission.device_code import find_header, header_kind, includes_of
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
    ("name", "kind"),
    [
        ("cuda_fp16.h", "device"),
        ("cuda/std/array", "device"),
        ("cuda/../own.h", "local"),
        ("cub/block/block_reduce.cuh", "device"),
        ("cub/cub.cuh", "host"),
        ("thrust/sort.h", "host"),
        ("cuda_runtime.h", "host"),
        ("stdio.h", "host"),
        ("iostream", "host"),
        ("anything.h", "local"),
        ("utils.h", "local"),
        ("inc/matrix.cuh", "local"),
        ("helper_cuda.h", "host"),
        ("helper_math.h", "local"),
    ],
)
def test_kinds_of_headers(name: str, kind: str) -> None:
    assert header_kind(name) == kind


def test_includes_in_dead_branches_do_not_count() -> None:
    found = includes_of(parsed('#if 0\n#include "gone.h"\n#endif\n#include <stdio.h>\n#include MACRO\n'))
    assert [(i.name, i.line, i.kind) for i in found] == [("stdio.h", 4, "host")]


def test_headers_lie_where_builds_look_for_them(tmp_path: Path) -> None:
    for name in ("include/check.cuh", "other/far.cuh", "src/main.cu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert find_header("check.cuh", tmp_path / "src", tmp_path) == tmp_path / "include/check.cuh"
    assert find_header("far.cuh", tmp_path / "src", tmp_path) is None
