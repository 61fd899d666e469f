"""What the train page asks of a run: its example, its settings and comparisons, what became of the heads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from attention_core import masks
from attention_core.modules.tiny import PositionKind
from attention_core.training import IGNORED, TASKS, TrainingConfig, generate, held_out
from viz.services.training import Lane, Training

POSITIONS: tuple[PositionKind, ...] = ("learned", "sinusoidal", "rotary", "none")
PRESETS: Mapping[str, tuple[TrainingConfig, Mapping[str, Any]]] = {  # first model, and what is changed in the second
    "scaling": (TrainingConfig(task="lookup", num_heads=1, d_k=256), {"scaling": False}),
    "positions": (TrainingConfig(task="copy"), {"position": "none"}),
    "heads": (TrainingConfig(task="lookup"), {"num_heads": 1}),
    "mask": (TrainingConfig(task="induction"), {"causal_mask": False}),
}


@dataclass(frozen=True, eq=False)
class Asked:
    """One question of an example: ``place`` of the query, its ``answer`` in words, ``source``: place of the answer."""

    place: int
    answer: str
    source: int


@dataclass(frozen=True, eq=False)
class ExampleView:
    """One example of a task: its tokens and what is asked of them."""

    tokens: tuple[str, ...]
    asked: tuple[Asked, ...]


def example(task: str, seed: int) -> ExampleView:
    """The example that stands on the page for a run of that task and seed."""
    known = TASKS[task]
    examples = held_out(known, seed)
    answers = known.classes or known.words
    places = (examples.targets[0] != IGNORED).nonzero()[:, 0].tolist()
    asked = [Asked(at, answers[int(examples.targets[0, at])], int(examples.sources[0, at])) for at in places]
    return ExampleView(tuple(known.labels(examples.ids[0])), tuple(asked))


def config_of(
    task: str,
    *,
    layers: int,
    heads: int,
    d_k: int,
    position: str,
    scaling: bool,
    seed: int,
    rate: float,
    forgotten: bool,
) -> TrainingConfig:
    """The settings of the page as a configuration; ``d_k`` 0 is the usual width, even where heads do not divide."""
    width = TrainingConfig.d_model
    usual = None if width % heads == 0 else -(-width // (2 * heads)) * 2
    return TrainingConfig(
        task=task, num_layers=layers, num_heads=heads, d_k=d_k or usual, position=_position(position), scaling=scaling,
        seed=seed, learning_rate=rate, causal_mask=not forgotten,
    )  # fmt: skip


def pair(preset: str, seed: int) -> tuple[TrainingConfig, TrainingConfig]:
    """The two configurations of a preset, that differ in one thing."""
    first, changed = PRESETS[preset]
    first = replace(first, seed=seed)
    return first, replace(first, **changed)


def difference(run: Training) -> tuple[str, dict[str, float]]:
    """How two models came out: "both", "first", "second" or "neither" reached the goal, and the numbers of both."""
    first, second = run.lanes
    code = {(True, True): "both", (True, False): "first", (False, True): "second", (False, False): "neither"}
    values: dict[str, float] = {"goal": first.goal}
    for name, lane in (("one", first), ("two", second)):
        last = lane.seen[-1]
        values |= {f"{name}_step": lane.reached or last.step, f"{name}_right": last.accuracy, f"{name}_loss": last.loss}
    return code[bool(first.reached), bool(second.reached)], values


def steps_to_show(run: Training) -> tuple[int, ...]:
    """The steps at which some model has its attention kept, in order."""
    return tuple(sorted({step for lane in run.lanes for step in lane.maps}))


@dataclass(frozen=True, eq=False)
class OverTime:
    """What became of the heads: ``steps``, and per head ("layer.head") or layer one row of numbers over them.

    ``layers`` are those whose heads can be compared: none where a layer has one head.
    """

    steps: tuple[int, ...]
    heads: tuple[str, ...]
    on_source: np.ndarray
    entropy: np.ndarray
    layers: tuple[int, ...]
    similarity: np.ndarray


def over_time(lane: Lane) -> OverTime:
    """Numbers of all heads at all checkpoints: (heads of all layers, checkpoints), and (layers, checkpoints)."""
    seen = tuple(lane.seen)
    layers, heads = seen[0].on_source.shape
    return OverTime(
        tuple(one.step for one in seen),
        tuple(f"{layer}.{head}" for layer in range(layers) for head in range(heads)),
        np.stack([one.on_source.ravel() for one in seen], 1),
        np.stack([one.entropy.ravel() for one in seen], 1),
        tuple(range(layers)) if heads > 1 else (),
        np.stack([one.similarity for one in seen], 1),
    )


def may_see(lane: Lane) -> np.ndarray:
    """(len, len) bool: which key each query of that model may see."""
    length = lane.trainer.task.length
    everything = torch.ones(length, length, dtype=torch.bool)
    return (masks.causal(length) if lane.config.model_config().causal else everything).numpy()


def _position(name: str) -> PositionKind:
    return next(kind for kind in POSITIONS if kind == name)


@dataclass(frozen=True, eq=False)
class GeneratedView:
    """What a model said by itself, causal mask on: in the example on screen, and how much was right in all."""

    said: tuple[str, ...]
    accuracy: float


def generated(lane: Lane) -> GeneratedView:
    """Lets a model of a run that is not running answer token by token."""
    trainer = lane.trainer
    made = generate(trainer.model, trainer.test)
    words = trainer.task.classes or trainer.task.words
    return GeneratedView(tuple(words[i] for i in made.said[0].tolist() if i != IGNORED), made.accuracy)
