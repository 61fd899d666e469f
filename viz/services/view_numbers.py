"""The numbers that each view of the explore page shows, as tables to take along."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from attention_core.diagnostics import PATTERNS
from attention_core.runs import Token
from viz.services.attention import ModelRequest, Request, revision
from viz.services.explore_compare import Pair, Side
from viz.services.export_tables import Axis, Numbers, Table, about_request
from viz.services.flow import Flow
from viz.services.generation import GrownMap, WritingRequest, Written
from viz.services.head_map import MapResult
from viz.services.head_stages import HeadStages
from viz.services.overview import STATISTICS, Overview
from viz.services.text_maps import Maps
from viz.services.text_pieces import Piece
from viz.services.views import CallView


def overview_numbers(request: Request, shown: Overview, *, sample: int) -> Numbers:
    """Every score, its chance and every statistic, (layers, heads); NaN where a head has none."""
    arrays = {name: shown.numbers[name] for name in (*PATTERNS, *STATISTICS)}
    arrays |= {f"{name} by chance": shown.chance[name] for name in PATTERNS}
    arrays |= {"leaks": shown.leaks, "broken": shown.broken, "off": shown.off}
    kind = shown.calls[0].kind
    about = about_request(request) | {
        "view": "overview", "kind": kind, "step": shown.calls[0].step, "sample": sample,
        "patterns": "mean weight on the keys of the pattern; by chance: of a head that spreads evenly",
    }  # fmt: skip
    axes = (_calls([call.name for call in shown.calls]), Axis("head", shown.leaks.shape[1], {}))
    return _numbers("overview", request, (Table("heads", axes, arrays),), about, kind, sample)


def flow_numbers(request: Request, found: Flow, *, kind: str, sample: int, residual: float, words: bool) -> Numbers:
    """Rollout and the plain mean of the last layer, (rows, columns)."""
    columns = _pieces("column", found.columns)
    if found.source:
        texts = tuple("source" if place < found.source else "target" for place in range(columns.size))
        columns = Axis("column", columns.size, {**columns.labels, "column_text": texts})
    table = Table("flow", (_pieces("row", found.rows), columns), {"rollout": found.rollout, "mean": found.mean})
    about = about_request(request) | {
        "view": "flow", "kind": kind, "sample": sample, "layers": [call.name for call in found.layers],
        "residual": residual, "words": words, "mean": f"of the heads of {found.layers[-1].name}",
    }  # fmt: skip
    return _numbers("flow", request, (table,), about, kind, sample, len(found.layers), residual, words)


def pair_numbers(found: Pair) -> Numbers:
    """A, B, and where their cells belong together both beside their difference."""
    tables = [
        Table(
            code,
            (_tokens("query", one.query_tokens), _tokens("key", one.key_tokens)),
            {"weights": one.weights, "allowed": one.allowed, "intended": one.intended},
        )
        for code, one in (("a", found.first), ("b", found.second))
    ]
    if found.difference is not None:
        axes = (
            Axis(name, len(first), {f"{name}_token_a": _labels(first), f"{name}_token_b": _labels(second)})
            for name, first, second in (
                ("query", found.first.query_tokens, found.second.query_tokens),
                ("key", found.first.key_tokens, found.second.key_tokens),
            )
        )
        arrays = {"a": found.first.weights, "b": found.second.weights, "difference": found.difference}
        tables.append(Table("difference", tuple(axes), arrays))
    about = {
        "view": "compare", "a": _side(found.first), "b": _side(found.second), "alignment": found.alignment,
        "difference": "b - a",
    }  # fmt: skip
    request = found.second.request
    return _numbers("compare", request, tables, about, found.first.request, found.first.call.name, found.first.head)


def head_map_numbers(request: Request, found: MapResult, *, sample: int) -> Numbers:
    """The effect of switching off each head, (layers, heads); NaN where there is no such head."""
    asked = found.request
    about = about_request(request) | {
        "view": "head_map", "sample": sample, "measure": asked.measure, "ablation": asked.switches.ablation,
        "effect": "of one more head off, each alone; switches as they stand in settings, but heads_off",
    }  # fmt: skip
    axes = (_calls([call.name for call in found.calls]), Axis("head", found.values.shape[1], {}))
    table = Table("heads", axes, {asked.measure: found.values})
    return _numbers("head_map", request, (table,), about, sample, asked.measure)


def stages_numbers(request: Request, shown: CallView, found: HeadStages, *, head: int) -> Numbers:
    """One head at every stage, weights x |v| ("weighted") too, with both masks, (q_len, k_len)."""
    axes = (_tokens("query", shown.query_tokens), _tokens("key", shown.key_tokens))
    arrays = {**found.stages, "allowed": shown.allowed[head], "intended": shown.intended[head]}
    about = about_request(request) | {
        "view": "stages", "call": shown.call.name, "sample": shown.sample, "head": head,
        "scale": found.inputs.scale, "softcap": found.inputs.softcap, "weighted": "weights x length of the value",
    }  # fmt: skip
    return _numbers("head", request, (Table("head", axes, arrays),), about, shown.call.name, shown.sample, head)


def text_numbers(request: Request, shown: CallView, found: Maps, *, kind: str, head: int, words: bool) -> Numbers:
    """The map that the text is shaded by, as far as it is on the page, and what goes to keys that are not."""
    queries = _pieces("query", found.queries, first=found.first_query)
    axes = (queries, _pieces("key", found.keys, first=found.first_key))
    arrays = {"weights": found.weights[0], "allowed": found.allowed[0], "intended": found.intended[0]}
    tables = [Table("map", axes, arrays)]
    if found.outside is not None:
        tables.append(Table("outside", (queries,), {"outside": found.outside[0]}))
    about = about_request(request) | {
        "view": "text", "call": shown.call.name, "sample": shown.sample, "map": kind, "words": words,
        "head": head if kind == "head" else None,
    }  # fmt: skip
    return _numbers("text", request, tables, about, shown.call.name, shown.sample, kind, head, words)


def writing_numbers(asked: WritingRequest, written: Written, grown: GrownMap, *, call: str, head: int) -> Numbers:
    """The map of the shown head with a row per token that asked, each written token, and what else it could be."""
    tokens = tuple(word.label for word in written.words)
    steps = Axis("step", len(tokens), {"step_token": tokens})
    places = max((len(word.candidates) for word in written.words), default=0)
    likeliest = [[*word.candidates, *[None] * (places - len(word.candidates))] for word in written.words]
    tables = (
        Table(
            "map",
            (_tokens("query", grown.query_tokens), _tokens("key", grown.key_tokens)),
            {"weights": grown.weights, "allowed": grown.allowed, "intended": grown.intended},
        ),
        Table("steps", (steps,), {"probability": np.array([word.probability for word in written.words])}),
        Table(
            "candidates",
            (steps, Axis("candidate", places, {})),
            {
                "word": np.array([["" if one is None else one.word for one in row] for row in likeliest]),
                "chance": np.array([[np.nan if one is None else one.probability for one in row] for row in likeliest]),
            },
        ),
    )
    request = ModelRequest(asked.model, (asked.sample,), switches=asked.switches)
    about = about_request(request) | {
        "view": "generation", "call": call, "head": head, "most": asked.most, "temperature": asked.temperature,
        "seed": asked.seed, "end": written.end, "first_new": grown.first_new,
    }  # fmt: skip
    return _numbers("writing", request, tables, about, call, head, asked, len(tokens))


def _numbers(view: str, request: Request, tables: Iterable[Table], about: Mapping[str, Any], *place: object) -> Numbers:
    return Numbers(f"headscope_{view}_{revision(request, view, *place)}", tuple(tables), about)


def _calls(names: Sequence[str]) -> Axis:
    return Axis("layer", len(names), {"call": tuple(names)})


def _tokens(name: str, tokens: Sequence[Token]) -> Axis:
    return Axis(
        name, len(tokens), {f"{name}_token": _labels(tokens), f"{name}_padding": tuple(one.padding for one in tokens)}
    )


def _labels(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.label for token in tokens)


def _pieces(name: str, pieces: Sequence[Piece], *, first: int = 0) -> Axis:
    return Axis(name, len(pieces), {f"{name}_token": tuple(piece.text for piece in pieces)}, first)


def _side(one: Side) -> dict[str, Any]:
    return about_request(one.request) | {"call": one.call.name, "sample": one.sample, "head": one.head}
