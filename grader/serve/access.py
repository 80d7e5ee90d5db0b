"""Who may use the page: the token, the host's name, and how often."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from grader.report.page.html import REPORT, script_hash

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
"""Of every answer: nothing but our own script, no page of others' around ours."""
REPORT_POLICY = (
    f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{script_hash(REPORT)}'; "
    "frame-ancestors 'self'; sandbox allow-scripts"
)
"""Of reports: the one script of ours, whatever a student's text holds; its page is a stranger to all others."""
GROUP_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-same-origin allow-popups"
)
"""Of the group's own pages, which sort and filter; every name in them is text."""
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
    for known in (request.cookies.get(COOKIE, ""), bearer):
        if known and hmac.compare_digest(known.encode(), token.encode()):
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
