"""Launches that are made again, at the same place with the same configuration: what they have in common is worked out
once.

A GPU is done with a short kernel before Python has looked at its launch, so what a loop launches is looked at in the
first two of its turns.  Any call that may change what a launch comes to forgets all plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from struct import Struct
from typing import NamedTuple

from grader.programs.device import Asked, LateEnd, Outcome, Prepared
from grader.programs.device_memory import Allocation
from grader.programs.records import MAX_LAUNCHES
from grader.programs.runtime.arguments import number_layout, put_in_order
from grader.programs.runtime.devices import name_of
from grader.programs.runtime.ordering import Pending, Place, Stream
from grader.programs.runtime.outcomes import judge
from grader.programs.runtime.silent import Step, check_counts, may_lack_size, step_of, took_step
from grader.programs.runtime.state import Kernel, State
from grader.programs.runtime.streams import LAUNCH_NS, takes
from grader.submission.kernels.records import SeenArgument, SeenLaunch

MOST_PLANS = 256
MOST_POINTERS = 64
"""Sets of pointers that a plan knows."""
CONFIGURED = Struct("<6Iqq")
"""Grid, block, dynamic shared memory and stream of a launch, as the program's code keeps them."""
KEEPING = frozenset(
    {"cudaLaunch", "cudaLaunchKernel", "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaStreamQuery"}
    | {"cudaStreamWaitEvent", "cudaEventRecord", "cudaEventSynchronize", "cudaEventQuery", "cudaEventElapsedTime"}
    | {"cudaGetLastError", "cudaPeekAtLastError", "cudaMemcpy", "cudaMemcpyAsync", "cudaMemset", "cudaMemsetAsync"}
)
"""Calls after which a launch comes to the same: they make no memory, no streams and no attributes."""


class Repeatable(NamedTuple):
    """A launch as the program's code hands it over.

    key: the kernel's function, the number of arguments, the configuration, and where it stands: of others of the same
      all but the arguments is the same.
    places: where each argument begins and ends in `data`.
    """

    key: tuple[int, int, bytes, Place]
    places: Sequence[tuple[int, int]]
    data: bytes


class _Known:
    """Arguments with the same pointers: how such a launch is described, and the arrays that it is handed."""

    __slots__ = ("buffers", "may_be_counts", "origins", "record", "step", "written")

    def __init__(self, state: State, record: SeenLaunch, buffers: list[Allocation | None]) -> None:
        pairs = [(a, x) for a, x in zip(buffers, record.arguments, strict=True) if a is not None]
        self.record = copy(record)
        self.buffers = buffers if pairs else []
        self.origins = tuple((allocation, frozenset(allocation.origins)) for allocation, _argument in pairs)
        self.written = [allocation for allocation, argument in pairs if argument.may_be_written]
        self.step: Step = step_of(record, buffers)
        self.may_be_counts = any(may_lack_size(state, allocation) for allocation, _argument in pairs)

    def is_same(self) -> bool:
        """Whether what has come into the arrays is what had come into them."""
        return all(allocation.origins == origins for allocation, origins in self.origins)


