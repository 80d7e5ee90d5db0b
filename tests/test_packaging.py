"""What whoever hands the package on has to know of it."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from grader.autograders import wheel
from grader.programs.toolchain import zig
from scripts import pack_library

ROOT = Path(__file__).parent.parent


def test_the_licence_of_every_package_that_is_locked_is_told() -> None:
    told = set(re.findall(r"[a-z][a-z0-9-]+", (ROOT / "THIRD_PARTY.md").read_text("utf-8").replace("`", "")))
    locked = re.findall(r"^([a-z0-9-]+)(?:\[.*\])?==", (ROOT / "requirements.lock").read_text("utf-8"), re.M)
    assert len(locked) > 30
    assert [name for name in locked if name not in told] == []


def test_the_library_travels_with_the_licences_of_what_it_is_compiled_from() -> None:
    archive = zipfile.ZipFile(io.BytesIO(wheel().data))
    folder = "grader/programs/toolchain/built"
    assert any(name.startswith(folder) and name.endswith(".tar.xz") for name in archive.namelist())
    for name, source in pack_library.LICENCES.items():
        assert archive.read(f"{folder}/LICENSE-{name}.txt") == (zig.package_folder() / source).read_bytes()
