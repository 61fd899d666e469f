"""The project's own rules: who may import what (as README.md says), what lies where, what may not stand in a file."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

TOP_LEVEL = {
    ".ci", ".dockerignore", ".gitignore", ".streamlit", "Dockerfile", "LICENSE", "Makefile", "README.md", "app.py",
    "assets", "attention_core", "pyproject.toml", "requirements.txt", "tests", "viz",
}  # fmt: skip

LONGEST = 400
LONGEST_OF_TESTS = 500  # cases beside each other; texts are tables and may be as long as they are
LONGER_FOR_A_REASON = {
    "attention_core/masks.py": "every builder with its drawing; the conventions already have a room of their own",
    "attention_core/positions.py": "six encodings side by side, each with its source and drawing",
    "tests/core/test_from_scratch.py": "one room, whose runs, masks, positions and errors share their cases",
}


# ---------------------------------------------------------------------------------------------------------------------
# the table and the imports


@dataclass(frozen=True)
class Room:
    """One line of the table: what modules below ``name`` may import beside their own room and the standard library."""

    name: str
    project: frozenset[str]
    outside: frozenset[str]


def read_table(readme: str) -> dict[str, Room]:
    """The table under the heading "Allowed imports"; names stand in backticks, ``a.*`` means a and every room in it."""
    section = re.split(r"^#+ ", readme.split("Allowed imports\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [[re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")] for line in lines]
    names = [room[0].removesuffix(".py") for room, *_ in cells]
    assert len(names) == len(set(names)), f"a room has one line: got {names}"
    table = {}
    for name, (_, project, outside, *_) in zip(names, cells, strict=True):
        table[name] = Room(name, frozenset(_spelled_out(project, names)), frozenset(outside))
    return table


def _spelled_out(allowed: list[str], names: list[str]) -> Iterator[str]:
    for entry in allowed:
        stem = entry.removesuffix(".*")
        found = [n for n in names if n == stem or (entry != stem and n.startswith(stem + "."))]
        assert found, f"the table may only allow rooms that have a line: got {entry}"
        yield from found


def room_of(module: str, table: dict[str, Room]) -> str | None:
    """The line that speaks for a module: the longest name that it lies in."""
    parts = module.split(".")
    return next((n for n in (".".join(parts[:i]) for i in range(len(parts), 0, -1)) if n in table), None)


def modules_of(root: Path) -> dict[str, Path]:
    """Dotted name -> file, for app.py and everything in attention_core and viz."""
    files = [root / "app.py", *(root / "attention_core").rglob("*.py"), *(root / "viz").rglob("*.py")]
    names = {}
    for file in files:
        if file.exists():
            parts = file.relative_to(root).with_suffix("").parts
            names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return names


def imports_of(file: Path, module: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import, wherever it stands: at the top, in a function, under TYPE_CHECKING."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _name_of(node.func) in {"import_module", "__import__"}:
            literal = node.args[0] if node.args else None
            computed = not (isinstance(literal, ast.Constant) and isinstance(literal.value, str))
            yield node.lineno, "a computed name" if computed else literal.value  # type: ignore[union-attr]


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def import_faults(root: Path, table: dict[str, Room]) -> list[str]:
    """Every import that the table does not allow, and every folder of code that has no line in it."""
    modules = modules_of(root)
    faults = []
    for folder in sorted({file.parent for file in modules.values()} - {root}):
        name = ".".join(folder.relative_to(root).parts)
        if name not in table:
            faults.append(f"{folder.relative_to(root)}: a new room needs a line in the table of allowed imports")
    for module, file in sorted(modules.items()):
        name = room_of(module, table)
        if name is None:
            continue  # named above
        room = table[name]
        for line, imported in imports_of(file, module):
            if not _allowed(imported, room, table):
                faults.append(f"{file.relative_to(root)}:{line}: {room.name} may not import {imported}")
    return faults


def _allowed(imported: str, room: Room, table: dict[str, Room]) -> bool:
    top = imported.split(".")[0]
    if top in {"app", "attention_core", "viz", "tests"}:
        return room_of(imported, table) in {room.name, *room.project}
    return top in sys.stdlib_module_names or top in room.outside


# ---------------------------------------------------------------------------------------------------------------------
# files


def project_files() -> list[Path]:
    """What belongs to the project: what git tracks or would track; without git, everything but hidden folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        files = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        files = [f for f in ROOT.rglob("*") if not {".venv", ".git", "__pycache__"} & set(f.relative_to(ROOT).parts)]
    return sorted(f for f in files if f.is_file())


