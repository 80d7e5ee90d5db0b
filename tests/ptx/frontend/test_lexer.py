"""PTX as tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.frontend.nodes import STATEMENT, Cursor, strip_comments, unquote
from grader.ptx.limits import PtxSyntaxError


def test_comments_become_blanks_of_the_same_length_and_keep_lines() -> None:
    text = 'a // b\n/* c\nd */ e "// no /* comment" /**/f\0\0'
    stripped = strip_comments(text)
    assert stripped == 'a     \n    \n     e "// no /* comment"     f'


@settings(deadline=None)
@given(st.lists(st.sampled_from(["mov ", "// x;\n", "/* y\n; */", '"a//b"', "\n", "%r1", "/", "*"])))
def test_stripping_never_moves_what_stays(parts: list[str]) -> None:
    text = "".join(parts)
    stripped = strip_comments(text)
    assert len(stripped) == len(text)
    assert all(after in (before, " ") for before, after in zip(text, stripped, strict=True))
    assert stripped.count("\n") == text.count("\n")
    assert strip_comments(stripped) == stripped


def test_strings_with_escapes() -> None:
    text = r'"a\"//b\\" // c'
    assert strip_comments(text) == r'"a\"//b\\"     '
    assert Cursor(text).take() == r'"a\"//b\\"'
    assert unquote(r'"a\"//b\\"') == 'a"//b\\'
    assert unquote(r'"/\320\273\320\260\320\261 1.cu"') == "/лаб 1.cu"
    assert unquote(r'"\8\0117\n"') == "8\t7n"


def test_cursor_reads_tokens_and_counts_lines() -> None:
    cursor = Cursor('.reg .b32 %r<122>;\n x = 0f3F800000, "a b" -5')
    tokens = []
    while not cursor.at_end():
        tokens.append(cursor.take())
    expected = [".reg", ".b32", "%r", "<", "122", ">", ";", "x", "=", "0f3F800000", ",", '"a b"', "-", "5"]
    assert tokens == expected
    assert cursor.line(0) == 1
    assert cursor.line(len(cursor.text)) == 2
    assert cursor.line(3) == 1


def test_cursor_says_what_it_wanted_and_where() -> None:
    cursor = Cursor("first\n\t\tsecond third")
    cursor.expect("first")
    with pytest.raises(PtxSyntaxError) as caught:
        cursor.expect("=")
    assert (caught.value.ptx_line, caught.value.column) == (2, 3)
    assert str(caught.value) == "PTX line 2: expected `=`, got `second`\n    second third\n    ^"
    with pytest.raises(PtxSyntaxError, match="expected a size, got `second`"):
        cursor.integer("a size")
    assert cursor.identifier("a name") == "second"
    assert not cursor.accept("second")
    assert cursor.accept("third")
    with pytest.raises(PtxSyntaxError, match="expected `;`, got `end of text`"):
        cursor.expect(";")
    with pytest.raises(PtxSyntaxError, match="ends in the middle"):
        cursor.take()


def test_cursor_refuses_characters_that_start_no_token() -> None:
    with pytest.raises(PtxSyntaxError, match="unexpected character '№'"):
        Cursor("  №").peek()


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("$L__BB0_1: x", {"label": "$L__BB0_1"}),
        ("ret;", {"opcode": "ret", "operands": ""}),
        ("@!%p1 bra $L;", {"guard": "%p1", "negated": "!", "opcode": "bra", "operands": " $L"}),
        ("@ %p1\n bra $L;", {"guard": "%p1", "negated": ""}),
        ("cp.async.bulk.shared::cluster.x [a], b;", {"opcode": "cp.async.bulk.shared::cluster.x"}),
    ],
)
def test_statements(text: str, groups: dict[str, str]) -> None:
    match = STATEMENT.match(text)
    assert match is not None
    assert {name: match[name] for name in groups} == groups
