"""Results of an earlier run that hold still, and the hash by which they are known: what a result follows from.

Files of the submission, the lab with its oracle and references, the grader's own code and the libraries it stands on,
the backend with the model of the GPU, the options that a result depends on, and the course's secret.

Beside a student's `result.json` lies a stamp: what the result follows from, and what the reports were made from.  It
is written after them, so whatever a killed run or a full disk left, a stamp never speaks for what is not whole.

The folder of outputs may lie where others write.  A stamp is signed, so that nobody's result is taken for the grader's
own; one that is not, is as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import platform
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from grader.course.decisions import undone
from grader.course.roster import Person
from grader.course.rules import secret, signature
from grader.errors import UsageError
from grader.files import read_kept, read_plain, write_atomically
from grader.gpu.process import ListedGpu, inventory
from grader.grading.options import GradeOptions
from grader.grading.paths import RESULT_NAME, Outputs
from grader.grading.workers import GradeTask
from grader.lab.records import Lab
from grader.measured import Record
from grader.report.rendering import HTML_NAME, PDF_NAME
from grader.result import Result, Student, decode, encode
from grader.words import told

LIBRARIES = ("numpy", "wasmtime", "tree-sitter", "tree-sitter-cuda", "nvidia-cuda-nvrtc", "cuda-python", "msgspec")
"""What marks depend on besides this code."""
LARGEST_BYTES = 1 << 20
"""The largest file that is hashed by its content; no larger one is compiled, so its size and time of change will do."""
MOST_FILES = 2000
_NO_MATTER = {"backend", "language", "labs_folders", "remeasure", "answers"}
"""Options on which no result depends, or that are told otherwise: where a lab lies, which device there is."""
_TEXT_SUFFIXES = (".md",)
_LAB_SUFFIXES = (".py", ".cu", ".cuh", ".h", ".yaml")


class Identity:
    """The hashes of one run's results.

    lab: the lab that is graded, with the names of all labs in `known_labs`.
    Raises UsageError: the secret of the course cannot be read.
    """

    def __init__(self, lab: Lab, options: GradeOptions, known_labs: Collection[str]) -> None:
        self._lab_id = lab.id
        self._variants = lab.variants
        self._known_labs = {lab.id, *known_labs}
        self.with_gpu = options.backend != "emulator" and _has_driver()
        self.gpus = inventory() if self.with_gpu else None
        """Those of this machine; None where there is none to use, or that cannot be found out."""
        self.is_known = self.gpus is not None or not self.with_gpu
        self._common = _digest_of(
            code_hash(),
            *(f"{name} {_version(name)}".encode() for name in LIBRARIES),
            f"{platform.python_version()} {platform.machine()} {sys.byteorder}".encode(),
            (_devices(self.gpus) if self.with_gpu else "emulator").encode(),
            repr(sorted((n, v) for n, v in msgspec.structs.asdict(options).items() if n not in _NO_MATTER)).encode(),
            _of_secret(secret()),
            _toolkits(),
            # What students are told of these changes with the day.
            repr(sorted(lab.secret_tests)).encode(),
            *(
                part
                for file in lab_files(lab)
                if file.suffix not in _TEXT_SUFFIXES
                for part in (os.fsencode(file.name), file.read_bytes())
            ),
        )

    def of(self, task: GradeTask) -> str:
        """The hash of everything that the result of `task` follows from; "" when that cannot be found out."""
        if not self.is_known:
            return ""
        try:
            return _digest_of(
                self._common, task.student.encode("utf-8", "surrogatepass"), *self._files(task.file)
            ).hex()
        except (OSError, UsageError):
            # Told when it is graded.
            return ""

    def _files(self, path: Path) -> Iterator[bytes]:
        """Yield names and contents of the files that the result follows from, each name first."""
        from grader.submission.folder import find_sources

        sources = find_sources(path, self._lab_id, self._known_labs, self._variants)
        yield sources.student.encode("utf-8", "surrogatepass")
        contents = b""
        for file in sources.files:
            content = _content(file)
            contents += content
            yield _name(file, sources.folder)
            yield content
        # A header may lie anywhere in the student's folder; the work for another lab counts where it is named.
        own_files = set(sources.files)
        others = []
        for file in files_below(sources.folder):
            if file in own_files:
                continue
            if file.suffix.lower() != ".cu":
                content = _content(file)
                contents += content
                yield _name(file, sources.folder)
                yield content
            else:
                others.append(file)
        for file in others:
            if os.fsencode(file.name) in contents:
                yield _name(file, sources.folder)
                yield _content(file)


def made_from(lab: Lab, language: str, result: str) -> str:
    """The hash of everything that a report in `language` follows from; result: the hash of the result's file."""
    return _digest_of(code_hash(), repr(lab).encode(), language.encode(), result.encode()).hex()


