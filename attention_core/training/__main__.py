"""``python -m attention_core.training make FOLDER``: trains a small model from its seed and saves it."""

import argparse
import sys
from collections.abc import Sequence

import torch

from attention_core.training.loop import Trainer, TrainingConfig
from attention_core.training.saving import save_model
from attention_core.training.tasks import TASKS


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m attention_core.training", description=__doc__)
    make = parser.add_subparsers(dest="command", required=True).add_parser("make", help="train and save a model")
    make.add_argument("folder", help="where config, weights and tokenizer are written")
    make.add_argument("--task", default="induction", choices=list(TASKS))
    make.add_argument("--steps", type=int, default=600)
    make.add_argument("--seed", type=int, default=0)
    make.add_argument("--heads", type=int, default=4)
    make.add_argument("--layers", type=int, default=2)
    chosen = parser.parse_args(arguments)
    try:
        trainer = Trainer(
            TrainingConfig(task=chosen.task, seed=chosen.seed, num_heads=chosen.heads, num_layers=chosen.layers)
        )
    except ValueError as error:
        parser.error(str(error))
    for _ in range(chosen.steps):
        trainer.step()
    seen = trainer.look()
    save_model(chosen.folder, trainer.model, trainer.task)
    best = float(seen.on_source.max())
    print(f"{chosen.task}: accuracy {seen.accuracy:.3f}, best head {best:.3f} on the answer; saved in {chosen.folder}")
    return 0


if __name__ == "__main__":
    torch.set_num_threads(1)  # so small a model is faster so, and much faster beside other work
    sys.exit(main())
