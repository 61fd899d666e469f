"""Each view of the explore page as Python, beside the heads of a layer, which ``python_code`` writes."""

from attention_core.pretrained import Switches
from viz.services.attention import Request, run
from viz.services.explore_compare import Pair, Side
from viz.services.flow import Flow
from viz.services.generation import MOST_PROMPT, WritingRequest, Written
from viz.services.head_map import MapResult
from viz.services.overview import STATISTICS, Overview
from viz.services.python_code import FIGURES, PRETRAINED, Script, add_run, listed, written
from viz.services.text_maps import Maps, pieces_of, rollout_layers
from viz.services.text_pieces import Piece, groups
from viz.services.views import CallView

_DIAGNOSTICS = "attention_core.diagnostics"
_PER_QUERY = {
    "entropy": ("attention_entropy", ""),
    "effective_keys": ("attention_entropy", ".exp()"),
    "top_weight": ("top_weight", ""),
}
_OVERVIEW = """\
sample = {sample}
calls = [call for call in run.calls if call.kind == {kind!r} and call.step == {step}]
keys = [token_roles(run.key_tokens(calls[0])[sample])]
{before}maps, scores = [], {{name: [] for name in PATTERNS}}
for call in calls:
    trace = run.trace(call, keep=("weights",))
    weights = trace.weights[sample : sample + 1].float()  # (1, heads, q_len, k_len)
    allowed = trace.allowed.expand(trace.weights.shape)[sample : sample + 1]  # True = may attend
    cells = pattern_cells(keys, {queries}, allowed=allowed)
    for name, score in head_patterns(weights, cells).scores.items():
        scores[name].append(score[0])
{inside}    maps.append(weights[0].numpy())
scores = {{name: torch.stack(rows).numpy() for name, rows in scores.items()}}  # (layers, heads), 0 to 1
"""
_ROLLOUT = """\
sample = {sample}
calls = [call for call in run.calls if call.kind == {kind!r} and call.step == 0][:{layers}]
maps = [run.trace(call, keep=("weights",)).weights[sample].float().mean(0) for call in calls]  # over the heads
rolled, mean = rollout(maps, residual={residual}), maps[-1]  # (len, len)
"""
_CROSS_ROLLOUT = """\
sample = {sample}


def maps(kind):
    calls = [call for call in run.calls if call.kind == kind and call.step == 0]
    return [run.trace(call, keep=("weights",)).weights[sample].float().mean(0) for call in calls]  # over the heads


encoder = rollout(maps("encoder"), residual={residual})
own, cross = maps("decoder")[:{layers}], maps("cross")[:{layers}]
*_, (target, source) = cross_rollout(own, cross, encoder, residual={residual})
rolled = torch.cat([source, target], dim=-1)  # (target, source + target)
mean = torch.cat([cross[-1], torch.zeros_like(target)], dim=-1)
"""
_STAGES = """\
sample, head = {sample}, {head}
call = run.call({call!r})
inputs = one_head(run.inputs[call.name], sample=sample, head=head)
trace = inputs.trace()  # every stage is (1, 1, q_len, k_len); rows are queries, columns are keys
found = {{{stages}}}
stages = {{name: stage[0, 0].float().numpy() for name, stage in found.items()}}
steps = cell_steps(inputs, trace, query={query}, key={key})  # the arithmetic of one cell
print(steps.score, steps.scaled, steps.logit, steps.weight, steps.contribution)
labels = {{"query_tokens": run.query_labels(call)[sample], "key_tokens": run.key_labels(call)[sample]}}
allowed = trace.allowed.expand(trace.weights.shape)[0, 0].numpy()  # True = may attend
stage_panels(stages, selected=({query}, {key}), allowed=allowed, **labels).show()
"""
_SIDE = """\
call_{name} = run_{name}.call({call!r})
trace = run_{name}.trace(call_{name}, keep=("weights",))
{name} = trace.weights[{sample}, {head}].float()  # (q_len, k_len)
labels_{name} = {{
    "query_tokens": run_{name}.query_labels(call_{name})[{sample}],
    "key_tokens": run_{name}.key_labels(call_{name})[{sample}],
}}
head_heatmap({name}.numpy(), **labels_{name}).show()
"""
_DIFFERENCE = """\
difference = signed_difference(a, b).float().numpy()  # b - a
head_heatmap(difference, stage="scores", **labels_b).show()  # a diverging scale, centred on 0
"""
_HEAD_MAP = """\
found = head_map({arguments})
effects = found.values.numpy()  # (layers, heads): one more head off, each alone
layers = [{label} for call in found.calls]
head_effects(effects, name={measure!r}, signed={signed}, layers=layers).show()
"""
_WRITING = """\
made = model.generate({arguments})
steps = [next(made) for _ in range({count})]  # a forward pass each: the prompt, then one token at a time
print(made.text)
probabilities = [step.probability for step in steps]
run = made.run({count})  # all steps joined, a row per token that asked
call, head = run.call({call!r}), {head}
labels = {{"query_tokens": run.query_labels(call)[0], "key_tokens": run.key_labels(call)[0]}}
trace = run.trace(call, keep=("weights",))
weights = trace.weights[0, head].float().numpy()
allowed = trace.allowed.expand(trace.weights.shape)[0, head].numpy()  # True = may attend
head_heatmap(weights, allowed=allowed, **labels).show()
"""


