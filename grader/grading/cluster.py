"""Gradings on an executor (`concurrent.futures`), with the interface of the pool of processes.

Which executor does not matter: threads of this process in a test, workers of a Dask scheduler on many machines, which
come and go while a group is graded (`DaskWorkers`).  What travels is the student's files, the lab with its references,
options and secret; no shared disk is needed.  A worker that dies costs its own task; the executor tries it again
elsewhere as often as it is set up to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from grader.course.rules import SECRET, SECRET_FILE, secret
from grader.errors import UsageError
from grader.files import read_plain
from grader.grading.cache import LARGEST_BYTES, code_hash, files_below, lab_files
from grader.grading.workers import Failed, Graded, GradeTask, Outcome, Refused, grade_all
from grader.lab.records import Lab
from grader.measured import Record
from grader.message import Message, msg, verbatim
from grader.processes.pool import LONGEST_WAIT_S, Answer

OTHER_VERSION = msg("session.other_version")


class Packed(Record, frozen=True):
    """A grading.

    folder: name of the student's folder; path: what is graded, below it ("." for the folder itself).
    files, lab_files: contents by their names below the student's folder and below the lab's.  labs: the folder of labs
    below the latter.  code: the hash of the grader's code, which has to be the same where it is graded.
    """

    task: GradeTask
    folder: bytes
    path: bytes
    files: dict[bytes, bytes]
    lab_files: dict[bytes, bytes]
    labs: bytes
    secret: str
    code: bytes


def pack_lab(lab: Lab) -> tuple[dict[bytes, bytes], bytes]:
    """A lab's files by their names below a common folder, and there the folder of labs."""
    files = lab_files(lab)
    lab_folder = lab.path.resolve().parent
    common = Path(os.path.commonpath([lab_folder.parent, *files]))
    packed = {os.fsencode(file.relative_to(common)): file.read_bytes() for file in files}
    return packed, os.fsencode(lab_folder.parent.relative_to(common))


def pack(task: GradeTask, lab: Lab, packed_lab: tuple[dict[bytes, bytes], bytes]) -> bytes:
    """A grading to be sent.

    Raises UsageError: the submission's layout is wrong.
    Raises OSError: a file of it cannot be read.
    """
    from grader.submission.folder import find_sources

    sources = find_sources(task.file, lab.id, (), lab.variants)
    files: dict[bytes, bytes] = {}
    for file in {*files_below(sources.folder), *sources.files}:
        if file.stat().st_size <= LARGEST_BYTES:
            files[os.fsencode(file.relative_to(sources.folder))] = read_plain(file, LARGEST_BYTES)
    named, labs = packed_lab
    whole = Packed(
        task=task,
        folder=os.fsencode(sources.folder.resolve().name),
        path=os.fsencode(os.path.relpath(task.file.resolve(), sources.folder.resolve())),
        files=files,
        lab_files=named,
        labs=labs,
        secret=secret(),
        code=code_hash(),
    )
    return msgspec.msgpack.encode(whole)


def grade_packed(data: bytes) -> bytes:
    """Grade what was sent, in a process of its own below this one; returns the outcome, encoded."""
    return msgspec.msgpack.encode(_grade(msgspec.msgpack.decode(data, type=Packed)))


def outcome_of(data: bytes) -> Outcome:
    """The outcome that came back."""
    return msgspec.msgpack.decode(data, type=Graded | Refused | Failed)


def _grade(packed: Packed) -> Outcome:
    if packed.code != code_hash():
        return Failed(details="another version of the grader", message=OTHER_VERSION)
    # Everything that runs in this process belongs to one course.
    os.environ.pop(SECRET_FILE, None)
    os.environ[SECRET] = packed.secret
    with tempfile.TemporaryDirectory(prefix="grade-") as name:
        root = Path(name)
        _write(root / "labs", packed.lab_files)
        student = root / "work" / os.fsdecode(packed.folder)
        student.mkdir(parents=True)
        _write(student, packed.files)
        path = (student / os.fsdecode(packed.path)).resolve()
        options = msgspec.structs.replace(
            packed.task.options, labs_folders=(str(root / "labs" / os.fsdecode(packed.labs)),)
        )
        task = msgspec.structs.replace(packed.task, path=bytes(path), options=options)
        ((_task, outcome),) = grade_all([task], 1)
        return _as_at_home(outcome, str(path), str(packed.task.file))


