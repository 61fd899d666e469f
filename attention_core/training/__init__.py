"""Small tasks, and the loop that shows attention appear."""

from attention_core.training.loop import Checkpoint, Trainer, TrainingConfig, TrainingStopped
from attention_core.training.saving import NotSaved, save_model
from attention_core.training.tasks import IGNORED, TASKS, Examples, Task

__all__ = [
    "IGNORED",
    "TASKS",
    "Checkpoint",
    "Examples",
    "NotSaved",
    "Task",
    "Trainer",
    "TrainingConfig",
    "TrainingStopped",
    "save_model",
]
