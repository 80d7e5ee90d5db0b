"""A change that was graded as if it had been handed in, and what a result says of it.

That is: line and kind of the fault in words, the lines changed, what becomes of accesses, and which hints it overrules.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from grader.checks import checks_with, hazards, judge
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.measured import Counters, LineCounters
from grader.message import Message, joined, msg, sentences_of
from grader.repair.comparisons import about_msg, with_code
from grader.repair.function import Change, changed
from grader.repair.screen import Condition, TurnedAway
from grader.repair.symptom import SEARCHED, faults
from grader.result import Check, Repair, Result, Variant
from grader.running.cases import as_written, own_factors
from grader.running.evidence import Evidence
from grader.running.runs import run_kernel
from grader.submission.changes import Rebind
from grader.submission.cpp.tree import ParsedFile
from grader.submission.records import VariantBinding
from grader.submission.source import SourceText
from grader.words import told

OF_OTHERS = ("speedup", *checks_with("host"))
"""Checks that no emulated run of a kernel decides: speed is measured on a GPU, and the host code stays as it is."""
OF_GPU = ("speedup", "host_code")
"""The same where host code is changed, and read anew."""
OF_COST = frozenset(checks_with("cost"))
OF_RESULTS = frozenset(checks_with("result"))
BESIDE = OF_COST | {"uses"}
"""Checks that may fail beside a change with which the result is right: of its cost, and of what the task wants used."""


@dataclass(frozen=True, slots=True)
class VerifiedRepair:
    """A change that was run and graded.

    mends: names of the variant's checks that failed and pass with it.  is_complete: every check passes with it.
    diff: what is changed, as lines of a unified diff without its head.
    effect: what it does to the accesses that the check is about, None where it is about none.
    together: the variants that the one change mends, this one among them; () where it was tried for this one alone.
    rest: names of checks of what the kernel costs or uses that fail with it, where it is right with it and these are
      all that fail; they had failed before, were not reached, or were those of another result.
    proof: of a change of host code, which says nothing of kernels: "own_check" where the program's own check finds its
      results right with it, and did not without; "run" where a run does not show the fault any more; "call" of a
      function or a program that passes every check with it; "" of any other.
    """

    variant: str
    file: str
    change: Change
    mends: tuple[str, ...]
    is_complete: bool
    diff: tuple[str, ...]
    effect: Message | None = None
    together: tuple[str, ...] = ()
    proof: str = ""
    rest: tuple[str, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether the change is to be made as it is: the result is right with it."""
        return self.is_complete or bool(self.rest)


def judged(
    parsed: ParsedFile,
    evidence: Evidence,
    change: Change,
    before: Sequence[Check],
    after: Sequence[Check],
    changed_evidence: Evidence,
    left_out: Sequence[str] = OF_OTHERS,
) -> VerifiedRepair | None:
    """The repair that a change makes: None where it mends nothing, or spoils what was right."""
    new = {c.check: c for c in after}
    old = [c for c in before if c.check in new and c.check not in left_out]
    spoilt = {c.check for c in old if c.status == "pass" and new[c.check].status != "pass"}
    mended = tuple(c.check for c in old if c.status == "fail" and _is_passed(new[c.check], changed_evidence))
    # What a kernel costs that computes something else tells nothing.
    if not mended or (spoilt and not (spoilt <= OF_COST and set(mended) & OF_RESULTS)):
        return None
    left = tuple(
        name
        for name in (c.check for c in old)
        if new[name].status in ("fail", "error") or name in spoilt or _is_waiting(new[name])
    )
    # What it spoils is said, whatever it mends.
    of_cost = (bool(spoilt) or OF_COST.isdisjoint(mended)) and BESIDE.issuperset(left)
    rest = tuple(name for name in left if of_cost and not _is_waiting(new[name]))
    text, change = parsed.source.text, with_code(parsed, change)
    diff = tuple(diff_lines(text, changed(text, change)))
    effect = effect_msg(mended, evidence.counters, changed_evidence.counters, diff)
    return VerifiedRepair(evidence.variant.name, parsed.file, change, mended, not left, diff, effect, rest=rest)


def _is_passed(check: Check, evidence: Evidence) -> bool:
    """Whether a check passes, or would if its prerequisite did: a race may be gone from a wrong kernel."""
    if check.check != "races" or not _is_waiting(check) or "hazards" in evidence.unmeasured:
        return check.status == "pass"
    return not hazards.counted(evidence.hazards(*hazards.KINDS))


