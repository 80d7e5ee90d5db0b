"""Rosters, in the columns of the systems that write them."""

from __future__ import annotations

import unicodedata
from datetime import date, datetime
from pathlib import Path

import msgspec
import pytest

from grader.course.roster import Matching, Person, read_roster
from grader.errors import UsageError


def roster(tmp_path: Path, text: str, encoding: str = "utf-8", name: str = "roster.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1251"])
def test_a_russian_spreadsheet(encoding: str, tmp_path: Path) -> None:
    text = (
        "Логин;Фамилия;Имя;Отчество;Группа;Доп. дни\nivanov;Иванов;Иван;Ильич;101;1,5\n;;;;;\nanna;Петрова;Анна;;102;\n"
    )
    found = read_roster(roster(tmp_path, text, encoding))
    assert [(x.id, x.name, x.group, x.extra_days) for x in found] == [
        ("ivanov", "Иванов Иван Ильич", "101", 1.5),
        ("anna", "Петрова Анна", "102", 0.0),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_stands_above_the_headings(encoding: str, tmp_path: Path) -> None:
    """A title, blank lines, and the line that tells a spreadsheet what is between cells."""
    text = "sep=;\r\nСписок группы ИУ6-71, осень;;;\r\n;;;\r\n№ п/п;Ф.И.О.;№ зачётной книжки;Эл. почта:\r\n"
    text += "1;Фёдоров Пётр;21У1;a@x.ru\r\n"
    (found,) = read_roster(roster(tmp_path, text, encoding))
    assert (found.name, found.number, found.email) == ("Фёдоров Пётр", "21У1", "a@x.ru")


def test_lines_below_the_table(tmp_path: Path) -> None:
    (found,) = read_roster(roster(tmp_path, "name,group,e-mail\nИванов Иван,101,\n,1 student,\n"))
    assert found.group == "101"


def test_two_of_one_name_are_two(tmp_path: Path) -> None:
    found = read_roster(roster(tmp_path, "name,number\nИванов Иван,7\nИванов Иван,8\n"))
    assert [(x.id, x.number) for x in found] == [("Иванов Иван", "7"), ("Иванов Иван 8", "8")]
    with pytest.raises(UsageError, match="line 3"):
        read_roster(roster(tmp_path, "name\nИванов Иван\nИванов Иван\n"))


def test_moodles_worksheet(tmp_path: Path) -> None:
    text = (
        'Identifier,"Full name","Email address",Status,Grade,"Last modified (submission)"\n'
        '"Participant 101","Ivan Ivanov",i@x.org,"Submitted","","Saturday, 5 September 2026, 6:14 PM"\n'
        '"Participant 102","Anna Petrova",a@x.org,"No submission","",-\n'
    )
    ivan, anna = read_roster(roster(tmp_path, text))
    assert (ivan.participant, ivan.email, ivan.handed_in) == ("101", "i@x.org", "2026-09-05T18:14:00")
    assert (anna.participant, anna.handed_in) == ("102", "")


def test_a_workbook(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["Name", "Number", "Handed in"])
    book.active.append(["Иванов Иван", 123.0, datetime(2026, 9, 5, 18, 14)])
    book.save(tmp_path / "roster.xlsx")
    (listed,) = read_roster(tmp_path / "roster.xlsx")
    assert (listed.number, listed.handed_in) == ("123", "2026-09-05T18:14:00")


def workbook(tmp_path: Path, *rows: list[object], merged: str = "") -> Path:
    """A workbook with a title on a sheet of its own."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["Кафедра ИУ6"])
    sheet = book.create_sheet("Список")
    for row in rows:
        sheet.append(row)
    for cells in merged.split():
        sheet.merge_cells(cells)
    book.save(tmp_path / "roster.xlsx")
    return tmp_path / "roster.xlsx"


def test_cells_of_a_workbook_that_stand_for_several(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["Список группы", None, None],
        ["Группа", "ФИО", "Дата сдачи"],
        ["101", "Иванов Иван", datetime(2026, 9, 5, 18, 14)],
        [None, "Петрова Анна", date(2026, 9, 6)],
        ["102", "Орлова Ася", "06.09.2026"],
    ]
    found = read_roster(workbook(tmp_path, *rows, merged="A1:C1 A3:A4"))
    assert [(x.name, x.group, x.handed_in) for x in found] == [
        ("Иванов Иван", "101", "2026-09-05T18:14:00"),
        # A day alone means its end, however it is written.
        ("Петрова Анна", "101", "2026-09-06T23:59:59"),
        ("Орлова Ася", "102", "2026-09-06T23:59:59"),
    ]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ('="Петрова "&"Анна"', "line 3: the value of the formula in cell A3 is not stored"),
        ("#REF!", "line 3: cell A3 holds the error #REF!"),
    ],
)
def test_a_cell_that_says_nothing_is_no_name(cell: str, words: str, tmp_path: Path) -> None:
    rows: list[list[object]] = [["ФИО", "Группа", "Примечание"], ["Иванов Иван", "101", "#N/A"]]
    # In a column that nobody asks for, it does no harm.
    assert [x.name for x in read_roster(workbook(tmp_path, *rows))] == ["Иванов Иван"]
    with pytest.raises(UsageError, match=words):
        read_roster(workbook(tmp_path, *rows, [cell, "101"]))


def test_names_as_a_mac_writes_them(tmp_path: Path) -> None:
    apart = unicodedata.normalize("NFD", "Николай Чайкин")
    assert apart != "Николай Чайкин"
    (listed,) = read_roster(roster(tmp_path, f"name\n{apart}\n"))
    assert listed.id == "Николай Чайкин"
    assert Matching([listed]).find(Person(id=apart)) is listed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('name\nIvan\n"' + "x" * 200_000, "cannot be read: field larger than field limit"),
        ("colour,size\nred,1\n", "no column identifies a student; name one id, name, e-mail or number"),
        ("id\nivanov\nivanov\n", r"line 3: ivanov is listed twice"),
        ("id,handed in\nivanov,soon\n", r"line 2: soon: not a time"),
        (
            'id,name\nivanov,"Иванов\npetrova,Петрова\n',
            r"line 2: a quotation mark without the one that closes the cell",
        ),
        ("id,extra days\nivanov,few\n", r"line 2: few: not a number"),
    ],
)
def test_a_wrong_roster_names_its_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        read_roster(roster(tmp_path, text))


@pytest.mark.parametrize("name", ["roster.docx", "gone.csv", "broken.xlsx"])
def test_what_is_no_roster(name: str, tmp_path: Path) -> None:
    if not name.startswith("gone"):
        roster(tmp_path, "x", name=name)
    with pytest.raises(UsageError, match=name.split(".")[0]):
        read_roster(tmp_path / name)


def test_people_are_found_by_what_both_know(tmp_path: Path) -> None:
    text = "id,name,e-mail,number,identifier\nivan,Иванов Иван,i@x.org,7,Participant 101\nanna,Анна Петрова,,8,\n"
    text += "ann,Анна Петрова,,9,\n"
    matching = Matching(read_roster(roster(tmp_path, text)))

    def found(**known: str) -> str:
        listed = matching.find(msgspec.convert({"id": "", **known}, Person))
        return listed.id if listed else ""

    assert found(id="Иван Иванов", name="Иван Иванов") == "ivan"
    assert found(id="ивановиван") == "ivan"
    assert found(id="x", participant="101") == "ivan"
    assert found(id="x", email="I@X.org") == "ivan"
    assert found(id="anna") == "anna"
    assert found(id="x", number="9") == "ann"
    # As lists and systems write one name.
    assert found(id="x", name="Иван Иванов Ильич") == found(id="x", name="ИВАНОВ ИВАН") == "ivan"
    # Two are called so.
    assert found(id="Петрова Анна", name="Петрова Анна") == ""
