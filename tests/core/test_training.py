"""The training loop: what is learned, what a checkpoint tells, what one seed and two runs at once do."""

import dataclasses
import math
import threading

import pytest
import torch

from attention_core.training import IGNORED, TASKS, Task, Trainer, TrainingConfig, TrainingStopped

EACH_TASK = pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
QUICK = {"num_heads": 2, "d_model": 20, "batch": 7}


@EACH_TASK
def test_learns_within_its_time(task: Task) -> None:
    """60 s on two cores are far more than 400 steps of about 25 ms."""
    trainer = Trainer(TrainingConfig(task=task.name, seed=1))
    while not trainer.learned and trainer.steps < 400:
        for _ in range(25):
            trainer.step()
        trainer.look()
    assert trainer.learned, trainer.checkpoints[-1].accuracy
    assert trainer.checkpoints[-1].on_source.max() > 0.4  # some head looks where the answer stands


def test_the_same_seed_gives_the_same_run_and_no_global_generator_moves() -> None:
    before = torch.get_rng_state()

    def losses(seed: int) -> list[float]:
        trainer = Trainer(TrainingConfig(task="lookup", seed=seed, **QUICK))
        return [trainer.step() for _ in range(5)]

    assert losses(0) == losses(0)
    assert losses(0) != losses(1)
    assert torch.equal(torch.get_rng_state(), before)


def test_runs_at_once_leave_each_other_alone() -> None:
    configs = [TrainingConfig(task=name, seed=seed, **QUICK) for name, seed in (("copy", 0), ("induction", 9))]

    def train(config: TrainingConfig) -> list[float]:
        trainer = Trainer(config)
        return [trainer.step() for _ in range(10)]

    alone = [train(config) for config in configs]
    found: dict[int, list[float]] = {}
    threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, train(configs[i % 2]))) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(4)] == [alone[i % 2] for i in range(4)]


def test_a_checkpoint_tells_what_the_model_does() -> None:
    trainer = Trainer(TrainingConfig(task="induction", num_layers=3, num_heads=5, d_model=20, batch=7))
    trainer.step()
    seen = trainer.look()
    n = trainer.task.length
    assert seen.step == 1
    assert seen.weights.shape == (3, 5, n, n)
    torch.testing.assert_close(seen.weights.sum(-1), torch.ones(3, 5, n), rtol=0, atol=1e-6)  # float32 sums
    with torch.no_grad():
        logits, traces = trainer.model(trainer.test.ids)
    asked = trainer.test.targets != IGNORED
    assert seen.accuracy == (logits.argmax(-1) == trainer.test.targets)[asked].float().mean().item()
    on_source = torch.zeros(3, 5)
    rows, places = asked.nonzero(as_tuple=True)
    for layer, trace in enumerate(traces):
        assert trace.weights is not None
        on_source[layer] = trace.weights[rows, :, places, trainer.test.sources[rows, places]].mean(0)
    torch.testing.assert_close(seen.on_source, on_source, rtol=1e-5, atol=1e-6)  # another order of sums
    assert seen.entropy.shape == (3, 5)
    assert bool(((seen.entropy > 0) & (seen.entropy <= 1)).all())


def test_similarity_of_one_head_is_no_number_and_of_equal_heads_is_one() -> None:
    lone = Trainer(TrainingConfig(task="copy", num_heads=1, d_model=8, batch=3))
    assert all(math.isnan(x) for x in lone.look().similarity.tolist())
    twin = Trainer(TrainingConfig(task="copy", num_heads=2, d_model=8, batch=3, num_layers=1))
    first = twin.model.blocks[0].attention
    before = twin.look().similarity.item()
    with torch.no_grad():
        for projection in (first.q_proj, first.k_proj):
            projection.weight[4:] = projection.weight[:4]
    assert before < 0.99
    torch.testing.assert_close(twin.look().similarity, torch.ones(1), rtol=0, atol=1e-5)  # float32 cosines


def test_a_loss_that_is_no_number_stops_the_run_and_says_what_to_do() -> None:
    trainer = Trainer(TrainingConfig(task="copy", scaling=False, **QUICK))
    trainer.step()
    with torch.no_grad():
        trainer.model.embedding.fill_(math.nan)
    with pytest.raises(TrainingStopped, match=r"step 2; take a learning rate below 0\.003; switch the scaling on"):
        trainer.step()
    assert trainer.steps == 1


def test_a_forgotten_mask_shows_the_future() -> None:
    right = Trainer(TrainingConfig(task="copy", **QUICK)).look()
    wrong = Trainer(TrainingConfig(task="copy", causal_mask=False, **QUICK)).look()
    assert right.weights.triu(1).sum() == 0
    assert wrong.weights.triu(1).sum() > 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "chess"}, "task must be one of copy, reverse, lookup, induction, brackets, sentiment: got 'chess'"),
        ({"num_layers": 5}, "num_layers must be 1 to 4: got 5"),
        ({"num_heads": 0}, "num_heads must be 1 to 8: got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0: got 0.0"),
        ({"learning_rate": math.nan}, "learning_rate must be above 0: got nan"),
        ({"num_heads": 3}, "num_heads must divide d_model where d_k is not given: got 3 and 64"),
        ({"position": "rotary", "d_k": 3}, "d_k must be even: got 3"),
    ],
)
def test_settings_that_cannot_be_trained_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**settings)


def test_settings_are_frozen_and_hashable() -> None:
    assert hash(TrainingConfig()) == hash(TrainingConfig())
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainingConfig().seed = 3  # type: ignore[misc]
