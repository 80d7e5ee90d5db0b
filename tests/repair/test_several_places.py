"""Changes of several places that are one idea, and sizes of shared arrays."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.several_places import array_changes, idea_changes, macro_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText
from tests.repair.kernels import changes


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The fastest axis of several is padded; any other is given room.
        (
            "__shared__ float t[8][32];",
            {
                "t[8][32 + 1]": ("padding", 2.2),
                "t[8][8]": ("padding", 2.6),
                "t[8][32 + 2]": ("padding", 3.6),
                "t[8][32 + 4]": ("padding", 3.8),
                "t[8 + 1][32]": ("array_size", 2.2),
                "t[32][32]": ("array_size", 2.6),
                "t[8 + 2][32]": ("array_size", 3.6),
                "t[8 + 4][32]": ("array_size", 3.8),
            },
        ),
        # What is padded may be padded too much.
        (
            "__shared__ float t[4][B + 1];",
            {
                "t[4][B + 1 + 1]": ("padding", 2.2),
                "t[4][B]": ("padding", 2.6),
                "t[4][4]": ("padding", 2.6),
                "t[4 + 1][B + 1]": ("array_size", 2.2),
                "t[B + 1][B + 1]": ("array_size", 2.6),
                "t[4 + 2][B + 1]": ("array_size", 3.6),
                "t[4 + 4][B + 1]": ("array_size", 3.8),
            },
        ),
        # One axis has no rows to pad; arrays of one declaration may be as large as each other.
        (
            "__shared__ float t[B], u[C];",
            {
                "t[B + 1], u[C]": ("array_size", 2.2),
                "t[C], u[C]": ("array_size", 2.6),
                "t[B], u[C + 1]": ("array_size", 2.2),
                "t[B], u[B]": ("array_size", 2.6),
            },
        ),
        # What is padded along the wrong axis is padded along the other one first.
        (
            "__shared__ float t[B + 1][B];",
            {
                "t[B][B + 1]": ("padding", 1.8),
                "t[B + 1][B + 1]": ("padding", 2.2),
                "t[B + 1 + 1][B]": ("array_size", 2.2),
                "t[B][B]": ("array_size", 2.6),
            },
        ),
        ("float t[8][32];", {}),
        ("extern __shared__ float t[];", {}),
        ("__shared__ float t;", {}),
    ],
)
def test_sizes(body: str, expected: dict[str, tuple[str, float]]) -> None:
    found = changes(array_changes, body)
    declared = body.removeprefix("__shared__ float ").removesuffix(";")
    assert {after: (c.kind, c.cost) for after, c in found.items()} == {
        body.replace(declared, sizes): expected for sizes, expected in expected.items()
    }
    assert {(c.group, c.line) for c in found.values()} <= {("array", 2)}


def test_a_margin_is_a_constant_of_the_file() -> None:
    text = "t[T][T + R]"
    found = changes(array_changes, f"__shared__ float {text};\nt[0][0] = T + R;", before="#define T 16\n#define R 2\n")
    sizes = {after.split(";")[0].removeprefix("__shared__ float "): c.cost for after, c in found.items()}
    assert sizes == {
        "t[T][T + R + 1]": 2.2,
        "t[T][T]": 2.6,
        "t[T][T + 2 * R]": 2.0,
        "t[T][2 * T + R]": 2.5,
        "t[T + 1][T + R]": 2.2,
        # On both sides, as a halo is; the size's own name adds nothing new.
        "t[T + 2 * R][T + R]": 2.4,
        "t[T + R][T + R]": 3.2,
    }


def test_a_margin_may_be_named_by_a_letter_of_the_size() -> None:
    found = changes(array_changes, "__shared__ float t[TILE];\nt[0] = L;", before="#define TILE 16\n#define L 2\n")
    assert found["__shared__ float t[TILE + 2 * L];\nt[0] = L;"].cost == 2.4


AXES = "int x = blockIdx.x * 16 + threadIdx.x;\nint y = blockIdx.y * 16 + threadIdx.y;"


def test_the_axes_of_two_indices_are_exchanged_of_blocks_or_of_threads_too() -> None:
    found = changes(idea_changes, AXES)
    blocks = found["int x = blockIdx.y * 16 + threadIdx.x;\nint y = blockIdx.x * 16 + threadIdx.y;"]
    both = found["int x = blockIdx.y * 16 + threadIdx.y;\nint y = blockIdx.x * 16 + threadIdx.x;"]
    assert (blocks.cost, blocks.detail, blocks.line) == (1.6, "axes_next", 2)
    assert (both.cost, both.detail, both.line) == (1.7, "axes_next", 2)
    (one_line,) = {c.detail for c in changes(idea_changes, AXES.replace("\n", " ")).values()}
    assert one_line == "axes"


@pytest.mark.parametrize(
    "body",
    [
        AXES.replace("\n", "\n\n"),  # Not one after the other.
        AXES.replace(".y", ".x"),  # Of one axis both.
        AXES.replace("threadIdx.y", "threadIdx.x"),  # Of two axes one of them.
        AXES.replace(".y", ".z"),
    ],
)
def test_other_indices_have_no_axes_to_exchange(body: str) -> None:
    assert not {c.group for c in changes(idea_changes, body).values()} & {"axis"}


def test_a_row_is_as_long_as_in_another_line() -> None:
    body = "out[threadIdx.y * n + threadIdx.x] = a[0];\nout[threadIdx.y * 7 + threadIdx.x] = a[threadIdx.x * 5];"
    found = changes(idea_changes, body)
    assert body.replace("* 7", "* n") in found and body.replace("* n", "* 7") in found
    assert found[body.replace("* 7", "* n")].line == 3
    # Another array has rows of its own.
    assert len(found) == 2


def test_a_sum_that_nobody_adds_up_is_added_to_what_is_stored() -> None:
    body = "float s = 0, t = 0;\ns += a[0];\nt += a[1];\nout[0] = s;"
    found = changes(idea_changes, body)
    change = found[body.replace("= s;", "= s + t;")]
    assert (change.kind, change.detail, change.line) == ("expression", "lost", 5)
    assert not changes(idea_changes, body + "\nout[1] = t;")
    assert not changes(idea_changes, "float s = 0, v = a[0];\ns += a[1];\nout[0] = v;")


@pytest.mark.parametrize("name", ["blockIdx.x", "threadIdx.x"])
def test_an_index_of_the_whole_grid_is_tried_for_that_of_a_part(name: str) -> None:
    found = changes(idea_changes, f"int i = {name};\nout[i] = 1;")
    (change,) = found.values()
    assert "int i = blockIdx.x * blockDim.x + threadIdx.x;\nout[i] = 1;" in found
    # A kernel that asks for the number of no block does the same in each.
    assert (change.kind, change.cost) == ("index", 2.4 if name == "blockIdx.x" else -0.6)
    assert not changes(idea_changes, "int i = threadIdx.y, b = blockIdx.y;\nout[i] = b;")


TILES = "int bx = blockIdx.x, ty = threadIdx.y;\nint row = {} * 16 + ty;\nint col = {} * 16 + threadIdx.x;"


def test_one_size_for_another_in_two_lines() -> None:
    body = "const int rows = 8, cols = 9;\nconst int r = threadIdx.x / rows;\nint c = threadIdx.x % rows;\nout[r] = c;"
    change = changes(idea_changes, body)[body.replace("/ rows", "/ cols").replace("% rows", "% cols")]
    assert (change.kind, change.group, change.detail, change.line) == ("index", "size", "names_next", 3)
    one_line = body.replace(";\nint c", "; int c")
    change = changes(idea_changes, one_line)[one_line.replace("/ rows", "/ cols").replace("% rows", "% cols")]
    assert (change.detail, change.line) == ("", 3)
    # What comes from the caller is no other name for what the function sets, nor is what the two lines make themselves.
    sizes = {text for text, c in changes(idea_changes, body).items() if c.detail == "names_next"}
    assert sizes == {body.replace("/ rows", "/ cols").replace("% rows", "% cols")}
    # Not one after the other; a size that only one of them uses.
    for other in (body.replace(";\nint c", ";\n\nint c"), body.replace("% rows", "% 7")):
        assert "names_next" not in {change.detail for change in changes(idea_changes, other).values()}


@pytest.mark.parametrize(
    ("block", "moved", "after"),
    [("bx", "t", ("t", "blockIdx.y")), ("t", "blockIdx.y", ("bx", "t")), ("blockIdx.x", "t", ("t", "blockIdx.y"))],
)
def test_a_tile_moves_along_the_other_axis(block: str, moved: str, after: tuple[str, str]) -> None:
    wrong = "for (int t = 0; t < n; t++) {\n" + TILES.format(block, moved) + "\nout[row] = a[col];\n}"
    right = "for (int t = 0; t < n; t++) {\n" + TILES.format(*after) + "\nout[row] = a[col];\n}"
    found = changes(idea_changes, wrong)
    assert right in found, list(found)
    assert (found[right].kind, found[right].detail, found[right].line) == ("index", "tile", 4)


def test_the_tile_of_an_index_moves_along_the_other_axis() -> None:
    body = "int by = blockIdx.y, bx = blockIdx.x, t = n;\nout[0] = a[(by * 8 + threadIdx.y) * n + t * 8 + threadIdx.x];"
    after = body.replace("by * 8", "t * 8").replace("n + t * 8", "n + bx * 8")
    change = changes(idea_changes, body)[after]
    assert (change.detail, change.line) == ("tile", 3)
    # Two sides, or no block's index: no tile that could turn.
    for other in (body.replace("t * 8", "t * 4"), body.replace("(by", "(t")):
        assert "tile" not in {change.detail for change in changes(idea_changes, other).values()}


MACROS = """struct M { float *data; int rows, cols; };
#define AT(m, r, c) (m).data[(r) * (m).rows + (c)]
#define SH(e) sh[(e) * n + threadIdx.x]
#define TILE 16
#define ROW (blockIdx.x * TILE + threadIdx.y)
"""


def test_other_names_are_tried_in_macros() -> None:
    """Of a member of the same type, an axis, a size; one that is a mere number is a constant."""
    parsed = parse(SourceText(Path("x.cu"), MACROS, "utf-8"))
    made = list(macro_changes(parsed, {"AT", "SH", "TILE", "ROW"}, ["n", "TILE"]))
    texts = {c.edits[0].text: (c.line, c.detail) for c in made if c.detail == "macro_name"}
    guard = parse(SourceText(Path("x.cu"), "#define IN(i, n) ((i) <= (n) - 1)", "utf-8"))
    costs = {c.edits[0].text: c.cost for c in macro_changes(guard, {"IN"}, [])}
    assert costs["((i) < (n) - 1)"] < costs["((i) <= (n) + 1)"]
    assert texts["(m).data[(r) * (m).cols + (c)]"] == (2, "macro_name")
    assert texts["sh[(e) * blockDim.x + threadIdx.x]"] == (3, "macro_name")
    assert texts["(blockIdx.y * TILE + threadIdx.y)"] == (5, "macro_name")
    assert not any(line == 4 or "m.data" in text for text, (line, _detail) in texts.items())


def test_two_indices_of_a_statement_may_stand_in_each_other_s_place() -> None:
    body = "int i = threadIdx.x, k = threadIdx.y;\nif (i < n)\nout[i * n + k] = a[k * n + i];"
    found = {after: c for after, c in changes(idea_changes, body).items() if c.detail == "exchanged"}
    whole = "if (k < n)\nout[k * n + i] = a[i * n + k];"
    assert {after.partition(";\n")[2]: c.line for after, c in found.items()} == {
        whole: 3,
        whole.replace("if (k", "if (i"): 4,
    }
