"""Slips of host code: calls that were left out, times between the wrong events, conditions, as what becomes of text."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import changed
from grader.repair.host_arguments import host_of
from grader.repair.host_slips import host_slip_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

TIMED = """int main() {
float *h = (float *)malloc(bytes), *d;
cudaMalloc(&d, bytes);
cudaEventRecord(start);
k<<<1, 32>>>(d);
cudaEventRecord(stop);
cudaEventSynchronize(stop);
cudaEventElapsedTime(&ms, start, stop);
cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);
print(h);
}
"""


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("cudaEventSynchronize(stop);\n", "event_wait"),
        ("cudaEventRecord(start);\n", "recorded"),
        ("cudaEventRecord(stop);\n", "recorded_after"),
        ("cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);\n", "fetch"),
    ],
)
def test_the_call_that_was_left_out_is_put_where_it_was(line: str, detail: str) -> None:
    text = TIMED.replace(line, "", 1)
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_slip_changes(host, unread=["k"]) if c.detail == detail]
    assert made == [TIMED]


def test_a_wait_is_told_what_other_calls_are_told_besides() -> None:
    text = TIMED.replace("cudaEventSynchronize(stop);\n", "")
    for call in ("cudaMalloc(&d, bytes)", "cudaEventRecord(start)", "cudaEventRecord(stop)"):
        text = text.replace(f"{call};", f'check({call}, "a call");')
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    (made,) = [changed(text, c) for c in host_slip_changes(host) if c.detail == "event_wait"]
    assert 'check(cudaEventSynchronize(stop), "a call");\ncudaEventElapsedTime' in made


@pytest.mark.parametrize(
    ("wrong", "right", "detail"),
    [
        ("if (e != cudaSuccess) return;", "if (e == cudaSuccess) return;", "inverted"),
        ("w = 1 / (2 * R + 1);", "w = 1.0f / (2 * R + 1);", "fraction"),
        ("h[i] = rand() / RAND_MAX;", "h[i] = (float)rand() / RAND_MAX;", "fraction"),
        ("w = 1 / 2.0f;", None, "fraction"),
        (
            "cudaMalloc(&p.a, b); cudaMalloc(&p.c, b); cudaFree(p.a); cudaFree(p.a);",
            "cudaFree(p.c); cudaFree(p.a);",
            "freed_other",
        ),
        ("cudaMemcpyAsync(p.out, p.d + at, b, cudaMemcpyDeviceToHost, s);", "p.out + at, p.d + at", "target"),
    ],
)
def test_what_a_call_and_a_value_of_the_host_lack(wrong: str, right: str | None, detail: str) -> None:
    text = f"void f() {{\n{wrong}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_slip_changes(host) if c.detail == detail]
    assert (made and right in made[0]) if right else not made


def test_a_check_in_a_macro_is_turned_round() -> None:
    text = "#define OK(call) do { \\\n    if ((call) == cudaSuccess) exit(1); \\\n} while (0)\n"
    text += "int main() { OK(cudaFree(0)); }\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, changed(text, c)) for c in host_slip_changes(host) if c.detail == "inverted"]
    assert made == [(2, text.replace("==", "!="))]


def test_the_end_of_a_time_is_no_beginning() -> None:
    text = TIMED.replace("start, stop)", "stop, start)")
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, changed(text, c)) for c in host_slip_changes(host) if c.detail == "events"]
    assert made == [(8, TIMED)]


@pytest.mark.parametrize(
    ("wrong", "right", "detail"),
    [
        ("steps & 1 == 0", "(steps & 1) == 0", "precedence"),
        ("mask | low != high", "(mask | low) != high", "precedence"),
        ("steps % 2 == 0", "steps % 2 != 0", "parity"),
        ("(steps & 1) != 0", "(steps & 1) == 0", "parity"),
        ("steps == 2", None, "parity"),
        ("(steps & 1) == 0", None, "precedence"),
    ],
)
def test_what_a_condition_of_the_host_compares(wrong: str, right: str | None, detail: str) -> None:
    text = f"void solve(int steps) {{\nif ({wrong})\ncudaMemcpy(a, b, n, cudaMemcpyDeviceToDevice);\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, changed(text, c)) for c in host_slip_changes(host) if c.detail == detail]
    assert made == ([(2, text.replace(wrong, right))] if right is not None else [])


def test_an_event_that_ends_a_time_is_recorded_behind_the_launch() -> None:
    late = "cudaEventRecord(stop);\n"
    text = TIMED.replace(late, "").replace("k<<<", f"{late}k<<<")
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_slip_changes(host) if c.detail == "later" and c.line == 5]
    assert made == [TIMED]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("case 0: k<<<1, 32>>>(d);\ncase 1: m<<<1, 32>>>(d);\n", "k<<<1, 32>>>(d); break;"),
        ("case 0:\nk<<<1, 32>>>(d);\ncase 1: m<<<1, 32>>>(d);\n", "k<<<1, 32>>>(d);\nbreak;"),
        ("case 0: k<<<1, 32>>>(d); break;\ncase 1: m<<<1, 32>>>(d);\n", None),
    ],
)
def test_a_case_that_goes_on_into_the_next_one(wrong: str, right: str | None) -> None:
    text = f"void f(int which) {{\nswitch (which) {{\n{wrong}}}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_slip_changes(host, ["k", "m"]) if c.detail == "break"]
    assert made == ([text.replace("k<<<1, 32>>>(d);", right)] if right is not None else [])


@pytest.mark.parametrize(
    "read", ["const auto end = Clock::now();", "t1 = seconds();", "clock_gettime(CLOCK_MONOTONIC, &t);"]
)
@pytest.mark.parametrize("wait", ["CHECK(cudaDeviceSynchronize());", "cudaStreamSynchronize(s);"])
def test_a_clock_is_read_behind_the_wait(read: str, wait: str) -> None:
    text = (
        f"double seconds() {{ return omp_get_wtime(); }}\nvoid f() {{\nk<<<1, 32>>>(d);\n{read}\n{wait}\nuse(d);\n}}\n"
    )
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, c.to_line, changed(text, c)) for c in host_slip_changes(host) if c.detail == "later"]
    assert made == [(4, 5, text.replace(f"{read}\n{wait}", f"{wait}\n{read}"))]
    # What reads no clock stays where it is.
    text = text.replace(read, "count(d);")
    assert not [c for c in host_slip_changes(host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))) if c.to_line]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("if (a[i] - b[i] > EPS) bad++;", "if (fabs(a[i] - b[i]) > EPS) bad++;"),
        ("worst = fmax(worst, (a[i] - b[i]));", "worst = fmax(worst, fabs(a[i] - b[i]));"),
        ("if (fabsf(a[i] - b[i]) > EPS) bad++;", None),
    ],
)
def test_the_magnitude_of_a_difference_is_compared(wrong: str, right: str | None) -> None:
    text = f"int errors(const float *a, const float *b, int n) {{\nfor (int i = 0; i < n; i++)\n{wrong}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in host_slip_changes(host) if c.detail == "magnitude"]
    assert made == ([text.replace(wrong, right)] if right else [])
