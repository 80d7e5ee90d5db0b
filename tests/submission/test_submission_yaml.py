"""`submission.yaml` as students write it: numbers for names, other encodings, slips that must not pass unnoticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.errors import FileError, UsageError
from grader.submission.folder import LabSettings, Settings, read_settings
from grader.submission.kernels.records import Observed, SeenLaunch, SeenRun
from tests.submission.labs import bound


def read(tmp_path: Path, text: str | bytes, lab: str = "flip", known: tuple[str, ...] = ("flip", "matmul")) -> Settings:
    path = tmp_path / "submission.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_settings(path, lab, known)


@pytest.mark.parametrize(
    ("text", "name", "group"),
    [
        ("name: No\ngroup: 4312", "No", "4312"),
        ("name: Yes\ngroup: 43.10", "Yes", "43.10"),
        ("name: 0x1F\ngroup: 0431", "0x1F", "0431"),
        ("name: 1_000\ngroup: 12:30", "1_000", "12:30"),
        ("name: off\ngroup: 1e5", "off", "1e5"),
        ("name: 2024-09-01\ngroup: '12'", "2024-09-01", "12"),
        ("name:\ngroup: ~", "", "~"),
        ("name: null", "null", ""),
        ("name: Иванов", "Иванов", ""),
    ],
)
def test_names_and_groups_are_taken_as_they_are_written(tmp_path: Path, text: str, name: str, group: str) -> None:
    settings = read(tmp_path, text)
    assert (settings.name, settings.group) == (name, group)


def test_the_title_page_is_taken_as_it_is_written(tmp_path: Path) -> None:
    settings = read(tmp_path, "title_page:\n  university: СибГУТИ\n  teacher: Малков Е. А.\n  city:\n  year: 2026\n")
    assert settings.title_page == {"university": "СибГУТИ", "teacher": "Малков Е. А.", "year": "2026"}
    assert read(tmp_path, "title_page:\n").title_page == {}
    with pytest.raises(FileError, match=r"submission\.yaml:2: title_page\.town: unknown key; .*allowed: .*city"):
        read(tmp_path, "title_page:\n  town: Новосибирск\n")


def test_kernels_files_and_roles_are_taken_as_they_are_written(tmp_path: Path) -> None:
    text = "labs: {flip: {file: 1.0, variants: {naive: on, padded: {kernel: yes, arguments: [no, 2]}}}}"
    lab = read(tmp_path, text).lab
    assert lab.file == "1.0"
    assert lab.variants["naive"].kernel == "on"
    assert (lab.variants["padded"].kernel, lab.variants["padded"].arguments) == ("yes", ["no", "2"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1251", "utf-16", "utf-32"])
def test_in_the_encodings_that_programs_have(tmp_path: Path, encoding: str) -> None:
    settings = read(tmp_path, "name: Яковлев Ёж\r\ngroup: ИП-312\r\n".encode(encoding))
    assert (settings.name, settings.group) == ("Яковлев Ёж", "ИП-312")


def test_other_labs_are_looked_through_and_unknown_ones_are_told(tmp_path: Path) -> None:
    settings = read(tmp_path, "labs:\n  flip:\n    file: a.cu\n  matmul:\n    file: b.cu\n  matmull:\n    file: c.cu\n")
    assert settings.lab == LabSettings(file="a.cu")
    assert settings.unknown_labs == (6,)


@pytest.mark.parametrize("name", ["filp", "Flip", "flips", "flip_", "fliip"])
def test_the_labs_own_name_misspelt_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match=rf"labs\.{name}: no such lab; did you mean `flip`") as error:
        read(tmp_path, f"name: a\nlabs:\n  {name}:\n    file: a.cu\n")
    assert error.value.line == 3


def test_another_labs_name_is_no_slip(tmp_path: Path) -> None:
    assert read(tmp_path, "labs: {flop: {file: a.cu}}", known=("flip", "flop")).unknown_labs == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "block: [32, 64]",
            5,
            r"at most 1024 threads, 1024 × 1024 × 64 along its axes \(got \[32, 64\], which are 2048",
        ),
        ("block: [1, 1, 65]", 5, "1024 × 1024 × 64"),
        ("block: [2048]", 5, "which are 2048"),
        ("block: [16, 0]", 5, "got 0"),
        ("block: [16, 1.5]", 5, "must be a whole number"),
        ("block: 16x16", 5, "must be a list"),
        ("block: [16, '16']", 5, "must be a whole number"),
        ("tile: [20000, 20000]", 5, r"at most 1048576 elements \(got \[20000, 20000\]"),
        ("tile: [1024, 1024, 2]", 5, "which are 2097152"),
        ("shared_bytes: 2000000", 5, "2000000"),
        ("shared_bytes: !!int x", 5, "must be a whole number .got 'x'"),
        ("shared_bytes: !!float x", 5, "must be a number .got 'x'"),
        ("shared_bytes: !!bool x", 5, "must be true or false .got 'x'"),
        ("shared_bytes: !!python/object:os.system x", 5, "the tag .* is not allowed"),
        ("shared_bytes: " + "9" * 5000, 5, "a number of 5000 characters; at most 64"),
        ("shared_bytes: 0x" + "f" * 5000, 5, "a number of 5002 characters"),
        ("shared_bytes: " + "9" * 40, 5, "got 9{40}"),
        ("kernel: " + "x" * 5000 + "\n      knrel: 1", 6, "did you mean `kernel`"),
    ],
)
def test_what_no_launch_can_have_is_refused_at_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(FileError, match=words) as error:
        read(
            tmp_path, f"labs:\n  flip:\n    variants:\n      naive:\n        {text.replace(chr(10), chr(10) + '  ')}\n"
        )
    assert error.value.line == line
    assert len(str(error.value)) < 800


@pytest.mark.parametrize(
    "tag", ["!!timestamp", "!!binary", "!!null", "!!str", "!!value", "!x", "!!set", "!!omap", "!!seq"]
)
@pytest.mark.parametrize("value", ["x", "''", "-", "{a: b}", "[1]", "2024-13-45", "1:99"])
def test_no_tag_is_too_much(tmp_path: Path, tag: str, value: str) -> None:
    try:
        read(tmp_path, f"name: {tag} {value}\nlabs: {{flip: {{variants: {{naive: {tag} {value}}}}}}}\n")
    except UsageError as error:
        assert "submission.yaml" in str(error)


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "submission.yaml"
    os.mkfifo(path)
    with pytest.raises(FileError, match="not a plain file"):
        read_settings(path, "flip")
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(FileError, match="cannot be read: Too many levels"):
        read_settings(path, "flip")
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="not a plain file"):
        read_settings(path, "flip")


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "submission.yaml"
    with path.open("wb") as file:
        file.truncate(6 << 30)
    with pytest.raises(FileError, match="6442450944 bytes; at most 262144"):
        read_settings(path, "flip")


KERNEL = """
__global__ void naive(const float *in, float *out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}
int main() { naive<<<dim3(4, 4), dim3(32, 32)>>>(0, 0, 128, 128); }
"""


def test_a_block_that_contradicts_the_host_code_is_named(tmp_path: Path) -> None:
    def remarks(text: str) -> tuple[tuple[str, int], ...]:
        return bound(KERNEL, settings=read(tmp_path, text).lab).remarks

    told = "labs: {flip: {variants: {naive: {block: %s}}}}"
    assert remarks(told % "[1, 1]") == (("block_contradicted", 6),)
    assert remarks(told % "[32, 8]") == (("block_contradicted", 6),)
    seen = SeenLaunch("naive", (), "main.cu", 6, (4, 4, 1), (32, 32, 1), 0, ())
    observed = Observed((SeenRun(("main.cu",), (seen,), ended=True),))
    overruled = bound(KERNEL, settings=read(tmp_path, told % "[1, 1]").lab, observed=observed)
    assert overruled.remarks == (("block_overruled", 6),)
    assert remarks(told % "[32, 32]") == remarks(told % "[32, 32, 1]") == remarks("name: a") == ()
