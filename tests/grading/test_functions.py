"""Labs that ask for a function: what a student hands in for one, judged by what is in its arrays afterwards."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.errors import FileError
from grader.files import data_root
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.grading.selftest import examine, specimens
from grader.lab.file import load
from grader.lab.labs import find
from grader.lab.records import Lab
from grader.result import Check, Result
from tests.every_lab import EVERY_LAB
from tests.grading.function_labs import AMONG_THE_QUICK

SAXPY = find("saxpy")
KERNEL = """__global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
BODY = "{ saxpy<<<(n + 255) / 256, 256>>>(a, x, y, n); }"
RIGHT = f"void solve(float a, const float *x, float *y, int n)\n{BODY}\n"


def graded(tmp_path: Path, text: str, lab: Lab = SAXPY, **others: str) -> Result:
    folder = tmp_path / "student"
    folder.mkdir(exist_ok=True)
    (folder / f"{lab.id}.cu").write_text(text)
    for name, content in others.items():
        (folder / name.replace("__", ".")).write_text(content)
    return pipeline.grade(folder, replace(lab, sweeps=()), GradeOptions(backend="emulator", repairs=False))


def failed(result: Result) -> dict[str, Check]:
    return {check.check: check for check in result.checks if check.status == "fail"}


@pytest.mark.parametrize("lab", AMONG_THE_QUICK)
def test_a_right_one_and_two_wrong_ones_get_their_verdicts(lab: str) -> None:
    chosen = AMONG_THE_QUICK[lab]
    findings = examine([s for s in specimens(find(lab)) if s.name in chosen], backend="emulator", jobs=1)
    assert {finding.specimen.name: finding.problems for finding in findings} == dict.fromkeys(chosen, ())


@pytest.mark.parametrize("lab", [lab for lab in EVERY_LAB if lab.function], ids=lambda lab: lab.id)
def test_a_lab_s_own_function_gets_all_points_and_its_starter_does_not_launch(lab: Lab) -> None:
    (variant,) = lab.variants
    plain, options = replace(lab, sweeps=()), GradeOptions(backend="emulator", repairs=False)
    result = pipeline.grade(variant.reference.file, plain, options)
    assert (failed(result), result.score.earned) == ({}, 100)
    starter = failed(pipeline.grade(lab.path.parent / "starter.cu", plain, options))
    assert set(starter) == {"launch", "correct"}


def test_a_right_one_gets_all_points_and_its_record(tmp_path: Path) -> None:
    result = graded(tmp_path, KERNEL + RIGHT)
    assert (result.status, result.score.earned, result.score.possible) == ("passed", 100, 100)
    variant = result.variants["solve"]
    assert (variant.kernel, variant.line, variant.launch) == ("solve", 7, None)
    assert variant.counters is not None
    # 4096 elements: 128 warps, each a request of 4 sectors for x and for y.
    assert (variant.counters.global_load_requests, variant.counters.global_load_sectors_per_request) == (256, 4)
    drawn = [case for case in variant.cases if case.drawn]
    assert len(variant.cases) == 7 + len(drawn) and len(drawn) >= 3
    assert all(case.status == "pass" for case in variant.cases)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (RIGHT.replace("solve", "saxpy_host"), None, ["No function solve", "void solve(float a, const float *x"]),
        (RIGHT.replace("const float *x", "float *x"), 7, ["Parameter 2", "x", "float * instead of const float *"]),
        (RIGHT.replace("int n", "size_t n"), 7, ["Parameter 4", "size_t instead of int"]),
        (RIGHT.replace(", int n", ", int n, int m"), 7, ["5 parameters instead of 4"]),
        ("__global__ " + RIGHT, 7, ["is a kernel"]),
        ("static " + RIGHT, 7, ["declared static"]),
        (f"template <class T>\n{RIGHT}", 8, ["template"]),
        (f"namespace mine {{\n{RIGHT}}}\n", 8, ["namespace mine"]),
        (RIGHT.replace("void", "int", 1), 7, ["returns int instead of void"]),
    ],
)
def test_another_signature_is_told_at_its_line(tmp_path: Path, text: str, line: int | None, words: list[str]) -> None:
    result = graded(tmp_path, KERNEL + text)
    present = failed(result)["present"]
    assert present.line == line
    for word in words:
        assert word in f"{present.message} {present.hint}", present.message
    assert "void solve(float a, const float *x, float *y, int n)" in (present.hint or "")
    assert result.score.earned == 0


