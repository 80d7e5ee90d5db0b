"""Where the files of a result lie: a result has their names, an editor wants their paths."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOST_FOLDERS = 1000
"""That are looked into for a file."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Finds a submission's files.

    source: what was graded, as the user typed it: a student's folder, the lab's folder in it, or one file.
    root: the folder that paths are told relative to (of a repository), None for paths as the user typed them.
    digests: SHA-256 of each file by its name, which tell it from others that are called alike.
    """

    source: Path
    lab: str
    root: Path | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """The path of the file that a result calls `name`, with `/` between folders; "" for no name.

        Relative to `root` where it lies below that.
        """
        if not name:
            return ""
        there = list(filter(_exists, self._places(name)))
        found = there[0] if there else next(self._places(name))
        if len(there) > 1 and self.digests.get(name):
            found = next((place for place in there if _digest(place) == self.digests[name]), found)
        if self.root is None:
            return found.as_posix()
        try:
            relative = os.path.relpath(found.resolve(), self.root.resolve())
        except (OSError, ValueError):
            # On Windows: another drive.
            return found.as_posix()
        return found.as_posix() if relative.startswith("..") else Path(relative).as_posix()

    def _places(self, name: str) -> Iterator[Path]:
        folder = self.source if self.source.is_dir() else self.source.parent
        if not self.source.is_dir() and self.source.name == name:
            yield self.source
        yield folder / name
        yield folder / self.lab / name
        # In a folder of its own below, however that is called.
        for above in (folder / self.lab, folder):
            yield from (place / name for place in _folders(above))
        yield folder.parent / name


def repository_of(path: Path) -> Path:
    """The root of the repository that `path` lies in, as services tell it or as its `.git` shows; else its folder."""
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        told = os.environ.get(variable)
        if told and path.resolve().is_relative_to(Path(told).resolve()):
            return Path(told)
    here = path.resolve()
    folder = here if here.is_dir() else here.parent
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def _folders(folder: Path) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [path for path in inside[:MOST_FOLDERS] if not path.name.startswith((".", "__"))]


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
