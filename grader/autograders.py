"""What other services run the grader by: packages and workflows for one lab, written by `grade autograder`.

The running grader goes with them as a wheel, so that a service grades with the very version that the teacher has.  A
wheel is an archive of the package's files and their list (https://packaging.python.org/specifications/
binary-distribution-format/); it is put together from what runs, be that a checkout or an installed package.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from grader import __version__
from grader.files import PACKAGE, data_root, write_atomically
from grader.lab.records import Lab

EPOCH = (2020, 1, 1, 0, 0, 0)
"""Modification time of every file in an archive, so that the same input makes the same bytes."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a package; name: with `/` between folders."""

    name: str
    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """What a package is wanted for.

    language: what students are told in.  built_in: whether the lab comes with the grader; its folder is put into the
    package where not.  requirement: what pip installs the grader from, "" for a wheel in the package.
    secret: of the course, "" for none.
    """

    lab: Lab
    language: str
    built_in: bool
    requirement: str = ""
    secret: str = ""


def template(name: str, order: Order, beside: str = "") -> bytes:
    """A file of `templates/autograders` with the lab's name, the language and what pip installs put in.

    beside: the shell's words for the folder that wheel and constraints lie in.
    """
    text = (data_root() / "templates" / "autograders" / name).read_text("utf-8")
    # Known now, so no script has to ask.
    wheel = f"--constraint {beside}/constraints.txt {beside}/*.whl"
    grader = f'"{order.requirement}"' if order.requirement else wheel
    for key, value in (("LAB", order.lab.id), ("LANGUAGE", order.language), ("GRADER", grader)):
        text = text.replace(f"@{key}@", value)
    return text.encode()


def lab_files(order: Order, prefix: str) -> list[File]:
    """The folder of a lab that does not come with the grader, as `<prefix><lab>/…`; [] for one that does."""
    if order.built_in:
        return []
    folder = order.lab.path.parent
    files = sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return [File(f"{prefix}{order.lab.id}/{p.relative_to(folder).as_posix()}", p.read_bytes()) for p in files]


def zipped(files: Sequence[File]) -> bytes:
    """The files as an archive, at its root, with their rights."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
            archive.writestr(entry, file.data)
    return stream.getvalue()


def write_folder(folder: Path, files: Sequence[File]) -> None:
    """Write the files below `folder`.  Raises OSError: one cannot be written."""
    for file in files:
        target = folder / file.name
        write_atomically(target, file.data)
        if file.executable:
            target.chmod(target.stat().st_mode | 0o111)


NAME = "cuda-lab-grader"
DATA_FOLDERS = ("assignments", "reference", "templates", "tests/kernels")
"""What lies beside the package in a checkout, and in it once installed (setup.py)."""
OLDEST_PYTHON = "3.11.0"
LICENCES = "THIRD_PARTY.md"
"""What comes with the grader and under which licence; the licences themselves are among the package's files."""
_STEM = f"cuda_lab_grader-{__version__}"


