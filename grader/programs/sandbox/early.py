"""Whether a program uses what the device still writes: its memory watched while its own code runs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.message import Message
from grader.programs.sandbox.watched import WatchedMemory, watch

if TYPE_CHECKING:
    from grader.programs.runtime.ordering import Place
    from grader.programs.runtime.state import State


class TooEarly(Exception):
    """The program has ended as it used what the device still writes: what is said of it, and where."""

    def __init__(self, message: Message, place: Place) -> None:
        self.message = message
        self.place = place
        super().__init__()


class EarlyUse:
    """The watch over one run, whose `state` knows what is still written.

    Between `begin` and `end` each of our functions that the program calls stands between `enter` and `leave`.
    """

    def __init__(self, state: State, memory: Any, store: Any) -> None:
        from grader.programs.runtime.silent.unwaited import covering

        base = ctypes.cast(memory.data_ptr(store), ctypes.c_void_p).value or 0
        self._state = state
        self._depth = 0
        self._pages: tuple[Any, list[tuple[int, int]]] = (None, [])
        self._memory = WatchedMemory(base, lambda address: covering(state.unwaited, address))
        state.watches = watch(self._memory)

    def end(self) -> None:
        """The program has ended: nothing is watched, and all memory open."""
        watch(None)
        self._memory.open()

    def enter(self) -> None:
        """A function of ours begins, which may use all memory."""
        if not self._depth:
            self._memory.open()
        self._depth += 1

    def leave(self) -> None:
        """It ends; where the program goes on then, what the device still writes is not its own."""
        from grader.programs.runtime.silent.unwaited import pages

        self._depth -= 1
        items = self._state.unwaited
        if self._depth or not items or self._memory.seen is not None:
            return
        if self._pages[0] is not items:
            self._pages = items, pages(items)
        self._memory.close(self._pages[1])

    def look(self, place_of_trap: Callable[[], Place] | None) -> None:
        """Tell of what was seen; place_of_trap: where the program came to a sudden end, None where it did not.

        Raises
        ------
        TooEarly : that is why it ended.
        """
        from grader.programs.runtime.ordering import NOWHERE
        from grader.programs.runtime.silent.unwaited import told

        if self._memory.seen is None:
            return
        if place_of_trap is not None and not self._memory.went_on:
            raise TooEarly(*told(self._memory.seen, place_of_trap()))
        message, place = told(self._memory.seen, NOWHERE)
        self._state.tell("not_waited", "error", message, place)
