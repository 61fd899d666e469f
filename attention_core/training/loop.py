"""The training loop: one step at a time, everything random from one seed, and what is seen at each checkpoint."""

import math
from dataclasses import dataclass, field, fields

import torch
from torch import Tensor
from torch.nn import functional

from attention_core.diagnostics.distribution import normalized_entropy
from attention_core.modules import TinyConfig, TinyTransformer
from attention_core.modules.tiny import PositionKind
from attention_core.training.tasks import IGNORED, TASKS, Examples, Task

WARM_UP = 50  # steps in which the learning rate rises
TESTED = 256  # examples by which accuracy is measured; none of them is trained on
LARGEST_GRADIENT = 1.0
_TEST_SEED = 1_000_003  # beside the seed of a run, so that tests are drawn apart from what is trained on


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that a training run depends on; the same values give the same numbers on the same machine.

    Attributes:
        task: a key of ``TASKS``.
        num_layers: 1 to 4.
        num_heads: 1 to 8.
        d_model: width, a multiple of num_heads.
        d_k: width of queries and keys per head; None means d_model / num_heads.
        position: how order is told.
        scaling: False leaves out the factor 1 / sqrt(d_k).
        causal_mask: False forgets the causal mask in a task that needs it; encoders have none either way.
        learning_rate: of AdamW, above 0, after the warm-up.
        batch: examples per step.
        seed: of weights and examples.
    """

    task: str = "copy"
    num_layers: int = 2
    num_heads: int = 4
    d_model: int = 64
    d_k: int | None = None
    position: PositionKind = "learned"
    scaling: bool = True
    causal_mask: bool = True
    learning_rate: float = 3e-3
    batch: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}: got {self.task!r}")
        for name, low, high in (("num_layers", 1, 4), ("num_heads", 1, 8), ("d_model", 4, 256), ("batch", 1, 512)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be {low} to {high}: got {value}")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be above 0: got {self.learning_rate}; 0.003 is usual here")
        self.model_config()  # checks what goes together

    def model_config(self) -> TinyConfig:
        """Sizes of the model.

        Raises:
            ValueError: if they do not go together.
        """
        task = TASKS[self.task]
        return TinyConfig(
            vocabulary=len(task.words),
            classes=None if task.classes is None else len(task.classes),
            max_len=task.length,
            num_layers=self.num_layers,
            num_heads=self.num_heads,
            d_model=self.d_model,
            d_k=self.d_k,
            causal=task.causal and self.causal_mask,
            position=self.position,
            scaling=self.scaling,
        )


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What is seen after so many steps, on examples that are never trained on.

    Attributes:
        step: steps done.
        loss: mean cross-entropy over the asked places, in nats.
        accuracy: share of asked places with the right answer first.
        weights: (layers, heads, len, len) float32, the attention of the first test example.
        on_source: (layers, heads) float32, mean weight on the key that holds the answer, over all test examples.
        entropy: (layers, heads) float32, mean entropy of the asked rows as a share of the largest possible.
        similarity: (layers,) float32, mean cosine between the maps of two heads; NaN with one head.
    """

    step: int
    loss: float
    accuracy: float
    weights: Tensor
    on_source: Tensor
    entropy: Tensor
    similarity: Tensor


class TrainingStopped(ArithmeticError):
    """The loss is no longer a number; ``step`` says since when."""

    def __init__(self, step: int, config: TrainingConfig) -> None:
        unscaled = "; switch the scaling on" if not config.scaling else ""
        super().__init__(
            f"the loss must be a number: it is not since step {step}; "
            f"take a learning rate below {config.learning_rate:g}{unscaled}"
        )
        self.step = step


