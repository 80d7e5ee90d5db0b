"""What a program launches behind its first error, and what its check of its own results does not notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.programs.observation import observed
from grader.submission.source import SourceText

pytestmark = pytest.mark.started

PROGRAM = """#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define OK(call) if ((call) != cudaSuccess) exit(1)
__global__ void twice(const float *in, float *out, int n) { int i = threadIdx.x; if (i < n) out[i] = 2 * in[i]; }
int main() {
    const int n = 64, bytes = n * sizeof(float);
    float in[n], got[n], want[n], *d, *e;
    for (int i = 0; i < n; i++) { in[i] = i; want[i] = 2 * i; }
    OK(cudaMalloc(&d, bytes));
    OK(cudaMalloc(&e, bytes));
    OK(cudaMemcpy(d, in, bytes, cudaMemcpyHostToDevice));
    twice<<<1, n>>>(d, e, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(got, e, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; i++) if (!(fabsf(got[i] - want[i]) <= 1e-3f)) wrong++;
    printf("errors: %d\\n", wrong);
    return wrong != 0;
}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "what"),
    [
        ("fabsf", "fabsf", []),
        ("fabsf(got[i] - want[i])", "got[i] - want[i]", ["smaller"]),
        ("fabsf(got[i] - want[i])", "want[i] - got[i]", ["larger"]),
        ("i < n; i++) if", "i < n / 2; i++) if", ["half"]),
        ("i < n; i++) if", "i < n; i += n - 1) if", ["some"]),
        ("!(fabsf(got[i] - want[i]) <= 1e-3f)", "fabsf(got[i] - want[i]) > 1e-3f", ["nan"]),
        ("got[i] - want[i]", "want[i] - want[i]", ["all"]),
    ],
    ids=["all is compared", "too small", "too large", "a part", "two elements", "no NaN", "nothing is compared"],
)
def test_wrong_results_that_a_program_calls_right(right: str, wrong: str, what: list[str], tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    path.write_text(PROGRAM.replace(right, wrong))
    runs = observed([SourceText(path, path.read_text(), "utf-8")]).runs
    assert [(one.kernel, one.line, one.what) for run in runs for one in run.unnoticed] == [
        ("twice", 14, w) for w in what
    ]


@pytest.mark.parametrize(
    ("old", "new", "unnoticed"),
    [
        ("", "", []),
        ("check(second)", "check(first)", [("plain", "alone")]),
        (
            '"errors: %d, %d\\n", check(first), check(second)',
            '"%s\\n", check(first) ? "BAD" : "OK"',
            [("plain", "alone")],
        ),
        ("fabsf(got[i] - want[i])", "got[i] - want[i]", [("plain", "smaller"), ("twice", "smaller")]),
        # One is held against the other, which is held against what the host computes.
        ("check(second)", "check(first, second)", []),
    ],
    ids=["each", "one for both", "one alone", "too small", "in turn"],
)
def test_a_check_of_several_kernels_results_at_once(
    old: str, new: str, unnoticed: list[tuple[str, str]], tmp_path: Path
) -> None:
    head, _rest = PROGRAM.split("    int wrong")
    head = head.replace("n, got[n]", "n").replace("want[n]", "want[n], first[n], second[n]").replace("got[n], ", "")
    head = head.replace("cudaMemcpy(got", "cudaMemcpy(first")
    head += """    plain<<<1, n>>>(d, e, n);
    OK(cudaMemcpy(second, e, bytes, cudaMemcpyDeviceToHost));
    auto check = [&](const float *got, const float *other = nullptr) {
        int bad = 0;
        for (int i = 0; i < n; i++) bad += !(fabsf(got[i] - want[i]) <= 1e-3f) || (other && got[i] != other[i]);
        return bad;
    };
    printf("errors: %d, %d\\n", check(first), check(second));
}
"""
    kernel = next(line for line in PROGRAM.splitlines() if "__global__" in line)
    text = (
        head.replace("\\\\n", "\\n").replace(kernel, kernel + "\n" + kernel.replace("twice", "plain")).replace(old, new)
    )
    path = tmp_path / "p.cu"
    path.write_text(text)
    runs = observed([SourceText(path, text, "utf-8")]).runs
    assert any(run.notices for run in runs)
    assert [(one.kernel, one.what) for run in runs for one in run.unnoticed] == unnoticed


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["size", "host"])
def test_a_check_is_tried_at_a_size_made_smaller_or_before_a_limit(limit: str, tmp_path: Path) -> None:
    text = PROGRAM.replace("fabsf(got[i] - want[i])", "got[i] - want[i]")
    if limit == "size":
        work = "for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) for (int l = 0; l < n; l++) busy += j * k * l;"
        text = text.replace("n = 64", "n = 1024", 1)
    else:
        work = "for (long j = 0; j < 20000000000; j++) busy += j;"
    before, end = text.rsplit("    return wrong", 1) if limit == "host" else text.rsplit("    int wrong", 1)
    rest = "    return wrong" if limit == "host" else "    int wrong"
    path = tmp_path / "p.cu"
    path.write_text(f"{before}    volatile long busy = 0;\n    {work}\n{rest}{end}")
    runs = observed([SourceText(path, path.read_text(), "utf-8")]).runs
    assert [one.what for run in runs for one in run.unnoticed] == ["smaller"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return wrong != 0", "return 0"),
        ('printf("errors: %d\\n", wrong)', 'printf("twice is done, success\\n"); if (wrong) printf("mismatch\\n")'),
        ('printf("errors: %d\\n", wrong)', 'printf("twice is done, success\\n")'),
        ("want[i] = 2 * i; }", "} OTHER_KERNEL"),
    ],
    ids=["by a line", "by a second line", "by the exit code alone", "against another kernel's results"],
)
def test_a_check_that_notices_wrong_results_in_another_way(old: str, new: str, tmp_path: Path) -> None:
    other = """float *f; OK(cudaMalloc(&f, bytes)); OK(cudaMalloc(&d, bytes));
    for (int i = 0; i < n; i++) in[i] = i;
    OK(cudaMemcpy(d, in, bytes, cudaMemcpyHostToDevice));
    plain<<<1, n>>>(d, f, n);
    OK(cudaMemcpy(want, f, bytes, cudaMemcpyDeviceToHost));"""
    text = PROGRAM.replace(old, new).replace("OTHER_KERNEL", other)
    kernel = next(line for line in PROGRAM.splitlines() if "__global__" in line)
    path = tmp_path / "p.cu"
    path.write_text(text.replace(kernel, kernel + "\n" + kernel.replace("twice", "plain")))
    runs = observed([SourceText(path, path.read_text(), "utf-8")]).runs
    assert any(run.results and run.said for run in runs)
    assert not [one for run in runs for one in run.unnoticed]


