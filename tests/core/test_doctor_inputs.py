"""What does not fit together is said in a sentence, before anything is judged."""

import pytest
import torch

from attention_core.doctor import diagnose


def tensors(*names: str) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    made = {name: torch.randn(2, 3, 5, 7, generator=generator) for name in ("query", "key", "value")}
    made["weights"] = torch.softmax(torch.randn(2, 3, 5, 5, generator=generator), -1)
    return {name: made[name] for name in names}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"document_ids": torch.zeros(2, 11, dtype=torch.long)}, "document_ids needs one number per token, 5 in a row"),
        ({"position_ids": torch.zeros(2, 4, dtype=torch.long)}, "position_ids needs one number per token, 5 in a row"),
        ({"position_ids": torch.zeros(0, dtype=torch.long)}, r"position_ids must be .* not empty: got shape \(0,\)"),
    ],
)
def test_ids_that_do_not_fit_the_weights(given, message):
    with pytest.raises(ValueError, match=message):
        diagnose(**tensors("weights"), **given)


@pytest.mark.parametrize("shape", [(2, 3, 6, 7), (7,), (2, 3, 5, 8)])
def test_an_output_of_another_size(shape):
    with pytest.raises(ValueError, match=r"output must hold \(batch, heads, q_len, d_v\) = \(2, 3, 5, 7\)"):
        diagnose(**tensors("weights", "query", "key", "value"), output=torch.zeros(shape))


def test_a_merged_output_fits():
    diagnose(**tensors("weights", "query", "key", "value"), output=torch.zeros(2, 5, 21))