def _is_waiting(check: Check) -> bool:
    return check.status == "skip" and check.skip_reason == "prerequisite"


CONTEXT = 1


def diff_lines(before: str, after: str) -> Iterator[str]:
    """A unified diff without its head: "@@ …", then lines that begin with " ", "-" or "+"."""
    rows = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=CONTEXT)
    for number, row in enumerate(rows):
        if number >= 2:
            yield row


_ARRAY = re.compile(r"\w+(?:\[[^\[\]]+\])+")


def effect_msg(
    mends: Sequence[str], before: Counters | None, after: Counters | None, diff: Sequence[str]
) -> Message | None:
    """What becomes of the worst line of a check on accesses, or of all "instructions" or "accesses"; None of other
    checks, or where nothing was counted.

    diff: the change, whose array is named where it changes an array's size.
    """
    if before is None or after is None:
        return None
    if "bank_conflicts" in mends:
        rows = [c for c in before.by_line if c.space == "shared"]
        return _effect("wavefronts", max(rows, key=_excess, default=None), after, _array(diff))
    if "instructions" in mends and before.thread_instructions and after.thread_instructions is not None:
        fewer_pct = round(100 * (1 - after.thread_instructions / before.thread_instructions))
        return msg("repairs.instructions", fewer_pct=fewer_pct) if fewer_pct > 0 else None
    if "accesses" in mends:
        was, now = (sum(row.sectors + row.wavefronts for row in c.by_line) for c in (before, after))
        fewer_pct = round(100 * (1 - now / was)) if was else 0
        return msg("repairs.accesses", fewer_pct=fewer_pct) if fewer_pct > 0 else None
    if "coalescing" in mends:
        rows = [c for c in before.by_line if c.space == "global" and c.ideal and c.op in ("load", "store")]
        return _effect("sectors", max(rows, key=lambda c: c.sectors / c.ideal, default=None), after)
    return None


def _effect(unit: str, worst: LineCounters | None, after: Counters, array: str = "") -> Message | None:
    if worst is None:
        return None
    wanted = (worst.line, worst.space, worst.op)
    now = next((c for c in after.by_line if (c.line, c.space, c.op) == wanted), None)
    count = _wavefronts if worst.space == "shared" else _sectors
    # Where the line is as it was, the change does its work elsewhere.
    if now is None or count(now) >= count(worst):
        return None
    named = {"change": array} if array else {}
    return msg(f"repairs.{unit}", line=worst.line, before=count(worst), after=count(now), **named)


def _array(diff: Sequence[str]) -> str:
    """Return the shared array whose declaration changes, such as "tile[32][33]"; "" for other changes."""
    added = [row for row in diff if row.startswith("+") and "__shared__" in row]
    before = {name for row in diff if row.startswith("-") for name in _ARRAY.findall(row)}
    names = [name for row in added for name in _ARRAY.findall(row) if name not in before]
    return str(names[0]) if len(names) == 1 else ""


def _excess(row: LineCounters) -> float:
    return (row.wavefronts - row.ideal) / row.requests if row.requests else 0.0


def _wavefronts(row: LineCounters) -> float:
    return round(row.wavefronts / row.requests, 2) if row.requests else 0.0


def _sectors(row: LineCounters) -> float:
    return round(row.sectors / row.requests, 2) if row.requests else 0.0


