"""What a run says of itself: what it was asked, what it wrote, what came to nothing."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts


def refused(reason: str, path: str) -> str:
    """Why a work is not graded, in the row of its student: without the path that the reason begins with."""
    return reason.removeprefix(f"{path}: ")


def with_bounds(what: str, bounds: str) -> str:
    """What was refused, and what is short."""
    return f"{what} ({bounds})"


TEXTS: Texts = {
    "repairs": N_("Smallest changes that make wrong kernels right, for the teacher: {folder}"),
    "refused": refused,
    "with_bounds": with_bounds,
    "out": N_("--out {path}: {reason}"),
    "grading": N_("grading"),
    "reports": N_("reports"),
    "report": N_("Report: {path}"),
    "pdf": N_("PDF:    {path}"),
    "no_pdf": N_("No PDF: Pango is missing; install it with: apt install {packages}"),
    "unwritable": N_("{student}: the report could not be written: {reason}"),
    "deadline": N_("it took longer than {seconds} s"),
    "signal": N_("its process was ended by {signal}"),
    "not_rendered_why": N_("{student}: the report could not be rendered ({reason}); details are in {log}"),
    "not_rendered": N_("{student}: the report could not be rendered; details are in {log}"),
    "failed_why": N_("{student}: {what}: the grader failed ({error}); details are in {log}"),
    "failed": N_("{student}: {what}: the grader failed; details are in {log}"),
    "no_process": N_("no process can be started: {reason}"),
    "memory": N_("it needs more than {n} GiB of memory"),
    "no_graphs": N_("no graphs"),
    "own_archive": N_("{path}: the folder itself; --archive takes those of other years"),
    "empty_archive": N_("{path}: no submissions of {lab} there to compare with"),
    "no_such_path": N_("{path}: no such file or folder"),
    "results_folder": N_("{path}: holds results of the grader, not graded"),
    "link": N_("a link to {other}, which is graded separately"),
    "same_name": N_("{path} has the same name"),
    "groups": N_("{path}: folders of groups, each with its students' folders in it: {groups}"),
    "passed_over": N_("{path}: not graded; to grade it, name it: grade {path} --lab {lab}"),
    "unknown_backend": N_("unknown backend {backend}; allowed: {allowed}"),
    "no_driver": N_("--backend gpu: there is no NVIDIA driver on this machine; see grade doctor"),
    "no_gpu": N_("--backend gpu: {reason}; see grade doctor"),
    "result_unwritable": N_("graded, but the result could not be written: {reason}"),
    "grader_failed_why": N_("the grader failed ({error}); details are in {log}"),
    "grader_failed": N_("the grader failed; details are in {log}"),
    "unchanged": Plural(
        "{n} submission is unchanged since it was graded; --force grades it again",
        "{n} submissions are unchanged since they were graded; --force grades them again",
    ),
    "each_written": Plural("{n} file {path}", "{n} files {path}"),
    "no_library": N_("{path}: not written, the Python library {library} is missing; install the grader again"),
    "checks_added": N_("{lab}: checks were added to the lab file ({added}); grade the group again"),
    "checks_removed": N_("{lab}: checks were removed from the lab file ({removed}); grade the group again"),
    "checks_exchanged": N_(
        "{lab}: checks were added to the lab file ({added}) and removed from it ({removed}); grade the group again"
    ),
    "left_out": N_("{lab} is left out of the tables of all labs: {reason}"),
    "lab_changed": N_("{lab}: the lab file changed in more than points and thresholds; grade the group again"),
    "grade_again": N_(
        "{student}: the stored results do not decide {checks} of {lab}; no grade is changed, grade the group again"
    ),
    "points_pending": N_("pending: {before} → {after}"),
    "rescored": Plural("{n} grade changed", "{n} grades changed"),
    "other_version": N_("the worker has another version of the grader"),
    "no_dask": N_("--cluster needs Dask: pip install 'cuda-lab-grader[cluster]'"),
    "no_cluster": N_("--cluster {address}: {reason}"),
    "no_workers": N_("--cluster {address}: the scheduler has no workers"),
    "no_gpu_workers": N_("--cluster {address}: no worker there has the resource GPU, which --backend gpu needs"),
    "other_workers": N_("--cluster {address}: no worker there has this version of the grader"),
    "other_worker": N_("{worker}: a worker with another version of the grader, not used"),
    "cluster_gone": N_("--cluster {address}: the scheduler is gone; the same command goes on from here"),
    "deserted": N_("--cluster {address}: no workers are left there; the same command goes on from here"),
    "several_models": N_(
        "Timed on different models of GPU, whose times do not compare: {models}; grade on one of them with --force"
    ),
    "no_group": N_("{path}: no results of a group there"),
    "not_yet": N_("not graded: the run was interrupted or is not finished yet"),
    "not_graded": N_("Not graded: {students}"),
    "one_submission": N_("{path}: a folder of several students; name one student's folder or file"),
    "one_result": N_("{path}: there are {n} results; name one"),
    "which_lab": N_("{path}: which lab is this? Name it with --lab; there are {labs}"),
    "grader_slip": N_("the grader failed"),
    "no_results": N_("{path}: no results of the grader there"),
    "no_result": N_("{path}: not a result of schema version {known}: {reason}"),
    "newer_result": N_(
        "{path}: of schema version {found}, and this version of the grader knows {known}; update it, or grade again"
    ),
    "link_out": N_("the student's folder is a link that leads out of the group's folder; it is not graded"),
    "result_not_plain": N_("{path} is no plain file of at most {limit} MB; grade the student again"),
    "result_gone": N_("{path} is not there any more; grade the group again"),
    "not_graded_here": N_("{path}: {lab} was not graded there; there are {known}"),
    "no_roster": N_("{path}: no list of a group: {reason}"),
    "old_result": N_("{student}: graded by an earlier version; its messages stay in the language of that run"),
    "results": N_("Results and reports: {folder}"),
    "no_utf8": N_("not UTF-8 text"),
    "secret_short": N_("{name}: the secret has {got} characters, at least {least} are needed"),
}
