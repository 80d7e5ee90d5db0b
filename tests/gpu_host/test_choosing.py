"""Several GPUs of one machine: those of one model are used, each process sees one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grader.gpu import process
from grader.gpu.process import VARIABLE, ListedGpu, has_driver, of_one_model, on, several_gpus, start_listing, told_by

pytestmark = pytest.mark.started


def gpu(uuid: str, model: str = "H200", is_split: bool = False) -> ListedGpu:
    return ListedGpu(model, "143771 MiB", "580.1", f"GPU-{uuid}", is_split)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who was asked: the driver says that there are two, "x" and "y"."""
    times: list[str] = []

    def listing() -> subprocess.Popen[bytes]:
        times.append("driver")
        said = '[["H200", "x"], ["H200", "y"]]'
        return subprocess.Popen([sys.executable, "-c", f"print({said!r})"], stdout=subprocess.PIPE)

    monkeypatch.setattr(process, "start_listing", listing)
    return times


@pytest.mark.parametrize(
    ("listed", "visible", "used"),
    [
        ([], None, []),
        ([gpu("a")], None, []),
        ([gpu("a"), gpu("b")], None, ["GPU-a", "GPU-b"]),
        ([gpu("a"), gpu("b")], "0", []),
        ([gpu("a"), gpu("b")], "", []),
        ([gpu("a"), gpu("b")], "1, 0", ["GPU-a", "GPU-b"]),
        ([gpu("a"), gpu("b"), gpu("c")], "GPU-c,GPU-a", ["GPU-c", "GPU-a"]),
        ([gpu("a"), gpu("b"), gpu("c")], "GPU-c,GPU-c", []),
        # Part of a name, or none that is known, of one GPU: it is one, whichever.
        ([gpu("a1"), gpu("b")], "GPU-a", []),
        ([gpu("a", is_split=True)], "MIG-a", []),
    ],
)
def test_what_is_listed_is_used_without_asking_the_driver(
    listed: list[ListedGpu], visible: str | None, used: list[str], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(VARIABLE, visible)
    assert several_gpus(listed) == used
    assert not asked


@pytest.mark.parametrize(
    ("listed", "visible"),
    [
        (None, None),
        # Which of two models is the first, and what two of three numbers mean, is the driver's to say.
        ([gpu("a"), gpu("b", "A2")], None),
        ([gpu("a"), gpu("b"), gpu("c")], "0,2"),
        ([gpu("a"), gpu("b"), gpu("c")], "0,GPU-c"),
        ([gpu("a", is_split=True), gpu("b")], None),
    ],
)
def test_the_driver_is_asked_where_only_it_can_tell(
    listed: list[ListedGpu] | None, visible: str | None, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(VARIABLE, visible)
    assert several_gpus(listed) == ["GPU-x", "GPU-y"]
    assert asked == ["driver"]


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
    assert told_by(start_listing()) == []


@pytest.mark.parametrize(
    ("said", "used"), [('[["H200", "a"], ["H200", "b"]]', ["GPU-a", "GPU-b"]), ("[]", []), ("no JSON", [])]
)
def test_what_the_driver_lists_is_read(said: str, used: list[str]) -> None:
    listing = subprocess.Popen([sys.executable, "-c", f"print({said!r})"], stdout=subprocess.PIPE)
    assert told_by(listing) == used


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
