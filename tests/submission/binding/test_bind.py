"""Binding as a whole: what is missing and why, what `submission.yaml` states, headers and namespaces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from grader.errors import FileError
from grader.lab.records import Lab
from grader.submission.binding.bind import bind, why_absent
from grader.submission.binding.entries import Entry, launched_twice
from grader.submission.folder import VariantSettings, find_sources
from grader.submission.kernels.records import LaunchSite
from grader.submission.records import Missing, Origins, Submission
from grader.submission.source import SourceText, decode
from tests.submission.binding.kernels import binding, kernel, names, settings
from tests.submission.labs import FLIP, PRODUCT, SOURCES, bound


def missing(submission: Submission, variant: str) -> Missing:
    found = submission.bindings[variant]
    assert isinstance(found, Missing), found
    return found


def test_why_a_variant_is_missing() -> None:
    submission = bound(
        """__global__ void init(float *a) { a[0] = 1; }
__global__ void naive(const float *a, float *b) { /* TODO */ }
__global__ void tile(const float *a, float *b, float scale) { __shared__ float t[32][32]; b[0] = a[0] * scale; }
"""
    )
    kernels = ["init", "naive", "tile"]
    assert missing(submission, "naive") == Missing("naive", "empty", {"kernel": "naive", "file": "main.cu", "line": 2})
    assert missing(submission, "shared") == Missing(
        "shared",
        "unbindable",
        {"kernel": "tile", "file": "main.cu", "line": 3, "detail": "parameter", "parameter": "scale", "type": "float"},
    )
    assert missing(submission, "padded") == Missing("padded", "no_candidate", {"kernels": kernels})


def test_kernels_without_a_body_that_take_other_parameters_are_of_another_task() -> None:
    others = "__global__ void norm(float *a) {}\n__global__ void sums(float *a, float *b, float x) {}\n"
    found = missing(bound(others), "naive")
    assert (found.reason, found.data["kernels"], found.data["line"]) == ("all_empty", "norm, sums", 1)
    # Of one that has a body it is told why it is none of the task's, of one called as the variant that it has none.
    found = missing(bound(others + "__global__ void work(float *a) { a[0] = 1; }"), "naive")
    assert (found.reason, found.data["kernel"]) == ("unbindable", "work")
    assert missing(bound(others.replace("norm", "naive")), "naive").reason == "empty"


def test_a_kernel_with_too_few_arrays_is_unbindable() -> None:
    found = missing(bound("__global__ void naive(float *a) { a[0] = 1; }"), "naive")
    assert (found.reason, found.data["detail"], found.data["expected"], found.data["got"]) == (
        "unbindable",
        "pointers",
        2,
        1,
    )


def test_a_kernel_that_stores_into_its_input_works_in_place() -> None:
    text = (
        "__global__ void naive(float *a, int n) { float t = a[threadIdx.x]; __syncthreads(); a[n - threadIdx.x] = t; }"
    )
    found = missing(bound(text), "naive")
    assert found.data == {
        "kernel": "naive",
        "file": "main.cu",
        "line": 1,
        "detail": "in_place",
        "expected": 2,
        "own": "a",
    }


def test_a_file_without_kernels() -> None:
    assert set(names(bound("int main() { return 0; }")).values()) == {"no_global"}


def test_settings_overrule_what_is_found_out() -> None:
    text = kernel("naive", "naive") + kernel("odd", "naive", "float *a, float *b, int p, int q")
    chosen = settings(
        naive=VariantSettings(
            kernel="odd", arguments=["out", "in", "cols", "rows"], block=[16, 4], tile=[32, 32], shared_bytes=64
        )
    )
    found = binding(bound(text, settings=chosen), "naive")
    assert found.kernel.name == "odd"
    assert {c.roles for c in found.interpretations} == {("out", "in", "cols", "rows")}
    plan = found.interpretations[0].launch
    assert (plan.block, plan.tile, plan.shared_bytes) == ((16, 4, 1), (32, 32), 64)
    assert found.interpretations[0].origins == Origins(
        kernel="stated", arguments="stated", block="stated", tile="stated", covers="lab", shared_bytes="stated"
    )


def test_a_named_kernel_is_no_other_variant() -> None:
    assert names(bound(kernel("padded", "padded"), settings=settings(shared=VariantSettings(kernel="padded")))) == {
        "naive": "no_candidate",
        "shared": "padded",
        "padded": "no_candidate",
    }


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("naive: nobody", r"labs\.flip\.variants\.naive.*no such kernel: nobody.*allowed: naive"),
        ("naive: naive\n      padded: naive", "named for the variant naive already"),
        ("naive: naive<32>", "1 template arguments for the kernel naive, which has 0 template parameters"),
        ("naive: {arguments: [in, out, rows]}", "3 roles for the kernel naive, which has 2 parameters"),
        ("naive: {arguments: [in, uot]}", r"arguments\[1\]: no such parameter of the lab: uot; did you mean `out`"),
        ("naive: {arguments: [in, rows]}", "the parameter b of the kernel naive cannot be rows"),
        ("naive: {arguments: [in, in]}", "no parameter is out"),
        ("naive: {block: [0, 8]}", r"block\[0\]"),
        ("naive: {block: [1, 2, 3, 4]}", r"must be a list of length 3 or less \(got \[1, 2, 3, 4\]\)"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, entry: str, words: str) -> None:
    (tmp_path / "flip.cu").write_text(kernel("naive", "naive"))
    (tmp_path / "submission.yaml").write_text(f"labs:\n  flip:\n    variants:\n      {entry}\n")
    with pytest.raises(FileError, match=words) as error:
        found = find_sources(tmp_path, "flip")
        bind(found, [decode(file) for file in found.files], FLIP)
    assert error.value.path == tmp_path / "submission.yaml"
    assert error.value.line in (4, 5)


def bound_folder(folder: Path, lab: Lab = FLIP) -> Submission:
    found = find_sources(folder, lab.id)
    return bind(found, [decode(file) for file in found.files], lab)


def test_a_file_for_each_variant(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov"
    (folder / "flip").mkdir(parents=True)
    for kind in ("naive", "shared", "padded"):
        launch = f"int main() {{ run<<<dim3(n / 16, n / 16), dim3(16, {4 if kind == 'naive' else 16})>>>(a, b); }}"
        (folder / "flip" / f"{kind}.cu").write_text(kernel("run", kind) + launch)
    submission = bound_folder(folder)
    files = {name: binding(submission, name).kernel.file for name in submission.bindings}
    assert files == {"naive": "naive.cu", "shared": "shared.cu", "padded": "padded.cu"}
    # Each kernel has the launch of its own file.
    assert binding(submission, "naive").interpretations[0].launch.block == (16, 4, 1)
    assert binding(submission, "padded").interpretations[0].launch.block == (16, 16, 1)


def test_constants_in_a_header_of_the_submission(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov" / "flip"
    folder.mkdir(parents=True)
    (folder / "common.h").write_text("#define TILE 16\n#define H 4096\ntypedef double real;\n")
    body = "{ __shared__ real t[TILE][TILE + 1]; t[0][0] = a[H]; b[0] = t[0][0]; }"
    (folder / "pad.cu").write_text(f'#include "common.h"\n__global__ void pad(const real *a, real *b) {body}\n')
    (folder / "main.cu").write_text(
        '#include "common.h"\nint main() { dim3 block(TILE, TILE); pad<<<dim3(4, 4), block>>>(p, q); }\n'
    )
    found = find_sources(tmp_path / "ivanov", FLIP.id)
    submission = bind(found, [decode(file) for file in found.files], FLIP)
    padded = binding(submission, "padded")
    assert [array.dims for array in padded.kernel.shared_arrays] == [(16, 17)]
    assert [p.dtype for p in padded.kernel.parameters] == ["float64", "float64"]
    assert padded.requested is not None
    assert padded.requested.block == (16, 16, 1)
    # A size that stands in the header can be another one for each run.
    assert padded.interpretations[0].constants == (("rows", "H"),)
    assert "#define H 33" in submission.program("pad.cu", {"H": 33})["common.h"]


def test_kernels_in_a_header_of_the_submission(tmp_path: Path) -> None:
    folder = tmp_path / "ivanov"
    folder.mkdir()
    (folder / "kernels.cuh").write_text("#pragma once\n" + kernel("flipNaive", "naive"))
    (folder / "flip.cu").write_text(
        '#include "kernels.cuh"\nint main() { flipNaive<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(a, b); }\n'
    )
    submission = bound_folder(folder)
    found = binding(submission, "naive")
    assert (found.kernel.file, found.kernel.line) == ("kernels.cuh", 2)
    assert found.interpretations[0].launch.block == (8, 8, 1)
    # It is compiled as nvcc does it: with what stands before its inclusion.
    assert list(submission.program("kernels.cuh")) == ["flip.cu", "kernels.cuh"]
    assert list(submission.program("flip.cu")) == ["flip.cu", "kernels.cuh"]
    assert submission.missing_headers == ()


def test_kernels_in_namespaces_are_named_in_full() -> None:
    found = binding(bound("namespace lab { " + kernel("naive", "naive") + " }"), "naive")
    assert (found.expression, found.kernel.name) == ("lab::naive", "naive")


def test_what_a_submission_holds() -> None:
    submission = bound("// \u202e\n" + kernel("naive", "naive") + "int main() { naive<<<1, dim3(8, 8)>>>(a, b); }\n")
    assert (submission.student, submission.name, submission.group) == ("ivanov", "", "")
    assert submission.remarks == (("bidi_control", 1),)
    assert [k.name for k in submission.kernels] == ["naive"]
    assert [(s.kernel, s.line) for s in submission.launches] == [("naive", 3)]
    assert submission.device_source["main.cu"].split("\n")[2].strip() == ""


@hypothesis_settings(deadline=None)
@given(st.data())
def test_damaged_programs_are_bound_or_missing(data: st.DataObject) -> None:
    names_of_files = ["samples_style.cu", "six_sizes.cu", "pasted_from_pdf.cu"]
    text = (SOURCES / data.draw(st.sampled_from(names_of_files))).read_text(encoding="utf-8")
    for _cut in range(2):
        start = data.draw(st.integers(0, len(text) - 2))
        end = data.draw(st.integers(start, min(len(text) - 1, start + 80)))
        text = (
            text[:start] + data.draw(st.sampled_from(["", "{", "}", "(", "<<<", "[", '"', "#else\n", "n"])) + text[end:]
        )
    for lab in (FLIP, PRODUCT):
        submission = bound(text, lab)
        assert set(submission.bindings) == {variant.name for variant in lab.variants}
        assert submission.device_source["main.cu"].count("\n") == text.count("\n")


K = "__global__ void k(float *a) { a[0] = 1; }"


@pytest.mark.parametrize(
    ("text", "headers", "expected"),
    [
        ("int main() { return 0; }", [], ("no_global", {})),
        ("\n_global_ void k(int *a) {}", [], ("misspelt_global", {"file": "a.cu", "line": 2, "word": "_global_"})),
        ("**global** void k(int *a) {}", [], ("misspelt_global", {"file": "a.cu", "line": 1, "word": "**global**"})),
        ("int global; void k(int *a) {} // _global_ void", [], ("no_global", {})),
        ("float f();\n__global__ void k(float *a,\n   int n);\n", [], ("declared", {"line": 2, "kernel": "k"})),
        (
            '#include "k.cuh"\n__global__ void k(float *a);\n',
            [("a.cu", "k.cuh", 1)],
            ("declared_elsewhere", {"line": 2, "kernel": "k", "header": "k.cuh"}),
        ),
        ('#include "k.cuh"\nint main() {}', [("a.cu", "k.cuh", 1)], ("missing_header", {"line": 1, "header": "k.cuh"})),
        (f"int x;\n// {K}\n", [], ("commented", {"line": 2})),
        (f"int x;\n/*\n{K}\n*/\n", [], ("commented", {"line": 3})),
        (f"#if 0\n{K}\n#endif\n", [], ("inactive", {"line": 2})),
        (
            "#define BODY(x) { x; \\\n  if (x) {\n }}\n__global__ void k(float *a) BODY(a)\n",
            [],
            ("cut_macro", {"line": 2}),
        ),
        (f'const char *s = "__global__ void h();";\n{K}', [], ("inactive", {"line": 1})),
    ],
)
def test_the_cause_is_told_with_its_line(
    text: str, headers: list[tuple[str, str, int]], expected: tuple[str, dict[str, object]]
) -> None:
    found = why_absent([SourceText(Path("a.cu"), text, "utf-8")], headers, set())
    assert found is not None
    assert found[0] == expected[0]
    assert {key: found[1][key] for key in expected[1]} == expected[1]


def test_where_a_kernel_was_found_only_what_is_declared_is_told() -> None:
    defined = SourceText(Path("a.cu"), f"__global__ void k(float *a);\n{K}\n__global__ void j(int *b);", "utf-8")
    found = why_absent([defined], [], {"k"})
    assert found is not None and (found[0], found[1]["kernel"]) == ("declared", "j")
    assert why_absent([SourceText(Path("a.cu"), K, "utf-8")], [], {"k"}) is None


def test_one_kernel_that_is_launched_in_several_lines_is_told_where_another_is_missing() -> None:
    entry = Entry.__new__(Entry)
    for lines, wanted in (((7, 9), {"launched": "flip<0>", "lines": "7, 9"}), ((7, 7), {})):
        entry.sites = tuple(
            replace(LaunchSite("flip", n, (32, 1, 1), (), 0), observed=True, template_arguments=("0",)) for n in lines
        )
        assert launched_twice([entry]) == wanted


def test_a_type_of_a_header_that_was_not_handed_in_makes_no_other_task_of_a_kernel() -> None:
    """The compiler says which header is missing, so there has to be something to compile."""
    text = (
        '#include "matrix.h"\n'
        "__global__ void naive(const Matrix in, Matrix out) { out.data[threadIdx.x] = in.data[threadIdx.x]; }\n"
    )
    assert binding(bound(text), "naive").kernel.name == "naive"
    assert missing(bound(text.replace('#include "matrix.h"\n', "")), "naive").data["detail"] == "parameter"
