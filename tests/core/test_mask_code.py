"""Every snippet is run as it stands and compared with the mask, cell by cell, for random compositions."""

import random
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_mask

from attention_core import masks
from attention_core.mask_code import CONVENTIONS, mask_code
from attention_core.mask_parts import (
    BlockSparse,
    Causal,
    Chunked,
    Dilated,
    GlobalLocal,
    MaskRecipe,
    Packed,
    Padding,
    Part,
    PartError,
    Prefix,
    Strided,
    Window,
)

HEADS = 8  # as the snippet for nn.MultiheadAttention says


def executed(code: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(compile(code, "snippet", "exec"), found)
    return found


def random_recipe(seed: int, *, part: str | None = None) -> MaskRecipe:
    """A few parts with parameters, sizes up to 13; ``part`` is among them."""
    draw = random.Random(seed)
    q_len, k_len, batch = draw.randint(1, 13), draw.randint(1, 13), draw.randint(1, 3)
    offset = draw.choice([None, None, 0, draw.randint(-2, 4)])
    start = k_len - q_len if offset is None else offset
    size = draw.randint(1, 4)
    rows, columns = -(-q_len // size) + draw.randint(0, 1), -(-k_len // size) + draw.randint(0, 1)
    every: list[Part] = [
        Causal(),
        Padding(tuple(draw.randint(0, k_len) for _ in range(batch)), draw.choice(["left", "right"])),
        Window(draw.choice([None, 0, 1, 3]), draw.choice([None, 0, 2])),
        Chunked(draw.randint(1, 5)),
        Dilated(draw.randint(1, 4), draw.randint(1, 3)),
        Strided(draw.randint(1, 4)),
        GlobalLocal(draw.randint(1, 3), tuple(draw.sample(range(k_len), draw.randint(0, min(2, k_len))))),
        BlockSparse(tuple(tuple(draw.randint(0, 1) for _ in range(columns)) for _ in range(rows)), size),
        Prefix(draw.randint(0, k_len)),
    ]
    if start >= 0 and start + q_len <= k_len:
        every.append(Packed(tuple(tuple(sorted(draw.choices(range(3), k=k_len))) for _ in range(batch))))
    chosen = draw.sample(every, draw.randint(0, 3))
    chosen += [p for p in every if p.name == part and p not in chosen]
    plain = MaskRecipe(q_len, k_len, tuple(chosen), offset)
    cells = {
        (draw.randrange(plain.batch), draw.randrange(q_len), draw.randrange(k_len))
        for _ in range(draw.choice([0, 0, 2, 9]))
    }
    return MaskRecipe(q_len, k_len, tuple(chosen), offset, tuple(sorted(cells)))


def meant(recipe: MaskRecipe, convention: str, code: str) -> Tensor:
    """(batch, 1, q_len, k_len): what the code says, read by the convention's own rules."""
    shape = (recipe.batch, 1, recipe.q_len, recipe.k_len)
    made = executed(code)
    if convention == "sdpa":
        assert made["attn_mask"].dtype == torch.bool
        return made["attn_mask"].expand(shape)
    if convention == "multihead":
        blocked = torch.zeros(recipe.batch * HEADS, recipe.q_len, recipe.k_len, dtype=torch.bool)
        if made["attn_mask"] is not None:
            assert made["attn_mask"].shape in ((recipe.q_len, recipe.k_len), blocked.shape)
            blocked = blocked | made["attn_mask"]
        blocked = blocked.view(recipe.batch, HEADS, recipe.q_len, recipe.k_len)
        if made["key_padding_mask"] is not None:
            assert made["key_padding_mask"].shape == (recipe.batch, recipe.k_len)
            blocked = blocked | made["key_padding_mask"][:, None, None, :]
        assert (blocked == blocked[:, :1]).all()
        return masks.from_blocked(blocked[:, :1])
    if convention == "attention_mask":
        assert made["attention_mask"].shape in ((1, recipe.k_len), (recipe.batch, recipe.k_len))
        assert made["attention_mask"].dtype == torch.int64
        return masks.from_attention_mask(made["attention_mask"]).expand(shape)
    if convention == "additive":
        assert made["attention_mask"].shape == shape
        return masks.from_additive(made["attention_mask"])
    return create_mask(made["mask_mod"], recipe.batch, 1, recipe.q_len, recipe.k_len, device="cpu")


PARTS = ("causal", "padding", "window", "chunked", "dilated", "strided", "global_local", "block_sparse", "prefix")


@pytest.mark.parametrize("part", [*PARTS, "packed"])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_code_is_the_mask(convention: str, part: str):
    said = 0
    for seed in range(24):
        recipe = random_recipe(seed, part=part)
        snippet = mask_code(recipe, convention)
        allowed = recipe.allowed()
        assert allowed.shape == (recipe.batch, 1, recipe.q_len, recipe.k_len)
        if snippet.code is None:
            with pytest.raises(ValueError, match="must be the same for every head and query"):
                masks.to_attention_mask(allowed)
            assert convention == "attention_mask" and snippet.reason in ("differs", "causal")
            continue
        said += 1
        assert torch.equal(meant(recipe, convention, snippet.code), allowed), f"{seed}\n{snippet.code}"
    assert said >= (24 if convention != "attention_mask" else 1)


def test_a_mask_over_keys_alone_says_what_it_cannot_say():
    both = MaskRecipe(5, 5, (Causal(), Padding((3, 5))))
    assert mask_code(both, "attention_mask").code is None
    assert mask_code(both, "attention_mask").reason == "causal"  # a decoder adds that part itself
    assert mask_code(MaskRecipe(5, 5, (Causal(), Padding((3, 5))), offset=1), "attention_mask").reason == "differs"
    painted = MaskRecipe(5, 5, (Causal(), Padding((3, 5))), painted=((0, 0, 4),))
    assert mask_code(painted, "attention_mask").reason == "differs"
    assert mask_code(MaskRecipe(5, 5, (Window(1, 0),)), "attention_mask").reason == "differs"
    code = mask_code(MaskRecipe(5, 5, (Padding((3, 5)),)), "attention_mask").code
    assert code is not None
    assert executed(code)["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]


def test_padding_stands_apart_for_multihead_attention():
    code = mask_code(MaskRecipe(3, 3, (Causal(), Padding((2, 3), "left"))), "multihead").code
    assert code is not None
    made = executed(code)
    assert made["attn_mask"].tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert made["key_padding_mask"].tolist() == [[True, False, False], [False, False, False]]
    alone = mask_code(MaskRecipe(3, 3, (Padding((2, 3)),)), "multihead").code
    assert alone is not None and executed(alone)["attn_mask"] is None


def test_the_code_for_multihead_attention_runs_in_the_module():
    """The library itself reads the snippet; a row that sees nothing is NaN there, so each row sees its own key."""
    packed = MaskRecipe(5, 5, (Causal(), Packed(((0, 0, 1, 1, 1), (0, 1, 1, 2, 2)))))
    code = mask_code(packed, "multihead").code
    assert code is not None
    made = executed(code)
    generator = torch.Generator().manual_seed(3)
    module = torch.nn.MultiheadAttention(16, HEADS, batch_first=True)
    states = torch.randn(2, 5, 16, generator=generator)
    _, weights = module(
        states, states, states, attn_mask=made["attn_mask"], key_padding_mask=made["key_padding_mask"],
        average_attn_weights=False,
    )  # fmt: skip
    assert torch.equal(weights > 0, packed.allowed().expand(2, HEADS, 5, 5))


def test_a_recipe_worked_by_hand():
    recipe = MaskRecipe(3, 5, (Causal(), Padding((5, 4)), Window(2, None)), painted=((0, 0, 0), (1, 2, 4), (0, 2, 2)))
    assert masks.draw(recipe.allowed()) == "\n".join(
        [
            "⬚■■⬚⬚",  # query 0 stands at key 2: keys 0 to 2, and key 0 is painted away
            "⬚■■■⬚",
            "⬚⬚⬚■■",
            "",
            "■■■⬚⬚",
            "⬚■■■⬚",
            "⬚⬚■■■",  # key 4 is padding, and painted open
        ]
    )
    assert recipe.start == 2 and recipe.batch == 2
    assert list(recipe.part_masks()) == ["causal", "padding", "window"]


def test_prefix_and_packing_follow_the_place_of_the_queries():
    assert masks.draw(MaskRecipe(2, 4, (Prefix(3),)).allowed()) == "■■■⬚\n■■■■"
    assert masks.draw(MaskRecipe(2, 4, (Packed(((0, 0, 1, 1),)),), offset=1).allowed()) == "■■⬚⬚\n⬚⬚■■"
    square = MaskRecipe(5, 5, (Prefix(3),)).allowed()[0, 0]
    assert torch.equal(square, masks.prefix_lm(5, prefix=3))


@pytest.mark.parametrize(
    ("sizes", "parts", "offset", "part", "code", "message"),
    [
        ((5, 5), (Padding((6,)),), None, "padding", "length", "between 0 and k_len 5: got 6 for sample 0"),
        ((5, 5), (Padding(()),), None, "padding", "no_lengths", "one length per sample: got none"),
        ((5, 5), (GlobalLocal(1, (5,)),), None, "global_local", "global_key", "positions below k_len 5: got 5"),
        ((5, 7), (BlockSparse(((1, 1), (1, 1)), 3),), None, "block_sparse", "block_map", "at least 2 x 3.*got 2 x 2"),
        ((5, 5), (BlockSparse(((1, 1), (1,)), 3),), None, "block_sparse", "block_map", "rows of equal length"),
        ((5, 5), (BlockSparse((), 3),), None, "block_sparse", "block_map", "got 0 x 0"),
        ((5, 5), (Prefix(6),), None, "prefix", "prefix", "between 0 and k_len 5: got 6"),
        ((5, 5), (Packed(((0, 1),)),), None, "packed", "ids", "one document id per key: got 2 for k_len 5 in sample 0"),
        ((5, 5), (Packed(()),), None, "packed", "no_ids", "one row of document ids per sample: got none"),
        ((3, 5), (Packed(((0,) * 5,)),), 3, "packed", "ids_place", "0 to 4: got positions 3 to 5"),
        ((3, 5), (Packed(((0,) * 5,)),), -1, "packed", "ids_place", "0 to 4: got positions -1 to 1"),
        ((2, 2), (Padding((1, 2)), Packed(((0, 0),))), None, "packed", "batch", "got 2 lengths and 1 rows of ids"),
        ((2, 2), (Causal(), Causal()), None, "sizes", "twice", "once: got causal, causal"),
        ((0, 2), (), None, "sizes", "sizes", "at least one query and one key: got q_len 0"),
    ],
)
def test_what_does_not_fit_is_refused(sizes, parts, offset, part, code, message):
    with pytest.raises(PartError, match=message) as caught:
        MaskRecipe(*sizes, parts, offset)
    assert (caught.value.part, caught.value.code) == (part, code)


@pytest.mark.parametrize("painted", [((0, 2, 0),), ((1, 0, 0),), ((0, 0, -1),), ((0, 0, 1), (0, 0, 1))])
def test_painted_cells_lie_in_the_mask_once(painted):
    with pytest.raises(PartError, match="painted cell"):
        MaskRecipe(2, 2, (), painted=painted)


def test_an_unknown_convention():
    with pytest.raises(ValueError, match=r"convention must be one of sdpa, multihead.*got 'jax'"):
        mask_code(MaskRecipe(2, 2), "jax")
