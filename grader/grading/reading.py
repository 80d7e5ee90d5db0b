"""A submission read for a lab: files found, programs run, kernels bound to the lab's variants, each compiled; the best
of those that may be one variant's."""

from __future__ import annotations

import platform
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from grader import __version__
from grader.compiler.diagnostics import Diagnostic, closing_line
from grader.lab import formula
from grader.lab.records import Lab
from grader.launching.backend import ARCHITECTURE
from grader.message import msg
from grader.processes.pool import Beside
from grader.programs.sources import pasted_lines
from grader.result import Environment, Source
from grader.running.evidence import Compilation, Evidence, Other, OtherInput
from grader.running.host_code import host_code
from grader.submission.host_text import mistakes_of_host
from grader.submission.kernels.records import Kernel, ObservedRuns
from grader.submission.lexical import without_comments
from grader.submission.records import Missing, Submission, VariantBinding
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult
    from grader.grading.options import Warm
    from grader.launching.programs import DeviceProgram, ProgramStore
    from grader.programs.remembered import Stored


Seen = tuple[list[SourceText], ObservedRuns]
"""The files as they are graded, launches of comments among them, and what was seen of their programs."""
Made = TypeVar("Made")


class Reading:
    """The work at `path`, read.  Raises UsageError: no such file, no text, empty; a `submission.yaml` that is wrong."""

    def __init__(self, path: Path, lab: Lab, warm: Warm | None) -> None:
        from grader.submission.folder import find_sources, read_sources

        self._lab = lab
        self._warm = warm
        self._store = self._kept_runs()
        self.submitted = find_sources(path, lab.id, _known_labs(lab), lab.variants)
        self.sources = read_sources(self.submitted)

    def bound(self, seen: Seen) -> Submission:
        """Its kernels, bound by what its text says and what was seen; in doubt a program is run again."""
        from grader.programs.observation import probed
        from grader.submission.binding.bind import bind

        sources, observed = seen
        submission = bind(self.submitted, sources, self._lab, observed=observed)
        if any(not isinstance(b, Missing) and b.interpretations[0].unsure for b in submission.bindings.values()):
            observed = probed(sources, observed, self._store)
            submission = bind(self.submitted, sources, self._lab, observed=observed)
        return submission

    def changed(self, texts: Mapping[Path, SourceText]) -> Submission:
        """The submission with other texts for some of its files, its programs run anew.

        Raises UsageError: the files take too much work to read.
        """
        sources = [texts.get(source.path, source) for source in self.sources]
        as_written = [replace(s, written=s.text) if s.path in texts else s for s in sources]
        return self.bound((sources, self._seen_of(as_written, self._store)))

    def with_programs_run(
        self, follows: Callable[[Seen], Made], by_text: Callable[[Submission, Callable[[], bool]], object] | None = None
    ) -> Made:
        """What `follows` from what is seen of its programs.

        Where they were run before and have changed, they are expected to do the same again: what follows from that is
        begun while they run, and kept if it is so.

        by_text: called meanwhile, where nothing is known of earlier runs, with the kernels bound as far as the text
        alone tells, and with what says whether the programs have come to their end; `follows` finds what it has left.
        """
        if self._warm is None:
            return follows(self._observed(self._store) if by_text is None else self._observed_beside(by_text))
        runs = self._warm.programs.awaited()
        observing = self._warm.beside.start(lambda: self._observed(self._store))
        observing.add_done_callback(lambda _done: runs.set())
        expected = self._warm.seen.expected(self.sources)
        runs.wait()
        ahead: tuple[Seen, Made] | None = None
        if expected is not None and not observing.done():
            guess = (list(self.sources), expected)
            try:
                ahead = guess, follows(guess)
            except Exception:
                # What was expected may not fit the files; what is wrong with them as they are is told below.
                ahead = None
        observed = observing.result()
        self._warm.seen.put(self.sources, observed[1])
        if self._store.recalled:
            # For the next time: what lay on the disk is what came of a program, not what it was made into.
            self._warm.beside.start(lambda: self._observed(self._kept_runs(recalls=False)))
        return ahead[1] if ahead is not None and ahead[0] == observed else follows(observed)

    def _observed_beside(self, by_text: Callable[[Submission, Callable[[], bool]], object]) -> Seen:
        from grader.submission.binding.bind import bind

        with closing(Beside()) as beside:
            running = beside.start(lambda: self._observed(self._store))
            # What goes wrong ahead goes wrong again, and is told then, where it is no matter of what was not seen.
            with suppress(Exception):
                by_text(bind(self.submitted, self.sources, self._lab), running.done)
            return running.result()

    def _kept_runs(self, recalls: bool = True) -> Stored:
        from grader.programs.remembered import Stored, default_folder

        return Stored(default_folder(), self._warm.programs if self._warm is not None else None, recalls)

    def _observed(self, store: Stored) -> Seen:
        from grader.programs.observation import with_comments_run

        def seen_of(sources: Sequence[SourceText]) -> ObservedRuns:
            return self._seen_of(sources, store)

        return with_comments_run(self.sources, seen_of(self.sources), seen_of)

    def _seen_of(self, sources: Sequence[SourceText], store: Stored) -> ObservedRuns:
        from grader.programs.observation import observed
        from grader.programs.starts import USUAL_BLOCK

        sizes = [int(size) for size in self._lab.cases["emulator"].observe.values()]
        threads = next((n for n in self._lab.launch.block if isinstance(n, int)), USUAL_BLOCK)
        return observed(sources, store, sizes, threads)


