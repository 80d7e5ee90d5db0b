"""What a run reads in the program's text to tell of silent faults, on texts that are made to be slow to search."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from grader.message import Message
from grader.programs.device_memory import Allocation
from grader.programs.moved import SourceLines
from grader.programs.runtime.memory import name_at
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.silent import POINTER_BYTES, VECTOR_BYTES, check_host_room, check_size, tell_unread
from grader.programs.runtime.state import State
from grader.programs.sandbox.guest import Heap
from tests.pace import at_most

LIMIT_S = 10.0
"""Of processor time: each of these takes minutes where a search begins again at each of its words."""
COPY = "cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);"
LONG = ["vector<> " * 20_000, "a * " * 40_000, "h = " * 40_000, "float * " * 40_000 + "h;", " " * 150_000]


class Told:
    """As much of a run's state as the checks ask for."""

    def __init__(self, text: str) -> None:
        self.sources = SourceLines({"main.cu": text})
        self.kinds: list[str] = []
        self.flow: list[object] = []
        self.objects_made, self.hollow = 0, False
        self.arrays: list[object] = []
        self.failures: list[object] = []
        self.findings: list[object] = []
        self.copies: list[object] = []
        self.guest = SimpleNamespace(block_bytes={64: 4096}.get, heap=Heap(None))

    def tell(self, kind: str, _level: str, _message: Message, _place: Place) -> None:
        self.kinds.append(kind)


def told(text: str) -> list[str]:
    state = Told(f"{COPY}\n{text}")
    of = SimpleNamespace(name="d", size=4096, kind="device")
    for size in (POINTER_BYTES, VECTOR_BYTES):
        check_size(cast("State", state), cast("Allocation", of), size, Place(1, "main.cu"))
    check_host_room(cast("State", state), 64, 4096, Place(1, "main.cu"), into=False)
    tell_unread(cast("State", state), 0)
    return state.kinds


def room(copy: str, text: str, address: int = 64, size: int = 4096) -> list[str]:
    """What is told of a copy of so many bytes from that address, where malloc() gave 4096 bytes at 64."""
    state = Told(f"{copy}\n{text}")
    check_host_room(cast("State", state), address, size, Place(1, "main.cu"), into=False)
    return state.kinds


@pytest.mark.parametrize(
    ("array", "text", "address", "kinds"),
    [
        ("h", "float *h = (float *)malloc(n * 4);", 64, ["copy_size"]),
        ("h", "float *h; h = static_cast<float *>(std::malloc(n));", 64, ["copy_size"]),
        ("h", "auto h = new float[n];", 64, ["copy_size"]),
        ("h + 1", "float *h = (float *)malloc(n * 4);", 68, ["copy_size"]),
        ("&h[2]", "double *h = new double[n];", 80, ["copy_size"]),
        ("h.data()", "std::vector<float> a(n), h(n);", 64, ["copy_size"]),
        # Where it begins is not known.
        ("h + first", "float *h = new float[n];", 64, []),
        ("h", "float *h = table + 16;", 64, []),
        ("h", "float *h = new float[n]; h += 16;", 64, []),
        ("h", "void fill(float *h, int n); float *h = new float[n];", 64, []),
        # A kernel's parameter is another variable.
        ("h", "__global__ void k(const float *h, int n) { } float *h = new float[n];", 64, ["copy_size"]),
        ("h", "float h[1024];", 64, []),
        # No block of malloc's.
        ("h", "float *h = new float[n];", 128, []),
    ],
)
def test_a_copy_that_goes_on_behind_the_host_s_array_is_told(
    array: str, text: str, address: int, kinds: list[str]
) -> None:
    assert room(f"cudaMemcpy(d, {array}, bytes, cudaMemcpyHostToDevice);", text, address, 4100) == kinds
    assert room(f"cudaMemcpy(d, {array}, bytes, cudaMemcpyHostToDevice);", text, address, 4096 - (address - 64)) == []


@pytest.mark.parametrize("text", [*LONG, "__device__ x " * 20_000, "__global__ void k() {" * 20_000])
def test_a_text_of_the_same_words_over_and_over_is_searched_in_time(text: str) -> None:
    with at_most(LIMIT_S):
        told(text)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [("float *h = (float *)malloc(4096);", ["copy_size"]), ("float h[1024];", []), ("std::vector<float> h(1024);", [])],
)
def test_the_size_of_a_pointer_is_told_and_that_of_an_array_is_not(text: str, kinds: list[str]) -> None:
    assert told(text) == kinds


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("cudaMalloc(&one, n); cudaMalloc(&other, n);", ["one", "other", "one", "other"]),
        ("for (auto &p : all) cudaMalloc(&p, n);", ["p", "p"]),
        ("cudaMalloc(made, n);", ["*made", "*made"]),
    ],
)
def test_a_line_that_is_come_to_again_allocates_the_same_arrays(line: str, names: list[str]) -> None:
    state = cast("State", SimpleNamespace(sources=SourceLines({"main.cu": line}), texts={}))
    assert [name_at(state, Place(1, "main.cu")) for _name in names] == names
