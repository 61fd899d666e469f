"""The app in its own process, a real Chromium, and visitors who notice every complaint of the console."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visitor import Visitor
from tests.browser_setup import find_browser

ROOT = Path(__file__).resolve().parents[2]
SECONDS_TO_START = 60


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running app; its log is shown when it does not come up."""
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "streamlit", "run", "app.py", "--server.address", "127.0.0.1"),
        *("--server.port", str(port), "--server.headless", "true", "--server.fileWatcherType", "none"),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(SECONDS_TO_START * 5):
            if _healthy(address):
                break
            if process.poll() is not None:
                pytest.fail(f"the app ended at once:\n{log.read_text(errors='replace')}")
            time.sleep(0.2)
        else:
            pytest.fail(f"the app was not up after {SECONDS_TO_START} s:\n{log.read_text(errors='replace')}")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def _healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; a machine without one fails here, and says what to do."""
    path = find_browser()
    if path is None:
        pytest.fail("the browser tests need a Chromium: python tests/browser_setup.py --install")
    # Chromium refuses its sandbox to root; the other flags keep it from calling home.
    flags = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser, server: str) -> Iterator[Callable[..., Visitor]]:
    """Opens the app for a new visitor: ``visit("?lang=zh", width=390, scheme="dark", locale="zh-CN")``.

    At the end of the test every visitor must have met a console without a word of complaint.
    """
    visitors: list[Visitor] = []

    def new(
        path: str = "", *, width: int = 1280, height: int = 900, scheme: str = "light", locale: str = "en-US"
    ) -> Visitor:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale  # type: ignore[arg-type]
        )  # fmt: skip
        visitors.append(Visitor(context.new_page(), server))
        visitors[-1].open(path)
        return visitors[-1]

    yield new
    complaints = [complaint for visitor in visitors for complaint in visitor.complaints]
    for visitor in visitors:
        visitor.page.context.close()
    assert complaints == []