def _known_labs(lab: Lab) -> set[str]:
    """Return the names of all labs: built in, in this folder, and beside the one that is graded."""
    from grader.lab.labs import folders

    return set(folders([lab.path.parent.parent]))


# What the compiler says of each variant's kernel: the evidence that a grading begins with.


def compiled(lab: Lab, submission: Submission, programs: ProgramStore) -> dict[str, Evidence]:
    """The evidence of each variant after every file that holds a bound kernel was compiled."""
    from grader.launching.programs import handed_in

    of_host = _host_errors(submission)
    built = {file: built_as_nvcc(programs, program) for file, program in handed_in(submission).items()}
    mistakes = mistakes_of_host(submission)
    by_variant = {}
    for variant in lab.variants:
        binding = submission.bindings[variant.name]
        unobserved = submission.observed.failed
        evidence = Evidence(lab, variant, binding, source=submission.device_source, unobserved=unobserved)
        by_variant[variant.name] = evidence
        if isinstance(binding, Missing):
            by_variant[variant.name] = replace(evidence, compilation=_unread(submission, binding, programs))
        else:
            compilation = _compilation(submission, binding, built[binding.kernel.file])
            site = binding.requested
            instance = site.template_arguments if site is not None else ()
            host = host_code(submission, binding.kernel, instance, mistakes)
            # A few lines that show a launch are no program, and are not compiled by anybody.
            if host.is_there:
                compilation = _with_host_errors(compilation, of_host.get(binding.kernel.file, ()))
            other = _other_input(submission, binding.kernel)
            by_variant[variant.name] = replace(evidence, compilation=compilation, host=host, other_input=other)
    return by_variant


_DEVICE_ARRAY = re.compile(
    r"\b__(?:constant|device)__\s+(?:(?:const|static|volatile)\s+)*(?P<type>float|double)\s+(?P<name>\w+)\s*\["
)
_MOST_SHOWN = 5


