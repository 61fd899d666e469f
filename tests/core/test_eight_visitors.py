"""Eight visitors at once, on different models, switches and views: everybody sees what he would see alone."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from attention_core.from_scratch import MaskChoice, ScratchConfig
from attention_core.pretrained import Model, Switches
from viz.services import attention, overview, views
from viz.services.attention import ModelRequest, Request, ScratchRequest, run
from viz.services.flow import flow
from viz.services.head_stages import head_stages

TEXT = "the cat sat on a mat"


def requests(minilm: str, tiny: str) -> list[Request]:
    """One per visitor; some ask for the same."""
    return [
        ModelRequest(minilm, (TEXT,)),
        ModelRequest(minilm, (TEXT,), switches=Switches(scaling=False)),
        ModelRequest(minilm, (TEXT, "my old dog"), "left"),
        ModelRequest(minilm, (TEXT,)),
        ModelRequest(tiny, ("my dog sat",)),
        ModelRequest(tiny, ("my dog sat",), switches=Switches(mask="none", heads_off=frozenset({("decoder.1", 2)}))),
        ScratchRequest(TEXT, ScratchConfig(num_heads=3, d_k=11, mask=MaskChoice("causal"))),
        ScratchRequest(TEXT, ScratchConfig(num_heads=5, d_k=7, scale="off")),
    ]


def seen(request: Request) -> dict[str, np.ndarray]:
    """What the views show of the last call."""
    made = run(request)
    call = made.calls[-1]
    sample = len(made.texts) - 1
    shown = views.view(request, call.name, sample)
    kind = overview.kinds(made)[0]
    found = {name: getattr(shown, name) for name in views.STAGES}
    found |= {"one head": head_stages(request, call.name, sample, 1).stages["weights"], "output": made.output.numpy()}
    found |= views.statistics(request, call.name, sample).numbers
    found["overview"] = np.stack(overview.overview(request, kind, sample).weights)
    found["flow"] = flow(request, kind, sample=sample, layers=len(made.calls), residual=0.5, words=False).rollout
    return found


def forget() -> None:
    """Nothing is kept: all of it is computed again."""
    attention._runs.clear()
    for kept in (views._views, views._stages, overview._kept):
        kept.clear()
    for cached in (views.statistics, head_stages):
        cached.cache_clear()


def test_no_result_crosses(minilm: Model, tiny_folder: Callable[..., Path]):
    tiny = str(
        tiny_folder("GPT2LMHeadModel", n_embd=33, n_head=3, n_layer=2, n_positions=31, bos_token_id=2, eos_token_id=3)
    )
    asked = requests(minilm.name, tiny)
    alone = []
    for request in asked:
        forget()
        alone.append(seen(request))
    forget()
    together: list[list[dict[str, np.ndarray]]] = [[] for _ in asked]
    errors: list[Exception] = []
    start = threading.Barrier(len(asked))

    def visit(who: int) -> None:
        start.wait()
        try:
            for _ in range(2):
                together[who].append(seen(asked[who]))
                if who == 0:
                    forget()  # what others look at is thrown out meanwhile
        except Exception as error:  # told below, by the thread that can fail the test
            errors.append(error)

    visitors = [threading.Thread(target=visit, args=(who,)) for who in range(len(asked))]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(120)
    assert errors == [] and [len(rounds) for rounds in together] == [2] * len(asked)
    for who, rounds in enumerate(together):
        for found in rounds:
            assert list(found) == list(alone[who])
            for name, values in found.items():
                # float32 sums round by where their numbers happen to lie in memory; visitors differ by far more
                np.testing.assert_allclose(
                    values, alone[who][name], rtol=1e-3, atol=1e-4, err_msg=f"visitor {who}: {name}"
                )
    shapes = {found["weights"].shape for found in alone}
    assert len(shapes) >= 4 and np.abs(alone[0]["output"] - alone[1]["output"]).max() > 0.1, "they see different things"
