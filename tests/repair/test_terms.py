"""Terms and factors that an index lacks: as other indices of the kernel have them, and others later."""

from __future__ import annotations

import pytest

from grader.repair.clues import Clues
from grader.repair.terms import term_changes
from tests.repair.kernels import changes

INDEX = "int i = threadIdx.x, k = threadIdx.y;\n"
HALO = "#define R 2\n"


@pytest.mark.parametrize(
    ("body", "after", "group"),
    [
        # What the other side of the assignment has, and another access of the same array.
        ("out[i - R] = a[i];", "out[i - R] = a[i - R];", "halo"),
        ("out[i] = a[i + 2 * R];", "out[i + 2 * R] = a[i + 2 * R];", "halo"),
        ("out[i] = a[i + R + k];\nout[0] = a[i + k];", "out[i] = a[i + R + k];\nout[0] = a[i + k + R];", "halo"),
        # A factor that the index is multiplied by elsewhere, along whatever axis.
        ("int r = i * n + k;\nout[r] = a[i + k];", "int r = i * n + k;\nout[r] = a[i * n + k];", "times"),
        ("out[blockIdx.x * 4] = a[blockIdx.y];", "out[blockIdx.x * 4] = a[blockIdx.y * 4];", "times"),
        (
            "const float *m = a + i;\nfloat *o = out + i * n * n;",
            "const float *m = a + i * n * n;\nfloat *o = out + i * n * n;",
            "times",
        ),
    ],
)
def test_what_another_index_has_comes_first(body: str, after: str, group: str) -> None:
    found = changes(term_changes, INDEX + body + HALO_USED, HALO)
    change = found[INDEX + after + HALO_USED]
    assert (change.kind, change.group, change.cost) == ("index", group, 1.3)
    assert change.cost < min(c.cost for c in found.values() if c.group in ("add_term", "subtract"))


HALO_USED = "\nif (n > R) return;"


@pytest.mark.parametrize(
    ("body", "after", "group"),
    [
        ("out[0] = a[i];", "out[0] = a[i - R];", "subtract"),
        ("out[0] = a[i];", "out[0] = a[i + n];", "add_term"),
        ("int first = i;", "int first = i - R;", "subtract"),
        ("out[0] = a[min(i + k, n - 1)];", "out[0] = a[min(i + k - R, n - 1)];", "subtract"),
        ("out[0] = a[(i + k) * n];", "out[0] = a[(i + k - R) * n];", "subtract"),
        ("out[0] = a[i];", "out[0] = a[i * n];", "times"),
        ("out[0] = a[i * n];", "out[0] = a[i * n * n];", "times"),
        ("out[0] = a[i];", "out[0] = a[i + k];", "add_term"),
    ],
)
def test_sizes_are_added_taken_away_and_multiplied_by(body: str, after: str, group: str) -> None:
    change = changes(term_changes, INDEX + body + HALO_USED, HALO)[INDEX + after + HALO_USED]
    assert change.group == group and change.cost > 3


def test_no_value_that_is_stored_gets_a_term() -> None:
    found = changes(term_changes, INDEX + "float s = a[i] * n;\nout[i] = s;" + HALO_USED, HALO)
    assert found and all("* n;\nout" in text and "= s;" in text for text in found)


def test_what_is_as_long_as_the_values_are_moved_by_comes_sooner() -> None:
    found = changes(term_changes, INDEX + "out[0] = a[i];" + HALO_USED, HALO)
    clues = Clues({}, (), (), frozenset({"R"}))
    costs = {c.edits[0].text: clues.cost(c) for c in found.values() if c.group in ("add_term", "subtract")}
    assert costs[" - R"] == costs[" + R"] < min(cost for text, cost in costs.items() if " R" not in text) - 1
