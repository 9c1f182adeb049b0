# SPDX-License-Identifier: MIT
"""A headless Chromium, spoken to through its debugging pipe: real mouse, wheel and key events, no network, no further packages."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Nothing may leave the machine, and nothing may be asked.
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
         "--remote-debugging-pipe"]


def find_browser():
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class Browser:
    def __init__(self, program, width, height, timeout=90):
        self.profile = tempfile.TemporaryDirectory(prefix="weft-page-", ignore_cleanup_errors=True)
        self.timeout = timeout
        to_child, from_child = os.pipe(), os.pipe()
        self.write_end, self.read_end = to_child[1], from_child[0]
        # High numbers first, for the pipes themselves may be 3 or 4.
        give, take = os.dup2(to_child[0], 50), os.dup2(from_child[1], 51)

        def place():
            os.dup2(give, 3)
            os.dup2(take, 4)
        self.process = subprocess.Popen([program, *FLAGS, "--window-size=%d,%d" % (width, height), "--user-data-dir=" + self.profile.name,
                                         "about:blank"], preexec_fn=place, pass_fds=(3, 4), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_child[0], from_child[1], give, take):
            os.close(end)
        self.buffer, self.count, self.session, self.events = b"", 0, None, []
        target = next(it for it in self.call("Target.getTargets")["targetInfos"] if it["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Network.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **params):
        self.count += 1
        number = self.count
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.timeout
        while True:
            got = self.receive(end)
            if got.get("id") == number:
                if "error" in got:
                    raise RuntimeError("%s: %s" % (method, got["error"]))
                return got["result"]
            self.events.append(got)

    def receive(self, end):
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path):
        self.call("Page.navigate", url="file://" + path)
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:600])
        return result["result"].get("value")

    def wait(self, condition):
        end = time.monotonic() + self.timeout
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError("never true: " + condition)
            time.sleep(.05)

    def frame(self):
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def drag(self, x, y, to_x, to_y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for i in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * i / 5, y + (to_y - y) * i / 5, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)
        self.frame()

    def wheel(self, x, y, by):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by)
        self.frame()

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.frame()

    def type(self, words):
        for letter in words:
            self.key(letter)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
        self.frame()

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def problems(self):
        """Exceptions in the page, and requests other than the page itself."""
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"])[:400])
            if event.get("method") == "Network.requestWillBeSent" and not event["params"]["request"]["url"].startswith("file:"):
                found.append(event["params"]["request"]["url"])
        return found

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError, TimeoutError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        self.profile.cleanup()
