"""What the text of host code shows by itself: kinds of page-locked memory, products of ints that do not fit,
quotients that are 0, and elements for bytes."""

from __future__ import annotations

import pytest

from grader.submission.host_text import mistakes_in

TABLE = """struct Kind {{ const char *name; unsigned flags; }};
const Kind kinds[] = {{
    {{"pinned", {pinned}}},
    {{"write-combined", {combined}}},
    {{"mapped", cudaHostAllocMapped}},
}};
"""
SWITCH = """void *take(int kind, size_t bytes) {{
    void *p = nullptr;
    switch (kind) {{
    case PINNED: CHECK(cudaMallocHost(&p, bytes)); break;
    case WRITE_COMBINED: CHECK(cudaHostAlloc(&p, bytes, {combined})); break;
    }}
    return p;
}}
"""
BESIDE = """const char *names[] = {{"pinned", "write combined", "mapped"}};
const unsigned flags[] = {{cudaHostAllocDefault, {combined}, cudaHostAllocMapped}};
"""
DEFAULT, COMBINED = "cudaHostAllocDefault", "cudaHostAllocWriteCombined"


def told(text: str) -> list[tuple[int, str]]:
    return [(line, message.id.rpartition(".")[2]) for line, message in mistakes_in("a.cu", text)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (TABLE.format(pinned=DEFAULT, combined=DEFAULT), [(4, "not_combined")]),
        (TABLE.format(pinned=COMBINED, combined=DEFAULT), [(3, "not_pinned"), (4, "not_combined")]),
        (TABLE.format(pinned=DEFAULT, combined=COMBINED), []),
        (TABLE.format(pinned=DEFAULT, combined=f"{COMBINED} | cudaHostAllocMapped"), []),
        (SWITCH.format(combined="cudaHostAllocPortable"), [(5, "not_combined")]),
        (SWITCH.format(combined="0"), [(5, "not_combined")]),
        (SWITCH.format(combined=COMBINED), []),
        (BESIDE.format(combined=DEFAULT), [(2, "not_combined")]),
        (BESIDE.format(combined=COMBINED), []),
        ("void f() { cudaHostAlloc(&h_wc, n, cudaHostAllocDefault); }", [(1, "not_combined")]),
        ("void f() { cudaMallocHost(&hostWC, n); }", [(1, "not_combined")]),
        ("void f() { cudaHostAlloc(&h_pinned, n, cudaHostAllocDefault); }", []),
        ("void f() { unsigned flag = wc ? cudaHostAllocWriteCombined : cudaHostAllocDefault; }", []),
        ("void f() { if (kind == WC) flag = cudaHostAllocWriteCombined; else flag = cudaHostAllocDefault; }", []),
        ("void f() { if (kind != WC) flag = cudaHostAllocDefault; }", []),
        ('void f() { if (kind == "write-combined") flag = cudaHostAllocDefault; }', [(1, "not_combined")]),
        ("void f() { int flag = cudaHostAllocDefault; if (wc) flag |= cudaHostAllocWriteCombined; }", []),
        # A width times channels; what is write-combined is pinned, too.
        ("void f() { CHECK(cudaMallocHost(&h_in, wc * sizeof(float))); }", []),
        ("void f() { CHECK(cudaHostAlloc(&h_in, wc * 4, cudaHostAllocDefault)); }", []),
        ("void f() { CHECK(cudaHostAlloc(&h_pinned, n, cudaHostAllocWriteCombined)); }", []),
        ('void f() { cudaHostAlloc(&p, n, cudaHostAllocDefault); puts("write-combined comes next"); }', []),
    ],
)
def test_memory_that_is_not_of_the_kind_that_it_is_called(text: str, lines: list[tuple[int, str]]) -> None:
    assert told(text) == lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "int main() {\nconst int widths[] = {256, 512, 1024};\nfor (int w = 0; w < 3; ++w) {\n"
            "int Width = widths[w];\ndouble rate = 2 * Width * Width * Width / (t * 1e6);\n}\n}",
            [("2 * Width * Width * Width", 1024, 1 << 31)],
        ),
        ("#define N 2048\nint main() { int n = N; double ops = n * n * n; }", [("n * n * n", 2048, 1 << 33)]),
        (
            "int main() { for (int n = 256; n <= 2048; n *= 2) rate(2 * n * n * n); }",
            [("2 * n * n * n", 1024, 1 << 31)],
        ),
        ("int main() { for (int n : {64, 65536}) v.resize(n * n); }", [("n * n", 65536, 1 << 32)]),
        ("void f(int n) { take(n * n * n); }\nint main() { f(64); f(2048); }", [("n * n * n", 2048, 1 << 33)]),
        (
            "int main(int argc, char **argv) { int n = argc > 1 ? atoi(argv[1]) : 65536; p = malloc(n * n * 4ul); }",
            [("n * n", 65536, 1 << 32)],
        ),
        # Of a wider type from the first factor on, or within an int.
        ("int main() { int n = 2048; double ops = 2.0 * n * n * n; }", []),
        ("int main() { int n = 2048; double ops = 2LL * n * n * n; }", []),
        ("int main() { int n = 2048; double ops = (double)n * n * n; }", []),
        ("int main() { long n = 2048; double ops = n * n * n; }", []),
        ("int main() { size_t n = 65536; p = malloc(n * n); }", []),
        ("int main() { int n = 16777216; size_t bytes = n * sizeof(float); }", []),
        ("int main() { int n = 1024; double ops = n * n * 2.0 * n; }", []),
        # What it is then nobody knows.
        ("int main() { int n = 65536; n = 16; use(n * n); }", []),
        ('int main() { int n = 65536; scanf("%d", &n); use(n * n); }', []),
        ("int main() { for (int i = 65536; i > 0; i--) use(i * 40000); }", []),
        ("int main() { unsigned n = 65536; use(n * n); }", []),
        # What goes together: rows of tables, arguments of calls; what a condition is before.
        (
            "int main() { int h[] = {65536, 64}, w[] = {64, 65536}; for (int i = 0; i < 2; ++i) {"
            " int r = h[i], c = w[i]; int all = r * c; use(all * 2); } }",
            [],
        ),
        ("void f(int r, int c) { use(r * c); }\nint main() { f(65536, 64); f(64, 65536); }", []),
        ("void f(int n) { if (n > 40000) return; use(n * n); }\nint main() { f(64); f(65536); }", []),
        ("int main() { for (int n : {64, 65536}) use(n < 40000 ? n * n : 0); }", []),
        ("void f(int n) { if (n < 1) return; use(n * n); }\nint main() { f(65536); }", [("n * n", 65536, 1 << 32)]),
    ],
)
def test_products_of_ints_that_do_not_fit_at_sizes_of_the_program(text: str, shown: list[tuple[str, int, int]]) -> None:
    data = [message.data for _line, message in mistakes_in("a.cu", text)]
    assert [(one["code"], one["value"], one["amount"]) for one in data] == shown


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ("v = rand() / RAND_MAX;", True),
        ("v = (float)(rand() / RAND_MAX);", True),
        ("v = std::rand() / RAND_MAX * 10.0f;", True),
        ("generate(v.begin(), v.end(), [] { return (rand()) / (RAND_MAX); });", True),
        ("v = (float)rand() / RAND_MAX;", False),
        ("v = rand() / (float)RAND_MAX;", False),
        ("v = rand() / double(RAND_MAX);", False),
        ("v = 2.0f * rand() / RAND_MAX;", False),
        ("v = rand() / (RAND_MAX + 1.0);", False),
        ("v = rand() / (RAND_MAX / 10);", False),
    ],
)
def test_random_numbers_divided_as_integers(code: str, is_told: bool) -> None:
    assert told(f"void fill() {{\n{code}\n}}") == ([(2, "zero_quotient")] if is_told else [])
    assert told(f"struct F {{ float at() {{\n{code}\n}} }};") == ([(2, "zero_quotient")] if is_told else [])


