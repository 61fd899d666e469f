"""Finds a Chromium for the browser tests, and installs one where none is.

Run as a script it prints the browser's path: ``python tests/browser_setup.py [--install]``.
"""

import os
import shutil
import subprocess
import sys

ON_PATH = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
APT_PACKAGES = ("chromium", "fonts-noto-cjk", "fonts-noto-color-emoji")  # the fonts: tokens in Chinese, emoji


class BrowserError(RuntimeError):
    """No browser to be had; the message says what to do."""


def find_browser() -> str | None:
    """Path of a Chromium that starts, or None.

    Looked for in this order: the variable CHROMIUM, names on PATH, the one that playwright installed for itself.

    Raises:
        BrowserError: if CHROMIUM is set to something that does not start.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        path = shutil.which(named)
        if path is None or not _starts(path):
            raise BrowserError(f"CHROMIUM must name a Chromium that starts: got {named!r}; correct or unset it")
        return path
    for name in ON_PATH:
        path = shutil.which(name)
        if path and _starts(path):
            return path
    path = _playwright_path()
    return path if path and _starts(path) else None


def install_browser() -> str:
    """Installs Chromium by apt (as root, where there is apt), else through playwright; returns its path.

    Raises:
        BrowserError: if neither way brings a browser that starts.
    """
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        _run(["apt-get", "update", "-qq"], environment)
        _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *APT_PACKAGES], environment)
    if find_browser() is None:
        _run([sys.executable, "-m", "playwright", "install", "chromium"], dict(os.environ))
    found = find_browser()
    if found is None:
        raise BrowserError(
            "the browser tests need a Chromium: none found, and neither apt nor playwright could install one; "
            "install chromium or google-chrome yourself, or set CHROMIUM to the path of one"
        )
    return found


def _starts(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _playwright_path() -> str | None:
    """Where playwright keeps its own Chromium, there or not; asked in another process, as one may be running here."""
    question = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p: print(p.chromium.executable_path)"
    )
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, timeout=60)
    return answer.stdout.strip() or None


def _run(command: list[str], environment: dict[str, str]) -> None:
    """Runs one step; a failing one is not fatal, since the next way is tried. All of its output goes to stderr."""
    print("+", " ".join(command), file=sys.stderr, flush=True)
    subprocess.run(command, env=environment, check=False, stdout=sys.stderr)


def main() -> int:
    try:
        path = find_browser() or (install_browser() if "--install" in sys.argv[1:] else None)
    except BrowserError as error:
        print(f"browser_setup: {error}", file=sys.stderr)
        return 1
    if path is None:
        print("browser_setup: no Chromium found; run again with --install, or set CHROMIUM", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
