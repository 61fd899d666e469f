"""A browser and Streamlit servers, shared by all browser tests of a session."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser_setup import find_browser

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"]
READY_WITHIN = 60  # seconds


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One headless Chromium; open a context of your own per test."""
    path = find_browser()
    if path is None:
        pytest.fail(
            "the browser tests need a Chromium: none found; run `make browser`, or set CHROMIUM to the path of one"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def streamlit_server() -> Iterator[Callable[..., str]]:
    """``streamlit_server(script, **environment)`` starts a script of the project on a free port and returns its address.

    The same script with the same environment is started once per session; all end with the session.
    """
    running: dict[tuple, tuple[subprocess.Popen, str]] = {}

    def start(script: Path | str, **environment: str) -> str:
        path = ROOT / script
        known = (str(path), tuple(sorted(environment.items())))
        if known not in running:
            port = _free_port()
            settings = {
                "server.address": "127.0.0.1",
                "server.port": str(port),
                "server.headless": "true",
                "server.fileWatcherType": "none",
                "browser.gatherUsageStats": "false",
            }
            options = [part for name, value in settings.items() for part in (f"--{name}", value)]
            process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", str(path), *options],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            address = f"http://127.0.0.1:{port}"
            running[known] = (process, address)
            _wait(process, address)
        return running[known][1]

    yield start
    for process, _ in running.values():
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page of its own, 1440 x 1000, light; the test fails if the page raised an error."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, color_scheme="light")
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors, f"the page raised: {errors}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(process: subprocess.Popen, address: str) -> None:
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server must stay up: it ended with code {process.returncode}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise RuntimeError(f"the server must be ready within {READY_WITHIN} s: it was not")
