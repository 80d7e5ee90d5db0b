"""lab.yaml: a right one becomes a Lab; a wrong one is refused with file, line, key and what is allowed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from grader.errors import FileError, UsageError
from grader.files import data_root
from grader.lab import labs
from grader.lab.checks import BankConflictSettings, WaysShare
from grader.lab.file import load
from grader.report.job import make_job
from grader.result import TitlePage
from tests import sample_results

TRANSPOSE = data_root() / "assignments" / "transpose"


@pytest.fixture
def edit(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of a built-in lab in which one text is replaced by another; returns the lab's folder."""
    for part in ("assignments/transpose", "reference/transpose"):
        shutil.copytree(data_root() / part, tmp_path / part)
    folder = tmp_path / "assignments/transpose"

    def replace(old: str, new: str) -> Path:
        text = (folder / "lab.yaml").read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        (folder / "lab.yaml").write_text(text.replace(old, new), "utf-8")
        return folder

    return replace


def line_of(folder: Path, text: str) -> int:
    lines = (folder / "lab.yaml").read_text("utf-8").splitlines()
    return next(n for n, line in enumerate(lines, start=1) if text in line)


def test_the_built_in_lab() -> None:
    lab = load(TRANSPOSE)
    assert lab.id == "transpose"
    assert [v.name for v in lab.variants] == ["naive", "shared", "padded"]
    assert lab.parameter("out").shape == ("cols", "rows")
    assert lab.size_names == ("rows", "cols")
    assert lab.launch.block == (32, 32, 1)
    assert lab.variants[2].reference.block == (32, 8, 1)
    assert lab.cases["emulator"].observe == {"rows": 256, "cols": 256}
    assert "транспонируют" in lab.task["ru"]
    assert {v.more_sizes for v in lab.variants} == {()}
    checks = {c.check: c for c in lab.variants[2].checks}
    assert checks["present"].points == 0
    assert checks["bank_conflicts"].points == 10
    assert checks["bank_conflicts"].settings == BankConflictSettings((WaysShare(2, 0.5), WaysShare(4, 0.2)))
    assert sum(c.points for v in lab.variants for c in v.checks) == 100


