"""Any text is data with lines, or refused with its line; numbers are read as people write them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from grader.errors import FileError
from grader.yaml_file import read


@given(st.text(max_size=200))
def test_any_text_is_data_or_an_error(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")
        path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
        try:
            file = read(path)
        except FileError as error:
            assert "x.yaml" in str(error)
        else:
            assert file.data is None or file.lines[()] >= 1


def test_numbers_with_leading_zero_are_decimal(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: 010\nb: 0x10\nc: no\n")
    assert read(tmp_path / "x.yaml").data == {"a": 10, "b": 16, "c": False}
