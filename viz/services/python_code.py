"""A view as Python: the lines that compute and draw it again in a notebook, through the public functions."""

from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from attention_core import from_scratch, pretrained
from attention_core.from_scratch import MaskChoice
from viz.services.attention import ModelRequest, Request, most_tokens, run
from viz.services.views import CallView

PRETRAINED, SCRATCH_ROOM, FIGURES = "attention_core.pretrained", "attention_core.from_scratch", "viz.figures"
_HEAD = """\
call = run.call({call!r})
sample, head = {sample}, {head}
labels = {{"query_tokens": run.query_labels(call)[sample], "key_tokens": run.key_labels(call)[sample]}}
trace = run.trace(call)  # every stage is (batch, heads, q_len, k_len); rows are queries, columns are keys
weights = trace.weights[sample].float().numpy()
allowed = trace.allowed.expand(trace.weights.shape)[sample].numpy()  # True = may attend
{stage}head_grid(weights, allowed=allowed, **labels).show()
head_heatmap({shown}, stage="{name}", allowed=allowed[head], **labels).show()
"""


class Script:
    """Lines of Python with their imports before them."""

    def __init__(self) -> None:
        self._imports: dict[str, set[str]] = {}
        self._lines: list[str] = []

    def use(self, module: str, *names: str) -> None:
        """Imports names of a module; without names the module itself."""
        self._imports.setdefault(module, set()).update(names)

    def add(self, lines: str) -> None:
        """Appends lines."""
        self._lines.append(lines.rstrip("\n"))

    @property
    def text(self) -> str:
        """All of it."""
        found = sorted(self._imports.items())
        imports = [f"import {module}" for module, names in found if not names]
        imports += [f"from {module} import {', '.join(sorted(names))}" for module, names in found if names]
        return "\n".join([*imports, "", *self._lines]) + "\n"


def as_python(request: Request, shown: CallView, *, head: int, stage: str = "weights") -> str:
    """The lines that run the same computation and draw the heads of the layer and one head at a stage.

    They need nothing but this project: ``run``, ``call``, ``trace`` and ``weights`` are left for further work.
    """
    script = Script()
    add_run(script, request)
    script.use(FIGURES, "head_grid", "head_heatmap")
    extra, array = "", "weights[head]"
    if stage != "weights":
        extra, array = f"{stage} = trace.{stage}[sample].float().numpy()\n", f"{stage}[head]"
    script.add(_HEAD.format(call=shown.call.name, sample=shown.sample, head=head, stage=extra, shown=array, name=stage))
    return script.text


def add_run(script: Script, request: Request, suffix: str = "", *, agreement: bool = True) -> None:
    """The lines that leave ``model`` (of pretrained ones) and ``run``, or ``model_a`` and ``run_a``.

    Args:
        script: is added to.
        request: what was run.
        suffix: of both names.
        agreement: False leaves out how far the run is from the model's own attention.
    """
    if isinstance(request, ModelRequest):
        script.use(PRETRAINED, "load")
        options = [_samples(script, request.texts), *_options(script, request)]
        if any(note.code == "truncated" for note in run(request).notes):
            options.append(f"max_tokens={most_tokens(len(request.texts))}")
        if not agreement:
            options.append("agreement=False")
        script.add(f"model{suffix} = load({request.model!r})")
        script.add(f"run{suffix} = model{suffix}.run({', '.join(options)})")
        return
    script.use(SCRATCH_ROOM, "run_from_scratch")
    script.add(f"run{suffix} = run_from_scratch({request.text!r}, {written(script, request.config)})")


def written(script: Script, value: Any) -> str:
    """A setting as the expression that makes it; what it needs is imported."""
    if isinstance(value, MaskChoice):
        script.use(SCRATCH_ROOM, "MaskChoice")
        given = "".join(f", {name}={written(script, parameter)}" for name, parameter in value.parameters)
        return f"MaskChoice({value.kind!r}{given})"
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        script.use(next(room.__name__ for room in (from_scratch, pretrained) if hasattr(room, kind)), kind)
        given = (
            f"{field.name}={written(script, getattr(value, field.name))}"
            for field in fields(value)
            if getattr(value, field.name) != _default(field)
        )
        return f"{kind}({', '.join(given)})"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(value)))}}})" if value else "frozenset()"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value)


def listed(values: Iterable[Any]) -> str:
    """Values as a list of literals."""
    return f"[{', '.join(map(repr, values))}]"


def _default(field: Any) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _samples(script: Script, texts: tuple[Any, ...]) -> str:
    return f"[{', '.join(written(script, text) for text in texts)}]"


def _options(script: Script, request: ModelRequest) -> list[str]:
    options = []
    if request.targets:
        options.append(f"target={listed(request.targets)}")
    if request.padding_side != "right":
        options.append(f"padding_side={request.padding_side!r}")
    if not request.switches.neutral:
        options.append(f"switches={written(script, request.switches)}")
    return options
