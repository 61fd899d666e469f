"""Training beside the pages: the same numbers whatever happens around a run, and an end to every run."""

import math
import os
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from attention_core.training import TASKS, TrainingConfig
from viz.services import trained, training
from viz.services.training import MOST_AT_ONCE, MOST_MAPS, Busy, Lane, Training
from viz.services.training_views import (
    PRESETS,
    config_of,
    difference,
    example,
    may_see,
    over_time,
    pair,
    steps_to_show,
)

SMALL = TrainingConfig(task="copy", num_heads=2, d_model=12, batch=3)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(training, "TURN", 0.004)
    monkeypatch.setattr(training, "REST", 0.001)
    monkeypatch.setattr(training, "MOST_STEPS", 30)
    monkeypatch.setattr(training, "LOOK_EVERY", 10)


def finish(run: Training) -> Training:
    run.join(60)
    assert run.state != "running"
    return run


def trained_run(*configs: TrainingConfig) -> Training:
    run = Training(*configs)
    run.start()
    return finish(run)


def until(condition) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def numbers(lane: Lane) -> tuple:
    return lane.trainer.losses, [(one.step, one.loss, one.accuracy) for one in lane.seen]


def test_a_run_ends_at_its_limit_and_goes_on_from_there() -> None:
    run = trained_run(SMALL)
    [lane] = run.lanes
    assert (run.state, lane.state, run.step) == ("ended", "limit", 30)
    assert [one.step for one in lane.seen] == [0, 10, 20, 30]
    run.start()
    finish(run)
    assert (run.step, run.limit, lane.state) == (60, 60, "limit")


def test_a_run_ends_at_its_goal(monkeypatch) -> None:
    monkeypatch.setattr(TASKS["copy"], "goal", 0.01)
    run = trained_run(SMALL)
    assert (run.state, run.lanes[0].state, run.lanes[0].reached) == ("ended", "learned", 10)
    run.start()  # beyond the goal too
    finish(run)
    assert (run.step, run.lanes[0].reached) == (40, 10)


def test_pauses_change_no_number() -> None:
    straight = numbers(trained_run(SMALL).lanes[0])
    run = Training(SMALL)
    for step in (3, 11, 17):
        run.start()
        until(lambda step=step: run.step >= step)
        run.pause()
        finish(run)
        assert run.state == "paused"
        at = run.step
        time.sleep(0.02)
        assert run.step == at
    run.start()
    assert numbers(finish(run).lanes[0]) == straight


def test_two_visitors_at_once_do_not_touch_each_other() -> None:
    configs = SMALL, replace(SMALL, task="reverse", seed=7)
    alone = [numbers(trained_run(config).lanes[0]) for config in configs]
    before = torch.get_rng_state()
    runs = [Training(config) for config in configs]
    for run in runs:
        run.start()
    assert [numbers(finish(run).lanes[0]) for run in runs] == alone
    assert torch.equal(torch.get_rng_state(), before)
    together = trained_run(*configs)  # side by side in one run
    assert [numbers(lane) for lane in together.lanes] == alone


def test_beyond_the_places_it_says_busy_and_stopping_frees_one() -> None:
    runs = [Training(replace(SMALL, seed=seed)) for seed in range(MOST_AT_ONCE + 1)]
    for run in runs:
        run.limit = 10**6
    for run in runs[:-1]:
        run.start()
    with pytest.raises(Busy, match=rf"at most {MOST_AT_ONCE} runs train at once: all places are taken; try again"):
        runs[-1].start()
    assert runs[-1].state == "paused"
    runs[0].stop()
    finish(runs[0])
    assert runs[0].state == "stopped" and not runs[0].can_go_on
    runs[-1].start()
    assert runs[-1].state == "running"
    for run in runs:
        run.stop()
        finish(run)


def test_a_paused_run_holds_no_place() -> None:
    runs = [Training(SMALL) for _ in range(MOST_AT_ONCE + 1)]
    for run in runs:
        run.limit = 10**6
        run.start()
        run.pause()
        finish(run)
    assert {run.state for run in runs} == {"paused"}


def test_a_run_stops_when_its_visitor_is_gone(monkeypatch) -> None:
    monkeypatch.setattr(training, "PATIENCE", 0.05)
    here = threading.Event()
    here.set()
    run = Training(SMALL, wanted=here.is_set)
    run.limit = 10**6
    run.start()
    time.sleep(0.15)
    assert run.state == "running"
    here.clear()
    assert finish(run).state == "stopped"


def test_a_loss_that_is_no_number_ends_its_model_alone() -> None:
    run = Training(SMALL, replace(SMALL, seed=1))
    with torch.no_grad():
        run.lanes[0].trainer.model.embedding.fill_(math.nan)
    run.start()
    finish(run)
    assert [(lane.state, lane.broken_at, lane.trainer.steps) for lane in run.lanes] == [
        ("broken", 1, 0),
        ("limit", 0, 30),
    ]
    assert run.error is None


def test_a_fault_is_told_and_frees_the_place(monkeypatch, caplog) -> None:
    for _ in range(MOST_AT_ONCE + 1):
        run = Training(SMALL)
        monkeypatch.setattr(run.lanes[0].trainer, "step", lambda: 1 / 0)
        run.start()
        finish(run)
        assert run.state == "failed" and isinstance(run.error, ZeroDivisionError)
    assert "a training run failed" in caplog.text


