"""Changes of what breaks a pattern, of statements that were left out and of what was mixed up."""

from __future__ import annotations

import pytest

from grader.repair.comparisons import index_changes
from grader.repair.likenesses import likeness_changes, omission_changes
from grader.repair.loops import limit_slips
from grader.repair.mixups import mixup_changes
from grader.repair.several_places import idea_changes
from tests.repair.kernels import Make, changes

VECTOR = "float4 v = b[0], u = b[1];\n"
SHUFFLES = "float x = a[0];\n" + "".join(f"x += __shfl_down_sync(~0u, x, {d});\n" for d in (16, 8, 4, 2, 1))
TILE = "__shared__ float s[512];\nint t = threadIdx.x, g = blockIdx.x * 512;\n"
IN_LOOP = "float sum = 0;\nfor (int k = 0; k < n; k++) {\nsum = 0;\nsum += a[k];\n}\nout[0] = sum;"


@pytest.mark.parametrize(
    ("make", "right", "mended", "wrong"),
    [
        (likeness_changes, f"{VECTOR}v.x += u.x;\nv.y += u.y;\nv.z += u.z;\nv.w += u.w;", "+= u.z", "+= u.y"),
        (likeness_changes, "float s0 = a[0], s1 = a[1], s2 = a[2];\nout[0] = s0;", "a[1]", "a[2]"),
        (likeness_changes, "out[0] = a[n + 1] + a[n + 2] + a[n + 3] + a[n + 4];", "n + 2", "n + 3"),
        (likeness_changes, SHUFFLES, "x, 4)", "x, 2)"),
        (likeness_changes, SHUFFLES, "x += __shfl_down_sync(~0u, x, 4);\n", ""),
        (likeness_changes, SHUFFLES, "x += __shfl_down_sync(~0u, x, 16);\n", ""),
        (likeness_changes, SHUFFLES, "\nx += __shfl_down_sync(~0u, x, 1);", ""),
        (
            likeness_changes,
            "int x0 = blockIdx.x * 8 - 2, y0 = blockIdx.y * 8 - 2;\nout[y0 + x0] = 1;",
            "y * 8 - 2",
            "y * 8",
        ),
        (likeness_changes, "__shared__ float s[8 * 9];\nint t = threadIdx.x;\ns[t * 9 + t] = 1;", "t * 9", "t * n"),
        (
            omission_changes,
            f"{TILE}s[t] = a[g + t];\ns[t + 256] = a[g + t + 256];\na[g + t] = s[t];\na[g + t + 256] = s[t + 256];",
            "\na[g + t + 256] = s[t + 256];",
            "",
        ),
        (
            likeness_changes,
            "float s = a[0], x = 0, y = 0, z = 0;\nx += a[1] * s;\ny += a[2] * s;\nz += a[3] * s;",
            "[3] * s",
            "[3]",
        ),
        (
            likeness_changes,
            "float s = a[0], dx = s, dy = s, dz = s;\nout[0] = x + s * dx;\nout[1] = y + s * dy;\nout[2] = z + s * dz;",
            "x + s * dx",
            "x + s",
        ),
        (omission_changes, "float4 v = b[n];\nv.x = 1;\nv.y = 2;\nb[n] = v;", "\nb[n] = v;", ""),
        (
            omission_changes,
            "int cur = 0;\nfor (int k = 0; k < n; k++) {\nout[1 - cur] = out[cur];\ncur = 1 - cur;\n"
            "__syncthreads();\n}",
            "\ncur = 1 - cur;",
            "",
        ),
        (
            omission_changes,
            f"{TILE}int left = g - n;\nint right = g + 8;\ns[t - n] = left >= 0 ? a[left] : 0;\n"
            "s[t + 8] = right < n ? a[right] : 0;\nif (t < n) out[t] = s[t];",
            "\ns[t + 8] = right < n ? a[right] : 0;",
            "",
        ),
        (
            omission_changes,
            "for (int i = 0; i < n; i++) {\nif (i < 2) {\nout[i] = 1;\ncontinue;\n}\nout[i] = 2;\n}",
            "\ncontinue;",
            "",
        ),
        (
            idea_changes,
            "float s0 = 0, s1 = 0, s2 = 0;\ns0 += 1;\ns1 += 1;\ns2 += 1;\nout[0] = s0 + s1 + s2;",
            " + s2;",
            ";",
        ),
        (
            mixup_changes,
            "int w = gridDim.x, h = gridDim.y;\nint x = threadIdx.x, y = threadIdx.y;\nif (x < w && y < h) out[x] = y;",
            "x < w && y < h",
            "x < h && y < w",
        ),
        (mixup_changes, "int i = n / 5, j = n % 5;\nout[i] = j;", "i = n / 5, j = n % 5", "i = n % 5, j = n / 5"),
        (
            mixup_changes,
            "int p = n, q = n;\nint x = p + threadIdx.x;\nint y = q + threadIdx.y;\nout[x] = y;",
            "x = p + threadIdx.x;\nint y = q",
            "x = q + threadIdx.x;\nint y = p",
        ),
        (mixup_changes, "out[0] = 0.3f * a[0] + 0.6f * a[1];", "0.3f * a[0] + 0.6f", "0.6f * a[0] + 0.3f"),
        (
            mixup_changes,
            f"{VECTOR}float d = v.x - u.x, e = v.y - u.y, f = v.z - u.z;\nout[0] = d;",
            "v.y - u.y",
            "u.y - v.y",
        ),
        (mixup_changes, "float inv = a[0];\nout[0] = a[1] * inv * inv * inv;", " * inv;", ";"),
        (
            mixup_changes,
            "int t = threadIdx.x;\nfor (int d = 4; d > 0; d /= 2) out[t - (t & (d - 1))] = 1;",
            "(d - 1)",
            "d",
        ),
        (mixup_changes, "if (threadIdx.x == blockDim.x - 1) out[0] = 1;", "blockDim.x - 1", "0"),
        (mixup_changes, "for (int k = b[n]; k < b[n + 1]; k++) out[k] = 1;", "b[n + 1]", "b[n] + 1"),
        (
            mixup_changes,
            "int t = n, d = n, l = n, r = n;\nout[0] = (d - t + 1) * (r - l + 1);",
            "(d - t + 1) * (r - l + 1)",
            "(d - t) * (r - l)",
        ),
        (mixup_changes, "if (a[0] > 4.0f) out[0] = 1;", "4.0f", "2.0f"),
        (index_changes, "int t = threadIdx.x + 2;\nout[t] = a[t];", "a[t]", "a[threadIdx.x]"),
        (
            mixup_changes,
            "int k = threadIdx.x;\nout[0] = (k < n && k < n) ? a[k * n + k] : 0;",
            "(k < n && k < n) ? a[k * n + k] : 0",
            "a[min(k, n - 1) * n + min(k, n - 1)]",
        ),
        (mixup_changes, "const float *p = a;\nfor (int k = 0; k < n; ++k, p += n) out[k] = *p;", "p += n", "p++"),
        (
            mixup_changes,
            "int lane = threadIdx.x % 32;\nfor (int k = n + lane; k < 99; k += 32) out[k] = 1;",
            "n + lane",
            "n",
        ),
        (mixup_changes, "int row = threadIdx.y;\nout[row * n + 1] = 1;", "row * n", "row * blockDim.x"),
        (mixup_changes, IN_LOOP.replace("sum = 0;\nsum +=", "sum +="), "{\nsum", "{\nsum = 0;\nsum"),
        (index_changes, "int i = blockIdx.x * blockDim.x + threadIdx.x;\nout[i] = 1;", "x * b", "x + b"),
        (index_changes, "int r = threadIdx.y, c = threadIdx.x;\nout[r * n + c] = 1;", "r * n", "r + n"),
        (
            index_changes,
            "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i++) out[i] = 1;",
            " * blockDim.x",
            "",
        ),
        (
            index_changes,
            "int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;\nout[w] = 1;",
            "(blockIdx.x * blockDim.x + threadIdx.x)",
            "blockIdx.x * blockDim.x + threadIdx.x",
        ),
        (
            index_changes,
            "int y = blockIdx.y * 8 + threadIdx.y;\nfor (int k = 0; k < 8; k++) out[(y + k) * n] = k;",
            "(y + k)",
            "(threadIdx.y + k)",
        ),
        (
            index_changes,
            "int i = blockIdx.x * 32 + threadIdx.x;\n__shared__ float s[32];\ns[threadIdx.x] = a[i];",
            "s[threadIdx.x]",
            "s[i]",
        ),
        (
            index_changes,
            "int y = threadIdx.y;\n__shared__ float s[32];\nfor (int k = 0; k < 8; k++) s[k] = a[(y + k) * n];",
            "(y + k)",
            "y",
        ),
        (
            index_changes,
            "int i = blockIdx.x * 32 * 4 + threadIdx.x;\nfor (int k = 0; k < 4; k++) {\nout[i] = 1;\ni += 32;\n}",
            "32 * 4",
            "32",
        ),
        (index_changes, "int t = threadIdx.x, i = t;\nout[i] = max(out[i], i & n);", "i & n", "t & n"),
        (
            limit_slips,
            "int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;\nif (x >= n || y >= n) return;",
            " || y >= n",
            "",
        ),
        (limit_slips, "for (int k = 1; k < n; k *= 2) out[k] = 1;", "*= 2", "+= 2"),
        (limit_slips, "int i = threadIdx.x;\nout[i] = i + 8 < n ? a[i + 8] : 0;", "i + 8 <", "i <"),
        (limit_slips, "int i = threadIdx.x, r = n;\nif (i >= r && i < n - r) out[i] = 1;", "i >= r && ", ""),
        (
            limit_slips,
            "int c = threadIdx.x, r = threadIdx.y, w = n, h = n;\nif (r < h && c < w) out[c] = 1;\n"
            "else if (c < w) out[r] = 2;",
            "h && c < w",
            "h",
        ),
        (limit_slips, "for (int j = 0; j < n; j += 8) out[j] = n;", "j += 8", "n += 8"),
        (limit_slips, "for (int k = -n; k <= n; k++) out[k + n] = 1;", "= -n", "= n"),
        (limit_slips, "for (int d = 16; d > 0; d /= 2) out[d] = 1;", "d /= 2", "d -= 2"),
        (limit_slips, "float v = a[0];\nv += __shfl_down_sync(0xffffffff, v, 4);", "0xffffffff, v", "v, 0xffffffff"),
    ],
)
def test_what_was_mixed_up_or_left_out(make: Make, right: str, mended: str, wrong: str) -> None:
    assert right.count(mended) == 1
    body = right.replace(mended, wrong)
    made = changes(make, body, "" if "b[" not in body else "__device__ float4 b[9];\n")
    assert right in made


