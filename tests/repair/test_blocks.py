"""Changes of how many blocks and threads host code launches, as what becomes of its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import changed
from grader.repair.host_arguments import host_of
from grader.repair.host_calls import host_changes
from grader.repair.launches import launch_changes, launches_of
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

HEAD = "__global__ void k(float *a);\nint main() {\n"
LAUNCH = "k<<<1, 32>>>(d);"
LEVELS = (
    "__global__ void scan(const float *in, float *out, float *sums, int n) {}\n"
    "void solve(const float *in, float *out, int n) {\nfloat *sums, *scanned;\nint blocks = (n + 7) / 8;\n"
    "scan<<<blocks, 8>>>(in, out, sums, n);\nscan<<<1, 8>>>(sums, scanned, nullptr, blocks);\n}\n"
)


def test_what_one_block_is_too_small_for_is_done_as_the_function_does_it() -> None:
    host = host_of(parse(SourceText(Path("p.cu"), LEVELS, "utf-8")))
    made = [(c.detail, c.line, changed(LEVELS, c)) for c in host_changes(host, (), (), ()) if c.group == "grid"]
    one, first = "scan<<<1, 8>>>(sums, scanned, nullptr, blocks);", "scan<<<blocks, 8>>>(in, out"
    assert made == [
        ("grid", 5, LEVELS.replace(first, first.replace("blocks", "1"))),
        ("grid", 5, LEVELS.replace(first, first.replace("blocks", "1"))),
        ("levels", 6, LEVELS.replace(one, "solve(sums, scanned, blocks);")),
        ("grid", 6, LEVELS.replace(one, one.replace("<1", "<blocks"))),
    ]


def test_blocks_that_know_nothing_of_each_other_are_no_better() -> None:
    text = LEVELS.replace("<<<1, 8>>>", "<<<blocks, 8>>>")
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_changes(host, (), (), ()) if c.detail == "levels"]
    # The first launch is handed the function's own arrays.
    assert made == [
        text.replace("scan<<<blocks, 8>>>(sums, scanned, nullptr, blocks);", "solve(sums, scanned, blocks);")
    ]


@pytest.mark.parametrize(
    ("head", "after"),
    [
        ("for (int d = 64; d > 4; d /= 2)", "for (int d = 64; d >= 4; d /= 2)"),
        ("while (d < 4)", "while (d <= 4)"),
        ("for (int d = 64; d != 4; d /= 2)", None),
    ],
)
def test_a_loop_of_launches_takes_a_turn_more(head: str, after: str | None) -> None:
    text = f"{HEAD}{head}\n{LAUNCH}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.kind, c.detail, changed(text, c)) for c in host_changes(host, (), (), ()) if c.group == "loop"]
    assert made == ([("bound", "end", text.replace(head, after))] if after else [])


@pytest.mark.parametrize(
    ("threads", "head", "made"),
    [
        ("192", "int k = blockDim.x / 2; k > 0; k >>= 1", ["256", "128"]),
        ("THREADS_OF_ALL", "int k = blockDim.x / 2; k > 0; k >>= 1", []),
        ("1000", "int k = N / 2; k; k /= 2", ["1024", "512"]),
        ("256", "int k = N / 2; k > 0; k /= 2", []),
        ("192", "int k = N; k > 0; k /= 2", []),
        ("192", "int k = 1; k < N; k *= 2", []),
    ],
)
def test_a_block_that_is_halved_has_a_power_of_two(threads: str, head: str, made: list[str]) -> None:
    text = f"#define N {threads}\n__global__ void k(float *d) {{ for ({head}) d[k] += d[2 * k]; }}\n"
    text += "int main() {\nk<<<1, N>>>(d);\n}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    changes = [c for c in host_changes(host, (), (), ()) if c.detail == "halved"]
    assert [changed(text, c) for c in changes] == [text.replace(f"N {threads}", f"N {other}", 1) for other in made]
    assert {(c.kind, c.line, c.to_line) for c in changes} == ({("constant", 1, 2)} if made else set())


def test_a_block_that_is_written_as_a_number_is_changed_wherever_it_stands() -> None:
    text = (
        "__global__ void k(float *d) { __shared__ float t[192]; for (int k = blockDim.x / 2; k; k /= 2) t[k] = 0; }\n"
    )
    text += "void solve(float *d, int n) {\nk<<<(n + 191) / 192, 192>>>(d);\n}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, changed(text, c)) for c in host_changes(host, (), (), ()) if c.detail == "halved"]
    assert made[0] == (3, text.replace("192", "256").replace("191", "255"))


def test_a_quotient_that_blocks_are_made_of_is_rounded_up() -> None:
    grid = "int quads = n / 4;\nint blocks = (quads + 255) / 256;\nk<<<blocks, 256>>>(d);"
    text = f"__global__ void k(float *d) {{}}\nvoid solve(float *d, int n) {{\n{grid}\n}}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, changed(text, c)) for c in launch_changes(launch, {}, ()) if c.detail == "quotient"]
    assert made == [(3, text.replace("n / 4", "(n + 4 - 1) / 4"))]


def test_quotients_that_blocks_are_made_of_are_rounded_up_together() -> None:
    grid = "int quads = n / 4;\nk<<<quads / 256, 256>>>(d);"
    text = f"__global__ void k(float *d) {{}}\nvoid solve(float *d, int n) {{\n{grid}\n}}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in launch_changes(launch, {}, ()) if c.detail == "rounded"]
    both = text.replace("n / 4", "(n + 4 - 1) / 4").replace("quads / 256", "(quads + 256 - 1) / 256")
    assert made[-1] == both


@pytest.mark.parametrize(
    ("grid", "after"),
    [
        ("int b = n / 8;\nif (b > 64) b = 64;\n", "int b = n / 8;\n"),
        ("int b = std::min(n / 8, 64);\n", "int b = n / 8;\n"),
        ("int b = n / 8 > 64 ? 64 : n / 8;\n", "int b = n / 8;\n"),
        ("int b = n / 8;\nint c = std::min(n, 64);\nif (c > 3) c = 3;\n", None),
    ],
)
def test_a_number_of_blocks_may_need_no_limit(grid: str, after: str | None) -> None:
    text = f"__global__ void k(float *d) {{}}\nvoid solve(float *d, int n) {{\n{grid}k<<<b, 8>>>(d);\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_changes(host, (), (), ()) if c.detail == "capped"]
    assert made == ([text.replace(grid, after)] if after else [])