def test_every_built_in_lab_loads() -> None:
    assert {lab.id for lab in labs.all_labs()} == set(labs.folders())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{points: 5, against", "{pionts: 5, against", ["speedup.pionts", "did you mean `points`?", "classes"]),
        ("{points: 5, against", "{against", ["speedup: missing key `points`"]),
        ("ways: 2,", "ways: 0,", ["bank_conflicts.partial[0]", "1 or more"]),
        ("share: 0.5}, {ways", "share: 2}, {ways", ["bank_conflicts.partial[0]", "from 0 to 1 (got 2)"]),
        ("full: 2, minimum: 1.2", "full: 2, minimum: 3", ["speedup.minimum", "got 3 and 2"]),
        ("full: 2, minimum: 1.2", "minimum: 1.2", ["`full`, `time` and `classes`"]),
        ("full: 2, minimum: 1.2", "time: {full: 10, none: 2}", ["speedup.time", "got 10 and 2"]),
        ("full: 2, minimum: 1.2", "time: {full: 1, none: 2, between: log}", ["'log'", "linear", "logarithm"]),
        ("full: 2, minimum: 1.2", "classes: [{share: 1}]", ["classes[0]", "`speedup` and `time`"]),
        ("full: 2, minimum: 1.2", "classes: [{share: 0.5, speedup: 4}, {share: 1, time: 2}]", ["larger share"]),
        ("against: naive, full: 2", "own: true, against: naive, full: 2", ["one of the two", "naive, shared, padded"]),
        ("against: naive, full: 2", "against: plain, full: 2", ["speedup.against", "'plain'", "naive"]),
        ("seed: 1", "sead: 1", ["sead: unknown key", "did you mean `seed`?", "tolerance"]),
        ("seed: 1", "seed: one", ["seed: must be a whole number (got 'one')"]),
        ("seed: 1", "seed: 1\nseed: 2", ["seed: the key is there twice, first in line"]),
        ("seed: 1", "seed: &a 1", ["anchors and aliases"]),
        ("seed: 1", "seed: !!python/name:os.system ''", ["tag"]),
        ("seed: 1", "seed: [1", ["expected ',' or ']'"]),
        (
            "launch: {block: [32, 32], covers",
            "launch: {blok: [32, 32], covers",
            ["launch.blok: unknown key", "`block`"],
        ),
        ("block: [32, 32], covers: [cols, rows]", "block: [64, 32], covers: [cols, rows]", ["launch.block", "2048"]),
        (
            "covers: [cols, rows]",
            "covers: [cols, row]",
            ["launch.covers[1]: unknown name 'row'", "did you mean `rows`"],
        ),
        ("equal_sizes: [rows, cols]", "equal_sizes: [rows, n]", ["equal_sizes[1]: unknown name 'n'", "cols, rows"]),
        ("shape: [cols, rows]", "shape: [cols, depth]", ["parameters.out.shape[1]: unknown name 'depth'"]),
        ("  rows: {kind: size,", "  rows: {kind: sise,", ["parameters.rows.kind", "'sise'"]),
        (
            "  rows: {kind: size, dtype: int32",
            "  rows: {kind: size, dtype: int",
            ["dtype", "unknown type 'int'", "int32"],
        ),
        ("out: {kind: output", "out: {kind: input", ["parameters: no parameter of kind output"]),
        ("races: 7", "race: 7", ["variants.shared.checks.race: unknown check", "did you mean `races`"]),
        ("races: 7", "races: five", ["variants.shared.checks.races: points", "'five'"]),
        ("races: 7", "races: 6", ["the points of all checks add up to 99, not 100", "shared 31"]),
        (
            "shared_memory: none",
            "shared_memory: nothing",
            ["variants.naive.checks.technique.shared_memory", "'nothing'"],
        ),
        ("shared_memory: none", "uses: none", ["variants.naive.checks.technique.uses: unknown key", "max_reads"]),
        ("{ways: 2, share: 0.5}", "{way: 2, share: 0.5}", ["bank_conflicts.partial[0].way: unknown key", "`ways`"]),
        ("file: naive.cu", "file: nave.cu", ["variants.naive.reference.file: no such file", "nave.cu"]),
        ("kernel: transpose_naive", "kernel: transpose", ["variants.naive.reference.kernel", "no kernel 'transpose'"]),
        ("names: [naive,", "names: ['(naive',", ["variants.naive.names[0]: not a regular expression"]),
        ("{rows: 33, cols: 33}, {rows: 31, cols: 31}, {rows: 31, cols: 65}", "{rows: 33}", ["ragged[0]", "`cols`"]),
        (
            "{rows: 1, cols: 40}]\n",
            "{rows: 1, cols: 40}]\n    large: [{rows: 9, cols: 9}]\n",
            ["sizes.emulator.large: only a GPU runs large sizes"],
        ),
        ("{rows: 128, cols: 64}", "{rows: 0, cols: 64}", ["sizes.emulator.correct[1].rows: a size must be at least 1"]),
        (
            "    shared_memory: false\n",
            "    shared_memory: false\n    more_sizes: [{rows: 288, cols: 288}, {rows: 288}]\n",
            ["variants.naive.more_sizes[1]: missing size `cols`"],
        ),
        (
            "    shared_memory: false\n",
            "    shared_memory: false\n    more_sizes: [{rows: 288, cols: wide}]\n",
            ["variants.naive.more_sizes[0].cols: must be a whole number (got 'wide')"],
        ),
        (
            "    shared_memory: false\n",
            "    shared_memory: false\n    smaller_block: {sizes: {rows: 64}, threads: 32}\n",
            ["variants.naive.smaller_block.sizes: missing size `cols`"],
        ),
        (
            "    shared_memory: false\n",
            "    shared_memory: false\n    smaller_block: {sizes: {rows: 64, cols: 64}, threads: 2000}\n",
            ["variants.naive.smaller_block.threads"],
        ),
        ("  gpu:", "  cpu:", ["sizes.cpu: unknown name 'cpu'", "emulator, gpu"]),
        ("  en: To learn", "  de: To learn", ["aim.de: unknown key", "allowed: en, ru"]),
        # The name of a mapping's key is told, where the decoder only says "some value of it".
        (
            "{rows: 128, cols: 64}",
            "{rows: 128, cols: many}",
            ["sizes.emulator.correct[1].cols: must be a whole number (got 'many')"],
        ),
        ("l2: cold", "l2: hot", ["timing.l2: 'hot' is not known here; allowed: cold, warm"]),
        ("seed: 1", "\tseed: 1", ["the line is indented with a tab"]),
        (
            "block: [32, 32], covers: [cols, rows]",
            "block: ['32 threads'], covers: [cols]",
            ["launch.block[0]", "ceil_div"],
        ),
    ],
)
def test_faults_are_named(edit: Callable[[str, str], Path], old: str, new: str, words: list[str]) -> None:
    folder = edit(old, new)
    with pytest.raises(FileError) as caught:
        load(folder)
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert "\n" not in message
    last_new_line = new.splitlines()[-1].strip().split(":")[0].strip("{ ")
    place = re.match(r"(.*lab\.yaml):(\d+): ", message)
    assert place, message
    if not any(w in message for w in ("points of all", "no parameter", "expected ','")):
        assert last_new_line in (folder / "lab.yaml").read_text("utf-8").splitlines()[int(place[2]) - 1]
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "is_right"),
    [
        # A check without points is shown all the same; two checks may share what one of them had.
        ("      races: 7\n      technique: {points: 3,", "      races: 0\n      technique: {points: 10,", True),
        ("      races: 7\n      technique: {points: 3,", "      races: -1\n      technique: {points: 11,", False),
        ("launch: {block: [32, 32]", "launch: {block: [32, 1]", True),
        ("launch: {block: [32, 32]", "launch: {block: [32, 0]", False),
        ("launch: {block: [32, 32]", "launch: {block: [32, 32, 1]", True),
        ("launch: {block: [32, 32]", "launch: {block: [32, 33]", False),
        ("absolute: 0, relative: 0", "absolute: 999999, relative: 0", True),
        ("absolute: 0, relative: 0", "absolute: 1000000, relative: 0", False),
        ("absolute: 0, relative: 0", "absolute: 0, relative: -0.001", False),
    ],
)
def test_numbers_up_to_their_bounds_are_taken(
    edit: Callable[[str, str], Path], old: str, new: str, is_right: bool
) -> None:
    folder = edit(old, new)
    if is_right:
        load(folder)
    else:
        with pytest.raises(UsageError):
            load(folder)


