"""Exports as learning systems make them, and archives that nobody should unpack."""

from __future__ import annotations

import io
import stat
import tarfile
import unicodedata
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.course.archives import File, Folder, Problem, read_archive, safe_parts, zip_name
from grader.course.handed_in import unpack
from grader.errors import UsageError
from grader.words import text

KERNEL = b"__global__ void k(int *a) { a[0] = 1; }\n"


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def unpacked(tmp_path: Path, files: dict[str, bytes], name: str = "export.zip") -> dict[str, set[str]]:
    """The files of each student by id."""
    (tmp_path / name).write_bytes(zipped(files))
    folder, found = unpack(tmp_path / name, tmp_path / "out")
    return {
        work.person.id: {
            p.relative_to(folder / work.folder).as_posix() for p in (folder / work.folder).rglob("*") if p.is_file()
        }
        for work in found.works
    }


def test_moodle_with_folders_and_without(tmp_path: Path) -> None:
    found = unpacked(
        tmp_path,
        {
            "Иванов Иван_101_assignsubmission_file_/transpose.cu": KERNEL,
            "Иванов Иван_101_assignsubmission_file_/notes/readme.txt": b"x",
            "Петрова Анна_102_assignsubmission_file_lab1.cu": KERNEL,
            "Петрова Анна_102_assignsubmission_onlinetext_onlinetext.html": b"<p>",
            "Иванов Иван_103_assignsubmission_file/main.cu": KERNEL,
            "Участник_104_assignsubmission_file_/main.cu": KERNEL,
        },
    )
    assert found == {
        "Иванов Иван 101": {"transpose.cu", "notes/readme.txt"},
        "Иванов Иван 103": {"main.cu"},
        "Петрова Анна": {"lab1.cu"},
        "Участник 104": {"main.cu"},
    }


def test_what_moodle_says_of_a_person_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"Иванов Иван_101_assignsubmission_file_/x.cu": KERNEL}))
    (work,) = unpack(tmp_path / "a.zip", tmp_path / "out")[1].works
    assert (work.person.name, work.person.participant) == ("Иванов Иван", "101")


@pytest.mark.parametrize("encoding", ["cp866", "cp1251"])
def test_names_of_old_windows_archives(encoding: str, tmp_path: Path) -> None:
    name = "Ёлкина Юлия_7_assignsubmission_file_/лаба.cu"
    raw = zipped({"A" * len(name.encode(encoding)): KERNEL})
    raw = raw.replace(b"A" * len(name.encode(encoding)), name.encode(encoding))
    (tmp_path / "a.zip").write_bytes(raw)
    folder, found = unpack(tmp_path / "a.zip", tmp_path / "out")
    (work,) = found.works
    assert work.person.name == "Ёлкина Юлия"
    assert (folder / work.folder / "лаба.cu").read_bytes() == KERNEL


def test_gradescope_says_who_and_when(tmp_path: Path) -> None:
    metadata = """\
submission_1:
  :submitters:
  - :name: Anna Petrova
    :sid: '42'
    :email: anna@x.org
  - :name: Ivan Ivanov
    :email: ivan@x.org
  :created_at: 2026-09-05 18:14:31.000000000 Z
"""
    files = {
        "assignment_9_export/submission_metadata.yml": metadata.encode(),
        "assignment_9_export/submission_1/transpose.cu": KERNEL,
    }
    (tmp_path / "a.zip").write_bytes(zipped(files))
    works = unpack(tmp_path / "a.zip", tmp_path / "out")[1].works
    assert [(w.person.name, w.person.number, w.person.handed_in, w.person.team) for w in works] == [
        ("Anna Petrova", "42", "2026-09-05T18:14:31+00:00", "submission_1"),
        ("Ivan Ivanov", "", "2026-09-05T18:14:31+00:00", "submission_1"),
    ]
    with pytest.raises(UsageError, match=r"submission_metadata\.yml"):
        unpacked(tmp_path, {"submission_metadata.yml": b"a: [", "submission_1/x.cu": KERNEL}, "broken.zip")