def wheel() -> File:
    """The wheel, named as pip wants it."""
    files = list(_below(PACKAGE, "grader"))
    if data_root() != PACKAGE / "data":
        for folder in DATA_FOLDERS:
            files += _below(data_root() / folder, f"grader/data/{folder}")
    about = f"{_STEM}.dist-info"
    files += [
        File(f"{about}/METADATA", _metadata()),
        File(f"{about}/WHEEL", b"Wheel-Version: 1.0\nGenerator: grade\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        File(f"{about}/licenses/{LICENCES}", _licences()),
        File(f"{about}/entry_points.txt", b"[console_scripts]\ngrade = grader.__main__:main\n"),
    ]
    rows = [f"{file.name},sha256={_digest(file.data)},{len(file.data)}" for file in files]
    record = "".join(f"{row}\n" for row in [*rows, f"{about}/RECORD,,"])
    return File(f"{_STEM}-py3-none-any.whl", zipped([*files, File(f"{about}/RECORD", record.encode())]))


def constraints() -> File:
    """The versions of all that the grader stands on here, for pip to take the same.

    Those are left out that the oldest Python which the grader runs on cannot have: a service's may be older than this
    one, and pip would find nothing at all.
    """
    lines = [f"{name}=={version}\n" for name, version in sorted(_installed().items()) if _is_for_all(name)]
    return File("constraints.txt", "".join(lines).encode())


def _below(folder: Path, prefix: str) -> Iterator[File]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".pyc", ".po", ".pot"):
            yield File(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _metadata() -> bytes:
    head = f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {__version__}\nRequires-Python: >=3.11\n"
    head += f"License-File: {LICENCES}\n"
    return (head + "".join(f"Requires-Dist: {need}\n" for need in _needs(NAME))).encode()


def _licences() -> bytes:
    beside = data_root() / LICENCES
    if beside.is_file():
        return beside.read_bytes()
    return (metadata.distribution(NAME).read_text(f"licenses/{LICENCES}") or "").encode()


def _needs(name: str) -> list[str]:
    from packaging.requirements import Requirement

    pyproject = data_root() / "pyproject.toml"
    if name == NAME and data_root().name != "data" and pyproject.is_file():
        # What an editable install once noted may be old.
        return list(tomllib.loads(pyproject.read_text("utf-8"))["project"]["dependencies"])
    requirements = []
    for text in metadata.requires(name) or []:
        need = Requirement(text)
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            requirements.append(text.split(";")[0].strip())
    return requirements


def _is_for_all(name: str) -> bool:
    """Whether the version that is installed here can be installed wherever the grader can."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    package = metadata.metadata(name)
    try:
        return all(SpecifierSet(one).contains(OLDEST_PYTHON) for one in package.get_all("Requires-Python") or [])
    except InvalidSpecifier:
        return False


def _installed() -> dict[str, str]:
    from packaging.requirements import Requirement

    versions: dict[str, str] = {}
    left = [Requirement(text).name for text in _needs(NAME)]
    while left:
        name = left.pop()
        if name.lower() in versions:
            continue
        try:
            versions[name.lower()] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        left += [Requirement(text).name for text in _needs(name)]
    return versions


def gradescope(order: Order) -> list[File]:
    """`setup.sh` and `run_autograder` at the root of the archive, the grader and the lab beside them.

    https://gradescope-autograders.readthedocs.io/en/latest/specs/
    """
    return [
        File("setup.sh", template("gradescope/setup.sh", order, '"$source"'), executable=True),
        File("run_autograder", template("gradescope/run_autograder", order), executable=True),
        File("warm_up.cu", template("gradescope/warm_up.cu", order)),
        *_grader(order, ""),
        *lab_files(order, "labs/"),
        *([File("course.secret", order.secret.encode())] if order.secret else []),
    ]


def github(order: Order) -> list[File]:
    """A workflow for GitHub Classroom, and the composite action that it uses, for the template repository."""
    return [
        File(".github/workflows/classroom.yml", template("github/classroom.yml", order)),
        File(".github/grader/action.yml", template("github/action.yml", order, '"$GITHUB_ACTION_PATH"')),
        *_grader(order, ".github/grader/"),
        *lab_files(order, ".github/grader/labs/"),
    ]


def gitlab(order: Order) -> list[File]:
    """A pipeline for GitLab CI, and the grader beside it."""
    return [
        File(".gitlab-ci.yml", template("gitlab/gitlab-ci.yml", order, ".grader")),
        *_grader(order, ".grader/"),
        *lab_files(order, ".grader/labs/"),
    ]


def moodle(order: Order) -> list[File]:
    """The execution files of a Virtual Programming Lab activity; the grader is installed on its execution server.

    https://vpl.dis.ulpgc.es/documentation/
    """
    # What the server keeps beside the student's files has no folders: the lab's own go to the server with the grader.
    scripts = {"vpl_run.sh": "vpl_check.sh", "vpl_debug.sh": "vpl_check.sh", "vpl_evaluate.sh": "vpl_evaluate.sh"}
    files = [File(name, template(f"moodle/{script}", order), executable=True) for name, script in scripts.items()]
    server = [File("server/install.sh", template("moodle/install.sh", order, '"$here"'), executable=True)]
    return [*files, *server, *_grader(order, "server/"), *lab_files(order, "server/labs/")]


def _grader(order: Order, prefix: str) -> list[File]:
    if order.requirement:
        return []
    return [File(f"{prefix}{file.name}", file.data) for file in (wheel(), constraints())]


SERVICES: dict[str, Callable[[Order], list[File]]] = {
    "gradescope": gradescope,
    "github": github,
    "gitlab": gitlab,
    "moodle": moodle,
}
ARCHIVES = ("gradescope", "moodle")
"""Services that a zip archive is uploaded to; a folder is written for the others."""