def text_of(file: Path) -> str | None:
    """The file as text; None for pictures, arrays and the like."""
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.~$}/-])/(?:root|work|opt|tmp|(?:home|Users)(?!/me\b))/[\w.]"),
    "the host of a package registry": re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.org|deb\.debian\.org"),
}


def content_faults(name: str, text: str) -> list[str]:
    faults = []
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in FORBIDDEN.items():
            if pattern.search(line):
                faults.append(f"{name}:{number}: holds {what}: {line.strip()[:100]}")
    return faults


# ---------------------------------------------------------------------------------------------------------------------
# the tests


@pytest.fixture(scope="module")
def table() -> dict[str, Room]:
    return read_table((ROOT / "README.md").read_text(encoding="utf-8"))


def test_every_import_is_in_the_table(table):
    assert import_faults(ROOT, table) == []


def test_every_line_of_the_table_names_something_that_is_there(table):
    there = {".".join(parts[: i + 1]) for parts in (m.split(".") for m in modules_of(ROOT)) for i in range(len(parts))}
    assert set(table) - there == set()


def test_the_table_holds_what_the_design_fixes(table):
    core = [room for name, room in table.items() if name.split(".")[0] == "attention_core"]
    assert "attention_core" in table and len(core) > 1
    for room in core:
        assert not {"streamlit", "plotly"} & room.outside
        assert all(name.startswith("attention_core") for name in room.project)
        if not room.name.startswith("attention_core.pretrained"):
            assert room.outside <= {"torch", "numpy", "safetensors"}
    assert table["viz.figures"] == Room("viz.figures", frozenset(), frozenset({"numpy", "plotly"}))
    assert table["viz.text"] == Room("viz.text", frozenset(), frozenset())
    assert table["app"] == Room("app", frozenset({"viz.pages"}), frozenset())
    assert table["viz.pages"].outside == {"streamlit"}


MADE_UP_TABLE = """
# A project

## Allowed imports

| room | from the project | from outside |
|---|---|---|
| `app.py` | `viz.pages` | |
| `attention_core` | | `torch` |
| `attention_core.pretrained` | `attention_core` | `torch`, `transformers` |
| `viz.pages` | `attention_core.*`, `viz.text` | `streamlit` |
| `viz.text` | | |

## Something else

| `viz.text` | `viz.pages` | `streamlit` |
"""


