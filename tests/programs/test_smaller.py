"""Which numbers of a program are made smaller, and to what."""

from __future__ import annotations

import pytest

from grader.programs.records import Start
from grader.programs.starts import applied, changes, made_ragged


@pytest.mark.parametrize(
    ("text", "cause", "name", "value", "after"),
    [
        ("#define N 4096", "programs.no_host_memory", "N", 512, "#define N 512"),
        ("#define N 512", "programs.too_long", "N", 128, "#define N 128"),
        ("const int n = 16 << 20;", "programs.too_long", "n", 16384, "const int n = 16 << 10;"),
        ("size_t count = 1u << 30;", "programs.no_host_memory", "count", 1 << 15, "size_t count = 1u << 15;"),
        ("int rows = 3000, cols = 1000;", "programs.too_long", "rows", 375, "int rows = 375, cols = 1000;"),
        # A square stays one.
        ("m = 4096;\nn = 4096;", "programs.no_host_memory", "m, n", 512, "m = 512;\nn = 512;"),
        (
            "const int M = 2048, K = 64, N = 2048;",
            "programs.too_long",
            "M, N",
            128,
            "const int M = 128, K = 64, N = 128;",
        ),
        # What a program works through is made smaller as one.
        (
            "const int sizes[3] = {100, 256, 4096}, n = 300;",
            "programs.too_long",
            "sizes",
            128,
            "const int sizes[3] = {100, 128, 128}, n = 300;",
        ),
        (
            "int rows[] = {1024, 64};\nint cols[] = {1024, 64};",
            "",
            "rows",
            512,
            "int rows[] = {512, 64};\nint cols[] = {1024, 64};",
        ),
        ("std::vector<int> sizes = {64, 2048};", "", "sizes", 512, "std::vector<int> sizes = {64, 512};"),
        ("for (const int n : {256, 500, 1024})", "programs.too_long", "n", 128, "for (const int n : {128, 125, 128})"),
        # A rectangle stays one.
        (
            "const int shapes[][2] = {{64, 64}, {4096, 4096}, {1024, 512}, {1000, 300}};",
            "programs.too_long",
            "shapes",
            128,
            "const int shapes[][2] = {{64, 64}, {128, 128}, {128, 64}, {125, 75}};",
        ),
        ("const Size all[] = {{2048, 64}};", "", "all", 512, "const Size all[] = {{512, 64}};"),
        # Products are numbers, too.
        ("int c[2] = {64, 16 * 1024 * 1024};", "programs.too_long", "c", 128, "int c[2] = {64, 128};"),
        ("const size_t n = 1024*1024;", "", "n", 512, "const size_t n = 512;"),
        ("#define N (1 << 4)\n#define M (64 * 1024)", "", "M", 512, "#define N (1 << 4)\n#define M (512)"),
        ("run(n, 1000000);", "programs.too_long", "run", 15625, "run(n, 15625);"),
        ("srand(4096); multiply(2000, 16);", "programs.too_long", "multiply", 125, "srand(4096); multiply(125, 16);"),
    ],
)
def test_the_largest_number_is_halved_until_it_is_small_enough(
    text: str, cause: str, name: str, value: int, after: str
) -> None:
    change = changes({"a.cu": text}, [], cause)[0]
    assert (change.name, change.value) == (name, value)
    assert applied(change, {"a.cu": text}, []) == ({"a.cu": after}, [])


@pytest.mark.parametrize(
    "text",
    [
        "int blocks[] = {1024, 2048};",
        "#define BLOCK_SIZE 1024",
        "int seed = 4096;",
        "#define N 512",
        "int n = 100;",
        "int n[] = {512, 900};",
    ],
)
def test_a_block_a_seed_and_what_is_small_stay_as_they_are(text: str) -> None:
    assert changes({"a.cu": text}, [], "programs.no_host_memory") == []


def test_an_argument_comes_first() -> None:
    change = changes({"a.cu": "#define N 4096"}, ["8192", "16"], "")[0]
    assert applied(change, {"a.cu": "#define N 4096"}, ["8192", "16"]) == ({}, ["512", "16"])


@pytest.mark.parametrize(
    ("line", "ragged"),
    [
        ("int n = 256;", "int n = 253;"),
        ("int sizes[4] = {128, 256, 1000, 64};", "int sizes[4] = {125, 253, 997, 64};"),
        ("for (int n : {128, 256}) run(n, n);", "for (int n : {125, 253}) run(n, n);"),
        ("int shapes[][2] = {{256, 128}, {1000, 300}};", "int shapes[][2] = {{253, 125}, {997, 300}};"),
        ("int main() { run(256, 1000); }", "int main() { run(253, 997); }"),
        # Blocks, functions that are not the program's, and what no kernel was handed.
        ("int blocks[] = {128, 256}; dim3 block(256, 1);", None),
        ("for (int threads : {128, 256}) usleep(1000);", None),
        ("int n = 300, m = 4;", None),
    ],
)
def test_sizes_are_made_a_little_smaller_wherever_they_stand(line: str, ragged: str | None) -> None:
    own = "void run(int rows, int cols) { }\n"
    texts, _start = made_ragged({"a.cu": own + line}, Start((), b""), [128, 256, 1000, 4])
    assert texts == ({} if ragged is None else {"a.cu": own + ragged})
