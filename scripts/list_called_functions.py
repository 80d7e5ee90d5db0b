"""Lists the functions of the C++ library that programs call: `python scripts/list_called_functions.py [PROGRAM…]`.

To be run when the library, its compiler or the programs in `tests/programs` have changed much: a function that is not
in the list costs a run that comes to it a second try (see `grader/programs/sandbox/module.py`), nothing else.  Each of
the library's functions is made to set a byte of its own, in the thousand at the beginning of a program's memory that
nothing else uses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.programs.runs_with_kernels import TRACED
from grader.programs.runtime.devices import DEFAULT
from grader.programs.sandbox import module as sandbox_module
from grader.programs.sandbox.process import Code, Order
from grader.programs.sandbox.run import ProgramRun
from grader.programs.sources import read_program
from grader.programs.starts import programs_of, ways_to_start
from grader.programs.toolchain.compile import compile_program
from grader.programs.toolchain.zig import build
from grader.submission.source import decode

FIRST_FLAG, FLAGS = 16, 1000
ROOT = Path(__file__).parents[1]


class Silent:
    """Stands in for the grader at the other end: no code, and nobody reads what is printed."""

    def send(self, _said: Any) -> None:
        """Nothing."""

    def receive(self) -> Code:
        """No kernel's code is there."""
        return Code("", "none")


def marked(module: bytes, known: frozenset[str]) -> Iterator[tuple[bytes, list[str]]]:
    """The module with functions of the library that say that they were called; with it their names, by flag."""
    layout = sandbox_module.Layout.of(module)
    wanted = [i for i in layout.library() if layout.names[i] not in known]
    for start in range(0, len(wanted), FLAGS):
        some = wanted[start : start + FLAGS]
        bodies = {index: marking(layout.bodies[index], FIRST_FLAG + flag) for flag, index in enumerate(some)}
        yield layout.with_bodies(bodies), [layout.names[index] for index in some]


def marking(body: bytes, address: int) -> bytes:
    """A function's body that stores 1 at `address` first."""
    groups, at = sandbox_module.number(body, 0)
    for _group in range(groups):
        at = sandbox_module.number(body, at)[1] + 1
    store = b"\x42" + signed(address) + b"\x41\x01\x3a\x00\x00"
    return body[:at] + store + body[at:]


def signed(value: int) -> bytes:
    """A number below 8192 as signed LEB128."""
    return bytes([value & 127 | 128, value >> 7])


def functions_of(paths: list[Path], known: set[str]) -> set[str]:
    """Functions that a program's runs come to besides those that are `known`."""
    sources = [decode(path) for path in paths]
    found: set[str] = set()
    for files in programs_of(sources):
        ways = ways_to_start(files)
        program = read_program([s.path for s in files], [word for way in ways for word in way.arguments])
        host = compile_program(program.units, program.host, build()) if program.obstacle is None else None
        if host is None or not host.module:
            continue
        for way in ways:
            words = [b"./program", *(word.encode() for word in way.arguments)]
            order = Order(
                module=host.module,
                stdin=way.stdin,
                files=program.data,
                arguments=words,
                model=DEFAULT,
                units=list(program.units),
                sources=program.original,
                unused=[],
                parameters=program.parameters,
                limits=TRACED,
            )
            for module, names in marked(host.module, frozenset(known | found)):
                run = ProgramRun(order, Silent())  # type: ignore[arg-type]  # all of a channel that a run uses
                run._run(module, frozenset(), is_watched=False)
                if run._guest is not None:
                    flags = run._guest.read(FIRST_FLAG, len(names))
                    found |= {name for name, flag in zip(names, flags, strict=True) if flag}
    return found


def main() -> None:
    """Add what is missing to the list."""
    given = [Path(word) for word in sys.argv[1:]]
    places = given or [p.parent for p in sorted((ROOT / "tests" / "programs").glob("*/expected.yaml"))]
    places += [] if given else sorted((ROOT / "submissions").rglob("*.cu"))
    known = set(sandbox_module.LISTED.read_text("utf-8").split()) if sandbox_module.LISTED.is_file() else set()
    for place in places:
        try:
            fresh = functions_of([place] if place.is_file() else sorted(place.glob("*.cu")), known)
        except GraderError as error:
            print(f"{place.name}: {error}")
            continue
        print(f"{place.name}: {len(fresh)}", flush=True)
        known |= fresh
        sandbox_module.LISTED.write_text("\n".join(sorted(known)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
