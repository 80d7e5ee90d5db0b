"""A file's data as records: what does not fit is told with line, key and what is allowed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grader.errors import FileError
from grader.words import text
from grader.yaml_file import MAX_SHOWN, YamlFile, choose, read


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """A record in lists and mappings."""

    name: str
    count: int = 0


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    """A record of each kind of value."""

    inner: list[Inner] = []
    by_name: dict[str, Inner] = {}
    side: int | None = None
    flag: bool = False


def written(tmp_path: Path, lines: str) -> YamlFile:
    path = tmp_path / "x.yaml"
    path.write_text(lines, "utf-8")
    return read(path)


def test_data_become_records(tmp_path: Path) -> None:
    file = written(tmp_path, "inner:\n- name: a\n  count: 3\nby_name:\n  b: {name: c}\nflag: yes\n")
    assert file.decode(Outer) == Outer(inner=[Inner("a", 3)], by_name={"b": Inner("c")}, flag=True)
    assert file.line(("inner", 0, "count")) == 3
    # Of what is not there the line of what is round it.
    assert file.line(("inner", 0, "other")) == 2
    assert file.line(("nothing", 5)) == 1


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("inner:\n- name: a\n  cuont: 3\n", 3, ["inner[0].cuont", "did you mean", "`count`", "allowed: count, name"]),
        ("inner:\n- count: 3\n", 2, ["inner[0]", "`name`", "allowed: count, name"]),
        ("inner:\n- name: a\n  count: x\n", 3, ["inner[0].count", "whole number", "'x'"]),
        ("side: [1]\n", 1, ["side", "a whole number", "a list"]),
        ("flag: 3\n", 1, ["flag", "3"]),
        ("inner: {a: 1}\n", 1, ["inner", "a list"]),
        # msgspec says "some value of this mapping": which one, is found out.
        ("by_name:\n  a: {name: x}\n  b:\n    name: y\n    count: z\n", 5, ["by_name.b.count", "'z'"]),
        ("by_name:\n  a: {name: x}\n  b: {nmae: y}\n", 3, ["by_name.b"]),
        ("by_name:\n  a: {name: x}\n  b: 5\n", 3, ["by_name.b", "5"]),
    ],
)
def test_what_does_not_fit(tmp_path: Path, lines: str, line: int, words: list[str]) -> None:
    file = written(tmp_path, lines)
    with pytest.raises(FileError) as error:
        file.decode(Outer)
    assert error.value.line == line
    for word in words:
        assert word in str(error.value), str(error.value)


def test_a_part_is_told_by_its_whole_key(tmp_path: Path) -> None:
    file = written(tmp_path, "labs:\n  flip:\n    name: a\n    cuont: 1\n")
    with pytest.raises(FileError, match=r"labs\.flip\.cuont"):
        file.decode(Inner, ("labs", "flip"), {"name": "a", "cuont": 1})


def test_numbers_and_flags_may_be_wanted_as_they_are_written(tmp_path: Path) -> None:
    file = written(tmp_path, "group: 43.10\nids: [0042, No, abc]\n")
    assert file.as_text(43.1, ("group",)) == "43.10"
    assert file.as_text([42, False, "abc"], ("ids",)) == ["0042", "No", "abc"]


def test_a_value_as_long_as_the_file_is_shortened(tmp_path: Path) -> None:
    file = written(tmp_path, f"side: {'x' * 5000}\n")
    with pytest.raises(FileError) as error:
        file.decode(Outer)
    assert "x" * (MAX_SHOWN - 5) in str(error.value) and len(str(error.value)) < 400


def test_what_is_allowed_has_near_misses_first() -> None:
    assert text(choose("trnspose", ["transpose", "matmul"])) == "did you mean `transpose`? allowed: matmul, transpose"
    assert text(choose("zzz", ["transpose", "matmul"])) == "allowed: matmul, transpose"