def test_a_lab_says_what_stands_on_the_title_page(edit: Callable[[str, str], Path]) -> None:
    given = "title_page: {university: ЮЗГУ, department: {en: Computing, ru: Кафедра ВТ}, year: 2026}\n"
    lab = load(edit("seed: 1\n", f"seed: 1\n{given}"))
    assert lab.title_page == {
        "university": {"en": "ЮЗГУ", "ru": "ЮЗГУ"},
        "department": {"en": "Computing", "ru": "Кафедра ВТ"},
        "year": {"en": "2026", "ru": "2026"},
    }
    result = sample_results.passed()
    own = msgspec.structs.replace(result.student, title_page=TitlePage(university="МГТУ", city="Москва"))
    result = msgspec.structs.replace(result, student=own)
    assert make_job(result, lab, "ru").title_page == TitlePage(
        university="МГТУ", department="Кафедра ВТ", city="Москва", year="2026"
    )


def test_a_missing_key_is_named(edit: Callable[[str, str], Path]) -> None:
    folder = edit("launch: {block: [32, 32], covers: [cols, rows]}", "")
    with pytest.raises(FileError, match=r"lab\.yaml:\d+: missing key `launch`; .*allowed: .*launch"):
        load(folder)


def test_a_missing_text_is_named(edit: Callable[[str, str], Path]) -> None:
    folder = edit("seed: 1", "seed: 2")
    (folder / "task.ru.md").unlink()
    assert set(load(folder).task) == {"en"}
    (folder / "task.en.md").unlink()
    with pytest.raises(FileError, match=r"no such file: .*task\.en\.md"):
        load(folder)


@pytest.mark.parametrize(
    ("title", "texts"),
    [("Sums", {"en": "Sums", "ru": "Sums"}), ("{ru: Суммы}", {"ru": "Суммы"}), ("{}", None), ("{en: ''}", None)],
)
def test_a_text_is_in_one_language_or_in_several(
    edit: Callable[[str, str], Path], title: str, texts: dict[str, str] | None
) -> None:
    folder = edit("seed: 1", "seed: 2")
    lines = (folder / "lab.yaml").read_text("utf-8").split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("title:"))
    end = next(i for i in range(at + 1, len(lines)) if not lines[i].startswith(" "))
    (folder / "lab.yaml").write_text("\n".join([*lines[:at], f"title: {title}", *lines[end:]]), "utf-8")
    if texts is not None:
        assert load(folder).title == texts
    else:
        with pytest.raises(FileError, match=rf"lab\.yaml:{at + 1}: title: {{en: …, ru: …}}"):
            load(folder)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "must be keys with values"),
        (b"- 1\n- 2\n", "must be keys with values"),
        (b"title: \xff\n", "not UTF-8"),
        (b"a: 1\n---\nb: 2\n", "document"),
        (b"? [1, 2]\n: x\n", "keys must be plain text"),
        (b"a: " + b"[" * 500, "nested more than 20 levels"),
        (b"# " + b"x" * 300_000, "bytes"),
    ],
)
def test_what_is_no_lab_file(tmp_path: Path, raw: bytes, words: str) -> None:
    (tmp_path / "lab.yaml").write_bytes(raw)
    with pytest.raises(FileError, match=words):
        load(tmp_path)


