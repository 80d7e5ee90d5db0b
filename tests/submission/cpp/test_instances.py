"""What a template's arguments leave of a function."""

from __future__ import annotations

import pytest

from grader.submission.cpp.scopes import instantiated
from tests.submission.labs import parsed

ENUM = "enum class Mode { plain, tiled = 4, padded };\n"


@pytest.mark.parametrize(
    ("parameter", "argument", "body", "left"),
    [
        ("int P", "1", "if constexpr (P) a(); else b();", "if constexpr (P) a(); else ;   "),
        ("int P", "0", "if constexpr (P) a(); else b();", "if constexpr (P) ;    else b();"),
        ("bool P", "true", "if (!P) { a(); }", "if (!P) {      }"),
        ("bool P", "(bool)0", "if (P) { a();\n b(); } c();", "if (P) {     \n      } c();"),
        (
            "int P",
            "16",
            "if constexpr (P * 2 == TWICE) a(); else if (P > 3) b();",
            "if constexpr (P * 2 == TWICE) a(); else ;              ",
        ),
        # Of an enumeration, as it is written and as it is seen.
        (
            "Mode P",
            "Mode::padded",
            "if constexpr (P == Mode::padded) a(); else b();",
            "if constexpr (P == Mode::padded) a(); else ;   ",
        ),
        (
            "Mode P",
            "(Mode)4",
            "if constexpr (P == Mode::tiled) a(); else b();",
            "if constexpr (P == Mode::tiled) a(); else ;   ",
        ),
        # What does not follow from the arguments alone stays, and so does all of a template of types.
        ("int P", "1", "if (P < n) a(); else b();", None),
        ("int P", "1", "if (n) a(); else b();", None),
        ("class P", "float", "if constexpr (sizeof(P) == 4) a(); else b();", None),
        ("int P", "1", "if (P) ;", None),
    ],
)
def test_the_branch_that_is_never_taken_is_blanked(parameter: str, argument: str, body: str, left: str | None) -> None:
    before = f"#define TWICE 32\n{ENUM}template <{parameter}> __global__ void work(int n) {{ "
    file = parsed(f"{before}{body} }}\n")
    made = instantiated(file, file.functions["work"], {"P": argument}, lambda _name: None)
    assert made.source.text == f"{before}{left or body} }}\n"
    assert (made is file) is (left is None)
