"""The annotated listing."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from grader.measured import LineCounters
from grader.report import listing
from grader.report import listing as highlight
from grader.report.text import Numbers
from grader.report.views import LineRow, Listing, NoteGroup, Row
from grader.result import Source
from tests import sample_results
from tests.report.jobs import job


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Cf"], whitelist_characters="\t\n"), max_size=300))
def test_highlighting_loses_nothing_and_keeps_line_numbers(text: str) -> None:
    lines = ["".join(part for _css, part in line) for line in highlight.highlight(text)]
    expected = text.split("\n")
    assert lines == (expected[:-1] if text.endswith("\n") else expected)


def lines_of(shown: Listing) -> list[LineRow]:
    """The rows that are lines."""
    return [row for row in shown["rows"] if "gap" not in row and "cell" not in row]


def test_tokens_of_cuda_are_told_apart() -> None:
    (line,) = highlight.highlight('__global__ void k() { return 1; } // "end"\n')
    kinds = {text.strip(): css for css, text in line}
    # Two keywords, and the blank between them, are one element.
    assert (kinds["__global__ void"], kinds["return"], kinds["1"], kinds['// "end"']) == ("k", "k", "n", "c")


def test_counters_stand_beside_their_lines() -> None:
    notes = listing.notes_by_line(job(), "transpose.cu")
    said = {(g["variants"][0]["name"], n["text"], n["level"]) for g in notes[12] for n in g["notes"]}
    assert ("shared", "shared load: 32-way conflict, wavefronts per request: 32", "warn") in said
    assert ("padded", "shared load: no conflict, wavefronts per request: 1", "ok") in said
    assert ("naive", "global store: sectors per request: 32, minimum 4", "warn") in said


def test_a_note_that_holds_for_two_variants_is_told_once() -> None:
    notes = listing.notes_by_line(job(), "transpose.cu")
    (group,) = notes[6]
    assert [v["name"] for v in group["variants"]] == ["shared", "padded"]
    assert notes.keys() == {2, 6, 9, 12}


def test_a_race_that_a_check_names_is_not_told_twice() -> None:
    notes = listing.notes_by_line(job(sample_results.failed()), "transpose.cu")
    texts = [n["text"] for g in notes[12] for n in g["notes"] if n["level"] == "bad"]
    assert len([t for t in texts if "with no barrier between them" in t]) == 1


def test_lines_with_faults_are_marked() -> None:
    (shown,) = listing.listings(job(sample_results.failed()))
    assert [row["number"] for row in lines_of(shown) if row["level"] == "bad"] == [12]


def test_a_long_file_is_cut_to_what_is_noted() -> None:
    text = sample_results.SOURCE_TEXT + "// more\n" * 5000
    result = msgspec.structs.replace(sample_results.failed(), sources=[Source(file="transpose.cu", text=text)])
    (shown,) = listing.listings(job(result))
    assert shown["rows"][-1] == {"gap": "lines 25–5013 are not shown"}
    assert [row["number"] for row in lines_of(shown)] == list(range(1, 25))


def test_lines_of_a_notebook_are_numbered_as_its_cells_have_them() -> None:
    """Cells 3 and 7 of one program; the sample's notes are in its lines 2, 6, 9 and 12."""
    text = sample_results.SOURCE_TEXT + "// more\n" * 700 + "// last\n" * 3
    lines = len(text.splitlines())
    source = Source(
        file="transpose.cu", text=text, notebook="work.ipynb", cells=[(1, 3), (7, 7), (lines - 99, 9), (lines - 1, 11)]
    )
    result = msgspec.structs.replace(sample_results.failed(), sources=[source])
    (shown,) = listing.listings(job(result))
    assert shown["file"] == "work.ipynb"
    told = [row.get("number", row) for row in shown["rows"]]
    assert told == [
        *({"cell": "Cell 3"}, *range(1, 7)),
        *({"cell": "Cell 7"}, *range(1, 19)),
        {"gap": f"lines 19–{lines - 100 - 6} are not shown"},
        *({"cell": "Cell 9"}, {"gap": "lines 1–98 are not shown"}),
        *({"cell": "Cell 11"}, {"gap": "lines 1–2 are not shown"}),
    ]


def test_a_very_long_line_is_cut() -> None:
    (line,) = highlight.highlight("x" * 100_000)
    assert sum(len(text) for _css, text in line) <= highlight.MAX_LINE_CHARACTERS + 2


def test_hazards_of_one_kind_in_one_line_are_told_once() -> None:
    result = sample_results.failed()
    race = result.variants["shared"].hazards[0]
    hazards = [msgspec.structs.replace(race, message=f"race {n}", kind=kind) for n, kind in enumerate(("race",) * 3)]
    hazards.append(msgspec.structs.replace(race, message="beyond", kind="out_of_bounds"))
    shared = msgspec.structs.replace(result.variants["shared"], hazards=hazards)
    changed = msgspec.structs.replace(result, variants={"shared": shared}, checks=[])
    notes = listing.notes_by_line(job(changed), "transpose.cu")
    assert [n["text"] for g in notes[12] for n in g["notes"] if n["kind"] == "hazard"] == ["race 0", "beyond"]


def test_backslashes_that_are_lined_up_break_no_lines() -> None:
    text = "#define A(x)          \\\n    do { x; } while (0)   \\\n;\nint a;    // \\ b\n"
    result = msgspec.structs.replace(sample_results.passed(), sources=[Source(file="a.cu", sha256="", text=text)])
    (shown,) = listing.listings(job(result))
    lines = ["".join(part for _css, part in row["tokens"]) for row in lines_of(shown)]
    assert lines == ["#define A(x) \\", "    do { x; } while (0) \\", ";", "int a;    // \\ b"]


def test_what_atomics_of_one_element_cost_is_not_made_up() -> None:
    atomics = LineCounters(line=3, space="shared", op="atomic", requests=4, wavefronts=4, ideal=4)
    text, wasteful = listing.counter_note(atomics, Numbers("en"))
    assert not wasteful and text.endswith("how long atomics of one element wait for each other is not counted")
    assert "wavefronts" not in text


def test_on_paper_lines_of_which_nothing_is_said_stand_several_in_a_row() -> None:
    def line(number: int, text: str = "x;", level: str = "", noted: bool = False) -> Row:
        notes: list[NoteGroup] = [{"variants": [], "notes": []}] if noted else []
        return {"number": number, "tokens": [("k", text)], "notes": notes, "level": level}

    rows = [line(1), line(2), line(3, noted=True), line(4, level="bad")]
    rows += [{"gap": "…"}, line(9), line(10, 91 * "x")]
    rows += [line(number) for number in range(11, 18)]
    (shown,) = listing.on_paper([{"file": "k.cu", "rows": rows}])
    own = lines_of(shown)
    assert [row["number"] for row in own] == ["1\n2", 3, 4, 9, 10, "11\n12\n13\n14\n15\n16", 17]
    assert own[0]["tokens"] == [("k", "x;"), ("", "\n"), ("k", "x;")]
    assert shown["rows"][3] == {"gap": "…"}
    # The page on a screen is made of the same rows.
    assert rows[0] == line(1)
