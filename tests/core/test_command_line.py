"""The command line: what it prints, and above all what it returns, for somebody's CI rests on that."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from attention_core import masks, scaled_dot_product_attention
from attention_core.__main__ import main
from attention_core.exchange import Arrays, load_recording
from attention_core.intake import guess_role, take_in

ROOT = Path(__file__).resolve().parents[2]
LENGTHS = [7, 5]
MEANT = masks.causal(7) & masks.padding(LENGTHS, 7)

SCRIPT = """
import sys
import torch
import torch.nn.functional as F
import beside

if __name__ == "__main__":
    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(1, 3, 5, 11, generator=generator) for _ in range(3))
    F.scaled_dot_product_attention(q, k, v, is_causal="causal" in sys.argv[1:])
    print("argv", sys.argv[1:], beside.WORD)
    sys.exit(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 0)
"""


def arrays(*, leak: bool) -> dict[str, torch.Tensor]:
    """Query, key and the weights of a right computation, or of one that forgot the causal mask."""
    generator = torch.Generator().manual_seed(7)
    query, key = (torch.randn(2, 3, 7, 11, generator=generator) for _ in range(2))
    applied = masks.padding(LENGTHS, 7) if leak else MEANT
    weights = scaled_dot_product_attention(query, key, key, allowed=applied).weights
    assert weights is not None
    return {"q": query, "k": key, "attn_weights": weights, "lengths": torch.tensor(LENGTHS)}


def saved(folder: Path, ending: str = ".npz", *, leak: bool, **more: torch.Tensor) -> str:
    path = folder / f"{'leak' if leak else 'right'}{ending}"
    found = {**arrays(leak=leak), **more}
    if ending == ".npz":
        np.savez(path, allow_pickle=False, **{name: array.numpy() for name, array in found.items()})
    elif ending == ".safetensors":
        safetensors.torch.save_file(found, path)
    else:
        path.write_text(json.dumps({name: array.tolist() for name, array in found.items()}), encoding="utf-8")
    return str(path)


@pytest.fixture
def script(tmp_path):
    (tmp_path / "beside.py").write_text("WORD = 'found'", encoding="utf-8")
    path = tmp_path / "program.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", [".npz", ".safetensors", ".json"])
def test_a_leak_is_named_and_ends_with_1(tmp_path, capsys, ending):
    assert main(["diagnose", saved(tmp_path, ending, leak=True), "--expect", "causal+padding"]) == 1
    said = capsys.readouterr().out
    assert all(word in said for word in ("q as query", "k as key", "attn_weights as weights"))
    assert "explained by causal-mask-missing" in said
    assert "error: future keys 1-6 visible: rows 0-5" in said


def test_what_is_right_ends_with_0(tmp_path, capsys):
    assert main(["diagnose", saved(tmp_path, leak=False), "--expect", "causal+padding"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "no errors"


def test_json_is_for_machines(tmp_path, capsys):
    path = saved(tmp_path, leak=True, something=torch.zeros(3))
    assert main(["diagnose", path, "--expect", "causal+padding", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False and found["unknown"] == ["something"]
    [call] = found["calls"]
    assert "causal-mask-missing" in call["explained_by"]
    [leak] = [f for f in call["findings"] if f["code"] == "future-visible"]
    assert leak["evidence"]["rows"] == [0, 1, 2, 3, 4, 5] and leak["where"][0] == [0, 0, 0, 1]


def test_unknown_names_are_listed_with_the_known_ones(tmp_path, capsys):
    main(["diagnose", saved(tmp_path, leak=False, banana=torch.zeros(2))])
    said = capsys.readouterr().out
    assert (
        "not known and left out: banana; known names are weights (attention," in said and "query (q, queries)" in said
    )


def test_lengths_and_scale_may_be_said_on_the_command_line(tmp_path, capsys):
    found = arrays(leak=False)
    found.pop("lengths")
    path = tmp_path / "a.npz"
    np.savez(path, allow_pickle=False, **{name: array.numpy() for name, array in found.items()})
    assert main(["diagnose", str(path), "--expect", "causal+padding"]) == 2
    assert "padding needs lengths" in capsys.readouterr().err
    assert main(["diagnose", str(path), "--expect", "causal+padding", "--lengths", "7,5"]) == 0
    assert main(["diagnose", str(path), "--expect", "causal+padding", "--lengths", "7,5", "--scale", "1"]) == 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.npy", b"no array at all", "must start with its magic bytes"),
        ("a.xyz", b"", "must end in one of"),
        ("a.json", b'{"weights": [[1, 0], [1]]}', "rows must have one length"),
        ("a.json", b'{"banana": [[1, 0]], "pear": [1]}', "known names are"),
        ("a.json", b'{"q": [[1, 0]], "query": [[1, 0]]}', "a second query"),
        ("gone.npz", None, "a file must be there"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence_and_2(tmp_path, capsys, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert main(["diagnose", str(path)]) == 2
    said = capsys.readouterr()
    assert words in said.err and said.err.startswith("attention_core: ") and len(said.err.splitlines()) == 1
    assert said.out == ""


@pytest.mark.parametrize("wrong", [[], ["heal"], ["diagnose"], ["compare", "a"], ["diagnose", "a", "--lengths", "x"]])
def test_wrong_usage_ends_with_2(wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2 and "usage" in capsys.readouterr().err


def test_a_call_of_a_file_is_chosen_by_number(tmp_path, capsys):
    both = {
        f"layer{n}.{name}": array for n in (0, 1) for name, array in arrays(leak=n == 1).items() if name != "lengths"
    }
    path = tmp_path / "two.safetensors"
    safetensors.torch.save_file({**both, "lengths": torch.tensor(LENGTHS)}, path)
    intent = ["--expect", "causal+padding"]
    assert [main(["diagnose", str(path), "--call", n, *intent]) for n in ("0", "1", "2")] == [0, 1, 2]
    assert main(["diagnose", str(path), *intent]) == 1
    assert "2 calls, 1 with errors" in capsys.readouterr().out


def test_recording_runs_the_script_as_python_would(script, capsys):
    before = sys.argv[:], sys.path[:]
    assert main(["record", str(script), "causal", "--flag", "5"]) == 5  # the script's own exit code
    assert (sys.argv, sys.path) == before
    said = capsys.readouterr()
    assert said.out == "argv ['causal', '--flag', '5'] found\n"
    assert "1 calls saved to" in said.err
    [call] = load_recording(script.with_suffix(".attention.safetensors"))
    assert Path(call.file).name == "program.py"
    assert main(["diagnose", str(script.with_suffix(".attention.safetensors")), "--expect", "causal"]) == 0


def test_recording_may_judge_at_once(script, capsys, tmp_path):
    output = tmp_path / "here.safetensors"
    assert main(["record", "--output", str(output), "--expect", "causal", str(script)]) == 1
    assert "future keys" in capsys.readouterr().out
    assert main(["record", "--output", str(output), "--expect", "causal", str(script), "causal"]) == 0
    assert not script.with_suffix(".attention.safetensors").exists()


def test_what_ran_before_a_crash_is_saved(tmp_path, capsys):
    path = tmp_path / "crash.py"
    path.write_text(
        SCRIPT.replace("import beside\n", "").replace("    print", "    1 / 0\n    print"), encoding="utf-8"
    )
    assert main(["record", str(path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert len(load_recording(tmp_path / "crash.attention.safetensors")) == 1


def test_a_script_without_attention_is_said(tmp_path, capsys):
    path = tmp_path / "nothing.py"
    path.write_text("print('hello')", encoding="utf-8")
    assert main(["record", str(path)]) == 2
    assert "no attention call was recorded" in capsys.readouterr().err
    assert main(["record", str(tmp_path / "gone.py")]) == 2


def test_compare_finds_the_worst_cell(tmp_path, capsys):
    right = saved(tmp_path, leak=False)
    assert main(["compare", right, right]) == 0
    assert "the files agree" in capsys.readouterr().out
    assert main(["compare", right, saved(tmp_path, leak=True), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    entries = {entry["what"]: entry for entry in found["compared"]}
    assert found["same"] is False and entries["query"]["same"] and entries["lengths"]["same"]
    one, other = (arrays(leak=leak)["attn_weights"] for leak in (False, True))
    gap = (one - other).abs()
    assert entries["weights"]["difference"] == pytest.approx(float(gap.max()), rel=1e-6)  # subtracted in float64 there
    assert float(gap[tuple(entries["weights"]["where"])]) == float(gap.max())


def test_compare_sees_shapes_nan_and_what_is_missing(tmp_path, capsys):
    paths = []
    for name, more in (("a", {"v": torch.zeros(2, 3)}), ("b", {"v": torch.zeros(3, 2), "bias": torch.zeros(2)})):
        path = tmp_path / f"{name}.safetensors"
        weights = torch.tensor([[0.5, 0.5], [1.0, torch.nan if name == "b" else 0.0]])
        safetensors.torch.save_file({"weights": weights, **more}, path)
        paths.append(str(path))
    assert main(["compare", *paths]) == 1
    said = capsys.readouterr().out
    assert "differs: weights: 1 of 4 cells differ, by up to inf at (1, 1)" in said
    assert "differs: value: shapes (2, 3) and (3, 2)" in said
    assert "differs: bias: in the second file alone" in said
    assert main(["compare", paths[1], paths[1]]) == 0  # NaN at one place is no difference


@pytest.mark.parametrize(
    ("array", "role"),
    [
        (torch.tensor([[1.0, 0.0], [0.25, 0.75]]), "weights"),
        (torch.tensor([[1.0, 0.0], [0.0, 1.0]]), "weights"),
        (torch.tensor([[1.0, 0.0], [1.0, 1.0]]), "raw_mask"),
        (torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]), "raw_mask"),
        (torch.tensor([[0.0, -1e9], [0.0, 0.0]]), "raw_mask"),
        (torch.tensor([[True, False]]), "raw_mask"),
        (torch.tensor([[3, 1], [2, 2]]), ""),
        (torch.tensor([1.0, 0.0]), ""),
    ],
)
def test_one_array_without_a_name_is_known_by_its_numbers(array, role):
    assert guess_role(array) == role


def test_an_intended_mask_may_be_written_as_0_and_1():
    drawn = masks.causal(5)
    [case] = take_in(Arrays({"allowed": drawn.long(), "mask": ~drawn})).cases
    assert torch.equal(case.arguments()["allowed"], drawn)
    [other] = take_in(Arrays({"blocked": ~drawn})).cases
    assert torch.equal(other.arguments()["allowed"], drawn)
    [wrong] = take_in(Arrays({"allowed": drawn.long() * 2})).cases
    with pytest.raises(ValueError, match="must hold 0 and 1"):
        wrong.arguments()


def test_the_module_is_a_command(tmp_path):
    command = [
        sys.executable,
        "-m",
        "attention_core",
        "diagnose",
        saved(tmp_path, leak=True),
        "--expect",
        "causal+padding",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "causal-mask-missing" in done.stdout and done.stderr == ""


def test_the_recorder_is_a_command(script):
    command = [sys.executable, "-W", "error", "-m", "attention_core", "record", str(script), "causal"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "argv ['causal'] found\n"


def test_whatever_stumbles_over_misfits_is_a_sentence(monkeypatch):
    def stumble(**given):
        raise RuntimeError("size of tensor a must match")

    monkeypatch.setattr("attention_core.intake.diagnose", stumble)
    [case] = take_in(Arrays({"weights": torch.eye(2), "output": torch.zeros(3)})).cases
    with pytest.raises(ValueError, match=r"must fit together: got weights \(2, 2\), output \(3,\); check their axes"):
        case.diagnose()
