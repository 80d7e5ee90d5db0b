"""Faults of host code: changes of its calls and launches, each tried by running the whole program, kernels included.

A change counts where the fault is gone that a run had shown, no other has come, and what the program says of its own
results does not call them wrong any more.  Where the program says nothing of its results, a fault that is gone proves
little: there only changes are tried that the fault itself names.  The kernels are as they were.

Where kernels and calls are right, what they are compared with is looked at: `references.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.checks import checks_with, judge
from grader.launching.kernel import BoundKernel
from grader.message import Message, sentences_of
from grader.repair.comparisons import with_code
from grader.repair.function import Change, changed
from grader.repair.host_arguments import host_of
from grader.repair.host_calls import host_changes, leaves_memory, waits
from grader.repair.host_memory import memory_changes
from grader.repair.program import Rerun
from grader.repair.references import reference_changes
from grader.repair.verified import VerifiedRepair, diff_lines
from grader.result import Check
from grader.running.evidence import Evidence
from grader.running.host_code import host_code
from grader.running.own_program import said_of
from grader.submission.changes import Original
from grader.submission.cpp.tree import ParsedFile
from grader.submission.records import Submission, VariantBinding

MAX_RUN = 4
"""Changed programs that are compiled and run."""
CHECKS = checks_with("host")
UNFILLED = ("never_filled", "constant_unset", "filled_twice", "filled_output")
"""Ids of faults of arrays into which nothing was copied."""
UNREAD = ("programs.never_read", "checks.host_code.never_fetched")
"""Ids of faults of results that nobody copies back."""
WAITS = ("programs.read_before", "programs.stream_race", "programs.host_changed")
"""How ids begin of faults of a host that does not wait."""
_SHARES = re.compile(
    r"Managed\b|__managed__|GetDevicePointer|cudaMallocHost|cudaHostAlloc|thrust::|\bcu(?:blas|fft|rand)"
)
"""What brings results to the host without a copy that is seen."""
MOVED = ("earlier", "later")
INSTANCE = "checks.launch.instance"
FREED_AGAIN = ("programs.double_free_of", "programs.double_free_again")
OF_HOST_MEMORY = tuple(f"programs.host_{what}" for what in ("beyond", "beyond_somewhere", "freed", "freed_again"))
"""Ids of faults that name the line where memory was allocated, "at", and where it was freed, "freed"."""
NAMED: Mapping[str, tuple[str, ...]] = {
    "checks.launch.exchanged": ("arguments",),
    "checks.launch.exchanged_fields": ("fields",),
    "checks.launch.swapped": ("order",),
    INSTANCE: ("instance",),
    "checks.launch.never_launched": ("kernel",),
    "checks.launch.launched_instead": ("kernel",),
    "checks.host_code.copied_early": MOVED,
    "checks.host_code.copied_other": ("source", "swap"),
    "checks.host_code.compared_early": ("earlier",),
    "checks.host_code.filled_late": MOVED,
    "checks.host_code.filled_twice": ("target",),
    "checks.host_code.filled_output": ("target",),
    "checks.host_code.filled_alike": ("source",),
    "checks.host_code.filled_alike_by": ("handed",),
    "checks.host_code.overrun": ("bytes", "size"),
    "checks.host_code.freed_otherwise": ("frees",),
    **{f"programs.copy_{way}": ("direction", "ends") for way in ("to_device", "from_device", "to_host", "from_host")},
    **{f"programs.copy_of_count_{way}": ("bytes",) for way in ("into", "out")},
    **{f"programs.copy_{what}": ("bytes", "size") for what in ("of_pointer", "too_short", "reads_past", "writes_past")},
    "programs.copy_beyond_from": ("bytes", "size", "source"),
    "programs.copy_beyond_to": ("bytes", "size", "target"),
    "programs.copy_other_pitch": ("pitch",),
    "programs.copy_freed_from": ("later",),
    "programs.copy_freed_to": ("later",),
    "programs.host_beyond": ("bytes", "size"),
    "programs.host_beyond_somewhere": ("bytes", "size"),
    "programs.host_freed": ("later",),
    "programs.host_freed_again": ("extra", "later"),
    "programs.copied_back_short": ("bytes", "size"),
    "checks.host_code.copied_short": ("bytes", "size"),
    "programs.event_not_reached": ("event_wait",),
    "programs.event_not_recorded": ("recorded", "recorded_after"),
    "programs.event_of_nothing": ("later",),
    "programs.clock_read_before_wait": MOVED,
    "checks.host_code.signed_smaller": ("magnitude",),
    "checks.host_code.signed_larger": ("magnitude",),
    "programs.event_order": ("events", "recorded", "recorded_after"),
    **dict.fromkeys(UNREAD, ("fetch", "break")),
    "programs.raised_carveout": ("opt_in_what",),
    "programs.raised_for_another": ("opt_in_other",),
    "programs.raised_too_little": ("opt_in_less",),
    "programs.count_of_bytes": ("bytes",),
    "programs.set_past": ("bytes", "size"),
    **{f"programs.symbol_{what}": ("bytes", "size") for what in ("of_pointer", "too_short")},
    "programs.overwritten": MOVED,
    "programs.freed_before_launch": MOVED,
    "programs.use_after_free": MOVED,
    **dict.fromkeys(("programs.double_free", *FREED_AGAIN), ("extra", "freed_early", "freed_other", "later")),
    **dict.fromkeys(("programs.free_host", "programs.free_inside"), ("freed_other",)),
    "programs.gave_up": ("inverted",),
    "checks.host_code.zeros_copied": ("fraction",),
}
"""What a fault says is to be changed, by the id of its message: details of changes."""
ANYWHERE = frozenset(
    {
        "bytes",
        "size",
        "fetch",
        "break",
        "recorded",
        "recorded_after",
        "handed",
        "kernel",
        "inverted",
        "fraction",
        "swap",
        *MOVED,
    }
)
"""Changes that may stand in another line than their fault: where a size is defined, or what comes too early."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A variant with a fault of host code that a run showed; is_wrong: its own check calls the results wrong."""

    kernel: BoundKernel
    evidence: Evidence
    checks: Sequence[Check]
    is_wrong: bool

    def faults(self) -> Iterator[tuple[str, int, Message]]:
        """Yield plain file name, line and message of all faults."""
        for fault in (*self.evidence.host.faults, *self.evidence.host.of_launch):
            plain = fault.file.rpartition("/")[2]
            yield from ((plain, fault.line, said) for said in sentences_of(fault.message))
        for check in self.checks:
            file = (check.file or self.kernel.binding.kernel.file).rpartition("/")[2]
            for sentence in sentences_of(check.message_said):
                yield file, check.line or 0, sentence

    def names(self, parsed: ParsedFile, change: Change) -> bool:
        """Whether the faults themselves say that this is to be changed."""
        return any(_is_named(change, parsed, *fault) for fault in self.faults())


