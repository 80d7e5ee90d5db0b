"""Several GPUs of one machine: those of one model are used, each process sees one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grader.gpu.host.choosing import VARIABLE, of_one_model, on, several_gpus, start_listing
from grader.gpu.host.process import has_driver


@pytest.mark.parametrize(
    ("found", "used"),
    [
        ([], []),
        ([("H200", "a")], []),
        ([("H200", "a"), ("H200", "b")], ["GPU-a", "GPU-b"]),
        ([("H200", "a"), ("A2", "c"), ("H200", "b")], ["GPU-a", "GPU-b"]),
        ([("A2", "c"), ("H200", "a"), ("H200", "b")], []),
        ([("H200 MIG 1g", "a"), ("H200 MIG 1g", "a")], []),
    ],
)
def test_those_of_the_first_model_are_used(found: list[tuple[str, str]], used: list[str]) -> None:
    assert of_one_model(found) == used


@pytest.mark.skipif(has_driver(), reason="a GPU may be here")
def test_where_nothing_can_be_asked_there_are_none() -> None:
    assert several_gpus(start_listing()) == []


@pytest.mark.parametrize(
    ("said", "used"),
    [
        ('[["H200", "a"], ["H200", "b"]]', ["GPU-a", "GPU-b"]),
        ("[]", []),
        ("no JSON", []),
    ],
)
def test_what_the_driver_lists_is_read(said: str, used: list[str]) -> None:
    listing = subprocess.Popen([sys.executable, "-c", f"print({said!r})"], stdout=subprocess.PIPE)
    assert several_gpus(listing) == used


def test_what_a_process_sees_is_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    with on(""):
        assert os.environ[VARIABLE] == "3"
    with on("GPU-a"):
        assert os.environ[VARIABLE] == "GPU-a"
    assert os.environ[VARIABLE] == "3"
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(KeyError), on("GPU-a"):
        raise KeyError
    assert VARIABLE not in os.environ
