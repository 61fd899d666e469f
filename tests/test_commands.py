"""The commands that everyone runs, with stand-ins for Python and for browsers, in a folder with a space in its name."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests import browser_setup

ROOT = Path(__file__).resolve().parents[1]
MODEL = "all-MiniLM-L6-v2"


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The Makefile and its requirements, nothing else."""
    folder = tmp_path / "a project"
    (folder / "tests").mkdir(parents=True)
    for name in ("Makefile", "requirements.txt", "tests/requirements.txt"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def make(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON"}}
    return subprocess.run(
        ["make", *arguments], cwd=project, env=environment, capture_output=True, text=True, timeout=120
    )


def installed(project: Path, python: str) -> None:
    """A virtual environment that is ready, with a stand-in for its Python."""
    script(project / ".venv" / "bin" / "python", f'echo "$@" >> calls.txt\n{python}')
    (project / ".venv" / ".app-ready").touch()
    (project / ".venv" / ".tests-ready").touch()


def calls(project: Path) -> list[str]:
    return (project / "calls.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_a_python_that_is_too_old_or_missing_is_refused(project, python):
    done = make(project, "run", f"PYTHON={python}")
    assert done.returncode != 0
    assert f"Headscope needs Python 3.11 or newer: {python} is not; say: make PYTHON=" in done.stdout
    assert not (project / ".venv").exists()


def test_without_any_python_the_remedy_is_named(project, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("make", "sh", "echo", "test"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    done = subprocess.run(
        [tools / "make", "run"], cwd=project, env={"PATH": str(tools)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "none found on PATH; install one" in done.stdout


def test_the_first_python_that_is_new_enough_is_taken(project, tmp_path):
    tools = tmp_path / "tools"
    script(tools / "python3.11", "exit 1")  # a stub of a version manager, say
    script(tools / "python3", 'echo "$@" >> calls.txt')
    for tool in ("make", "sh", "touch"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    subprocess.run([tools / "make", "install"], cwd=project, env={"PATH": str(tools)}, capture_output=True, timeout=60)
    assert calls(project)[-1] == "-m venv .venv"


def test_a_python_that_cannot_make_environments_names_the_package(project, tmp_path):
    python = script(tmp_path / "python3", 'case "$2" in *ensurepip*) exit 1;; esac')
    done = make(project, "install", f"PYTHON={python}")
    assert done.returncode != 0
    assert "apt-get install python3-venv" in done.stdout


def test_run_fetches_the_model_once_and_starts_the_app(project):
    installed(project, "exit 0")
    for _ in range(2):
        assert make(project, "run", "PORT=8611").returncode == 0
    start = "-m streamlit run app.py --server.address localhost --server.port 8611"
    assert calls(project) == [f"-m attention_core.pretrained fetch {MODEL}", start, start]


def test_run_starts_without_the_model_and_says_so_each_time(project):
    installed(project, 'case "$*" in *fetch*) exit 1;; esac')
    for _ in range(2):
        done = make(project, "run")
        assert done.returncode == 0
        assert "the app starts with the from-scratch core alone" in done.stdout
        assert f"run: .venv/bin/python -m attention_core.pretrained fetch {MODEL}" in done.stdout
    assert [call.split()[1] for call in calls(project)] == ["attention_core.pretrained", "streamlit"] * 2


def test_everything_is_tested_in_order_with_pytest_last(project):
    installed(project, "exit 0")
    assert make(project, "test").returncode == 0
    assert [call.replace("tests/browser_setup.py", "- browser").split()[1] for call in calls(project)] == [
        *("ruff", "ruff", "pyright", "browser", "attention_core.pretrained", "pytest")
    ]  # fmt: skip


@pytest.mark.parametrize("broken", ["ruff check", "ruff format", "pyright", "browser_setup", "fetch", "pytest"])
def test_nothing_that_fails_is_passed_over(project, broken):
    installed(project, f'case "$*" in *"{broken}"*) exit 1;; esac')
    assert make(project, "test").returncode != 0
    assert broken in calls(project)[-1]


def test_an_install_that_breaks_off_is_done_again(project):
    installed(project, 'case "$*" in *pip*) exit 1;; esac')
    (project / ".venv" / ".app-ready").unlink()
    for _ in range(2):
        assert make(project, "run").returncode != 0
    assert [call.split()[1] for call in calls(project)] == ["pip", "pip"]


def test_clean_leaves_the_project(project):
    installed(project, "exit 0")
    (project / "viz" / "__pycache__").mkdir(parents=True)
    assert make(project, "clean").returncode == 0
    assert sorted(str(p.relative_to(project)) for p in project.rglob("*")) == [
        *("Makefile", "requirements.txt", "tests", "tests/requirements.txt", "viz")
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# finding a browser


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is all of PATH; no browser of playwright's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(browser_setup, "_playwright_path", lambda: None)
    return folder


def test_order_of_browsers(path, tmp_path, monkeypatch):
    own = script(tmp_path / "own" / "chrome", "exit 0")
    monkeypatch.setattr(browser_setup, "_playwright_path", lambda: str(own))
    assert browser_setup.find_browser() == str(own)
    chrome = script(path / "google-chrome", "exit 0")
    assert browser_setup.find_browser() == str(chrome)
    chromium = script(path / "chromium", "exit 0")
    assert browser_setup.find_browser() == str(chromium)
    named = script(tmp_path / "my browser", "exit 0")
    monkeypatch.setenv("CHROMIUM", str(named))
    assert browser_setup.find_browser() == str(named)


def test_a_browser_that_does_not_start_is_passed_over(path):
    script(path / "chromium", "exit 1")
    assert browser_setup.find_browser() is None
    chrome = script(path / "google-chrome", "exit 0")
    assert browser_setup.find_browser() == str(chrome)


def test_a_named_browser_that_does_not_start_is_an_error(path, monkeypatch):
    script(path / "chromium", "exit 0")
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(browser_setup.BrowserError, match="got 'no-such-browser'; correct or unset it"):
        browser_setup.find_browser()


def test_installing_tries_apt_then_playwright_then_names_the_remedy(path, monkeypatch):
    steps: list[list[str]] = []
    monkeypatch.setattr(browser_setup, "_run", lambda command, environment: steps.append(command))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    script(path / "apt-get", "exit 0")
    with pytest.raises(browser_setup.BrowserError, match="set CHROMIUM to the path of one"):
        browser_setup.install_browser()
    assert [step[:2] for step in steps] == [
        ["apt-get", "update"],
        ["apt-get", "install"],
        [sys.executable, "-m"],
    ]
    assert {"chromium", "fonts-noto-cjk", "fonts-noto-color-emoji"} <= set(steps[1])

    steps.clear()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(browser_setup.BrowserError):
        browser_setup.install_browser()
    assert [step[0] for step in steps] == [sys.executable]
