"""What the two components send: pieces as they are drawn, weights, states, words."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.figures.nasty import NASTY
from viz.components import lines_view, text_view
from viz.components.packing import UNITS, unpack
from viz.figures.labels import visible

FOLDER = Path(text_view.__file__).parent
INVISIBLE = re.compile(
    r"[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


@dataclass(frozen=True)
class Piece:
    text: str
    gap: str = ""
    kind: str = "text"


WORDS = {name: f"<{name}>" for name in (*text_view.WORDS, *lines_view.WORDS)}


def pieces(*texts: str) -> tuple[Piece, ...]:
    return tuple(map(Piece, texts))


def text_sent(weights: np.ndarray, **others):
    queries = others.pop("queries", pieces(*(f"t{i}" for i in range(weights.shape[0]))))
    usual = {"keys": None, "allowed": np.ones(weights.shape, bool), "intended": np.ones(weights.shape, bool)}
    return unpack(text_view.text_data(weights, queries=queries, words=WORDS, **(usual | others)))


def lines_sent(weights: np.ndarray, **others):
    queries, keys = (pieces(*(f"t{i}" for i in range(n))) for n in weights.shape[1:])
    usual = {"queries": queries, "keys": keys, "allowed": np.ones(weights.shape, bool)}
    usual["intended"] = usual["allowed"]
    return unpack(lines_view.lines_data(weights, words=WORDS, **(usual | others)))


def states_of(packed: np.ndarray, count: int) -> list[int]:
    return [int(packed[cell >> 2] >> (2 * (cell & 3))) & 3 for cell in range(count)]


def test_weights_travel_exactly_up_to_a_size_and_rounded_above():
    small = np.random.default_rng(0).random((5, 5)).astype(np.float32)
    _, arrays = text_sent(small)
    np.testing.assert_array_equal(arrays["weights"], small[None])
    assert "states" not in arrays and "outside" not in arrays
    large = np.full((257, 257), 1 / 257, np.float32)
    _, arrays = text_sent(large)
    assert arrays["weights"].dtype == np.uint16 and (arrays["weights"] == round(UNITS / 257)).all()
    _, arrays = lines_sent(np.full((3, 5, 37), 1 / 37, np.float32))
    assert arrays["weights"].shape == (3, 5, 37) and (arrays["weights"] == round(UNITS / 37)).all()


def test_leaks_and_wrongly_blocked_cells_keep_their_states():
    weights = np.array([[0.5, 0.5, 0], [0, 1, 0], [0.2, 0.3, 0.5]], np.float32)
    intended = np.tril(np.ones((3, 3), bool))
    allowed = intended.copy()
    allowed[0, 1] = True  # read although not meant: a leak
    allowed[1, 0] = False  # meant, but blocked
    _, arrays = text_sent(weights, allowed=allowed, intended=intended)
    assert states_of(arrays["states"], 9) == [1, 2, 0, 3, 1, 0, 1, 1, 1]


def test_states_that_all_heads_share_are_sent_once():
    weights = np.tril(np.full((3, 5, 5), 0.2, np.float32))
    mask = np.broadcast_to(np.tril(np.ones((5, 5), bool)), (3, 5, 5))
    _, arrays = lines_sent(weights, allowed=mask, intended=mask)
    assert arrays["states"].size == 7  # ceil(25 / 4)
    other = mask.copy()
    other[2, 0, 1] = True
    _, arrays = lines_sent(weights, allowed=other, intended=other)
    assert arrays["states"].size == 21
    assert states_of(arrays["states"][14:], 25)[1] == 1 and states_of(arrays["states"][:7], 25)[1] == 0


def test_every_nasty_token_is_visible_and_named_with_its_number():
    count = len(NASTY)
    header, _ = text_sent(np.full((count, count), 1 / count, np.float32), queries=pieces(*NASTY), first_query=10)
    assert len(header["queries"]) == count
    for number, (token, entry) in enumerate(zip(NASTY, header["queries"], strict=True), start=10):
        assert entry["l"].startswith(f"{number} ")
        assert entry["t"].strip() and not INVISIBLE.search(entry["t"].replace("\u200d", "")), token
        if token == visible(token, None):  # what can be seen as it is stays as it is
            assert entry["t"] == token and entry["l"] == f"{number} {token}"
    assert len({entry["l"] for entry in header["queries"]}) == count


def test_a_text_flows_with_its_spaces_and_line_breaks():
    text = (Piece(" fox", "\u202e"), Piece("\n"), Piece("a\nb", "\r\n\t "), Piece("  "), Piece("x", kind="special"))
    header, _ = text_sent(np.full((5, 5), 0.2, np.float32), queries=text)
    assert [entry["t"] for entry in header["queries"]] == [" fox", "↵\n", "a↵b", "··", "x"]
    assert [entry.get("g") for entry in header["queries"]] == ["⟨U+202E⟩", None, "\n\t ", None, None]
    assert [entry.get("k") for entry in header["queries"]] == [None, None, None, None, "special"]
    lined, _ = lines_sent(np.full((1, 5, 5), 0.2, np.float32), queries=text, keys=text)
    assert [entry["t"] for entry in lined["queries"]] == ["·fox", "↵", "a↵b", "··", "x"]


def test_wrong_sizes_and_missing_words_are_named():
    weights = np.full((3, 5), 0.2, np.float32)
    with pytest.raises(ValueError, match=r"one column per key, \(3, 3\): got weights of \(3, 5\)"):
        text_sent(weights)
    with pytest.raises(ValueError, match="scale must be one of fixed, row-max, log: got 'linear'"):
        text_sent(weights[:, :3], scale="linear")
    with pytest.raises(ValueError, match=r"\(heads, 3, 5\): got weights of \(3, 5\)"):
        lines_view.lines_data(
            weights,
            queries=pieces(*"abc"),
            keys=pieces(*"abcde"),
            allowed=weights > 0,
            intended=weights > 0,
            words=WORDS,
        )
    with pytest.raises(ValueError, match="head must be one of 2: got 2"):
        lines_sent(np.full((2, 3, 3), 1 / 3, np.float32), head=2)
    with pytest.raises(KeyError, match=r"needs all of its words: missing .*'looks_at'"):
        text_view.text_data(
            weights[:, :3], queries=pieces(*"abc"), keys=None, allowed=weights[:, :3] > 0,
            intended=weights[:, :3] > 0, words={},
        )  # fmt: skip


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.js")), ids=lambda file: file.name)
def test_no_script_makes_markup_of_text_or_asks_another_machine(file):
    code = file.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://|fetch\(", code)


def test_every_word_is_used_by_its_script_and_every_used_word_is_given():
    shared = (FOLDER / "shared.js").read_text(encoding="utf-8")
    indirect = {"special", "typed_special", "padding", "unknown", "leak", "lost", "not_allowed", "zero", "tiny"}
    indirect |= {"leak_short", "lost_short", "not_allowed_short", "nan", "pos_inf", "neg_inf", "all_heads", "no_head"}
    indirect |= {"scale_fixed", "scale_row_max", "scale_log"}
    for name, given in (("text_view", text_view.WORDS), ("lines_view", lines_view.WORDS)):
        code = shared + (FOLDER / f"{name}.js").read_text(encoding="utf-8")
        used = set(re.findall(r"words\.(\w+)", code))
        assert used <= set(given), name
        assert set(given) - used <= indirect, name
        named = {word.removesuffix("_short") for word in set(given) - used}
        assert all(re.search(rf'"{word}"', code) for word in named), name
