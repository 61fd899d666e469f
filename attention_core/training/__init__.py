"""Small tasks, and the loop that shows attention appear."""

from attention_core.training.generating import Generated, generate
from attention_core.training.loop import Checkpoint, Trainer, TrainingConfig, TrainingStopped, held_out
from attention_core.training.saving import NotSaved, save_model
from attention_core.training.tasks import IGNORED, TASKS, Examples, Task

__all__ = [
    "IGNORED",
    "TASKS",
    "Checkpoint",
    "Examples",
    "Generated",
    "NotSaved",
    "Task",
    "Trainer",
    "TrainingConfig",
    "TrainingStopped",
    "generate",
    "held_out",
    "save_model",
]
