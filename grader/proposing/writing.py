"""From a solution to a lab's folder: read, run, called, written, its wrong versions graded.

What was told of a solution stands in the files, and what was not says what to fill in.  Among them are wrong solutions
made of the right one: a barrier, a padding or a guard taken away, one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from grader.errors import FileError
from grader.grading.all_checks import measured
from grader.grading.selftest import record, told_of
from grader.lab import labs
from grader.lab.file import load
from grader.lab.parameters import DTYPES
from grader.lab.parts import LANGUAGES
from grader.message import Message, msg
from grader.programs.observation import observed
from grader.proposing.probing import Probe, ProbedFunction, Relation, relation_of
from grader.proposing.programs import ProgramPlan, ProgramProbe
from grader.proposing.proposal import FILL_IN, Fault, Proposal, command, oracle, task
from grader.proposing.solution import (
    CandidateFunction,
    Launched,
    Solution,
    of_launches,
    of_source,
    read,
    with_const,
    with_parameters,
)
from grader.repair.function import Change, Function, changed, functions_of
from grader.repair.nodes import condition_of
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import declared_name
from grader.submission.kernels.kernel import kernels_in
from grader.submission.source import SourceText

Say = Callable[["Message | str"], None]
MOST_CONSTANTS = 4096
MOST = 12


def propose(name: str, path: Path, into: Path, interface: str | None, say: Say, run: str = "") -> Path:
    """Write the lab `name` into the folder `into`, as far as it can be told from the solution at `path`.

    interface: "kernel", "function" or "program", None for what the solution has.  say: told of what was found out, as
    it comes.  run: of a program, what stands behind its name where it is started.
    Raises UsageError: the name is none for a lab, or taken; the file is no text, or cannot be written.  Raises
    FileError: nothing can be proposed from it, with what to change.
    """
    folder = labs.free_folder(name, into)
    solution = read(path.absolute())
    if interface == "program" or run or (interface is None and solution.has_files):
        proposal = _of_program(name, solution, run)
    else:
        proposal = _of_parts(name, solution, interface, say)
    for message in _findings(proposal, folder):
        say(message)
    write(folder, files_of(proposal))
    if proposal.is_complete:
        lab = load(folder)
        figures = measured(lab, folder / "kernels" / "good" / "solution.cu")
        write(folder, {"lab.yaml": files_of(replace(proposal, measured=figures))["lab.yaml"]})
        for one in record(load(folder), "emulator", None, [into]):
            for said in told_of(one):
                say(said)
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".yaml", ".py", ".md"):
            for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
                if FILL_IN in line and "Lines with" not in line:
                    say(msg("proposing.fill_in", path=str(file), line=number, text=line.strip(" #<>!-")))
    return folder


def _of_program(name: str, solution: Solution, run: str) -> Proposal:
    if not solution.has_main:
        raise FileError(msg("proposing.no_main"), solution.source.path)
    candidate, probed, plan = ProgramProbe(solution, run).run()
    relations = _relations(candidate, probed)
    faults = tuple(faults_of(solution.source))
    return Proposal(name, solution, (candidate,), probed, relations, is_of_kernels=False, faults=faults, plan=plan)


def _of_parts(name: str, solution: Solution, interface: str | None, say: Say) -> Proposal:
    """Propose a lab of the file's function, or of the kernels that its `main` launches."""
    candidates = _candidates(solution, interface)
    probed = Probe(candidates[0], _constants(solution)).run()
    if not probed.sizes and (parameters := with_parameters(solution, candidates)) is not None:
        source, sizes = parameters
        solution = of_source(source)
        candidates = _candidates(solution, interface)
        probed = Probe(candidates[0], _constants(solution)).run()
        say(msg("proposing.made_parameters", names=", ".join(sizes)))
    if probed.unchanged and candidates[0].launched is None:
        # What a lab's function only reads is const; where the file's own does not compile so, it stays as it is.
        changed = with_const(candidates[0], probed.unchanged)
        again = Probe(changed, _constants(solution)).run()
        if not again.problem and again.kinds:
            say(msg("proposing.made_const", names=", ".join(probed.unchanged), function=changed.name))
            candidates, probed = [changed], again
    _check(solution, candidates[0], probed)
    return _proposal(name, solution, candidates, probed, interface)