def _write(folder: Path, files: Mapping[bytes, bytes]) -> None:
    for name, content in files.items():
        file = folder / os.fsdecode(name)
        if not file.resolve().is_relative_to(folder.resolve()):
            raise UsageError(msg("submission.outside", path=str(file), folder=str(folder)))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _as_at_home(outcome: Outcome, there: str, here: str) -> Outcome:
    """Return an outcome that names the submission by its path on this machine."""

    def named(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(there, here)
        if isinstance(value, dict):
            return {key: named(inner) for key, inner in value.items()}
        return [named(inner) for inner in value] if isinstance(value, list) else value

    def renamed(message: Message) -> Message:
        return msgspec.convert(named(msgspec.to_builtins(message)), Message)

    match outcome:
        case Refused(message=message):
            return Refused(message=renamed(message))
        case Failed(details=details, message=message):
            return Failed(details=named(details), message=renamed(message) if message is not None else None)
    return outcome


OTHER_VERSION_TRIES = 10
"""How often a task is handed out anew that a worker with another version of the grader got: there are others."""


class Attended(Protocol):
    """Workers that come and go.

    threads: how many tasks they take at a time; next_look_s: when to attend, on the clock of `time.monotonic`.
    """

    @property
    def threads(self) -> int: ...

    @property
    def next_look_s(self) -> float: ...

    def attend(self) -> None:
        """Find out who is there.  Raises UsageError where it is no use to wait any longer."""

    def is_stranded(self, future: Future[bytes]) -> bool:
        """Whether what was submitted waits for workers none of which is there any more."""
        ...

    def gone(self) -> UsageError:
        """What to say when what was submitted was given up."""


class ExecutorPool:
    """Gradings on `executor`: what travels is kept in its memory until it is graded.

    most: how many at a time; workers: the executor's, where they come and go: then as many as these can begin at once.
    """

    def __init__(self, executor: Executor, lab: Lab, most: int = 1, workers: Attended | None = None) -> None:
        self._executor = executor
        self._lab = lab
        self._packed_lab = pack_lab(lab)
        self._fixed_most = most
        self._workers = workers
        self._waiting: deque[GradeTask] = deque()
        self._running: dict[Future[bytes], GradeTask] = {}
        self._refused: deque[tuple[GradeTask, Outcome]] = deque()
        self._other_versions: Counter[str] = Counter()
        self._news, self._bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # A future that ends late must not ring at a descriptor that is another file's by then.
        self._bell_lock = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is not graded yet."""
        for future in self._running:
            future.cancel()
        if self._workers is not None:
            self._executor.shutdown(wait=False)
        with self._bell_lock:
            self._is_closed = True
            os.close(self._bell)
            os.close(self._news)

    @property
    def _most(self) -> int:
        # Enough that no worker waits for the next one.
        return 2 * self._workers.threads if self._workers is not None else self._fixed_most

    def submit(self, task: GradeTask, _message: object = None) -> None:
        self._waiting.append(task)
        self._hand_out()

    @property
    def unfinished(self) -> list[GradeTask]:
        return [*self._running.values(), *self._waiting, *(task for task, _outcome in self._refused)]

    def events(self) -> Iterator[Answer[GradeTask, Outcome]]:
        """What was graded since the last time.  Raises UsageError: the workers have gone, all of them and for good."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._news, 4096):
                pass
        # What was cancelled ends the run, and last: what is graded is not lost.
        for future in sorted((future for future in self._running if future.done()), key=Future.cancelled):
            if self._workers is not None and future.cancelled():
                raise self._workers.gone()
            task, outcome = self._running.pop(future), _outcome(future)
            if self._is_for_another(task, outcome):
                self._waiting.append(task)
            else:
                yield Answer(task, outcome, is_last=True)
        if self._workers is not None:
            self._workers.attend()
            for future in [future for future in self._running if self._workers.is_stranded(future)]:
                self._waiting.appendleft(self._running.pop(future))
                future.cancel()
        self._hand_out()
        while self._refused:
            yield Answer(*self._refused.popleft(), is_last=True)

    def descriptors(self) -> Iterator[tuple[int, int]]:
        """What to wait for, as `grader.processes.pool.wait` asks."""
        yield self._news, select.POLLIN

    def next_deadline(self) -> float:
        """When something is to be done though nothing was told."""
        if self._refused:
            return time.monotonic()
        return self._workers.next_look_s if self._workers is not None else time.monotonic() + LONGEST_WAIT_S

    def _is_for_another(self, task: GradeTask, outcome: Outcome) -> bool:
        """Whether a worker that has just come was handed a task and runs another version of the grader."""
        if self._workers is None or not isinstance(outcome, Failed) or outcome.message != OTHER_VERSION:
            return False
        self._other_versions[task.student] += 1
        return self._other_versions[task.student] < OTHER_VERSION_TRIES

    def _hand_out(self) -> None:
        while self._waiting and len(self._running) < self._most:
            task = self._waiting.popleft()
            try:
                data = pack(task, self._lab, self._packed_lab)
            except UsageError as error:
                self._refused.append((task, Refused(message=error.message)))
                continue
            except OSError:
                self._refused.append((task, Failed(details=traceback.format_exc())))
                continue
            future = self._executor.submit(grade_packed, data)
            self._running[future] = task
            future.add_done_callback(self._ring)

    def _ring(self, _future: Future[bytes]) -> None:
        # Another thread's: the one that waits wakes up.
        with self._bell_lock, contextlib.suppress(BlockingIOError):
            if not self._is_closed:
                os.write(self._bell, b"!")


def _outcome(future: Future[bytes]) -> Outcome:
    try:
        return outcome_of(future.result())
    except (Exception, CancelledError) as error:
        details = "".join(traceback.format_exception(error))
        what = first_line(error)
        name = type(error).__name__
        return Failed(details=details, message=verbatim(what if what == name else f"{name}: {what}"))


def cluster_pool(address: str, lab: Lab, with_gpu: bool, tell: Callable[[Message], None]) -> ExecutorPool:
    """A pool on the Dask scheduler at `address`; see `DaskWorkers`.  Raises UsageError: see there."""
    workers = DaskWorkers(address, with_gpu, tell)
    return ExecutorPool(workers, lab, workers=workers)


# Workers of a Dask scheduler as an executor.

CONNECT_S = 15
LOOK_EVERY_S = 3.0
DESERTED_S = 60.0
"""How long another worker is waited for after the last has gone: a restarted one is back in seconds."""
_RETRIES = 2

Returned = TypeVar("Returned")


class DaskWorkers(Executor):
    """What is submitted runs on workers of the scheduler at `address`.

    with_gpu: on those that have the resource `GPU`, one task for each unit of it.
    tell: is told of workers that are not used.

    Raises UsageError: Dask is not installed, no scheduler answers there, or it has no workers that can grade this.
    """

    def __init__(self, address: str, with_gpu: bool, tell: Callable[[Message], None]) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(msg("session.no_dask")) from error
        _hush()
        self._address = address
        self._resources = {"GPU": 1} if with_gpu else {}
        # Whether each worker that was asked has our code.
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

        Raises UsageError: the scheduler has gone.
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
        return sum(self._threads.values())

    def attend(self) -> None:
        """Look who is there, if it is time to.

        Raises UsageError: the scheduler has gone, or there have been no workers for long.
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
        return self._looked_s + LOOK_EVERY_S

    def gone(self) -> UsageError:
        return UsageError(msg("session.cluster_gone", address=self._address))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; what is not done is given up."""
        with contextlib.suppress(Exception):
            self._client.close()

    def _look(self) -> None:
        """Find out which workers are there.  Raises UsageError where none of them can grade this."""
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
    # Lost connections are told in our own words.
    names = {"distributed", "tornado", "asyncio"}
    for name in names | {name for name in logging.root.manager.loggerDict if name.split(".")[0] in names}:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _settle(future: Future[Any], theirs: Any) -> None:
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
