"""How long people wait: from the app's start to the first heatmap, and from a switch to the redrawn grid.

python tests/benchmarks/bench_explore.py

A fresh server and a browser whose cache already holds the app's own files, as on any visit but the first; then a window
that grows click by click at 12 heads x 32 tokens on the pretrained model, each step computed anew. Prints seconds,
milliseconds and bytes; wall time, so only a quiet machine tells something.
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser.visitor import Visitor  # noqa: E402
from tests.browser_setup import find_browser  # noqa: E402

TEXT_OF_32 = (
    "The quick brown fox jumps over the lazy dog while the old cat sleeps in the warm sun and the small birds now sing "
    "in the tall green trees."
)
DRAWN = "document.querySelector('.st-key-explore_grid_chart .js-plotly-plot .heatmaplayer image')"
# Clicks inside the page and waits there too, so that the way between Python and the browser is not measured.
SWITCH = """() => new Promise(done => {
  const plot = () => document.querySelector('.st-key-explore_grid_chart .js-plotly-plot');
  const before = plot().layout.meta;
  const button = document.querySelector('.st-key-explore_window button[data-testid=stNumberInputStepUp]');
  const start = performance.now();
  button.click();
  const look = () => {
    const now = plot();
    if (now && now._fullLayout && now.layout.meta !== before && now.querySelector('.heatmaplayer image'))
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
    else setTimeout(look, 2);
  };
  look();
})"""


def main() -> None:
    """Runs both measurements."""
    flags = ["--disable-background-networking", "--disable-sync", "--no-first-run"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=find_browser(), args=flags, viewport={"width": 1440, "height": 900}
        )
        page = context.new_page()
        starts = []
        for round_ in range(4):
            process, address, start = _start()
            try:
                _open(page, address, start)
                if round_:  # the first visit fills the browser's cache
                    starts.append(time.monotonic() - start)
                if round_ == 3:
                    _switches(page, address)
            finally:
                process.terminate()
                process.wait(timeout=20)
        print(f"start to first heatmap: median {statistics.median(starts):.1f} s of {[round(s, 1) for s in starts]}")
        context.close()


def _start() -> tuple[subprocess.Popen, str, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.monotonic()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "streamlit", "run", "app.py", "--server.address", "127.0.0.1"),
            *("--server.port", str(port), "--server.headless", "true", "--server.fileWatcherType", "none"),
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return process, f"http://127.0.0.1:{port}", start


def _open(page: Page, address: str, start: float) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                break
        except OSError:
            if time.monotonic() - start > 60:
                raise
            time.sleep(0.02)
    page.goto(address)
    page.wait_for_function(DRAWN, polling=20, timeout=60_000)


def _switches(page: Page, address: str) -> None:
    """Times first, bytes after: whoever listens to every message slows the browser down."""
    path = "?text=" + TEXT_OF_32.replace(" ", "+")
    page.goto(f"{address}/{path}")
    page.wait_for_function(DRAWN)
    times = []
    for number in range(12):
        page.wait_for_timeout(1000)
        took = page.evaluate(SWITCH)
        if number >= 2:
            times.append(took)
    visitor = Visitor(page, address)
    visitor.open(f"{path}&temperature=0.9")
    page.wait_for_function(DRAWN)
    sizes = []
    for _ in range(3):
        page.wait_for_timeout(1000)
        visitor.forget_bytes()
        page.evaluate(SWITCH)
        visitor.settle()
        page.wait_for_timeout(500)
        sizes.append(visitor.received)
    print(f"switch to redrawn grid: median {statistics.median(times):.0f} ms of {sorted(round(t) for t in times)}")
    print(f"bytes of a switch: at most {max(sizes):,}")


if __name__ == "__main__":
    main()
