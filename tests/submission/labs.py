"""Labs for the tests of reading and binding: made here, so that a change of a real lab changes no expectation."""

from __future__ import annotations

from pathlib import Path

from grader.lab.parameters import KINDS
from grader.lab.records import Lab, LaunchRule, Parameter, ReferenceKernel, Tolerance, Variant
from grader.submission.binding.bind import bind
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import ParsedFile
from grader.submission.folder import FoundSubmission, LabSettings, find_sources
from grader.submission.kernels.records import NOTHING_OBSERVED, ObservedRuns
from grader.submission.records import Submission
from grader.submission.source import SourceText, decode, decode_bytes

SOURCES = Path(__file__).parent.parent / "data" / "sources"

_REFERENCE = ReferenceKernel(Path("reference.cu"), "kernel", ("in", "out"), (32, 32, 1), (32, 32))


def _variant(name: str, names: tuple[str, ...], shared_memory: bool | None, padded: bool | None = None) -> Variant:
    return Variant(name, {"en": name}, names, shared_memory, _REFERENCE, (), padded)


def _lab(
    parameters: tuple[Parameter, ...],
    variants: tuple[Variant, ...],
    launch: LaunchRule,
    equal_sizes: tuple[str, ...] = (),
) -> Lab:
    text = {"en": "a lab of the tests"}
    return Lab(
        id="flip",
        path=Path("labs/flip"),
        title=text,
        aim=text,
        task=text,
        parameters=parameters,
        launch=launch,
        variants=variants,
        cases={},
        tolerance=Tolerance(),
        oracle=Path("oracle.py"),
        seed=1,
        equal_sizes=equal_sizes,
    )


FLIP = _lab(
    parameters=(
        Parameter("in", KINDS["input"], shape=("rows", "cols"), names=("in.*", "src.*", "idata", "mat", "a")),
        Parameter("out", KINDS["output"], shape=("cols", "rows"), names=("out.*", "dst.*", "odata", "res", "b")),
        Parameter("rows", KINDS["size"], "int32", names=("rows?", "height", "h", "n")),
        Parameter("cols", KINDS["size"], "int32", names=("cols?", "width", "w", "k", "m")),
    ),
    variants=(
        _variant("naive", ("naive", "base", "simple", "0$"), shared_memory=False),
        _variant("shared", ("bad", "shared", "tile", "1[12]$"), shared_memory=True, padded=False),
        _variant("padded", ("pad", "no.?(bank)?.?conflict", "(?<!1)2$"), shared_memory=True, padded=True),
    ),
    launch=LaunchRule((32, 32, 1), ("cols", "rows")),
    equal_sizes=("rows", "cols"),
)

PRODUCT = _lab(
    parameters=(
        Parameter("a", KINDS["input"], shape=("n", "n"), names=("x", "d_a")),
        Parameter("b", KINDS["input"], shape=("n", "n"), names=("y", "d_b")),
        Parameter("c", KINDS["output"], shape=("n", "n"), names=("z", "d_c")),
        Parameter("n", KINDS["size"], "int32", names=("width", "size")),
    ),
    variants=(
        _variant("naive", ("naive", "multiply"), shared_memory=False),
        _variant("block", ("shared", "tiled"), shared_memory=True),
    ),
    launch=LaunchRule((16, 16, 1), ("n", "n")),
)

LINE = _lab(
    parameters=(
        Parameter("in", KINDS["input"], shape=("n",)),
        Parameter("out", KINDS["output"], shape=("n",)),
        Parameter("n", KINDS["size"], "int32"),
    ),
    variants=(_variant("shared", ("shared",), shared_memory=True),),
    launch=LaunchRule((256, 1, 1), ("n",)),
)


def text_of(text: str, name: str = "main.cu") -> SourceText:
    """`text` as a decoded file."""
    return decode_bytes(Path(name), text.encode())


def parsed(text: str) -> ParsedFile:
    """`text` parsed."""
    return parse(text_of(text))


def bound(
    text: str, lab: Lab = FLIP, settings: LabSettings | None = None, observed: ObservedRuns = NOTHING_OBSERVED
) -> Submission:
    """A submission of one file with `text`, bound to `lab`."""
    found = FoundSubmission("ivanov", lab.id, Path("nowhere"), (), settings=settings or LabSettings())
    return bind(found, [text_of(text)], lab, observed=observed)


def bound_file(name: str, lab: Lab = FLIP) -> Submission:
    """One of the test sources, bound to `lab`."""
    found = find_sources(SOURCES / name, lab.id)
    return bind(found, [decode(file) for file in found.files], lab)
