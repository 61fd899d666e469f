"""What the README says is so: its code runs, its files are there, its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def code_blocks(language: str) -> list[str]:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [code for its_language, code in blocks if its_language == language]


def test_its_python_runs_and_draws_what_it_says(capsys):
    [block] = [block for block in code_blocks("python") if "masks.draw" in block]
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    said = "\n".join(re.findall(r"^# ([■⬚]+)$", block, flags=re.MULTILINE))
    assert said and capsys.readouterr().out.strip() == said
    weights = names["trace"].weights  # type: ignore[attr-defined]
    assert weights.shape == (2, 3, 5, 5)
    assert abs(weights.sum(-1) - 1).max() < 1e-6  # float32, five terms


def test_its_figures_need_neither_torch_nor_the_app():
    [block] = [block for block in code_blocks("python") if "head_grid" in block]
    before = "from plotly.graph_objects import Figure\nFigure.show = lambda figure: print(figure.to_json())\n"
    after = "import sys\nassert not {'torch', 'streamlit', 'transformers'} & set(sys.modules)\n"
    made = subprocess.run(
        [sys.executable, "-W", "error", "-c", before + block + after], cwd=ROOT, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert all(f"{place} {token}" in made.stdout for place, token in enumerate(("the", "cat", "sat")))


def test_its_layout_names_what_is_there():
    [tree] = [block for block in code_blocks("") if block.startswith("app.py")]
    folder, named = "", []
    for line in tree.splitlines():
        indented, entry = re.match(r"( *)(\S+)", line).groups()  # type: ignore[union-attr]
        if not indented:
            folder = entry if entry.endswith("/") else ""
            named.append(entry)
        elif len(indented) == 2:
            named.append(folder + entry)
    assert len(named) > 12
    assert [entry for entry in named if not (ROOT / entry).exists()] == []


def test_its_links_and_pictures_are_there():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert "LICENSE" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("command", sorted(set(re.findall(r"\bmake ([a-z]+)", README)) - {"and", "tries"}))
def test_its_commands_exist(command):
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