def _relations(candidate: CandidateFunction, probed: ProbedFunction) -> dict[str, Relation | None]:
    scalars = [a.name for a in candidate.signature.arguments if not a.pointers and a.name not in probed.sizes]
    outputs = [n for n, kind in probed.kinds.items() if kind in ("output", "in_out")]
    return {output: relation_of(probed, output, scalars) for output in outputs}


def _candidates(solution: Solution, interface: str | None) -> list[CandidateFunction]:
    """Return what the lab could ask for; all but the first are variants of the same."""
    if solution.candidates and interface != "kernel":
        return [solution.candidates[0]]
    candidates = of_launches(solution, observed([solution.source])) if solution.has_main else []
    if not candidates:
        raise FileError(msg("proposing.no_candidate", types=", ".join(DTYPES)), solution.source.path)
    types = [(a.name, a.spelled) for a in candidates[0].signature.arguments]
    return [
        c
        for c in candidates
        if [(a.name, a.spelled) for a in c.signature.arguments] == types and _inputs(c) == _inputs(candidates[0])
    ]


def _inputs(candidate: CandidateFunction) -> list[str]:
    """Return the digests of what `main` copied into the arrays before the launch."""
    assert candidate.launched is not None
    return [argument.digest for argument in candidate.launched.launch.arguments if argument.before == "data"]


def _constants(solution: Solution) -> set[int]:
    """Return the named whole numbers of the file that may be an array's length."""
    constants = solution.parsed.constants
    values = [constants.integer(name) for name in (*constants.values, *constants.macros)]
    return {value for value in values if value is not None and 1 < value <= MOST_CONSTANTS}


def _check(solution: Solution, candidate: CandidateFunction, probed: ProbedFunction) -> None:
    """Refuse what no call came to its end of, or which has no size.  Raises FileError: with what to change."""
    place = (solution.source.path, candidate.launched.launch.line if candidate.launched is not None else None)
    if not probed.sizes:
        names = ", ".join(a.name for a in candidate.signature.arguments if a.pointers)
        raise FileError(msg("proposing.with_main", names=names), *place)
    if probed.problem:
        raise FileError(
            msg("proposing.not_called", function=candidate.name, why=msg(f"proposing.why_{probed.problem}")), *place
        )


def _proposal(
    name: str,
    solution: Solution,
    candidates: Sequence[CandidateFunction],
    probed: ProbedFunction,
    interface: str | None,
) -> Proposal:
    first = candidates[0]
    scalars = [a.name for a in first.signature.arguments if not a.pointers and a.name not in probed.sizes]
    relations = _relations(first, probed)
    # The grader launches bare kernels itself: only what it can hand them, and a grid that covers sizes.
    is_plain = set(probed.kinds.values()) <= {"input", "output"} and not scalars and bool(probed.kinds)
    covers = all(one.launched is not None and all(axis.size for axis in one.launched.grid) for one in candidates)
    is_template = any(one.launched is not None and one.launched.launch.template_arguments for one in candidates)
    is_of_kernels = first.launched is not None and is_plain and covers and not is_template and interface != "function"
    used = candidates if is_of_kernels else candidates[:1]
    source = solution.source if is_of_kernels else first.source
    return Proposal(name, solution, tuple(used), probed, relations, is_of_kernels, tuple(faults_of(source)))


def _findings(proposal: Proposal, folder: Path) -> list[Message]:
    parameters = [
        msg("proposing.parameter", name=n, kind=proposal.kind(n), shape=f"[{', '.join(proposal.shapes.get(n, ()))}]")
        for n in proposal.probed.kinds
    ]
    messages = list(parameters)
    calls = len(proposal.probed.samples)
    for name, relation in proposal.relations.items():
        if relation is None:
            messages.append(msg("proposing.no_relation", name=name, path=str(folder / "reference" / "oracle.py")))
        else:
            messages.append(msg("proposing.relation", name=name, text=relation.text, calls=calls))
    return messages


