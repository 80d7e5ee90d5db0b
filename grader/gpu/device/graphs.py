"""CUDA graphs of launches, each between two events.

A timed graph is, for each launch: evict the L2 cache, event, launch, event.  A graph leaves no gap in which the device
would wait for the host, and the mean over several launches averages out the coarse ticks of the events' clock.  With
the time that two events show with nothing between them subtracted, this gives the times that Nsight Compute gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from grader import driver
from grader.driver import DriverError
from grader.gpu.device.launch import Device, packed
from grader.gpu.messages import Launch

Item = tuple[Any, Launch, dict[str, int]]
"""A kernel, its launch, and the addresses of its arrays by name."""

IDLE_BATCH, IDLE_SAMPLES = 16, 9
"""For the time of nothing and of an empty kernel."""

COARSE_TICK_US = 0.5
"""What the driver's documentation says of an event's clock."""


@dataclass(frozen=True, slots=True)
class Graph:
    """An executable graph, with an event before and after each launch where these are timed."""

    executable: Any
    stream: Any
    events: list[tuple[Any, Any]]

    def start(self) -> None:
        """Enqueue it."""
        driver.call("cuGraphLaunch", self.executable, self.stream)

    def run(self) -> None:
        """Enqueue it and wait."""
        self.start()
        driver.call("cuStreamSynchronize", self.stream)

    def intervals_us(self) -> list[float]:
        """Between the events of each launch, once the graph has run."""
        return [1000 * float(driver.call("cuEventElapsedTime", begin, end)) for begin, end in self.events]

    def close(self) -> None:
        """Destroy it."""
        with suppress(DriverError):
            driver.call("cuGraphExecDestroy", self.executable)
        for event in (event for pair in self.events for event in pair):
            with suppress(DriverError):
                driver.call("cuEventDestroy", event)


class Graphs:
    """Makes graphs; flush_bytes: of the buffer at `flush` that is read before each timed launch, 0 for none."""

    def __init__(self, device: Device, flush: int, flush_bytes: int) -> None:
        self._device = device
        self._flush = flush
        self._flush_bytes = flush_bytes
        self.tick_us = COARSE_TICK_US
        """Of the events' clock; known once `nothing_us` has been called."""

    def timed(self, items: Sequence[Item | None]) -> Graph:
        """Launches one after another, each between events; None stands for no launch."""
        return self._graph(items, timed=True)

    def plain(self, items: Sequence[Item | None]) -> Graph:
        """Launches one after another."""
        return self._graph(items, timed=False)

    def nothing_us(self) -> float:
        """What two events with nothing between them show."""
        times = self._idle(None)
        steps = sorted(set(times))
        # On a coarse clock all of them may look alike.
        self.tick_us = min((b - a for a, b in pairwise(steps) if b - a > 1e-3), default=COARSE_TICK_US)
        return median(times)

    def empty_us(self) -> float:
        """The same with an empty kernel between them."""
        launch = Launch("", "", (1, 1, 1), (32, 1, 1), 0, [])
        return median(self._idle((self._device.helpers.functions["empty"], launch, {})))

    def _idle(self, item: Item | None) -> list[float]:
        """µs between the events of every launch of some samples."""
        graph = self.timed([item] * IDLE_BATCH)
        times = []
        for _sample in range(IDLE_SAMPLES):
            graph.run()
            times += graph.intervals_us()
        graph.close()
        return times

    def _graph(self, launches: Sequence[Item | None], timed: bool) -> Graph:
        from cuda.bindings.driver import CUevent_record_flags, CUstreamCaptureMode

        stream = self._device.stream
        external = int(CUevent_record_flags.CU_EVENT_RECORD_EXTERNAL)
        events = [
            (driver.call("cuEventCreate", 0), driver.call("cuEventCreate", 0))
            for _launch in (launches if timed else ())
        ]
        driver.call("cuStreamBeginCapture", stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            for index, item in enumerate(launches):
                if timed and self._flush_bytes:
                    self._device.helpers.read_all(self._flush, self._flush_bytes, self._flush)
                    self._device.helpers.discard(self._flush, self._flush_bytes)
                if timed:
                    driver.call("cuEventRecordWithFlags", events[index][0], stream, external)
                if item is not None:
                    function, launch, addresses = item
                    arguments = packed(launch, addresses)
                    driver.launch(
                        function, launch.grid, launch.block, launch.shared_bytes, stream, arguments, launch.cooperative
                    )
                if timed:
                    driver.call("cuEventRecordWithFlags", events[index][1], stream, external)
        except DriverError:
            with suppress(DriverError):
                driver.call("cuStreamEndCapture", stream)
            raise
        graph = driver.call("cuStreamEndCapture", stream)
        executable = driver.call("cuGraphInstantiate", graph, 0)
        driver.call("cuGraphDestroy", graph)
        driver.call("cuGraphUpload", executable, stream)
        return Graph(executable, stream, events)
