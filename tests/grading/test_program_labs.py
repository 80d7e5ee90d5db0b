"""Labs that ask for a whole program: how it is handed its data, and where its results are found and judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.errors import FileError
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab.file import load
from grader.lab.records import Lab
from grader.result import Check, Result

LAB = """
title: {en: Doubled, ru: Удвоено}
aim: {en: To double, ru: Удвоить}
reference: ../../reference/doubled
tolerance: {relative: 1.e-5}
interface: INTERFACE
START
parameters:
  PARAMETERS
  n: {kind: size}
sizes: {emulator: {correct: [{n: 64}], ragged: [{n: 33}], observe: {n: 128}}}
variants:
  main: {title: {en: All, ru: Всё}, reference: doubled.cu, checks: {launch: 10, correct: 60, ragged_sizes: 30}}
"""
ORACLE = """
import numpy as np
def inputs(sizes, rng):
    return {"x": rng.integers(-999, 999, sizes["n"]) / 8}
def expected(inputs, sizes):
    x = np.asarray(inputs["x"], np.float64)
    return {"y": 2 * x} | ({"ends": np.array([x.min(), x.max()])} if ENDS else {})
"""
KERNEL = """#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void twice(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}
static void doubled(const float *x, float *y, int n)
{
    float *d_x, *d_y;
    cudaMalloc(&d_x, n * sizeof(float));
    cudaMalloc(&d_y, n * sizeof(float));
    cudaMemcpy(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice);
    twice<<<(n + 31) / 32, 32>>>(d_x, d_y, n);
    cudaMemcpy(y, d_y, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_x);
    cudaFree(d_y);
}
"""
STANDARD_INPUT = (
    KERNEL
    + """
int main()
{
    int n;
    scanf("%d", &n);
    std::vector<float> x(n);
    for (int i = 0; i < n; i++)
        scanf("%f", &x[i]);
    doubled(x.data(), x.data(), n);
    printf("kernel: 0.125 ms, 17 GB/s\\n");
    for (int i = 0; i < n; i++)
        printf("%.3f ", x[i]);
    printf("\\nTime elapsed: 12\\n");
}
"""
)
COPIED = (
    KERNEL
    + """
int main(int argc, char **argv)
{
    FILE *file = fopen(argv[2], "rb");
    int n;
    fread(&n, sizeof n, 1, file);
    std::vector<float> x(n), y(n);
    fread(x.data(), sizeof(float), n, file);
    fclose(file);
    if (argc != 3 || n != atoi(argv[1]))
        return 1;
    doubled(x.data(), y.data(), n);
    puts("done");
}
"""
)
TABLES = (
    KERNEL
    + """