_PADDED = re.compile(r"(?P<extent>.*\S)\s*\+\s*1\s*")
_GUARD = re.compile(r"<|>|==")


def faults_of(source: SourceText) -> list[Fault]:
    """What can be made of a file's kernels, each once."""
    parsed = parse(source)
    faults: dict[str, Fault] = {}
    for kernel in kernels_in(parsed):
        for function in functions_of(parsed, kernel.name)[:1]:
            for kind, change in _changes(function):
                text = changed(source.text, change)
                faults.setdefault(text, Fault(f"{kernel.name}_no_{kind}_{change.line}".lower(), text, change.line))
    return list(faults.values())[:MOST]


def _changes(function: Function) -> Iterator[tuple[str, Change]]:
    for barrier in function.barriers:
        yield "barrier", Change("barrier", function.line(barrier), (function.replaced(barrier, ";"),), 1, "barrier")
    for node in function.nodes:
        if node.type == "array_declarator" and "__shared__" in function.text(node.parent or node):
            size = node.child_by_field_name("size")
            match = _PADDED.fullmatch(function.text(size)) if size is not None else None
            if size is not None and match is not None:
                edit = function.replaced(size, match["extent"])
                yield "padding", Change("padding", function.line(node), (edit,), 1, "padding")
    indices = _indices(function)
    sizes = {v.name for v in function.variables if v.role == "size" and v.start == function.body.start_byte}
    for node in function.nodes:
        condition = condition_of(node) if node.type == "if_statement" else None
        if condition is None or node.child_by_field_name("alternative") is not None:
            continue
        words = function.parsed.words(condition)
        if not (words & indices and words & sizes and _GUARD.search(function.text(condition))):
            continue
        body = node.child_by_field_name("consequence")
        leaves = body is not None and function.text(body).strip("{}; \n\t").startswith("return")
        edit = function.replaced(condition, "false" if leaves else "true")
        yield "guard", Change("guard", function.line(node), (edit,), 1, "guard")


def _indices(function: Function) -> set[str]:
    """Return the names that distinguish threads."""
    names = {"threadIdx", "blockIdx"}
    for node in function.nodes:
        if node.type == "init_declarator":
            value, name = node.child_by_field_name("value"), declared_name(node)
            if value is not None and (function.parsed.words(value) & names):
                names.add(name)
    return names


_LINE = {
    1: ([256, 1024], [1, 255, 257, 1000], 4096),
    2: ([32, 64], [1, 31, 33, 45], 64),
    3: ([32, 64], [1, 31, 33, 45], 32),
}
"""By the number of axes that the largest array, or the work, has: multiples of blocks, others, the observed one."""


def files_of(proposal: Proposal) -> dict[str, str]:
    """The lab's files, by their names in its folder."""
    source = proposal.first.source.text if not proposal.is_of_kernels else proposal.solution.source.text
    files = {
        "lab.yaml": _lab(proposal),
        "starter.cu": _starter(proposal),
        "reference/solution.cu": source,
        "reference/oracle.py": oracle(proposal),
        "kernels/good/solution.cu": source,
    }
    files |= {f"task.{language}.md": task(proposal, language) for language in LANGUAGES}
    for fault in proposal.faults:
        files[f"kernels/bad/{fault.name}.cu"] = fault.text
    return files