def test_what_no_compiler_takes_is_told_at_its_line(tmp_path: Path) -> None:
    of_kernel = failed(graded(tmp_path, KERNEL.replace("a * x", "b * x") + RIGHT))
    assert (of_kernel["compiles"].line, "b" in of_kernel["compiles"].message) == (5, True)
    of_host = failed(graded(tmp_path, KERNEL + RIGHT.replace("256, 256", "256, threads")))
    assert (of_host["compiles"].line, "threads" in of_host["compiles"].message) == (8, True)


def test_its_parts_may_stand_in_other_files(tmp_path: Path) -> None:
    home = f'#include "kernel.cuh"\n{RIGHT}'
    assert graded(tmp_path, home, kernel__cuh=KERNEL).status == "passed"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{ static int calls; if (calls++ == 0) BODY }", "a second one in the same process, with a = "),
        ("{ BODY cudaDeviceSynchronize(); *(volatile int *)0x7fffffffffff = 0; }", "did not return"),
    ],
)
def test_what_comes_after_the_work_counts_too(tmp_path: Path, body: str, reason: str) -> None:
    text = KERNEL + RIGHT.replace(BODY, body.replace("BODY", BODY))
    result = graded(tmp_path, text)
    assert reason in failed(result)["correct"].message
    # What the first of two calls has launched is known; of one that did not return it is not.
    launch = next(check for check in result.checks if check.check == "launch")
    assert (launch.status == "pass") == ("second" in reason)


def test_a_null_pointer_ends_the_first_call_and_is_called_by_its_name(tmp_path: Path) -> None:
    """Not a second call's fault: what the first has written before it ends is right."""
    text = KERNEL.replace("int n)", "int n, int *flag)").replace(
        "    if (i < n)\n", "    flag[i] = 1;\n    if (i < n)\n"
    )
    assert "int *flag" in text and "flag[i]" in text
    of_call = RIGHT.replace(BODY, "{ static int *flag; " + BODY.replace("n);", "n, flag);") + " }")
    assert "n, flag);" in of_call
    correct = failed(graded(tmp_path, text + of_call))["correct"]
    assert correct.line == 4 and "writes through flag, which is a null pointer" in correct.message
    assert "second" not in correct.message and "cudaMalloc" in (correct.hint or "")


def test_a_kernel_that_never_ends_is_told_at_its_line(tmp_path: Path) -> None:
    text = KERNEL.replace("    if (i < n)\n", "    while (i >= 0) { if (n < 0) break; }\n    if (i < n)\n") + RIGHT
    correct = failed(graded(tmp_path, text))["correct"]
    assert correct.line == 4


# A lab with pointers to the host's memory, an output that begins at a value, and whole numbers.
HOST_LAB = {
    "signature: 'void solve(float a, const float *x, float *y, int n)'": "signature: "
    "'void count(const int *in, int *out, long long n, int limit)'",
    "memory: device": "memory: host",
    "a: {kind: scalar, values: [2.5, -0.75]}": "limit: {kind: scalar, values: [3, 90]}",
    "x: {kind: input, shape: [n]}": "in: {kind: input, shape: [n]}",
    "y: {kind: in_out, shape: [n]}": "out: {kind: output, shape: [1], initial: 7}",
    "tolerance: {absolute: 'gamma(2) * 64'} # a product and a sum of numbers below 64, rounded once or twice": "",
    "reference: saxpy.cu": "reference: count.cu",
    "selftest: ../../tests/kernels/saxpy\n": "",
}
HOST_ORACLE = """
import numpy as np
def inputs(sizes, rng):
    return {"in": rng.integers(0, 100, sizes["n"])}
def expected(inputs, sizes):
    return {"out": np.array([7 + (inputs["in"] < inputs["limit"]).sum()])}
"""
COUNT = """__global__ void count_below(const int *in, int *out, long long n, int limit)
{
    long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] < limit)
        atomicAdd(out, 1);
}
void count(const int *in, int *out, long long n, int limit)
{
    int *d_in, *d_out;
    cudaMalloc(&d_in, n * sizeof(int));
    cudaMalloc(&d_out, sizeof(int));
    cudaMemcpy(d_in, in, n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(d_out, out, sizeof(int), cudaMemcpyHostToDevice);
    count_below<<<(n + 127) / 128, 128>>>(d_in, d_out, n, limit);
    cudaMemcpy(out, d_out, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
"""


@pytest.fixture
def host_lab(tmp_path: Path) -> Lab:
    shutil.copytree(data_root() / "assignments/saxpy", tmp_path / "assignments/count")
    folder = tmp_path / "reference/saxpy"
    folder.mkdir(parents=True)
    (folder / "oracle.py").write_text(HOST_ORACLE)
    (folder / "count.cu").write_text(COUNT)
    path = tmp_path / "assignments/count/lab.yaml"
    text = path.read_text("utf-8")
    for old, new in HOST_LAB.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return load(path.parent)


