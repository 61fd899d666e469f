"""What a model says by itself: the same as it was trained where it copies, nonsense where it only read the future."""

import pytest
import torch

from attention_core.modules import TinyConfig, TinyTransformer
from attention_core.training import IGNORED, TASKS, Examples, generate


class Follower(TinyTransformer):
    """Answers with the token before the last one it sees, plus one: what was said is read back, or the test sees it."""

    def __init__(self, classes: int | None = None) -> None:
        super().__init__(TinyConfig(vocabulary=7, classes=classes, max_len=11, num_layers=1, num_heads=1, d_model=3))
        self.asked: list[torch.Tensor] = []

    def forward(self, ids, *, allowed=None, keep=()):
        assert allowed is not None and torch.equal(allowed, torch.ones_like(allowed).tril())
        self.asked.append(ids.clone())
        logits = torch.nn.functional.one_hot((ids + 1) % 7, 7).float()
        return logits, []


def test_its_own_words_are_read_back_where_the_answer_is_the_next_token() -> None:
    model = Follower()
    ids = torch.tensor([[3, 5, 2, 4], [1, 1, 6, 0]])
    targets = torch.tensor([[IGNORED, 2, 4, 1], [IGNORED, 6, 0, 1]])
    made = generate(model, Examples(ids, targets, torch.full_like(ids, IGNORED)))
    assert made.said.tolist() == [[IGNORED, 6, 0, 1], [IGNORED, 2, 3, 4]]  # each one more than the word before
    assert made.accuracy == pytest.approx(1 / 6)  # float32; the last answer of the first example is right by chance
    assert [seen.shape[1] for seen in model.asked] == [2, 3, 4]  # never what follows


def test_questions_that_are_given_are_read_as_they_are() -> None:
    model = Follower()
    ids = torch.tensor([[3, 5, 2, 4]])
    targets = torch.tensor([[IGNORED, 6, 3, IGNORED]])
    made = generate(model, Examples(ids, targets, torch.full_like(ids, IGNORED)))
    assert made.said.tolist() == [[IGNORED, 6, 3, IGNORED]]
    assert made.accuracy == 1.0
    assert torch.equal(model.asked[-1], ids[:, :3])


def test_classes_are_no_tokens_to_read_back() -> None:
    model = Follower(classes=7)
    ids = torch.tensor([[3, 5, 2]])
    targets = torch.tensor([[5, 2, IGNORED]])  # looks as if the answers followed
    generate(model, Examples(ids, targets, torch.full_like(ids, IGNORED)))
    assert torch.equal(model.asked[-1], ids[:, :2])


def test_answers_with_a_mask_of_its_own_are_the_same_at_once_and_one_by_one() -> None:
    """A lookup is asked in questions that are given, so one pass under the causal mask says the same."""
    task = TASKS["lookup"]
    generator = torch.Generator().manual_seed(5)
    config = TinyConfig(vocabulary=len(task.words), max_len=task.length, num_heads=2, d_model=10)
    model = TinyTransformer(config, generator=generator)
    examples = task.draw(7, generator)
    with torch.no_grad():
        logits, _ = model(examples.ids)
    asked = examples.targets != IGNORED
    assert torch.equal(generate(model, examples).said[asked], logits.argmax(-1)[asked])