def test_maps_are_thinned_and_numbers_are_not(monkeypatch) -> None:
    monkeypatch.setattr(training, "LOOK_EVERY", 1)
    lane = Lane(replace(SMALL, d_model=4, batch=1))
    for _ in range(100):
        lane.advance(10**6)
        assert len(lane.maps) <= MOST_MAPS
        assert 0 in lane.maps and lane.trainer.steps in lane.maps
    assert [one.step for one in lane.seen] == list(range(101))
    assert not lane.trainer.checkpoints
    seen, weights = lane.at(100)
    assert seen.step == 100 and weights.shape == (2, 2, 16, 16)
    earlier = [step for step in lane.maps if step < 100]
    assert lane.at(99)[0].step == max(earlier)


def test_what_is_seen_is_what_the_trainer_sees() -> None:
    lane = Lane(SMALL)
    found = lane.trainer.look()
    seen = lane.seen[0]
    np.testing.assert_array_equal(lane.maps[0], found.weights.numpy())
    np.testing.assert_array_equal(seen.on_source, found.on_source.numpy())
    layer, head, weight = seen.best
    assert weight == found.on_source.max() == found.on_source[layer, head]
    shown = example("copy", 0)
    assert shown.tokens == tuple(lane.trainer.task.labels(lane.trainer.test.ids[0]))
    assert [shown.tokens[one.source] for one in shown.asked] == [one.answer for one in shown.asked]
    assert len(seen.said) == len(shown.asked)
    by_hand = [one.answer == word for one, word in zip(shown.asked, seen.said, strict=True)]
    logits, _ = lane.trainer.model(lane.trainer.test.ids[:1])
    assert by_hand == (logits[0, 8:].argmax(-1) == lane.trainer.test.targets[0, 8:]).tolist()


def test_over_time_has_a_row_per_head() -> None:
    run = trained_run(SMALL)
    found = over_time(run.lanes[0])
    assert found.steps == (0, 10, 20, 30) == steps_to_show(run)
    assert found.heads == ("0.0", "0.1", "1.0", "1.1")
    assert found.on_source.shape == found.entropy.shape == (4, 4)
    assert found.on_source[2, 1] == run.lanes[0].seen[1].on_source[1, 0]
    assert found.similarity.shape == (2, 4)


def test_the_difference_of_two(monkeypatch) -> None:
    run = trained_run(SMALL, replace(SMALL, seed=1))
    code, values = difference(run)
    assert code == "neither"
    assert values["one_right"] == run.lanes[0].seen[-1].accuracy
    assert values["two_loss"] == run.lanes[1].seen[-1].loss
    run.lanes[1].reached = 20
    code, values = difference(run)
    assert (code, values["two_step"], values["one_step"]) == ("second", 20, 30)


@pytest.mark.parametrize("heads", range(1, 9))
@pytest.mark.parametrize("position", ["learned", "rotary"])
def test_any_number_of_heads_can_be_trained(heads: int, position: str) -> None:
    config = config_of(
        "copy", layers=1, heads=heads, d_k=0, position=position, scaling=True, seed=3, rate=0.01, forgotten=False
    )
    assert Lane(config).maps[0].shape[1] == heads
    assert (config.d_k is None) == (64 % heads == 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_comparison_differs_in_one_thing(preset: str) -> None:
    first, second = (vars(config) for config in pair(preset, 5))
    assert first["seed"] == 5
    assert sum(first[name] != second[name] for name in first) == 1


def test_who_may_see_what() -> None:
    assert not may_see(Lane(SMALL))[0, 1]
    assert may_see(Lane(replace(SMALL, causal_mask=False)))[0, 1]
    assert may_see(Lane(replace(SMALL, task="sentiment")))[0, 1]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"d_k": 5}, "d_k"),
        ({"position": "rotary"}, "rotary"),
        ({"scaling": False}, ""),
        ({"scaling": False, "task": "sentiment"}, "encoder"),
    ],
)
def test_what_cannot_be_saved_says_why(changes: dict, reason: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    lane = Lane(replace(SMALL, **changes))
    assert trained.obstacle(lane) == reason
    if reason:
        with pytest.raises(trained.NotSaved):
            trained.archive(lane)
        with pytest.raises(trained.NotSaved):
            trained.saved_folder(lane)
    else:
        assert trained.archive(lane)[:2] == b"PK"
        assert trained.saved_folder(lane) == str(tmp_path / "trained" / trained.file_name(lane))
        assert sorted(p.name for p in (tmp_path / "trained").iterdir()) == [trained.file_name(lane)]


def test_the_shelf_of_trained_models_is_bounded(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    monkeypatch.setattr(trained, "KEPT", 2)
    folders = []
    for seed in range(4):
        folders.append(trained.saved_folder(Lane(replace(SMALL, seed=seed))))
        os.utime(folders[-1], (seed, seed))
    assert [str(p) for p in sorted((tmp_path / "trained").iterdir())] == sorted(folders[-2:])
    assert trained.saved_folder(Lane(replace(SMALL, seed=3))) == folders[-1]