def host_repairs(
    original: Original,
    kernels: Mapping[str, BoundKernel],
    evidence_by_variant: Mapping[str, Evidence],
    checks: Sequence[Check],
    rerun: Rerun | None,
) -> list[VerifiedRepair]:
    """What mends faults of the host code, at most one change a variant; the first that mends the most.

    kernels: by variant.  evidence_by_variant: evidence by variant.  checks: the verdicts on all of them.
    """
    subjects = list(_subjects(kernels, evidence_by_variant, checks))
    if rerun is None or not subjects:
        return []
    faultless = {
        name: evidence_by_variant[name] for name in kernels if name not in {s.evidence.variant.name for s in subjects}
    }
    left, repairs = list(subjects), _of_references(original, subjects)
    left = [s for s in left if s.evidence.variant.name not in {repair.variant for repair in repairs}]
    for number, (parsed, change) in enumerate(_ranked(original, subjects)):
        if number >= MAX_RUN or not left:
            break
        source = parsed.source
        text = changed(source.text, change)
        submission = rerun({source.path: replace(source, text=text, written=None)})
        if any(_has_faults(submission, evidence) for evidence in faultless.values()):
            continue
        wanted = [s for s in left if s.is_wrong or s.names(parsed, change)]
        mended = [(s, names) for s in wanted if (names := _mended(s, submission, source.text, text))]
        diff, change = tuple(diff_lines(source.text, text)), with_code(parsed, change)
        is_checked = all(s.is_wrong for s, _names in mended)
        together = tuple(s.evidence.variant.name for s, _names in mended)
        for subject, names in mended:
            name = subject.evidence.variant.name
            proof = "own_check" if is_checked else "run"
            repairs.append(
                VerifiedRepair(
                    name, parsed.file, change, names, is_complete=True, diff=diff, together=together, proof=proof
                )
            )
        left = [s for s in left if s.evidence.variant.name not in together]
    return repairs


