"""Changes of what host code launches, how many blocks and threads and how much shared memory, as what becomes of its
text."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.blocks import given_block_changes, limit_changes, row_changes
from grader.repair.faster_changes import shape_changes
from grader.repair.function import changed
from grader.repair.host_arguments import host_of
from grader.repair.host_calls import host_changes
from grader.repair.launch_sites import launches_of, rows_of
from grader.repair.launches import (
    crosswise,
    given_grid_changes,
    grid_changes,
    launch_changes,
    named_like,
    shared_changes,
)
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


TABLE = """struct Variant { const char *name; void (*kernel)(float *); dim3 grid, block; size_t shared; };
__global__ void byRow(float *a) {}
__global__ void byTile(float *a) {}
__global__ void unrolled(float *a) {}
int main() {
dim3 grid((w + 15) / 16, (h + 15) / 16), block(16, 16);
const Variant all[] = {
{"row", byRow, dim3(n), dim3(64), n},
{"tile", byTile, grid, block, 0},
{"unrolled", byTile, grid, block, 0},
};
for (const Variant &v : all) v.kernel<<<v.grid, v.block, v.shared>>>(d);
}
"""


def test_a_row_of_a_table_is_a_launch() -> None:
    parsed = parse(SourceText(Path("p.cu"), TABLE, "utf-8"))
    rows = [row for row, _called in rows_of(parsed)]
    assert [(row.line, row.callee) for row in rows] == [(8, "byRow"), (9, "byTile"), (10, "byTile")]
    made = [changed(TABLE, c) for c in shared_changes(rows[0], {}) if c.detail == "bytes"]
    assert made == [TABLE.replace("dim3(64), n}", "dim3(64), n * sizeof(float)}")]
    made = [changed(TABLE, c) for c in grid_changes(rows[1]) if c.detail == "axes"]
    assert TABLE.replace("(w + 15) / 16, (h + 15) / 16", "(h + 15) / 16, (w + 15) / 16") in made


def test_a_kernel_that_no_row_names_is_put_where_another_stands_twice() -> None:
    parsed = parse(SourceText(Path("p.cu"), TABLE, "utf-8"))
    changes = sorted(row_changes(parsed, ["unrolled"]), key=lambda change: change.cost)
    assert changed(TABLE, changes[0]) == TABLE.replace('"unrolled", byTile', '"unrolled", unrolled')


def test_a_grid_that_only_a_macro_names_is_changed_where_it_is_declared() -> None:
    text = "#define RUN(k) k<<<grid, block>>>(d)\n" + TABLE.partition("const Variant")[0] + "RUN(byTile);\n}\n"
    made = [changed(text, c) for c in given_grid_changes(parse(SourceText(Path("p.cu"), text, "utf-8")))]
    assert text.replace("(w + 15) / 16, (h + 15) / 16", "(h + 15) / 16, (w + 15) / 16") in made
    # What a launch names is changed for that.
    text = text.replace("RUN(byTile);", "byTile<<<grid, block>>>(d);")
    assert not list(given_grid_changes(parse(SourceText(Path("p.cu"), text, "utf-8"))))


def test_an_argument_that_is_named_like_another_parameter_is_exchanged_with_the_one_in_its_place() -> None:
    text = "__global__ void k(float *a, int n, int count) {}\nint main() {\nk<<<1, 32>>>(d, mine, job.n);\n}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    (change,) = crosswise([launch], [[0, None, 1]])
    assert changed(text, change) == text.replace("mine, job.n", "job.n, mine")
    # Its place is taken by what is named for another.
    assert not list(crosswise([launch], [[0, 1, 1]]))


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


@pytest.mark.parametrize("n", ["8", "argc > 1 ? atoi(argv[1]) : 8"])
@pytest.mark.parametrize(
    ("uses", "after", "line"),
    [
        ("", "size = n * sizeof(float);\nk<<<1, n, size>>>(d);", 2),
        ("j<<<1, n, size>>>(d);", "size = n * sizeof(float);\nj<<<1, n, size>>>(d);k<<<1, n, size>>>(d);", 2),
        # What the name stands for elsewhere stays as it is.
        ("f(size);", "size = n;\nf(size);k<<<1, n, size * sizeof(float)>>>(d);", 3),
    ],
)
def test_the_bytes_of_shared_memory_are_changed_where_nothing_else_depends_on_them(
    uses: str, after: str, line: int, n: str
) -> None:
    head, after = "int main() {\n", f"int n = {n}, {after}"
    text = f"{head}int n = {n}, size = n;\n{uses}k<<<1, n, size>>>(d);\n}}\n"
    parsed = parse(SourceText(Path("p.cu"), text, "utf-8"))
    found = {
        changed(text, c).removeprefix(head).removesuffix("\n}\n"): c.line
        for launch in launches_of(parsed)
        for c in launch_changes(launch, {}, ())
        if c.detail == "bytes"
    }
    assert found.get(after) == line, found


@pytest.mark.parametrize(
    ("size", "after"),
    [
        ("(threads + HALO) * sizeof(float)", "(threads + 2 * HALO) * sizeof(float)"),
        ("threads * sizeof(float)", "n * sizeof(float)"),
    ],
)
def test_the_likeliest_size_of_shared_memory_has_a_margin_on_both_sides_or_all_elements(size: str, after: str) -> None:
    text = f"""#define HALO 2
