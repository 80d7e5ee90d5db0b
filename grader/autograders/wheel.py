"""The running grader as a wheel, so that a service grades with the very version that the teacher has.

A wheel is an archive of the package's files and their list (https://packaging.python.org/specifications/
binary-distribution-format/); it is put together from what runs, be that a checkout or an installed package.
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from grader import __version__
from grader.autograders.package import File, zipped
from grader.paths import PACKAGE, data_root

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
    """What a package asks for on this machine."""
    from packaging.requirements import Requirement

    pyproject = data_root() / "pyproject.toml"
    if name == NAME and data_root().name != "data" and pyproject.is_file():
        # What an editable install once noted may be old.
        return list(tomllib.loads(pyproject.read_text("utf-8"))["project"]["dependencies"])
    found = []
    for text in metadata.requires(name) or []:
        need = Requirement(text)
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            found.append(text.split(";")[0].strip())
    return found


def _is_for_all(name: str) -> bool:
    """Whether the version that is installed here can be installed wherever the grader can."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    known = metadata.metadata(name)
    try:
        return all(SpecifierSet(one).contains(OLDEST_PYTHON) for one in known.get_all("Requires-Python") or [])
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