def _of_references(original: Original, subjects: Sequence[_Subject]) -> list[VerifiedRepair]:
    """Return the change of what results are compared with, where the kernels are right and the program denies it."""
    own = [s for s in subjects if s.is_wrong and any(f.kind == "own_check" for f in s.evidence.host.faults)]
    run = next((run for s in own for run in s.kernel.submission.observed.runs if run.results and run.said), None)
    if run is not None and not any(copy.way == "out" for copy in run.copies):
        texts = (parsed.source.text for parsed in original.files())
        # What is compared then is nothing that a kernel has made: no other reference is right for that.
        run = run if any(_SHARES.search(text) for text in texts) else None
    parsed, change = next(reference_changes(original, run), (None, None)) if run is not None else (None, None)
    if parsed is None or change is None:
        return []
    diff = tuple(diff_lines(parsed.source.text, changed(parsed.source.text, change)))
    names = tuple(s.evidence.variant.name for s in own)
    return [
        VerifiedRepair(
            name, parsed.file, change, ("host_code",), is_complete=True, diff=diff, together=names, proof="own_check"
        )
        for name in names
    ]


def _subjects(
    kernels: Mapping[str, BoundKernel], evidence_by_variant: Mapping[str, Evidence], checks: Sequence[Check]
) -> Iterator[_Subject]:
    for name, kernel in kernels.items():
        failed = [c for c in checks if c.variant == name and c.check in CHECKS and c.status == "fail"]
        failed = [c for c in failed if c.data.get("seen") or _is_observed(evidence_by_variant[name])]
        if failed:
            word = said_of(kernel)
            is_wrong = word is not None and not word.is_right
            yield _Subject(kernel, evidence_by_variant[name], failed, is_wrong)


def _is_observed(evidence: Evidence) -> bool:
    """Whether a run showed results that nobody reads, a time that is none, or errors that nobody notices."""
    return any(f.kind in ("time", "half_blind") or f.message.id == "programs.never_read" for f in evidence.host.faults)


def _ranked(original: Original, subjects: Sequence[_Subject]) -> list[tuple[ParsedFile, Change]]:
    """Return the changes of all files, likeliest first, each once."""
    lines: dict[str, set[int]] = {}
    arrays: set[str] = set()
    unfilled: set[str] = set()
    waiting: list[tuple[str, int, int]] = []
    never: set[str] = set()
    unread: set[str] = set()
    template_numbers: set[str] = set()
    for subject in subjects:
        if subject.evidence.host.never_launches or subject.kernel.binding.is_never_launched:
            never.add(subject.kernel.binding.kernel.name)
        for file, line, message in subject.faults():
            lines.setdefault(file, set()).add(line)
            for key in ("at", "freed") if message.id in FREED_AGAIN + OF_HOST_MEMORY else ():
                if isinstance(at := message.data.get(key), int):
                    lines[file].add(at)
            mentioned = _arrays_of(message)
            arrays |= mentioned
            if message.id.rpartition(".")[2] in UNFILLED:
                unfilled |= mentioned - {str(message.data.get("other", ""))}
            if message.id == INSTANCE:
                template_numbers.add(str(message.data["value"]))
            if message.id in UNREAD:
                unread.add(str(message.data["kernel"]).partition("<")[0])
            if message.id.startswith(WAITS):
                waiting.append((file, line, _launched(message)))
    rows: list[tuple[float, ParsedFile, Change]] = []
    for parsed in original.files():
        file = parsed.file.rpartition("/")[2]
        calls = host_of(parsed)
        own = [c for name, line, launched in waiting if name == file for c in waits(calls, line, launched)]
        own += host_changes(calls, arrays, unfilled, never, template_numbers, unread)
        here = lines.get(file, set())
        own += memory_changes(parsed, here, arrays)
        for change in own:
            wanted = [s for s in subjects if s.is_wrong or s.names(parsed, change)]
            if wanted:
                is_named = any(s.names(parsed, change) for s in wanted)
                rows.append((_cost(change, here) - 2 * is_named, parsed, change))
    rows.sort(key=lambda row: row[0])
    unique: dict[object, tuple[ParsedFile, Change]] = {}
    for _cost_of, parsed, change in rows:
        unique.setdefault((parsed.file, change.key), (parsed, change))
    return list(unique.values())


