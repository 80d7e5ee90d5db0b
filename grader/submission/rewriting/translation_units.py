"""A submission's files, read together: headers that they include, macros and constants that these define."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.submission.cpp.kernel_macros import device_macros
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile
from grader.submission.expressions.macros import Macro
from grader.submission.files.source import SourceText
from grader.submission.kernels.kernel import with_headers
from grader.submission.rewriting.device_code import DeviceCode, device_code


@dataclass(frozen=True, slots=True)
class Files:
    """Files that were handed in to be compiled, with what is compiled of each, and the headers that they include.

    headers: by path; header_sources: their texts as they were handed in.
    """

    main_files: tuple[ParsedFile, ...]
    codes: tuple[DeviceCode, ...]
    headers: Mapping[Path, ParsedFile]
    header_sources: tuple[SourceText, ...]

    @property
    def with_kernels(self) -> tuple[ParsedFile, ...]:
        """The files that may hold kernels."""
        return (*self.main_files, *(self._in_its_program(header) for header in self.headers.values() if header.kernels))

    @property
    def units(self) -> dict[str, str]:
        """The file that each header is compiled with, both by the names that they are compiled under."""
        found: dict[str, str] = {}
        for code, main in zip(self.codes, self.main_files, strict=True):
            for name in code.sources:
                if name != main.file:
                    found.setdefault(name, main.file)
        return found

    def _in_its_program(self, header: ParsedFile) -> ParsedFile:
        """A header with what the file that includes it defines, and that file's other headers: macros, types."""
        units = {Path(name).name: main for name, main in self.units.items()}
        unit = next((main for main in self.main_files if main.file == units.get(header.file)), None)
        if unit is None:
            return header
        return with_headers(header, [*(other for other in unit.headers if other.file != header.file), unit])

    def by_name(self) -> dict[str, ParsedFile]:
        """Every file that is compiled, by the name that it is compiled under."""
        named = {path.name: parsed for path, parsed in self.headers.items()}
        found = {}
        for code, main in zip(self.codes, self.main_files, strict=True):
            for name in code.sources:
                parsed = main if name == main.file else named.get(Path(name).name)
                if parsed is not None:
                    found[name] = parsed
        return found


def read_files(sources: Sequence[SourceText], folder: Path, read_header: Callable[[Path], SourceText]) -> Files:
    """The files in `sources`, and the headers in the student's `folder` that they include, read with `read_header`.

    Raises
    ------
    UsageError : a header is no text, or a file has too many kernels.
    """
    texts: dict[Path, SourceText] = {}

    def read(macros: Mapping[str, Macro]) -> tuple[list[ParsedFile], list[DeviceCode], dict[Path, ParsedFile]]:
        headers: dict[Path, ParsedFile] = {}

        def read_one(path: Path) -> ParsedFile:
            if path not in headers:
                texts.setdefault(path, read_header(path))
                headers[path] = parse(texts[path], macros)
            return headers[path]

        files = [parse(source, macros) for source in sources]
        codes = [device_code(parsed, folder, read_one, [f for f in files if f is not parsed]) for parsed in files]
        return files, codes, headers

    files, codes, headers = read({})
    macros: dict[str, Macro] = {}
    for path in headers:
        macros = device_macros(texts[path].text, macros)
    if macros:
        # What headers call a kernel is known only once they are read.
        files, codes, headers = read(macros)
    main_files = [with_headers(parsed, _own(code, parsed, headers)) for code, parsed in zip(codes, files, strict=True)]
    return Files(tuple(main_files), tuple(codes), headers, tuple(texts.values()))


def _own(code: DeviceCode, main: ParsedFile, headers: Mapping[Path, ParsedFile]) -> list[ParsedFile]:
    """The submission's own headers that a file includes."""
    by_name = {path.name: parsed for path, parsed in headers.items()}
    return [by_name[Path(name).name] for name in code.sources if name != main.file and Path(name).name in by_name]
