"""What a program is expected to be seen to do, after it was changed: what it did, on the lines of now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grader.message import msg
from grader.programs.observed_before import LastSeen
from grader.submission.kernels.records import Observed, SeenFault, SeenLaunch, SeenRun, SeenWord
from grader.submission.source import SourceText, decode

TEXT = """\
__global__ void k(float *out) { out[0] = 1; }
int main()
{
    float *out;
    cudaMalloc(&out, 4);
    k<<<1, 32>>>(out);
    return 0;
}
"""
LAUNCH = SeenLaunch("k", (), "a.cu", 6, (1, 1, 1), (32, 1, 1), 0, ())
LEAK = SeenFault("leak", "a.cu", 5, msg("observation.no_launch"))
SAID = SeenWord("k: right", True, "k", 6)
SEEN = Observed((SeenRun(("a.cu",), (LAUNCH,), ended=True, faults=(LEAK,), said=(SAID,)),))


def source(folder: Path, text: str, name: str = "a.cu") -> SourceText:
    (folder / name).write_text(text, "utf-8")
    return decode(folder / name)


def lines(observed: Observed | None) -> list[int]:
    assert observed is not None
    (run,) = observed.runs
    return [
        *(launch.line for launch in run.launches),
        *(fault.line for fault in run.faults),
        *(word.line for word in run.said),
    ]


def test_lines_are_followed(tmp_path: Path) -> None:
    last = LastSeen()
    last.put([source(tmp_path, TEXT)], SEEN)
    assert last.of([source(tmp_path, TEXT)]) == SEEN
    assert lines(last.of([source(tmp_path, "// above\n\n" + TEXT)])) == [8, 7, 8]
    between = TEXT.replace("    k<<<", "    cudaMemset(out, 0, 4);\n    k<<<")
    assert lines(last.of([source(tmp_path, between)])) == [7, 5, 7]
    # The line of the launch itself, where it stands.
    assert lines(last.of([source(tmp_path, "\n" + TEXT.replace("1, 32", "2, 32"))])) == [7, 6, 7]


def test_nothing_is_expected_of_what_was_not_seen(tmp_path: Path) -> None:
    last = LastSeen()
    file = source(tmp_path, TEXT)
    assert last.of([file]) is None
    last.put([file], SEEN)
    other = source(tmp_path, "int main()\n{\n    return 1;\n}\n" * 5)
    assert last.of([other]) is None
    assert last.of([source(tmp_path, TEXT, "b.cu")]) is None
    assert last.of([file, source(tmp_path, TEXT, "b.cu")]) is None
    for seen in (replace(SEEN, failed=msg("observation.no_main")), replace(SEEN, uncommented=(("a.cu", "k", 6),))):
        nothing = LastSeen()
        nothing.put([file], seen)
        assert nothing.of([file]) is None


def test_what_does_not_compile_for_a_while_is_expected_to_do_what_it_did(tmp_path: Path) -> None:
    last = LastSeen()
    not_run = Observed((SeenRun(("a.cu",), cause=msg("observation.no_launch"), cause_file="a.cu", cause_line=3),))
    broken = source(tmp_path, "\n" + TEXT.replace("4);", ""))
    last.put([broken], not_run)
    assert last.of([broken]) == not_run
    last.put([source(tmp_path, TEXT)], SEEN)
    last.put([broken], not_run)
    assert lines(last.of([source(tmp_path, "\n" + TEXT)])) == [7, 6, 7]
