"""How long each task takes to be learned, and what scaling does at a large d_k: five seeds each, with their spread.

python tests/benchmarks/bench_training.py [SEEDS]

CPU time of one thread, evaluation at every fifth step included.
"""

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attention_core.training import TASKS, Trainer, TrainingConfig  # noqa: E402

LIMIT = 300
LOOK_EVERY = 5


def learn(config: TrainingConfig) -> tuple[int | None, float, float]:
    """Steps to the goal (None within the limit), the last accuracy, CPU seconds."""
    start = time.process_time()
    trainer = Trainer(config)
    while trainer.steps < LIMIT and not trainer.learned:
        for _ in range(LOOK_EVERY):
            trainer.step()
        trainer.look()
        trainer.checkpoints[:-1] = []
    reached = trainer.steps if trainer.learned else None
    return reached, trainer.checkpoints[-1].accuracy, time.process_time() - start


def report(name: str, configs: Sequence[TrainingConfig]) -> None:
    """Prints one line: who got there, after how many steps, at what cost."""
    found = [learn(config) for config in configs]
    steps = [reached for reached, _, _ in found if reached is not None]
    right, seconds = [accuracy for _, accuracy, _ in found], [cost for _, _, cost in found]
    spread = f"{min(steps)} to {max(steps)} steps (median {statistics.median(steps):g})" if steps else "never"
    print(
        f"{name:32} {len(steps)} of {len(found)} reach the goal: {spread}; last accuracy {min(right):.2f} to "
        f"{max(right):.2f}, {min(seconds):.1f} to {max(seconds):.1f} s of CPU time",
        flush=True,
    )


def main() -> None:
    """All tasks, then look up with and without scaling."""
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    for task in TASKS:
        report(task, [TrainingConfig(task=task, seed=seed) for seed in seeds])
    for scaling in (True, False):
        name = f"lookup, d_k 256, {'scaled' if scaling else 'unscaled'}"
        report(
            name, [TrainingConfig(task="lookup", num_heads=1, d_k=256, scaling=scaling, seed=seed) for seed in seeds]
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