POINTERS = "float *a, *b;\nint n = rows * cols;\na = (float *)malloc(n * sizeof(float));\n"
VECTORS = "std::vector<float> a(n), b(n);\n\n\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (f"{POINTERS}bad = memcmp(a, b, n);", ("memcmp", "n", "float")),
        (f"{VECTORS}std::memcpy(a.data(), &b[0], a.size());", ("memcpy", "a.size()", "float")),
        ("double a[9], b[9];\nf(sizeof(double) * r * c);\n\nmemcmp(a, b, r * c);", ("memcmp", "r * c", "double")),
        (f"{POINTERS}bad = memcmp(a, b, n * sizeof(float));", None),
        (f"{POINTERS}size_t bytes = n * sizeof(float); bad = memcmp(a, b, bytes);", None),
        (f"{VECTORS}memcmp(a.data(), b.data(), sizeof(float) * a.size());", None),
        ("char *a, *b;\nint *c = (int *)malloc(n * sizeof(int));\n\nbad = memcmp(a, b, n);", None),
        ("float *a, *b;\nsize_t n = 4 * count;\n\nbad = memcmp(a, b, n);", None),
        ("float *a, *b;\nsize_t n = m * sizeof(float), all = k * n * sizeof(float);\n\nbad = memcmp(a, b, n);", None),
        ("std::vector<char> a(n), b(n);\n\n\nmemcmp(a.data(), b.data(), a.size());", None),
    ],
)
def test_elements_where_a_call_takes_bytes(code: str, shown: tuple[str, str, str] | None) -> None:
    mistakes = mistakes_in("a.cu", f"int f() {{ {code}\n}}")
    data = [(line, *(message.data[key] for key in ("function", "amount", "type"))) for line, message in mistakes]
    assert data == ([(4, *shown)] if shown is not None else [])


def test_sums_of_thousands_of_terms_are_read_to_a_depth() -> None:
    depth = 3000
    text = f"int main() {{ int n = {'(' * depth}1{' + 1)' * depth}; int big = n * n; return big; }}"
    assert not told(text)


def test_numbers_of_thousands_of_digits_are_no_ints() -> None:
    assert not told(f"int main() {{ int n = {'9' * 5000}; int big = n * n; return big; }}")
