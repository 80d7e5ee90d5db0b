"""Which programs a submission has, with what they are started, and what is kept of their runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.programs.observation import observed, probed
from grader.programs.remembered import Stored
from grader.programs.starts import launched_in, programs_of, ways_to_choose, ways_to_start, without_versions
from grader.programs.toolchain import zig
from grader.submission.kernels.records import ObservedRuns
from grader.submission.source import SourceText, decode

pytestmark = pytest.mark.started

HERE = Path(__file__).parent / "programs"


def source(name: str, text: str) -> SourceText:
    return SourceText(Path(name), text, "utf-8")


MAIN = "int main(int argc, char **argv) { return 0; }"


def test_each_main_is_a_program_with_all_files_that_have_none() -> None:
    files = [source("a.cu", MAIN), source("b.cu", f"/* x */ {MAIN}"), source("k.cu", "__global__ void k() {}")]
    assert [[f.path.name for f in program] for program in programs_of(files)] == [["a.cu", "k.cu"], ["b.cu", "k.cu"]]


def test_a_file_that_another_includes_and_a_main_in_a_comment_are_no_programs() -> None:
    files = [source("a.cu", f'#include "k.cu"\n{MAIN}'), source("k.cu", f"// {MAIN}\n__global__ void k() {{}}")]
    assert [[f.path.name for f in program] for program in programs_of(files)] == [["a.cu"]]


@pytest.mark.parametrize(
    ("kernel_of_main", "programs"),
    [
        # Each of the two files with the kernel makes a program with what belongs to both.
        ("", [["main.cu", "timer.cu", "k0.cu"], ["main.cu", "timer.cu", "k1.cu"]]),
        ("other", [["main.cu", "timer.cu", "k0.cu"], ["main.cu", "timer.cu", "k1.cu"]]),
        ("k", [["main.cu", "timer.cu"]]),
    ],
)
def test_of_files_with_one_kernel_each_makes_a_program(kernel_of_main: str, programs: list[list[str]]) -> None:
    own = f"__global__ void {kernel_of_main}() {{}}\n" if kernel_of_main else ""
    kernel = "__global__ void k() {}"
    texts = {"main.cu": own + MAIN, "k0.cu": kernel, "k1.cu": kernel, "timer.cu": "void start_timer() {}"}
    files = [source(name, text) for name, text in texts.items()]
    assert [[f.path.name for f in program] for program in without_versions(files)] == programs


def test_a_file_beside_a_program_that_defines_the_same_functions_is_no_part_of_it() -> None:
    files = [source("main.cu", f"void f() {{}} {MAIN}"), source("old.cu", "void f() {}")]
    assert [[f.path.name for f in program] for program in without_versions(files)] == [["main.cu"]]


@pytest.mark.parametrize(
    ("text", "sizes", "arguments"),
    [
        (MAIN, [96], [()]),
        ("int main(int c, char **argv) { int n = atoi(argv[1]); }", [96], [(), ("96",)]),
        # The exponent of the size.
        ("int main(int c, char **argv) { int m = atoi(argv[1]); int n = (1 << m); }", [96], [(), ("7",)]),
        ("int main(int c, char **argv) { int m = atoi(argv[1]), n = pow(2, m); }", [96], [(), ("7",)]),
        ("int main(int c, char **argv) { int m = atoi(argv[1]), n = 1 << k; }", [96], [(), ("96",)]),
        (
            "int main(int c, char **argv) { f(argv[1], argv[2]); }",
            [5, 1024],
            [(), ("5", "1024"), ("1024", "5"), ("1024",) * 2, ("1024", "16")],
        ),
    ],
)
def test_arguments_are_sizes_of_the_lab(text: str, sizes: list[int], arguments: list[tuple[str, ...]]) -> None:
    assert [tuple(way.arguments) for way in ways_to_start([source("a.cu", text)], sizes)] == arguments


def test_what_is_asked_for_at_the_keyboard_is_a_size_and_small_numbers_or_sizes_all() -> None:
    ways = ways_to_start([source("a.cu", 'int main() { int m, n; scanf("%d %d", &m, &n); }')], [96])
    assert [way.stdin.split()[:3] for way in ways] == [
        [b"96", b"16", b"16"],
        [b"96", b"96", b"96"],
        [b"1", b"96", b"2"],
    ]


IF_CHAINS = {
    "int main(int c, char **argv) { int n = atoi(argv[1]), mode = atoi(argv[2]); if (mode == 1) a(); "
    "else if (mode == 2) b(); else d(); }": [("96", "0"), ("96", "1"), ("96", "2"), ("96", "3")],
    'int main(int c, char **argv) { int n = std::stoi(argv[2]); if (!strcmp(argv[1], "naive")) a(); '
    'else if (strcmp(argv[1], "tiled") == 0) b(); }': [("naive", "96"), ("tiled", "96")],
    # A switch: sizes before it, or a size and the sides of a block.
    "int main(int c, char **argv) { int n = atoi(argv[1]), side = atoi(argv[2]); switch (std::atoi(argv[3])) { "
    "case 1: { a(); break; } case 2: b(); } }": [
        ("96", "16", "0"),
        ("96", "16", "1"),
        ("96", "16", "2"),
        ("96", "16", "3"),
    ],
    "int main(int c, char **argv) { int n = atoi(argv[1]), way = atoi(argv[2]); switch (way) { case 0: a(); } }": [
        ("96", "0"),
        ("96", "1"),
    ],
    'int main(int c, char **argv) { std::string what = argv[1]; if (what == "a") a(); if (what == "b") b(); }': [
        ("a",),
        ("b",),
    ],
    # Of a size that is looked at once nothing is chosen but whether it was given; options are no values.
    'int main(int c, char **argv) { if (!strcmp(argv[1], "--help")) return 1; int n = atoi(argv[2]); }': [],
    "int main(int c, char **argv) { int n = c > 1 ? atoi(argv[1]) : 64; }": [],
}


@pytest.mark.parametrize("text", IF_CHAINS)
def test_what_an_argument_is_compared_with_is_handed_in_at_its_place(text: str) -> None:
    assert [tuple(way.arguments) for way in ways_to_choose([source("a.cu", text)], [96])] == IF_CHAINS[text]


def test_a_number_from_the_keyboard_may_be_compared_in_place_of_switched_over() -> None:
    text = "int main() { int n, what; std::cin >> n; std::cin >> what; if (what == 1) a(); else b(); }"
    ways = [way.stdin.split()[:2] for way in ways_to_choose([source("a.cu", text)], [96])]
    assert [b"96", b"1"] in ways and [b"96", b"2"] in ways and [b"1", b"96"] in ways
    # A number that is not read chooses nothing.
    text = "int main() { int n, what = 1; std::cin >> n; if (what == 1) a(); else b(); }"
    assert ways_to_choose([source("a.cu", text)], [96]) == []


@pytest.mark.slow
def test_every_instance_of_a_template_that_words_choose_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "main.cu"
    path.write_text(
        """\
