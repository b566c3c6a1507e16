"""Chromium for tests: one headless browser, spoken to over its debugging pipe (no port, nothing to install).

    with Browser(folder) as browser:
        page = browser.open(address, width=1440, height=900, dark=False)
        page.until("document.body.dataset.looks > 1")
        page.value("document.title")
"""
import json
import os
import subprocess
import time

LIMIT_S = 60


class Browser:
    def __init__(self, folder):
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()
        # Its file descriptors 3 and 4 are the pipe, whatever numbers they have here.
        shell = f'exec 8<&{to_browser} 9>&{from_browser} && exec 3<&8 4>&9 && exec "$@" 8<&- 9>&-'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", "chromium", "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--proxy-server=direct://", "--hide-scrollbars",
             f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=[to_browser, from_browser], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.last, self.waiting, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("Browser.close")
        except EOFError:
            pass
        os.close(self.out)
        os.close(self.into)
        self.process.wait(LIMIT_S)

    def hear(self):
        while b"\0" not in self.waiting:
            more = os.read(self.into, 1 << 20)
            if not more:
                raise EOFError("the browser is gone")
            self.waiting += more
        text, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, session=None, **params):
        self.last += 1
        said = {"id": self.last, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(said).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            heard = self.hear()
            if heard.get("id") == self.last:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']['message']}")
                return heard["result"]
            self.events.append(heard)

    def open(self, address, width, height, dark=False):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        page.ask("Runtime.enable")
        page.size(width, height)
        page.scheme(dark)
        page.ask("Page.navigate", url=address)
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def ask(self, method, **params):
        return self.browser.ask(method, self.session, **params)

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, dark):
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def value(self, script):
        """Of an expression, awaited if it is a promise."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return told["result"].get("value")

    def until(self, script, limit_s=LIMIT_S):
        end = time.monotonic() + limit_s
        while not self.value(f"Boolean({script})"):
            if time.monotonic() > end:
                raise TimeoutError(f"it did not come to: {script}")
            time.sleep(0.05)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9}[key])

    def errors(self):
        """What went wrong in scripts since the last time."""
        heard, self.browser.events = self.browser.events, []
        return [event["params"]["exceptionDetails"].get("exception", {}).get("description", "?") for event in heard
                if event.get("method") == "Runtime.exceptionThrown"]

    def picture(self, path, whole=True):
        import base64
        size = self.value("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                        **({"clip": clip} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(told["data"]))
