"""What launches hand over that does not go together, by what was seen of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from grader.lab import labs
from grader.running.own_program import _of_instances, _of_places
from grader.submission.kernels.records import SeenArgument, SeenLaunch

LAB = labs.find("batch-square")
COUNT = 100


def kernel(roles: tuple[str, ...], template: tuple[tuple[str, str], ...] = ()) -> Any:
    """As much of a kernel as is asked for: parameters are called as their roles."""
    parameters = [SimpleNamespace(name=role, dtype="float32" if role in ("in", "out") else "int32") for role in roles]
    return SimpleNamespace(
        lab=LAB,
        interpretation=SimpleNamespace(roles=roles, template=template),
        binding=SimpleNamespace(kernel=SimpleNamespace(name="k", parameters=parameters)),
    )


def launch(template: str, n: int, places: tuple[int, int] = (0, 0)) -> SeenLaunch:
    arrays = [
        SeenArgument(name, "float*", buffer=f"d_{name}", buffer_bytes=4 * COUNT * n * n, offset_bytes=4 * place)
        for name, place in zip(("in", "out"), places, strict=True)
    ]
    given = (*arrays, SeenArgument("count", "int", COUNT))
    return SeenLaunch("k", (template,) if template else (), "b.cu", n, (1, 1, 1), (128, 1, 1), 0, given)


ROLES = ("in", "out", "count")


@pytest.mark.parametrize(
    ("instances", "lines"),
    [
        ({2: "2", 3: "3", 4: "4", 5: "5", 6: "6"}, []),
        ({2: "2", 3: "3", 4: "4", 5: "5", 6: "5"}, [6]),
        # A program of which most launches look so has larger arrays than it needs.
        ({2: "2", 3: "2", 4: "2"}, []),
    ],
)
def test_an_instance_for_another_size(instances: dict[int, str], lines: list[int]) -> None:
    launches = [launch(template, n) for n, template in instances.items()]
    faults = list(_of_instances(kernel(ROLES, (("N", "n"),)), launches))
    assert [fault.line for fault in faults] == lines
    for fault in faults:
        assert fault.message.data == {"kernel": "k<5>", "size": "n", "got": 5, "value": 6}
    # What is no size says nothing.
    assert not list(_of_instances(kernel(ROLES, (("N", ""),)), launches))


def test_parts_of_arrays_that_begin_at_different_elements() -> None:
    right = [launch("", 4, (0, 0)), launch("", 4, (400, 400))]
    assert not list(_of_places(kernel(ROLES), right))
    (fault,) = _of_places(kernel(ROLES), [*right, launch("", 4, (400, 25))])
    assert (fault.kind, fault.message.id) == ("launch", "checks.launch.places")
    assert (fault.message.data["first_at"], fault.message.data["second_at"]) == (400, 25)
