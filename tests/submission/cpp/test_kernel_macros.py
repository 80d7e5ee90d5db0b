"""Kernels behind macros: shown where they are used, on the same line; every other macro left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.submission.binding.bind import bind
from grader.submission.cpp.constants import Macro
from grader.submission.cpp.parse import device_macros, with_kernels_shown
from grader.submission.folder import FoundSubmission, LabSettings
from grader.submission.kernels.kernel import kernels_in
from grader.submission.source import decode
from tests.submission.labs import FLIP, bound, parsed

HEAD = "#define KERNEL __global__ void\n"


ADD = "#define ADD(T, op) \\\n  __global__ void add_##T(T *a) \\\n  { a[0] = a[0] op 1; f(#T); }\n"
BRANCHES = "#ifdef X\n#define HD __host__ __device__\n#else\n#define HD\n#endif\n"


@pytest.mark.parametrize(
    ("macros", "use", "shown"),
    [
        (HEAD, "KERNEL k(int *a) {}", "__global__ void k(int *a) {}"),
        # Words alone: comments, strings and longer words that hold the name stay.
        (HEAD, '// KERNEL\nprintf("KERNEL"); int MY_KERNEL;', '// KERNEL\nprintf("KERNEL"); int MY_KERNEL;'),
        # Through each other, and with parameters.
        ("#define G __global__\n#define K G void\n", "K k() {}", "__global__ void k() {}"),
        ("#define K(n) __global__ void n\n", "K(k)(int *a) {}", "__global__ void k(int *a) {}"),
        ("#define K(n) __global__ void n\n", "int K;", "int K;"),
        ("#define K(n, b) __global__ void n() b\n", "K(k, { f(1, 2); })", "__global__ void k() { f(1, 2); }"),
        # Whole kernels, their names pasted; what takes several lines stands in one, and the next one stays where it is.
        (
            ADD,
            "ADD(float,\n    +)\nint x;",
            '__global__ void add_float(float *a)    { a[0] = a[0] + 1; f("float"); }\n\nint x;',
        ),
        # Of two branches the one that speaks of the device.
        (BRANCHES, "HD int f() {}", "__host__ __device__ int f() {}"),
        (HEAD + "#undef KERNEL\n", "KERNEL k();", "KERNEL k();"),
        # All else is left to the compiler.
        ("#define N 4\n", "__global__ void k(int *a) { a[0] = N; }", "__global__ void k(int *a) { a[0] = N; }"),
    ],
)
def test_what_is_shown(macros: str, use: str, shown: str) -> None:
    assert with_kernels_shown(macros + use) == macros + shown
    assert shown.count("\n") == use.count("\n")


def test_macros_without_end_come_to_an_end() -> None:
    text = "#define A __device__ B\n#define B __global__ A A\n" + "#define C(x) __global__ x x C(x)\n" + "A C(C(C(1)))"
    assert with_kernels_shown(text).count("\n") == 3
    doubled = "".join(f"#define D{i + 1} D{i} D{i}\n" for i in range(40))
    assert len(with_kernels_shown(f"#define D0 __device__ x\n{doubled}D40")) < 1 << 21


def test_macros_of_headers() -> None:
    known = device_macros(HEAD)
    assert known == {"KERNEL": Macro("__global__ void")}
    assert with_kernels_shown("KERNEL k(int *a) {}", known) == "__global__ void k(int *a) {}"


def test_kernels_made_by_a_macro_are_found_where_it_is_used() -> None:
    text = "#define K(T) __global__ void k_##T(const T *in, T *out) { out[0] = in[0]; }\n\nK(float)\nK(int)\n"
    assert [(k.name, k.line, k.parameters[0].dtype) for k in kernels_in(parsed(text))] == [
        ("k_float", 3, "float32"),
        ("k_int", 4, "int32"),
    ]
    assert bound(text).device_source["main.cu"].split("\n")[2] == (
        "__global__ void k_float(const float *in, float *out) { out[0] = in[0]; }"
    )


def test_headers_serve_every_file_that_includes_them(tmp_path: Path) -> None:
    """A macro, a type and a size of one header are used by the kernels' file, and nothing of it by the other."""
    (tmp_path / "types.h").write_text(
        "using real = float;\nenum { SIDE = 16 };\nconst int HALF = SIDE / 2;\n#define KERNEL __global__ void\n"
    )
    (tmp_path / "kernels.cuh").write_text(
        '#include "types.h"\n__device__ inline int twice() { return HALF * 4; }\n'
        "KERNEL naive(const real *in, real *out);\n"
    )
    (tmp_path / "kernels.cu").write_text(
        '#include "kernels.cuh"\nKERNEL naive(const real *in, real *out) { out[SIDE] = in[twice()]; }\n'
    )
    (tmp_path / "main.cu").write_text('#include "kernels.cuh"\nint main() { naive<<<1, 32>>>(a, b); }\n')
    files = (tmp_path / "kernels.cu", tmp_path / "main.cu")
    found = FoundSubmission("ivanov", FLIP.id, tmp_path, files, settings=LabSettings())
    submission = bind(found, [decode(file) for file in files], FLIP)
    assert [(k.name, k.file, k.line) for k in submission.kernels] == [("naive", "kernels.cu", 2)]
    types, kernels = submission.device_source["types.h"], submission.device_source["kernels.cuh"]
    assert [part in types for part in ("using real = float;", "enum { SIDE = 16 };", "const int HALF")] == [True] * 3
    assert "twice()" in kernels
    # The report shows what was handed in.
    texts = {source.path.name: source.text for source in submission.sources}
    assert texts["kernels.cu"].startswith('#include "kernels.cuh"\nKERNEL naive')
