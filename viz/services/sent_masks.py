"""A mask on its way from the mask lab to the explore page: as a setting, and with a text of as many tokens."""

import numpy as np
import torch

from attention_core import masks
from attention_core.drawn_masks import pack, read_rows, size_of, unpack
from attention_core.from_scratch import tokenize
from viz.services.attention import MOST_CHARACTERS, SCRATCH, SCRATCH_MAX_TOKENS
from viz.services.models import ModelError, loaded_model, model_is_here

_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and")


def packed(allowed: np.ndarray) -> str | None:
    """A (q_len, k_len) bool mask as a setting and in a link; None where it is not square."""
    if allowed.shape[0] != allowed.shape[1]:
        return None
    return pack(read_rows(masks.draw(torch.tensor(allowed))))


def packed_mask(text: str) -> str:
    """What a link holds, checked; "" is no mask.

    Raises:
        ValueError: if it is no packed mask.
    """
    return pack(unpack(text)) if text else ""


def fits_model(source: str, text: str, packed_rows: str) -> bool:
    """True where the source is a model that is loaded without a network and cuts the text into as many tokens."""
    if source == SCRATCH or not text or not model_is_here(source):
        return False
    try:
        batch = loaded_model(source).read(text[:MOST_CHARACTERS])
    except (ValueError, *ModelError):
        return False
    return batch.ids.shape[1] == size_of(unpack(packed_rows))


def fitting_text(text: str, packed_rows: str, rule: str) -> str:
    """The text where it has as many tokens as the mask, else an example cut or repeated to as many.

    Args:
        text: what is typed.
        packed_rows: the mask, of ``packed``.
        rule: how texts are cut into tokens.
    """
    size = size_of(unpack(packed_rows))
    if min(len(tokenize(text[:MOST_CHARACTERS], rule)), SCRATCH_MAX_TOKENS) == size:
        return text
    units = list("".join(_WORDS)) if rule == "characters" else _WORDS
    cut = (units * (size // len(units) + 1))[:size]
    return ("" if rule == "characters" else " ").join(cut)
