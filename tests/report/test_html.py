"""The page: self-contained, escaped, complete."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import i18n
from grader.report import html
from grader.report.job import ReportJob
from grader.result import Source, TitlePage
from tests import sample_results
from tests.report.jobs import job, named


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words: list[str] = []
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def rendered(for_job: ReportJob) -> Page:
    return Page(html.render(html.document(for_job), []))


def test_the_page_has_every_part() -> None:
    page = rendered(job(sample_results.failed()))
    for heading in ("Aim", "Task", "Results", "What to fix", "Memory traffic", "Listing", "Conclusions"):
        assert heading in page.text
    assert "Declare the tile as t[T][T + 1]." in page.text
    assert "grade submissions/petrova --lab transpose --backend emulator" in page.text
    assert "25 of 80 points" in " ".join(page.text.split())


def test_the_page_fetches_nothing_and_runs_nothing() -> None:
    page = Page(html.render(html.document(job()), html.figures(job(), "screen")))
    assert not {"script", "link", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    assert all(not name.startswith("on") for _tag, name, _value in page.attributes)
    sources = [value for _tag, name, value in page.attributes if name in ("src", "href", "srcset")]
    assert sources
    assert all(value is not None and value.startswith("data:image/") for value in sources)
    policy = [value for tag, name, value in page.attributes if tag == "meta" and name == "content"]
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in policy


def test_pictures_say_in_words_what_they_show() -> None:
    page = Page(html.render(html.document(job()), html.figures(job(), "screen")))
    alts = [value or "" for tag, name, value in page.attributes if (tag, name) == ("img", "alt")]
    assert len(alts) == 4
    assert alts[0] == "Wavefronts per shared-memory request. shared: load 32, store 1; padded: load 1, store 1."
    assert "32-way conflict" in alts[2]


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>",
    "{{ 7 * 7 }}",
    "{% include '/etc/passwd' %}",
    r"$\frac$",
    "%s%n{0}{name}",
    "A" * 5000,
    "\u202egnp.exe",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    page = rendered(named(name))
    assert name.replace("\u202e", "⟨U+202E⟩") in page.text
    assert "script" not in page.tags
    assert "img" not in page.tags


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=80))
def test_any_text_in_any_place_adds_no_element(text: str) -> None:
    reference = rendered(job(sample_results.failed())).tags
    result = sample_results.failed()
    checks = [msgspec.structs.replace(c, message=text, hint=c.hint and (text or " ")) for c in result.checks]
    source = Source(
        file="transpose.cu", text=sample_results.SOURCE_TEXT.replace("#define T 32", "#define T 32 // " + "_")
    )
    changed = msgspec.structs.replace(result, checks=checks, sources=[source], remarks=[])
    page = rendered(job(changed, lab_title=text, aim=text))
    assert set(page.tags) == set(reference)
    assert page.tags.count("article") == 4


def test_hostile_source_is_a_listing() -> None:
    source = Source(file="transpose.cu", text="// </code></td><script>alert('x')</script>\nint x; // &amp; {{ 1 }}\n")
    page = rendered(job(msgspec.structs.replace(sample_results.passed(), sources=[source])))
    assert "script" not in page.tags
    assert "// </code></td><script>alert('x')</script>" in page.text
    assert "// &amp; {{ 1 }}" in page.text


def test_a_task_is_markdown_without_html() -> None:
    page = Page(
        html.markdown("# T\n\n*it* <b onclick=x>b</b> ![i](http://a/b.png) [l](javascript:alert(1))\n\n|a|\n|-|\n|1|\n")
    )
    assert {"h3", "em", "table"} <= set(page.tags)
    assert not {"b", "img", "h1"} & set(page.tags)
    assert [value for tag, name, value in page.attributes if tag == "a" and name == "href"] == ["http://a/b.png"]


def test_the_same_result_gives_the_same_bytes() -> None:
    def once() -> str:
        return html.render(html.document(job()), html.figures(job(), "screen"))

    assert once() == once()


def test_a_result_without_counters_has_no_empty_part() -> None:
    page = rendered(job(sample_results.errored()))
    assert "Memory traffic" not in page.text
    assert "the emulator does not implement `wmma.load`" in page.text


def test_a_russian_page_speaks_russian() -> None:
    i18n.use("ru")
    try:
        page = Page(html.render(html.document(job(language="ru")), []))
    finally:
        i18n.use("en")
    assert ("html", "lang", "ru") in page.attributes
    assert "Выводы" in page.text
    assert "6,06\u00a0%" in page.text
    ours = re.sub(r"SHA|NVRTC|Python|NumPy|wavefront", "", page.text.split("Листинг")[0])
    for english in ("Results", "passed", "points", "shared memory", "request"):
        assert english not in ours


def test_the_first_screen_names_what_to_fix() -> None:
    failed = job(sample_results.failed())
    screen = html.render(html.document(failed), [])
    places = [screen.index(f"<h2>{title}</h2>") for title in ("What to fix", "Results", "Aim", "Task", "Listing")]
    assert places == sorted(places)
    assert "bank conflicts" in screen[places[0] : places[1]] and "transpose.cu:12" in screen[places[0] : places[1]]
    paper = html.render(html.document(failed), [], paged=True)
    head = paper[: paper.index("</header>")]
    assert 'href="#fault-1">bank conflicts</a>' in head and "transpose.cu:12" in head
    assert paper.count('id="fault-1"') == screen.count('id="fault-1"') == 1
    assert paper.index("<h2>Task</h2>") < paper.index("<h2>What to fix</h2>")
    good = html.render(html.document(job()), [], paged=True)
    assert "What to fix" not in good[: good.index("</header>")]


def test_the_title_page_says_what_submission_and_lab_give() -> None:
    wanted = TitlePage("СибГУТИ", "Кафедра ПМиК", "Программирование GPU", "Малков Е. А.", "Новосибирск", "2026")
    made = msgspec.structs.replace(job(), title_page=wanted)
    paper = html.render(html.document(made), [], paged=True)
    head = paper[: paper.index("</header>")]
    for text in ("СибГУТИ", "Кафедра ПМиК", "Программирование GPU", "Малков Е. А.", "Новосибирск, 2026"):
        assert text in head
    bare = html.render(html.document(job()), [], paged=True)
    for name in ("organisation", "course", "place", "Teacher"):
        assert f'class="{name}"' not in bare and ">Teacher<" not in bare


@pytest.mark.parametrize(("expression", "breaks"), [("+".join("0" * 60), 119), ("0 + " * 60 + "0", 0)])
def test_a_line_of_code_without_blanks_may_be_broken_between_words(expression: str, breaks: int) -> None:
    result = msgspec.structs.replace(sample_results.failed(), sources=[Source("a.cu", f"int a = {expression};\n")])
    text = html.render(html.document(job(result)), [])
    listing = text[text.index('<table class="listing">') :].partition("</table>")[0]
    assert (listing.count("<wbr>") >= breaks) if breaks else "<wbr>" not in listing
