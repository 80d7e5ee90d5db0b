"""C++ as characters: comments and `main`, told from a text before it is parsed."""

from __future__ import annotations

import pytest

from grader.submission.lexical import line_of_main, without_comments


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a; // b\nc;", "a;     \nc;"),
        ("a /* b\n*/ c", "a     \n   c"),
        ('puts("// no comment"); // one', 'puts("// no comment");       '),
        ("char c = '\"'; // one", "char c = '\"';       "),
        ('R"(/* a */)" /* b */', 'R"(/* a */)"        '),
        ("a // joined \\\nstill\nb", "a            \n     \nb"),
        ("a /* never closed\nb", "a                \n "),
    ],
)
def test_comments_become_blanks_and_nothing_moves(text: str, plain: str) -> None:
    assert without_comments(text) == plain


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\nint main() {}", 2),
        ("int main(int argc, char *argv[]) try {", 1),
        ("\n\nint _tmain(int argc, _TCHAR *argv[])\n{", 3),
        ("int main(int, char **);", 0),
        ("domain() {}", 0),
    ],
)
def test_a_text_begins_main_where_it_has_a_body(text: str, line: int) -> None:
    assert line_of_main(text) == line
