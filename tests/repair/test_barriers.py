"""Changes of barriers: where one is tried, moved or made stronger."""

from __future__ import annotations

import pytest

from grader.repair.barriers import ONE_WAY, barrier_changes
from grader.repair.function import Function
from tests.repair.kernels import changes

FILL = "__shared__ float t[16];\nt[threadIdx.x] = a[threadIdx.x];\nout[threadIdx.x] = t[15 - threadIdx.x];"
LOOP = (
    "__shared__ float t[16];\nfor (int p = 0; p < n; p++) {\nt[threadIdx.x] = a[p];\n__syncthreads();\n"
    "out[p] += t[15 - threadIdx.x];\n}"
)
BRANCH = "__shared__ float t[16];\nif (threadIdx.x < 8) {\nt[threadIdx.x] = a[0];\n__syncthreads();\n}\nout[0] = t[3];"


def made(body: str, shares: bool = True) -> dict[str, tuple[str, str, float]]:
    """Group, detail and cost of each change."""

    def make(function: Function):  # type: ignore[no-untyped-def]
        return barrier_changes(function, shares)

    return {text: (c.group, c.detail, c.cost) for text, c in changes(make, body).items()}


def test_a_barrier_is_tried_after_what_fills_shared_memory() -> None:
    found = made(FILL)
    assert found[FILL.replace("\nout", "\n__syncthreads();\nout")] == ("barrier", "after", 2.2)
    assert all(group == "barrier" for group, _detail, _cost in found.values())


def test_empty_statements_change_nothing() -> None:
    assert not [1 for _group, detail, _cost in made(f"{FILL};\nif (n) ;\n;").values() if detail == "between"]


def test_a_kernel_that_shares_nothing_needs_none() -> None:
    assert not made(FILL, shares=False)


def test_behind_a_return_not_all_threads_come_to_it() -> None:
    body = "if (threadIdx.x > n) return;\n" + FILL
    assert made(body)[body.replace("\nout", "\n__syncthreads();\nout")] == ("barrier", "after", 3.0)


def test_a_loop_needs_one_at_its_end_before_it_fills_the_array_again() -> None:
    found = made(LOOP)
    after = LOOP.replace("threadIdx.x];\n}", "threadIdx.x];\n__syncthreads();\n}")
    assert found[after] == ("barrier", "loop_end", 2.0)
    assert found[LOOP.replace("__syncthreads();", ";")] == ("remove_barrier", "removed", 3.5)


def test_behind_a_loop_that_only_fills_it_is_tried_before_its_end() -> None:
    """Nothing points to the line of the closing brace."""
    body = "__shared__ float t[16];\nfor (int p = 0; p < n; p++) {\nt[p] = a[p];\n}\nout[0] = t[3];"
    found = made(body)
    behind, end = body.replace("}\nout", "}\n__syncthreads();\nout"), body.replace("\n}", "\n__syncthreads();\n}")
    assert (found[behind], found[end]) == (("barrier", "after", 1.2), ("barrier", "loop_end", 2.4 + ONE_WAY))


def test_a_loop_that_reads_what_it_stores_may_need_it_at_its_end() -> None:
    loop = "for (int p = 8; p > 0; p /= 2) {\nt[threadIdx.x] += t[threadIdx.x + p];\n}\n"
    body = f"__shared__ float t[16];\n{loop}out[0] = t[0];"
    assert made(body)[body.replace("\n}", "\n__syncthreads();\n}")] == ("barrier", "loop_end", 2.4)


def test_a_loop_without_any_may_need_two() -> None:
    body = LOOP.replace("__syncthreads();\n", "")
    found = made(body)
    both = LOOP.replace("threadIdx.x];\n}", "threadIdx.x];\n__syncthreads();\n}")
    assert both in found


def test_a_barrier_in_a_branch_is_moved_behind_it() -> None:
    found = made(BRANCH)
    moved = next(text for text, (group, _detail, _cost) in found.items() if group == "move_barrier")
    assert moved.replace("\n\n", "\n") == BRANCH.replace("__syncthreads();\n}", "}\n__syncthreads();")
    assert found[moved] == ("move_barrier", "in_branch", 0.9)


@pytest.mark.parametrize(("first", "is_moved"), [("threadIdx.x", True), ("0", False)])
def test_a_barrier_in_a_loop_of_each_thread_s_own_is_moved_behind_it(first: str, is_moved: bool) -> None:
    loop = f"for (int k = {first}; k < n; k += blockDim.x) {{\nt[k] = a[k];\n__syncthreads();\n}}"
    body = f"__shared__ float t[64];\n{loop}\nout[0] = t[3];"
    moved = body.replace("__syncthreads();\n}", "}\n__syncthreads();")
    assert [text for text, (_g, detail, _c) in made(body).items() if detail == "out_of_loop"] == [moved] * is_moved