def _lab(proposal: Proposal) -> str:
    title = proposal.name.replace("-", " ").capitalize()
    head = [
        "# Proposed from a solution by running it. Lines with FILL IN are what could not be told; all else was seen,",
        "# and is yours to correct. What every key means is written in docs/labs.md.",
        f"title: {{en: '{title}', ru: '{title}'}} # {FILL_IN}: titles and aim",
        f"aim: {{en: '{title}.', ru: '{title}.'}}",
        "reference: reference",
        "selftest: kernels",
        "seed: 1",
        *_tolerance(proposal),
        "",
    ]
    if proposal.plan is not None:
        head += ["interface: program", *_started(proposal.plan), ""]
    elif not proposal.is_of_kernels:
        memory = f"memory: {proposal.probed.memory} # where its pointers lead"
        head += ["interface: function", f"signature: '{proposal.first.signature.spelled}'", memory, ""]
    return "\n".join([*head, *_parameters(proposal), "", *_sizes(proposal), "", *_variants(proposal)]) + "\n"


def _started(plan: ProgramPlan) -> list[str]:
    words = ", ".join("'" + word.replace("'", "''") + "'" for word in plan.arguments)
    stdin = plan.stdin.replace("\n", "\\n")
    rows = [f"arguments: [{words}]"] * bool(words) + [f'stdin: "{stdin}"'] * bool(stdin)
    return [*rows, *(f"# {FILL_IN}: {one}" for one in plan.unknown)]


def _tolerance(proposal: Proposal) -> list[str]:
    dtypes = {DTYPES[a.type] for a in proposal.first.signature.arguments if a.pointers and not a.is_const}
    if all(np.dtype(dtype).kind in "iu" for dtype in dtypes):
        return ["tolerance: {absolute: 0, relative: 0}"]
    narrow = "float16" in dtypes
    kept = f"{{absolute: {proposal.probed.absolute:.1e}, relative: 1.0e-5}}"
    values = "{absolute: 1.0e-2, relative: 1.0e-2}" if narrow else kept
    return [f"tolerance: {values} # the solution kept it wherever it was seen; see `gamma` in docs/labs.md"]


def _parameters(proposal: Proposal) -> list[str]:
    rows = ["parameters:"]
    for a in proposal.first.signature.arguments:
        typed = f", dtype: {DTYPES[a.type]}" if proposal.is_of_kernels or proposal.plan is not None else ""
        place = proposal.plan.places.get(a.name, "") if proposal.plan is not None else ""
        if not a.pointers:
            if a.name in proposal.probed.sizes:
                rows.append(f"  {a.name}: {{kind: size{typed}}}")
            elif proposal.plan is not None:
                tried = sorted({int(given[a.name]) for _sizes, given, _got in proposal.probed.samples})
                values = ", ".join(map(str, tried or [2]))
                note = f"# it was run with these; {FILL_IN}: what else makes sense"
                rows.append(f"  {a.name}: {{kind: scalar{typed}, values: [{values}]}} {note}")
            else:
                value = proposal.first.values.get(a.name)
                other = "2.5, -0.75" if np.dtype(DTYPES[a.type]).kind == "f" else "2, 1"
                value_text = f"{value:g}" if value is not None else ""
                note = f" # main hands it {value_text}" if value_text else f" # {FILL_IN}: values that make sense"
                rows.append(
                    f"  {a.name}: {{kind: scalar, values: [{f'{value_text}, {other}' if value_text else other}]}}{note}"
                )
            continue
        shape, kind = proposal.shapes.get(a.name), proposal.kind(a.name)
        if shape is None or not kind:
            rows.append(f"  # {FILL_IN}: no number of elements made of the sizes fits what was touched of it:")
            rows.append(f"  # {a.name}: {{kind: {'input' if a.is_const else 'output'}{typed}, shape: [...]}}")
            continue
        relation = proposal.relations.get(a.name)
        initial = ", initial: 0" if relation is not None and relation.begins_at_zero else ""
        notes = {
            "in_out": "read before it is written, or not written everywhere",
            "scratch": "main does not look at it afterwards",
        }
        note = f" # {notes[kind]}" if kind in notes else " # added to what is there" if initial else ""
        rows.append(f"  {a.name}: {{kind: {kind}{typed}, shape: [{', '.join(shape)}]{initial}{place}}}{note}")
    return rows


