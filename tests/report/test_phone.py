"""The report on a phone: as wide as the screen, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import i18n
from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.lab.labs import find
from grader.report import html
from grader.report.job import make_job
from grader.words import told
from tests import browser

KERNELS = Path(__file__).parents[1] / "kernels"
WIDTH = """(() => {
const wide = Array.from(document.querySelectorAll("body *")).filter((e) =>
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 1
  && e.closest(".scroll, .listing, pre, code, svg") === null);
return [innerWidth, wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 80))];
})()"""


@pytest.mark.slow
@pytest.mark.skipif(not browser.PROGRAM, reason="no Chromium here")
@pytest.mark.parametrize("kernel", ["matmul/good/template_block.cu", "transpose/good/lecture.cu"])
def test_a_phone_shows_all_of_it(tmp_path: Path, kernel: str) -> None:
    # One kernel of five: the others' points wait, which takes most room in the table of all checks.
    lab = find(kernel.partition("/")[0], ())
    result = grade(KERNELS / kernel, lab, GradeOptions(backend="emulator"))
    try:
        with browser.Browser() as phone:
            phone.as_phone(390)
            for language in ("en", "ru"):
                i18n.use(language)
                file = tmp_path / f"{language}.html"
                page = html.document(make_job(told(result), lab, language))
                file.write_text(html.render(page, []), "utf-8")
                phone.open(file.as_uri())
                assert phone.run(WIDTH) == [390, []], language
    finally:
        i18n.use("en")
