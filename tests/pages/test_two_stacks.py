"""Calls whose rows and columns are of two texts, through the services of the pages."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from attention_core.pretrained import Switches, load
from viz.services.attention import ModelRequest, run
from viz.services.views import statistics, view


@pytest.fixture(scope="module")
def folder(tiny_folder: Callable[..., Path]) -> Path:
    return tiny_folder(
        "BartForConditionalGeneration", specials=True, d_model=24, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=17, decoder_ffn_dim=19,
        max_position_embeddings=37, bos_token_id=2, eos_token_id=3, decoder_start_token_id=3,
    )  # fmt: skip


@pytest.mark.parametrize("switches", [Switches(), Switches(scaling=False, mask="none")])
def test_each_call_is_a_view_of_its_own_tokens(folder: Path, switches: Switches) -> None:
    request = ModelRequest(
        str(folder), ("the cat sat", "my old dog looked at it"), switches=switches, targets=("a dog", "the red hat was")
    )
    sizes = {"encoder.0": (8, 8), "decoder.0": (6, 6), "cross.0": (6, 8)}  # of the longer sample, with added tokens
    made = run(request)
    for name, (rows, columns) in sizes.items():
        call = made.call(name)
        for sample in (0, 1):
            shown = view(request, name, sample)
            assert shown.weights.shape == shown.allowed.shape == shown.intended.shape == (3, rows, columns)
            assert shown.query_tokens == made.query_tokens(call)[sample] and len(shown.query_tokens) == rows
            assert shown.key_tokens == made.key_tokens(call)[sample] and len(shown.key_tokens) == columns
            theirs = made.trace(call).weights
            assert theirs is not None
            assert np.array_equal(shown.weights, theirs[sample].numpy())
            failed = {check.code for check in shown.checks if check.status == "failed"}
            padded_keys = sample == 0
            assert bool(failed) == (not switches.neutral and (padded_keys or name == "decoder.0")), failed
            numbers = statistics(request, name, sample)
            assert all(values.shape == (3,) for values in numbers.numbers.values())
            assert np.isfinite(numbers.numbers["entropy"]).all()


def test_the_target_is_part_of_the_request(folder: Path) -> None:
    given = ModelRequest(str(folder), ("the cat sat",), targets=("a dog",))
    written = ModelRequest(str(folder), ("the cat sat",))
    assert run(given).targets == ("a dog",)
    assert run(written).targets != ("a dog",)
    assert given.neutral.targets == ("a dog",)
    assert torch.equal(run(written).output, load(folder).run("the cat sat").output)
