"""The overview as a browser gets it: the picture's own pixels, the points over it, the marks."""

import io
import struct
import zlib
from base64 import b64decode

import numpy as np
import pytest

from tests.figures.spec import array, notes, overlay, spec
from viz.figures import head_overview, number_overview, theme
from viz.figures.raster import data_uri, palette_png, ramp


def pixels(png: bytes) -> np.ndarray:
    """(height, width, 4) of a PNG with a palette, read by the standard and not by our writer."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    file, chunks = io.BytesIO(png[8:]), {}
    while head := file.read(8):
        length, kind = struct.unpack(">I4s", head)
        body = file.read(length)
        assert struct.unpack(">I", file.read(4)) == (zlib.crc32(kind + body),)
        chunks[kind] = body
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colour) == (8, 3)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert (lines[:, 0] == 0).all()
    colours = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
    return np.dstack([colours[lines[:, 1:]], np.frombuffer(chunks[b"tRNS"], np.uint8)[lines[:, 1:]]])


def picture(drawn: dict) -> np.ndarray:
    source = drawn["layout"]["images"][0]["source"]
    return pixels(b64decode(source.removeprefix("data:image/png;base64,")))


def tile(drawn: dict, row: int, head: int, shape: tuple[int, int]) -> np.ndarray:
    """(layers, heads) grid cell -> the middle pixel of each map cell, (q_len, k_len, 4)."""
    image = picture(drawn)
    layers, heads = shape_of(drawn)
    height, width = image.shape[0] / layers, image.shape[1] / heads
    gap_y, gap_x = border(height), border(width)
    inner = (height - 2 * gap_y) / shape[0], (width - 2 * gap_x) / shape[1]
    rows = [int(row * height + gap_y + (i + 0.5) * inner[0]) for i in range(shape[0])]
    columns = [int(head * width + gap_x + (j + 0.5) * inner[1]) for j in range(shape[1])]
    return image[np.ix_(rows, columns)]


def border(size: float) -> int:
    """The gap g of a cell of t + 2g pixels, g = round(0.06 t)."""
    return next(g for g in range(1, 60) if max(1, round(0.06 * (size - 2 * g))) == g)


def shape_of(drawn: dict) -> tuple[int, int]:
    image = drawn["layout"]["images"][0]
    return image["sizey"], image["sizex"]


def points(drawn: dict) -> dict:
    return next(trace for trace in drawn["data"] if (trace.get("meta") or {}).get("layer") == "heads")


def random(*shape: int, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).random(shape).astype(np.float32)
    return weights / weights.sum(-1, keepdims=True)


def test_png_is_what_was_given():
    codes = np.arange(15, dtype=np.uint8).reshape(3, 5)
    palette = np.random.default_rng(0).integers(0, 256, (15, 4), dtype=np.uint8)
    np.testing.assert_array_equal(pixels(palette_png(codes, palette)), palette[codes])
    assert data_uri(b"abc") == "data:image/png;base64,YWJj"
    with pytest.raises(ValueError, match="every code needs a colour: got code 14 for 14"):
        palette_png(codes, palette[:14])
    with pytest.raises(ValueError, match=r"codes must be \(height, width\) uint8"):
        palette_png(codes.astype(np.int64), palette)
    with pytest.raises(ValueError, match="a palette is up to 256 colours"):
        palette_png(codes, palette[:, :3])


def test_ramp_starts_and_ends_on_its_colours():
    colours = ramp(("#000000", "#ff0080"), 3)
    assert colours.tolist() == [[0, 0, 0], [128, 0, 64], [255, 0, 128]]


def test_every_pixel_is_the_colour_of_its_weight_in_its_place():
    weights = random(3, 2, 5, 7)
    drawn = spec(head_overview(weights))
    scale = ramp(theme.SEQUENTIAL, 120)
    for row in range(3):
        for head in range(2):
            expected = scale[np.rint(np.sqrt(weights[row, head]) * 119).astype(int)]
            np.testing.assert_array_equal(tile(drawn, row, head, (5, 7))[..., :3], expected)
    assert "square root of the weight, fixed 0 to 1" in notes(drawn) and "pooled" not in notes(drawn)
    axis = drawn["layout"]["coloraxis"]
    assert (axis["cmin"], axis["cmax"]) == (0, 1)
    assert axis["colorbar"]["tickvals"] == [float(text) ** 0.5 for text in axis["colorbar"]["ticktext"]]


def test_tiny_is_not_drawn_as_zero_and_zero_is():
    weights = np.zeros((1, 1, 2, 2), np.float32)
    weights[..., 0, 0] = 1e-9
    shown = tile(spec(head_overview(weights)), 0, 0, (2, 2))
    assert shown[0, 0].tolist() != shown[1, 1].tolist()
    assert shown[1, 1, :3].tolist() == ramp(theme.SEQUENTIAL, 120)[0].tolist()


def test_long_maps_are_pooled_to_the_largest_and_say_so():
    weights = np.zeros((1, 1, 97, 97), np.float32)
    weights[0, 0, 96, 50] = 1
    drawn = spec(head_overview(weights))
    shown = tile(drawn, 0, 0, (33, 33))  # blocks of 3
    top = ramp(theme.SEQUENTIAL, 120)[-1]
    assert [tuple(place) for place in np.argwhere((shown[..., :3] == top).all(-1))] == [(32, 16)]
    assert "largest of 3 x 3 tokens" in notes(drawn)
    again = spec(head_overview(weights, block=(2, 5)))
    assert "largest of 6 x 15 tokens" in notes(again)


def test_forbidden_is_grey_only_where_nothing_leaks():
    weights = np.array([[[[1, 0], [0.5, 0.5]], [[0.9, 0.1], [0.5, 0.5]]]], np.float32)
    mask = np.array([[[False, True], [False, False]]])
    drawn = spec(head_overview(weights, forbidden=[mask], leaks=np.array([[0, 1]])))
    grey = tile(drawn, 0, 0, (2, 2))[0, 1]
    assert grey[3] < 255 and tile(drawn, 0, 1, (2, 2))[0, 1, 3] == 255
    assert any(trace.get("name") == "not allowed, weight 0" for trace in drawn["data"])


def test_padding_is_dimmed():
    weights = random(1, 1, 3, 3)
    bright = tile(spec(head_overview(weights)), 0, 0, (3, 3)).astype(int)
    drawn = spec(head_overview(weights, padded_queries=[False, False, True], padded_keys=[True, False, False]))
    differs = (tile(drawn, 0, 0, (3, 3)) != bright).any(-1)
    assert differs.tolist() == [[True, False, False], [True, False, False], [True, True, True]]
    assert any(trace.get("name") == "padding" for trace in drawn["data"])


def marked(drawn: dict) -> dict[str, set[tuple[int, int]]]:
    """Layer of the vector overlay -> (row, head) of its marks."""
    import re
    from urllib.parse import unquote

    images = [image["source"] for image in drawn["layout"]["images"] if "svg" in image["source"]]
    found: dict[str, set[tuple[int, int]]] = {}
    for source in images:
        svg = unquote(source.removeprefix("data:image/svg+xml,"))
        for paint, body in re.findall(r"<g ([^>]*)>((?:<use [^>]*/>)+)</g>", svg):
            name = "leak" if theme.LEAK in paint else "nan" if "#nan" in paint else "veil"
            found[name] = {(int(y), int(x)) for x, y in re.findall(r"x='(\d+)' y='(\d+)'", body)}
    return found


def test_leaking_broken_and_dark_heads_carry_their_marks():
    weights = random(2, 3, 4, 4)
    weights[1, 2, 0, 0] = np.nan
    leaks = np.array([[0, 5, 0], [0, 0, 0]])
    off = np.array([[False, False, False], [True, False, False]])
    drawn = spec(head_overview(weights, leaks=leaks, off=off))
    assert marked(drawn) == {"leak": {(0, 1)}, "nan": {(1, 2)}, "veil": {(1, 0)}}
    names = {trace.get("name") for trace in drawn["data"]}
    assert {"leak: not allowed, yet weight is not 0", "not a number", "head is off"} <= names
    assert marked(spec(number_overview(np.zeros((2, 3)), name="x", leaks=leaks, off=off))) == {
        "leak": {(0, 1)},
        "veil": {(1, 0)},
    }


def test_one_point_per_head_named_and_clickable():
    weights = [random(2, 3, 3), random(3, 3, 3)]  # the first layer has fewer heads
    hover = [["a", "<b>\nline", ""], ["", "", "x"]]
    drawn = spec(head_overview(weights, layers=[4, 9], hover=hover, clickable=True))
    found = points(drawn)
    assert array(found["x"]).tolist() == [0, 1, 0, 1, 2] and array(found["y"]).tolist() == [0, 0, 1, 1, 1]
    assert array(found["customdata"]).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
    assert found["text"][1] == "<b>Layer 4, head 1</b><br>&lt;b&gt;<br>line"
    assert found["text"][4] == "<b>Layer 9, head 2</b><br>x"
    assert "click to enlarge" in found["hovertemplate"]
    assert drawn["layout"]["yaxis"]["ticktext"] == ["4", "9"]
    assert drawn["layout"]["yaxis"]["title"]["text"] == "rows: layers"
    assert drawn["layout"]["xaxis"]["title"]["text"] == "columns: heads"


def test_numbers_are_the_heatmap_itself_on_a_named_range():
    numbers = np.array([[0.25, np.nan, 1.0], [0.5, 0.0, 0.75]])
    drawn = spec(number_overview(numbers, name="previous token", high=1.0))
    np.testing.assert_array_equal(array(drawn["data"][0]["z"]), numbers.astype(np.float32))
    assert drawn["data"][1]["meta"] == {"layer": "none"}
    np.testing.assert_array_equal(np.isnan(array(drawn["data"][1]["z"])), ~np.isnan(numbers))
    assert "colour: previous token, 0 to 1" in notes(drawn) and "not possible" in notes(drawn)
    free = spec(number_overview(numbers * 40, name="distance"))
    assert free["layout"]["coloraxis"]["cmax"] == 40 and "0 to 40" in notes(free)


@pytest.mark.parametrize("layers", [1, 2, 63, 96])
def test_c167_any_number_of_layers_stands_in_one_figure(layers: int):
    drawn = spec(head_overview(random(layers, 2, 2, 2)))
    assert shape_of(drawn) == (layers, 2)
    assert len(array(points(drawn)["x"])) == 2 * layers


def test_c166_144_heads_are_one_picture_and_few_bytes():
    figure = head_overview(random(12, 12, 24, 24))
    assert len(figure.to_json()) < 300_000
    assert len(figure.data) == 2 and overlay(spec(figure)).startswith("data:image/png")


def test_270_heads_at_their_largest_stay_under_a_megabyte():
    # white noise is the worst case for the PNG
    assert len(head_overview(random(30, 9, 48, 48), hover=[["x" * 150] * 9] * 30).to_json()) < 1_000_000


def test_refusals():
    with pytest.raises(ValueError, match=r"one \(heads, q_len, k_len\) array per layer"):
        head_overview([random(2, 3, 3), random(2, 3, 4)])
    with pytest.raises(ValueError, match="one mask per layer: got 1 for 2"):
        head_overview(random(2, 2, 3, 3), forbidden=[np.zeros((1, 3, 3), bool)])
    with pytest.raises(ValueError, match=r"leaks must be \(layers, heads\) = \(2, 2\): got \(1, 2\)"):
        head_overview(random(2, 2, 3, 3), leaks=np.zeros((1, 2)))
    with pytest.raises(ValueError, match="layers must name each row: got 1 for 2"):
        head_overview(random(2, 2, 3, 3), layers=[0])
    with pytest.raises(ValueError, match=r"numbers must be \(layers, heads\)"):
        number_overview(np.zeros(3), name="x")
    with pytest.raises(ValueError, match="padding must be one bool per row"):
        head_overview(random(2, 2, 3, 3), padded_keys=[True])
