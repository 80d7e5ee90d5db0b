"""A thread that does one thing after another beside the one that asks, with children that live as long as it does."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from grader.processes import fork_server

END_WAIT_S = 2.0
"""How long what is under way is waited for at the end: children that go on after it are ended with this process."""

Made = TypeVar("Made")


class Beside:
    """The thread; its children are forked (`fork_server.kept`), as the kernel ends them with the thread they are of."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[tuple[Future[Any], Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def start(self, work: Callable[[], Made]) -> Future[Made]:
        """Have `work` done after what was asked for before; what it returns or raises is the future's."""
        future: Future[Made] = Future()
        context = contextvars.copy_context()

        def done() -> None:
            try:
                future.set_result(context.run(work))
            except BaseException as error:
                future.set_exception(error)

        self._asked.put((future, done))
        return future

    def close(self) -> None:
        """End it; what was asked for and not begun is not done, and its future is cancelled."""
        with contextlib.suppress(queue.Empty):
            while (asked := self._asked.get_nowait()) is not None:
                asked[0].cancel()
        self._asked.put(None)
        self._thread.join(END_WAIT_S)

    def _work(self) -> None:
        with fork_server.kept():
            while (asked := self._asked.get()) is not None:
                asked[1]()