int main(int argc, char **argv)
{
    FILE *file = fopen("x.csv", "r"), *result = fopen("out/y.txt", "w");
    std::vector<float> x;
    for (float value; fscanf(file, "%f,", &value) == 1;)
        x.push_back(value);
    doubled(x.data(), x.data(), x.size());
    fprintf(result, "%d\\n", (int)x.size());
    float least = x[0], most = x[0];
    for (float value : x) {
        fprintf(result, "%g\\n", value);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    printf("step 1: from 0 to 0\\nfrom %g to %g in 3 s\\n", least / 2, most / 2);
    return fclose(result);
}
"""
)
COURSE_LIBRARY = (
    KERNEL.replace("#include <cstdio>", "#include <wb.h>")
    + """
int main(int argc, char **argv)
{
    wbArg_t args = wbArg_read(argc, argv);
    int n;
    float *x = (float *)wbImport(wbArg_getInputFile(args, 0), &n);
    doubled(x, x, n);
    wbSolution(args, x, n);
    free(x);
    return 0;
}
"""
)
OPTIONS = (
    KERNEL.replace("#include <cstdio>", "#include <getopt.h>\n#include <cstdio>")
    + """
int main(int argc, char **argv)
{
    static const option names[] = {{"values", required_argument, nullptr, 'x'}, {nullptr, 0, nullptr, 0}};
    const char *from = nullptr;
    int n = 0, scale = 0, verbose = 0;
    for (int c; (c = getopt_long(argc, argv, "x:n:s:v", names, nullptr)) != -1;)
        switch (c) {
        case 'x': from = optarg; break;
        case 'n': n = atoi(optarg); break;
        case 's': scale = atoi(optarg); break;
        case 'v': verbose = 1; break;
        default: return 2;
        }
    std::vector<float> x(n), y(n);
    FILE *file = fopen(from, "rb");
    if (file == NULL || fread(x.data(), sizeof(float), n, file) != (size_t)n || scale != 3)
        return 1;
    fclose(file);
    doubled(x.data(), y.data(), n);
    if (verbose)
        printf("Overall: %.3f ms\\t\\t[%.3f GB/s]\\n", 0.125, 17.0);
    file = fopen(argv[optind], "wb");
    fwrite(y.data(), sizeof(float), n, file);
    return fclose(file);
}
"""
)
AS_ASKED = (
    KERNEL.partition("static void")[0]
    + """
void doubled(const unsigned int blocks, const unsigned int threadsPerBlock, const float *x, float *y, const unsigned n)
{
    twice<<<blocks, threadsPerBlock>>>(x, y, n);
}
"""
)
AS_ASKED = AS_ASKED.replace("    if (i < n)\n        y", "    for (; i < n; i += gridDim.x * blockDim.x)\n        y")
STRUCTURE = """struct Doubled { float least, most; };
"""
HARNESS = """#include "doubled.h"
#include <grader_harness.h>
Doubled doubled(int n, const float *x, float *y);
int main()
{
    while (grader_call_begins()) {
        Doubled ends = doubled(grader_argument<int>("n"), grader_argument<const float *>("x"),
                               grader_argument<float *>("y"));
        float *out = grader_argument<float *>("ends");
        out[0] = ends.least;
        out[1] = ends.most;
        grader_call_ends();
    }
}
"""
OF_HARNESS = (
    '#include "doubled.h"\n'
    + KERNEL.replace("static void doubled(", "static void by_kernel(")
    + """
Doubled doubled(int n, const float *x, float *y)
{
    Doubled ends = {x[0], x[0]};
    by_kernel(x, y, n);
    for (int i = 1; i < n; i++) {
        ends.least = x[i] < ends.least ? x[i] : ends.least;
        ends.most = x[i] > ends.most ? x[i] : ends.most;
    }
    return ends;
}
"""
)
LAUNCHES = """#include <grader_harness.h>
__global__ void turned(const float *x, float *part, int n);
__global__ void twice(const float *part, float *y, int n);
int main()
{
    while (grader_call_begins()) {
        const int n = grader_argument<int>("n"), blocks = (n + 31) / 32;
        float *part = grader_argument<float *>("part");
        turned<<<blocks, 32>>>(grader_argument<const float *>("x"), part, n);
        twice<<<blocks, 32>>>(part, grader_argument<float *>("y"), n);
        grader_call_ends();
    }
}
"""
OF_LAUNCHES = """
__global__ void turned(const float *x, float *part, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        part[n - 1 - i] = x[i];
}
__global__ void twice(const float *part, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * part[n - 1 - i];
}
"""
ENDS = "ends: {kind: output, dtype: float32, shape: [2], file: stdout, label: 'from'}"
LABS = {
    "standard input": (
        "stdin: \"{n}\\n{x}\\n\"",
        ["x: {kind: input, shape: [n]}", "y: {kind: output, shape: [n], file: stdout}"],
        STANDARD_INPUT,
    ),
    "copied back": (
        "arguments: ['{n}', '{x}']",
        ["x: {kind: input, shape: [n], file: x.bin, header: [n]}",
         "y: {kind: output, shape: [n], file: copied, names: ['(d_|\\*)*y']}"],
        COPIED,
    ),
    "tables": (
        "",
        ["x: {kind: input, shape: [n], file: x.csv}",
         "y: {kind: output, shape: [n], file: out/y.txt, header: [n]}", ENDS],
        TABLES,
    ),
    "course library": (
        "arguments: ['-i', '{x}', '-e', expected.raw, '-o', '{y}', '-t', vector]",
        ["x: {kind: input, shape: [n], file: in0.raw, format: wb}",
         "y: {kind: output, shape: [n], file: out.raw, format: wb}"],
        COURSE_LIBRARY,
    ),
    "options": (
        "arguments: ['--values={x}', '-n', '{n}', '-vs', '{s}', '{y}']",
        ["x: {kind: input, shape: [n], file: x.bin}", "y: {kind: output, shape: [n], file: y.bin}",
         "s: {kind: scalar, dtype: int32, values: [3]}"],
        OPTIONS,
    ),
    "launched as asked": (
        "signature: 'void doubled(const unsigned int blocks, const unsigned int threadsPerBlock, const float *x,\n"
        "  float *y, const unsigned int n)'\nmemory: device",
        ["x: {kind: input, shape: [n]}", "y: {kind: output, shape: [n]}",
         "blocks: {kind: scalar, values: [1, 3]}", "threadsPerBlock: {kind: scalar, values: [20, 32]}"],
        AS_ASKED,
    ),
    "own harness": (
        "signature: 'Doubled doubled(int n, const float *x, float *y)'\nmemory: host\nharness: harness.cu\n"
        "files: [doubled.h]",
        ["x: {kind: input, shape: [n]}", "y: {kind: output, shape: [n]}", "ends: {kind: output, shape: [2]}"],
        OF_HARNESS,
    ),
    "kernels in order": (
        "signature: ['__global__ void turned(const float *x, float *part, int n)',\n"
        "  '__global__ void twice(const float *part, float *y, int n)']\nmemory: device\nharness: launches.cu",
        ["x: {kind: input, shape: [n]}", "y: {kind: output, shape: [n]}", "part: {kind: scratch, shape: [n]}"],
        OF_LAUNCHES,
    ),
}  # fmt: skip


def lab_of(tmp_path: Path, shape: str) -> Lab:
    start, parameters, reference = LABS[shape]
    folder, of_lab = tmp_path / "assignments/doubled", tmp_path / "reference/doubled"
    folder.mkdir(parents=True)
    of_lab.mkdir(parents=True)
    text = LAB.replace("START", start).replace("PARAMETERS", "\n  ".join(parameters))
    text = text.replace("INTERFACE", "function" if "memory:" in start else "program")
    (folder / "lab.yaml").write_text(text, "utf-8")
    for language in ("en", "ru"):
        (folder / f"task.{language}.md").write_text("Double it.")
    has_ends = any(line.startswith("ends") for line in parameters)
    (of_lab / "oracle.py").write_text(ORACLE.replace("ENDS", str(has_ends)))
    (of_lab / "doubled.cu").write_text(reference)
    (of_lab / "doubled.h").write_text(STRUCTURE)
    (of_lab / "harness.cu").write_text(HARNESS)
    (of_lab / "launches.cu").write_text(LAUNCHES)
    return load(folder)


def graded(tmp_path: Path, lab: Lab, **files: str) -> Result:
    folder = tmp_path / "student"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return pipeline.grade(folder, lab, GradeOptions(backend="emulator", repairs=False))


def failed(result: Result) -> dict[str, Check]:
    return {check.check: check for check in result.checks if check.status == "fail"}


@pytest.mark.parametrize("shape", LABS)
def test_a_right_one_gets_all_points(tmp_path: Path, shape: str) -> None:
    lab = lab_of(tmp_path, shape)
    result = graded(tmp_path, lab, work__cu=LABS[shape][2])
    assert {name: check.message for name, check in failed(result).items()} == {}
    assert (result.status, result.score.earned) == ("passed", 100)
    # Of what the lab's own files leave unchecked nothing is said.
    assert not [remark for remark in result.remarks if "harness" in remark or "launches.cu" in remark]
    drawn = [case for case in result.variants["main"].cases if case.drawn]
    assert len(drawn) >= 2 and all(case.status == "pass" for case in drawn)


@pytest.mark.parametrize(
    ("shape", "old", "new", "check", "words"),
    [
        ("standard input", "2 * x[i]", "2 * x[i] + (i == 40)", "correct", "1 of 64 elements is wrong"),
        ("standard input", "i = 0; i < n; i++)\n        printf", "i = 1; i < n; i++)\n        printf", "correct",
         "stdout: 63 numbers instead of 64"),
        ("standard input", "{\n    int n;", '{\n    int n;\n    puts("PASSED 100");\n    exit(0);', "launch",
         "launches no kernel"),
        # What the device hands out holds nothing that anybody may count on.
        ("standard input", "y[i] = 2", "y[i] += 2", "correct", "Every element is wrong"),
        ("copied back", "cudaMemcpy(y, d_y", "cudaMemcpy(y, d_x", "correct", "y"),
        ("copied back", "cudaMemcpy(y, d_y, n *", "cudaMemcpy(y, d_y, 4 *", "correct", "No array y of 256 bytes"),
        ("tables", '"%d\\n", (int)x.size()', '"%d\\n", 64', "correct", "numbers 64 instead of 128"),
        ("tables", "least / 2", "2 * least", "correct", "ends"),
        ("tables", "from 0 to 0\\nfrom %g to", "%g %g to", "correct", "prints no number behind “from”"),
        ("course library", "wbSolution(args, x, n);", "", "correct", "leaves no file out.raw"),
        ("options", "sizeof(float), n, file) != (size_t)n", "4, n / 2, file) != n / 2", "correct",
         "of 64 elements"),
        ("launched as asked", "i += gridDim.x * blockDim.x", "i += n", "correct", "process, with blocks = "),
        ("own harness", "x[i] > ends.most", "x[i] < ends.most", "correct", "ends"),
        ("own harness", "Doubled doubled(int n,", "void doubled(int n,", "present", "returns void instead of Doubled"),
        ("kernels in order", "2 * part[n - 1 - i]", "2 * part[i]", "correct", "counted from the other end"),
        ("kernels in order", "void twice(", "void doubled(", "present", "No function twice is defined"),
        ("kernels in order", "__global__ void twice(", "void twice(", "present", "twice in line 8 is no kernel"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tmp_path: Path, shape: str, old: str, new: str, check: str, words: str) -> None:
    lab = lab_of(tmp_path, shape)
    assert LABS[shape][2].count(old) == 1
    found = failed(graded(tmp_path, lab, work__cu=LABS[shape][2].replace(old, new)))
    assert words in found[check].message, {name: c.message for name, c in found.items()}


def test_a_copy_of_what_nothing_has_written_is_named(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, "standard input")
    found = failed(graded(tmp_path, lab, work__cu=STANDARD_INPUT.replace("if (i < n)", "if (i + 1 < n)")))["correct"]
    assert "1 of 64 elements is wrong. y[63] should be" in found.message
    assert found.hint.startswith("Line 17 copies elements of d_y that nothing has written")


def test_a_file_of_the_lab_s_that_is_included_is_compiled_there_alone(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, "own harness")
    reference = tmp_path / "reference.cpp"
    reference.write_text("float half_of(float x) { return x / 2; }\n")
    lab = replace(lab, files={**lab.files, reference.name: reference})
    result = graded(tmp_path, lab, work__cu='#include "reference.cpp"\n' + OF_HARNESS)
    assert (result.status, result.score.earned) == ("passed", 100)


def test_the_lab_s_own_files_win(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, "own harness")
    forged = "int main() { }\n"
    right = graded(tmp_path, lab, work__cu=OF_HARNESS, harness__cu=forged, doubled__h="struct Doubled { int no; };\n")
    assert (right.status, right.score.earned) == ("passed", 100)


def test_what_is_wrong_with_the_lab_s_own_files_is_no_student_s_fault(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, "own harness")
    harness = lab.files["harness.cu"]
    harness.write_text(HARNESS.replace("out[0] =", "out[0] = nothing"))
    with pytest.raises(FileError, match=r"harness\.cu:\d+: the lab's own file is not accepted.*nothing"):
        graded(tmp_path, lab, work__cu=OF_HARNESS)
    # What a student's file lacks is told of that.
    harness.write_text(HARNESS)
    with_fault = failed(graded(tmp_path, lab, work__cu=OF_HARNESS.replace("Doubled ends =", "Doubled ends = nothing")))
    assert "nothing" in with_fault["compiles"].message


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"n"', '"count"', 7, ["'count'", "ends, n, x, y"]),
        ('<int>("n")', '<size_t>("n")', 7, ["'n'", "int32", "size_t"]),
        ('<float *>("ends")', '<float>("ends")', 9, ["'ends'", "float32 *"]),
        ('grader_argument<const float *>("x")', "nullptr", None, ["'x'", "asked for nowhere"]),
        ("grader_call_ends();", "", None, ["grader_call_ends()"]),
    ],
)
def test_a_harness_that_does_not_fit_the_lab_is_refused(
    tmp_path: Path, old: str, new: str, line: int | None, words: list[str]
) -> None:
    lab = lab_of(tmp_path, "own harness")
    assert HARNESS.count(old) == 1
    lab.files["harness.cu"].write_text(HARNESS.replace(old, new))
    with pytest.raises(FileError) as caught:
        load(lab.path.parent)
    assert caught.value.line == line
    for word in words:
        assert word in str(caught.value)


def test_no_main_and_two_are_told(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, "copied back")
    none = failed(graded(tmp_path, lab, work__cu=KERNEL))["present"]
    assert none.message == "The files have no program: main is not defined."
    folder = tmp_path / "student/doubled"
    folder.mkdir()
    (folder / "work.cu").write_text(COPIED)
    (folder / "other.cu").write_text("int main() { return 0; }\n")
    two = failed(graded(tmp_path, lab))["present"]
    assert "other.cu, work.cu" in two.message
