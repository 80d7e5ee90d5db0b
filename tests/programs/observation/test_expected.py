"""What a program is expected to be seen to do, after it was changed: what it did, on the lines of now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grader.message import msg
from grader.programs.remembered import LastObserved
from grader.submission.kernels.records import ObservedRuns, SeenFault, SeenLaunch, SeenRun, SeenWord
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
SEEN = ObservedRuns((SeenRun(("a.cu",), (LAUNCH,), ended=True, faults=(LEAK,), said=(SAID,)),))


def source(folder: Path, text: str, name: str = "a.cu") -> SourceText:
    (folder / name).write_text(text, "utf-8")
    return decode(folder / name)


def lines(observed: ObservedRuns | None) -> list[int]:
    assert observed is not None
    (run,) = observed.runs
    return [
        *(launch.line for launch in run.launches),
        *(fault.line for fault in run.faults),
        *(word.line for word in run.said),
    ]


def test_lines_are_followed(tmp_path: Path) -> None:
    last = LastObserved()
    last.put([source(tmp_path, TEXT)], SEEN)
    assert last.expected([source(tmp_path, TEXT)]) == SEEN
    assert lines(last.expected([source(tmp_path, "// above\n\n" + TEXT)])) == [8, 7, 8]
    between = TEXT.replace("    k<<<", "    cudaMemset(out, 0, 4);\n    k<<<")
    assert lines(last.expected([source(tmp_path, between)])) == [7, 5, 7]
    # The line of the launch itself, where it stands.
    assert lines(last.expected([source(tmp_path, "\n" + TEXT.replace("1, 32", "2, 32"))])) == [7, 6, 7]


def test_nothing_is_expected_of_what_was_not_seen(tmp_path: Path) -> None:
    last = LastObserved()
    file = source(tmp_path, TEXT)
    assert last.expected([file]) is None
    last.put([file], SEEN)
    other = source(tmp_path, "int main()\n{\n    return 1;\n}\n" * 5)
    assert last.expected([other]) is None
    assert last.expected([source(tmp_path, TEXT, "b.cu")]) is None
    assert last.expected([file, source(tmp_path, TEXT, "b.cu")]) is None
    for seen in (replace(SEEN, failed=msg("observation.no_main")), replace(SEEN, uncommented=(("a.cu", "k", 6),))):
        nothing = LastObserved()
        nothing.put([file], seen)
        assert nothing.expected([file]) is None


def test_what_does_not_compile_for_a_while_is_expected_to_do_what_it_did(tmp_path: Path) -> None:
    last = LastObserved()
    not_run = ObservedRuns((SeenRun(("a.cu",), cause=msg("observation.no_launch"), cause_file="a.cu", cause_line=3),))
    broken = source(tmp_path, "\n" + TEXT.replace("4);", ""))
    last.put([broken], not_run)
    assert last.expected([broken]) == not_run
    last.put([source(tmp_path, TEXT)], SEEN)
    last.put([broken], not_run)
    assert lines(last.expected([source(tmp_path, "\n" + TEXT)])) == [7, 6, 7]
