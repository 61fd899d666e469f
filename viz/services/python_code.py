"""A view as Python: the lines that compute and draw it again in a notebook, through the public functions."""

from dataclasses import MISSING, fields
from typing import Any

from attention_core.from_scratch import MaskChoice
from viz.services.attention import ModelRequest, Request
from viz.services.views import CallView

_HEAD = """\
sample, head = {sample}, {head}
labels = {{"query_tokens": run.query_labels(call)[sample], "key_tokens": run.key_labels(call)[sample]}}
trace = run.trace(call)  # every stage is (batch, heads, q_len, k_len); rows are queries, columns are keys
weights = trace.weights[sample].float().numpy()
allowed = trace.allowed.expand(trace.weights.shape)[sample].numpy()  # True = may attend
{stage}head_grid(weights, allowed=allowed, **labels).show()
head_heatmap({shown}, stage="{name}", allowed=allowed[head], **labels).show()
"""


def as_python(request: Request, shown: CallView, *, head: int, stage: str = "weights") -> str:
    """The lines that run the same computation and draw the heads of the layer and one head at a stage.

    They need nothing but this project: ``run``, ``call``, ``trace`` and ``weights`` are left for further work.
    """
    made = _model_run(request) if isinstance(request, ModelRequest) else _scratch_run(request.text, request.config)
    extra, array = "", "weights[head]"
    if stage != "weights":
        extra, array = f"{stage} = trace.{stage}[sample].float().numpy()\n", f"{stage}[head]"
    drawn = _HEAD.format(sample=shown.sample, head=head, stage=extra, shown=array, name=stage)
    return f"{made}call = run.call({shown.call.name!r})\n{drawn}"


def _model_run(request: ModelRequest) -> str:
    options = [repr(list(request.texts))]
    if request.targets:
        options.append(f"target={list(request.targets)!r}")
    if request.padding_side != "right":
        options.append(f"padding_side={request.padding_side!r}")
    names = "load"
    if not request.switches.neutral:
        names = "Switches, load"
        options.append(f"switches={_call(request.switches)}")
    return (
        f"from attention_core.pretrained import {names}\nfrom viz.figures import head_grid, head_heatmap\n\n"
        f"model = load({request.model!r})\nrun = model.run({', '.join(options)})\n"
    )


def _scratch_run(text: str, config: Any) -> str:
    names = (
        "ScratchConfig, run_from_scratch"
        if config.mask == MaskChoice()
        else "MaskChoice, ScratchConfig, run_from_scratch"
    )
    return (
        f"from attention_core.from_scratch import {names}\nfrom viz.figures import head_grid, head_heatmap\n\n"
        f"run = run_from_scratch({text!r}, {_call(config)})\n"
    )


def _call(value: Any) -> str:
    """A frozen dataclass as the call that makes it, without what is left at its default."""
    if isinstance(value, MaskChoice):
        given = "".join(f", {name}={parameter!r}" for name, parameter in value.parameters)
        return f"MaskChoice({value.kind!r}{given})"
    given = []
    for field in fields(value):
        own = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if own != default:
            given.append(f"{field.name}={_literal(own)}")
    return f"{type(value).__name__}({', '.join(given)})"


def _literal(value: Any) -> str:
    if isinstance(value, MaskChoice):
        return _call(value)
    if isinstance(value, frozenset):
        return f"frozenset({sorted(value)!r})" if value else "frozenset()"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value)
