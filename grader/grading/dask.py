"""The workers of a Dask scheduler, as an executor: those that can grade this, asked for again and again.

Workers come and go while a group is graded.  A task goes to workers that have the grader's very code; which do is asked
of each once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from grader.errors import UsageError
from grader.grading.cache import code_hash
from grader.message import Message, msg

CONNECT_S = 15
LOOK_EVERY_S = 3.0
DESERTED_S = 60.0
"""So long after the last worker has gone it is not waited for another: a restarted one is back in seconds."""
_RETRIES = 2

Returned = TypeVar("Returned")


class DaskWorkers(Executor):
    """What is submitted runs on workers of the scheduler at `address`.

    with_gpu: on those that have the resource `GPU`, one task for each unit of it.
    tell: is told of workers that are not used.

    Raises
    ------
    UsageError : Dask is not installed, no scheduler answers there, or it has no workers that can grade this.
    """

    def __init__(self, address: str, with_gpu: bool, tell: Callable[[Message], None]) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(msg("session.no_dask")) from error
        _hush()
        self._address = address
        self._resources = {"GPU": 1} if with_gpu else {}
        # Of each worker that was asked: whether it has our code.
        self._is_ours: dict[str, bool] = {}
        self._threads: dict[str, int] = {}
        self._has_others = False
        self._meant_for: WeakKeyDictionary[Future[Any], frozenset[str]] = WeakKeyDictionary()
        self._tell = tell
        connect: Any = Client
        try:
            self._client: Any = connect(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(msg("session.no_cluster", address=address, reason=first_line(error))) from error
        try:
            self._look()
        except BaseException:
            self.shutdown()
            raise
        self._seen_s = self._looked_s = time.monotonic()

    def submit(self, function: Callable[..., Returned], /, *arguments: Any, **options: Any) -> Future[Returned]:
        """Have a function called by a worker; one that dies over it costs a try of three.

        The future is cancelled when the scheduler goes, or the connection to it.

        Raises
        ------
        UsageError : the scheduler has gone.
        """
        # Said only where there are others: who comes later is welcome too.
        only = frozenset(self._threads) if self._has_others else frozenset()
        where: dict[str, Any] = {"workers": sorted(only)} if only else {}
        if self._resources:
            where["resources"] = self._resources
        try:
            theirs = self._client.submit(function, *arguments, pure=False, retries=_RETRIES, **where, **options)
        except Exception as error:
            if self._client.status == "running":
                raise
            raise self.gone() from error
        # Not `Client.get_executor`: what it returns is never done when a result is lost on its way here.
        future: Future[Returned] = Future()
        future.add_done_callback(partial(_give_up, theirs))
        theirs.add_done_callback(partial(_settle, future))
        if only:
            self._meant_for[future] = only
        return future

    def is_stranded(self, future: Future[Any]) -> bool:
        """Whether a task waits for workers none of which is there any more."""
        only = self._meant_for.get(future)
        return only is not None and not future.done() and only.isdisjoint(self._threads)

    @property
    def threads(self) -> int:
        """How many tasks the workers take at a time."""
        return sum(self._threads.values())

    def attend(self) -> None:
        """Look who is there, if it is time to.

        Raises
        ------
        UsageError : the scheduler has gone, or there have been no workers for long.
        """
        now_s = time.monotonic()
        if now_s < self.next_look_s:
            return
        self._looked_s = now_s
        try:
            self._look()
            self._seen_s = now_s
        except UsageError:
            if now_s - self._seen_s > DESERTED_S:
                raise UsageError(msg("session.deserted", address=self._address)) from None

    @property
    def next_look_s(self) -> float:
        """When to attend again, on the clock of `time.monotonic`."""
        return self._looked_s + LOOK_EVERY_S

    def gone(self) -> UsageError:
        """What to say when the scheduler has gone."""
        return UsageError(msg("session.cluster_gone", address=self._address))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; what is not done is given up."""
        with contextlib.suppress(Exception):
            self._client.close()

    def _look(self) -> None:
        """Find out who is there.  Raises UsageError where nobody can grade this."""
        if self._client.status != "running":
            # It tries to connect again, and cancels what is under way when that fails.
            raise self.gone()
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            new = [address for address in workers if address not in self._is_ours]
            if new:
                codes = self._client.run(code_hash, workers=new, on_error="return")
                self._is_ours |= {address: code == code_hash() for address, code in codes.items()}
        except (OSError, ValueError, TimeoutError) as error:
            raise self.gone() from error
        able = {a: w for a, w in workers.items() if not self._resources or w["resources"].get("GPU")}
        self._threads = {a: int(w["nthreads"]) for a, w in able.items() if self._is_ours.get(a)}
        self._has_others = len(able) > len(self._threads)
        if not workers:
            raise UsageError(msg("session.no_workers", address=self._address))
        if not able:
            raise UsageError(msg("session.no_gpu_workers", address=self._address))
        if not self._threads:
            raise UsageError(msg("session.other_workers", address=self._address))
        others = [address for address in new if address in able and address not in self._threads]
        for address in others:
            self._tell(msg("session.other_worker", worker=address))


def _hush() -> None:
    """Silence what Dask and what it stands on log about lost connections: it is told in our own words."""
    names = {"distributed", "tornado", "asyncio"}
    for name in names | {name for name in logging.root.manager.loggerDict if name.split(".")[0] in names}:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _settle(future: Future[Any], theirs: Any) -> None:
    """Hand on how a future of Dask's ended, in whichever thread it tells of it."""
    # Ours may have been cancelled in the meantime.
    with contextlib.suppress(InvalidStateError):
        if theirs.status == "error":
            future.set_exception(theirs.exception())
            return
        try:
            future.set_result(theirs.result())
        except (Exception, asyncio.CancelledError):
            # The task is done and its result cannot be fetched: the connection is lost.
            future.cancel()


def _give_up(theirs: Any, future: Future[Any]) -> None:
    if future.cancelled():
        # The client may be closed, which has given it up as well.
        with contextlib.suppress(Exception):
            theirs.cancel()


def first_line(error: BaseException) -> str:
    """What an exception says, in a line; its name where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
