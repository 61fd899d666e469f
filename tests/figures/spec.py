"""Reads a figure as a browser gets it: strict JSON, arrays decoded."""

import base64
import json

import numpy as np
import plotly.graph_objects as go


def spec(figure: go.Figure) -> dict:
    """The figure's JSON; ValueError on NaN or Infinity, which JSON does not have."""

    def refuse(word: str):
        raise ValueError(f"not JSON: {word}")

    return json.loads(figure.to_json(), parse_constant=refuse)


def array(value) -> np.ndarray:
    """A typed array of the spec, or a list, as NumPy."""
    if isinstance(value, dict):
        flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype="<" + value["dtype"])
        return flat.reshape([int(n) for n in value["shape"].split(",")]) if "shape" in value else flat
    return np.array(value)


def maps(drawn: dict) -> list[dict]:
    """The heatmap of each head, in order."""
    return [trace for trace in drawn["data"] if "head" in (trace.get("meta") or {}) and "coloraxis" in trace]


def notes(drawn: dict) -> str:
    return drawn["layout"]["title"]["text"]


def overlay(drawn: dict) -> str:
    """The vector layer's SVG, or an empty string."""
    from urllib.parse import unquote

    images = drawn["layout"].get("images") or []
    return unquote(images[0]["source"].removeprefix("data:image/svg+xml,")) if images else ""