@pytest.mark.parametrize(
    "body",
    [
        f"{VECTOR}v.x += u.x;\nv.y += u.y;\nv.z += u.z;\nv.w += u.w;\nb[0] = v;",
        SHUFFLES,
        # Two of a kind are no pattern, and the same element three times is none.
        f"{VECTOR}v.x += u.x;\nv.y += u.x;\nb[0] = v;",
        f"{VECTOR}v.x += u.x;\nv.y += u.x;\nv.z += u.x;\nb[0] = v;",
        "int cur = 0;\nfor (int k = 0; k < n; k++) {\nout[1 - cur] = out[cur];\ncur = 1 - cur;\n}",
    ],
)
def test_what_is_whole_is_left_alone(body: str) -> None:
    for make in (likeness_changes, omission_changes):
        assert not changes(make, body, "__device__ float4 b[9];\n")


@pytest.mark.parametrize(
    ("added", "counted"),
    [
        ("if (j < 0 || j >= n) continue;\nsum += a[j];", "if (j < 0 || j >= n) continue;\nsum += a[j];\n++count;"),
        ("if (j >= 0 && j < n) sum += a[j];", "if (j >= 0 && j < n) { sum += a[j]; ++count; }"),
        ("if (j >= 0 && j < n) {\nsum += a[j];\n}", "if (j >= 0 && j < n) {\nsum += a[j];\n++count;\n}"),
    ],
)
def test_a_sum_is_divided_by_the_number_of_its_terms(added: str, counted: str) -> None:
    body = f"float sum = 0, all = 2 * 3 + 1;\nfor (int j = -3; j <= 3; j++) {{\n{added}\n}}\nout[0] = sum / all;"
    right = body.replace("for (", "int count = 0;\nfor (").replace(added, counted).replace("/ all", "/ count")
    assert changes(omission_changes, body)[right].detail == "counted_terms"


@pytest.mark.parametrize(
    "added", ["sum += a[j];", "if (j >= 0 && j < n) { sum += a[j]; all++; }"], ids=["all", "counted"]
)
def test_what_adds_all_or_counts_already_is_left_alone(added: str) -> None:
    body = f"float sum = 0, all = 0;\nfor (int j = -3; j <= 3; j++) {{\n{added}\n}}\nout[0] = sum / all;"
    assert not changes(omission_changes, body)