def _other_input(submission: Submission, kernel: Kernel) -> OtherInput | None:
    """Numbers of different value that the host was seen to put into an array of the device, and that a kernel reads as
    no parameter of the lab: weights of a sum where plain means are asked for.  None where there are none.

    Where no program that launches the kernel was run, they are what the text says of them, if anything.
    """
    rows = submission.device_source.get(kernel.file, "").split("\n")
    words = set(re.findall(r"\w+", "\n".join(rows[kernel.line - 1 : kernel.end_line])))
    words -= {parameter.name for parameter in kernel.parameters}
    filled = {
        name: data for x in submission.observed.launches if x.kernel == kernel.name for name, data in x.filled if data
    }
    text = next((source.text for source in submission.sources if source.file == kernel.file), "")
    # What a copy of the wrong size left there nobody meant.
    faults = (fault for run in submission.observed.runs for fault in run.faults if fault.kind == "copy_size")
    spoilt = {str(fault.message.data.get("array", "")).rpartition("::")[2] for fault in faults}
    plain = without_comments(text)
    is_run = any(x.kernel == kernel.name for x in submission.observed.launches)
    for match in _DEVICE_ARRAY.finditer(plain):
        name = match["name"]
        if name in words and not is_run and re.search(rf"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*{name}\b", plain):
            return OtherInput(name, _values_written(plain, name), text.count("\n", 0, match.start()) + 1, is_seen=False)
        width, code = (4, "f") if match["type"] == "float" else (8, "d")
        data = filled.get(name, b"")
        if name not in words or name in spoilt or not data or len(data) % width:
            continue
        values = struct.unpack(f"<{len(data) // width}{code}", data)
        if len(set(values)) > 1:
            shown = ", ".join(f"{value:g}" for value in values[:_MOST_SHOWN])
            shown += ", …" if len(values) > _MOST_SHOWN else ""
            return OtherInput(name, shown, text.count("\n", 0, match.start()) + 1, is_seen=True)
    return None


_NUMBERS = re.compile(r"[-+.\deEfF\s]+(?:,[-+.\deEfF\s]+)+,?\s*")
_OF_INDEX = re.compile(r"[-+*()\s\d.fF]+")
UNEQUAL = 0.1
"""Numbers that are further apart than this share of the largest are no rounded means."""


def _values_written(text: str, array: str) -> str:
    """Numbers of different value that the host code, which was not run, copies to an array of the device by its text: a
    list, or one made of its index alone, `w[i] = i - 10`.  "" where that does not say so."""
    copied = re.search(rf"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*{array}\s*,\s*&?\s*([A-Za-z_]\w*)", text)
    if copied is None:
        return ""
    source = copied[1]
    element = re.findall(rf"\b{source}\s*\[\s*(\w+)\s*\]\s*=(?![={{])\s*([^;{{]+);", text)
    listed = re.findall(rf"\b{source}\s*\[[^\]]*\]\s*=\s*\{{([^{{}}]*)\}}", text)
    if len(listed) == 1 and not element and _NUMBERS.fullmatch(listed[0]):
        with suppress(ValueError):
            values = [float(number.strip().rstrip("fF")) for number in listed[0].split(",") if number.strip()]
            if max(values) - min(values) > UNEQUAL * max(map(abs, values)):
                shown = ", ".join(f"{value:g}" for value in values[:_MOST_SHOWN])
                return shown + (", …" if len(values) > _MOST_SHOWN else "")
    if len(element) == 1 and not listed:
        (index, value), word = element[0], rf"\b{element[0][0]}\b"
        # A sum or a product of the index differs from place to place.
        if index.isidentifier() and re.search(word, value) and _OF_INDEX.fullmatch(re.sub(word, "0", value)):
            plain = re.sub(r"(?<=[\d.])[fF]\b", "", value)
            with suppress(formula.FormulaError):
                numbers = {formula.evaluate(plain, {index: place}) for place in range(3)}
                return f"{source}[{index}] = {' '.join(value.split())}" if len(numbers) == 3 else ""
    return ""


