"""What was made to win without the work or to stop the others: each case within its limits, and as it is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import pace
from tests.attacks import attack
from tests.attacks.attack import MEGABYTES, SECONDS, Case
from tests.attacks.measure import Took

CASES = attack.cases()


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Took]:
    """What a right sample takes, with all that follows the marks and without, once all that is kept is there."""
    text, took = str(attack.pieces()["whole"]), {}
    for is_whole in (True, True, False):
        took[is_whole], verdict = attack.graded(text, "transpose", tmp_path_factory.mktemp("right"), is_whole)
        assert verdict is not None
        assert verdict.earned == 95
    return took


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_attack(case: Case, right: dict[bool, Took], tmp_path: Path) -> None:
    slowness, is_whole = pace.slowness(), case.source.stem == "named"
    took, verdict = attack.graded(case.text(), case.lab, tmp_path, is_whole)
    expect = case.expect
    exits = expect.get("exit", [2] if expect.get("refused") else [0, 1])
    assert took.status in exits, took.output[-2000:]
    assert (verdict is None) == bool(expect.get("refused")), took.output[-2000:]
    if verdict is not None:
        assert verdict.earned == expect.get("points", verdict.earned), took.output
        assert verdict.earned <= expect.get("points_at_most", verdict.earned), took.output
        told = {name: verdict.statuses.get(name, None if is_whole else "pass") for name in expect.get("checks", {})}
        assert told == expect.get("checks", {})
    said = took.output + (verdict.said if verdict is not None else "")
    assert expect.get("says", "") in said
    assert "Traceback" not in said
    assert took.cpu_s <= right[is_whole].cpu_s + SECONDS * max(slowness, pace.slowness()), took.cpu_s
    megabytes = expect.get("megabytes", MEGABYTES)
    assert took.peak_bytes <= right[is_whole].peak_bytes + megabytes * 1_000_000, took.peak_bytes


def test_a_case_has_three_variants_beside_the_named_one() -> None:
    folders = {path.parent for path in attack.HERE.glob("*/case.yaml")}
    assert folders
    for folder in folders:
        names = {path.stem for path in folder.glob("*.cu")}
        assert "named" in names
        assert len(names) >= 4, folder.name
