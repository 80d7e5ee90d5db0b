"""Labs that ask for a whole program: their keys; what is wrong is refused at its line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import FileError
from grader.files import data_root
from grader.lab.file import load

ARGUMENTS = "arguments: ['{in}', '{grey}', '{blur}', '{radius}']"


@pytest.fixture
def edit(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of the built-in lab image-blur in which one text is replaced by another; returns the lab's folder."""
    for part in ("assignments/image-blur", "reference/image-blur"):
        shutil.copytree(data_root() / part, tmp_path / part)
    folder = tmp_path / "assignments/image-blur"

    def replace(old: str, new: str) -> Path:
        text = (folder / "lab.yaml").read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        (folder / "lab.yaml").write_text(text.replace(old, new), "utf-8")
        return folder

    return replace


def test_the_built_in_one() -> None:
    lab = load(data_root() / "assignments/image-blur")
    assert lab.program is not None and lab.function is None and lab.makes_launches
    assert lab.program.arguments == ("{in}", "{grey}", "{blur}", "{radius}")
    found = {p.name: (p.kind.name, p.file.format if p.file else None) for p in lab.parameters}
    assert found == {
        "in": ("input", "ppm"),
        "grey": ("output", "pgm"),
        "blur": ("output", "ppm"),
        "radius": ("scalar", None),
        "width": ("size", None),
        "height": ("size", None),
    }


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        ("'{radius}'", "'{r}'", "arguments[3]", ["'r'", "radius"]),
        ("'{radius}'", "'2'", "radius", ["{radius}"]),
        (ARGUMENTS, f"{ARGUMENTS}\nstdin: '{{grey}} {{weights}}'", "stdin", ["'weights'"]),
        ("file: in.ppm", "format: ppm", "in.format", ["`file` names none"]),
        ("file: in.ppm", "file: ../in.ppm", "in.file", ["'../in.ppm'", "letters"]),
        ("file: in.ppm", "file: stdout", "in.file", ["kind output"]),
        ("file: in.ppm", "file: in.png", "in.file", ["pgm", "ppm", "csv"]),
        ("file: in.ppm", "file: in.ppm, header: [width]", "in.header", ["ppm", "bin, text, csv"]),
        ("file: in.ppm", "file: in.bin, header: [depth]", "in.header", ["'depth'", "width"]),
        ("file: in.ppm", "file: in.pgm", "in", ["uint8 [height, width]"]),
        ("file: in.ppm", "file: in.xyz", "in.file", ["got 'in.xyz'", "allowed: bin, csv"]),
        ("file: blur.ppm", "file: blur.bin, label: blur", "blur.label", ["file: stdout"]),
        ("file: blur.ppm", "file: grey.pgm, format: ppm", "blur.file", ["'grey'"]),
        (", file: blur.ppm", "", "arguments[2]", ["'blur'"]),
        ("file: grey.pgm", "file: stdout, format: pgm", "grey.format", ["text"]),
        ("file: grey.pgm", "file: copied, format: pgm", "grey.format", ["`file` names none"]),
        ("{kind: scalar, dtype: int32, values: [1, 2, 4]}", "{kind: scalar, dtype: int32}", "radius", ["`values`"]),
        ("interface: program", "interface: program\nmemory: host", "memory", ["interface: function"]),
        ("interface: program", "interface: program\nfiles: [nothing.h]", "files[0]", ["nothing.h"]),
        ("interface: program", "interface: program\nsignature: 'int work('", "signature", ["int work("]),
        (ARGUMENTS, "", "in", []),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_place(
    edit: Callable[[str, str], Path], old: str, new: str, at: str, words: list[str]
) -> None:
    folder = edit(old, new)
    with pytest.raises(FileError) as caught:
        load(folder)
    told = str(caught.value)
    for word in ["lab.yaml", at, *words]:
        assert word in told, told


def test_files_of_the_lab_s_own(edit: Callable[[str, str], Path]) -> None:
    folder = edit("interface: program", "interface: program\nfiles: [oracle.py]")
    assert load(folder).files == {"oracle.py": (folder / "../../reference/image-blur/oracle.py").resolve()}


def test_keys_of_a_program_are_refused_in_other_labs(tmp_path: Path) -> None:
    for part in ("assignments/transpose", "reference/transpose"):
        shutil.copytree(data_root() / part, tmp_path / part)
    path = tmp_path / "assignments/transpose/lab.yaml"
    text = path.read_text("utf-8")
    for new, at in (
        ("seed: 1\narguments: [a]", "arguments"),
        ("seed: 1\nstdin: a", "stdin"),
        ("seed: 1\nfiles: [a.h]", "files"),
    ):
        path.write_text(text.replace("seed: 1", new), "utf-8")
        with pytest.raises(FileError, match=f"{at}.*program"):
            load(path.parent)
    path.write_text(text.replace("{kind: input,", "{kind: input, file: in.bin,"), "utf-8")
    with pytest.raises(FileError, match=r"file.*interface: program"):
        load(path.parent)
