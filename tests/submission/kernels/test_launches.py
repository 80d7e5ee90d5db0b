"""Launches in host code: block, tile, dynamic shared memory, through every way that students write them."""

from __future__ import annotations

import pytest

from grader.submission.cpp.parse import parse
from grader.submission.kernels.launches import find_launches
from grader.submission.kernels.records import LaunchSite
from grader.submission.source import decode
from tests.submission.labs import SOURCES, parsed

KERNELS = """#define TILE 16
#define DIV_UP(a, b) (((a) + (b) - 1) / (b))
const int rowsAtOnce = TILE / 2;
__global__ void k(float *a, float *b, int n, int m) { a[0] = b[0]; }
__global__ void other(float *a) { a[0] = 1; }
template <int S> __global__ void t(float *a) { a[0] = S; }
int div_up(int a, int b) { return (a + b - 1) / b; }
"""


def launches(body: str, before: str = "") -> tuple[LaunchSite, ...]:
    return find_launches(parsed(f"{KERNELS}{before}\nint main(int argc, char **argv) {{ {body} }}"))


def launch(body: str, before: str = "") -> LaunchSite:
    (site,) = launches(body, before)
    return site


@pytest.mark.parametrize(
    ("body", "block", "tile", "over"),
    [
        ("k<<<n / 16, 16>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("k<<<(n + 255) / 256, 256>>>(a, b, n, m);", (256, 1, 1), (256,), ("n",)),
        ("k<<<(n - 1) / 64 + 1, 64>>>(a, b, n, m);", (64, 1, 1), (64,), ("n",)),
        ("k<<<n >> 5, 1 << 5>>>(a, b, n, m);", (32, 1, 1), (32,), ("n",)),
        ("k<<<n / 16 + (n % 16 != 0), 16>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("k<<<n % 16 ? n / 16 + 1 : n / 16, 16>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("k<<<ceil(n / (double)TILE), TILE>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("k<<<(int)std::ceil((float)n / TILE), TILE>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("k<<<DIV_UP(n, TILE), TILE>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("k<<<div_up(n, TILE), TILE>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("k<<<n / TILE / 4, TILE>>>(a, b, n, m);", (16, 1, 1), (64,), ("n",)),
        ("k<<<n / (TILE * 4), TILE>>>(a, b, n, m);", (16, 1, 1), (64,), ("n",)),
        ("k<<<n, 256>>>(a, b, n, m);", (256, 1, 1), (1,), ("n",)),
        ("k<<<n * m / 256, 256>>>(a, b, n, m);", (256, 1, 1), (256,), ("",)),
        ("k<<<100, 256>>>(a, b, n, m);", (256, 1, 1), (None,), ("",)),
        ("k<<<dim3(n / 32, m / 32), dim3(32, 8)>>>(a, b, n, m);", (32, 8, 1), (32, 32), ("n", "m")),
        ("dim3 d(TILE, rowsAtOnce), g(m / TILE, n / TILE); k<<<g, d>>>(a, b, n, m);", (16, 8, 1), (16, 16), ("m", "n")),
        ("dim3 d = {4, 4}, g = {n / 4, m / 4, 1}; k<<<g, d>>>(a, b, n, m);", (4, 4, 1), (4, 4, None), ("n", "m", "")),
        ("dim3 d{8, 8}; dim3 g = dim3(n / 8, m / 8); k<<<g, d>>>(a, b, n, m);", (8, 8, 1), (8, 8), ("n", "m")),
        ("dim3 d; d.x = 8; d.y = 4; k<<<n / d.x, d>>>(a, b, n, m);", (8, 4, 1), (8,), ("n",)),
        ("dim3 d(8, 8); d.y = 2; k<<<n / 8, d>>>(a, b, n, m);", (8, 2, 1), (8,), ("n",)),
        ("dim3 d(8, 4), g(DIV_UP(n, d.x), DIV_UP(m, d.y)); k<<<g, d>>>(a, b, n, m);", (8, 4, 1), (8, 4), ("n", "m")),
        ("int t = 128; k<<<dim3(m / t, n /\nt), dim3(t,\nt)>>>(a, b, n, m);", (128, 128, 1), (128, 128), ("m", "n")),
        ("int t = atoi(s), g = n / t; k<<<dim3(g, g), dim3(t, t)>>>(a, b, n, m);", None, (None, None), ("n", "n")),
        ("int t = 32; if (argc > 1) t = atoi(argv[1]); k<<<n / t, t>>>(a, b, n, m);", (32, 1, 1), (32,), ("n",)),
        (
            "dim3 d(16), g(n / 16); switch (m) { case 1: p = k; break; case 2: p = other; g.x = n / 64; break; } "
            "k<<<g, d>>>(a, b, n, m);",
            (16, 1, 1),
            (),
            (),
        ),
        ("int t = 8; switch (m) { case 1: t = 16; k<<<n / t, t>>>(a, b, n, m); }", (16, 1, 1), (16,), ("n",)),
        (
            "int t = 8; switch (m) { case 1: t = 4; break; case 2: k<<<n / t, t>>>(a, b, n, m); }",
            (8, 1, 1),
            (8,),
            ("n",),
        ),
        ("int g = n / 16; if (n % 16 > 0) g++; k<<<g, 16>>>(a, b, n, m);", (16, 1, 1), (None,), ("",)),
        ("int g = n / 16; if (n % 16) g = g + 1; k<<<g, 16>>>(a, b, n, m);", (16, 1, 1), (None,), ("",)),
        ("dim3 d(16), g(n / 16); if (n % 16) g.x += 1; k<<<g, d>>>(a, b, n, m);", (16, 1, 1), (), ()),
        ("dim3 d(16), g(n / 16); if (n % d.x) g.x++; k<<<g, d>>>(a, b, n, m);", (16, 1, 1), (), ()),
        ("int t = argc > 1 ? atoi(argv[1]) : 16; k<<<n / t, t>>>(a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("int t = 32; scanf(\"%d\", &t); k<<<n / t, t>>>(a, b, n, m);", None, (None,), ("n",)),
        ("for (int t = 8; t < 64; t *= 2) k<<<n / t, t>>>(a, b, n, m);", None, (None,), ("n",)),
        ("int t = 8; t = 16; k<<<n / t, t>>>(a, b, n, m); t = 4;", (16, 1, 1), (16,), ("n",)),
        ("k << <n / 16, 16 >> > (a, b, n, m);", (16, 1, 1), (16,), ("n",)),
        ("CHECK((k<<<n / 16, 16>>>(a, b, n, m)));", (16, 1, 1), (16,), ("n",)),
        ("k<<<unknown, 16>>>(a, b, n, m);", (16, 1, 1), (None,), ("",)),
        ("k<<<f(), g()>>>(a, b, n, m);", None, (None,), ("",)),
    ],
)  # fmt: skip
def test_geometry(
    body: str, block: tuple[int, int, int] | None, tile: tuple[int | None, ...], over: tuple[str, ...]
) -> None:
    site = launch(body)
    assert (site.kernel, site.block, site.tile, site.grid_over) == ("k", block, tile, over)
    assert site.arguments == ("a", "b", "n", "m")


@pytest.mark.parametrize(
    ("third", "shared_bytes"),
    [
        ("", 0),
        (", TILE * (TILE + 1) * sizeof(float)", 1088),
        (", 2 * TILE * sizeof(double), stream", 256),
        (", bytes", None),
        (", threads * threads * sizeof(float)", 1024),
    ],
)
def test_dynamic_shared_memory(third: str, shared_bytes: int | None) -> None:
    assert launch(f"int threads = 16; other<<<4, threads{third}>>>(a);").shared_bytes == shared_bytes


def test_template_arguments_are_evaluated() -> None:
    assert launch("t<TILE * 2><<<1, 2>>>(a);").template_arguments == ("32",)
    assert launch("auto f = t<8>; f<<<1, 2>>>(a);").template_arguments == ("8",)


@pytest.mark.parametrize(
    ("body", "kernels"),
    [
        ("void (*f)(float *) = other; f<<<1, 2>>>(a);", ["other"]),
        ("void (*f)(float *) = &other; f<<<1, 2>>>(a);", ["other"]),
        ("void (*f[])(float *) = {other, t<8>}; f[0]<<<1, 2>>>(a);", ["other", "t"]),
        ("cudaLaunchKernel((void *)other, dim3(4, 4), dim3(8, 2), args, 0, 0);", ["other"]),
        ("cudaLaunchKernel((const void *)&other, grid, dim3(8, 2), args);", ["other"]),
        ("unknown<<<1, 2>>>(a);", []),
        ('// other<<<1, 2>>>(a);\nprintf("other<<<1, 2>>>(a)");', []),
    ],
)
def test_ways_to_name_the_kernel(body: str, kernels: list[str]) -> None:
    assert sorted(site.kernel for site in launches(body)) == kernels


def test_launch_function_of_the_runtime() -> None:
    site = launch("cudaLaunchKernel((void *)other, dim3(n / 8, 4), dim3(8, 2), args, 512, 0);")
    assert (site.block, site.tile, site.shared_bytes) == ((8, 2, 1), (8, None), 512)


def test_wrappers_are_read_with_what_their_callers_hand_in() -> None:
    wrapper = """void run(void (*kernel)(float *), float *x, dim3 block, int n) { kernel<<<n / block.x, block>>>(x); }
void sized(float *x, int side, int n) { dim3 b(side, side); other<<<dim3(n / side, n / side), b>>>(x); }"""
    sites = launches("run(other, a, dim3(64), 1024); sized(a, 16, n); sized(a, 32, n);", wrapper)
    assert [(s.kernel, s.block, s.tile) for s in sites] == [
        ("other", (64, 1, 1), (64,)),
        ("other", (16, 16, 1), (16, 16)),
        ("other", (32, 32, 1), (32, 32)),
    ]


@pytest.mark.parametrize(
    ("made", "grid"),
    [
        ("dim3 g(sizes[i] / TILE, len / TILE);", ()),  # The first is nothing that `run` knows of.
        ("dim3 g(len / TILE, len / TILE);", ("n / TILE", "n / TILE")),
        ("int blocks = (len - 1) / TILE; dim3 g(blocks, len >> 4);", ("(n - 1) / TILE", "n >> 4")),
        ("dim3 g = grid_of(len);", ("n / TILE", "1")),
        ("dim3 g((unsigned)ceil((float)len / TILE));", ("(unsigned)ceil((float)n / TILE)",)),
    ],
)
def test_a_grid_that_is_handed_in_speaks_of_what_is_handed_in_beside_it(made: str, grid: tuple[str, ...]) -> None:
    """What `len` is, nobody can read: the grid is rounded as its text says all the same."""
    wrapper = """dim3 grid_of(int of) { return dim3(of / TILE, 1); }
void run(int which, dim3 grid, dim3 block, float *x, int n) { k<<<grid, block>>>(x, x, n, which); }"""
    body = f"for (int i = 0; i < 4; i++) {{ int len = sizes[i]; {made} run(i, g, dim3(TILE, TILE), a, len); }}"
    expected = launch(f"k<<<dim3({', '.join(grid)}), dim3(TILE, TILE)>>>(a, b, n, m);").grid_expressions if grid else ()
    assert launch(body, wrapper).grid_expressions == expected


def test_a_kernel_with_its_templates_arguments_is_handed_on() -> None:
    wrapper = """template <class F> float run(F kernel, float *x, int n) { kernel<<<n / 64, 64>>>(x); return 0; }
float twice(int n) { return run(t<TILE>, a, n) + run(&other, a, n); }
template <class... P, class... A>
void any(void (*kernel)(P...), dim3 g, dim3 b, A&&... x) { kernel<<<g, b>>>(x...); }"""
    sites = launches('constexpr int S = 8; printf("%f", run(t<S>, a, n)); twice(n); any(t<S>, n / S, S, a);', wrapper)
    assert sorted((s.kernel, s.template_arguments, s.block) for s in sites) == [
        ("other", (), (64, 1, 1)),
        ("t", ("16",), (64, 1, 1)),
        ("t", ("8",), (8, 1, 1)),
        ("t", ("8",), (64, 1, 1)),
    ]


def test_a_template_of_the_hosts_knows_its_arguments() -> None:
    wrapper = """template <int S, class T>
void all(T *x, int n) { dim3 b(S, S); t<S><<<dim3(n / S, n / S), b, S * 4>>>(x); }"""
    sites = launches("all<8>(a, n); all<TILE, float>(a, n);", wrapper)
    assert [(s.template_arguments, s.template_texts, s.block, s.tile, s.shared_bytes) for s in sites] == [
        (("8",), ("S",), (8, 8, 1), (8, 8), 32),
        (("16",), ("S",), (16, 16, 1), (16, 16), 64),
    ]


def test_what_is_handed_through_several_functions() -> None:
    wrapper = """void run(float *x, int side, int n) { other<<<n / side, side>>>(x); }
void bench(float *x, int side) { run(x, side, 1024); }
void all(float *x, int side) { bench(x, side * 2); }"""
    assert [(s.block, s.tile) for s in launches("all(a, 16);", wrapper)] == [((32, 1, 1), (32,))]


def test_functions_that_call_each_other_are_no_endless_matter() -> None:
    wrapper = "void b(int n);\nvoid a(int n) { b(n); other<<<n / 4, n>>>(x); }\nvoid b(int n) { a(n); }"
    assert {s.kernel for s in launches("a(8);", wrapper)} == {"other"}


def test_the_line_is_that_of_the_kernels_name() -> None:
    assert launch("\n\nk\n<<<1,\n2>>>(a, b, n, m);").line == KERNELS.count("\n") + 4


def test_the_block_of_a_real_report() -> None:
    sites = find_launches(parse(decode(SOURCES / "report_bom_crlf.cu")))
    assert [(s.kernel, s.line, s.block, s.tile, s.grid_over) for s in sites] == [
        ("kBase", 43, (128, 128, 1), (128, 128), ("K", "N")),
        ("kShared_Bad", 48, (128, 128, 1), (128, 128), ("K", "N")),
        ("kShared", 49, (128, 128, 1), (128, 128), ("K", "N")),
    ]


def test_the_rounded_grid_of_a_real_program() -> None:
    first, second = find_launches(parse(decode(SOURCES / "six_sizes.cu")))
    assert (first.kernel, first.block, first.tile) == ("matrixMultiplyShared", (16, 16, 1), (16, 16))
    assert (second.kernel, second.block, second.template_arguments) == ("multiply", (8, 8, 1), ("8",))


@pytest.mark.parametrize(
    ("configuration", "is_swapped"),
    [
        ("blockSize, gridSize", True),
        ("threadsPerBlock, blocksPerGrid", True),
        ("dimBlock, dimGrid", True),
        ("block, grid", True),
        ("grid, block", False),
        ("blocks, threads", False),
        ("numBlocks, blockSize", False),
        ("blocksPerGrid, threadsPerBlock", False),
        ("gridBlocks, gridThreads", False),
    ],
)
def test_a_block_that_is_handed_in_as_the_grid_is_known_by_its_name(configuration: str, is_swapped: bool) -> None:
    grid, block = configuration.split(", ")
    site = launch(f"dim3 {grid}(n / 8), {block}(8); k<<<{grid}, {block}>>>(a, b, n, m);")
    assert site.seems_swapped == is_swapped


@pytest.mark.parametrize(
    ("setup", "configuration", "block"),
    [
        ("int threads = 128, blocks = (n + threads - 1) / threads;", "threads, blocks", (128, 1, 1)),
        ("dim3 block(32, 8), grid((n + 31) / 32, (m + 31) / 32);", "block, grid", (32, 8, 1)),
        ("const int B = 64; const int BLOCKS = n / B;", "B, BLOCKS", (64, 1, 1)),
        ("int threads = 128, blocks = (n + threads - 1) / threads;", "blocks, threads", None),
        ("int blocks = 128, threads = (n + blocks - 1) / blocks;", "threads, blocks", None),
        ("int blocks = 4, perBlock = n / blocks;", "blocks, perBlock", None),
    ],
)
def test_a_grid_and_a_block_in_each_others_place_are_put_right_where_the_text_shows_which_is_which(
    setup: str, configuration: str, block: tuple[int, int, int] | None
) -> None:
    site = launch(f"{setup} k<<<{configuration}>>>(a, b, n, m);")
    assert bool(site.swapped) == (block is not None)
    if block is not None:
        assert (site.swapped, site.block) == (tuple(configuration.split(", ")), block)