#include <cstdlib>
#include <string>
template <int Pad> __global__ void turn(float *a, int n) { a[threadIdx.x] = n + Pad; }
__global__ void plain(float *a, int n) { a[threadIdx.x] = n; }
int main(int argc, char **argv) {
  if (argc < 3) return 1;
  std::string how = argv[1];
  int n = std::atoi(argv[2]);
  float *a;
  cudaMalloc(&a, n * sizeof(float));
  if (how == "plain") plain<<<1, 32>>>(a, n);
  else if (how == "shared") turn<0><<<1, 32>>>(a, n);
  else if (how == "padded") turn<1><<<1, 32>>>(a, n);
  cudaFree(a);
}
"""
    )
    runs = observed([decode(path)], None, [64]).runs
    assert {(x.kernel, x.template_arguments) for run in runs for x in run.launches} == {
        ("plain", ()),
        ("turn", ("0",)),
        ("turn", ("1",)),
    }


@pytest.mark.parametrize(
    "kernel",
    [
        "#define SIDE 32\n__global__ void k(float *a) { __shared__ float tile[SIDE][SIDE + 1]; }",
        "#define SIDE 32\n__global__ void k(float *a) { extern __shared__ int x[]; __shared__ int t[SIDE * SIDE]; }",
        "__global__ void k(float *a) { const int side = 2 * 16; __shared__ float tile[side + 1][side]; }",
        "template <int T = 32> __global__ void k(float *a) { __shared__ float tile[T][T]; }",
        "__device__ void f() { __shared__ float t[32]; } __global__ void k(float *a) { f(); }",
    ],
)
def test_a_block_that_is_asked_for_is_as_wide_as_the_tile(kernel: str) -> None:
    text = f"{kernel}\nint main(int c, char **argv) {{ int n = atoi(argv[1]), threads = atoi(argv[2]); }}"
    assert ("256", "32") in [way.arguments for way in ways_to_start([source("a.cu", text)], [256, 256])]


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        ("__global__ void a(int *p) {} #define RUN(k) k<<<1, 1>>>(0)\n int main() { RUN(a); }", {"a"}),
        (
            "__global__ void a(int *p) {} __global__ __launch_bounds__(64) void b(int *p) {} f(b); p<<<1, 1>>>(0);",
            {"b"},
        ),
        ("__global__ void a(int *p) {} a<<<1, 1>>>(0);", {"a"}),
    ],
)
def test_a_kernel_that_is_launched_by_another_name_is_waited_for(text: str, kernels: set[str]) -> None:
    assert launched_in([source("a.cu", text)]) == kernels


def test_launches_are_seen_in_every_spelling() -> None:
    text = "k<<<1, 2>>>(a); t<16, float> <<< g, b >>>(a); u << <1, 1> >>(); // v<<<1, 1>>>();"
    assert launched_in([source("a.cu", text)]) == {"k", "t", "u"}


@pytest.mark.parametrize(
    "launcher",
    [
        "template <typename F> void timed(F kernel, float *a) { kernel<<<1, 32>>>(a); }",
        "void timed(void (*kernel)(float *), float *a) { kernel<<<1, 32>>>(a); }",
        "#define MAIN\nvoid (*kernel)(float *) = k; void timed(...) { kernel<<<1, 32>>>(nullptr); }",
        "void timed(...) { auto kernel = k; kernel<<<1, 32>>>(nullptr); }",
    ],
)
def test_a_kernel_handed_to_what_launches_it_is_the_one_to_be_seen(launcher: str) -> None:
    kernels = "__global__ void k(float *a) {}\n__global__ __launch_bounds__(32) void u(float *a) {}\n"
    kernels += "template <int T> __global__ void never(float *a) {}\n"
    main = "int main() { timed(k, nullptr); timed(u, nullptr); }"
    assert launched_in([source("a.cu", kernels + launcher + main)]) == {"k", "u"}


def test_a_file_without_main_is_not_run_and_says_so() -> None:
    found = observed([source("a.cu", "__global__ void k(float *a) { a[0] = 1; }")])
    assert found.launches == ()
    assert [run.cause.id for run in found.runs if run.cause] == ["observation.no_main"]


def test_runs_are_kept_by_what_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [decode(HERE / "floor_in_wrapper.cu")]
    store = Stored(tmp_path)
    first = observed(files, store)
    assert [(x.kernel, x.grid, x.block, x.line) for x in first.launches] == [
        ("naiveTranspose", (16, 32, 1), (16, 16, 1), 40)
    ]
    values = {a.name: (a.value, a.before, a.read_back) for a in first.launches[0].arguments}
    assert values == {
        "out": (None, "", True),
        "in": (None, "data", False),
        "rows": (512, "", False),
        "cols": (256, "", False),
    }
    probes = probed(files, first, store)
    assert [x.grid for x in probes.probes] == [(15, 31, 1)]
    # From now on nothing is run.
    monkeypatch.setattr("grader.programs.observation.run_each", None)
    monkeypatch.setattr("grader.programs.observation.run_each", None)
    assert observed(files, store) == first
    assert probed(files, first, store) == probes
    assert probed(files, ObservedRuns(), store) == ObservedRuns()


def test_the_package_brings_the_library_that_would_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`scripts/pack_library.py` packs it anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(zig, "_build", None)
    assert zig.find() is None
    built = zig.build()
    assert all(Path(part).is_file() for part in built.link_inputs)


def test_a_program_that_is_told_a_number_is_given_each() -> None:
    text = "int main(int c, char **argv) { int k = atoi(argv[1]); switch (k) { case 0: a<<<1, 2>>>(); } }"
    assert [way.arguments for way in ways_to_choose([source("a.cu", text)], [96])][:3] == [("0",), ("1",), ("2",)]
    longer = text.replace("switch", "int b = atoi(argv[2]), n = atoi(argv[5]); switch")
    assert ways_to_choose([source("a.cu", longer)], [96, 64], 8)[3].arguments == ("3", "8", "8", "96", "64")
    typed = "int main() { int k; cin >> k; switch (k) { case 1: a<<<1, 2>>>(); } }"
    assert ways_to_choose([source("a.cu", typed)], [96])[1].stdin.split()[:3] == [b"1", b"96", b"16"]
    assert ways_to_choose([source("a.cu", text.replace("switch", "while"))], [96]) == []
    # After two sizes, of each of which the smaller may be all that one block holds.
    last = 'int main() { scanf("%d %d", &n, &m); cin >> k; switch (k) { case 1: a<<<1, n>>>(); } }'
    given = [way.stdin.split()[:4] for way in ways_to_choose([source("a.cu", last)], [96])]
    assert [b"96", b"96", b"3", b"96"] in given and [b"16", b"16", b"3", b"16"] in given


@pytest.mark.slow
def test_a_program_too_large_by_itself_is_run_with_sizes_where_it_takes_some(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("""
#include <cstdio>
#include <cstdlib>
__global__ void flip(float *out, const float *in, int n) { if (threadIdx.x < n) out[threadIdx.x] = in[threadIdx.x]; }
int main(int argc, char **argv) {
    int n = 40000;
    if (argc == 2) n = atoi(argv[1]);
    char *h = (char *)malloc((size_t)n * n);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, h, n * sizeof(float), cudaMemcpyHostToDevice);
    flip<<<1, 256>>>(out, in, n);
    printf("%d\\n", h[n]);
}
""")
    found = observed([decode(path)], None, [256])
    assert [(run.arguments, [launch.arguments[2].value for launch in run.launches]) for run in found.runs] == [
        (("256",), [256]),
        (("256",), [256]),  # with its kernels
    ]


def test_a_program_is_not_ended_by_what_one_device_lacks(tmp_path: Path) -> None:
    """100 KB of shared memory a block is more than the oldest devices have, and what newer ones do."""
    path = tmp_path / "large.cu"
    path.write_text(
        "__global__ void k(float *a) { extern __shared__ float s[]; s[threadIdx.x] = 1; a[threadIdx.x] = s[0]; }\n"
        "int main()\n{\n    float *a;\n    cudaMalloc(&a, 128);\n"
        "    auto what = cudaFuncAttributeMaxDynamicSharedMemorySize;\n"
        "    if (cudaFuncSetAttribute(k, what, 102400) != cudaSuccess) return 1;\n"
        "    k<<<1, 32, 102400>>>(a);\n    return cudaDeviceSynchronize();\n}\n"
    )
    seen = observed([decode(path)])
    assert [(launch.shared_bytes, launch.refused) for launch in seen.launches] == [(102400, False)]