def overview_code(request: Request, shown: Overview, *, sample: int, colour: str) -> str:
    """``scores[pattern]`` of all heads, ``numbers`` where the colour is a statistic, and the picture.

    Args:
        request: what was run.
        shown: of it.
        sample: of the batch.
        colour: "weights", or a name of ``overview.CHOICES``.
    """
    script = Script()
    add_run(script, request)
    script.use("torch")
    script.use(_DIAGNOSTICS, "PATTERNS", "head_patterns", "pattern_cells", "token_roles")
    call = shown.calls[0]
    before, queries, inside = "", "q_len=weights.shape[-2]", ""
    if call.kind == "cross":
        before = "rows = [token_roles(run.query_tokens(calls[0])[sample])]\n"
        queries = "query_roles=rows"
    if colour in STATISTICS:
        before += "numbers = []\n"
        before += "real = torch.tensor([not token.padding for token in run.query_tokens(calls[0])[sample]])\n"
        inside = f"    numbers.append({_statistic(script, colour)})\n"
    script.add(
        _OVERVIEW.format(
            sample=sample, kind=call.kind, step=call.step, before=before, queries=queries, inside=inside,
        )
    )  # fmt: skip
    script.add("layers = [call.layer for call in calls]")
    if colour == "weights":
        script.use(FIGURES, "head_overview")
        script.add("head_overview(maps, layers=layers).show()")
        return script.text
    script.use(FIGURES, "number_overview")
    drawn = f"scores[{colour!r}]"
    if colour in STATISTICS:
        script.add("numbers = torch.stack(numbers).numpy()  # (layers, heads)")
        drawn = "numbers"
    script.add(f"number_overview({drawn}, name={colour!r}, layers=layers).show()")
    return script.text


def _statistic(script: Script, name: str) -> str:
    """The (heads,) numbers of one call."""
    if name == "saturation":
        script.use(_DIAGNOSTICS, "saturation")
        return "saturation(weights, allowed=allowed, valid_queries=real[None])[0]"
    if name == "distance":
        script.use(_DIAGNOSTICS, "mean_distance")
        return "mean_distance(weights)[0][:, real].nanmean(-1)"
    function, more = _PER_QUERY[name]
    script.use(_DIAGNOSTICS, function)
    return f"{function}(weights, allowed=allowed){more}[0][:, real].nanmean(-1)"


def flow_code(request: Request, found: Flow, *, kind: str, sample: int, residual: float, words: bool) -> str:
    """``rolled`` and ``mean`` of the last layer, and both pictures."""
    script = Script()
    add_run(script, request)
    script.use(_DIAGNOSTICS, "rollout")
    if kind == "cross":
        script.use("torch")
        script.use(_DIAGNOSTICS, "cross_rollout")
    lines = _CROSS_ROLLOUT if kind == "cross" else _ROLLOUT
    script.add(lines.format(sample=sample, kind=kind, layers=len(found.layers), residual=residual))
    _merge(script, found.rows, found.columns, names=("rolled", "mean"), words=words)
    script.use(FIGURES, "head_heatmap")
    script.add("head_heatmap(rolled.numpy(), **labels).show()\nhead_heatmap(mean.numpy(), **labels).show()")
    return script.text


def stages_code(request: Request, shown: CallView, *, head: int, cell: tuple[int, int]) -> str:
    """``stages`` by name, ``steps`` of a cell, and the picture of all stages."""
    script = Script()
    add_run(script, request)
    script.use(_DIAGNOSTICS, "cell_steps", "one_head", "weighted_norms")
    script.use("viz.figures.stages", "stage_panels")
    names = ["scores", "scaled", "logits", "weights"]
    if run(request).inputs[shown.call.name].softcap is not None:
        names.insert(2, "capped")
    stages = [f'"{name}": trace.{name}' for name in names]
    stages.append('"weighted": weighted_norms(trace.weights, inputs.value)')
    script.add(
        _STAGES.format(
            sample=shown.sample, head=head, call=shown.call.name, stages=", ".join(stages), query=cell[0], key=cell[1]
        )
    )
    return script.text


