"""Results as plain tables."""

from __future__ import annotations

import msgspec
from msgspec import structs

from grader.message import joined, msg, verbatim
from grader.report.summary import shortened, summary, totals, worst_fault
from grader.report.text import Numbers
from grader.result import Check, Repair
from grader.words import text
from tests import sample_results
from tests.report.jobs import job


def check(name: str, variant: str, **fields: object) -> Check:
    defaults: dict[str, object] = {"id": f"{variant}.{name}", "status": "fail", "earned": 0.0, "possible": 10.0}
    return Check(check=name, variant=variant, **{**defaults, **fields})  # type: ignore[arg-type]


def test_the_mark_adds_up() -> None:
    shown = summary(job())["score"]
    assert (shown["earned"], shown["possible"], shown["pending"], shown["lost"]) == ("80", "100", "20", "")
    assert (shown["earned_pct"], shown["pending_pct"]) == (80.0, 20.0)
    shown = summary(job(sample_results.failed()))["score"]
    assert (shown["earned"], shown["possible"], shown["pending"], shown["lost"]) == ("25", "80", "", "55")


def test_the_matrix_has_a_cell_per_variant() -> None:
    rows = {row["check"]: row["cells"] for row in summary(job(sample_results.failed()))["matrix"]}
    assert [c and (c["symbol"], c["points"]) for c in rows["present"]] == [("✗", "0 of 10"), None, None]
    assert [c and (c["symbol"], c["points"]) for c in rows["correct"]] == [("–", "0 of 10"), ("✓", "20"), None]
    assert [c and (c["symbol"], c["points"]) for c in rows["speedup"]] == [None, None, ("≈", "5 of 10")]


def test_a_check_that_waits_says_what_for() -> None:
    shown = summary(job())
    cell = next(row for row in shown["matrix"] if row["check"] == "speedup")["cells"][2]
    assert cell is not None
    assert (cell["symbol"], cell["word"], cell["points"]) == ("…", "not measured", "20 pending")
    assert shown["waiting"] == [{"reason": "not measured: this machine has no NVIDIA GPU", "points": "20"}]


def test_faults_come_dearest_first_and_the_graders_own_last() -> None:
    checks = [
        check("correct", "naive", status="error", pending=90.0, possible=90.0, message="ours"),
        check("races", "shared", possible=5.0, message="small"),
        check("bank_conflicts", "padded", possible=20.0, message="dear"),
        check("technique", "padded", status="pass", earned=10.0, message="fine"),
        check("present", "rows", possible=30.0, message="not handed in"),
    ]
    result = msgspec.structs.replace(sample_results.failed(), checks=checks)
    faults = summary(job(result))["faults"]
    # What was handed in is mended before anything is written anew.
    wanted = [("dear", "20"), ("small", "5"), ("not handed in", "30"), ("ours", "")]
    assert [(f["message"], f["lost"]) for f in faults] == wanted


def test_one_fault_of_all_variants_is_told_once() -> None:
    checks = [check("compiles", v, message="line 3: no semicolon", line=3) for v in ("shared", "padded")]
    result = msgspec.structs.replace(sample_results.failed(), checks=checks)
    (fault,) = summary(job(result))["faults"]
    assert [v["name"] for v in fault["variants"]] == ["shared", "padded"]
    assert (fault["lost"], fault["where"]) == ("20", "transpose.cu:3")


def test_the_first_error_of_a_program_is_told_once_whatever_else_its_kernels_lack() -> None:
    first = verbatim("no semicolon")
    inside = msg("checks.compiles.inside", line=9, message="no name")
    checks = [
        structs.replace(check("compiles", v, message=text(said), line=3, hint=hint), message_said=said)
        for v, said, hint in (("shared", first, "fix it"), ("padded", joined(first, inside), "fix it, elsewhere"))
        if said is not None
    ]
    result = msgspec.structs.replace(sample_results.failed(), checks=checks)
    (fault,) = summary(job(result))["faults"]
    assert ([v["name"] for v in fault["variants"]], fault["hint"]) == (["shared", "padded"], "fix it")
    assert fault["message"] == "no semicolon"


def test_what_kept_the_grader_from_judging_several_checks_is_told_once() -> None:
    names = ("present", "compiles", "correct")
    checks = [check(n, "solve", status="error", pending=10.0, message="no room on the disk") for n in names]
    (fault,) = summary(job(msgspec.structs.replace(sample_results.failed(), checks=checks)))["faults"]
    assert (fault["check"], fault["message"], fault["lost"]) == ("grader error", "no room on the disk", "")
    alone = msgspec.structs.replace(sample_results.failed(), checks=checks[2:])
    assert [f["check"] for f in summary(job(alone))["faults"]] == ["correct result"]


def test_what_a_run_showed_is_told_before_the_change_that_mends_it_and_what_follows_after() -> None:
    repair = Repair(file="transpose.cu", line=3, kind="launch")
    checks = [
        check("launch", "shared", message="two exchanged", hint="mended", line=3, data={"seen": True}, repair=repair),
        check("correct", "shared", message="wrong values", hint="mended", line=9, repair=repair),
    ]
    result = msgspec.structs.replace(sample_results.failed(), checks=checks)
    (fault,) = summary(job(result))["faults"]
    assert (fault["message"], fault["hint"], fault["where"]) == ("two exchanged", "mended", "transpose.cu:3")
    assert fault["follows"] == ["wrong result · shared: wrong values"]


