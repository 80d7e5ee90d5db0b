"""`grade serve`: a real server, asked over HTTP and by a real browser."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests import browser
from tests.autograders.service import proportional_bytes, tree
from tests.marks_only import put_marks_only

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "submissions"
CONFLICT = (SAMPLES / "petrova" / "transpose.cu").read_bytes()
ENDLESS = re.sub(rb"(__global__[^{]*\{)", rb"\1 while (clock64() >= 0) { }", CONFLICT)
"""Keeps a grading process busy for as many steps as a kernel may take, in each of its kernels."""


class Server:
    """A running `grade serve`.  lines: what it printed."""

    def __init__(self, *options: str, folder: Path | None = None) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader", "serve", "--port", "0", "--backend", "emulator", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().decode()]
        address = re.search(r"http://\S+", self.lines[0])
        assert address, self.lines
        self.address = address[0]
        self.port = urlsplit(self.address).port or 0

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1200)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content

    def hand_in(self, content: bytes, query: str = "lab=transpose&name=a.cu", **headers: str) -> tuple[int, Any]:
        status, _headers, body = self.ask("POST", f"/jobs?{query}", content, **headers)
        return status, json.loads(body) if body.startswith(b"{") else body

    def changes(self, id: str) -> list[dict[str, Any]]:
        """What the server tells of a file until it is over."""
        lines = self.ask("GET", f"/jobs/{id}/events")[2].decode().splitlines()
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]

    def end_of(self, id: str, within_s: float = 1200.0) -> dict[str, Any]:
        deadline = time.monotonic() + within_s
        while True:
            state: dict[str, Any] = json.loads(self.ask("GET", f"/jobs/{id}")[2])
            if state["over"]:
                return state
            assert time.monotonic() < deadline, state
            time.sleep(0.2)

    def close(self) -> int:
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(300)
        finally:
            self.process.kill()
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server("--per-minute", "100")
    yield server
    server.close()


@pytest.mark.slow
def test_a_file_is_graded_and_its_report_shown(server: Server) -> None:
    status, told = server.hand_in(CONFLICT)
    assert status == 202
    seen = server.changes(told["id"])
    # Checks come while others are still to be judged.
    counts = [len(state["checks"]) for state in seen]
    assert counts == sorted(counts)
    assert len({count for count in counts if 0 < count < counts[-1]}) >= 1
    # Who asks when it is over is told the same: every change is told, however fast they came.
    assert server.changes(told["id"]) == seen
    final = seen[-1]
    assert final["state"] == "done"
    assert final["verdict"] == "✗ needs work: 76 of 91 points, 5 pending"
    (fault,) = final["faults"]
    # Where the cause is; what was measured follows from it.
    assert fault["where"] == "a.cu:34"
    assert [line.partition(" (")[0] for line in fault["follows"]] == [
        "bank conflicts · padded: 32-way bank conflict in line 44"
    ]
    status, headers, page = server.ask("GET", f"/{final['report']}")
    assert status == 200
    # The report's own script may run, in a page that is a stranger to every other.
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    (script,) = re.findall(rb"<script>(.*?)</script>", page, re.DOTALL)
    assert policy["script-src"] == f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
    assert policy["sandbox"] == "allow-scripts"
    assert b"bank conflict" in page
    # Nobody said who has written it: the report goes by the file's name.
    assert b"<dt>Student</dt><dd>a</dd>" in page


def test_what_is_not_taken_is_told(server: Server) -> None:
    assert server.hand_in(CONFLICT, "lab=none&name=a.cu") == (404, {"reason": "there is no such lab"})
    assert server.hand_in(CONFLICT, "lab=transpose&name=a.exe")[0] == 415
    assert server.hand_in(b"x" * ((1 << 20) + 1)) == (413, {"reason": "the file is larger than 1 MB"})
    assert server.hand_in(CONFLICT, Origin="http://evil.example")[0] == 403
    assert server.ask("GET", "/", Host="evil.example")[0] == 400
    assert server.ask("GET", "/jobs/unknown")[0] == 404
    assert server.ask("GET", "/assets/../page.html.j2")[0] == 404
    assert server.ask("GET", "/reports/transpose.html")[0] == 404
    status, headers, _page = server.ask("GET", "/?lang=ru")
    assert status == 200
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "set-cookie" not in headers


@pytest.mark.slow
def test_what_cannot_be_graded_is_told_on_the_page(server: Server) -> None:
    for content, query, state in (
        (b"\x00\x01", "lab=transpose&name=a.cu", "refused"),
        (b"{}", "lab=transpose&name=..%2f..%2fx.ipynb&lang=ru", "refused"),
    ):
        status, told = server.hand_in(content, query)
        assert status == 202
        final = server.end_of(told["id"])
        assert final["state"] == state
        assert final["reason"] and str(tempfile.gettempdir()) not in final["reason"]
    # A program that is no program gets its verdict: it is the student's.
    _status, told = server.hand_in(b"__global__ void naive( {")
    assert server.end_of(told["id"])["state"] == "done"


@pytest.mark.slow
def test_a_dozen_at_once_and_none_is_lost(tmp_path: Path) -> None:
    put_marks_only(tmp_path)
    # Fewer may wait than come at once: the others are told when to come again, as the page does by itself.
    server = Server("--per-minute", "1000", "--jobs", "2", "--waiting", "4", folder=tmp_path)
    ids: list[str] = []
    refused: list[int] = []
    problems: list[str] = []

    def hand_in(number: int) -> None:
        query = f"lab=transpose&name=s{number}.cu"
        while True:
            status, headers, body = server.ask("POST", f"/jobs?{query}", CONFLICT + b"\n// %d\n" % number)
            if status == 202:
                ids.append(json.loads(body)["id"])
                return
            if status != 503:
                problems.append(f"{status} {body!r}")
                return
            refused.append(number)
            time.sleep(int(headers["retry-after"]))

    try:
        threads = [threading.Thread(target=hand_in, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        peak = 0
        while any(thread.is_alive() for thread in threads):
            peak = max(peak, sum(map(proportional_bytes, tree(server.process.pid))))
            time.sleep(0.5)
        assert not problems
        assert refused
        assert len(set(ids)) == 12
        for id in ids:
            final = server.end_of(id)
            peak = max(peak, sum(map(proportional_bytes, tree(server.process.pid))))
            assert final["state"] == "done", final
            assert "76 of 91" in final["verdict"]
            assert server.ask("GET", f"/{final['report']}")[0] == 200
        print(f"{peak >> 20} MB")
        assert peak <= 1500 << 20
    finally:
        server.close()


def test_the_rate_and_the_queue_are_bounded() -> None:
    server = Server("--per-minute", "3", "--waiting", "1")
    try:
        # It is graded for as long as others are refused.
        assert server.hand_in(ENDLESS)[0] == 202
        status, headers, body = server.ask("POST", "/jobs?lab=transpose&name=a.cu", CONFLICT)
        assert (status, headers["retry-after"]) == (503, "6"), body
        assert server.hand_in(CONFLICT)[0] == 503
        status, headers, body = server.ask("POST", "/jobs?lab=transpose&name=a.cu", CONFLICT)
        assert status == 429, body
        assert 0 < int(headers["retry-after"]) <= 61
    finally:
        server.close()


def test_ctrl_c_is_one_line_whoever_is_connected() -> None:
    server = Server()
    followed = http.client.HTTPConnection("127.0.0.1", server.port, timeout=1200)
    with socket.create_connection(("127.0.0.1", server.port)) as half, contextlib.closing(followed):
        # What is no request, and one that never comes to its end.
        with socket.create_connection(("127.0.0.1", server.port)) as junk:
            junk.sendall(b"\x16\x03\x01\r\n\r\n")
            assert junk.recv(100).startswith(b"HTTP/1.1 400 ")
        half.sendall(b"POST /jobs?lab=transpose&name=a.cu HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na")
        _status, told = server.hand_in(ENDLESS)
        followed.request("GET", f"/jobs/{told['id']}/events")
        assert followed.getresponse().fp.readline()
        server.process.send_signal(signal.SIGINT)
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b"grade: interrupted\n"
        assert server.close() == 130


def test_others_need_the_token(tmp_path: Path) -> None:
    (tmp_path / "transpose.html").write_text("<h1>Group</h1>", "utf-8")
    (tmp_path / "secret.json").write_text("{}", "utf-8")
    server = Server("--host", "0.0.0.0", "--token", "a token of the class", "--reports", str(tmp_path))
    try:
        assert server.process.stdout is not None
        teacher = re.search(r"\?token=(\S+)", server.process.stdout.readline().decode())
        assert teacher
        for path in ("/", "/jobs/x", "/reports/transpose.html", "/?token=wrong"):
            assert server.ask("GET", path)[0] == 403, path
        assert server.hand_in(CONFLICT)[0] == 403
        status, headers, _body = server.ask("GET", "/?token=a%20token%20of%20the%20class")
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert server.ask("GET", "/", Cookie=cookie.split(";")[0])[0] == 200
        assert server.hand_in(CONFLICT, Authorization="Bearer a token of the class")[0] == 202
        # The class's token does not open the group's page, nor the teacher's other files.
        assert server.ask("GET", "/reports/transpose.html", Cookie=cookie.split(";")[0])[0] == 403
        bearer = f"Bearer {teacher[1]}"
        assert server.ask("GET", "/reports/transpose.html", Authorization=bearer)[0] == 200
        assert server.ask("GET", "/reports/secret.json", Authorization=bearer)[0] == 404
        assert server.ask("GET", "/reports/..%2f..%2fetc/passwd.html", Authorization=bearer)[0] == 404
    finally:
        server.close()


def dropped(page: browser.Browser) -> None:
    """A file, dropped on the page."""
    page.run(
        f"""(() => {{
        const data = new DataTransfer();
        data.items.add(new File([{json.dumps(CONFLICT.decode())}], "mine<b>.cu"));
        document.getElementById("drop").dispatchEvent(
            new DragEvent("drop", {{dataTransfer: data, bubbles: true, cancelable: true}}));
        }})()"""
    )


@pytest.mark.slow
@pytest.mark.skipif(not browser.PROGRAM, reason="no Chromium here")
def test_a_file_outlives_the_server() -> None:
    server = Server("--jobs", "1")
    try:
        with browser.Browser() as page:
            # Another's file is graded first, so that this one is not done before it is looked at.
            assert server.hand_in(ENDLESS)[0] == 202
            page.open(server.address)
            page.run("document.getElementById('lab').value = 'transpose'")
            dropped(page)
            page.wait("document.querySelector('article p').textContent === document.body.dataset.grading")
            os.killpg(server.process.pid, signal.SIGKILL)
            server.close()
            server = Server("--port", str(server.port))
            page.wait("document.querySelector('article .verdict')")
            assert "76 of 91 points" in page.run("document.querySelector('article').innerText")
    finally:
        server.close()


@pytest.mark.slow
@pytest.mark.skipif(not browser.PROGRAM, reason="no Chromium here")
def test_a_student_drops_a_file_in_a_browser(server: Server, tmp_path: Path) -> None:
    with browser.Browser() as page:
        page.open(server.address)
        # No lab is meant until somebody says which: a file that is named after none waits for it.
        dropped(page)
        page.wait("document.querySelector('article p').innerText.startsWith('Which lab is it?')")
        page.run("document.getElementById('lab').value = 'transpose'")
        page.run("document.getElementById('lab').dispatchEvent(new Event('change'))")
        page.run("isLabChosen = false")
        page.wait("document.querySelector('article .verdict')")
        text = page.run("document.querySelector('article').innerText")
        assert "mine<b>.cu · Matrix transposition" in text
        # A file that is named after a lab is that lab's, until somebody chooses one.
        assert page.run("labOf('Matmul.cu').value + ' ' + labOf('mine.cu').value") == "matmul transpose"
        page.run("document.getElementById('lab').dispatchEvent(new Event('change'))")
        assert page.run("labOf('matmul.cu').value") == "transpose"
        assert "76 of 91 points, 5 pending" in text
        assert "32-way bank conflict" in text
        page.wait("document.querySelector('article iframe')")
        assert page.run("document.querySelector('article iframe').getAttribute('sandbox')") == "allow-scripts"
        # Everything that the report's page would ask for has been asked for.
        page.wait("performance.getEntriesByType('resource').some(e => e.initiatorType === 'iframe' && e.responseEnd)")
        if os.environ.get("GRADER_PICTURES"):
            page.picture(Path(os.environ["GRADER_PICTURES"]) / "serve.png", 1100)
        # The sandboxed report tries nothing, and nothing of the page is refused by its policy.
        assert page.errors == []
        page.open(f"{server.address}?lang=ru")
        assert "Перетащите сюда файл" in page.run("document.body.innerText")


def test_a_wrong_order_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grader", "serve", "--lang", "en"]
    for more, said in ((["--token", "short"], "at least 12"), (["--reports", str(tmp_path / "no")], "no such folder")):
        run = subprocess.run([*command, *more], capture_output=True, text=True, timeout=600, cwd=ROOT)
        assert (run.returncode, said in run.stderr) == (2, True), run.stderr