# Clang's words for what is no C++ in any dialect.
_SYNTAX = re.compile(
    r"expected (?!.*\btype\b)|extraneous |unterminated |missing terminating |unexpected character"
    r"|invalid operands to binary expression \('void \(|unmatched |function definition is not allowed here"
)
# A variable that nothing declares; a function may be one of a header that this machine has another of.
_UNDECLARED = re.compile(r"use of undeclared identifier '(?P<name>[a-z]\w*)'")
_OF_LIBRARIES = re.compile(r"std|__|cu[A-Z]|cuda|cublas|curand|nv|omp_|gl[A-Z]")


def _host_errors(submission: Submission) -> dict[str, tuple[Diagnostic, ...]]:
    """By file with kernels, what keeps the programs that it is a part of from being compiled by any compiler.

    Where a header is missing nothing is certain: it may hold what a line is made of.
    """
    texts = {source.file: source.text for source in submission.sources}
    by_file: dict[str, tuple[Diagnostic, ...]] = {
        file: tuple(
            Diagnostic(file, line, "error", msg("compiler.pasted"), msg("compiler.hint_pasted"))
            for line in pasted_lines(text)
        )
        for file, text in texts.items()
    }
    if submission.missing_headers:
        return by_file
    for run in submission.observed.runs:
        if run.probe or run.cause is None or run.cause.id != "programs.host_error" or not run.cause_line:
            continue
        error, file = str(run.cause.data.get("text", "")), run.cause_file or run.files[0]
        if file in texts and _is_certain(error, texts[file], run.cause_line):
            for own in run.files:
                earlier = by_file.get(own, ())
                if all((d.file, d.line) != (file, run.cause_line) for d in earlier):
                    by_file[own] = (*earlier, Diagnostic(file, run.cause_line, "error", error))
    return by_file


def _is_certain(error: str, text: str, line: int) -> bool:
    """Whether any other host compiler would reject the code as well."""
    if _SYNTAX.search(error):
        return True
    match = _UNDECLARED.search(error)
    if match is None or _OF_LIBRARIES.match(match["name"]):
        return False
    rows = text.split("\n")
    row = rows[line - 1] if 1 <= line <= len(rows) else ""
    return re.search(rf"\b{match['name']}\b(?!\s*(?:\(|::|<))", row) is not None


def _with_host_errors(compilation: Compilation, errors: Sequence[Diagnostic]) -> Compilation:
    """Return the errors of kernels and of host code, each line once, in order."""
    if not errors or compilation.failure not in ("", "errors"):
        return compilation
    places = {(d.file, d.line) for d in compilation.diagnostics}
    more = [d for d in errors if (d.file, d.line) not in places]
    own = compilation.diagnostics
    merged = sorted((*own, *more), key=lambda d: d.line) if len({d.file for d in (*own, *more)}) == 1 else (*own, *more)
    return replace(compilation, failure="errors", is_host_broken=True, diagnostics=tuple(merged))


def _unread(submission: Submission, missing: Missing, programs: ProgramStore) -> Compilation:
    """Return what the compiler says of a kernel that could not be read, within its lines."""
    file, line = missing.data.get("file"), missing.data.get("line")
    source = next((s for s in submission.sources if s.file == file), None)
    if missing.reason != "inactive" or source is None or not isinstance(line, int):
        return Compilation()
    # The host's headers are not there; the kernel is judged without them.
    text = re.sub(r"(?m)^[ \t]*#[ \t]*include\b[^\n]*", "", source.text)
    last = closing_line(source.text, line)
    errors = tuple(e for e in programs.get_text({str(file): text}, []).result.errors if line <= e.line <= last)
    return Compilation("errors", errors) if errors else Compilation()


def built_as_nvcc(programs: ProgramStore, program: DeviceProgram) -> CompileResult:
    """What the compiler makes of a program, with what nvcc refuses besides."""
    from grader.programs.kernels import as_nvcc

    return as_nvcc(
        programs.get(program).result,
        programs.texts(program),
        lambda texts: programs.get_text(texts, program.expressions).result,
    )