def test_what_follows_is_told_once_for_all_variants_and_the_cause_not_again() -> None:
    repair, cause = Repair(file="transpose.cu", line=3, kind="host"), msg("checks.launch.never_launched")
    checks = []
    for name in ("naive", "shared", "padded"):
        said = joined(cause, msg("pieces.verbatim", text=f"{name}: WRONG"))
        told = {"message": f"cause, {name}: WRONG", "message_said": said, "data": {"seen": True}}
        checks.append(check("launch", name, file="transpose.cu", line=3, hint="mended", repair=repair, **told))
        words = "other values" if name == "padded" else "wrong values"
        checks.append(check("correct", name, message=words, hint="mended", line=9, repair=repair))
    (fault,) = summary(job(msgspec.structs.replace(sample_results.failed(), checks=checks)))["faults"]
    assert [view["name"] for view in fault["variants"]] == ["naive", "shared", "padded"]
    assert fault["follows"] == ["wrong result · naive, shared: wrong values", "wrong result · padded: other values"]


def test_what_another_check_found_stands_first_with_the_points_of_what_follows() -> None:
    checks = [
        check("correct", "shared", possible=25.0, message="wrong values", line=9, data={"due_to": "races"}),
        check("memory_safety", "shared", message="past the end", line=3),
        check("races", "shared", message="two write", line=3, data={"due_to": "memory_safety"}),
        check("correct", "padded", possible=30.0, message="other values", line=19, data={"due_to": "races"}),
    ]
    result = msgspec.structs.replace(sample_results.failed(), checks=checks)
    first, other = summary(job(result))["faults"]
    assert (first["message"], first["lost"]) == ("past the end", "45")
    assert first["follows"] == ["wrong result · shared: wrong values", "data race · shared: two write"]
    # Nothing of its own variant failed besides.
    assert (other["message"], other["lost"]) == ("other values", "30")
    assert worst_fault(msgspec.structs.replace(result, checks=checks[:3])).endswith("past the end")


def test_a_fault_quotes_its_line() -> None:
    fault = summary(job(sample_results.failed()))["faults"][0]
    assert fault["where"] == "transpose.cu:12"
    assert fault["code"] == "if (x < rows && y < cols) out[y * rows + x] = t[threadIdx.x][threadIdx.y];"


def test_a_remark_made_twice_is_told_once() -> None:
    result = sample_results.passed()
    variants = {name: msgspec.structs.replace(v, remarks=["odd"]) for name, v in result.variants.items()}
    shown = summary(job(msgspec.structs.replace(result, variants=variants, remarks=["whole"])))["remarks"]
    assert [(r["text"], [v["name"] for v in r["variants"]]) for r in shown] == [
        ("whole", []),
        ("odd", ["naive", "shared", "padded"]),
    ]


def test_points_of_no_check_are_no_division_by_zero() -> None:
    assert totals([], Numbers("en"))["earned_pct"] == 0.0


def test_a_fault_names_the_points_that_wait_for_it() -> None:
    def waits(name: str, variant: str, root: str) -> Check:
        return check(name, variant, status="skip", skip_reason="prerequisite", pending=10.0, data={"blocked_by": root})

    checks = [
        check("present", "naive", possible=0.0, message="empty body"),
        waits("correct", "naive", "present"),
        waits("races", "naive", "present"),
        waits("races", "shared", "launch"),
    ]
    result = msgspec.structs.replace(sample_results.failed(), checks=checks)
    (fault,) = summary(job(result))["faults"]
    assert (fault["message"], fault["lost"], fault["held"]) == ("empty body", "", "20")


def test_one_fault_at_several_places_names_them_all() -> None:
    changed = msgspec.structs.replace(sample_results.failed().variants["padded"], file="other.cu")
    variants = {**sample_results.failed().variants, "padded": changed}
    checks = [
        check("launch", v, message="16384 threads", hint="Take fewer.", line=n)
        for v, n in (("naive", None), ("shared", 7), ("padded", 9))
    ]
    result = msgspec.structs.replace(sample_results.failed(), checks=checks, variants=variants)
    (fault,) = summary(job(result))["faults"]
    assert fault["where"] == "transpose.cu:7, other.cu:9"
    assert (fault["code"], fault["lost"]) == ("", "30")
    # In other words it is another fault.
    checks[2] = check("launch", "padded", message="4096 threads", hint="Take fewer.", line=9)
    assert len(summary(job(msgspec.structs.replace(result, checks=checks)))["faults"]) == 2


def test_a_message_is_shortened_to_its_first_sentence() -> None:
    assert shortened("One thing. Another thing.") == "One thing"
    assert shortened("One line\nanother") == "One line"
    # No word is cut in two.
    assert shortened("word " * 40) == "word " * 21 + "word …"
    assert shortened("x" * 200) == "x" * 200
    assert shortened("") == ""