def test_unknown_lab_names_near_misses() -> None:
    with pytest.raises(UsageError, match="unknown lab 'trnspose'; did you mean `transpose`"):
        labs.find("trnspose")


def test_a_folder_of_labs_adds_and_overrides(edit: Callable[[str, str], Path]) -> None:
    folder = edit("seed: 1", "seed: 77")
    assert labs.find("transpose", [folder.parent]).seed == 77
    shutil.copytree(folder, folder.parent / "another")
    assert {"another", "transpose"} <= set(labs.folders([folder.parent]))
    with pytest.raises(UsageError, match="no such folder"):
        labs.folders([folder / "nowhere"])


def test_blocks_tiles_and_shared_memory_may_be_formulas_of_the_sizes() -> None:
    lab = labs.find("matmul")
    row = next(v for v in lab.variants if v.name == "row")
    rule = lab.launch_of(row)
    assert (rule.covers, rule.tile, rule.shared_bytes) == (("n",), (1,), "4 * n")
    assert rule.block_at({"n": 48}) == (48, 1, 1)
    assert lab.launch_of(lab.variants[0]) is lab.launch
    assert lab.tolerance.at({"n": 100}, "float32").absolute == pytest.approx(64 * 100 * 101 * 2**-24, rel=1e-4)
    small, large = lab.best
    assert small.fits({"n": 512}) and not small.fits({"n": 500}), "whole tiles only"
    assert large.fits({"n": 4096}) and not small.fits({"n": 4096}), "larger tiles pay at large sizes only"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "launch: {block: [32, 32],",
            "launch: {block: ['rows +', 32],",
            ["launch.block[0]: 'rows +' is not a formula"],
        ),
        ("launch: {block: [32, 32],", "launch: {block: ['row', 32],", ["unknown name 'row' in the formula", "`rows`"]),
        ("launch: {block: [32, 32],", "launch: {tile: [1], block: [32, 32],", ["launch.tile: a tile has a number for"]),
        (
            "launch: {block: [32, 32],",
            "launch: {shared_bytes: 4 * side, block: [32, 32],",
            ["launch.shared_bytes: unkn"],
        ),
        ("{absolute: 0, relative: 0}", "{absolute: gamma(k)}", ["tolerance.absolute: unknown name 'k'"]),
        ("{absolute: 0, relative: 0}", "{absolute: -1}", ["tolerance.absolute: a tolerance must not be negative"]),
        ("in: {kind: input,", "in: {usual: 3, kind: input,", ["parameters.in.usual: only a size has this key"]),
        ("multiples: {rows: 64, cols: 64}", "multiples: {row: 64}", ["best[0].multiples", "unknown name 'row'"]),
        ("multiples: {rows: 64, cols: 64}", "at_most: {col: 64}", ["best[0].at_most", "unknown name 'col'"]),
        ("multiples: {rows: 64, cols: 64}", "multiples: {rows: 0}", ["a multiple is at least 1 (got 0)"]),
        ("kernel: transpose_best", "kernel: transpose_worst", ["best[0].kernel: best.cu has no kernel"]),
    ],
)
def test_faults_of_formulas_and_best_kernels_are_named(
    edit: Callable[[str, str], Path], old: str, new: str, words: list[str]
) -> None:
    folder = edit(old, new)
    with pytest.raises(FileError) as caught:
        load(folder)
    text = str(caught.value)
    for word in words:
        assert word in text
    assert f"lab.yaml:{line_of(folder, new.split(chr(10))[0])}" in text


def test_faults_are_told_in_the_language_in_use(edit: Callable[[str, str], Path]) -> None:
    from grader import i18n

    folder = edit("races: 7", "race: 7")
    i18n.use("ru")
    with pytest.raises(FileError, match=r"race: неизвестная проверка; возможно, имелось в виду `races`\?"):
        load(folder)
    with pytest.raises(UsageError, match="нет работы 'nosuch'"):
        labs.find("nosuch")
