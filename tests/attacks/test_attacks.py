"""What was made to win without the work or to stop the others: each case within its limits, and as it is expected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import pace
from tests.attacks import attack
from tests.attacks.attack import MEGABYTES, SECONDS, Case
from tests.attacks.measure import Took

CASES = attack.cases()


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Took:
    """What a right sample takes, once all that is kept between gradings is there."""
    text = str(attack.pieces()["whole"])
    attack.graded(text, "transpose", tmp_path_factory.mktemp("first"))
    took, result = attack.graded(text, "transpose", tmp_path_factory.mktemp("right"))
    assert result["score"]["earned"] == 95
    return took


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_attack(case: Case, right: Took, tmp_path: Path) -> None:
    slowness = pace.slowness()
    took, result = attack.graded(case.text(), case.lab, tmp_path, is_whole=case.source.stem == "named")
    expect = case.expect
    said = took.output + json.dumps(result, ensure_ascii=False)
    exits = expect.get("exit", [2] if expect.get("refused") else [0, 1])
    assert took.status in exits, took.output[-2000:]
    assert bool(result) != bool(expect.get("refused")), took.output[-2000:]
    if "points" in expect:
        assert result["score"]["earned"] == expect["points"], took.output
    if "points_at_most" in expect:
        assert result["score"]["earned"] <= expect["points_at_most"], took.output
    statuses = {check["id"]: check["status"] for check in result.get("checks", [])}
    assert {name: statuses.get(name) for name in expect.get("checks", {})} == expect.get("checks", {})
    assert expect.get("says", "") in said
    assert "Traceback" not in said
    assert took.cpu_s <= right.cpu_s + SECONDS * max(slowness, pace.slowness()), took.cpu_s
    megabytes = expect.get("megabytes", MEGABYTES)
    assert took.peak_bytes <= right.peak_bytes + megabytes * 1_000_000, took.peak_bytes


def test_a_case_has_three_variants_beside_the_named_one() -> None:
    folders = {path.parent for path in attack.HERE.glob("*/case.yaml")}
    assert folders
    for folder in folders:
        names = {path.stem for path in folder.glob("*.cu")}
        assert "named" in names
        assert len(names) >= 4, folder.name
