"""Similar submissions are looked for again when a source has changed, and then only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.exports.entries import Entry
from grader.grading.output import comparing
from grader.lab import labs
from grader.similarity.pairs import Similar

TEXT = (Path(__file__).parents[3] / "submissions" / "ivanov" / "transpose.cu").read_text("utf-8")


def test_what_was_found_is_kept_until_a_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = labs.find("transpose")
    entries = [Entry("a", source=TEXT), Entry("b", source=TEXT)]
    found = comparing.compare_once(lab, entries, tmp_path)
    assert [(pair.left, pair.right) for pair in found.pairs] == [("a", "b")]
    asked: list[int] = []
    real = comparing.compare

    def counted(*known: Any) -> Similar:
        asked.append(1)
        return real(*known)

    monkeypatch.setattr(comparing, "compare", counted)
    assert comparing.compare_once(lab, entries, tmp_path) == found and not asked
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert comparing.compare_once(lab, entries, tmp_path) == found and len(asked) == 1
    changed = [entries[0], Entry("b", source="// another work altogether")]
    assert comparing.compare_once(lab, changed, tmp_path).pairs == () and len(asked) == 2
