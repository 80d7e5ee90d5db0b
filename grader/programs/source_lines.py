"""A program's text as its calls are looked up in it: by the lines that hold something, wherever those stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import islice


def is_empty(line: str) -> bool:
    """Whether a line holds nothing: no more than the mark that it goes on in the next one."""
    return line.strip(" \t\r\\") == ""


class SourceLines:
    """texts: by file, as in `grader.programs.sources.Program.host`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {file: text.split("\n") for file, text in texts.items()}

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """By file, without the lines that hold nothing."""
        return {file: "\n".join(line for line in lines if not is_empty(line)) for file, lines in self._lines.items()}

    def at(self, file: str, line: int, count: int) -> list[str]:
        """That line and those after it that hold something, `count` in all; none where there is no such line."""
        lines = self._lines.get(file, [])
        if not 0 < line <= len(lines):
            return []
        following = (text for text in islice(lines, line, None) if not is_empty(text))
        return [lines[line - 1], *islice(following, count - 1)]