def test_canvas_and_github_classroom(tmp_path: Path) -> None:
    canvas = {
        "ivanovivan_11_901_transpose-2.cu": KERNEL,
        "petrovaanna_LATE_12_902_transpose.cu": KERNEL,
        "petrovaanna_LATE_12_903_tile.h": b"",
    }
    assert unpacked(tmp_path, canvas, "canvas.zip") == {
        "ivanovivan": {"transpose.cu"},
        "petrovaanna": {"transpose.cu", "tile.h"},
    }
    classroom = {
        "transpose-submissions/transpose-ivan-i/src/transpose.cu": KERNEL,
        "transpose-submissions/transpose-anna/transpose.cu": KERNEL,
        "transpose-submissions/transpose-anna/.git/config": b"",
    }
    assert unpacked(tmp_path, classroom, "classroom.zip") == {"ivan-i": {"transpose.cu"}, "anna": {"transpose.cu"}}


def test_plain_folders_in_a_folder(tmp_path: Path) -> None:
    files = {"group 101/ivanov/transpose.cu": KERNEL, "group 101/anna/lab1/main.cu": KERNEL, "__MACOSX/x": b""}
    assert unpacked(tmp_path, files) == {"ivanov": {"transpose.cu"}, "anna": {"main.cu"}}


def test_names_that_windows_and_a_mac_wrote(tmp_path: Path) -> None:
    backslashes = {"lab1\\": b"", "lab1\\ivanov\\": b"", "lab1\\ivanov\\x.cu": KERNEL, "lab1\\anna\\src\\x.cu": KERNEL}
    assert unpacked(tmp_path, backslashes, "windows.zip") == {"ivanov": {"x.cu"}, "anna": {"x.cu"}}
    mac = {
        f"{top}{unicodedata.normalize('NFD', 'Николай Чайкин')}_1_assignsubmission_file_/{name}": KERNEL
        for top, name in (("g/", "x.cu"), ("g/", ".DS_Store"), ("g/", "._x.cu"), ("__MACOSX/g/", "._x.cu"))
    }
    assert unpacked(tmp_path, mac, "mac.zip") == {"Николай Чайкин": {"x.cu"}}


def test_who_handed_in_nothing_and_what_is_nobodys(tmp_path: Path) -> None:
    files = {
        "ivanov/x.cu": KERNEL,
        "anna.zip": zipped({"anna/x.cu": KERNEL}),
        "orlova/": b"",
        "sidorov/.DS_Store": b"x",
        ".idea/workspace.xml": b"x",
        "__pycache__/x.pyc": b"x",
        "starter.cu": KERNEL,
        "readme.txt": b"x",
    }
    assert unpacked(tmp_path, files) == {"ivanov": {"x.cu"}, "anna": {"x.cu"}, "orlova": set(), "sidorov": set()}
    _folder, found = unpack(tmp_path / "export.zip", tmp_path / "out")
    assert [str(text(problem)) for problem in found.problems] == ["starter.cu: lies in no student's folder, skipped"]


@pytest.mark.parametrize(
    "files", [{"x.cu": KERNEL, "notes.txt": b"x"}, {"x.cu": KERNEL, "include/tile.h": b"x", "src/y.cu": KERNEL}]
)
def test_sources_without_folders_are_one_students(files: dict[str, bytes], tmp_path: Path) -> None:
    assert unpacked(tmp_path, files, "petrova.zip") == {"petrova": set(files)}


@pytest.mark.parametrize("files", [{}, {"readme.txt": b"x"}, {"__MACOSX/a/x.cu": KERNEL}])
def test_an_archive_without_anybodys_work_is_said_so(files: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"export\.zip: no submissions in it"):
        unpacked(tmp_path, files)