def test_pointers_may_lead_to_the_host(tmp_path: Path, host_lab: Lab) -> None:
    result = graded(tmp_path, COUNT, host_lab)
    assert {check.check: check.message for check in result.checks if check.status == "fail"} == {}
    assert result.status == "passed"


def test_what_the_host_writes_around_its_arrays_is_seen(tmp_path: Path, host_lab: Lab) -> None:
    before = failed(
        graded(tmp_path, COUNT.replace("    cudaFree(d_in);", "    out[-1] = 0;\n    cudaFree(d_in);"), host_lab)
    )
    assert "before the beginning of out" in before["correct"].message
    after = failed(graded(tmp_path, COUNT.replace("out, d_out, sizeof(int)", "out, d_out, 2 * sizeof(int)"), host_lab))
    assert after
    other = failed(graded(tmp_path, COUNT.replace("atomicAdd(out, 1)", "*out += 1"), host_lab))
    assert {"correct", "races"} <= set(other)


# Half precision, and room to work in.
ROOM_SIGNATURE = "void solve(float a, const half *x, half *y, float *room, int n)"
ROOM = """#include <cuda_fp16.h>
__global__ void products(float a, const __half *x, float *room, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        room[i] = a * __half2float(x[i]);
}
__global__ void halves(half *y, const float *room, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __float2half(room[i]);
}
void solve(float a, const __half *x, __half *y, float *room, int n)
{
    products<<<(n + 255) / 256, 256>>>(a, x, room, n);
    halves<<<(n + 255) / 256, 256>>>(y, room, n);
}
"""


