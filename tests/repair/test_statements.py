"""Changes of first values of variables and sums, and of types that cannot hold them."""

from __future__ import annotations

import pytest

from grader.repair.statements import value_changes
from tests.repair.kernels import changes

SUM = "float s = 0;\nfor (int r = 0; r < n; r++) {\nfor (int i = 0; i < n; i++) {\ns += a[i];\n}\nout[r] = s;\n}"


@pytest.mark.parametrize(
    ("body", "after", "fields"),
    [
        ("float s;\nout[0] = s;", "float s = 0;\nout[0] = s;", ("initial_value", 1.2, "zero", "missing", 2)),
        ("float s = 5;\nout[0] = s;", "float s = 0;\nout[0] = s;", ("initial_value", 2.2, "zero", "", 2)),
        (
            "int s = 0;\ns += a[0];\nout[0] = s;",
            "float s = 0;\ns += a[0];\nout[0] = s;",
            ("expression", 2.4, "type", "integer", 2),
        ),
        (
            "for (unsigned i = n; i > 0; i--) out[i] = 1;",
            "for (int i = n; i > 0; i--) out[i] = 1;",
            ("expression", 2.0, "unsigned", "unsigned", 2),
        ),
        (
            "size_t i = n;\nout[i - 1] = 1;",
            "int i = n;\nout[i - 1] = 1;",
            ("expression", 2.0, "unsigned", "unsigned", 2),
        ),
        *(
            (f"{name} i = n;\nout[i] = 1;", "int i = n;\nout[i] = 1;", ("expression", 1.4, "narrow", "narrow", 2))
            for name in ("short", "unsigned char", "signed char", "unsigned short int", "uint8_t", "std::int16_t")
        ),
        (
            "float t[4];\nout[0] = t[0];",
            "__shared__ float t[4];\nout[0] = t[0];",
            ("expression", 1.8, "not_shared", "not_shared", 2),
        ),
        (
            "float t[4];\n__syncthreads();\nout[0] = t[0];",
            "__shared__ float t[4];\n__syncthreads();\nout[0] = t[0];",
            ("expression", 1.0, "not_shared", "not_shared", 2),
        ),
        (
            "if (n > 2) out[0] = a[0];",
            "if (n > 2) out[0] = a[0];\nelse out[0] = 0;",
            ("initial_value", 2.4, "else_zero", "else", 2),
        ),
        (
            "if (n > 2) {\nout[0] = a[0];\n}",
            "if (n > 2) {\nout[0] = a[0];\n}\nelse out[0] = 0;",
            ("initial_value", 2.4, "else_zero", "else", 2),
        ),
        (SUM, SUM.replace("for (int i", "s = 0;\nfor (int i"), ("initial_value", 0.6, "reset", "goes_on", 4)),
        *(
            (
                SUM.replace("s += a[i]", more),
                SUM.replace("s += a[i]", more).replace("for (int i", "s = 0;\nfor (int i"),
                ("initial_value", 2.0, "reset", "goes_on", 4),
            )
            for more in ("s = s + a[i]", "s = fmaf(a[i], a[i], s)")
        ),
        (SUM, SUM.replace("s += a", "s = 0;\ns += a"), ("initial_value", 2.6, "reset", "goes_on", 5)),
        # It goes on from no loop's pass to the next: where it begins is wrong.
        (
            "float s = a[n];\nfor (int i = 0; i < n; i++)\ns += a[i];\nout[0] = s;",
            "float s = 0;\nfor (int i = 0; i < n; i++)\ns += a[i];\nout[0] = s;",
            ("initial_value", 1.2, "reset", "", 2),
        ),
        ("out[0] = 1;\nout[1] = 2;", ";\nout[1] = 2;", ("expression", 4.8, "delete", "removed", 2)),
    ],
)
def test_a_first_value(body: str, after: str, fields: tuple[object, ...]) -> None:
    found = changes(value_changes, body)
    assert after in found, list(found)
    change = found[after]
    assert (change.kind, change.cost, change.group, change.detail, change.line) == fields


@pytest.mark.parametrize(
    ("body", "group"),
    [
        ("__shared__ float t[4];\nout[0] = t[0];", "not_shared"),
        ("int i = n;\nout[i] = 1;", "unsigned"),
        ("float s = 0;\nout[0] = s;", "zero"),
        ("int s = 0;\nout[0] = s;", "type"),
        ("if (n > 2) out[0] = 1; else out[1] = 1;", "else_zero"),
        ("if (n > 2) { out[0] = 1; out[1] = 1; }", "else_zero"),
        # It begins anew with each turn already.
        ("for (int r = 0; r < n; r++) {\nfloat s = 0;\ns += a[r];\nout[r] = s;\n}", "reset"),
        # It does not go on from what was there.
        (SUM.replace("s += a[i]", "s = a[i]"), "reset"),
        (SUM.replace("s += a[i]", "s -= a[i]"), "reset"),
        ("int i = n;\nout[i] = 1;", "narrow"),
        ("__syncthreads();", "delete"),
    ],
)
def test_what_is_right_as_it_is_is_left_alone(body: str, group: str) -> None:
    assert group not in {change.group for change in changes(value_changes, body).values()}


