"""A headless Chromium for tests, driven by chromedriver (Debian: chromium-driver) over the WebDriver protocol."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

DRIVER = shutil.which("chromedriver")
_BINARY = os.environ.get("PUOC_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
_ENTER = "\ue007"
_PATIENCE = 120.0  # seconds; a page that is not there then is taken for one that never comes


class Browser:
    """One session of a browser."""

    def __init__(self, port: int):
        self._at = f"http://127.0.0.1:{port}"
        options = {"binary": _BINARY, "args": list(_OPTIONS)}
        wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
        self._session = f"/session/{self._call('/session', {'capabilities': wanted})['sessionId']}"

    def _call(self, path: str, body: object) -> Any:
        data = json.dumps(body).encode()
        with urlopen(Request(self._at + path, data, {"Content-Type": "application/json"}), timeout=_PATIENCE) as answer:
            return json.load(answer)["value"]

    def run(self, script: str, *given: object) -> Any:
        """Run JavaScript in the page and return what it returns."""
        return self._call(f"{self._session}/execute/sync", {"script": script, "args": list(given)})

    def run_async(self, script: str, *given: object) -> Any:
        """Run JavaScript that calls its last argument with what is returned."""
        return self._call(f"{self._session}/execute/async", {"script": script, "args": list(given)})

    def open(self, page: Path, width: int = 1280, scheme: str = "light", media: str = "screen") -> None:
        """Open a page at a width in pixels and in a colour scheme, and return when it has been loaded.

        ``media`` is ``screen`` or ``print``, which shows the page as it is printed.
        """
        look = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
        self._command("Emulation.setDeviceMetricsOverride", look)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._command("Emulation.setEmulatedMedia", {"media": media, "features": features})
        # by way of an empty page: the answer to `url` may come before the new page replaces the old one
        for address in ("about:blank", page.resolve().as_uri()):
            self._call(f"{self._session}/url", {"url": address})
            self._loaded(address)

    def _loaded(self, address: str) -> None:
        shown, until = None, time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            shown = self.run("return [location.href, document.readyState]")
            if shown == [address, "complete"]:
                return
            time.sleep(0.02)
        raise TimeoutError(f"the browser shows {shown}, not {address}")

    def settled(self, script: str) -> Any:
        """Value of an expression once it is truthy in a page that has been loaded, or what it is at last."""
        value, until = None, time.monotonic() + _PATIENCE
        while not value and time.monotonic() < until:
            with suppress(HTTPError):  # the page is left meanwhile, or lacks what is asked for
                value = self.run(f"return document.readyState === 'complete' && ({script})")
            if not value:
                time.sleep(0.02)
        return value

    def press(self, keys: str = _ENTER) -> None:
        """Press keys where the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call(f"{self._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def log(self) -> list[str]:
        """Return the messages of the console."""
        return [entry["message"] for entry in self._call(f"{self._session}/se/log", {"type": "browser"})]

    def close(self) -> None:
        """End the session."""
        urlopen(Request(self._at + self._session, method="DELETE"), timeout=_PATIENCE).close()

    def _command(self, name: str, params: object) -> Any:
        return self._call(f"{self._session}/goog/cdp/execute", {"cmd": name, "params": params})


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser and end it with all that it started."""
    assert DRIVER is not None, "chromedriver is installed"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                urlopen(f"http://127.0.0.1:{port}/status", timeout=_PATIENCE).close()
                break
            except OSError:
                assert driver.poll() is None, "chromedriver has ended"
                time.sleep(0.1)
        found = Browser(port)
        try:
            yield found
        finally:
            found.close()
    finally:
        driver.terminate()
        driver.wait(_PATIENCE)
