"""`grade serve`, a page to drop a file on, and `grade autograder`, what services run the grader by."""

from __future__ import annotations

import ipaddress
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import i18n
from grader.cli.options import PathType, backend_option, lab_option, labs_option, lang_option
from grader.errors import UsageError, describe_os_error
from grader.files import data_root, write_atomically
from grader.i18n import _
from grader.message import msg
from grader.processes.limits import cores
from grader.report.text import visible_line

if TYPE_CHECKING:
    import logging


def autograder_command() -> click.Command:
    """`grade autograder`: the options, in the language in use."""
    from grader.autograders import SERVICES

    options: list[click.Parameter] = [
        click.Argument(["service"], type=click.Choice(list(SERVICES)), metavar="|".join(SERVICES)),
        lab_option(_("The lab to grade; `grade labs` lists them."), required=True),
        click.Option(
            ["--out"],
            type=PathType(),
            help=_("The archive (gradescope, moodle) or the repository's folder (github, gitlab) to write."),
        ),
        click.Option(
            ["--grader"],
            default="",
            metavar="REQUIREMENT",
            help=_("What pip installs the grader from; default: this version, put next to the scripts."),
        ),
        labs_option(),
        lang_option(),
    ]
    return click.Command(
        "autograder",
        params=options,
        callback=_autograder,
        help=_("Write what a service needs to run the grader. --lang is the language of messages to students."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _autograder(service: str, lab: str, out: Path | None, grader: str, labs_folders: tuple[Path, ...]) -> int:
    from grader.autograders import ARCHIVES, SERVICES, Order, write_folder, zipped
    from grader.course.rules import secret
    from grader.lab import labs

    assignment = labs.find(lab, list(labs_folders))
    if any(character in grader for character in "\"'\\`$\n@"):
        raise UsageError(_("--grader {value}: no quotes, $, ` or @").format(value=grader))
    sealed = [name for variant in assignment.variants for name, test in variant.tests.items() if test.shown != "open"]
    if sealed and service not in ARCHIVES:
        # A repository is the student's to read, and the lab's folder goes into it.
        raise UsageError(msg("labs.tests_in_repository", lab=lab, service=service, tests=", ".join(sealed)))
    order = Order(
        lab=assignment,
        language=i18n.language(),
        built_in=assignment.path.resolve().is_relative_to((data_root() / "assignments").resolve()),
        requirement=grader,
        # A repository is the student's to read.
        secret=secret() if service == "gradescope" else "",
    )
    files = SERVICES[service](order)
    if service in ARCHIVES:
        target = out or Path(f"{service}-{lab}.zip")
        write_atomically(target, zipped(files))
        text = _("Written: {path} ({n} files, {kilobytes} kB)")
        size = target.stat().st_size // 1000
        click.echo(text.format(path=visible_line(str(target)), n=len(files), kilobytes=size))
    else:
        target = out or Path()
        write_folder(target, files)
        for file in files:
            click.echo(_("Written: {path}").format(path=visible_line(str(target / file.name))))
    return 0


# `grade serve`: a page to drop a file on.

SHORTEST_TOKEN = 12


def serve_command() -> click.Command:
    """`grade serve`: the options, in the language in use."""
    options: list[click.Parameter] = [
        click.Option(["--host"], default="127.0.0.1", show_default=True, help=_("Address to listen on.")),
        click.Option(
            ["--port"], type=click.IntRange(0, 65535), default=8642, show_default=True, help=_("Port to listen on.")
        ),
        click.Option(
            ["--name"],
            multiple=True,
            metavar="HOST",
            help=_("A name that others call this machine by; may be given several times."),
        ),
        click.Option(
            ["--token"],
            envvar="GRADE_TOKEN",
            default="",
            help=_("Token that students enter; one is generated if others can reach the page and none is given."),
        ),
        click.Option(
            ["--reports"],
            type=PathType(file_okay=False),
            help=_("A folder with a group's reports, shown to whoever has the teacher's token."),
        ),
        click.Option(
            ["--jobs"],
            type=click.IntRange(min=1),
            default=None,
            metavar="N",
            help=_("Submissions graded at the same time (default: one per core)."),
        ),
        click.Option(
            ["--waiting"],
            type=click.IntRange(min=1),
            default=200,
            show_default=True,
            help=_("How many files may wait; whoever submits more is asked to come back later."),
        ),
        click.Option(
            ["--per-minute"],
            type=click.IntRange(min=1),
            default=60,
            show_default=True,
            help=_("Files that one client may submit per minute."),
        ),
        backend_option(),
        labs_option(),
        lang_option(),
    ]
    return click.Command(
        "serve",
        params=options,
        callback=_serve,
        help=_("Serve a page to drop a .cu file on, for this machine, or with a token for a class."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _serve(
    host: str,
    port: int,
    name: tuple[str, ...],
    token: str,
    reports: Path | None,
    jobs: int | None,
    waiting: int,
    per_minute: int,
    backend: str,
    labs_folders: tuple[Path, ...],
) -> int:
    import logging
    import socket

    import uvicorn

    from grader.cli.serve_app import Settings, application
    from grader.cli.serve_jobs import Jobs
    from grader.grading.workers import job_count
    from grader.lab import labs

    if reports is not None and not reports.is_dir():
        raise UsageError(_("--reports {path}: no such folder").format(path=reports))
    if token and len(token) < SHORTEST_TOKEN:
        raise UsageError(_("--token: at least {n} characters are needed").format(n=SHORTEST_TOKEN))
    # A lab that is wrong is told now, not to students.
    labs.all_labs(list(labs_folders))
    is_public = not _is_loopback(host)
    if is_public and not token:
        token = secrets.token_urlsafe(12)
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UsageError(f"{host}:{port}: {describe_os_error(error)}") from error
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    hosts = ("localhost", "127.0.0.1", "[::1]", shown, *name)
    names = tuple(str(folder) for folder in labs_folders)
    settings = Settings(
        language=i18n.language(),
        labs_folders=names,
        token=token,
        teacher_token=secrets.token_urlsafe(12) if reports else "",
        reports=reports,
        # Listening at every address, any name may be the right one; then the token alone tells who may come in.
        hosts=("*",) if is_public and host in ("0.0.0.0", "::") and not name else hosts,
        a_minute=per_minute,
    )
    address = f"http://{name[0] if name else shown}:{port}/"
    click.echo(_("Page: {address}").format(address=f"{address}?token={token}" if token else address))
    if reports:
        page = next((file.name for file in sorted(reports.glob("*.html"))), "")
        page_address = f"{address}reports/{page}?token={settings.teacher_token}"
        click.echo(_("The group's page, for the teacher: {address}").format(address=page_address))
    at_once = job_count(cores(), jobs)
    with (
        # A report may be on its way there to the last.
        tempfile.TemporaryDirectory(prefix="grade-serve-", ignore_cleanup_errors=True) as folder,
        Jobs(Path(folder), backend, names, at_once, waiting) as running,
    ):
        config = uvicorn.Config(
            application(settings, running, lambda: server.should_exit),
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=64 << 10,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_fault)
        server = uvicorn.Server(config)
        server.run(sockets=[listening])
    return 0


def _is_fault(record: logging.LogRecord) -> bool:
    """Whether a log record is about a fault of ours, and not about what strangers send or a client left at the end."""
    import asyncio

    error = record.exc_info[1] if record.exc_info else None
    return error is not None and not isinstance(error, asyncio.CancelledError)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