def test_a_program_that_ends_at_its_first_error_shows_what_it_would_launch(tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    path.write_text(PROGRAM.replace("cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost"))
    seen = observed([SourceText(path, path.read_text(), "utf-8")])
    assert [(run.forgiven, run.exit, len(run.launches), len(run.faults)) for run in seen.runs] == [
        (False, 1, 0, 1),
        # Its results are wrong: nothing was copied.
        (True, 1, 1, 0),
    ]
    assert [(launch.kernel, launch.block) for launch in seen.launches] == [("twice", (64, 1, 1))]


@pytest.mark.slow
def test_of_a_program_that_a_limit_stops_what_it_said_before_counts(tmp_path: Path) -> None:
    loop = "for (int size = 64; size < 40000000; size *= 100000) {\n    twice"
    text = PROGRAM.replace("    twice<<<1, n>>>(d, e, n);", f"    {loop}<<<size / 64, n>>>(d, e, n);")
    text = text.replace("    return wrong != 0;", "    }").replace("want[i] = 2 * i;", "want[i] = i;")
    path = tmp_path / "p.cu"
    path.write_text(text)
    runs = observed([SourceText(path, text, "utf-8")]).runs
    (run,) = [run for run in runs if run.results]
    assert run.cause is not None and run.cause.id == "programs.launch_limit"
    assert [(word.text, word.is_right, word.kernel) for word in run.said] == [("errors: 63", False, "twice")]
    assert [launch.grid for launch in run.launches] == [(1, 1, 1)]


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ("if ((call) == cudaSuccess) exit(1)", [("gave_up", 11)]),
        ("if ((call) != cudaSuccess) exit(1)", []),
    ],
)
def test_a_program_that_ends_though_no_call_has_failed(check: str, told: list[tuple[str, int]], tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    path.write_text(PROGRAM.replace("if ((call) != cudaSuccess) exit(1)", check))
    first = observed([SourceText(path, path.read_text(), "utf-8")]).runs[0]
    assert [(fault.kind, fault.line) for fault in first.faults if not fault.is_untidy] == told


def test_a_time_that_ends_before_anything_is_launched(tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    time = (
        "cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); cudaEventRecord(a);\n    cudaEventRecord(b);"
        " cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b);"
    )
    path.write_text(PROGRAM.replace("    twice<<<", f"    {time}\n    twice<<<"))
    (run, _with_results) = observed([SourceText(path, path.read_text(), "utf-8")]).runs
    assert [(fault.kind, fault.line) for fault in run.faults if not fault.is_untidy] == [("event_of_nothing", 15)]


@pytest.mark.parametrize(
    ("begun", "printed", "told"),
    [
        ("", "%.4f ms", []),
        ("", "%.4f s", [(18, "figures.unit")]),
        ("cudaMemcpy(d, in, bytes, cudaMemcpyHostToDevice);", "kernel: %.4f ms", [(15, "figures.with_copy")]),
    ],
)
def test_a_time_tells_what_it_is_of(begun: str, printed: str, told: list[tuple[int, str]], tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    before = f"cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); cudaEventRecord(a);\n    {begun}\n"
    after = (
        "cudaEventRecord(b);\n    cudaEventSynchronize(b); float ms; cudaEventElapsedTime(&ms, a, b); "
        f'printf("twice {printed}\\n", ms);\n'
    )
    lines = PROGRAM.split("\n")
    at = next(number for number, line in enumerate(lines) if "twice<<<" in line)
    path.write_text("\n".join([*lines[:at], before + lines[at], after, *lines[at + 1 :]]))
    (run, _with_results) = observed([SourceText(path, path.read_text(), "utf-8")]).runs
    figures = [(fault.line, fault.message.id) for fault in run.faults if fault.kind == "figure"]
    assert figures == told


def test_a_program_that_is_too_large_by_itself_is_made_smaller_and_told_no_block(tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    text = PROGRAM.replace(
        "int main() {", "int main(int argc, char **argv) {\n    int t = argc > 1 ? atoi(argv[1]) : 32;"
    )
    text = text.replace("n = 64, ", "n = 1 << 26, ").replace(
        "float in[n], got[n], want[n], *d", "float *in = new float[n], *got = new float[n], *want = new float[n], *d"
    )
    path.write_text(text.replace("<<<1, n>>>", "<<<(n + t * t - 1) / (t * t), dim3(t, t)>>>"))
    seen = observed([SourceText(path, path.read_text(), "utf-8")], sizes=[96])
    assert {launch.block for launch in seen.launches if not launch.refused} == {(32, 32, 1)}
