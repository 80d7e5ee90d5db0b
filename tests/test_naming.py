"""Names that students chose: as text, as folders, in a command line."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from grader.naming import folder_name, folder_names, printable, printable_result, quoted
from grader.result import Result, Source, decode, encode
from tests import sample_results


def raw(data: bytes) -> str:
    return os.fsdecode(data)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (raw("Иванов".encode("cp866")), "Иванов"),
        (raw("Иванов".encode("cp1251")), "Иванов"),
        (raw("Ёлкина 4312".encode("cp866")), "Ёлкина 4312"),
        ("lab-" + raw("Щукин".encode("cp1251")) + "_2", "lab-Щукин_2"),
        (raw(b"a\xff\x01b"), "a\\xff\x01b".replace("\\xff", "я") if False else "aя\x01b"),
        (raw(b"\x98\xb0"), "\\x98\\xb0"),
        ("\ud800x", "\ufffdx"),
        ("Иванов", "Иванов"),
    ],
)
def test_names_in_old_encodings_are_read(name: str, text: str) -> None:
    assert printable(name) == text


@given(st.binary(max_size=40))
def test_every_name_becomes_text(data: bytes) -> None:
    printable(raw(data)).encode()


def test_results_with_such_names_can_be_written() -> None:
    result = sample_results.failed()
    names = [raw(f"{name}.cu".encode("cp866")) for name in ("работа", "отчёт")]
    changed = msgspec.structs.replace(result, sources=[Source(file=name, text="") for name in names])
    fixed = printable_result(changed)
    assert [source.file for source in decode(encode(fixed)).sources] == ["работа.cu", "отчёт.cu"]
    assert printable_result(result) is result


@pytest.mark.parametrize(
    "name", ["ivanov", "Иванов Пётр", "petrova_2", "a.b", "1234", "O'Brien", "transpose", "name (2)", "x" * 200]
)
def test_ordinary_names_stay(name: str) -> None:
    assert folder_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *["", ".", "..", "...", ".hidden", "a/b", "a\0b", "a\nb", "a\x1bb", "a.", "a ", "con", "NUL", "com1.x", "a:b"],
        *["transpose.csv", "transpose.HTML", "grade-error.log", "x.json", "y.xlsx", "r.pdf", "б" * 120, "x" * 255],
        raw(b"\x98\xb0"),
    ],
)
def test_names_that_do_harm_are_changed_and_kept_apart(name: str) -> None:
    made = folder_name(name)
    assert made != name
    assert folder_name(made) == made
    assert made == folder_name(name) and made != folder_name(name + "x")


@given(st.lists(st.text(max_size=12) | st.binary(max_size=12).map(raw), max_size=12))
def test_no_two_students_share_a_folder(names: list[str]) -> None:
    made = folder_names(names, capitals_differ=False)
    assert len(set(folder_names(names).values())) == len(made)
    assert list(made) == list(dict.fromkeys(names))
    folded = {unicodedata.normalize("NFC", name.casefold()) for name in made.values()}
    assert len(folded) == len(made)
    for name in made.values():
        assert name not in ("", ".", "..") and "/" not in name and len(name.encode()) <= 255
        assert not name.lower().endswith((".csv", ".html", ".log", ".json"))
        assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in name)


def test_capitals_keep_names_apart_where_they_keep_files_apart() -> None:
    students = ["Ivanov", "ivanov", "IVANOV", "Ёж", "ёж", "stra\u00dfe", "STRASSE"]
    assert folder_names(students) == {name: name for name in students}
    made = folder_names(students, capitals_differ=False)
    assert made["Ivanov"] == "Ivanov" and made["Ёж"] == "Ёж"
    assert len({name.casefold() for name in made.values()}) == 7


@given(st.binary(min_size=1, max_size=30).filter(lambda data: b"\0" not in data and b"/" not in data))
def test_a_shell_reads_the_name_that_was_meant(data: bytes) -> None:
    path = Path(raw(data))
    word = quoted(path)
    assert word.isprintable()
    if word.startswith("$'"):
        done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
        assert done.stdout == bytes(path)


@pytest.mark.parametrize("threads", [999999999999**2, -(10**30), 10**400])
def test_numbers_that_no_device_knows_are_kept_all_the_same(threads: int) -> None:
    result = sample_results.passed()
    huge = structs.replace(result.checks[0], data={"threads": threads})
    kept = printable_result(structs.replace(result, checks=[huge, *result.checks[1:]]))
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=Result)
    assert again.checks[0].data["threads"] == (float(threads) if threads < 10**300 else 2**63 - 1)
    assert again.checks[1:] == result.checks[1:]
