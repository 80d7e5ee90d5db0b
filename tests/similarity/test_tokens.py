"""Tokens of a source: what no disguise changes, what tells authors apart, and in which lines."""

from __future__ import annotations

import pytest

from grader.similarity import tokens


def keys(text: str) -> str:
    return " ".join(token.key for token in tokens(text).tokens)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("if (x < width) return;", "if ( x < I ) return ;"),
        ("mine[threadIdx.x] += other;", "I [ threadIdx . x ] += I ;"),
        (
            "cudaMemcpy(a, b); curandCreate(); cublasSgemm();",
            "cudaMemcpy ( I , I ) ; curandCreate ( ) ; cublasSgemm ( ) ;",
        ),
        ("k<<<g, b>>>(p->q);", "I <<< I , I >>> ( I -> I ) ;"),
        ("a = 0 + 1 + 2 + 3 + 2.0f + 0x10u;", "I = 0 + 1 + 2 + N + N + N ;"),
        ("a = 1u + 2L;", "I = 1 + 2 ;"),
        ("puts(\"hello\"); c = 'x';", "I ( S ) ; I = S ;"),
        # Braces and layout are taste.
        ("if (a) { b; }", "if ( I ) I ;"),
        ("#include <cuda.h>\n#pragma unroll 4\n#define N 7", "# define I N"),
        ("a; // b c d\n/* e\nf */ g;", "I ; I ;"),
        ('"// no comment" + "\\" still"', "S + S"),
    ],
)
def test_what_is_compared(text: str, found: str) -> None:
    assert keys(text) == found


@pytest.mark.parametrize(
    ("text", "rare"),
    [
        ("a = 17;", {"number 17"}),
        ("a = 0.35f + 0x2Au + 1e-7;", {"number 0.35", "number 0x2A", "number 1e-7"}),
        ("a = 0x1F;", {"number 0x1F"}),
        # What everybody writes.
        ("a = 0 + 1 + 2 + 3 + 4 + 8 + 16 + 32u + 64 + 128 + 256 + 512 + 1024 + 0.0f + 1.0f + 0.f;", set()),
        ('puts("abcdefghijk");', {"string abcdefghijk"}),
        ('puts("abcdefghij");', set()),
        ('puts("no such file: %s!");', {"string no such file s"}),
        ("// Who writes   such?", {"comment who writes such"}),
        ("// two words", set()),
        ("/* one\n * two\n * three */", {"comment one two three"}),
    ],
)
def test_what_is_a_rare_choice(text: str, rare: set[str]) -> None:
    assert tokens(text).rare == rare


def test_the_line_of_a_token() -> None:
    found = tokens("a;\n\n/* x\ny */ b;\n  c;").tokens
    assert [(token.key, token.line) for token in found] == [
        ("I", 1), (";", 1), ("I", 4), (";", 4), ("I", 5), (";", 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = b + c;", "a = ((b + c));"),
        ("return a[(i)];", "return (a[i]);"),
        ("if (i < n) a = 1;", "if ((n) > (i)) a = 1;"),
        ("int i = blockIdx.x * blockDim.x + threadIdx.x;", "int i = (blockDim.x * blockIdx.x) + threadIdx.x;"),
        ("float a; int b;", "typedef float real; using idx = int; real a; idx b;"),
        ("a[threadIdx.x] = 1;", "#define TX threadIdx.x\na[TX] = 1;"),
        ("__syncthreads();", "#define SYNC() __syncthreads()\nSYNC();"),
    ],
)
def test_what_a_disguise_can_do_to_an_expression(one: str, other: str) -> None:
    assert keys(one) == keys(other)


def test_calls_casts_and_constants_stay_what_they_are() -> None:
    assert keys("f(a, (b)); k<<<g, b>>>(p);") == "I ( I , I ) ; I <<< I , I >>> ( I ) ;"
    assert keys("#define N 7\na = N;") == "# define I N I = I ;"
    assert keys("#define HALF(x) x / 2\na = HALF(b);") == "# define I ( x ) x / 2 I = I ( I ) ;"
    # A pointer is no product.
    assert keys("float * a; b * c[1];") == "float * I ; I * I [ 1 ] ;"


def test_a_text_made_to_take_long_does_not() -> None:
    for text in ("typedef " * 20_000, "using a = " + "a " * 20_000, "typedef int" + " " * 20_000, "(" * 20_000):
        tokens(text)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("int a = 1;\nfloat b[4];\n", "float b[4];\nint a = 1;\n", True),
        ("const int a = f(1, 2);\nfloat b;\n", "float b;\nconst int a = f(1, 2);\n", True),
        ("__shared__ float t[4];\nint i = threadIdx.x;", "int i = threadIdx.x;\n__shared__ float t[4];", True),
        # What is done in another order is another program.
        ("f(1);\ng[2] = 0;", "g[2] = 0;\nf(1);", False),
        # A statement between them parts declarations.
        ("int a = 1;\nf(a);\nfloat b;", "float b;\nf(a);\nint a = 1;", False),
        # The head of a loop is no row of declarations.
        ("for (int i = 0; i < n; i++) f(i);", "for (i < n; int i = 0; i++) f(i);", False),
        # Nor does the body of a function go with what stands before it.
        ("if (n > 2) int a = 1; float b;", "if (n > 2) float b; int a = 1;", True),
        ("while (a) float b;\nint c = 1;", "int c = 1;\nwhile (a) float b;", False),
        ("int a = 3", "int a = 2", False),
    ],
)
def test_the_order_of_declarations_says_nothing(one: str, other: str, is_same: bool) -> None:
    assert (keys(one) == keys(other)) == is_same
