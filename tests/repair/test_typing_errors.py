"""Changes of what goes wrong while typing, and of what host code has once too often or lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import changed
from grader.repair.host_arguments import host_of
from grader.repair.host_slips import host_slip_changes
from grader.repair.loops import loop_changes
from grader.repair.typing_errors import typing_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText
from tests.repair.kernels import changes

PAIR = "int x = threadIdx.x, y = threadIdx.y;\nint w = blockDim.x, h = blockDim.y;\nif (x >= w || y >= h) return;\n"


@pytest.mark.parametrize(
    ("body", "old", "new", "cost"),
    [
        ("int h = n + 1 / 2;\nout[h] = 1;", "n + 1 / 2", "(n + 1) / 2", 0.1),
        ("int i = blockIdx.x * 32 + threadIdx.x;\nout[i] = 1;", "32", "blockDim.x", 0.9),
        ("out[0] = 1;\nout[0] = 1;", "\nout[0] = 1;", "", 0.4),
        ("if (n) out[0] = 1;\nout[0] = 2;", "\nout[0] = 2", "\nelse out[0] = 2", 1.6),
        ("int k = 0;\nout[0] = a[k];\nk = n;", "out[0] = a[k];\nk = n;", "k = n;\nout[0] = a[k];", 1.4),
        ("if (!n) out[0] = 1;", "!n", "n", 1.6),
        ("float v = a[0];\nout[0] = __shfl_down_sync(0xffff, v, 4);", "0xffff", "0xffffffff", 0.4),
        ("float v = a[0];\nout[0] = __shfl_xor_sync(~0u, v, 4);", "_xor_", "_down_", 1.2),
        ("if (threadIdx.x == 0) out[0] = __shfl_sync(~0u, n, 4);", "threadIdx.x ==", "threadIdx.x % 32 ==", 1.2),
        ("int k = 0;\nk ^= k;\nout[k] = 1;", "k ^= k", "k ^= 1", -2.5),
        ("int i = 1;\nout[i] = a[n * 2 + i];", "out[i]", "out[n * 2 + i]", 1.2),
        ("__shared__ int s[8];\ns[0] = a[0];", "int s", "float s", 0.5),
        (f"{PAIR}int b = min(y + 1, w - 1);\nout[b] = 1;", "w - 1", "h - 1", 0.2),
        (
            "int i = threadIdx.x;\nfloat *own = out + blockIdx.x * 8;\nown[i] = i & 4;",
            "i & 4",
            "(blockIdx.x * 8 + i) & 4",
            0.8,
        ),
    ],
)
def test_slips_of_kernels(body: str, old: str, new: str, cost: float) -> None:
    made = {text: change.cost for text, change in changes(typing_changes, body).items()}
    assert made[body.replace(old, new) if body.count(old) == 1 else body[: body.rindex(old)] + new] == cost


def test_shuffles_have_their_words() -> None:
    for way, words in (("xor", "by_distance"), ("down", "by_xor")):
        made = changes(typing_changes, f"float v = a[0];\nout[0] = __shfl_{way}_sync(~0u, v, 4);")
        assert [change.detail for change in made.values() if change.group == "opposite"] == [words]


@pytest.mark.parametrize("start", ["int i = blockIdx.x * blockDim.x + threadIdx.x", "int i = own", ""])
@pytest.mark.parametrize(
    ("step", "more", "detail"),
    [("blockDim.x", "gridDim.x", "stride"), ("gridDim.x", "blockDim.x", "stride_blocks"), ("1", "", "")],
)
def test_a_loop_over_the_grid_goes_on_by_all_its_threads(start: str, step: str, more: str, detail: str) -> None:
    own = f"int {'own' if start else 'i'} = blockIdx.x * blockDim.x + threadIdx.x;\n"
    body = own + f"for ({start}; i < n; i += {step}) out[i] = i;"
    made = {text: c.detail for text, c in changes(loop_changes, body).items() if c.group == "stride"}
    assert made == ({body.replace(f"+= {step}", f"+= {step} * {more}"): detail} if detail else {})


def test_what_is_in_order_is_left_alone() -> None:
    stepping = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = i;"
    # Up to the end of the block's own part.
    own = "for (int i = blockIdx.x * 64 + threadIdx.x; i < 64 * (blockIdx.x + 1); i += blockDim.x) out[i] = i;"
    assert not any("gridDim" in text for text in changes(loop_changes, own))
    for body in (stepping, f"{PAIR}int b = min(y + 1, h - 1);\nout[b] = 1;", "int k = 1;\nk ^= 1;\nout[k] = 1;"):
        assert not changes(typing_changes, body)
    assert not [c for c in changes(loop_changes, stepping).values() if c.group == "stride"]


@pytest.mark.parametrize(
    ("body", "after", "detail"),
    [
        (
            "int k = 1;\nfor (;;) {\nout[k] = 1;\nk *= 2;\nint j = k;\nout[j] = 1;\n}",
            "int j = k;\nk *= 2;",
            "order_after",
        ),
        ("int i = 0;\nout[i + 1] = 1;\nout[i] = out[i + 1];", "out[i] = out[i + 1];\nout[i + 1] = 1;", "order_after"),
        (
            "int i = n;\nfloat x = in[i];\nif (i >= n) return;\nout[i] = x;",
            "if (i >= n) return;\nfloat x = in[i];",
            "late",
        ),
    ],
)
def test_two_statements_in_each_other_s_place(body: str, after: str, detail: str) -> None:
    found = [text for text, c in changes(typing_changes, body).items() if c.detail == detail]
    assert [after in text for text in found] == [True]


HEAD = "__global__ void k(float *in, float *out, int n);\nvoid f(float *a, float *b, int n) {\n"


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("fwrite(a, sizeof(a), n, file);", "fwrite(a, sizeof(*a), n, file);"),
        ("k<<<1, 32>>>(a, b, n);\nk<<<1, 32>>>(a, b, n);", "k<<<1, 32>>>(a, b, n);"),
        ("for (int i = 0; i <= n; i++) g(i);", "for (int i = 0; i < n; i++) g(i);"),
        ("cudaMemset(a, 1, n);", "cudaMemset(a, 0, n);"),
        (
            "for (int s = 0; s < n; s++) {\nk<<<1, 32>>>(a, b, n);\n}",
            "for (int s = 0; s < n; s++) {\nk<<<1, 32>>>(a, b, n);\nstd::swap(a, b);\n}",
        ),
        (
            "for (int s = 0; s < n; s++) {\nk<<<1, 32>>>(p.front, p.back, n);\n}",
            "for (int s = 0; s < n; s++) {\nk<<<1, 32>>>(p.front, p.back, n);\nstd::swap(p.front, p.back);\n}",
        ),
        (
            "int part_of = n / parts;\nfor (int p = 0; p < parts; p++) {\nint at = p * part_of;\n"
            "g(a + at, part_of);\n}",
            "int part_of = n / parts;\nfor (int p = 0; p < parts; p++) {\nint at = p * part_of;\n"
            "const auto part = p == parts - 1 ? n - at : part_of;\ng(a + at, part);\n}",
        ),
    ],
)
def test_slips_of_host_code(body: str, after: str) -> None:
    text = f"{HEAD}{body}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = [changed(text, change).removeprefix(HEAD).removesuffix("}\n").strip() for change in host_slip_changes(host)]
    assert made == [after]


@pytest.mark.parametrize(
    "body",
    [
        # The size of a number and of a whole array.
        "g(2 * n);\nfwrite(&n, sizeof(n), 1, file);",
        "float own[8];\n*own = 1;\nfwrite(own, sizeof(own), 1, file);",
        # The name is taken.
        "int part = n / parts;\nfor (int p = 0; p < parts; p++) {\nint at = p * part;\ng(a + at, part);\n}",
    ],
)
def test_right_host_code_is_left_alone(body: str) -> None:
    host = host_of(parse(SourceText(Path("p.cu"), f"{HEAD}{body}\n}}\n", "utf-8")))
    assert list(host_slip_changes(host)) == []


def test_another_array_is_copied_at_the_same_offset() -> None:
    head = f"{HEAD}float *x, *y;\ncudaMalloc(&x, n);\ncudaMalloc(&y, n);\n"
    copy = "cudaMemcpyAsync(x + 2 * n, a, n, cudaMemcpyHostToDevice, 0);"
    text = f"{head}{copy}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    made = {
        changed(text, change).removeprefix(head).removesuffix("\n}\n"): change for change in host_slip_changes(host)
    }
    assert {after: (c.line, c.detail) for after, c in made.items()} == {
        copy.replace("(x", "(y"): (6, "target"),
        copy.replace(", a,", ", a + 2 * n,"): (6, "source"),
    }
