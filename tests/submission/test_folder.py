"""Where a student's work lies, and what `submission.yaml` may say."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from grader.errors import FileError, UsageError
from grader.submission.folder import VariantSettings, find_sources, variant_settings
from grader.submission.source import decode
from tests.student_files import make


@pytest.mark.parametrize("link", ["flip.cu", "submission.yaml"])
def test_links_to_other_peoples_files_are_refused(tmp_path: Path, link: str) -> None:
    make(tmp_path, "teacher/solution.cu", "ivanov/flip.cu")
    (tmp_path / "ivanov" / link).unlink(missing_ok=True)
    (tmp_path / "ivanov" / link).symlink_to(tmp_path / "teacher" / "solution.cu")
    with pytest.raises(UsageError, match="outside the student's folder"):
        find_sources(tmp_path / "ivanov", "flip")


def with_settings(root: Path, text: str) -> Path:
    make(root, "ivanov/one.cu", "ivanov/two.cu", "secret.cu")
    (root / "ivanov" / "submission.yaml").write_text(text)
    return root / "ivanov"


def test_settings(tmp_path: Path) -> None:
    folder = with_settings(
        tmp_path,
        """name: Иванов Пётр
group: ИП-312
labs:
  flip:
    file: two.cu
    variants:
      naive: plain
      padded: {kernel: best, arguments: [out, in], block: [32, 8], tile: [32, 32], shared_bytes: 4224}
  other: {file: [one.cu, two.cu]}
""",
    )
    found = find_sources(folder, "flip")
    assert (found.student, found.name, found.group) == ("ivanov", "Иванов Пётр", "ИП-312")
    assert [file.name for file in found.files] == ["two.cu"]
    assert variant_settings(found, ["naive", "shared", "padded"]) == {
        "naive": VariantSettings(kernel="plain"),
        "shared": VariantSettings(),
        "padded": VariantSettings(
            kernel="best", arguments=["out", "in"], block=[32, 8], tile=[32, 32], shared_bytes=4224
        ),
    }
    assert [file.name for file in find_sources(folder, "other").files] == ["one.cu", "two.cu"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("nmae: x", 1, "did you mean `name`"),
        ("labs:\n  flip:\n    fiel: two.cu", 3, "did you mean `file`"),
        ("labs:\n  flip:\n    file: three.cu", 3, r"labs\.flip\.file: no such file: three\.cu"),
        ("labs:\n  flip:\n    file: [one.cu, three.cu]", 3, r"labs\.flip\.file\[1\]: no such file"),
        ("labs:\n  flip:\n    file: 3", 3, "no such file: 3"),
        ("name: a\nname: b", 2, "twice"),
        ("name: &x a\ngroup: *x", 1, "anchors and aliases"),
        ("name: [", 1, "expected"),
        ("name: [" + "[" * 50, 1, "levels deep"),
        ("- a\n- b", 1, "must be keys with values"),
        ("x: " + "y" * 300_000, None, "bytes"),
    ],
)
def test_wrong_settings_name_file_and_line(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    folder = with_settings(tmp_path, text)
    with pytest.raises(FileError, match=words) as error:
        find_sources(folder, "flip")
    assert error.value.path == folder / "submission.yaml"
    if "[" * 50 not in text and text != "name: [":
        assert error.value.line == line


def test_a_named_file_must_lie_in_the_students_folder(tmp_path: Path) -> None:
    folder = with_settings(tmp_path, "labs: {flip: {file: ../secret.cu}}")
    with pytest.raises(UsageError, match="outside the student's folder"):
        find_sources(folder, "flip")


def test_settings_for_a_variant_that_the_lab_lacks(tmp_path: Path) -> None:
    folder = with_settings(tmp_path, "labs:\n  flip:\n    file: one.cu\n    variants:\n      paded: k\n")
    with pytest.raises(FileError, match=r"labs\.flip\.variants\.paded: .*did you mean `padded`") as error:
        variant_settings(find_sources(folder, "flip"), ["naive", "padded"])
    assert error.value.line == 5


def test_an_empty_settings_file_says_nothing(tmp_path: Path) -> None:
    make(tmp_path, "ivanov/flip.cu")
    (tmp_path / "ivanov" / "submission.yaml").write_text("# nothing yet\n")
    found = find_sources(tmp_path / "ivanov", "flip")
    assert (found.name, found.group, found.settings.file) == ("", "", None)


@pytest.mark.parametrize("name", ["x" * 255 + ".cu", "a/" * 2000 + "x.cu", "\0.cu", "no/such.cu"])
def test_names_that_no_file_has(tmp_path: Path, name: str) -> None:
    shown = json.dumps(name)
    folder = with_settings(tmp_path, f"labs: {{flip: {{file: {shown}}}}}")
    with pytest.raises(FileError, match="no such file") as error:
        find_sources(folder, "flip")
    assert error.value.line == 1
    with pytest.raises(UsageError, match="no such file or folder"):
        find_sources(folder / name, "flip")


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov"
    folder.mkdir()
    (folder / "flip.cu").symlink_to("flip.cu")
    with pytest.raises(UsageError, match=r"flip\.cu: cannot be read \(Too many levels of symbolic links\)"):
        find_sources(folder, "flip")
    (folder / "flip.cu").unlink()
    (folder / "flip.cu").symlink_to("gone.cu")
    found = find_sources(folder, "flip")
    with pytest.raises(UsageError, match=r"cannot be read \(No such file or directory\)"):
        decode(found.files[0])
    (folder / "submission.yaml").symlink_to("submission.yaml")
    with pytest.raises(UsageError, match=r"submission\.yaml: cannot be read"):
        find_sources(folder, "flip")


def test_a_file_that_goes_while_it_is_graded(tmp_path: Path) -> None:
    make(tmp_path, "ivanov/flip.cu")
    found = find_sources(tmp_path / "ivanov", "flip")
    found.files[0].unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        decode(found.files[0])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_nobody_may_read(tmp_path: Path) -> None:
    folder = make(tmp_path, "ivanov/flip.cu") / "ivanov"
    folder.chmod(0)
    try:
        with pytest.raises(UsageError, match="cannot be read"):
            find_sources(folder, "flip")
    finally:
        folder.chmod(0o700)
