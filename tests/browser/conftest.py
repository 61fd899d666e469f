"""Apps in their own processes, a real Chromium, and visitors who notice every complaint of the console."""

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

from tests.browser.visitor import Visitor
from tests.browser_setup import find_browser

ROOT = Path(__file__).resolve().parents[2]
SECONDS_TO_START = 60


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One headless Chromium for all tests; a machine without one fails here, and says what to do."""
    path = find_browser()
    if path is None:
        pytest.fail("the browser tests need a Chromium: python tests/browser_setup.py --install")
    # The first two keep pictures the same everywhere; the others keep the browser from calling home.
    flags = ["--hide-scrollbars", "--force-color-profile=srgb", "--disable-dev-shm-usage"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")  # Chromium refuses its sandbox to root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def streamlit_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """``streamlit_server(script, **environment)``: starts a script of the project on a free port, returns its address.

    The same script with the same environment is started once per session; all end with the session. The log of one that
    does not come up is shown.
    """
    running: dict[tuple, tuple[subprocess.Popen, str]] = {}

    def start(script: Path | str, *, arguments: tuple[str, ...] = (), **environment: str) -> str:
        path = ROOT / script
        known = (str(path), arguments, tuple(sorted(environment.items())))
        if known not in running:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            command = [
                *(sys.executable, "-m", "streamlit", "run", str(path), "--server.address", "127.0.0.1"),
                *("--server.port", str(port), "--server.headless", "true", "--server.fileWatcherType", "none"),
                *arguments,
            ]
            log = tmp_path_factory.mktemp("server") / "log.txt"
            with log.open("wb") as output:
                process = subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            address = f"http://127.0.0.1:{port}"
            running[known] = (process, address)
            _wait(process, address, log)
        return running[known][1]

    yield start
    for process, _ in running.values():
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def server(streamlit_server: Callable[..., str]) -> str:
    """Address of the running app."""
    return streamlit_server("app.py")


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


def _wait(process: subprocess.Popen, address: str, log: Path) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"the app ended at once:\n{log.read_text(errors='replace')}")
        if _healthy(address):
            return
        time.sleep(0.2)
    pytest.fail(f"the app was not up after {SECONDS_TO_START} s:\n{log.read_text(errors='replace')}")


def _healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False
