"""The page and what it asks for, an ASGI application, and who may use it."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from grader import i18n
from grader.cli.serve_jobs import Full, Job, Jobs, Standing
from grader.files import data_root
from grader.i18n import _
from grader.lab import labs
from grader.lab.records import Lab
from grader.report.html import REPORT, STYLES, script_hash
from grader.report.job import in_language, make_job
from grader.report.summary import cell, faults, unjudged_lines
from grader.report.text import Numbers, result_status, visible, visible_line
from grader.result import Check, Result
from grader.words import check_title, text

COOKIE = "grade_token"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer: no script but our own, and no frame of another site around our pages."""
REPORT_POLICY = (
    f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{script_hash(REPORT)}'; "
    "frame-ancestors 'self'; sandbox allow-scripts"
)
"""The policy of reports: the one script of ours, whatever a student's text holds; its page is a stranger to all
others."""
GROUP_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-same-origin allow-popups"
)
"""The policy of the group's own pages, which sort and filter; every name in them is text."""
MOST_CLIENTS = 4096


def entered(request: Request, token: str) -> Response | None:
    """None for who has the token ("" where none is asked for); else what they are answered.

    Who brings it in the address gets it as a cookie, and an address without.
    """
    if not token:
        return None
    given = request.query_params.get("token", "")
    if given and hmac.compare_digest(given.encode(), token.encode()):
        answer = RedirectResponse(request.url.path, status_code=303)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
        return answer
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    for credential in (request.cookies.get(COOKIE, ""), bearer):
        if credential and hmac.compare_digest(credential.encode(), token.encode()):
            return None
    return Response("403", status_code=403)


def is_own(request: Request) -> bool:
    """Whether a request that changes something comes from our own page (or from no page at all)."""
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")


@dataclass(slots=True)
class Rate:
    """At most `most` requests of a client in `window_s` seconds."""

    most: int
    window_s: float = 60.0
    _seen: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)

    def wait_s(self, client: str) -> float:
        """0 and the request counts, or after how many seconds the next one may come."""
        now = time.monotonic()
        times = self._seen.setdefault(client, deque())
        self._seen.move_to_end(client)
        while len(self._seen) > MOST_CLIENTS:
            self._seen.popitem(last=False)
        while times and now - times[0] >= self.window_s:
            times.popleft()
        if len(times) >= self.most:
            return self.window_s - (now - times[0])
        times.append(now)
        return 0.0


MOST_BYTES = {".cu": 1 << 20, ".ipynb": 8 << 20}
"""Largest size of a submitted file, in bytes, by its suffix."""
LOOK_S = 0.1
BODY_S = 60.0
"""How long a file may take to arrive: a connection that sends nothing more would be held for ever."""
_NAME = re.compile(r"[^\w .+-]")


@dataclass(frozen=True, slots=True)
class Settings:
    """How the page is served.

    token: of the class, "" for none.  teacher_token: of the group's page.  reports: its folder, None for none.
    hosts: names that the page is called by.  a_minute: files that a client may hand in.
    """

    language: str
    labs_folders: tuple[str, ...] = ()
    token: str = ""
    teacher_token: str = ""
    reports: Path | None = None
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    a_minute: int = 60