def _compilation(submission: Submission, binding: VariantBinding, result: CompileResult) -> Compilation:
    if binding.expression in result.entries:
        return Compilation(unset=binding.kernel.unset)
    failure = {"forbidden_include": "errors", "": "missing_entry"}.get(result.reason, result.reason)
    unit = submission.units.get(binding.kernel.file, binding.kernel.file)
    included = submission.included.get(unit, {})
    errors = tuple(replace(error, file=included.get(error.file, error.file)) for error in result.errors)
    missing = [
        (name, file, line) for file, name, line in submission.missing_headers if file in (unit, binding.kernel.file)
    ]
    return Compilation(failure, errors, tuple(missing))


def with_best(
    submission: Submission, by_variant: Mapping[str, Evidence], grade: Callable[[Submission], Mapping[str, Evidence]]
) -> tuple[Submission, dict[str, Evidence]]:
    """The submission with the best kernel of each variant, and its evidence.

    grade: all evidence on a submission; it is asked of one that has a single kernel.
    """
    bindings = dict(submission.bindings)
    best = dict(by_variant)
    for name, binding in submission.bindings.items():
        if isinstance(binding, Missing) or not binding.others:
            continue
        tried: list[tuple[VariantBinding, Evidence, float]] = []
        left_out: list[VariantBinding] = []
        for one in (binding, *binding.others):
            plain = replace(one, others=())
            if tried and _is_of_one_thread(one):
                # It takes longest by far, and would earn nothing for its launch.
                left_out.append(one)
                continue
            evidence = by_variant[name] if one is binding else grade(_alone(submission, plain))[name]
            tried.append((plain, replace(evidence, binding=plain), _points(evidence)))
        # The first of equals is the likeliest.
        chosen, evidence, _most = max(tried, key=lambda item: item[2])
        others = tuple(
            Other(one.kernel.name, one.kernel.file, one.kernel.line, points)
            for one, _evidence, points in tried
            if _place(one) != _place(chosen)
        )
        others += tuple(
            Other(one.kernel.name, one.kernel.file, one.kernel.line, None)
            for one in left_out
            if _place(one) != _place(chosen)
        )
        # Where it does not compile, nothing was found out of the others either.
        others = () if evidence.compilation.failure else others
        bindings[name], best[name] = chosen, replace(evidence, others=others)
    return replace(submission, bindings=bindings), best


def _place(binding: VariantBinding) -> tuple[str, int]:
    """Where the kernel stands: that of another instance of the same template is no other kernel to a reader."""
    return binding.kernel.file, binding.kernel.line


def _alone(submission: Submission, binding: VariantBinding) -> Submission:
    nothing = {name: Missing(name, "no_candidate") for name in submission.bindings}
    return replace(submission, bindings={**nothing, binding.variant: binding})


def _is_of_one_thread(binding: VariantBinding) -> bool:
    site = binding.requested
    return site is not None and site.observed and site.block == (1, 1, 1) and site.grid == (1, 1, 1)


def _points(evidence: Evidence) -> float:
    """Return the points earned or still possible; what could not be judged is worth less than what is known to be
    right."""
    from grader.checks import judge

    checks = judge(evidence)
    is_unknown = any(c.check == "correct" and c.status in ("skip", "error") for c in checks)
    return sum(c.earned + (c.pending / 2 if is_unknown or c.status == "error" else c.pending) for c in checks)


def environment_record(lab: Lab, nvrtc: str, command: str) -> Environment:
    """What a result was made with, on the emulator.  nvrtc: its version; command: what repeats the grading."""
    return Environment(
        backend="emulator",
        grader=__version__,
        seed=lab.seed,
        nvrtc=nvrtc,
        architecture=ARCHITECTURE,
        python=platform.python_version(),
        numpy=np.__version__,
        command=command,
    )


def source_record(source: SourceText) -> Source:
    """A file of the submission, as its result keeps it."""
    return Source(
        file=source.file,
        text=source.text if source.written is None else source.written,
        encoding=source.encoding,
        sha256=source.sha256,
        notebook=source.notebook,
        cells=list(source.cells),
    )