class Plan:
    """What all launches of a kernel at one place, with one configuration and in one stream, have in common.

    places: where each argument begins and ends in the program's memory for them.
    """

    def __init__(
        self,
        kernel: Kernel,
        place: Place,
        stream: Stream,
        prepared: Prepared,
        places: Sequence[tuple[int, int]],
        record: SeenLaunch,
    ) -> None:
        self._kernel = kernel
        self._place = place
        self._stream = stream
        self._prepared = prepared
        self.length = max((end for _start, end in places), default=0)
        self._numbers: list[tuple[int, int, Struct, SeenArgument]] = []
        """Which argument is a number, where it lies and how it is read."""
        self._others: list[slice] = []
        self._known: dict[bytes, _Known] = {}
        for index, ((start, end), argument) in enumerate(zip(places, record.arguments, strict=True)):
            layout = number_layout(argument.type_text)
            if layout is not None and layout.size == end - start:
                self._numbers.append((index, start, layout, argument))
            elif self._others and self._others[-1].stop == start:
                self._others[-1] = slice(self._others[-1].start, end)
            else:
                self._others.append(slice(start, end))

    def _pointers(self, raw: bytes) -> bytes:
        """Return what of the arguments is no number."""
        others = self._others
        if len(others) == 1:
            return raw[others[0]]
        return b"".join([raw[part] for part in others]) if others else b""

    def note(self, state: State, raw: bytes, record: SeenLaunch, buffers: list[Allocation | None]) -> None:
        """Know how a launch with these arguments is described."""
        if len(self._known) < MOST_POINTERS:
            self._known[self._pointers(raw)] = _Known(state, record, buffers)

    def make(self, state: State, raw: bytes) -> int | None:
        """Make the launch; None where it has to be looked at as one that nothing is known of."""
        described = self._known.get(self._pointers(raw))
        if described is None or not described.is_same():
            return None
        kernel, place, stream = self._kernel, self._place, self._stream
        state.launch_count = number = state.launch_count + 1
        ticket = state.begin(stream)
        is_alone = len(state.streams) == 1
        record: SeenLaunch | None = None
        if number <= MAX_LAUNCHES or not is_alone or described.may_be_counts:
            record = self._record(described, raw)
            if len(state.launches) < MAX_LAUNCHES:
                state.launches.append(record)
        state.ask("kernel", place, (stream, ticket), name=kernel.display)
        took_step(state, described.step)
        if described.buffers:
            if record is not None and not is_alone:
                put_in_order(state, record, described.buffers, stream, ticket, place)
            if record is not None and described.may_be_counts:
                check_counts(state, record, described.buffers)
            for allocation in described.written:
                allocation.written += 1
        try:
            outcome = self._prepared.again(raw, record, partial(self._ended, state, described, raw, record))
        except LateEnd as end:
            # A launch before this one has failed; this one is refused then.
            if record is not None:
                record.status, record.error = "failed", name_of(end.outcome.code)
            raise
        takes(state, stream, LAUNCH_NS, kernel)
        state.pending.append(Pending(kernel.display, stream.number, ticket, place, number))
        return 0 if outcome is None else self._ended(state, described, raw, record, outcome)

    def _record(self, described: _Known, raw: bytes) -> SeenLaunch:
        record = copy(described.record)
        if self._numbers:
            arguments = list(record.arguments)
            for index, start, layout, argument in self._numbers:
                (value,) = layout.unpack_from(raw, start)
                arguments[index] = SeenArgument(argument.name, argument.type_text, value)
            record.arguments = tuple(arguments)
        return record

    def _ended(self, state: State, described: _Known, raw: bytes, record: SeenLaunch | None, outcome: Outcome) -> int:
        """Tell of one that ended badly; its record may not have been kept."""
        return judge(state, self._kernel, record or self._record(described, raw), outcome, self._place)


def again(state: State, function: int, configured: int, *numbers: int) -> int | None:
    """Make a `<<<…>>>` as it was made before; None where it has to be looked at."""
    _sizes, count, data, line, file = numbers
    place = state.places.get((line, file)) if state.plans else None
    if place is None:
        return None
    read = state.guest.read
    plan: Plan | None = state.plans.get((function, count, read(configured, CONFIGURED.size), place))
    if plan is None:
        return None
    try:
        return plan.make(state, read(data, plan.length) if plan.length else b"")
    except LateEnd as end:
        state.came_late(end)
        return state.sticky


def remember(
    state: State,
    what: Repeatable,
    kernel: Kernel,
    launch: Asked,
    record: SeenLaunch,
    buffers: list[Allocation | None],
) -> None:
    """Keep what was found out of a launch that was made, where another can be made by it.

    buffers: the allocation of each of its arguments.
    """
    if state.calls.is_underway or state.graphs.events or state.managed or state.limits.undoes_bytes:
        return
    pairs = [(a, x) for a, x in zip(buffers, record.arguments, strict=True) if a is not None]
    if any(a.host or a.origins != set(x.origins) for a, x in pairs) or any(x.inside for x in record.arguments):
        # Another is described in another way, or handed other addresses.
        return
    plan = state.plans.get(what.key)
    if plan is None:
        prepared = state.gpu.prepared(launch, what.places) if len(state.plans) < MOST_PLANS else None
        if prepared is None:
            return
        plan = state.plans[what.key] = Plan(kernel, what.key[-1], launch.stream, prepared, what.places, record)
    plan.note(state, what.data, record, buffers)