__global__ void k(float *a, int n);
int main() {{
const int n = 1000, threads = min(n, 256);
size_t bytes = {size};
k<<<1, threads, bytes>>>(d, n);
}}
"""
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    sizes = [c for c in launch_changes(launch, {"HALO": 2}, ()) if c.group == "shared_bytes"]
    assert changed(text, min(sizes, key=lambda c: c.cost)) == text.replace(size, after)


def test_a_margin_that_is_a_number_grows_with_what_the_kernel_is_handed() -> None:
    text = "void f(int radius) {\nk<<<8, 256, (256 + 2) * sizeof(float)>>>(d, radius);\n}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in sorted(shared_changes(launch, {}), key=lambda c: c.cost)]
    assert text.replace("256 + 2)", "256 + 2 * radius)") in made[:2]


def test_a_number_of_bytes_is_changed_where_it_is_computed_though_a_limit_is_raised_to_it_too() -> None:
    text = """#define THREADS 128
__global__ void k(float *a, int n);
void f(float *d, int n) {
size_t bytes = THREADS * n * sizeof(float);
if (bytes > 48 * 1024) CHECK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
k<<<1, THREADS, bytes>>>(d, n);
}
"""
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    sizes = [c for c in launch_changes(launch, {"THREADS": 128}, ()) if c.group == "shared_bytes"]
    made = {changed(text, c): c.cost for c in sizes}
    enough = text.replace("sizeof(float);", "sizeof(float) * n;")
    too_much = text.replace("THREADS * n", "THREADS * THREADS")
    assert all(c.line == 4 for c in sizes) and made[enough] < made[too_much]


@pytest.mark.parametrize(
    ("launch", "before"),
    [
        ("k<4><<<1, 32, n * sizeof(float)>>>(d);", "k<4>, {}, n * sizeof(float)"),
        ("k<<<1, 32>>>(d);", ""),
        ("switch (n) { case 1: k<<<1, 32, n>>>(d); }", ""),
    ],
)
def test_the_limit_of_shared_memory_is_raised_before_a_launch(launch: str, before: str) -> None:
    text = f"int main() {{\n{launch}\n}}\n"
    (parsed,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in limit_changes(parsed) if c.detail == "opt_in"]
    call = f"cudaFuncSetAttribute({before.format('cudaFuncAttributeMaxDynamicSharedMemorySize')});\n"
    assert made == ([text.replace("k<4>", f"{call}k<4>", 1)] if before else [])


def test_the_remainder_that_adds_a_block_is_one_of_the_same_division() -> None:
    head = "int main() {\nint blocks = n / 32 + 1 - (n % 4 == 0);\nk<<<blocks, 32>>>(d);\n}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), head, "utf-8")))
    found = {changed(head, c): (c.line, c.detail) for c in launch_changes(launch, {}, ())}
    assert found[head.replace("% 4", "% 32")] == (2, "remainder")
    assert "rounded" not in {detail for _line, detail in found.values()}
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), head.replace("% 4", "% 32"), "utf-8")))
    assert not [c for c in launch_changes(launch, {}, ()) if c.detail in ("rounded", "remainder")]


@pytest.mark.parametrize(("named", "is_tried"), [("j", True), ("k", False)])
def test_the_limit_that_is_raised_is_that_of_the_launched_kernel(named: str, is_tried: bool) -> None:
    call = f"cudaFuncSetAttribute({named}, cudaFuncAttributeMaxDynamicSharedMemorySize, n);"
    text = f"int main() {{\nCHECK({call})\nif (n) k<<<1, 32, n>>>(d);\n}}\n".replace(";)", ");", 1)
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, changed(text, c)) for c in limit_changes(launch) if c.detail == "opt_in_other"]
    assert made == ([(2, text.replace("(j,", "(k,"))] if is_tried else [])


@pytest.mark.parametrize(
    ("head", "block", "after"),
    [
        ("", "block(32, 8);", ["block(8, 32);", "block(16, 16);", "block(4, 64);"]),
        ("const int BX = 16;\n#define BY 4\n", "block(BX, BY);", None),
        ("", "block(8, 8);", ["block(4, 16);"]),
        ("", "block(n, 8);", []),
        ("", "block(256);", []),
    ],
)
def test_a_narrower_block_has_as_many_threads(head: str, block: str, after: list[str] | None) -> None:
    text = f"{head}int main() {{\ndim3 {block}\nk<<<9, block>>>(d);\n}}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    expected = [text.replace(block, other) for other in after or ()]
    if after is None:
        numbers = [(8, 8), (4, 16)]
        expected = [text.replace("= 16", f"= {x}").replace("BY 4", f"BY {y}") for x, y in numbers]
    assert [changed(text, c) for c in shape_changes(launch)] == expected


@pytest.mark.parametrize(
    ("above", "after"),
    [
        ("const int BLOCKS = N / TILE;", "const int BLOCKS = (N + TILE - 1) / TILE;"),
        ("#define BLOCKS (N / TILE)", "#define BLOCKS ((N + TILE - 1) / TILE)"),
        ("const int BLOCKS = N / TILE + (N % TILE != 0);", None),
        ("#define BLOCKS N/(TILE)", "#define BLOCKS ((N + (TILE) - 1) / (TILE))"),
        ("const int BLOCKS = (N + TILE - 1) / TILE;", None),
        ("#define BLOCKS ((N - 1) / TILE + 1)", None),
    ],
)
@pytest.mark.parametrize("grid", ["dim3 grid(BLOCKS, BLOCKS);", "dim3 grid(BLOCKS);"])
def test_a_number_of_blocks_is_rounded_up_where_it_is_defined(above: str, after: str | None, grid: str) -> None:
    text = f"#define N 500\n#define TILE 16\n{above}\nint main() {{\n{grid}\nk<<<grid, 16>>>(d);\n}}\n"
    parsed = parse(SourceText(Path("p.cu"), text, "utf-8"))
    (launch,) = launches_of(parsed)
    rounded = [c for c in launch_changes(launch, {}, ()) if c.detail == "rounded"]
    assert [(c.line, changed(text, c)) for c in rounded] == ([(3, text.replace(above, after))] if after else [])


@pytest.mark.parametrize(("given", "after"), [("32", "16"), ("N", "16"), ("16", None)])
def test_a_template_is_launched_with_a_side_of_its_block(given: str, after: str | None) -> None:
    text = HEAD + f"dim3 block(16, 16);\nk<{given}><<<8, block>>>(d);\n}}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, c) for c in launch_changes(launch, {}, ()) if c.detail == "instance"]
    assert made == ([text.replace(f"<{given}>", f"<{after}>")] if after else [])


def test_no_other_block_is_sought_for_a_kernel_that_takes_any() -> None:
    text = HEAD + "k<<<8, 128>>>(d);\n}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [
        [c for c in launch_changes(launch, {"N": 64}, (), takes_any_block=takes_any) if c.group == "block"]
        for takes_any in (False, True)
    ]
    assert made[0] and not made[1]


def test_the_limit_is_raised_as_far_as_the_launch_asks() -> None:
    call = "cudaFuncSetAttribute(k, {}, {});\nk<<<1, 32, n>>>(d);\n"
    right = call.format("cudaFuncAttributeMaxDynamicSharedMemorySize", "n")
    others = {
        "opt_in_less": right.replace("Size, n", "Size, 32"),
        "opt_in_what": right.replace("MaxDynamicSharedMemorySize, n", "PreferredSharedMemoryCarveout, 100"),
    }
    for detail, wrong in others.items():
        (launch,) = launches_of(parse(SourceText(Path("p.cu"), f"int main() {{\n{wrong}}}\n", "utf-8")))
        made = [changed(f"int main() {{\n{wrong}}}\n", c) for c in limit_changes(launch) if c.detail == detail]
        assert made == [f"int main() {{\n{right}}}\n"]


def test_a_number_of_blocks_that_a_later_line_limits_is_rounded_up() -> None:
    text = "void f(int n) {\nint b = (int)ceil(n / 256);\nif (b == 0)\nb = 1;\nk<<<b, 256>>>(d);\n}\n"
    (launch,) = launches_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [(c.line, changed(text, c)) for c in grid_changes(launch) if c.detail == "rounded"]
    assert made == [(2, text.replace("n / 256", "(n + 256 - 1) / 256"))]


@pytest.mark.parametrize(
    ("text", "name"), [("ddev", "dev"), ("dev", "dev"), ("table.mean", "mean"), ("d_mean", "mean"), ("host", "host")]
)
def test_an_argument_is_named_like_a_parameter(text: str, name: str) -> None:
    assert named_like(text, ["mean", "dev"]) == name


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("constexpr int T = 16;\nconst dim3 g(4, 4), block(T);\nrun(k, g, block, d);", "block(T, T);"),
        ("dim3 block(T);\nrun(k, g, block, d);", "block(T, T);"),
        # Of another launch's, of more than a square may have, of two sides.
        ("dim3 block(T);\nk<<<9, block>>>(d);", None),
        ("dim3 block(256);\nrun(k, g, block, d);", None),
        ("dim3 block(T, 8);\nrun(k, g, block, d);", None),
    ],
)
def test_a_block_of_one_side_that_a_function_is_handed_gets_a_second_one(body: str, after: str | None) -> None:
    text = f"#define T 16\n__global__ void k(float *a);\nint main() {{\n{body}\n}}\n"
    made = [changed(text, c) for c in given_block_changes(parse(SourceText(Path("p.cu"), text, "utf-8")))]
    assert made == ([text.replace("block(T);", after)] if after is not None else [])


def test_a_kernel_without_an_array_of_the_launch_s_size_is_given_no_bytes() -> None:
    plain = "__global__ void k(float *a, int n) { a[0] = n; }\n"
    tiled = "__device__ float f(float *a) { extern __shared__ float t[]; return t[0]; }\n"
    texts = (plain, tiled + plain.replace("= n", "= f(a)"), plain + tiled)
    counts = []
    for text in texts:
        (launch,) = launches_of(parse(SourceText(Path("p.cu"), text + "int main() { k<<<9, 32>>>(d, n); }", "utf-8")))
        counts.append(len([c for c in shared_changes(launch, {}) if c.detail == "no_bytes"]))
    assert counts == [0, 1, 0]