@dataclass(eq=False)
class Trainer:
    """A model in training. Steps are taken by ``step``; nothing outside it changes, no global generator moves.

    Attributes:
        config: what it depends on.
        model: in training.
        steps: done so far.
        losses: of each step, on what was trained on, in nats.
        checkpoints: taken so far, in order.
    """

    config: TrainingConfig
    model: TinyTransformer = field(init=False)
    steps: int = field(init=False, default=0)
    losses: list[float] = field(init=False, default_factory=list)
    checkpoints: list[Checkpoint] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.task: Task = TASKS[self.config.task]
        self._generator = torch.Generator().manual_seed(self.config.seed)
        self.model = TinyTransformer(self.config.model_config(), generator=self._generator)
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=self.config.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
        )
        self.test = held_out(self.task, self.config.seed)

    def step(self) -> float:
        """One batch of new examples; returns its loss.

        Raises:
            TrainingStopped: if the loss is not finite; the weights stay as they were before.
        """
        examples = self.task.draw(self.config.batch, self._generator)
        asked = examples.targets != IGNORED
        with torch.enable_grad():
            logits, _ = self.model(examples.ids, keep=())
            loss = functional.cross_entropy(logits[asked], examples.targets[asked])
            if not torch.isfinite(loss):
                raise TrainingStopped(self.steps + 1, self.config)
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()
        size = torch.nn.utils.clip_grad_norm_(self.model.parameters(), LARGEST_GRADIENT)
        if not torch.isfinite(size):
            raise TrainingStopped(self.steps + 1, self.config)
        for group in self._optimizer.param_groups:
            group["lr"] = self.config.learning_rate * min(1.0, (self.steps + 1) / WARM_UP)
        self._optimizer.step()
        self.steps += 1
        self.losses.append(loss.item())
        return self.losses[-1]

    def look(self) -> Checkpoint:
        """A checkpoint of the model as it is now, kept in ``checkpoints`` too."""
        examples = self.test
        asked = examples.targets != IGNORED
        with torch.no_grad():
            logits, traces = self.model(examples.ids, keep=("weights",))
            loss = functional.cross_entropy(logits[asked], examples.targets[asked]).item()
            right = (logits.argmax(-1) == examples.targets)[asked].float().mean().item()
            maps = [_weights(trace.weights) for trace in traces]  # each (batch, heads, len, len)
            sources = examples.sources.clamp(min=0)[:, None, :, None]
            found = [m.gather(3, sources.expand(-1, m.shape[1], -1, 1))[..., 0].transpose(1, 2)[asked] for m in maps]
            spread = [
                normalized_entropy(m, allowed=t.allowed).transpose(1, 2)[asked]
                for m, t in zip(maps, traces, strict=True)
            ]
            seen = Checkpoint(
                step=self.steps,
                loss=loss,
                accuracy=right,
                weights=torch.stack([m[0] for m in maps]),
                on_source=torch.stack([f.mean(0) for f in found]),
                entropy=torch.stack([s.nanmean(0) for s in spread]),
                similarity=torch.stack([_similarity(m) for m in maps]),
            )
        self.checkpoints.append(seen)
        return seen

    @property
    def learned(self) -> bool:
        """True when the last checkpoint has reached the goal of the task."""
        return bool(self.checkpoints) and self.checkpoints[-1].accuracy >= self.task.goal


def held_out(task: Task, seed: int) -> Examples:
    """The examples by which a run of that seed is measured; none of them is trained on."""
    return task.draw(TESTED, torch.Generator().manual_seed(seed + _TEST_SEED))


def settings(config: TrainingConfig) -> dict[str, object]:
    """All settings as plain values, by name."""
    return {f.name: getattr(config, f.name) for f in fields(config)}


def _weights(weights: Tensor | None) -> Tensor:
    assert weights is not None  # asked for by keep
    return weights


def _similarity(maps: Tensor) -> Tensor:
    """Mean cosine over all pairs of heads and all examples; NaN with one head."""
    heads = maps.shape[1]
    if heads < 2:
        return torch.tensor(math.nan)
    flat = functional.normalize(maps.flatten(2), dim=-1)  # (batch, heads, len x len)
    cosines = flat @ flat.transpose(1, 2)
    pairs = torch.ones(heads, heads, dtype=torch.bool).triu(1)
    return cosines[:, pairs].mean()