def _digest_of(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _name(file: Path, folder: Path) -> bytes:
    return os.fsencode(os.path.relpath(file, folder))


def _content(file: Path) -> bytes:
    state = file.stat()
    if state.st_size > LARGEST_BYTES:
        return repr((state.st_size, state.st_mtime_ns)).encode()
    return read_plain(file, LARGEST_BYTES)


def files_below(folder: Path) -> list[Path]:
    """The plain files in a folder and the folders in it, in a fixed order."""
    files: list[Path] = []
    for here, folders, names in os.walk(folder):
        folders.sort()
        files += [file for name in sorted(names) if (file := Path(here, name)).is_file()]
        if len(files) > MOST_FILES:
            raise UsageError(str(folder))
    return files


@cache
def code_hash() -> bytes:
    """The grader's own code, words and templates."""
    from grader.files import PACKAGE, data_root

    return code_below(PACKAGE, data_root() / "templates")


def code_below(package: Path, templates: Path) -> bytes:
    """The hash of a package's code and of its templates: what Python compiles of it and a wheel's data are no part."""
    parts = []
    for folder in (package, templates):
        for here, folders, names in os.walk(folder):
            folders[:] = sorted(set(folders) - {"__pycache__"} - ({"data"} if Path(here) == package else set()))
            for file in (Path(here, name) for name in sorted(names)):
                if file.suffix not in (".pyc", ".po") and file.is_file():
                    parts += [_name(file, folder), file.read_bytes()]
    return _digest_of(*parts)


def lab_files(lab: Lab) -> list[Path]:
    """The lab's own files: what stands beside its oracle and its kernels may be read by them."""
    kernels = [variant.reference.file for variant in lab.variants] + [kernel.file for kernel in lab.best]
    folders = {file.resolve().parent for file in (lab.path, lab.oracle, *kernels)}
    beside = [
        file
        for folder in sorted(folders)
        for file in sorted(folder.iterdir())
        if file.suffix in (*_LAB_SUFFIXES, *_TEXT_SUFFIXES) and file.is_file()
    ]
    return list(dict.fromkeys((*beside, *lab.files.values())))


@cache
def _of_secret(secret: str) -> bytes:
    """Return a slow hash of the secret: results that are kept may be read by anybody, who must not guess it."""
    return hashlib.scrypt(secret.encode(), salt=b"kept results", n=1 << 14, r=8, p=1, dklen=32) if secret else b""


def _toolkits() -> bytes:
    from grader.compiler.worker import header_folders

    return repr(sorted(map(str, header_folders(os.environ, sys.path)))).encode()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _has_driver() -> bool:
    from grader.gpu.process import has_driver

    return has_driver()


def _devices(gpus: Sequence[ListedGpu] | None) -> str:
    models = sorted({(gpu.model, gpu.memory, gpu.driver) for gpu in gpus or ()})
    return f"{models} {os.environ.get('CUDA_VISIBLE_DEVICES') or ''}"


STAMP_NAME = ".kept.json"


class RenderedFile(Record, frozen=True):
    """A report: the hash of what it was made from, and its size in bytes."""

    made_from: str
    size: int


class Stamp(Record, frozen=True):
    """What lies beside it: `result` is the SHA-256 of the result's file, `follows_from` of what it follows from.

    backend: where the result comes from.  name, group: what the submission says of its student, whatever a roster does.
    signature: of all the rest, by `course.rules.signature`.
    """

    follows_from: str
    result: str
    backend: str = ""
    language: str = ""
    name: str = ""
    group: str = ""
    reports: dict[str, RenderedFile] = msgspec.field(default_factory=dict)
    signature: str = ""


class ResultCache:
    """The kept results of a run.

    pdf: whether reports are wanted as PDF too.  is_fresh: nothing that was kept before is to be used.
    """

    def __init__(
        self, outputs: Outputs, lab: Lab, identity: Identity, language: str, pdf: bool, is_fresh: bool
    ) -> None:
        self._outputs = outputs
        self._lab = lab
        self._identity = identity
        self._language = language
        self._wanted = (HTML_NAME, PDF_NAME) if pdf else (HTML_NAME,)
        self._is_fresh = is_fresh
        self._follows_from: dict[str, str] = {}

    def find(self, task: GradeTask, present: Callable[[Result], Result]) -> Result | None:
        """The result of an earlier run that holds for `task`, in the language in use, on disk too; None without one.

        present: adds to a result, as it was graded, what a roster and the teacher say.

        Raises OSError: it has to be written in another language, and cannot be.
        """
        student = task.student
        folder = self._outputs.folder(student)
        self._follows_from[student] = key = self._identity.of(task)
        stamp = None if self._is_fresh or not key else read_stamp(folder)
        if stamp is None or stamp.follows_from != key:
            return None
        if stamp.backend != ("gpu" if self._identity.with_gpu else "emulator"):
            # The GPU was not to be had then.
            return None
        try:
            data = read_kept(folder / RESULT_NAME)
            if _digest(data) != stamp.result:
                return None
            result = decode(data, folder / RESULT_NAME)
        except (OSError, UsageError):
            return None
        environment = msgspec.structs.replace(result.environment, command=task.command)
        own = Student(id=result.student.id, name=stamp.name, group=stamp.group)
        again = present(msgspec.structs.replace(undone(result), environment=environment, student=own))
        if stamp.language != self._language:
            again = told(again)
        if again != result:
            data = encode(again)
            write_atomically(folder / RESULT_NAME, data)
            stamp = msgspec.structs.replace(stamp, result=_digest(data), language=self._language)
            _write(folder, stamp)
        return again

    def put(self, task: GradeTask, result: Result) -> None:
        """Note that `result`, as it was graded, has been written; not if the work was changed while it was graded."""
        key = self._identity.of(task)
        if not key or key != self._follows_from.get(task.student):
            return
        folder = self._outputs.folder(task.student)
        with contextlib.suppress(OSError):
            data = read_kept(folder / RESULT_NAME)
            stamp = Stamp(
                follows_from=key,
                result=_digest(data),
                backend=result.environment.backend,
                language=self._language,
                name=result.student.name,
                group=result.student.group,
            )
            _write(folder, stamp)

    def has_reports(self, student: str) -> bool:
        """Whether all reports that are wanted of a student's result lie there."""
        return has_reports(self._outputs.folder(student), self._lab, self._language, self._wanted)

    def put_reports(self, student: str, names: set[str]) -> None:
        """Note that the reports of these names have just been made of a student's result."""
        put_reports(self._outputs.folder(student), self._lab, self._language, names)


def with_person(result: Result, person: Person | None) -> Result:
    """The result with the name and the group that a roster or an export knows of its student."""
    if person is None:
        return result
    own = result.student
    return msgspec.structs.replace(
        result, student=Student(id=own.id, name=person.name or own.name, group=person.group or own.group)
    )


def read_stamp(folder: Path) -> Stamp | None:
    """The stamp in a student's folder, None where there is none that can be read and was signed here."""
    try:
        stamp = msgspec.json.decode(read_kept(folder / STAMP_NAME), type=Stamp)
        return stamp if hmac.compare_digest(stamp.signature, _signature(stamp)) else None
    except (OSError, msgspec.DecodeError, UnicodeError, TypeError, RecursionError):
        return None


def _signature(stamp: Stamp) -> str:
    """Raises OSError where there is no key to sign with."""
    return signature(msgspec.json.encode(msgspec.structs.replace(stamp, signature="")))


def retold(folder: Path, before: bytes, after: bytes, language: str) -> None:
    """Note that the result in `folder` was written again in another language: it still follows from the same."""
    stamp = read_stamp(folder)
    if stamp is not None and stamp.result == _digest(before):
        stamp = msgspec.structs.replace(stamp, result=_digest(after), language=language, reports={})
        _write(folder, stamp)


def rescored(folder: Path, before: bytes, after: bytes, is_as_graded: bool) -> None:
    """Note that the result in `folder` was marked again.

    is_as_graded: by the rules that it was graded by, so that it still follows from the same; else it is graded anew
    when grading is asked for.
    """
    stamp = read_stamp(folder)
    if stamp is not None and stamp.result == _digest(before):
        follows_from = stamp.follows_from if is_as_graded else ""
        _write(folder, msgspec.structs.replace(stamp, follows_from=follows_from, result=_digest(after), reports={}))


def has_reports(folder: Path, lab: Lab, language: str, wanted: Collection[str]) -> bool:
    """Whether the reports of these names in `folder` are those that would be made of the result beside them."""
    stamp = read_stamp(folder)
    if stamp is None or not stamp.reports:
        return False
    follows_from = made_from(lab, language, stamp.result)
    return all(
        stamp.reports.get(name) == RenderedFile(made_from=follows_from, size=_size(folder / name)) for name in wanted
    )


def is_rendered(folder: Path, lab: Lab, language: str, pdf: bool) -> bool:
    """Whether the result in `folder` is the one that the stamp beside it speaks of, and has all its reports."""
    stamp = read_stamp(folder)
    try:
        is_whole = stamp is not None and stamp.result == _digest(read_kept(folder / RESULT_NAME))
    except OSError:
        return False
    return is_whole and has_reports(folder, lab, language, (HTML_NAME, PDF_NAME) if pdf else (HTML_NAME,))


def put_reports(folder: Path, lab: Lab, language: str, names: set[str]) -> None:
    """Note that the reports of these names in `folder` have just been made of the result beside them."""
    stamp = read_stamp(folder)
    if stamp is not None:
        follows_from = made_from(lab, language, stamp.result)
        reports = {name: RenderedFile(made_from=follows_from, size=_size(folder / name)) for name in sorted(names)}
        _write(folder, msgspec.structs.replace(stamp, reports=reports))


def _write(folder: Path, stamp: Stamp) -> None:
    # Without a stamp the work is graded again, no more.
    with contextlib.suppress(OSError):
        signed = msgspec.structs.replace(stamp, signature=_signature(stamp))
        write_atomically(folder / STAMP_NAME, msgspec.json.encode(signed))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1
