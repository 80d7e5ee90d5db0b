"""What each service is given: the files by name, for a lab."""

from __future__ import annotations

from collections.abc import Callable

from grader.autograders.package import File, Order, lab_files, template
from grader.autograders.wheel import constraints, wheel


def gradescope(order: Order) -> list[File]:
    """`setup.sh` and `run_autograder` at the root of the archive, the grader and the lab beside them.

    https://gradescope-autograders.readthedocs.io/en/latest/specs/
    """
    return [
        File("setup.sh", template("gradescope/setup.sh", order, '"$source"'), executable=True),
        File("run_autograder", template("gradescope/run_autograder", order), executable=True),
        File("warm_up.cu", template("gradescope/warm_up.cu", order)),
        *_grader(order, ""),
        *lab_files(order, "labs/"),
        *([File("course.secret", order.secret.encode())] if order.secret else []),
    ]


def github(order: Order) -> list[File]:
    """A workflow for GitHub Classroom, and the composite action that it uses, for the template repository."""
    return [
        File(".github/workflows/classroom.yml", template("github/classroom.yml", order)),
        File(".github/grader/action.yml", template("github/action.yml", order, '"$GITHUB_ACTION_PATH"')),
        *_grader(order, ".github/grader/"),
        *lab_files(order, ".github/grader/labs/"),
    ]


def gitlab(order: Order) -> list[File]:
    """A pipeline for GitLab CI, and the grader beside it."""
    return [
        File(".gitlab-ci.yml", template("gitlab/gitlab-ci.yml", order, ".grader")),
        *_grader(order, ".grader/"),
        *lab_files(order, ".grader/labs/"),
    ]


def moodle(order: Order) -> list[File]:
    """The execution files of a Virtual Programming Lab activity; the grader is installed on its execution server.

    https://vpl.dis.ulpgc.es/documentation/
    """
    # What the server keeps beside the student's files has no folders: the lab's own go to the server with the grader.
    scripts = {"vpl_run.sh": "vpl_check.sh", "vpl_debug.sh": "vpl_check.sh", "vpl_evaluate.sh": "vpl_evaluate.sh"}
    files = [File(name, template(f"moodle/{script}", order), executable=True) for name, script in scripts.items()]
    server = [File("server/install.sh", template("moodle/install.sh", order, '"$here"'), executable=True)]
    return [*files, *server, *_grader(order, "server/"), *lab_files(order, "server/labs/")]


def _grader(order: Order, prefix: str) -> list[File]:
    if order.requirement:
        return []
    return [File(f"{prefix}{file.name}", file.data) for file in (wheel(), constraints())]


SERVICES: dict[str, Callable[[Order], list[File]]] = {
    "gradescope": gradescope,
    "github": github,
    "gitlab": gitlab,
    "moodle": moodle,
}
ARCHIVES = ("gradescope", "moodle")
"""Services that a zip archive is uploaded to; a folder is written for the others."""
