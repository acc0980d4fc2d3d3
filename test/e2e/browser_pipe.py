# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that is asked through two pipes (its DevTools protocol): pages as people with other screens see them."""
import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = next((path for path in map(shutil.which, ("chromium-headless-shell", "chromium")) if path), None)
PATIENCE = 120


class Page:
    """One tab."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.send("Page.enable")
        self.send("Runtime.enable")

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def show(self, url, width, height=900, dark=False):
        """Open an address on a screen of that size, and wait until it is laid out."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.browser.events.clear()
        self.send("Page.navigate", url=url)
        self.browser.wait_for("Page.loadEventFired", self.session)

    def run(self, script):
        """The value of an expression in the page."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"])[:2000])
        return done["result"].get("value")

    def tab(self):
        """The key that leads to the next control."""
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def picture(self, path):
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))


class Browser:
    def __init__(self, commands, answers):
        self.commands, self.answers = commands, answers
        self.number, self.rest, self.events = 0, b"", []

    def _message(self, until):
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser gives no answer")
            got = os.read(self.answers, 1 << 20)
            if not got:
                raise EOFError("the browser ended")
            self.rest += got
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while (answer := self._message(until)).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_for(self, event, session):
        until = time.monotonic() + PATIENCE
        while not any(e.get("method") == event and e.get("sessionId") == session for e in self.events):
            self.events.append(self._message(until))

    def page(self):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        return Page(self, self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])


def _at_three_and_four(commands, answers):
    """In the child: the descriptors that Chromium reads and writes."""
    commands, answers = os.dup(commands), os.dup(answers)
    os.dup2(commands, 3)
    os.dup2(answers, 4)


@contextlib.contextmanager
def browser(*options, certificates=False):
    """A browser with nothing in its profile. certificates: it looks at them."""
    (its_commands, commands), (answers, its_answers) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(prefix="brigade-browser-", ignore_cleanup_errors=True) as profile, open(os.path.join(profile, "log"), "wb") as log:
        process = subprocess.Popen([PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
                                    *([] if certificates else ["--ignore-certificate-errors"]), f"--user-data-dir={profile}/profile", *options], stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log, close_fds=False, preexec_fn=lambda: _at_three_and_four(its_commands, its_answers))
        os.close(its_commands)
        os.close(its_answers)
        try:
            yield Browser(commands, answers)
        finally:
            os.close(commands)
            os.close(answers)
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