@dataclass(frozen=True, slots=True)
class Proof:
    """Grades changed copies of the program that holds `kernel`, as `evidence` came to be.

    rebind: reads a program with other texts.  source: the file that holds the kernel.
    """

    trials: Trials
    drawn_trials: Trials
    rebind: Rebind
    source: SourceText
    kernel: BoundKernel
    evidence: Evidence

    def graded(self, change: Change) -> tuple[list[Check], Evidence] | None:
        """The verdicts on the changed kernel, and what they rest on.

        None where it is not found any more, or takes something else.
        """
        text = changed(self.source.text, change)
        submission = self.rebind({self.source.path: replace(self.source, text=text)})
        before = self.kernel.binding
        after = submission.bindings.get(before.variant)
        if not isinstance(after, VariantBinding) or after.kernel.name != before.kernel.name:
            return None
        if [p.name for p in after.kernel.parameters] != [p.name for p in before.kernel.parameters]:
            return None
        binding = replace(after, interpretations=(self.kernel.interpretation,), expression=before.expression)
        kernel = BoundKernel(self.kernel.lab, submission, binding, self.kernel.interpretation)
        return self.of_kernel(self.trials, self.drawn_trials, kernel, self.evidence)

    @staticmethod
    def of_kernel(
        trials: Trials, drawn_trials: Trials, kernel: BoundKernel, before: Evidence
    ) -> tuple[list[Check], Evidence]:
        """The verdicts on a kernel of a changed program, and what they rest on; before: its evidence as handed in."""

        def ran(kernel: BoundKernel) -> Evidence:
            interpretation, source = kernel.interpretation, kernel.submission.device_source
            fresh = Evidence(before.lab, before.variant, kernel.binding, interpretation=interpretation, source=source)
            return run_kernel(trials, drawn_trials, fresh, kernel, explained=False)

        evidence, own = ran(kernel), own_factors(before.lab, kernel.interpretation).items()
        wrong = [run for run in evidence.runs if run.outcome.status != "ok" or not run.is_right or faults(run)]
        if own and wrong and all(own - run.sizes.items() for run in wrong):
            # Handed in so, it would be graded at its own radius alone (`running/cases.py`).
            evidence = ran(kernel.read_as(as_written(kernel.interpretation)))
        return judge(evidence), evidence


DETAILS = {
    kind: frozenset(details.split())
    for kind, details in {
        "barrier": (
            "after loop_end loop_start loop_both in_branch before_branch out_of_loop later too_early removed stronger "
            "warp between"
        ),
        "guard": (
            "missing missing_limit missing_around removed continues returns returns_early returns_break returns_late "
            "returns_around loop flattened break clamped warp else turned late one "
            "first_last goes_on as_read other_side"
        ),
        "initial_value": "missing goes_on unset stored added positive zero else anew neutral other_end",
        "bound": "remainder tail beyond shuffle rounded start end step neighbours stride stride_blocks",
        "padding": "moved",
        "constant": "halved",
        "comparison": "overflow wrapped precedence",
        "expression": (
            "wrapped in_place template shuffle_mask shuffle_width cancellation digits division parentheses "
            "chained opposite shuffle_way neighbour factor squared unused unsigned signed narrow integer "
            "not_shared lost macro shadowed stale atomic brackets twice order all_lanes lane fraction itself "
            "order_after by_distance by_xor bits turned_values member step_left_out store_left_out toggle_left_out "
            "counted_terms side_left_out power turned_difference coefficients mask_first"
        ),
        "index": (
            "exchanged unused axes axes_next names_next tile macro macro_name threads everything crossed limit groups "
            "other_axis within_block quotients exchanged_next pointer_step into_index"
        ),
        "launch": (
            "axes block_axes rounded quotient remainder block arguments argument grid order bytes no_bytes "
            "too_few_bytes fields instance opt_in shape opt_in_other opt_in_less opt_in_what size levels capped flat"
        ),
        "host": (
            "target source ends direction directions bytes size pitch earlier later extra missing "
            "missing_before given wait kernel stream freed freed_early once reset unset needless asynchronous pointer "
            "rest twice value swap unset_copy frees event_wait events recorded recorded_after fetch "
            "parity magnitude break freed_other inverted fraction"
        ),
    }.items()
}
"""Finer cases that have words of their own."""


NOT_KNOWN = frozenset(
    ["checks.races.hint_one_line"]
    + [f"checks.correct.hint_{name}" for name in ("unwritten", "uncopied", "by_hand", "memory_first", "race_first")]
)
"""How to look for what is wrong, where it is not known."""

OVERRULED = frozenset(
    ["checks.grids.hint_fixed", "checks.races.hint_one_line"]
    + ["checks.correct.hint_memory_first", "checks.correct.hint_race_first"]
    + [f"checks.bank_conflicts.hint_{name}" for name in ("rows_pad", "rows", "block", "odd", "longer")]
)
"""Hints that blame what the change shows to be right, or advise another one: of the launch, of another check, of the
block where an index mends it."""
OVERRULED_BY: Mapping[str, frozenset[str]] = {
    # A sum that goes on in a variable is spoilt by being added to the output, whatever that starts from.
    "assignment": frozenset(["remedies.onto_unset"])
}
"""The same of changes of one group alone."""
PADS = "checks.bank_conflicts.hint_column"
"""Advice on padding, which a change of the padding follows, and no other."""
READS = "checks.correct.hint_other_reads"
"""What to work out by hand of all reads; the line whose index is wrong may be the one that writes."""

