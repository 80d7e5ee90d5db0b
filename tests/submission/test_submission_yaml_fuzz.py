"""`submission.yaml` of any content: settings, or one line with a place that says what is wrong."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import FileError, GraderError, UsageError
from grader.submission.folder import Settings, read_settings

pytestmark = pytest.mark.slow

WHOLE = """name: Анна
group: 4312
labs:
  flip:
    file: [a.cu, b.cu]
    variants:
      fast: {kernel: flip_fast, block: [32, 8], tile: [32, 32], shared_bytes: 4224, arguments: in, out, n}
      slow: flip_slow
"""
KEYS = st.sampled_from(
    [
        "name",
        "group",
        "labs",
        "flip",
        "file",
        "variants",
        "fast",
        "kernel",
        "block",
        "tile",
        "shared_bytes",
        "arguments",
    ]
)
ODD = [
    *("No", "~", "1e5", "0x1F", "12:30:00", "2026-11-22", ".inf", ".nan", "-0", "=", "<<", "{}", "[]", "1e999999999"),
    *("!!int x", "!!float x", "!!bool x", "!!timestamp x", "!!binary '%'", "!!python/name:os.system", "!x y"),
    *("&a b", "*a", "|", ">-", "? x", "'\\0'", '"\\ud800"', '"\\e[2J"'),
    *("9" * 5000, "1:" * 3000 + "1", "-" + "9" * 400),
]
SCALARS = st.one_of(
    st.sampled_from(ODD),
    st.integers(-(2**70), 2**70).map(str),
    st.text(alphabet=string.printable + "ёЖ\x85\u2028\u202e\x00\ufeff", max_size=30),
)
NODES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(st.tuples(st.one_of(SCALARS, KEYS), inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=12,
)


def read(folder: Path, raw: bytes) -> Settings | None:
    path = folder / "submission.yaml"
    path.write_bytes(raw)
    try:
        return read_settings(path, "flip", ("flip", "other"))
    except (FileError, UsageError) as error:
        assert isinstance(error, GraderError) and str(error).strip() and "\n" not in str(error).strip()
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings")


@given(raw=st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_any_bytes(folder: Path, raw: bytes) -> None:
    read(folder, raw)


@given(key=KEYS, node=NODES)
@settings(max_examples=500, deadline=None)
def test_any_value_under_a_known_key(folder: Path, key: str, node: str) -> None:
    nested = {"name": "{}: {}", "group": "{}: {}", "labs": "{}: {}", "flip": "labs: {{{}: {}}}"}
    deep = {"file": "labs: {{flip: {{{}: {}}}}}", "variants": "labs: {{flip: {{{}: {}}}}}"}
    rest = "labs: {{flip: {{variants: {{fast: {{{}: {}}}}}}}}}"
    text = (nested | deep).get(key, rest).format(key, node)
    read(folder, text.encode("utf-8", "surrogatepass"))


@given(data=st.data())
@settings(max_examples=500, deadline=None)
def test_damaged_settings(folder: Path, data: st.DataObject) -> None:
    text = WHOLE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.one_of(st.just(""), SCALARS)) + text[end:]
    read(folder, text.encode(data.draw(st.sampled_from(["utf-8", "cp1251", "utf-16"])), "replace"))


def test_the_whole_is_read(folder: Path) -> None:
    found = read(folder, WHOLE.encode())
    assert found is None or found.name == "Анна"
