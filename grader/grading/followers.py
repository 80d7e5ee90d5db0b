"""Predictions of many launches, made in several processes at once: none of them waits for another."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence

import msgspec

from grader.processes.channel import Channel, PeerGone
from grader.processes.child import ChildProgram
from grader.processes.pool import Answer, Pool, Waiting, wait
from grader.timing.prediction import FollowedLaunch, Prediction, predict_launch

DEADLINE_S = 120.0
MEMORY_BYTES = 3 << 30
"""Of a process; arrays of a launch take room where they are touched."""
LEAST_LAUNCHES = 6
"""Fewer are done sooner than processes have started."""


class Asked(msgspec.Struct, frozen=True, tag="asked"):
    """A launch to be followed."""

    launch: FollowedLaunch


class Told(msgspec.Struct, frozen=True, tag="told"):
    """What comes of it: None where it could not be followed to its end.  has_failed: by a slip of ours."""

    prediction: Prediction | None = None
    has_failed: bool = False


def prepare() -> None:
    """Nothing more: this module has loaded what any launch needs, before processes are forked."""


def main(connection: socket.socket) -> None:
    """Follow launches until the parent closes the channel."""
    channel = Channel(connection, msgspec.msgpack.Decoder(Asked))
    with contextlib.suppress(PeerGone):
        while True:
            asked = channel.receive()
            try:
                told = Told(predict_launch(asked.launch))
            except Exception:
                # Whoever has asked follows it again, and is told what it is.
                told = Told(has_failed=True)
            channel.send(told)


def predict_launches(launches: Sequence[FollowedLaunch], processes: int) -> list[Prediction | None]:
    """The predictions of `launches`, in order; None where one could not be followed to its end.

    processes : at most so many; of one or few launches all are followed in this one.
    """
    size = min(processes, len(launches) // 2)
    if size < 2 or len(launches) < LEAST_LAUNCHES:
        return [predict_launch(launch) for launch in launches]
    predictions: dict[int, Prediction | None] = {}
    program = ChildProgram("grader.grading.followers", (), MEMORY_BYTES, is_forkable=True)
    replies: msgspec.msgpack.Decoder[Told | Waiting] = msgspec.msgpack.Decoder(Told | Waiting)
    pool: Pool[int, Told] = Pool(program, replies, lambda _told: True, DEADLINE_S, size)
    with pool:
        for number, launch in enumerate(launches):
            pool.submit(number, Asked(launch))
        while pool.unfinished:
            for event in pool.events():
                if isinstance(event, Answer) and not event.reply.has_failed:
                    predictions[event.task] = event.reply.prediction
            if pool.unfinished:
                wait(pool)
    # What a process was lost with is followed here, where a fault of ours is told.
    return [predictions[n] if n in predictions else predict_launch(one) for n, one in enumerate(launches)]
