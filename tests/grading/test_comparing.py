"""Similar submissions are looked for again when a source has changed, and then only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.cli import main as cli
from grader.course.roster import Person
from grader.exports.entries import Entry
from grader.grading import tables
from grader.lab import labs
from grader.similarity import Similar
from tests.marks_only import put_marks_only

TEXT = (Path(__file__).parents[2] / "submissions" / "ivanov" / "transpose.cu").read_text("utf-8")


def test_what_was_found_is_kept_until_a_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = labs.find("transpose")
    entries = [Entry("a", source=TEXT), Entry("b", source=TEXT)]
    found = tables.compare_once(lab, entries, tmp_path)
    assert [(pair.left, pair.right) for pair in found.pairs] == [("a", "b")]
    asked: list[int] = []
    real = tables.compare

    def counted(*known: Any) -> Similar:
        asked.append(1)
        return real(*known)

    monkeypatch.setattr(tables, "compare", counted)
    assert tables.compare_once(lab, entries, tmp_path) == found and not asked
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert tables.compare_once(lab, entries, tmp_path) == found and len(asked) == 1
    changed = [entries[0], Entry("b", source="// another work altogether")]
    assert tables.compare_once(lab, changed, tmp_path).pairs == () and len(asked) == 2


def test_a_team_is_one_work() -> None:
    lab = labs.find("transpose")
    entries = [
        Entry(name, source=TEXT, person=Person(id=name, team=team))
        for name, team in (("a", "team 1"), ("b", "team 1"), ("c", "team 2"), ("d", "team 2"), ("e", ""))
    ]
    pairs = [(pair.left, pair.right) for pair in tables.compare(lab, entries).pairs]
    assert sorted(pairs) == [("a", "c"), ("a", "e"), ("c", "e")]


def test_other_years_are_read_as_submissions_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the files were called and in whatever encoding; folders of one name in two years are two."""
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    works = {
        "group/now": TEXT,
        "2024/group/old": TEXT.replace("4096", "8192"),
        "2025/group/old": TEXT.replace("4096", "1024"),
    }
    for folder, text in works.items():
        file = tmp_path / folder / ("transpose.cu" if folder == "group/now" else "лаба.cu")
        file.parent.mkdir(parents=True)
        file.write_bytes(text.encode("cp1251"))
    (tmp_path / "empty").mkdir()
    assert cli.run(["group", "--lab", "transpose", "--backend", "emulator", "--no-pdf", "--lang", "en"]) in (0, 1)
    capsys.readouterr()
    archives = ["2024/group", "2025/group", "empty"]
    options = [word for folder in archives for word in ("--archive", folder)]
    assert cli.run(["similar", "reports", "--lang", "en", *options]) == 0
    assert "empty: no submissions of transpose there to compare with" in capsys.readouterr().out
    page = (tmp_path / "reports" / "transpose.similar.html").read_text("utf-8")
    assert "2024/group/old" in page and "2025/group/old" in page
    assert cli.run(["similar", "reports", "--archive", "./reports", "--lang", "en"]) == 2
    assert "reports: the folder itself" in capsys.readouterr().err
