"""C++ as characters, and how much reading it may cost."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import GraderError, UsageError
from grader.processes.limits import resident_bytes
from grader.submission import lexical
from grader.submission.binding.bind import bind
from grader.submission.folder import FoundSubmission
from grader.submission.lexical import line_of_main, without_comments
from grader.submission.source import decode_bytes
from tests.pace import slowness
from tests.submission.labs import FLIP


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a; // b\nc;", "a;     \nc;"),
        ("a /* b\n*/ c", "a     \n   c"),
        ('puts("// no comment"); // one', 'puts("// no comment");       '),
        ("char c = '\"'; // one", "char c = '\"';       "),
        ('R"(/* a */)" /* b */', 'R"(/* a */)"        '),
        ("a // joined \\\nstill\nb", "a            \n     \nb"),
        ("a /* never closed\nb", "a                \n "),
    ],
)
def test_comments_become_blanks_and_nothing_moves(text: str, plain: str) -> None:
    assert without_comments(text) == plain


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\nint main() {}", 2),
        ("int main(int argc, char *argv[]) try {", 1),
        ("\n\nint _tmain(int argc, _TCHAR *argv[])\n{", 3),
        ("int main(int, char **);", 0),
        ("domain() {}", 0),
    ],
)
def test_a_text_begins_main_where_it_has_a_body(text: str, line: int) -> None:
    assert line_of_main(text) == line


KERNEL = "__global__ void k(const float *a, float *b, int n) { int i = blockIdx.x; if (i < n) b[i] = a[i]; }\n"
IN_KERNEL = "__global__ void z(float *a, float *b, int n) { float q; "
IN_MAIN = KERNEL + "int main() { float *a; int n = 1;\n"

# What stands first, and what is repeated after it: a text or one that counts.
GROWING: dict[str, tuple[str, str | Callable[[int], str]]] = {
    "backslashed quotes": (KERNEL, '\\"'),
    "single quotes": (KERNEL, "'\\'"),
    "comments that open": (KERNEL, "/*/"),
    "directives in a comment": (KERNEL, "#/*"),
    "raw strings": (KERNEL, 'R"a('),
    "backslashes": (KERNEL, "\\"),
    "spliced lines": (KERNEL, "\\\n"),
    "using": (KERNEL, lambda i: f"using namespace a{i};\n"),
    "namespaces": (KERNEL, lambda i: f"namespace a{i} {{ using b{i} = int; }}\n"),
    "attributes of functions": (IN_MAIN, "cudaFuncSetAttribute("),
    "launches": (IN_MAIN, "k<<<n / 16, 16>>>(a, a, n);\n"),
    "structs that launches hand over": (
        "struct P { float *a, *b; int n; };\n__global__ void kp(P p) { p.b[0] = p.a[p.n]; }\n" + IN_MAIN,
        lambda i: f"P p{i} = {{a, a, n}}; p{i % 7}.n = {i}; kp<<<n, 16>>>(p{i % 7});\n",
    ),
    "blanks in structs that launches hand over": (
        "struct P { float *a, *b; int n; };\n__global__ void kp(P p) { p.b[0] = p.a[p.n]; }\n"
        + IN_MAIN
        + "P p; kp<<<n, 16>>>(p);\nP p",
        " ",
    ),
    "launches through pointers": (
        KERNEL,
        lambda i: f"void f{i}(int n, float *a) {{ auto q{i} = k; q{i}<<<n, 16>>>(a, a, n); }}\n",
    ),
    "callers": (
        KERNEL,
        lambda i: f"void f{i}(int n, float *a) {{ k<<<n, 16>>>(a, a, n); f{i - 1}(n, a); f{i - 2}(n + 1, a); }}\n",
    ),
    "definitions": (IN_MAIN, "n = n + 1; n = 7; k<<<n, 16>>>(a, a, n);\n"),
    "branches": (IN_MAIN, "if (n) { n = 5; k<<<n, n>>>(a, a, n);"),
    "open macro calls": ("#define KK(x) __global__ void x(float *a) {}\n", "KK("),
    "macros that double": (
        "#define K0(x) __global__ void x(float *a) {}\n",
        lambda i: f"#define K{i + 1}(x) K{i}(x##a) K{i}(x##b)\nK{i + 1}(z{i})\n",
    ),
    "macros made of macros": (KERNEL + "#define A0 1\n", lambda i: f"#define A{i + 1} A{i}+A{i}+A{i}\n"),
    "constants made of constants": (KERNEL + "const int c0 = 1;\n", lambda i: f"const int c{i + 1} = c{i} + 1;\n"),
    "kernels and globals": (
        KERNEL,
        lambda i: (
            f"__device__ float g{i}[16];\n"
            + (f"__global__ void k{i}(float *q) {{ q[0] = g{i}[0]; }}\n" if i < 200 else "")
        ),
    ),
    "device functions in each other": (KERNEL, lambda i: f"__device__ void z{i}(float *a) {{ \n"),
    "subscripts": (IN_KERNEL + "a", "[0]"),
    "subscripts in subscripts": (IN_KERNEL + "q = ", "a["),
    "templates": (IN_KERNEL + "q = ", "a<"),
    "loops in loops": (IN_KERNEL, "for (int i = 0; i < 4; i++)"),
    "loops": (IN_KERNEL, "for (int i = 0; i < 4; i++) a[i] += a[i] * 2;\n"),
    "pragmas": (IN_KERNEL, "#pragma unroll 4\nfor (int i = 0; i < 4; i++) a[i] += a[i] * 2;\n"),
    "steps": (IN_KERNEL, lambda i: f"j{i} += 2;\n"),
    "aliases": (IN_KERNEL, lambda i: f"int b{i} = blockIdx.x; "),
    "a long name": (IN_KERNEL + "q = a", "padding"),
    "a long pitch": (IN_KERNEL + "__shared__ float t[128]; t[(n + ", "pad"),
    "parameters": ("__global__ void z(float *a", lambda i: f", int p{i}"),
    "statements": (IN_KERNEL, "a[0] = b[0] + 1;\n"),
    "structs": (KERNEL, lambda i: f"struct S{i} {{ int w; float *e; void f() {{ }} }};\n"),
    "branches of the preprocessor": (KERNEL, "#if A\n"),
    "includes": (KERNEL, lambda i: f'#include "h{i}.h"\n'),
    "shared arrays": (IN_KERNEL, lambda i: f"__shared__ float s{i}[16][17];"),
    "pointers": (IN_KERNEL + "float *p0 = a;", lambda i: f"float *p{i + 1} = p{i};"),
    "semicolons": (KERNEL, ";"),
}
# Each makes the next level of work a multiple of the last: there is no size at which they are harmless.
DOUBLING: dict[str, tuple[str, Callable[[int], str]]] = {
    "kernels in each other, with an error": ("", lambda i: f"__global__ void z{i}(float *a) {{ a[0] = ; \n"),
    "sums of sums": (
        IN_MAIN + "int n0 = 1;",
        lambda i: f"int n{i + 1} = n{i} + n{i} + n{i} + n{i}; k<<<n{i + 1}, 16>>>(a, a, n);",
    ),
    "blocks of blocks": (
        IN_MAIN + "dim3 b0(1);",
        lambda i: f"dim3 b{i + 1}(b{i}.x + b{i}.x); k<<<b{i + 1}, b{i + 1}>>>(a, a, n);",
    ),
    "arguments of arguments": (
        KERNEL + "void f0(int n, float *a) { k<<<n, n>>>(a, a, n); }\n",
        lambda i: f"void f{i + 1}(int n, float *a) {{ f{i}({' + '.join(['n'] * 60)}, a); }}\n",
    ),
    "minima of minima": (
        KERNEL + "#define N0 n\n",
        lambda i: (
            f"const int N{i + 1} = (N{i} < 4 * N{i} ? N{i} : 4 * N{i});\n"
            f"void f{i}(int n) {{ k<<<N{i}, N{i}>>>(0, 0, n); }}\n"
        ),
    ),
}


def text_of(before: str, piece: str | Callable[[int], str], size: int) -> str:
    pieces = [before]
    length, index = len(before), 0
    while length < size:
        made = piece if isinstance(piece, str) else piece(index)
        pieces.append(made)
        length += len(made)
        index += 1
    return "".join(pieces)


def read(text: str) -> None:
    """Read and bind `text`; whatever is not read is refused in words."""
    try:
        source = decode_bytes(Path("main.cu"), text.encode())
        bind(FoundSubmission("student", "flip", Path("/nonexistent"), ()), [source], FLIP)
    except GraderError:
        return


def cost(text: str) -> tuple[float, int]:
    """Processor time and the memory in bytes that reading `text` takes at its peak, in a process of its own.

    The time in seconds of the machine where the bounds were measured (`tests.pace`), whatever this one is like.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (1200, 1201))
        before = slowness()
        # It begins with all that the tests before have left. A collection would walk over that too, and copy each page.
        gc.freeze()
        held = resident_bytes()
        start = time.process_time()
        try:
            read(text)
            took = (time.process_time() - start) / max(before, slowness())
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            os.write(writing, f"{took} {most - held}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    _pid, status = os.waitpid(child, 0)
    said = os.read(reading, 100).decode().split()
    os.close(reading)
    assert status == 0 and said, f"reading ended with status {status}"
    return float(said[0]), int(said[1])


@pytest.mark.parametrize("name", GROWING)
def test_a_short_text_is_read_at_once(name: str) -> None:
    took, _memory = cost(text_of(*GROWING[name], 4_000))
    # Linear ones take a tenth of this; what is quadratic in a text of a few hundred pieces shows in the slow test.
    assert took < 3


@pytest.mark.parametrize("name", DOUBLING)
def test_what_doubles_at_each_level_is_read_or_refused(name: str) -> None:
    took, _memory = cost(text_of(*DOUBLING[name], 2_000))
    assert took < 12


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GROWING, *DOUBLING])
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    before, piece = GROWING.get(name) or DOUBLING[name]
    for is_last in (False, False, True):
        small, _memory = cost(text_of(before, piece, 15_000))
        large, memory = cost(text_of(before, piece, 60_000))
        # Quadratic work takes sixteen times as long; what has reached the limit on work takes no longer at all.
        # Others that came in between may have slowed down the second alone, but not each time.
        if large < 9 * small + 0.125 or is_last:
            break
    assert large < 9 * small + 0.125
    assert large < 20
    assert memory < 450 << 20


def test_the_limit_counts_steps_and_names_the_file() -> None:
    words = r"main\.cu: the program is too large or too deeply nested to be read"
    # Within a limit a second one is none of its own.
    with (
        pytest.raises(UsageError, match=words),
        lexical.limited(Path("main.cu"), 1000),
        lexical.limited(Path("other.cu"), 5000),
    ):
        lexical.spend(1000)
        lexical.spend(1)
    # Without a limit, and within a new one, there is room again.
    lexical.spend(1 << 40)
    with lexical.limited(Path("main.cu"), 1000):
        lexical.spend(1000)


def test_the_same_text_is_refused_on_any_machine() -> None:
    """Work is counted, not timed: so many steps are enough, one less is not."""
    text = text_of(*GROWING["loops"], 3_000)
    source = decode_bytes(Path("main.cu"), text.encode())

    def can_be_read(limit: int) -> bool:
        try:
            with lexical.limited(Path("main.cu"), limit):
                bind(FoundSubmission("student", "flip", Path("/nonexistent"), ()), [source], FLIP)
        except UsageError:
            return False
        return True

    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if can_be_read(middle) else (middle, high)
    assert [can_be_read(high), can_be_read(high - 1)] == [True, False]
    assert 1000 < high < 100_000
