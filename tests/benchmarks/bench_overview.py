"""What the overview costs: bytes of first views, and the time from a click on a cell to that head drawn.

python tests/benchmarks/bench_overview.py [--smollm2]

Bytes are websocket messages and media of the whole first view; the app's own files do not count. Times are taken inside
the page, from the click to two painted frames after the head of the new cell is there; wall time, so only a quiet
machine tells something.
"""

import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser.visitor import Visitor  # noqa: E402
from tests.browser_setup import find_browser  # noqa: E402

SENTENCE = "The cat sat on the mat, and the dog ran after the cat. "
CLICKS = 10
# Hovers first, as a hand does: Plotly takes a click only where it has hovered.
PLACE = """(plot, [row, head]) => {
  const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
  return [box.left + xaxis._offset + xaxis.d2p(head), box.top + yaxis._offset + yaxis.d2p(row)];
}"""
WATCH = """title => new Promise(done => {
  let start = null;
  addEventListener('mousedown', () => { start = performance.now(); }, {once: true, capture: true});
  const before = document.querySelector('.st-key-explore_head_chart .js-plotly-plot');
  const look = () => {
    const now = document.querySelector('.st-key-explore_head_chart .js-plotly-plot');
    const named = [...document.querySelectorAll('h2')].some(h => h.innerText.includes(title));
    if (start !== null && named && now && now !== before && now.querySelector('.heatmaplayer image'))
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
    else setTimeout(look, 2);
  };
  window.answer = null;
  look();
}).then(took => { window.answer = took; })"""


def main() -> None:
    """Starts the app, and prints bytes and milliseconds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.address", "127.0.0.1", "--server.port"]
    command += [str(port), "--server.headless", "true", "--server.fileWatcherType", "none"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
            for view, tokens in (("heads", 128), ("heads", 512), ("overview", 128), ("overview", 512)):
                _first_view(browser, address, tokens, {"view": view})
            _clicks(browser, address, 128)
            if "--smollm2" in sys.argv:
                _first_view(browser, address, 512, {"view": "overview", "source": "SmolLM2-135M-Instruct"})
            browser.close()
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(address: str) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _open(browser: Browser, address: str, tokens: int, settings: dict[str, str]) -> Visitor:
    words = (SENTENCE * (tokens // 12 + 1)).split()
    context = browser.new_context(viewport={"width": 1440, "height": 1600})
    visitor = Visitor(context.new_page(), address)
    visitor.page.goto(f"{address}/?" + urlencode({"text": " ".join(words[: int(tokens * 0.87)]), **settings}))
    visitor.plot("explore_head_chart" if settings["view"] == "overview" else "explore_grid_chart")
    visitor.settle(timeout=600)
    return visitor


def _first_view(browser: Browser, address: str, tokens: int, settings: dict[str, str]) -> None:
    visitor = _open(browser, address, tokens, settings)
    line = visitor.page.locator(".run-line").inner_text()
    print(f"{settings['view']}, {line}: {visitor.received / 1e6:.2f} MB", flush=True)
    visitor.page.context.close()


def _clicks(browser: Browser, address: str, tokens: int) -> None:
    visitor = _open(browser, address, tokens, {"view": "overview"})
    page, times = visitor.page, []
    for number in range(CLICKS + 2):
        row, head = number % 6, (5 * number + 1) % 12
        plot = visitor.plot("explore_overview_chart")
        plot.scroll_into_view_if_needed()
        x, y = plot.evaluate(PLACE, [row, head])
        page.mouse.move(x + 2, y + 2)
        page.wait_for_timeout(600)
        page.evaluate(f"() => {{ ({WATCH})('Layer {row}, head {head}'); }}")
        page.mouse.click(x, y)
        page.wait_for_function("() => window.answer", timeout=60_000)
        if number >= 2:  # the first ones warm what is warm from then on
            times.append(page.evaluate("() => window.answer"))
        visitor.settle()
    print(f"click to head at {tokens} tokens: median {statistics.median(times):.0f} ms of {[round(t) for t in times]}")
    page.context.close()


if __name__ == "__main__":
    main()
