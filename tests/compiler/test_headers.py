"""Which includes count, without a compiler: the defence for kernels that cannot confine a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.compiler.headers import forbidden_include, header_folder, needs_bundled
from grader.devices import is_bundled
from tests.pace import at_most

pytestmark = pytest.mark.started


@pytest.mark.parametrize(
    "text",
    [
        '#include "/etc/passwd"',
        "  #  include  <stdio.h>",
        "#include /* */ <../cuda_fp16.h>",
        "#include <cuda/../../../etc/passwd>",
        '#include "own.h/../../x"',
        "#include NAME",
        "#include",
        '#in\\\nclude "x"',
        '#\\  \ninclude "x"',
        '#/* a\nb */include "x"',
        '%:include "x"',
        '??=include "x"',
        "#import <x>",
        "#include_next <cuda_fp16.hpp>",
        '#embed "x"',
        'R"(\n#include "x"\n)"',
        '#if __has_include("x")',
        "__has_embed",
        '#pragma include_alias("a", "b")',
        '#include "own.h" "x"',
        # Names that are pasted together.
        '#define C(a, b) a##b\n#if C(__has_,include)("x")',
        "#define C(a, b) a%:%:b\n#if C(__ha, s_include)(<x>)",
        "#define P(a) a ## _embed\n#elif P(__has)(<x>)",
        "#define P(a, b, c) a##b##c\n#if P(_,_has_incl,ude)(<x>)",
        "#define E(x) x\n#define X C\n#if E(X (__h, as_include))(<x>)",
        "__ha\\\ns_include",
        "_CCCL_CHECK_BUILTIN(has_include(<x>))",
        "#/*" + "#/*" * 50 + '*/include "x"',
    ],
)
def test_refused(text: str) -> None:
    assert forbidden_include(f"int a;\n{text}\nint b;", frozenset(["own.h"])) is not None


@pytest.mark.parametrize(
    "text",
    [
        "#include <cuda_fp16.h>",
        '#include "cuda_fp16.h" // half',
        "#include <cooperative_groups/reduce.h> /* sums */",
        "#include <cuda/std/array>",
        '#include "own.h"',
        "#define included 3",
        "int include = 4; #",
        "#pragma unroll",
        "",
        "#define NAME(a) a##_kernel\n#if defined(N) && N > 4\n#endif",
        "int __hash = 1, has_ = 2, _h = 3;",
    ],
)
def test_allowed(text: str) -> None:
    assert forbidden_include(f"int a;\n{text}\nint b;", frozenset(["own.h"])) is None


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("#include <cuda_fp16.h>", True),
        ("#  include\t<mma.h> // tensor cores", True),
        ("#include <stdio.h>", False),
        ("// includes nothing", False),
        ("", False),
    ],
)
def test_when_headers_are_unpacked(text: str, needed: bool) -> None:
    assert needs_bundled(text) is needed


@pytest.mark.parametrize("piece", ["#/*", "#/**/", "/**/", "# ", "#/*\n", "#include /**/", "__has", "%:"])
def test_goes_through_a_text_once(piece: str) -> None:
    text = "#include" + piece * (400_000 // len(piece)) + "*/"
    with at_most(5):
        needs_bundled(text)
        forbidden_include(text, frozenset())


def test_names_of_bundled_headers() -> None:
    assert is_bundled("cuda/std/atomic")
    assert not is_bundled("cuda/../secret")
    assert not is_bundled("stdio.h")


def test_headers_lie_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert header_folder() == Path("/somewhere/cache/cuda-lab-grader/nvrtc")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/ivanov")
    assert header_folder() == Path("/home/ivanov/.cache/cuda-lab-grader/nvrtc")