STALE = "float x = 0, y = 0;\nx = x * x - y * y;\ny = 2 * x * y;\nout[0] = x + y;"


def test_a_value_that_has_just_been_replaced_is_kept_from_before() -> None:
    after = STALE.replace("x = x * x", "const auto x_before = x;\nx = x * x").replace("2 * x", "2 * x_before")
    change = changes(value_changes, STALE)[after]
    assert (change.kind, change.detail, change.line) == ("expression", "stale", 4)


@pytest.mark.parametrize(
    ("old", "new"),
    [("2 * x * y", "2 * y"), ("x * x - y * y", "x * x"), ("y = 2 * x * y", "out[1] = x"), ("y = 2", "x = 2")],
)
def test_what_does_not_hang_on_each_other_is_not(old: str, new: str) -> None:
    assert "stale" not in {c.detail for c in changes(value_changes, STALE.replace(old, new)).values()}


GOES_ON = "float s = 0;\nfor (int j = 0; j < n; j++) {\nfor (int k = 0; k < n; k++)\ns += a[k];\nout[j] = s;\n}"


def test_a_sum_that_is_stored_and_goes_on_to_the_next_element_is_set_anew_first_of_all() -> None:
    change = changes(value_changes, GOES_ON)[GOES_ON.replace("for (int k", "s = 0;\nfor (int k")]
    assert (change.kind, change.group, change.cost) == ("initial_value", "reset", 0.6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("out[j] = s;", "out[j] = s;\ns = 0;"),
        ("out[j] = s;\n}", "}\nout[0] = s;"),
        # A sum of all that came before.
        ("for (int k = 0; k < n; k++)\n", ""),
    ],
)
def test_a_sum_that_is_meant_to_go_on_is_not(old: str, new: str) -> None:
    assert 0.6 not in {c.cost for c in changes(value_changes, GOES_ON.replace(old, new)).values()}


LANE = "int lane = threadIdx.x % 32;\n__shared__ float s[1];\n"


@pytest.mark.parametrize(
    ("body", "tests"),
    [
        (f"{LANE}out[n / 32] = s[0];", ["lane == 0"]),
        (f"{LANE}atomicAdd(out, s[0]);", ["lane == 0", "threadIdx.x == 0"]),
        ("float v = __shfl_down_sync(~0u, n, 1); out[n] = v;", ["threadIdx.x % 32 == 0"]),
        (f"{LANE}if (lane == 1) atomicAdd(out, s[0]);", []),
        ("atomicAdd(out, 1);", []),
    ],
)
def test_what_one_thread_alone_is_to_do(body: str, tests: list[str]) -> None:
    found = [text for text, c in changes(value_changes, body).items() if c.detail == "one"]
    assert [text.partition("if (")[2].partition(")")[0] for text in found] == tests


@pytest.mark.parametrize(
    ("adds", "after"),
    [
        ("out[n] += a[0];", "atomicAdd(&out[n], a[0]);"),
        ("out[n]++;", "atomicAdd(&out[n], 1);"),
        ("out[n] = out[n] + a[0] * 2;", "atomicAdd(&out[n], a[0] * 2);"),
        ("out[n] = a[0] + out[n];", "atomicAdd(&out[n], a[0]);"),
        ("float old = out[n];\nout[n] = old + 1;", "atomicAdd(&out[n], 1);"),
        ("float old = out[n];\nout[n] = old + 1;\nout[1] = old;", ""),
        ("*out -= a[0] + 1;", "atomicAdd(&*out, -(a[0] + 1));"),
        ("out[n] = a[0];", ""),
        ("float s = 0; s += a[0];", ""),
    ],
)
def test_what_several_threads_add_to_is_added_atomically(adds: str, after: str) -> None:
    found = {text: c for text, c in changes(value_changes, adds).items() if c.group == "atomic"}
    assert list(found) == ([after] if after else [])
    assert all((c.kind, c.detail) == ("expression", "atomic") for c in found.values())


@pytest.mark.parametrize(
    ("call", "after"),
    [
        (
            "atomicMax((int *)out, __float_as_int(v));",
            "v >= 0 ? atomicMax((int *)out, __float_as_int(v))\n: (int)atomicMin((unsigned *)out, __float_as_uint(v));",
        ),
        (
            "atomicMin(reinterpret_cast<int *>(&out[n]), __float_as_int(v));",
            "v >= 0 ? atomicMin(reinterpret_cast<int *>(&out[n]), __float_as_int(v))\n"
            ": (int)atomicMax((unsigned *)(&out[n]), __float_as_uint(v));",
        ),
        ("atomicMax((unsigned *)out, __float_as_uint(v));", ""),
        ("int old = atomicMax((int *)out, __float_as_int(v));", ""),
    ],
)
def test_bits_of_negative_floats_are_ordered_the_other_way_round(call: str, after: str) -> None:
    assert [text for text, c in changes(value_changes, call).items() if c.detail == "bits"] == (
        [after] if after else []
    )
