"""The pages of a group and a course, in a real browser: it sorts, finds and filters, also as wide as a phone."""

from __future__ import annotations

import html
import json
import re
import subprocess
import unicodedata
from pathlib import Path

import msgspec
import pytest

from grader import i18n
from grader.course.roster import Person
from grader.exports.entries import Entry, Table, in_order, shown_names
from grader.exports.pages import course_page, overview, page, sheet_html, similar_page
from grader.lab import labs
from grader.measured import Ratio, Timing
from grader.message import msg
from grader.result import Check, Decisions, Lateness, Override, Score, Student
from grader.similarity import Pair, Similar
from tests import sample_results
from tests.browser import OPTIONS, PROGRAM, Browser

LAB = labs.find("transpose")
browser = pytest.mark.skipif(not PROGRAM, reason="no Chromium here")


@pytest.fixture(autouse=True)
def english() -> None:
    i18n.use("en")


def table() -> Table:
    passed, failed = sample_results.passed(), sample_results.failed()
    times = [Timing(size={"rows": 1}, median_us=1.0, speedup=0.5, over_reference=Ratio(value=0.5, low=0.4, high=0.6))]
    variants = {**passed.variants, "naive": msgspec.structs.replace(passed.variants["naive"], timing=times)}
    timed = msgspec.structs.replace(passed, variants=variants, score=Score(earned=100, possible=100, pending=0))
    abel = Person(id="a", name="Abel</script><b>", group="101")
    entries = [
        Entry("b", timed, report="b/transpose/report.html", person=Person(id="b", name="Borisov", group="102")),
        Entry("a", failed, report="a/transpose/report.html", person=abel),
        Entry("c", passed, person=Person(id="c", name="Čapek", group="101")),
        Entry("d", reason="nothing was handed in", person=Person(id="d", name="Dünya", group="102")),
    ]
    pair = Pair("a", "b", 0.9, (1,), (1,), ("number 7919",))
    return Table(LAB, entries, similar=Similar((pair,), ("c",)))


def test_an_overview_counts_what_it_shows() -> None:
    seen = overview(table(), "en")
    assert (seen.graded, seen.missing, seen.pending) == (3, 1, 1 + bool(sample_results.failed().score.pending))
    assert (seen.nothing, seen.late, seen.timeless) == (0, 0, 0)
    # 100, 80 and 31.25 per cent.
    assert [bin.count for bin in seen.bins] == [0, 0, 0, 1, 0, 0, 0, 0, 1, 1]
    assert (seen.mean, seen.median) == ("70.4\u00a0%", "80\u00a0%")
    assert {row.title: row.count for row in seen.lost} == dict.fromkeys((row.title for row in seen.lost), 1)
    assert {row.example.report for row in seen.lost} == {"a/transpose/report.html"}
    failed = {(row.variant, row.title): [who.name for who in row.failed] for row in seen.checks if row.failed}
    assert all(names == ["Abel</script><b>"] for names in failed.values())
    (strip,) = seen.strips
    assert strip.variant == "naive" and strip.dots[0].x < strip.reference


def test_a_kernel_that_is_not_there_counts_for_all_that_is_asked_of_it() -> None:
    known = sample_results.passed()
    absent = Check(id="naive.present", check="present", variant="naive", status="fail", earned=0, possible=0)
    waiting = [
        Check(
            id=f"naive.{name}",
            check=name,
            variant="naive",
            status="skip",
            skip_reason="prerequisite",
            earned=0,
            possible=9,
            pending=9,
            data={"blocked_by": "present"},
        )
        for name in ("correct", "memory_safety")
    ]
    result = msgspec.structs.replace(known, checks=[absent, *waiting])
    (row,) = overview(Table(LAB, [Entry("a", result), Entry("b", result)]), "en").lost
    assert (row.count, row.points) == (2, "36")


