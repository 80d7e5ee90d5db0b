"""The list of the library's functions that programs come to is complete for what every grading runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.programs.sandbox import module

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import list_called_functions

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_sample_comes_to_no_function_that_is_not_listed() -> None:
    """One would have all of the library compiled, in 250 MB more, and the program run once more."""
    listed = set(module.called())
    sample = [ROOT / "submissions" / "ivanov" / "box-blur.cu"]
    assert list_called_functions.functions_of(sample, listed) == set()
    assert list_called_functions.functions_of(sample, listed - {"strcspn"}) == {"strcspn"}
