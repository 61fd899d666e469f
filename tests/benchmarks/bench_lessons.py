"""How long a class waits: from a lesson's switch to the redrawn figure, in a browser, as it is and as it is presented.

python tests/benchmarks/bench_lessons.py

Each lesson named below has a page open; rounds go through all of them in turn, so that a busy minute of the machine
falls on all alike, and each click asks for something not asked for in the round before. Prints medians of wall time in
milliseconds, and how busy the machine was: only a quiet one tells something. The limit is 400 ms.
"""

import os
import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.bench_explore import _start as start_app  # noqa: E402
from tests.browser.visitor import Visitor  # noqa: E402
from tests.browser_setup import find_browser  # noqa: E402

ROUNDS = 9
SWITCHES = {  # lesson and link -> screen that shows it, widget whose choices are gone through, chart that is redrawn
    "steps&stage=q": (2, "learn_steps_width", "learn_steps_result_chart"),
    "scaling": (9, "learn_scaling_measure", "learn_scaling_sweep_chart"),
}
# Clicks inside the page and waits there too, so that the way between Python and the browser is not measured.
SWITCH = """([widget, chart, turn]) => new Promise(done => {
  const plot = () => document.querySelector(`.st-key-${chart} .js-plotly-plot`);
  const before = plot(), data = JSON.stringify(before.data);
  const choices = [...document.querySelectorAll(`.st-key-${widget} [role=radio], .st-key-${widget} button[kind]`)];
  const start = performance.now();
  choices[turn % choices.length].click();
  const look = () => {
    const now = plot();
    if (now?._fullLayout && now.querySelector('.main-svg') && JSON.stringify(now.data) !== data)
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
    else if (performance.now() - start > 20000) done(-1);
    else setTimeout(look, 4);
  };
  look();
})"""


def main() -> None:
    """Opens every page, goes round, prints."""
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    process, address, _ = start_app()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=flags)
            pages = {(name, big): _open(browser, address, name, big) for name in SWITCHES for big in (False, True)}
            times: dict[tuple[str, bool], list[float]] = {case: [] for case in pages}
            busy = []
            for turn in range(ROUNDS + 1):
                for (name, big), page in pages.items():
                    page.wait_for_timeout(400)
                    took = page.evaluate(SWITCH, [*SWITCHES[name][1:], turn])
                    if turn and took > 0:  # the first choice of all may be the one that is set
                        times[name, big].append(took)
                busy.append(os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan"))
            for (name, big), found in times.items():
                how = "presented" if big else "as it is"
                print(f"{name}, {how}: median {statistics.median(found):.0f} ms of {sorted(round(t) for t in found)}")
            print(f"load {min(busy):.1f} to {max(busy):.1f} on {os.cpu_count()} cores")
            browser.close()
    finally:
        process.terminate()
        process.wait(timeout=20)


def _open(browser, address: str, name: str, big: bool) -> Page:
    screen, widget, chart = SWITCHES[name]
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    visitor = Visitor(page, address)
    for _ in range(100):  # the app may still be starting
        try:
            visitor.open(f"learn?lang=en&lesson={name}" + (f"&present=1&screen={screen}" if big else ""))
            break
        except Exception:
            time.sleep(0.5)
    page.locator(f".st-key-{chart} .js-plotly-plot").wait_for(timeout=60_000)
    page.locator(f".st-key-{widget}").wait_for()
    visitor.settle()
    return page


if __name__ == "__main__":
    main()