@pytest.fixture
def room_lab(tmp_path: Path) -> Lab:
    shutil.copytree(data_root() / "assignments/saxpy", tmp_path / "assignments/room")
    folder = tmp_path / "reference/saxpy"
    folder.mkdir(parents=True)
    (folder / "oracle.py").write_text(
        "def inputs(sizes, rng):\n    return {'x': rng.integers(-99, 99, sizes['n'])}\n"
        "def expected(inputs, sizes):\n    return {'y': inputs['a'].astype('f8') * inputs['x']}\n"
    )
    (folder / "saxpy.cu").write_text(ROOM)
    path = tmp_path / "assignments/room/lab.yaml"
    text = path.read_text("utf-8")
    for old, new in {
        "void solve(float a, const float *x, float *y, int n)": ROOM_SIGNATURE,
        "y: {kind: in_out, shape: [n]}": "y: {kind: output, shape: [n]}\n  room: {kind: scratch, shape: [n]}",
        "absolute: 'gamma(2) * 64'": "relative: 0.001",
        "selftest: ../../tests/kernels/saxpy\n": "",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return load(path.parent)


def test_half_precision_and_room_to_work_in(tmp_path: Path, room_lab: Lab) -> None:
    assert {p.name: (p.kind.name, p.dtype) for p in room_lab.parameters if p.is_array} == {
        "x": ("input", "float16"),
        "y": ("output", "float16"),
        "room": ("scratch", "float32"),
    }
    result = graded(tmp_path, ROOM, room_lab)
    assert ({check.check: check.message for check in result.checks if check.status != "pass"}) == {}
    unset = failed(graded(tmp_path, ROOM.replace("room[i] = a", "room[i] += a"), room_lab))
    assert (set(unset), unset["memory_safety"].line) == ({"correct", "memory_safety"}, 6)


def test_the_oracle_s_faults_are_the_lab_s(tmp_path: Path, host_lab: Lab) -> None:
    host_lab.oracle.write_text(HOST_ORACLE.replace('sizes["n"])}', 'sizes["n"] + 1)}'))
    with pytest.raises(FileError, match=r"oracle\.py"):
        graded(tmp_path, COUNT, host_lab)


def test_speed_is_not_judged_without_a_gpu_and_says_so(tmp_path: Path) -> None:
    text = SAXPY.path.read_text("utf-8").replace("coalescing: 10", "speedup: {points: 10, against: solve, full: 1}")
    folder = tmp_path / "assignments/saxpy"
    shutil.copytree(SAXPY.path.parent, folder)
    (folder / "lab.yaml").write_text(text.replace("../../", f"{data_root()}/"), "utf-8")
    result = graded(tmp_path, KERNEL + RIGHT, replace(load(folder)))
    speedup = next(check for check in result.checks if check.check == "speedup")
    assert (speedup.status, speedup.pending, result.score.earned) == ("skip", 10, 90)
    assert "speed can only be timed on an NVIDIA GPU" in speedup.message


HOST_POINTER = """void solve(float a, const float *x, float *y, int n)
{
    float *copy = (float *)malloc(n * sizeof(float));
    saxpy<<<(n + 255) / 256, 256>>>(a, x, copy, n);
    free(copy);
}
"""


def test_a_pointer_to_the_host_s_memory_is_what_comes_first(tmp_path: Path) -> None:
    checks = failed(graded(tmp_path, f"#include <cstdlib>\n{KERNEL}{HOST_POINTER}"))
    first = "Correct the launch first: the kernel cannot reach the address that it is handed."
    assert (checks["launch"].line, checks["launch"].hint) == (11, "")
    assert (checks["correct"].hint, checks["memory_safety"].hint) == (first, first)


def test_a_launch_that_is_wrong_at_some_sizes_is_told_with_them_and_explains_no_others(tmp_path: Path) -> None:
    shrunk = RIGHT.replace("(n + 255) / 256", "n / 256")
    checks = failed(graded(tmp_path, KERNEL.replace("a * x[i]", "2 * a * x[i]") + shrunk))
    assert checks["launch"].message.endswith("allowed: 1 to 2147483647. Seen at n = 1.")
    assert "Correct the launch first" not in (checks["correct"].hint or "")
    checks = failed(graded(tmp_path, KERNEL + shrunk))
    assert set(checks) == {"launch", "ragged_sizes"}
    assert "n = 1." in checks["ragged_sizes"].message
    assert checks["ragged_sizes"].hint == "Correct the launch first: a kernel that does not start computes nothing."


def test_a_launch_in_another_file_is_told_there(tmp_path: Path) -> None:
    header = (
        f"{KERNEL}inline void run(float a, const float *x, float *y, int n) {{ saxpy<<<n, 2048>>>(a, x, y, n); }}\n"
    )
    result = graded(tmp_path, f'#include "run.cuh"\n{RIGHT.replace(BODY, "{ run(a, x, y, n); }")}', run__cuh=header)
    launch = failed(result)["launch"]
    assert (launch.file, launch.line) == ("run.cuh", 7)


STEP = """// what each thread does

__device__ __noinline__ void step(float a, const float *x, float *y, int i)
{
    y[i] = a * x[i] + y[i];
}
"""
IN_HEADER = KERNEL.replace("y[i] = a * x[i] + y[i];", "step(a, x, y, i);")


def test_each_line_is_one_of_the_file_that_it_stands_in(tmp_path: Path) -> None:
    home = f'#include "kernel.cuh"\n{RIGHT}'
    headers = {"kernel__cuh": f'#include "step.cuh"\n{IN_HEADER}', "step__cuh": STEP}
    result = graded(tmp_path, home, SAXPY, **headers)
    assert result.status == "passed"
    counters = result.variants["solve"].counters
    assert counters is not None and {(row.file, row.line) for row in counters.by_line} == {("step.cuh", 5)}
    unguarded = {**headers, "kernel__cuh": headers["kernel__cuh"].replace("    if (i < n)\n", "")}
    ragged = failed(graded(tmp_path, home, SAXPY, **unguarded))["ragged_sizes"]
    assert (ragged.file, ragged.line) == ("step.cuh", 5)
    endless = {**headers, "kernel__cuh": headers["kernel__cuh"].replace("    if (i < n)\n", "    while (i >= 0);\n")}
    correct = failed(graded(tmp_path, home, SAXPY, **endless))["correct"]
    assert (correct.file, correct.line) == ("kernel.cuh", 5)


THRUST = """#include <thrust/device_ptr.h>
#include <thrust/reduce.h>
__global__ void store(float *out, float value)
{
    *out = value;
}
void solve(const float *in, float *out, int n)
{
    thrust::device_ptr<const float> first(in);
    float total = thrust::reduce(first, first + n, 0.0f);
    store<<<1, 1>>>(out, total);
}
"""


def test_no_line_of_a_library_is_the_student_s(tmp_path: Path) -> None:
    result = graded(tmp_path, THRUST.replace("first + n", "first + n + 1"), find("vector-sum"))
    assert failed(result)["uses"].line == 10
    counters = result.variants["solve"].counters
    assert counters is not None and {(row.file, row.line) for row in counters.by_line} == {("", 5)}
    memory = failed(result)["memory_safety"]
    assert (memory.file, memory.line) == ("", None)


def test_what_every_call_leaves_behind_is_told_once(tmp_path: Path) -> None:
    leaks = BODY.replace("{ ", "{\n    float *left;\n    cudaMalloc(&left, n * sizeof(float));\n    ", 1)
    result = graded(tmp_path, KERNEL + RIGHT.replace(BODY, leaks))
    said = [*result.remarks, *result.variants["solve"].remarks]
    assert len([remark for remark in said if "left (" in remark and remark.endswith("is never freed.")]) == 1