def test_no_file_takes_anothers_place_in_silence(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in (b"first", KERNEL):
            archive.writestr("ivanov/x.cu", data)
        for name in ("anna/x.cu", "anna/x.cu/y.h"):
            archive.writestr(name, KERNEL)
    (tmp_path / "a.zip").write_bytes(buffer.getvalue())
    folder, found = unpack(tmp_path / "a.zip", tmp_path / "out")
    assert (folder / "ivanov" / "x.cu").read_bytes() == KERNEL
    assert {work.person.id: [problem.id for problem in work.problems] for work in found.works} == {
        "anna": ["intake.name_taken"],
        "ivanov": ["intake.doubled"],
    }
    # Canvas numbers second attempts, and students their files.
    canvas = {f"ivanovivan_11_90{n}_naive{end}.cu": KERNEL for n, end in enumerate(("", "-1", "-2"))}
    canvas |= {"ivanovivan_11_904_tile-3.cuh": b""}
    assert unpacked(tmp_path, canvas, "canvas.zip") == {
        "ivanovivan": {"naive.cu", "naive-1.cu", "naive-2.cu", "tile.cuh"}
    }


def test_what_students_packed_is_unpacked(tmp_path: Path) -> None:
    inner = zipped({"lab/transpose.cu": KERNEL, "lab/deep.zip": zipped({"tile.h": b""}), "__MACOSX/lab/._t": b""})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        info = tarfile.TarInfo("main.cu")
        info.size = len(KERNEL)
        tar.addfile(info, io.BytesIO(KERNEL))
        link = tarfile.TarInfo("passwd.cu")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    files = {
        "A B_1_assignsubmission_file_/all.zip": inner,
        "C D_2_assignsubmission_file_work.tar.gz": packed.getvalue(),
    }
    assert unpacked(tmp_path, files) == {"A B": {"transpose.cu", "deep/tile.h"}, "C D": {"main.cu"}}


def bomb() -> bytes:
    inner = zipped({f"{n}.txt": bytes(2 << 20) for n in range(40)})
    return zipped({f"{n}.zip": inner for n in range(4)})


def test_one_students_archive_costs_nobody_else_anything(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("E_5_assignsubmission_file_/link.cu")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    files = {
        "A_1_assignsubmission_file_/ok.cu": KERNEL,
        "B_2_assignsubmission_file_/broken.zip": b"PK\x03\x04 no archive",
        "C_3_assignsubmission_file_/bomb.zip": bomb(),
        "D_4_assignsubmission_file_/../../../etc/cron.d/evil": b"x",
        "F_6_assignsubmission_file_/work.rar": b"Rar!",
        "G_7_assignsubmission_file_/film.cu": bytes(3 << 20),
    }
    buffer = io.BytesIO(zipped(files))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    (tmp_path / "a.zip").write_bytes(buffer.getvalue())
    works = unpack(tmp_path / "a.zip", tmp_path / "out")[1].works
    told = {work.person.id: work.refusal.id if work.refusal else "" for work in works}
    assert told == {
        "A": "",
        "B": "intake.broken",
        "C": "intake.too_much",
        "D": "intake.outside",
        "E": "intake.link",
        "F": "intake.unread",
        "G": "intake.large",
    }
    assert not [p for p in tmp_path.rglob("*") if p.is_symlink() or p.name == "evil"]
    assert sum(p.stat().st_size for p in (tmp_path / "out").rglob("*") if p.is_file()) < 100 << 20


@pytest.mark.parametrize(
    "layout", ["{}/{}", "group/{}/{}", "lab-submissions/lab-{}/{}", "{}_7_assignsubmission_file_/{}"]
)
def test_what_is_left_out_is_told_of_its_student_in_every_layout(layout: str, tmp_path: Path) -> None:
    def named(student: str, file: str) -> tarfile.TarInfo:
        info = tarfile.TarInfo(layout.format(student, file).replace("_7_", f"_{ord(student)}_"))
        info.size = len(KERNEL)
        return info

    link = named("b", "link.cu")
    link.type, link.linkname, link.size = tarfile.SYMTYPE, "/etc/passwd", 0
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for info in (
            named("a", "x.cu"),
            link,
            named("c", "../../../../x.cu"),
            named("d", "x.cu"),
            named("d", "d/../y.cu"),
        ):
            archive.addfile(info, io.BytesIO(KERNEL))
        archive.addfile(tarfile.TarInfo("/"))
    works = unpack(tmp_path / "a.tar.gz", tmp_path / "out")[1].works
    told = {w.person.id: (w.refusal.id if w.refusal else "", [p.id for p in w.problems]) for w in works}
    assert told == {
        "a": ("", []),
        "b": ("intake.link", ["intake.link"]),
        "c": ("intake.outside", ["intake.outside"]),
        "d": ("", ["intake.outside"]),
    }


def test_an_archive_that_breaks_off_is_told(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for student in "ab":
            info = tarfile.TarInfo(f"{student}/x.cu")
            info.size = 5000
            archive.addfile(info, io.BytesIO(bytes(5000)))
    (tmp_path / "a.tar").write_bytes(buffer.getvalue()[: 512 + 5120 + 512 + 1000])
    _folder, found = unpack(tmp_path / "a.tar", tmp_path / "out")
    assert [work.person.id for work in found.works] == ["a"]
    assert [problem.id for problem in found.problems] == ["intake.broken"]


def test_the_same_archive_is_unpacked_once(tmp_path: Path) -> None:
    files = {"A_1_assignsubmission_file_/ok.cu": KERNEL}
    unpacked(tmp_path, files)
    (file,) = (tmp_path / "out").rglob("ok.cu")
    when = file.stat().st_mtime_ns
    unpacked(tmp_path, files)
    assert file.stat().st_mtime_ns == when
    assert unpacked(tmp_path, {"A_1_assignsubmission_file_/new.cu": KERNEL}) == {"A": {"new.cu"}}


@pytest.mark.parametrize("content", [b"", b"PK", b"Rar!", b"x" * 100])
def test_what_is_no_archive_is_said_so(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(UsageError, match="cannot be unpacked"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


@given(name=st.text(min_size=1, max_size=40))
@settings(max_examples=300)
def test_no_name_leads_anywhere(name: str) -> None:
    parts = safe_parts(name)
    root = Path("/a/b")
    assert parts is None or (root.joinpath(*parts).is_relative_to(root) and ".." not in parts)


@given(data=st.binary(max_size=400), where=st.integers(0, 300))
@settings(max_examples=200)
def test_any_bytes_are_files_or_problems(data: bytes, where: int) -> None:
    whole = zipped({"a/x.cu": KERNEL, "b/y.zip": zipped({"z.cu": KERNEL})})
    spoilt = whole[:where] + data + whole[where + len(data) :]
    assert all(isinstance(item, File | Folder | Problem) for item in read_archive(io.BytesIO(spoilt), "a.zip"))


def test_a_name_that_says_it_is_utf8() -> None:
    with zipfile.ZipFile(io.BytesIO(zipped({"Ёж.cu": b""}))) as archive:
        assert [zip_name(info) for info in archive.infolist()] == ["Ёж.cu"]


def test_an_end_that_a_system_hid_is_taken_off_and_told(tmp_path: Path) -> None:
    name = "Иванов Иван_101_assignsubmission_file_"
    files = {
        f"{name}/transpose.cu.txt": KERNEL,
        f"{name}/Tile.CUH.txt": b"// tile\n",
        f"{name}/notes.txt": b"x",
        f"{name}/kept.cu": KERNEL,
        f"{name}/kept.cu.txt": b"another",
    }
    names = {"transpose.cu", "Tile.CUH", "notes.txt", "kept.cu", "kept.cu.txt"}
    assert unpacked(tmp_path, files) == {"Иванов Иван": names}
    _folder, found = unpack(tmp_path / "export.zip", tmp_path / "out")
    (work,) = found.works
    assert work.refusal is None
    assert [str(text(problem)) for problem in work.problems] == [
        "transpose.cu.txt: read as transpose.cu",
        "Tile.CUH.txt: read as Tile.CUH",
    ]
