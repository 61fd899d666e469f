"""Makes the pictures of the README from the running app: ``make screenshots``."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser.visitor import Visitor  # noqa: E402
from tests.browser_setup import find_browser  # noqa: E402

FOLDER = ROOT / "assets" / "screenshots"
RIVER = quote("She sat on the bank of the river and counted the money from the bank.")
LINES = quote("A short line.\nA longer line has more tokens, so the short one is padded.")
CAPITALS = quote(
    "The capital of France is Paris and the capital of Japan is Tokyo, while the capital of Italy is Rome, the capital "
    "of Egypt is Cairo and the capital of Peru is"
)
CLICKS = {"head-map": ".st-key-explore_head_map_start button", "train": ".st-key-train_start button:visible"}
WAITS = {"train": ".st-key-train_go_on"}  # what stands there once that is done
PICTURES = {  # name -> address, width, height, scheme, language
    "explore": (f"?text={RIVER}&layer=2&head=5", 1440, 1480, "light", "en-US"),
    "scaling-off": (f"?text={RIVER}&layer=2&scaling=off", 1440, 2900, "light", "en-US"),
    "leak": (f"?text={LINES}&lines=1&model_mask=padding-ignored&layer=1", 1440, 1150, "dark", "en-US"),
    "chinese": ("?source=from-scratch&mask=causal&text=" + quote("我打你 你打我"), 1440, 1150, "light", "zh-CN"),
    "head-map": (
        f"?source=SmolLM2-135M-Instruct&text={CAPITALS}&view=head_map&layer=23&head=4&heads_off=decoder.23:4",
        *(1440, 2420, "light", "en-US"),
    ),
    "overview": (
        f"?source=SmolLM2-135M-Instruct&text={CAPITALS}&view=overview&layer=16&head=0",
        *(1440, 2000, "light", "en-US"),
    ),
    "stages": (f"?text={RIVER}&view=stages&layer=2&head=5", 1440, 1750, "light", "en-US"),
    "compare": (f"?text={RIVER}&view=compare&layer=2&head=5&scaling=off", 1440, 1300, "light", "en-US"),
    "learn": ("learn?lang=zh&lesson=steps&stage=weights", 1440, 1500, "light", "zh-CN"),
    "mask-lab": ("mask_lab?lang=en", 1440, 1500, "light", "en-US"),
    "train": ("train?lang=en&task=lookup", 1440, 2300, "light", "en-US"),
    "bug-zoo": ("bug_zoo?lang=en", 1440, 2080, "light", "en-US"),
    "debug": ("debug?lang=en", 1440, 1500, "light", "en-US"),
}


def main() -> None:
    """Starts the app, visits each address, saves what is seen."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "streamlit", "run", "app.py", "--server.address", "127.0.0.1"),
        *("--server.port", str(port), "--server.headless", "true", "--server.fileWatcherType", "none"),
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address)
        flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=flags)
            FOLDER.mkdir(exist_ok=True)
            for name, (path, width, height, scheme, locale) in PICTURES.items():
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale
                )  # fmt: skip
                visitor = Visitor(context.new_page(), address)
                visitor.open(path)
                if name in CLICKS:
                    visitor.page.locator(CLICKS[name]).click(timeout=120_000)
                if name in WAITS:
                    visitor.page.wait_for_selector(WAITS[name], timeout=300_000)
                visitor.page.wait_for_selector(".js-plotly-plot .main-svg", timeout=300_000 if name in CLICKS else None)
                visitor.settle()
                visitor.page.wait_for_timeout(3000)  # every figure drawn, whichever page it is
                visitor.page.screenshot(path=FOLDER / f"{name}.png")
                context.close()
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(address: str) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the app must come up within a minute: it did not; try `make run` to see why")


if __name__ == "__main__":
    main()
