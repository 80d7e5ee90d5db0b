"""Bytes to text: every encoding that students' files come in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import UsageError
from grader.submission.source import MAX_BYTES, decode, decode_bytes
from tests.submission.labs import SOURCES

HERE = Path("main.cu")


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"int x;\n", "int x;\n", "utf-8"),
        ("// я\n".encode(), "// я\n", "utf-8"),
        (b"\xef\xbb\xbf" + "// я\n".encode(), "// я\n", "utf-8-sig"),
        ("// моя память\n".encode("cp1251"), "// моя память\n", "cp1251"),
        # The word is valid UTF-8 by itself ("Å¸"), the file is not.
        ("// Её, моя\n".encode("cp1251"), "// Её, моя\n", "cp1251"),
        ("// память".encode() + b"\n// " + "моя".encode("cp1251"), "// память\n// моя", "mixed"),
        (b"\xef\xbb\xbf// \xff", "// я", "cp1251"),
        (b"a\r\nb\rc\nd", "a\nb\nc\nd", "utf-8"),
        # 0x98 is no character of CP1251.
        (b"// \x98 \xff", "// \ufffd я", "cp1251"),
    ],
)
def test_decodes(data: bytes, text: str, encoding: str) -> None:
    source = decode_bytes(HERE, data)
    assert (source.text, source.encoding, source.remarks) == (text, encoding, ())


def test_the_letter_that_ends_files_for_the_compiler_is_encoded_away() -> None:
    source = decode(SOURCES / "lecture_cp1251.cu")
    assert source.encoding == "cp1251"
    assert "Моя версия, последняя." in source.text
    assert b"\xff" not in source.text.encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"int a;\n\x00int b;", "NUL byte in line 2"),
        ("int a;".encode("utf-16"), "UTF-16"),
        ("int a;".encode("utf-16-le"), "NUL byte in line 1"),
        ("int a;".encode("utf-32"), "UTF-16 or UTF-32"),
        (b"x" * (MAX_BYTES + 1), f"{MAX_BYTES + 1} bytes; at most {MAX_BYTES}"),
    ],
)
def test_refuses_what_is_no_program(data: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        decode_bytes(HERE, data)
    assert str(error.value).startswith("main.cu: ")
    assert "\n" not in str(error.value)


def test_the_largest_file_allowed_is_read() -> None:
    line = b"int a;\n"
    text = (line * (MAX_BYTES // len(line) + 1))[:MAX_BYTES]
    assert len(decode_bytes(HERE, text).text) == MAX_BYTES


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "main.cu")
    with pytest.raises(UsageError, match="not a plain file"):
        decode(tmp_path / "main.cu")


def test_a_missing_file_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        decode(tmp_path / "main.cu")


def test_bidirectional_controls_are_remarked_with_their_line() -> None:
    source = decode_bytes(HERE, "int a;\n// \u202e x\nint b; // \u2066\n".encode())
    assert source.remarks == (("bidi_control", 2), ("bidi_control", 3))


@pytest.mark.parametrize("head", ["", "\n  ", "// lab 1\n"])
def test_a_notebook_s_command_that_begins_a_file_is_a_comment(head: str) -> None:
    text = f"{head}%%writefile tiles.cu\n__global__ void k() {{ int a = 5 %%b; }}\n"
    source = decode_bytes(HERE, text.encode())
    assert source.text == text.replace("%%w", "// %%w")
    assert (source.written, source.remarks) == (text, (("cell_magic", head.count("\n") + 1),))


@pytest.mark.parametrize("text", ["int a;\n%%cuda\n", "int a = 7 \n%%b;\n", "%% x\n"])
def test_a_notebook_s_command_elsewhere_stays(text: str) -> None:
    source = decode_bytes(HERE, text.encode())
    assert (source.text, source.written, source.remarks) == (text, None, ())


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_a_usage_error(data: bytes) -> None:
    try:
        source = decode_bytes(HERE, data)
    except UsageError:
        return
    assert not set(source.text) & {"\r", "\x00"}
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
    assert source.text.count("\n") == lines


@given(st.text(alphabet="абвгдеёжзийклмнопрстуфхцчшщъыьэюяАБЯЁ №«»—/*;{}\n", min_size=1).filter(str.strip))
def test_russian_text_survives_both_encodings(text: str) -> None:
    # A CP1251 text that happens to be UTF-8 as a whole cannot be told; a Russian sentence of letters is not.
    marked = text + " моя"
    assert decode_bytes(HERE, marked.encode()).text == marked
    assert decode_bytes(HERE, marked.encode("cp1251")).text == marked
