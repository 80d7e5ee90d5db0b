"""Launches followed in several processes at once: the same outcome as one after another."""

from __future__ import annotations

import pytest

from grader.grading.predictions import predict_launches
from grader.ptx.limits import PtxSyntaxError
from grader.timing.prediction import FollowedLaunch
from tests.timing.test_prediction import COPY, H200


def launch_of(stride: int, ptx: str = COPY) -> FollowedLaunch:
    arguments = ((1 << 22, "", b""), (1 << 22, "", b""), (0, "<u4", stride.to_bytes(4, "little")))
    return FollowedLaunch(ptx, "copy", (64, 1, 1), (256, 1, 1), 0, arguments, 8, 200 << 10, H200, 4000)


def test_many_launches_are_followed_in_several_processes_with_the_same_outcome() -> None:
    launches = [launch_of(stride) for stride in (1, 2, 4, 8, 16, 32)]
    alone = predict_launches(launches, 1)
    assert predict_launches(launches, 3) == alone
    times = [prediction.time_us for prediction in alone if prediction is not None]
    assert len(times) == 6 and times == sorted(times) and times[-1] > times[0]


def test_a_slip_in_one_of_the_processes_is_told_where_it_was_asked_for() -> None:
    with pytest.raises(PtxSyntaxError, match="nonsense"):
        predict_launches([*(launch_of(1) for _ in range(6)), launch_of(1, ".nonsense")], 2)
