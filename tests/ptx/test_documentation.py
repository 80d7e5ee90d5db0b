"""The examples in the emulator's documentation do what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_on_the_emulator() -> None:
    results = doctest.testfile(str(ROOT / "docs" / "emulator.md"), module_relative=False, encoding="utf-8")
    assert results.attempted > 8 and results.failed == 0


@pytest.mark.parametrize("name", ["grader.ptx", "grader.ptx.memory", "grader.ptx.observers.provenance"])
def test_examples_in_docstrings(name: str) -> None:
    results = doctest.testmod(import_module(name))
    assert results.attempted > 2 and results.failed == 0
