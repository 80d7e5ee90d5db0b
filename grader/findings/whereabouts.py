"""Where the files of a result lie: a result has their names, an editor wants their paths."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Finds a submission's files.

    source: what was graded, as the user typed it: a student's folder, the lab's folder in it, or one file.
    root: the folder that paths are told relative to (of a repository), None for paths as the user typed them.
    """

    source: Path
    lab: str
    root: Path | None = None

    def path(self, name: str) -> str:
        """The path of the file that a result calls `name`, with `/` between folders; "" for no name.

        Relative to `root` where it lies below that.
        """
        if not name:
            return ""
        found = next((place for place in self._places(name) if _exists(place)), next(self._places(name)))
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


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