@dataclass(slots=True)
class Page:
    """The application's answers.

    is_ending: whether the server is about to end, so that nobody is told any more.
    """

    settings: Settings
    jobs: Jobs
    is_ending: Callable[[], bool]
    rate: Rate = field(init=False)

    def __post_init__(self) -> None:
        self.rate = Rate(self.settings.a_minute)

    async def index(self, request: Request) -> Response:
        """The page itself."""
        refused = entered(request, self.settings.token)
        if refused is not None:
            return _with(refused)
        language = self._language(request)
        i18n.use(language)
        from grader.report.html import environment

        folders = [Path(folder) for folder in self.settings.labs_folders]
        all_labs = sorted((self.jobs.lab(name) for name in labs.folders(folders)), key=labs.by_course)
        titles = [(lab.id, in_language(lab.title, language)) for lab in all_labs]
        html = (
            environment()
            .get_template("serve/page.html.j2")
            .render(labs=titles, language=language, languages=i18n.languages(), words=_words())
        )
        return _with(Response(html, media_type="text/html"))

    async def asset(self, request: Request) -> Response:
        """Our own style and script."""
        name = request.path_params["name"]
        kinds = {
            "report.css": (STYLES, "text/css"),
            "page.css": ("serve/page.css", "text/css"),
            "page.js": ("serve/page.js", "text/javascript"),
        }
        if name not in kinds:
            return _with(Response(status_code=404))
        file, kind = kinds[name]
        return _with(FileResponse(data_root() / "templates" / file, media_type=kind))

    async def hand_in(self, request: Request) -> Response:
        """A file in the body; `lab`, `name` and `lang` in the address.  Answers the job's id."""
        refused = entered(request, self.settings.token)
        if refused is not None or not is_own(request):
            return _with(refused or Response(status_code=403))
        language = self._language(request)
        i18n.use(language)
        lab = request.query_params.get("lab", "")
        if lab not in labs.folders([Path(folder) for folder in self.settings.labs_folders]):
            return _complaint(_("there is no such lab"), 404)
        suffix = Path(request.query_params.get("name", "")).suffix.lower()
        if suffix not in MOST_BYTES:
            return _complaint(_("a .cu file or a notebook (.ipynb) is expected"), 415)
        wait_s = self.rate.wait_s(request.client.host if request.client else "")
        if wait_s:
            return _later(_("too many files in one minute; the page will try again"), 429, wait_s)
        try:
            async with asyncio.timeout(BODY_S):
                content = await _body(request, MOST_BYTES[suffix])
        except ClientDisconnect:
            return _with(Response(status_code=400))
        except TimeoutError:
            i18n.use(language)
            late = _complaint(_("the file did not arrive within {n} s").format(n=f"{BODY_S:g}"), 408)
            late.headers["Connection"] = "close"
            return late
        i18n.use(language)
        if content is None:
            return _complaint(_("the file is larger than {n} MB").format(n=MOST_BYTES[suffix] >> 20), 413)
        stem = _NAME.sub("_", Path(request.query_params["name"]).stem)[:60].strip(". ") or lab
        try:
            job = self.jobs.hand_in(f"{stem}{suffix}", content, lab, language)
        except Full:
            return _later(_("many files are waiting; the page will try again"), 503, 5)
        except OSError:
            return _complaint(_("the file could not be kept"), 507)
        return _with(JSONResponse({"id": job.id}, status_code=202))

    async def state(self, request: Request) -> Response:
        """What is known of a job by now."""
        job = self._job(request)
        return job if isinstance(job, Response) else _with(JSONResponse(_state(job, job.now, self.jobs)))

    async def events(self, request: Request) -> Response:
        """The same as server-sent events, one at every change, until it is over."""
        job = self._job(request)
        if isinstance(job, Response):
            return job
        return _with(StreamingResponse(_changes(job, self.jobs, self.is_ending), media_type="text/event-stream"))

    async def report(self, request: Request) -> Response:
        """The report of a job that is done."""
        job = self._job(request)
        if isinstance(job, Response):
            return job
        if not job.report.is_file():
            return _with(Response(status_code=404))
        answer = FileResponse(job.report, media_type="text/html")
        return _with(answer, {"Content-Security-Policy": REPORT_POLICY})

    async def group(self, request: Request) -> Response:
        """A page or a report of the group, for who has the teacher's token."""
        refused = entered(request, self.settings.teacher_token)
        if refused is not None:
            return _with(refused)
        folder = self.settings.reports
        if folder is None:
            return _with(Response(status_code=404))
        wanted = (folder / request.path_params["path"]).resolve()
        kinds = {".html": "text/html", ".pdf": "application/pdf"}
        if not wanted.is_relative_to(folder.resolve()) or wanted.suffix not in kinds or not wanted.is_file():
            return _with(Response(status_code=404))
        policy = GROUP_POLICY if wanted.parent == folder.resolve() else REPORT_POLICY
        return _with(FileResponse(wanted, media_type=kinds[wanted.suffix]), {"Content-Security-Policy": policy})

    def _job(self, request: Request) -> Job | Response:
        refused = entered(request, self.settings.token)
        if refused is not None:
            return _with(refused)
        # Nobody can guess an id, so nobody sees another's work.
        return self.jobs.get(request.path_params["id"]) or _with(Response(status_code=404))

    def _language(self, request: Request) -> str:
        asked = request.query_params.get("lang", "")
        return asked if asked in i18n.languages() else self.settings.language