def compare_code(found: Pair) -> str:
    """``a`` and ``b``, their ``difference`` where their cells belong together, and a picture of each."""
    script = Script()
    for name, one in (("a", found.first), ("b", found.second)):
        add_run(script, one.request, f"_{name}", agreement=False)
    script.use(FIGURES, "head_heatmap")
    for name, one in (("a", found.first), ("b", found.second)):
        script.add(_side(name, one))
    if found.difference is not None:
        script.use("attention_core.compare", "signed_difference")
        script.add(_DIFFERENCE)
    return script.text


def _side(name: str, one: Side) -> str:
    return _SIDE.format(name=name, call=one.call.name, sample=one.sample, head=one.head)


def head_map_code(found: MapResult) -> str:
    """``effects`` of switching off each head in turn, and the picture; takes as long as on the page."""
    asked = found.request
    script = Script()
    script.use(PRETRAINED, "load")
    script.use(f"{PRETRAINED}.head_map", "head_map")
    script.use("viz.figures.effects", "head_effects")
    arguments = ["model", written(script, asked.text), f"measure={asked.measure!r}"]
    if asked.switches != Switches():
        arguments.append(f"switches={written(script, asked.switches)}")
    if asked.target is not None:
        arguments.append(f"target={asked.target!r}")
    script.add(f"model = load({asked.model!r})")
    signed = asked.measure == "nll"
    label = "call.layer" if len({call.kind for call in found.calls}) == 1 else "call.name"
    script.add(_HEAD_MAP.format(arguments=", ".join(arguments), measure=asked.measure, signed=signed, label=label))
    return script.text


def writing_code(asked: WritingRequest, text: Written, *, call: str, head: int) -> str:
    """``steps``, ``probabilities`` of what was chosen, and ``weights`` of one head with a row per token that asked."""
    script = Script()
    script.use(PRETRAINED, "load")
    script.use(FIGURES, "head_heatmap")
    arguments = [written(script, asked.sample), f"max_new_tokens={asked.most}"]
    if asked.switches != Switches():
        arguments.append(f"switches={written(script, asked.switches)}")
    if asked.temperature:
        script.use("torch")
        arguments.append(f"temperature={asked.temperature!r}")
        arguments.append(f"generator=torch.Generator().manual_seed({asked.seed})")
    if text.cut:
        arguments.append(f"max_tokens={MOST_PROMPT}")
    script.add(f"model = load({asked.model!r})")
    script.add(_WRITING.format(arguments=", ".join(arguments), count=len(text.words), call=call, head=head))
    return script.text


def text_code(request: Request, shown: CallView, found: Maps, *, kind: str, head: int, words: bool) -> str:
    """``shown``, the map that the text is shaded by, (q_len, k_len), and a picture of it."""
    script = Script()
    add_run(script, request)
    script.add(f"sample = {shown.sample}\ncall = run.call({shown.call.name!r})")
    script.use(FIGURES, "head_heatmap")
    if kind == "rollout":
        script.use(_DIAGNOSTICS, "rollout")
        names = listed(call.name for call in rollout_layers(run(request), shown.call))
        script.add(
            f"calls = [run.call(name) for name in {names}]\n"
            'maps = [run.trace(one, keep=("weights",)).weights[sample].float().mean(0) for one in calls]\n'
            "shown = rollout(maps)  # (len, len)"
        )
    else:
        which = f"[{head}]" if kind == "head" else ".mean(0)"
        script.add(f'shown = run.trace(call, keep=("weights",)).weights[sample].float(){which}  # (q_len, k_len)')
    rows, columns = pieces_of(run(request), shown, words=words)
    _merge(script, rows, columns, names=("shown",), words=words)
    if found.last_start:
        window = [(found.first_query, found.last_query + 1), (found.first_key, found.last_key + 1)]
        rows_shown, columns_shown = (f"{start}:{end}" for start, end in window)
        script.add(
            f"shown = shown[{rows_shown}, {columns_shown}]  # the part on the page\n"
            f'labels = {{"query_tokens": labels["query_tokens"][{rows_shown}], '
            f'"key_tokens": labels["key_tokens"][{columns_shown}]}}'
        )
    script.add("head_heatmap(shown.numpy(), **labels).show()")
    return script.text


def _merge(
    script: Script, rows: tuple[Piece, ...], columns: tuple[Piece, ...], *, names: tuple[str, ...], words: bool
) -> None:
    """Labels of both axes; with ``words`` the pieces of each word are put together before."""
    if words:
        script.use(_DIAGNOSTICS, "merge_words")
        script.add(f"rows, columns = {groups(rows)}, {groups(columns)}  # the word of each token")
        for name in names:
            script.add(f"{name} = merge_words({name}, rows, key_groups=columns)")
    script.add(
        f'labels = {{"query_tokens": {listed(piece.text for piece in rows)},\n'
        f'          "key_tokens": {listed(piece.text for piece in columns)}}}'
    )