SEEN = frozenset(
    [f"remedies.{name}" for name in ("divided", "pitch", "scaled", "onto_unset")]
    + [f"repairs.{name}" for name in ("turned_away", "turned_away_wrong", "turned_away_mended", "guard_protects")]
    + ["checks.technique.hint_small_tile"]
    + [f"checks.bank_conflicts.hint_{name}" for name in ("lanes", "words")]
)
"""What runs, counters and the wrong values themselves show: it stays true beside a change that mends them."""

MENDABLE = frozenset((*SEARCHED, *checks_with("host")))
"""Checks whose hints a change may overrule."""

OTHER_WAY = frozenset(["checks.grids.hint_swapped"])
"""Hints at the launch that mend the same fault as the change of the kernel: made both, they would bring it back."""


def with_repairs(result: Result, repairs: Sequence[VerifiedRepair], conditions: Sequence[Condition] = ()) -> Result:
    """`result` with the hints of the checks that a change mends, and the change where all checks pass with it.

    conditions: those that turned threads away, or a launch that is right, of the checks that found what is wrong.
    """
    by_place = {(repair.variant, name): repair for repair in reversed(repairs) for name in repair.mends}
    by_check = {(one.variant, one.check): one for one in conditions}
    # A return that ends too many is said in full by the change.
    of_returns = {(r.variant, name) for r in repairs if r.is_shown and r.change.group == "returns" for name in r.mends}
    by_check = {place: one for place, one in by_check.items() if place not in of_returns}
    # Where it is known how to correct a condition, nothing need be said of leaving it out.
    mended = {(r.variant, name, r.change.line) for r in repairs if r.is_shown for name in r.mends}
    by_check = {
        place: replace(one, is_mended=True) if isinstance(one, TurnedAway) and (*place, one.line) in mended else one
        for place, one in by_check.items()
    }
    checks = [_with_condition(check, by_check.get((check.variant, check.check))) for check in result.checks]
    checks = [_with_repair(check, by_place.get((check.variant, check.check))) for check in checks]
    too_many = {variant for variant, _check in of_returns}
    variants = {name: _without_excuse(v) if name in too_many else v for name, v in result.variants.items()}
    return structs.replace(result, checks=checks, variants=variants)


def _without_excuse(variant: Variant) -> Variant:
    """Return a variant without the remark that threads may have left before a barrier, where that is the fault."""
    rows = list(zip(variant.remarks, variant.remarks_said, strict=True))
    kept = [(text, said) for text, said in rows if not said.id.startswith("remarks.exited_before_barrier")]
    return structs.replace(variant, remarks=[text for text, _said in kept], remarks_said=[said for _text, said in kept])


def without_guesses(result: Result) -> Result:
    """The same with no hint that a change which is still looked for may overrule: what was seen alone stays true."""
    checks = []
    for check in result.checks:
        said = sentences_of(check.hint_said)
        kept = [one for one in said if one.id in SEEN or check.check not in MENDABLE]
        is_guess = check.status == "fail" and len(kept) < len(said)
        checks.append(told(structs.replace(check, hint="", hint_said=joined(*kept))) if is_guess else check)
    return structs.replace(result, checks=checks)


def without_answers(result: Result) -> Result:
    """Return the result with line and kind of faults alone: no change can be read from it."""
    checks = [
        structs.replace(c, repair=structs.replace(c.repair, diff=[], effect="", effect_said=None)) if c.repair else c
        for c in result.checks
    ]
    variants = {
        name: structs.replace(v, faster=structs.replace(v.faster, diff=[], effect="", effect_said=None))
        if v.faster
        else v
        for name, v in result.variants.items()
    }
    return structs.replace(result, checks=checks, variants=variants)