@pytest.mark.parametrize(
    ("file", "code", "fault"),
    [
        ("attention_core/attention.py", "import math\nimport torch.nn.functional as F\n", None),
        ("attention_core/attention.py", "import streamlit\n", "attention_core may not import streamlit"),
        ("attention_core/attention.py", "def f():\n    from plotly import express\n", "may not import plotly.express"),
        ("attention_core/attention.py", "import typing\nif typing.TYPE_CHECKING:\n    import numpy\n", "numpy"),
        ("attention_core/attention.py", "import importlib\nimportlib.import_module('scipy')\n", "scipy"),
        ("attention_core/attention.py", "x = 'scipy'\n__import__(x)\n", "a computed name"),
        ("attention_core/attention.py", "from .pretrained import load\n", "attention_core.pretrained.load"),
        ("attention_core/attention.py", "from attention_core import pretrained\n", "attention_core.pretrained"),
        ("attention_core/attention.py", "from viz import text\n", "attention_core may not import viz.text"),
        ("attention_core/pretrained/load.py", "import transformers\nfrom attention_core.masks import causal\n", None),
        ("attention_core/pretrained/load.py", "from ..masks import causal\nfrom . import switches\n", None),
        ("attention_core/pretrained/load.py", "import tokenizers\n", "pretrained may not import tokenizers"),
        ("viz/pages/explore.py", "from attention_core.pretrained import load\nfrom viz.text import t\n", None),
        ("viz/pages/explore.py", "import torch\n", "viz.pages may not import torch"),
        ("viz/text/en.py", "from viz.pages import explore\n", "viz.text may not import viz.pages.explore"),
        ("viz/extras/new.py", "import math\n", "a new room needs a line"),
        ("app.py", "from viz.pages import explore\n", None),
        ("app.py", "from viz.text import t\n", "app may not import viz.text.t"),
    ],
)  # fmt: skip
def test_enforcement_can_fail(tmp_path, file, code, fault):
    table = read_table(MADE_UP_TABLE)
    assert set(table) == {"app", "attention_core", "attention_core.pretrained", "viz.pages", "viz.text"}
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(code, encoding="utf-8")
    faults = [f for f in import_faults(tmp_path, table) if "needs a line" not in f or "extras" in f]
    if fault is None:
        assert faults == []
    else:
        assert len(faults) == 1 and fault in faults[0] and faults[0].startswith(file.rpartition("/")[0])


def test_a_table_may_not_allow_a_room_that_has_no_line():
    with pytest.raises(AssertionError, match=r"only allow rooms that have a line: got viz\.gone"):
        read_table(MADE_UP_TABLE.replace("`viz.text` | `str", "`viz.gone` | `str", 1))


def test_nothing_lies_beside_the_known_rooms():
    found = {file.relative_to(ROOT).parts[0] for file in project_files()}
    assert found - TOP_LEVEL == set()
    assert {"app.py", "README.md", "LICENSE", "Makefile", "requirements.txt"} <= found


def test_there_is_no_drawer_for_odds_and_ends():
    drawers = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}
    assert [f.relative_to(ROOT) for f in project_files() if f.name in drawers or f.stem in {"utils", "helpers"}] == []


def test_no_file_names_a_machine_or_a_registry():
    texts = ((str(f.relative_to(ROOT)), text_of(f)) for f in project_files())
    assert [fault for name, text in texts if text for fault in content_faults(name, text)] == []


@pytest.mark.parametrize(
    ("line", "faulty"),
    [  # with | for a slash and ! for a dot, so that this file passes itself
        ("cache = '|root|.cache|models'", True),
        ("see |home|ann|notes", True),
        ("open('|tmp|x.npz')", True),
        ("index-url = https:||pypi!org|simple", True),
        ("cache of anybody: |home|me|.cache", False),
        ("the ratio q|k at |5 and and|or assets|work|list", False),
        ("make PYTHON=|path|to|python3.11", False),
        ("#!|usr|bin|env bash", False),
    ],
)
def test_the_search_for_machines_and_registries_can_find(line, faulty):
    assert bool(content_faults("a.txt", line.replace("|", "/").replace("!", "."))) is faulty


def test_long_files_have_a_reason():
    lengths = {
        str(f.relative_to(ROOT)): len(f.read_text(encoding="utf-8").splitlines())
        for f in project_files()
        if f.suffix == ".py" and f.parent != ROOT / "viz" / "text"
    }
    long = {name for name, n in lengths.items() if n > (LONGEST_OF_TESTS if name.startswith("tests/") else LONGEST)}
    assert long - set(LONGER_FOR_A_REASON) == set(), f"past {LONGEST} lines: is it two rooms in one?"
    grown_short = {name for name in LONGER_FOR_A_REASON if lengths.get(name, 0) < LONGEST - 50}
    assert grown_short == set(), "no longer that long: take it off the list"
