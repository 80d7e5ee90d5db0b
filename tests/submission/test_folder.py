"""Where a student's work lies, and what `submission.yaml` may say."""

from __future__ import annotations

import json
import os
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import FileError, GraderError, UsageError
from grader.submission.folder import (
    LabSettings,
    Settings,
    VariantSettings,
    find_sources,
    read_settings,
    variant_settings,
)
from grader.submission.kernels.records import ObservedRuns, SeenLaunch, SeenRun
from grader.submission.source import decode
from tests.student_files import make
from tests.submission.labs import bound


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
    observed = ObservedRuns((SeenRun(("main.cu",), (seen,), ended=True),))
    overruled = bound(KERNEL, settings=read(tmp_path, told % "[1, 1]").lab, observed=observed)
    assert overruled.remarks == (("block_overruled", 6),)
    assert remarks(told % "[32, 32]") == remarks(told % "[32, 32, 1]") == remarks("name: a") == ()


pytestmark = pytest.mark.slow

WHOLE = """name: Анна
group: 4312
labs:
  flip:
    file: [a.cu, b.cu]
    variants:
      fast: {kernel: flip_fast, block: [32, 8], tile: [32, 32], shared_bytes: 4224, arguments: in, out, n}
      slow: flip_slow
"""
KEYS = st.sampled_from(
    [
        "name",
        "group",
        "labs",
        "flip",
        "file",
        "variants",
        "fast",
        "kernel",
        "block",
        "tile",
        "shared_bytes",
        "arguments",
    ]
)
ODD = [
    *("No", "~", "1e5", "0x1F", "12:30:00", "2026-11-22", ".inf", ".nan", "-0", "=", "<<", "{}", "[]", "1e999999999"),
    *("!!int x", "!!float x", "!!bool x", "!!timestamp x", "!!binary '%'", "!!python/name:os.system", "!x y"),
    *("&a b", "*a", "|", ">-", "? x", "'\\0'", '"\\ud800"', '"\\e[2J"'),
    *("9" * 5000, "1:" * 3000 + "1", "-" + "9" * 400),
]
SCALARS = st.one_of(
    st.sampled_from(ODD),
    st.integers(-(2**70), 2**70).map(str),
    st.text(alphabet=string.printable + "ёЖ\x85\u2028\u202e\x00\ufeff", max_size=30),
)
NODES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(st.tuples(st.one_of(SCALARS, KEYS), inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=12,
)


def read_text(folder: Path, raw: bytes) -> Settings | None:
    path = folder / "submission.yaml"
    path.write_bytes(raw)
    try:
        return read_settings(path, "flip", ("flip", "other"))
    except (FileError, UsageError) as error:
        assert isinstance(error, GraderError) and str(error).strip() and "\n" not in str(error).strip()
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings")


@given(raw=st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_any_bytes(folder: Path, raw: bytes) -> None:
    read_text(folder, raw)


@given(key=KEYS, node=NODES)
@settings(max_examples=500, deadline=None)
def test_any_value_under_a_known_key(folder: Path, key: str, node: str) -> None:
    nested = {"name": "{}: {}", "group": "{}: {}", "labs": "{}: {}", "flip": "labs: {{{}: {}}}"}
    deep = {"file": "labs: {{flip: {{{}: {}}}}}", "variants": "labs: {{flip: {{{}: {}}}}}"}
    rest = "labs: {{flip: {{variants: {{fast: {{{}: {}}}}}}}}}"
    text = (nested | deep).get(key, rest).format(key, node)
    read_text(folder, text.encode("utf-8", "surrogatepass"))


@given(data=st.data())
@settings(max_examples=500, deadline=None)
def test_damaged_settings(folder: Path, data: st.DataObject) -> None:
    text = WHOLE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.one_of(st.just(""), SCALARS)) + text[end:]
    read_text(folder, text.encode(data.draw(st.sampled_from(["utf-8", "cp1251", "utf-16"])), "replace"))


def test_the_whole_is_read(folder: Path) -> None:
    found = read_text(folder, WHOLE.encode())
    assert found is None or found.name == "Анна"