def _sizes(proposal: Proposal) -> list[str]:
    sizes = proposal.probed.sizes
    free = [sum(not extent.isdigit() for extent in shape) for shape in proposal.shapes.values()]
    axes = max(1, *free, min(len(sizes), 3))
    correct, ragged, observed = _LINE[min(axes, 3)] if sizes else ([], [], 1)
    rows = [dict.fromkeys(sizes, value) for value in correct]
    if proposal.probed.is_any_size and len(rows) > 1:
        # Width and height in each other's place are the same in a square.
        rows[-1] |= dict.fromkeys(list(sizes)[1::2], correct[0])
    others = [{n: ragged[(i + k) % len(ragged)] for k, n in enumerate(sizes)} for i in range(len(ragged))]
    main_sizes = {n: int(v) for n, v in proposal.first.values.items() if n in sizes}
    main = (
        [
            f"# main runs it at {_row(main_sizes)}"
            + (": too much for every run here" if max(main_sizes.values()) > observed else "")
        ]
        if main_sizes
        else []
    )
    off = others if proposal.probed.is_any_size else []
    why = (
        [] if off else ["    # no ragged sizes: off the multiples of its block the solution itself goes out of bounds"]
    )
    small = [
        f"    correct: [{', '.join(map(_row, rows))}]",
        *([f"    ragged: [{', '.join(map(_row, off))}]"] if off else why),
    ]
    tail = [f"    observe: {_row(dict.fromkeys(sizes, observed))}"]
    text = [*main, "sizes:", "  emulator: # small: the emulator runs every thread", *small, *tail]
    if proposal.is_of_kernels:
        probe = f"    probe: {_row(rows[0])}"
        large = (
            f"    correct: [{', '.join(map(_row, [*rows, *([main_sizes] if len(main_sizes) == len(sizes) else [])]))}]"
        )
        text += [probe, "  gpu:", large, *small[1:], *tail, probe]
    return text


def _variants(proposal: Proposal) -> list[str]:
    rows = []
    if proposal.is_of_kernels:
        rows += [_launch(proposal.launched(proposal.first), "launch"), ""]
    rows.append("variants: # the points of all checks add up to 100")
    share = 100 // len(proposal.candidates)
    for index, (name, candidate) in enumerate(zip(proposal.variants, proposal.candidates, strict=True)):
        points = 100 - share * (len(proposal.candidates) - 1) if index == 0 else share
        shown = proposal.launched(candidate).kernel.name if proposal.is_of_kernels else candidate.name
        rows += [f"  {name}:", f"    title: {{en: '{shown}', ru: '{shown}'}}"]
        if proposal.is_of_kernels:
            one = proposal.launched(candidate)
            shared = str(one.kernel.uses_shared).lower()
            if one.kernel.uses_shared:
                rows.append(f"    padded: {str(_is_padded(one)).lower()}")
            plan = _launch(one, "    launch")
            arguments = ", ".join(p.name for p in one.kernel.parameters)
            block, tile = _numbers(one.launch.block), _numbers([axis.tile for axis in one.grid])
            rows += [f"    names: [{re.escape(one.kernel.name)}]", f"    shared_memory: {shared}", plan]
            bytes_ = f", shared_bytes: '{one.launch.shared_bytes}'" if one.launch.shared_bytes else ""
            plan = f"arguments: [{arguments}], block: {block}, tile: {tile}{bytes_}"
            rows.append(f"    reference: {{file: solution.cu, kernel: {one.kernel.name}, {plan}}}")
        else:
            rows.append("    reference: solution.cu")
        is_shared = proposal.is_of_kernels and proposal.launched(candidate).kernel.uses_shared
        rows += ["    checks:", *_checks(proposal, name, points, is_shared)]
    return rows


def _row(sizes: Mapping[str, int]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in sizes.items()) + "}"