def _arrays_of(message: Message) -> set[str]:
    names = (str(message.data.get(key, "")) for key in ("array", "other", "name"))
    plain = [name.rpartition("::")[2].removesuffix(".data()").removesuffix(".get()") for name in names]
    # A member is allocated by its own name: `&p.out`, `&p->out`.
    return {name for own in plain for name in (own, own.rpartition(".")[2].rpartition("->")[2]) if name}


def _launched(message: Message) -> int:
    """Return the line of the launch that has to end first; 0 where the message names none."""
    line = message.data.get("line")
    return line if isinstance(line, int) else 0


def _is_named(change: Change, parsed: ParsedFile, file: str, line: int, message: Message) -> bool:
    if file != parsed.file.rpartition("/")[2]:
        return False
    if message.id.startswith(WAITS) and change.detail == "stream":
        return True
    if message.id == "programs.stream_race" and change.group == "ends":
        # A call that two streams make of the same place has lost what its place depends on.
        return change.line == line == message.data.get("line")
    if message.id.startswith(WAITS):
        return change.detail == "wait" and (change.line == line or 0 < _launched(message) < change.line)
    if change.detail not in NAMED.get(message.id, ()) or (
        change.line not in (line, message.data.get("at")) and change.detail not in ANYWHERE
    ):
        return False
    if change.detail in ("arguments", "fields"):
        handed_over = (message.data.get("first_given"), message.data.get("second_given"))
        return {" ".join(edit.text.split()) for edit in change.edits} == {str(one) for one in handed_over}
    if change.detail not in ("target", "source") or message.id == "checks.host_code.filled_alike":
        return True
    array = str(message.data.get("array", "")).rpartition("::")[2]
    return re.search(rf"\b{re.escape(array)}\b", change.edits[0].text) is not None


def _cost(change: Change, lines: set[int]) -> float:
    """Lines that a fault speaks of come first; a missing copy stands in no line yet."""
    return change.cost + (0.0 if change.line in lines or change.group == "missing" or not lines else 1.0)


def _mended(subject: _Subject, submission: Submission, before: str, after: str) -> tuple[str, ...]:
    """Return the checks that pass in a changed program; () where one of them does not.

    before, after: the text of the changed file.
    """
    evidence, variant = subject.evidence, subject.evidence.variant.name
    binding = submission.bindings.get(variant)
    if not isinstance(binding, VariantBinding) or binding.kernel.name != evidence.bound.kernel.name:
        return ()
    site = binding.requested
    host = host_code(submission, binding.kernel, site.template_arguments if site is not None else ())
    if not host.is_observed or any(fault.message.id == "programs.never_read" for fault in host.faults):
        # The copy that failed was to fetch what nothing fetches now.
        return ()
    if leaves_memory(evidence.host, host, before, after, was_whole=False):
        return ()
    own = binding.kernel.name
    if any(x.hazards for run in submission.observed.runs for x in run.launches if run.results and x.kernel == own):
        return ()
    word = said_of(BoundKernel(subject.kernel.lab, submission, binding, binding.interpretations[0]))
    if (subject.is_wrong and word is None) or (word is not None and not word.is_right):
        return ()
    verdicts = {c.check: c for c in judge(replace(evidence, binding=binding, host=host, own_check=None))}
    names = tuple(check.check for check in subject.checks)
    return names if all(verdicts[name].status == "pass" for name in names) else ()


def _has_faults(submission: Submission, evidence: Evidence) -> bool:
    binding = submission.bindings.get(evidence.variant.name)
    if not isinstance(binding, VariantBinding) or binding.is_never_launched:
        return True
    site = binding.requested
    host = host_code(submission, binding.kernel, site.template_arguments if site is not None else ())
    return bool(host.of_launch) or host.never_launches or any(f.is_of_data for f in host.faults)