def application(settings: Settings, jobs: Jobs, is_ending: Callable[[], bool] = lambda: False) -> Starlette:
    """The application; `jobs` is entered and left by whoever runs it, which `is_ending` says is about to be done."""
    page = Page(settings, jobs, is_ending)
    routes = [
        Route("/", page.index),
        Route("/assets/{name}", page.asset),
        Route("/jobs", page.hand_in, methods=["POST"]),
        Route("/jobs/{id}", page.state),
        Route("/jobs/{id}/events", page.events),
        Route("/jobs/{id}/report", page.report),
        Route("/reports/{path:path}", page.group),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts), www_redirect=False)
    return Starlette(routes=routes, middleware=[hosts])


async def _body(request: Request, most: int) -> bytes | None:
    """What is sent, None when it is more than `most` bytes: no more of it is read."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            return None
    return bytes(content)


async def _changes(job: Job, jobs: Jobs, is_ending: Callable[[], bool]) -> AsyncIterator[str]:
    sent = 0
    # The page asks again when there is a server again.
    while not is_ending():
        for standing in job.standings[sent:]:
            sent += 1
            yield f"data: {json.dumps(_state(job, standing, jobs), ensure_ascii=False)}\n\n"
            if standing.is_over:
                return
        await asyncio.sleep(LOOK_S)


def _state(job: Job, standing: Standing, jobs: Jobs) -> dict[str, Any]:
    i18n.use(job.language)
    numbers = Numbers(job.language)
    record: dict[str, Any] = {
        "state": standing.state,
        "over": standing.is_over,
        "checks": [_check(check, numbers) for check in standing.checks.values()],
        "reason": visible_line(text(standing.reason)) if standing.reason else "",
    }
    if standing.result is not None:
        record |= _verdict(standing.result, job, jobs.lab(job.lab), numbers)
    if standing.state == "done" and job.report.is_file():
        record["report"] = f"jobs/{job.id}/report"
    return record


def _check(check: Check, numbers: Numbers) -> dict[str, str]:
    shown = cell(check, numbers)
    return {
        "variant": check.variant,
        "title": check_title(check.check),
        "key": shown["key"],
        "symbol": shown["symbol"],
        "word": shown["word"],
        "points": shown["points"],
    }


def _verdict(result: Result, job: Job, lab: Lab, numbers: Numbers) -> dict[str, Any]:
    status, score = result_status(result.status), result.score
    mark = numbers.mark(score.earned, score.possible)
    if score.pending:
        mark += ", " + _("{points} pending").format(points=numbers.points(score.pending))
    shown_faults = [
        {
            "check": fault["check"],
            "variants": ", ".join(variant["name"] for variant in fault["variants"]),
            "where": visible(fault["where"]),
            "code_before": visible(fault["code_before"]),
            "code": visible(fault["code"]),
            "message": visible(fault["message"]),
            "hint": visible(fault["hint"]),
            "follows": [visible(line) for line in fault["follows"]],
            "lost": fault["lost"],
        }
        for fault in faults(make_job(result, lab, job.language), numbers)
    ]
    return {
        "key": status.key,
        "verdict": f"{status.symbol} {status.word}: {mark}",
        "unjudged": unjudged_lines(result, job.language),
        "faults": shown_faults,
    }


def _words() -> Mapping[str, str]:
    return {
        "which": _("Which lab is it? Choose it above."),
        "check": _("Check"),
        "waiting": _("Waiting for its turn …"),
        "grading": _("Grading …"),
        "judged": _("The report is being made …"),
        "report": _("The whole report"),
        "fix": _("What to fix"),
        "failed": _("The grader failed; this is not your fault."),
        "unreachable": _("The server cannot be reached; the page will try again."),
    }


def _with(answer: Response, more: Mapping[str, str] | None = None) -> Response:
    for name, value in {**HEADERS, **(more or {})}.items():
        answer.headers[name] = value
    return answer


def _complaint(message: str, code: int) -> Response:
    return _with(JSONResponse({"reason": message}, status_code=code))


def _later(message: str, code: int, wait_s: float) -> Response:
    return _with(JSONResponse({"reason": message}, status_code=code), {"Retry-After": str(int(wait_s) + 1)})