def rendered(file: Path, script: str) -> str:
    """The page after `script` ran in it, as the browser has it."""
    text = file.read_text("utf-8")
    # The page's own policy lets no script run but its own; what is tested is that one.
    text = re.sub(r"<meta http-equiv[^>]*>", "", text)
    probe = file.with_name("probe.html")
    probe.write_text(text.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    done = subprocess.run(
        [
            *(PROGRAM, *OPTIONS, "--window-size=1200,900"),
            *(f"--user-data-dir={file.parent / 'profile'}", "--virtual-time-budget=2000", "--dump-dom", probe.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=1200,
        check=True,
    )
    return html.unescape(done.stdout)


REPORT = """
const names = () => Array.from(document.querySelectorAll(".sortable tbody tr")).filter((r) => !r.hidden)
  .map((r) => r.cells[0].textContent.trim());
const out = [];
const heads = document.querySelectorAll(".sortable thead button");
heads[0].click(); out.push(names());
heads[2].click(); out.push(names());
heads[2].click(); out.push(names());
const search = document.querySelector(".tools input");
const say = (tool, value) => { tool.value = value; tool.dispatchEvent(new Event("input")); };
say(search, "borisov 102"); out.push(names());
say(search, "nothing was"); out.push(names());
say(search, "");
const [group, status] = document.querySelectorAll(".tools select");
say(group, "101"); out.push(names());
say(group, ""); say(status, "none"); out.push(names());
out.push([document.querySelector(".tools output").textContent]);
document.title = JSON.stringify(out);
"""


@browser
@pytest.mark.slow
def test_a_browser_sorts_finds_and_filters(tmp_path: Path) -> None:
    file = tmp_path / "transpose.html"
    file.write_bytes(page(table(), "en"))
    shown = rendered(file, REPORT)
    found = re.search(r"<title>(.*?)</title>", shown, re.DOTALL)
    assert found is not None
    a, b, c, d = "Abel</script><b>", "Borisov", "Čapek", "Dünya"
    assert msgspec.json.decode(found[1].encode()) == [
        *([a, b, c, d], [d, a, c, b], [b, c, a, d]),
        *([b], [d], [c, a], [d]),
        ["1 / 4"],
    ]


@browser
def test_a_search_finds_a_name_however_it_is_spelt(tmp_path: Path) -> None:
    names = ("Ёлкин Николай", "Елкина Анна", "Жуков Пётр")
    entries = [Entry(name, sample_results.passed(), person=Person(id=name, name=name)) for name in names]
    file = tmp_path / "transpose.html"
    file.write_bytes(page(Table(LAB, entries), "ru"))
    with Browser() as window:
        window.open(file.as_uri())
        found = []
        for wanted in ("елкин", "ЁЛКИНА", unicodedata.normalize("NFD", "николай"), "петр"):
            window.run(f"search = document.querySelector('.tools input'); search.value = {json.dumps(wanted)}")
            window.run("search.dispatchEvent(new Event('input'))")
            found.append(window.run("document.querySelector('.tools output').textContent"))
    assert found == ["2 / 3", "1 / 3", "1 / 3", "1 / 3"]


WIDTH = """
const wide = Array.from(document.querySelectorAll("body *")).filter((e) =>
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && e.closest("pre, .sides") === null);
return [innerWidth, wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 80))];
"""


@browser
@pytest.mark.slow
def test_a_phone_shows_all_of_it(tmp_path: Path) -> None:
    made = table()
    with Browser() as phone:
        phone.as_phone(390)
        for language in ("en", "ru"):
            i18n.use(language)
            pages = (page(made, language), course_page([made, made], language), similar_page(made, language))
            for number, shown in enumerate(pages):
                file = tmp_path / f"{number}.{language}.html"
                file.write_bytes(shown)
                phone.open(file.as_uri())
                # A phone zooms out of a page that is too wide.
                assert phone.run(f"(() => {{ {WIDTH} }})()") == [390, []], file


def test_only_the_page_s_own_script_may_run() -> None:
    import base64
    import hashlib

    for made in (page(table(), "en").decode(), course_page([table()], "ru").decode()):
        (policy,) = re.findall(r"script-src 'sha256-([^']+)'", made)
        (script,) = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == policy
        assert "script-src 'unsafe" not in made and "http" not in made.replace("http-equiv", "")


def test_two_of_one_name_are_told_apart() -> None:
    one = sample_results.passed()
    names = {"ivanov 1": "ivanov", "i2": "ivanov", "anna": "Anna"}
    entries = [
        Entry(student, msgspec.structs.replace(one, student=Student(id=student)), person=Person(id=student, name=name))
        for student, name in names.items()
    ]
    assert shown_names(entries) == {"ivanov 1": "ivanov 1", "i2": "ivanov (i2)", "anna": "Anna"}
    same = Table(LAB, entries, similar=Similar((Pair("ivanov 1", "i2", 0.9, (1,), (1,), ()),), ()))
    assert overview(same, "en").pairs[0][1] == "ivanov 1 – ivanov (i2)"
    for made in (page(same, "en"), similar_page(same, "en"), course_page([same], "en")):
        assert "ivanov (i2)" in made.decode()


@browser
@pytest.mark.slow
def test_a_window_shows_a_course_of_four_labs(tmp_path: Path) -> None:
    made = [Table(labs.find(name), table().entries) for name in ("batch-square", "box-blur", "matmul", "transpose")]
    with Browser(1200) as window:
        for language in ("en", "ru"):
            i18n.use(language)
            file = tmp_path / f"course.{language}.html"
            file.write_bytes(course_page(made, language))
            window.open(file.as_uri())
            assert window.run(f"(() => {{ {WIDTH} }})()") == [1200, []], file


def test_who_has_nothing_has_no_total() -> None:
    nobody = Entry("nobody", reason=msg("intake.nothing"))
    text = course_page([Table(LAB, [*table().entries, nobody])], "en").decode()
    row = text[text.rindex("<tr") :]
    assert "nobody" in row and re.search(r'data-label="Total"[^>]*>–<', row)


def test_a_course_counts_by_weight() -> None:
    one = table()
    text = course_page([Table(LAB, one.entries, weight=1), Table(LAB, one.entries, weight=3)], "en").decode()
    # 31.25 per cent in both, 100 in both, 80 in both, by the names.
    assert re.findall(r"<strong>([^<]*)</strong>", text)[:3] == ["31.25\u00a0%", "100\u00a0%", "80\u00a0%"]


def named(names: dict[str, str], place: dict[str, int] | None = None) -> list[Entry]:
    places = place or {}
    return [
        Entry(id, sample_results.passed(), person=Person(id=id, name=name, place=places.get(id, 0)))
        for id, name in names.items()
    ]


def test_rows_go_by_the_names_shown_or_by_the_roster() -> None:
    names = {"a1": "Яшин", "b2": "Ёлкин", "c3": "Енин", "d4": "Éluard", "e5": "йод", "f6": "Ивин", "g7": "Zola"}
    found = [entry.student for entry in in_order(named(names))]
    assert [names[id] for id in found] == ["Éluard", "Zola", "Ёлкин", "Енин", "Ивин", "йод", "Яшин"]
    listed = in_order(named(names, {"a1": 2, "g7": 1}))
    assert [entry.student for entry in listed] == ["g7", "a1", "d4", "b2", "c3", "f6", "e5"]
    for made in (page(Table(LAB, named(names)), "en"), course_page([Table(LAB, named(names))], "en")):
        assert re.findall(r'<th scope="row">(?:<a[^>]*>)?([^<]+)<', made.decode())[:7] == [names[id] for id in found]


def test_most_points_lost_come_first() -> None:
    """One fault of two students costs 2 points, another of one student 20."""

    def failing(id: str, **costs: float) -> Entry:
        checks = [
            Check(id=f"naive.{name}", check=name, variant="naive", status="fail", earned=0, possible=cost, message=name)
            for name, cost in costs.items()
        ]
        return Entry(id, msgspec.structs.replace(sample_results.failed(), checks=checks))

    rows = overview(Table(LAB, [failing("a", host_code=1), failing("b", host_code=1, races=20)]), "en").lost
    assert [(row.count, row.points) for row in rows] == [(1, "20"), (2, "2")]


def test_decisions_stand_beside_the_mark_and_no_path_on_the_sheet() -> None:
    late = Lateness(handed_in="2026-10-03T12:00", deadline="2026-10-01T23:59", days=2, penalty_pct=20, lost=15.2)
    given = Override(points=50, was=60, was_pending=0, was_possible=100, reason="explained it")
    entries = [
        Entry("a", msgspec.structs.replace(sample_results.passed(), decisions=Decisions(late=late, total=given))),
        Entry("b", reason=msg("session.grader_failed", log="/srv/reports/b/grade-error.log")),
        Entry("c", reason=msg("intake.nothing")),
        Entry("d", msgspec.structs.replace(sample_results.passed(), decisions=Decisions(asks_time=True))),
    ]
    table = Table(LAB, entries)
    seen = overview(table, "en")
    assert (seen.graded, seen.missing, seen.nothing, seen.late, seen.timeless) == (2, 1, 1, 1, 1)
    assert (
        "2 graded · 1 not graded · 1 submitted nothing · 1 late · 1 with no known time of submission"
        in page(table, "en").decode()
    )
    states = re.findall(r'data-status="([\w ]+)"', page(table, "en").decode())
    assert states == ["none", "nothing", "pass late", "pass timeless"]
    for made in (page(table, "en").decode(), course_page([table], "en").decode(), sheet_html(table, "en")):
        assert "2 days late" in made and "50 instead of 60: explained it" in made
    assert "/srv" in page(table, "en").decode()
    paper = sheet_html(table, "en")
    assert "/srv" not in paper and "not graded" in paper and "nothing was submitted" in paper


@pytest.mark.slow
def test_a_sheet_to_be_signed_is_a_pdf() -> None:
    from grader.exports.pages import sheet

    assert sheet(table(), "ru").startswith(b"%PDF")
