"""Chromium without a window, driven over its debugging pipe: as much of its protocol as our tests need.

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")

# In a container shared memory is a few megabytes, and a page that needs more crashes.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


class Browser:
    """One page of a browser; a context manager that ends it.  errors: what the page's console complained of."""

    def __init__(self, width: int = 1000, height: int = 1100) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def take() -> None:
            # The protocol's descriptors are 3 and 4.
            first, second = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        options = [*OPTIONS, "--hide-scrollbars", "--remote-debugging-pipe"]
        folder = f"--user-data-dir={self._profile.name}"
        self._process = subprocess.Popen(
            [PROGRAM, *options, folder, f"--window-size={width},{height}", "about:blank"],
            preexec_fn=take,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.errors: list[str] = []
        self._number, self._left, self._session = 0, b"", ""
        # By the ids of their loaders.
        self._loaded: set[str] = set()
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self._call("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def as_phone(self, width: int = 390) -> None:
        """As wide as a phone from now on; a window itself is never below 500."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=True)

    def open(self, address: str) -> None:
        """Go to a page and wait until it is loaded."""
        loader = self._call("Page.navigate", url=address)["loaderId"]
        # The page before may still be there, and complete, for a moment.
        while loader not in self._loaded:
            self._take(self._next())

    def run(self, script: str) -> Any:
        """What an expression of JavaScript comes to; a promise is waited for."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str, within_s: float = 600.0) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + within_s
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"{condition}; the page: {self.run('document.body.innerText')}"
            time.sleep(0.1)

    def picture(self, file: Path, height: int | None = None) -> None:
        """A screenshot of the page as PNG."""
        size = self.run("({width: innerWidth, height: document.documentElement.scrollHeight})")
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        answer = self._call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._out, json.dumps(request).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        """Take note of what the browser tells unasked."""
        given = message.get("params", {})
        match message.get("method"):
            case "Page.lifecycleEvent" if given["name"] == "load":
                self._loaded.add(given["loaderId"])
            case "Log.entryAdded" if given["entry"]["level"] == "error":
                self.errors.append(given["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.errors.append(str(given))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _w, _x = select.select([self._in], [], [], 600)
            assert ready, "the browser does not answer"
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser has ended"
            self._left += piece
        line, _zero, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
