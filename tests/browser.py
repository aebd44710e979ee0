"""Chromium without a window, driven over a pipe by its DevTools protocol: nothing to install but the browser."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

from conftest import LIMIT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None and os.environ.get("CI"):
    CHROMIUM = "chromium"  # tests that would be skipped without a browser fail in CI
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--user-data-dir={folder}",
)


class Browser:
    """One page. What it complains of is in ``complaints``, what it asked for in ``requests``."""

    def __init__(self, folder, timeout=LIMIT):
        options = [option.format(folder=folder) for option in OPTIONS]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")
        child_in, self._out = os.pipe()
        self._in, child_out = os.pipe()
        # The browser reads from 3 and writes to 4; a shell puts the pipes there.
        shell = f'exec "$@" 3</dev/fd/{child_in} 4>/dev/fd/{child_out}'
        self._process = subprocess.Popen(
            ["sh", "-c", shell, "sh", CHROMIUM, *options],
            pass_fds=(child_in, child_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_in)
        os.close(child_out)
        self._timeout, self._number, self._rest, self._session = timeout, 0, b"", None
        self.complaints, self.requests = [], []

    def __enter__(self):
        try:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.ask(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(self._timeout)

    def ask(self, method, **parameters):
        """What the browser answers."""
        self._number += 1
        question = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            question["sessionId"] = self._session
        os.write(self._out, json.dumps(question).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def open(self, path, width=1200, height=900, *, dark=False, phone=False):
        """Open a file, and wait until it is there."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=scheme)
        self.complaints.clear()
        self.requests.clear()
        self.ask("Page.navigate", url=Path(path).absolute().as_uri())
        self.wait("document.readyState === 'complete'")

    def value(self, expression):
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression):
        """Wait until an expression is true; it is returned."""
        end = time.monotonic() + self._timeout
        while not (found := self.value(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)
        return found

    def point(self, x, y):
        """Move the mouse to a place of the window."""
        for step in (-1, 0):
            self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y)
            time.sleep(0.1)  # a hand does not jump either, and pages answer the first of many moves

    def picture(self, path, *, whole=False):
        """Write what is seen, or the whole page, as PNG."""
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(answer["data"]))

    def _message(self):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], self._timeout)
            found = os.read(self._in, 2**20) if ready else b""
            assert found, "the browser does not answer"
            self._rest += found
        raw, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(raw)
        method, about = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"].get("exception", {}).get("description") or str(about))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(about["args"]))
        return message
