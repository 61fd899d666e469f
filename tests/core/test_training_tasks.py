"""The tasks of training: every answer is the one that a person finds, and stands where the task says."""

import pytest
import torch
from torch import Tensor

from attention_core.training import IGNORED, TASKS, Task

EACH_TASK = pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
GOOD = set("good great lovely clever warm funny".split())
BAD = set("bad dull awful cold silly boring".split())


def generator(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def answer_at(task: Task, ids: Tensor, place: int) -> int:
    """The answer as a person finds it, from the tokens up to ``place`` alone (all of them for an encoder)."""
    words = task.labels(ids)
    if task.name in ("copy", "reverse"):
        bar = words.index("|")
        given = words[:bar] if task.name == "copy" else words[:bar][::-1]
        return task.words.index(given[place - bar])
    if task.name == "lookup":
        bar = words.index("|")
        return task.words.index(dict(zip(words[:bar:2], words[1:bar:2], strict=True))[words[place]])
    if task.name == "induction":
        return task.words.index(words[words.index(words[place]) + 1])
    if task.name == "brackets":
        stack: list[str] = []
        for word in words[:place]:
            if word == ")":
                stack.pop()
            else:
                stack.append(word)
        return "([{".index(stack[-1])
    return int(bool(GOOD & set(words)) ^ bool({"not", "never"} & set(words)))


@EACH_TASK
def test_every_answer_is_the_one_that_a_person_finds(task: Task) -> None:
    examples = task.draw(41, generator())
    assert examples.ids.shape == examples.targets.shape == examples.sources.shape == (41, task.length)
    asked = (examples.targets != IGNORED).nonzero().tolist()
    assert len(asked) >= 41
    for row, place in asked:
        assert examples.targets[row, place] == answer_at(task, examples.ids[row], place), (row, place)


@EACH_TASK
def test_the_source_holds_the_answer(task: Task) -> None:
    examples = task.draw(41, generator())
    asked = examples.targets != IGNORED
    assert torch.equal(examples.sources != IGNORED, asked)
    rows, places = asked.nonzero(as_tuple=True)
    sources = examples.sources[rows, places]
    read = examples.ids[rows, sources]
    if task.name == "sentiment":
        assert {task.words[int(i)] for i in read} <= GOOD | BAD
    else:
        assert bool((sources <= places).all())
        assert torch.equal(read, examples.targets[rows, places])


@EACH_TASK
def test_examples_differ_and_follow_their_generator(task: Task) -> None:
    first, again, other = (task.draw(31, generator(seed)).ids for seed in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(row.tolist()) for row in first}) > 20


def test_the_repeated_stretch_starts_anywhere() -> None:
    """No fixed distance leads to the answer."""
    task = TASKS["induction"]
    examples = task.draw(101, generator())
    assert len((torch.arange(task.length) - examples.sources)[:, -1].unique()) == 6


def test_brackets_are_balanced() -> None:
    depth = torch.where(TASKS["brackets"].draw(53, generator()).ids == 3, -1, 1).cumsum(1)
    assert bool((depth >= 0).all())
    assert bool((depth[:, -1] == 0).all())


def test_sentiment_cannot_be_told_from_one_word() -> None:
    """The judging word and the negation are both needed: neither alone says more than chance."""
    task = TASKS["sentiment"]
    examples = task.draw(4001, generator())
    positive = examples.targets[:, 0].bool()
    for place in (5, 6):
        for word in examples.ids[:, place].unique():
            share = positive[examples.ids[:, place] == word].float().mean().item()
            assert 0.35 < share < 0.65, task.words[int(word)]  # about 330 examples per word: five standard errors
