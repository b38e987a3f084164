"""A headless Chromium over its debugging pipe: pages, scripts in them, screenshots. Standard library only."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", "--disable-extensions", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--font-render-hinting=none", "--disable-lcd-text",
         "--force-color-profile=srgb", "--remote-debugging-pipe", "about:blank")


FONTS = "/usr/share/fonts/truetype/dejavu"  # Debian's fonts-dejavu-core


def use_one_font(folder):
    """Letters are the same on every machine: DejaVu Sans whatever is asked for, and its monospaced sister. For browsers started from now on."""
    rule = "<match target='pattern'><test name='family' qual='{}' compare='{}'><string>{}</string></test><edit name='family' mode='assign' binding='strong'><string>{}</string></edit></match>"
    rules = rule.format("any", "eq", "monospace", "DejaVu Sans Mono") + rule.format("all", "not_eq", "DejaVu Sans Mono", "DejaVu Sans")
    path = os.path.join(folder, "fonts.conf")
    with open(path, "w") as file:
        file.write(f"<?xml version='1.0'?><!DOCTYPE fontconfig SYSTEM 'fonts.dtd'><fontconfig><dir>{FONTS}</dir><cachedir>{folder}/cache</cachedir>{rules}</fontconfig>")
    os.environ["FONTCONFIG_FILE"] = path


def find():
    """The browser's path; None: there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one page. What the page says on its console, and what throws there, is in `said`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        their_in, self.write = os.pipe()
        self.read, their_out = os.pipe()
        line = f'exec "$0" --user-data-dir="$1" {" ".join(FLAGS)} 3<&{their_in} 4>&{their_out}'
        self.process = subprocess.Popen(["sh", "-c", line, find(), self.folder], pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.folder, "XDG_CONFIG_HOME": self.folder})
        os.close(their_in), os.close(their_out)
        self.number, self.buffer, self.events, self.said, self.asked_for = 0, b"", [], [], []
        page = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = None
        self.session = self.ask("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    session = None

    def close(self):
        try:
            self.ask("Browser.close", whole=True)
        except (OSError, RuntimeError):
            pass
        os.close(self.write), os.close(self.read)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                raise RuntimeError("the browser does not answer")
            part = os.read(self.read, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.said.append(params["exceptionDetails"].get("exception", {}).get("description") or params["exceptionDetails"]["text"])
        if method == "Runtime.consoleAPICalled":
            self.said.append(f"{params['type']}: {[each.get('value') for each in params['args']]}")
        if method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        if method == "Network.requestWillBeSent":
            self.asked_for.append(params["request"]["url"])

    def ask(self, method, params=None, whole=False, timeout=60):
        self.number += 1
        number, request = self.number, {"id": self.number, "method": method, "params": params or {}}
        if self.session and not whole:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            message = self.message(until)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def open(self, path, width=1280, scheme="light", height=900, script=True, touch=False):
        """Opens a file and waits until it is loaded; seconds that this took."""
        self.ask("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.ask("Emulation.setEmulatedMedia", {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.ask("Emulation.setScriptExecutionDisabled", {"value": not script})
        self.ask("Emulation.setTouchEmulationEnabled", {"enabled": touch})
        self.events, self.said, self.asked_for = [], [], []
        begun = time.monotonic()
        self.ask("Page.navigate", {"url": "file://" + os.path.abspath(path)})
        until = begun + 60
        while "Page.loadEventFired" not in self.events:
            self.note(self.message(until))
        if script:
            self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.monotonic() - begun

    def run(self, expression):
        """The value of an expression, or of the promise that it gives."""
        found = self.ask("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", found["exceptionDetails"]["text"]))
        return found["result"].get("value")

    def key(self, name, text="", modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", {"type": kind, "key": name, "code": name, "text": text if kind == "keyDown" else "", "modifiers": modifiers,
                                                "windowsVirtualKeyCode": {"Tab": 9, "Enter": 13, "Escape": 27}.get(name, 0)})

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def screenshot(self, whole=False):
        """PNG of what is seen, or of the whole page."""
        params = {"format": "png"}
        if whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            params |= {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        return base64.b64decode(self.ask("Page.captureScreenshot", params)["data"])

    def pdf(self):
        return base64.b64decode(self.ask("Page.printToPDF", {"printBackground": False})["data"])
