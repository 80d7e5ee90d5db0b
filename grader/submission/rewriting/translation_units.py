"""A submission's files, read together: headers that they include, macros and constants that these define."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.files import real
from grader.submission.cpp.constants import Macro
from grader.submission.cpp.kernel_macros import device_macros
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile
from grader.submission.files.source import SourceText, named_within
from grader.submission.kernels.kernel import with_headers
from grader.submission.rewriting.device_code import DeviceCode, device_code


@dataclass(frozen=True, slots=True)
class Files:
    """Files that were handed in to be compiled, with what is compiled of each, and the files that they include.

    headers: files that others include, `.cu` files among them.  header_sources: those of their texts that were not
      handed in by themselves.
    """

    main_files: tuple[ParsedFile, ...]
    codes: tuple[DeviceCode, ...]
    headers: tuple[ParsedFile, ...]
    header_sources: tuple[SourceText, ...]

    @property
    def with_kernels(self) -> tuple[ParsedFile, ...]:
        """The files that may hold kernels."""
        handed_in = {main.file for main in self.main_files}
        included = [header for header in self.headers if header.file not in handed_in and header.kernels]
        return (
            *(main if main.file not in self.units else self._in_its_program(main) for main in self.main_files),
            *(self._in_its_program(header) for header in included),
        )

    @property
    def units(self) -> dict[str, str]:
        """The file that each included one is compiled with."""
        included = {header.file for code in self.codes for header in code.headers.values()}
        pairs = [*zip(self.codes, self.main_files, strict=True)]
        found: dict[str, str] = {}
        # Of files that include each other the first is compiled, and the others with it.
        for code, main in sorted(pairs, key=lambda pair: pair[1].file in included):
            if main.file not in found:
                found |= {h.file: main.file for h in code.headers.values() if h.file not in (*found, main.file)}
        return found

    def _in_its_program(self, header: ParsedFile) -> ParsedFile:
        """A header with what the file that includes it defines, and that file's other headers: macros, types."""
        unit = next((main for main in self.main_files if main.file == self.units.get(header.file)), None)
        if unit is None:
            return header
        return with_headers(header, [*(other for other in unit.headers if other.file != header.file), unit])

    def by_name(self) -> dict[str, ParsedFile]:
        """Every file that is compiled."""
        included = {header.file: header for code in self.codes for header in code.headers.values()}
        return included | {main.file: main for main in self.main_files}

    @property
    def texts(self) -> dict[str, str]:
        """What is compiled of each file."""
        units = self.units
        found: dict[str, str] = {}
        for code, main in zip(self.codes, self.main_files, strict=True):
            if main.file not in units:
                found[main.file] = code.sources[main.file]
            found |= {h.file: code.sources[name] for name, h in code.headers.items() if units.get(h.file) == main.file}
        return found

    @property
    def included(self) -> dict[str, dict[str, str]]:
        """For each file that is compiled, what it includes: the files by the names that they are included by."""
        return {
            main.file: {name: header.file for name, header in code.headers.items()}
            for code, main in zip(self.codes, self.main_files, strict=True)
        }


def read_files(sources: Sequence[SourceText], folder: Path, read_header: Callable[[Path], SourceText]) -> Files:
    """The files in `sources`, and the headers in the student's `folder` that they include, read with `read_header`.

    Raises
    ------
    UsageError : a header is no text, or a file has too many kernels.
    """
    root = sources[0].root if sources else folder
    handed_in = {real(source.path): source for source in sources}
    texts: dict[Path, SourceText] = {}

    def read(macros: Mapping[str, Macro]) -> tuple[list[ParsedFile], list[DeviceCode], dict[Path, ParsedFile]]:
        headers: dict[Path, ParsedFile] = {}

        def read_one(path: Path) -> ParsedFile:
            # However it is included, it is one file.
            place = real(path)
            if place not in headers:
                if place not in handed_in and place not in texts:
                    texts[place] = named_within(read_header(path), root)
                headers[place] = parse(handed_in.get(place) or texts[place], macros)
            return headers[place]

        files = [parse(source, macros) for source in sources]
        codes = [device_code(parsed, folder, read_one, [f for f in files if f is not parsed]) for parsed in files]
        return files, codes, headers

    files, codes, headers = read({})
    macros: dict[str, Macro] = {}
    for header in headers.values():
        macros = device_macros(header.source.text, macros)
    if macros:
        # What headers call a kernel is known only once they are read.
        files, codes, headers = read(macros)
    main_files = [with_headers(parsed, list(code.headers.values())) for code, parsed in zip(codes, files, strict=True)]
    return Files(tuple(main_files), tuple(codes), tuple(headers.values()), tuple(texts.values()))