def answers(result: Result) -> str:
    """Return the changes of a result as a text of diffs, "" where there are none."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for check in result.checks:
        if check.repair is not None and check.repair.diff:
            head = (check.variant, check.repair.file, str(check.repair.line), check.repair.kind, check.repair.effect)
            rows.setdefault((*head, *check.repair.diff), []).append(check.check)
    for name, variant in result.variants.items():
        faster = variant.faster
        if faster is not None and faster.diff:
            how, ratio, gpu = "predicted", faster.predicted_times, faster.device
            if faster.measured_times is not None:
                how, ratio, gpu = "measured", faster.measured_times, faster.measured_on
            times = f"{how} {ratio.value:.3g} times as fast on {gpu} ({ratio.low:.2g} to {ratio.high:.2g})"
            rows.setdefault((name, faster.file, str(faster.line), faster.kind, faster.effect, *faster.diff), []).append(
                times
            )
    parts = []
    for (in_variant, file, line, kind, effect, *diff), why in rows.items():
        title = f"# {result.student.id} · {in_variant}: {', '.join(why)} · {file}:{line} · {kind}"
        parts.append("\n".join([title, *([f"# {effect}"] if effect else []), f"--- {file}", f"+++ {file}", *diff, ""]))
    return "\n".join(parts)


VAGUE = frozenset(["comparison", "guard", "index", "bound", "bound_start", "bound_end", "bound_step", "expression"])
"""Kinds of faults whose words alone do not tell which of a line's expressions is meant."""
NAMED = (
    "initial_value_goes_on",
    "initial_value_anew",
    "expression_integer",
    "guard_missing_limit",
    "host_extra",
    "host_freed_early",
)
"""Those whose words name what is changed."""


def hint_msg(repair: VerifiedRepair) -> Message | None:
    """Return line and kind of the fault, and what one change there showed."""
    change = repair.change
    kind = f"{change.kind}_{change.detail}" if change.detail in DETAILS.get(change.kind, ()) else change.kind
    kind = "guard_missing_limit" if kind == "guard_missing" and change.code else kind
    more = {"to_line": change.to_line} if change.to_line else {"quoted": change.code} if kind in NAMED else {}
    fault = joined(msg(f"repairs.{kind}", line=change.line, **more), about_msg(change) if kind in VAGUE else None)
    if repair.proof and not repair.rest:
        return joined(fault, msg(f"repairs.verified_by_{repair.proof}"))
    if repair.rest:
        return joined(fault, _right_with(repair))
    if not repair.is_complete:
        return joined(fault, msg("repairs.verified_partly"))
    if repair.together:
        return joined(fault, msg("repairs.verified_together", variants=", ".join(repair.together)))
    return joined(fault, msg("repairs.verified"))


def _right_with(repair: VerifiedRepair) -> Message:
    names = [msg(f"checks.{name}.title") for name in repair.rest]
    return msg("repairs.verified_result", n=len(names), checks=msg("pieces.listed", items=names, more=False))


def _beside(said: Message, change: Change) -> Message | None:
    if said.id in OVERRULED | OVERRULED_BY.get(change.group, frozenset()):
        return None
    if said.id == PADS and change.kind != "padding":
        return None
    if said.id == READS and change.kind == "index":
        return msg("checks.correct.hint_indices")
    return said


def _with_condition(check: Check, condition: Condition | None) -> Check:
    if condition is None or check.status != "fail":
        return check
    hint = check.hint_said if check.hint_said is not None and check.hint_said.id not in NOT_KNOWN else None
    return told(structs.replace(check, hint_said=joined(condition.hint, hint)))


def _with_repair(check: Check, verified: VerifiedRepair | None) -> Check:
    if verified is None or check.status not in ("fail", "error"):
        return check
    repair = None
    if verified.is_shown:
        repair = Repair(
            file=verified.file,
            line=verified.change.line,
            kind=verified.change.kind,
            diff=list(verified.diff),
            effect_said=verified.effect,
        )
    beside = [said for part in sentences_of(check.hint_said) if (said := _beside(part, verified.change)) is not None]
    if verified.is_shown:
        # What was only supposed of the same fault has nothing to add to what was run.
        kept_ids = OTHER_WAY if verified.change.kind != "launch" else frozenset[str]()
        beside = [said for said in beside if said.id in SEEN | kept_ids]
    rest = joined(*beside)
    choice = msg("repairs.either") if rest is not None and rest.id in OTHER_WAY else None
    return told(structs.replace(check, hint_said=joined(hint_msg(verified), choice, rest), repair=repair))