def _is_padded(one: Launched) -> bool:
    shapes = [array.dims for array in one.kernel.shared_arrays]
    return any(len(dims) > 1 and dims[-1] is not None and dims[-1] % 2 == 1 for dims in shapes)


def _launch(one: Launched, key: str) -> str:
    covers = ", ".join(axis.size for axis in one.grid)
    tile = _numbers([axis.tile for axis in one.grid])
    return f"{key}: {{block: {_numbers(one.launch.block)}, covers: [{covers}], tile: {tile}}}"


def _numbers(values: Sequence[int]) -> str:
    last = max((i for i, value in enumerate(values) if value > 1), default=0)
    return f"[{', '.join(map(str, values[: last + 1]))}]"


def _checks(proposal: Proposal, variant: str, points: int, is_shared: bool) -> list[str]:
    """Return checks weighted by what the solution has, with thresholds from what it was measured to do."""
    measured = {
        check.partition(".")[2]: data for check, data in proposal.measured.items() if check.startswith(f"{variant}.")
    }
    weights: dict[str, str] = {"memory_safety": "10", "races": "10"}
    if proposal.probed.is_any_size:
        weights["ragged_sizes"] = "15"
    comments = []
    if measured.get("coalescing", {}).get("status") == "pass":
        ratio = max(_number(measured["coalescing"], "load_ratio"), _number(measured["coalescing"], "store_ratio"))
        limit = f", max_ratio: {np.ceil(ratio * 100) / 100:g}" if ratio > 1 else ""
        weights["coalescing"] = f"{{points: 10{limit}}} # the solution: {ratio:.4g} times the fewest sectors"
    if measured.get("bank_conflicts", {}).get("status") == "pass":
        weights["bank_conflicts"] = "10 # the solution has none"
    if not proposal.is_of_kernels:
        weights["host_code"] = "{points: 5, of: data}"
    for check, key, limit in (
        ("work", "per_element", "max_per_element"),
        ("divergence", "idle", "max_idle"),
        ("atomics", "global_per_element", "max_global"),
        ("launches", "launches", "max_launches"),
    ):
        if key in measured.get(check, {}):
            got = _number(measured[check], key)
            if not got or (check == "launches" and got == 1):
                continue
            room = got if check == "launches" else min(got * 1.25, 1) if check == "divergence" else got * 1.25
            note = f"the solution: {got:g}{', with a quarter of room' * (room > got)}"
            comments.append(f"      # {check}: {{points: 5, {limit}: {room:.4g}}} # {note}")
    if is_shared:
        comments.append("      # technique: {points: 5, shared_memory: staged} # where all of an input goes through it")
    scale = points / 100
    rows, points_given = [], 0
    for check, text in weights.items():
        number = int(re.search(r"\d+", text)[0])  # type: ignore[index]  # each begins with its points
        scaled = max(1, round(number * scale))
        points_given += scaled
        rows.append(f"      {check}: {re.sub(r'[0-9]+', str(scaled), text, count=1)}")
    return [f"      correct: {points - points_given}", *rows, *comments]


def _number(data: Mapping[str, object], key: str) -> float:
    value = data.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


def _starter(proposal: Proposal) -> str:
    if proposal.plan is not None:
        head = f"// Started as: {command(proposal.plan)}"
        return f"{head}\n#include <cstdio>\n\nint main(int argc, char **argv)\n{{\n    // Your code.\n}}\n"
    if not proposal.is_of_kernels:
        head = "// The grader calls this function; kernels and launches are yours."
        return f"{head}\n{proposal.first.signature.spelled}\n{{\n    // Your code.\n}}\n"
    kernels = []
    for candidate in proposal.candidates:
        kernel = proposal.launched(candidate).kernel
        listed = ", ".join(f"{p.type_text.strip()}{'' if p.is_pointer else ' '}{p.name}" for p in kernel.parameters)
        kernels.append(f"__global__ void {kernel.name}({listed})\n{{\n    // Your code.\n}}\n")
    return "\n".join(kernels)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Put the files there; folders are made."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