def test_a_barrier_of_a_warp_may_have_to_be_the_block_s() -> None:
    body = FILL.replace("\nout", "\n__syncwarp();\nout")
    assert made(body)[body.replace("__syncwarp", "__syncthreads")] == ("barrier", "stronger", -0.3)


@pytest.mark.parametrize(
    ("steps", "after"),
    [
        ("t[i] += t[i + 8];\nif (i < 4) t[i] += t[i + 4];", None),
        ("for (int h = 8; h > 0; h /= 2) {\nif (i < h) t[i] += t[i + h];\n}", "{}"),
        ("for (int h = 8; h > 0; h /= 2)\nif (i < h) t[i] += t[i + h];", "{}"),
    ],
)
def test_steps_of_a_warp_need_its_barrier(steps: str, after: str | None) -> None:
    body = f"int i = threadIdx.x;\n__shared__ float t[64];\n__syncthreads();\nif (i < 32) {{\n{steps}\n}}"
    own = [text for text, (_group, detail, _cost) in made(body).items() if detail == "warp"]
    plain = [text.replace("\n", "").replace(" ", "").count(";__syncwarp();") for text in own]
    if after is None:
        # After both; what all lanes store, they read first.
        assert own[0] == body.replace("8];", "8]; __syncwarp();").replace("+ 4];", "+ 4]; __syncwarp();")
        read = "{ const auto read = t[i + 8]; __syncwarp(); t[i] += read; __syncwarp(); }"
        assert own[1] == body.replace("t[i] += t[i + 8];", read).replace("+ 4];", "+ 4]; __syncwarp();")
    else:
        assert plain[0] == 1 and own[0].index("__syncwarp") > own[0].index("t[i + h]")


@pytest.mark.parametrize(
    ("step", "condition"), [("if (i >= d) t[i] += t[i - d];", "i >= d"), ("t[i] = t[i - d] + 1;", "")]
)
@pytest.mark.parametrize("barrier", ["", "\n__syncthreads();"])
def test_who_reads_what_others_overwrite_reads_before_they_do(step: str, condition: str, barrier: str) -> None:
    body = f"int i = threadIdx.x, d = n;\n__shared__ float t[64];\n{step}{barrier}\nout[i] = t[i];"
    reads = f"{condition} ? t[i - d] : 0;" if condition else "t[i - d] + 1;"
    stores = "if (i >= d) t[i] += read;" if condition else "t[i] = read;"
    after = f"const auto read = {reads}\n__syncthreads();\n{stores}\n__syncthreads();"
    found = {text: c for text, c in made(body).items() if c[1] == "between"}
    assert list(found) == [body.replace(f"{step}{barrier}", after)]


@pytest.mark.parametrize("barrier", ["", "\n__syncthreads();"])
def test_who_reads_through_a_variable_does_so_too(barrier: str) -> None:
    step = "if (i >= d) {\nconst float v = t[i - d];\nt[i] += v;\n}"
    body = f"int i = threadIdx.x, d = n;\n__shared__ float t[64];\n{step}{barrier}\nout[i] = t[i];"
    after = "const float v = i >= d ? t[i - d] : 0;\n__syncthreads();\nif (i >= d) t[i] += v;\n__syncthreads();"
    assert [text for text, c in made(body).items() if c[1] == "between"] == [body.replace(f"{step}{barrier}", after)]
    # What is stored elsewhere waits for nobody.
    assert "between" not in {c[1] for c in made(body.replace("t[i] += v", "out[i] += v")).values()}


def test_steps_with_a_barrier_of_the_block_need_no_other() -> None:
    body = f"__shared__ float t[16];\nif (n) {{\n{LOOP}\n}}"
    assert not [detail for _group, detail, _cost in made(body).values() if detail == "warp"]


def test_a_loop_that_only_reads_needs_none_within() -> None:
    loop = LOOP.replace("out[p] += t[15 - threadIdx.x];", "for (int k = 0; k < 16; k++) {\ns += t[k];\nn++;\n}")
    found = made(loop)
    within, behind = loop.replace("t[k];", "t[k];\n__syncthreads();"), loop.replace("}\n}", "}\n__syncthreads();\n}")
    assert found[behind][2] < found[within][2] == 2.2 + ONE_WAY


def test_a_barrier_at_the_end_of_a_loop_is_tried_before_one_between() -> None:
    step = f"{FILL};\n__syncthreads();\nfor (int k = 8; k > 0; k /= 2) {{\nif (i < k) t[i] = t[i] + t[i + k];\n}}"
    costs = {detail: cost for _group, detail, cost in made(step).values() if detail in ("between", "loop_end")}
    assert costs["loop_end"] < costs["between"]
