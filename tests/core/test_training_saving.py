"""A trained model that was saved opens as a pretrained one, and computes the same."""

import json
from pathlib import Path

import pytest
import torch

from attention_core.modules import TinyConfig, TinyTransformer
from attention_core.pretrained import load
from attention_core.training import TASKS, NotSaved, Task, Trainer, TrainingConfig, save_model
from attention_core.training.__main__ import main

SMALL = {"num_heads": 2, "d_model": 20, "batch": 7}
BUNDLED = Path(__file__).resolve().parents[2] / "assets" / "models" / "induction"


def opens_the_same(folder: Path, trainer: Trainer, task: Task) -> None:
    save_model(folder, trainer.model, task)
    model = load(folder)
    assert model.kind == ("decoder" if trainer.model.config.causal else "encoder")
    run = model.run(" ".join(task.labels(trainer.test.ids[0])))
    with torch.no_grad():
        logits, traces = trainer.model(trainer.test.ids[:1])
    assert run.query_labels(run.calls[0])[0] == task.labels(trainer.test.ids[0])
    for call, trace in zip(run.calls, traces, strict=True):
        assert trace.weights is not None
        torch.testing.assert_close(run.trace(call).weights, trace.weights, rtol=0, atol=1e-6)  # other matmul shapes
    assert run.agreement is not None
    assert run.agreement.passed
    if task.classes is None and trainer.model.config.causal:
        torch.testing.assert_close(model.head(run.output)[..., :-1], logits, rtol=0, atol=1e-4)  # logits reach 10


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_every_task_opens_as_a_pretrained_model(task: Task, tmp_path: Path) -> None:
    trainer = Trainer(TrainingConfig(task=task.name, **SMALL))
    trainer.step()
    opens_the_same(tmp_path, trainer, task)


@pytest.mark.parametrize(
    "settings",
    [{"scaling": False}, {"position": "none"}, {"position": "sinusoidal"}, {"causal_mask": False}],
    ids=lambda s: str(s),
)
def test_every_variant_opens_as_a_pretrained_model(settings: dict, tmp_path: Path) -> None:
    trainer = Trainer(TrainingConfig(task="lookup", **SMALL, **settings))
    trainer.step()
    opens_the_same(tmp_path, trainer, trainer.task)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_k": 8}, "needs d_k = d_model / num_heads, which is 6 here: got 8"),
        ({"position": "rotary"}, "got rotary; train with learned ones"),
        ({"causal": False, "scaling": False}, "a saved encoder is scaled: got scaling off"),
    ],
)
def test_what_has_no_counterpart_is_not_saved(settings: dict, message: str, tmp_path: Path) -> None:
    config = TinyConfig(vocabulary=17, d_model=12, num_heads=2, **settings)
    model = TinyTransformer(config, generator=torch.Generator().manual_seed(0))
    with pytest.raises(NotSaved, match=message):
        save_model(tmp_path, model, TASKS["copy"])
    assert list(tmp_path.iterdir()) == []


def test_the_command_makes_a_model_from_its_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        assert (
            main(["make", str(tmp_path / name), "--task", "copy", "--steps", "2", "--seed", "5", "--heads", "2"]) == 0
        )
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    assert "copy: accuracy 0." in capsys.readouterr().out
    assert json.loads((tmp_path / "one" / "config.json").read_text())["n_head"] == 2


def test_the_bundled_model_repeats_what_it_has_read_once() -> None:
    """Its second layer has a head that looks right behind the earlier place of the same letter."""
    assert sum(file.stat().st_size for file in BUNDLED.iterdir()) < 2 * 10**6
    model = load(BUNDLED)
    words = "d h a f k b n c e g m j a f k b n c"
    run = model.run(words)
    logits = model.head(run.output)[0, -6:]
    said = [TASKS["induction"].words[int(i)] for i in logits.argmax(-1)]
    assert said == "f k b n c e".split()
    weights = run.trace(run.calls[1]).weights
    assert weights is not None
    behind = torch.arange(3, 9)  # the keys right behind the earlier a f k b n c
    assert weights[0, :, torch.arange(12, 18), behind].mean(-1).max() > 0.9
