"""The head map on the page: started, followed, cancelled, kept by its request, clicked; and the jobs behind it."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attention_core.pretrained import Model, Switches
from attention_core.pretrained.head_map import HeadMapping, head_map
from tests.pages.test_explore import array, choose, control, figures, html, visit
from viz.pages import explore_head_map as page
from viz.services import head_map as service
from viz.services.head_map import MapJob, MapRequest

pytestmark = pytest.mark.usefixtures("minilm_folder")

MINILM = "all-MiniLM-L6-v2"
TEXT = "a red hat"


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    service._kept.clear()
    yield
    service._kept.clear()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Semaphore]:
    """Each pass of a map waits for one release."""
    open_ = threading.Semaphore(0)

    class Gated(HeadMapping):
        def __iter__(self) -> Iterator[Any]:
            for effects in super().__iter__():
                open_.acquire()
                yield effects

    monkeypatch.setattr(service, "HeadMapping", Gated)
    yield open_
    open_.release(1000)


def asked(text: str = TEXT, **switches: Any) -> MapRequest:
    return MapRequest(MINILM, text, Switches(**switches), "embedding")


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen in 30 s"
        time.sleep(0.01)


def button(app: AppTest, name: str) -> Any:
    return app.button(key=f"explore_head_map_{name}")


def names(app: AppTest) -> list[str]:
    return [str(one.key) for one in app.button]


# ---------------------------------------------------------------------------------------------------------------------
# jobs


def test_a_job_makes_the_map_of_its_request(minilm: Model) -> None:
    job = MapJob(asked(scaling=False))
    job.join(60)
    assert (job.state, job.done, job.total, job.share) == ("done", 72, 72, 1.0)
    found = service.finished(asked(scaling=False))
    assert found is not None and found.request == asked(scaling=False)
    want = head_map(minilm, TEXT, switches=Switches(scaling=False))
    np.testing.assert_allclose(found.values, want.values.numpy(), rtol=0, atol=1e-12)  # the same passes
    assert service.finished(asked()) is None  # another request has no map
    assert not found.values.flags.writeable
    row, head, value = found.strongest(1)[0]
    assert value == found.values.max() == found.values[row, head]
    assert found.count == 72 and found.has(5, 11) and not found.has(6, 0)
    off = found.off({("encoder.2", 3)})
    assert off[2, 3] and off.sum() == 1


def test_a_job_moves_and_can_be_cancelled(minilm: Model, gate: threading.Semaphore) -> None:
    job = MapJob(asked())
    until(lambda: job.total == 72)
    gate.release()
    until(lambda: job.done == 12)
    assert job.state == "running" and 0.1 < job.share < 0.2
    job.cancel()
    assert job.cancelling
    gate.release()
    job.join(30)
    assert job.state == "cancelled" and job.done < 72
    assert service.finished(asked()) is None


def test_a_job_ends_when_nobody_waits(
    minilm: Model, gate: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PATIENCE", 0.05)
    here = threading.Event()
    here.set()
    job = MapJob(asked(), wanted=here.is_set)
    gate.release()
    until(lambda: job.done == 12)
    assert job.state == "running"
    here.clear()
    time.sleep(0.1)
    gate.release()
    job.join(30)
    assert job.state == "cancelled"


def test_what_goes_wrong_is_told(minilm: Model) -> None:
    job = MapJob(asked(mask="custom", mask_rows="10/11"))
    job.join(30)
    assert job.state == "failed" and "it has 2 rows, and encoder.0 has 5 tokens" in str(job.error)
    assert service._SLOTS.acquire(timeout=1)  # its place is free again
    service._SLOTS.release()


def test_one_processor_is_left_to_the_others(
    minilm: Model, gate: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_SLOTS", threading.BoundedSemaphore(1))
    first, second = MapJob(asked()), MapJob(asked("my dog"))
    until(lambda: first.total == 72 or second.total == 72)
    running, waiting = (first, second) if first.total else (second, first)
    assert waiting.total == 0 and waiting.state == "running"
    assert minilm.run("and others run", agreement=False).calls  # meanwhile
    waiting.cancel()
    waiting.join(30)
    assert waiting.state == "cancelled"
    gate.release(100)
    running.join(60)
    assert running.state == "done"


# ---------------------------------------------------------------------------------------------------------------------
# the page


def test_the_way_to_a_map(minilm: Model, gate: threading.Semaphore) -> None:
    app = visit(text=TEXT, view="head_map")
    assert not app.exception
    assert not figures(app) and "explore_head_map_start" in names(app)
    button(app, "start").click().run()
    assert not app.exception
    assert "explore_head_map_cancel" in names(app) and "explore_head_map_start" not in names(app)
    job: MapJob = app.session_state[page._JOB]
    gate.release(2)
    until(lambda: job.done == 24)
    app.run()  # the job survives a run of the script, and nothing starts anew
    assert app.session_state[page._JOB] is job
    assert any("24 of 72 heads" in bar.proto.text for bar in app.get("progress"))
    gate.release(100)
    job.join(60)
    app.run()
    assert not app.exception
    drawn = figures(app)["head_map"]
    z = array(next(one for one in drawn["data"] if one["meta"]["layer"] == "numbers")["z"])
    np.testing.assert_allclose(z, head_map(minilm, TEXT).values.numpy(), atol=1e-6)  # drawn in float32
    assert any("72 heads in" in caption.value for caption in app.caption)


def test_cancelled_on_the_page(minilm: Model, gate: threading.Semaphore) -> None:
    app = visit(text=TEXT, view="head_map")
    button(app, "start").click().run()
    job: MapJob = app.session_state[page._JOB]
    gate.release()
    until(lambda: job.done == 12)  # and now it waits for the next release
    button(app, "cancel").click().run()
    assert button(app, "cancel").disabled
    gate.release(100)
    job.join(60)
    app.run()
    assert any("Cancelled" in info.value for info in app.info)
    assert "explore_head_map_start" in names(app) and "head_map" not in figures(app)


def test_a_map_is_never_shown_for_something_else(minilm: Model, gate: threading.Semaphore) -> None:
    app = visit(text=TEXT, view="head_map")
    button(app, "start").click().run()
    old: MapJob = app.session_state[page._JOB]
    choose(app, scaling="off")
    assert old.cancelling and page._JOB not in app.session_state
    assert "explore_head_map_start" in names(app)
    gate.release(100)
    old.join(60)
    app.run()
    assert "head_map" not in figures(app)
    button(app, "start").click().run()
    app.session_state[page._JOB].join(60)
    app.run()
    assert "head_map" in figures(app)
    choose(app, text="my dog")
    assert "head_map" not in figures(app)
    choose(app, text=TEXT)
    assert "head_map" in figures(app)  # it was kept
    choose(app, scaling="default")
    assert "head_map" not in figures(app)


def test_a_chosen_head_is_framed_and_can_be_switched_off(minilm: Model) -> None:
    job = MapJob(asked())
    job.join(60)
    app = visit(text=TEXT, view="head_map")
    found = service.finished(asked())
    assert found is not None
    row, head, _ = found.strongest(1)[0]
    button(app, "top_0").click().run()
    assert control(app, "layer").value == row
    (frame,) = figures(app)["head_map"]["layout"]["shapes"]
    assert (frame["x0"], frame["y0"]) == (head - 0.5, row - 0.5)
    button(app, "off").click().run()
    assert control(app, "heads_off").value == [f"encoder.{row}:{head}"]
    assert "head_map" in figures(app)  # the map is of each head alone: it stays
    assert f"heads off: layer {row}, head {head}" in html(app)
    button(app, "on").click().run()
    assert control(app, "heads_off").value == []
    button(app, "open").click().run()
    assert "grid" in figures(app)


def test_where_there_is_no_map() -> None:
    app = visit(source="from-scratch", view="head_map")
    assert not app.exception
    assert any("needs a pretrained model" in info.value for info in app.info)


def test_the_measure_is_one_of_the_model(minilm: Model) -> None:
    app = visit(text=TEXT, view="head_map", map_measure="nll")
    assert not app.exception
    assert control(app, "map_measure").value == "embedding"
    assert control(app, "map_measure").options == ["Sentence embedding", "Hidden states"]
