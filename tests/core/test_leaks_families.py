"""The leak test on tiny random models of real families, and on a leak that only the fast path has."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attention_core import masks
from attention_core.diagnostics import reach
from attention_core.leaks import ImplementationsReport, leak_test, leak_test_implementations

VOCABULARY, LENGTH, LAYERS = 43, 7, 2
ROPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "intermediate_size": 19,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
METHODS = pytest.mark.parametrize("method", ["change", "gradient"])


def drawn(model: PreTrainedModel) -> Any:
    """The model with seeded weights, large enough that attention is not uniform."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model.eval()


def llama(**more: Any) -> Any:
    return drawn(LlamaForCausalLM(LlamaConfig(**ROPE, **more)))


def gpt2() -> Any:
    config = GPT2Config(
        vocab_size=VOCABULARY, n_embd=21, n_layer=LAYERS, n_head=3, n_positions=64, bos_token_id=1, eos_token_id=2
    )
    return drawn(GPT2LMHeadModel(config))


def token_ids(batch: int = 2, length: int = LENGTH, *, seed: int = 1) -> Tensor:
    return torch.randint(3, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


# ---------------------------------------------------------------------------------------------------------------------
# families


@METHODS
@pytest.mark.parametrize("make", [llama, gpt2])
def test_decoders_are_causal(make, method):
    model = make().train()
    report = leak_test(model, token_ids(), method=method)
    assert report.passed and report.findings == () and report.noise == 0 and model.training
    assert report.moved.equal(masks.causal(LENGTH).expand(2, -1, -1))


@METHODS
def test_an_encoder_is_not_causal_and_hides_its_padding(method):
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=21, intermediate_size=19, num_hidden_layers=LAYERS, num_attention_heads=3
    )
    model = drawn(BertModel(config))
    causal = leak_test(model, token_ids(), method=method)
    assert [f.code for f in causal.findings] == ["future-visible"]
    assert causal.leaks.equal(~masks.causal(LENGTH).expand(2, -1, -1))
    padded = leak_test(model, token_ids(), expect="full", lengths=[4, 7], method=method)
    assert padded.passed and padded.findings == ()
    forgotten = leak_test(
        lambda ids: model(ids).last_hidden_state,
        token_ids(),
        expect="full",
        lengths=[4, 7],
        vocabulary=VOCABULARY,
    )
    assert [f.code for f in forgotten.findings] == ["padding-visible", "padding-shifts"]


def test_left_padding_of_gpt2_counts_positions_from_the_padding_unless_told():
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [1] * LENGTH])
    model = gpt2()
    report = leak_test(model, token_ids(), attention_mask=mask)
    assert [f.code for f in report.findings] == ["padding-shifts"] and not report.leaks.any()
    told = leak_test(model, token_ids(), attention_mask=mask, keywords={"position_ids": masks.position_ids(mask)})
    assert told.passed and told.findings == ()
    assert leak_test(model, token_ids(), attention_mask=mask.flip(-1)).passed
    assert leak_test(llama(), token_ids(), attention_mask=mask).passed  # rotary: only distances count


@METHODS
def test_t5_decoder_is_causal_and_its_encoder_is_not(method):
    config = T5Config(vocab_size=VOCABULARY, d_model=21, d_kv=5, d_ff=19, num_layers=LAYERS, num_heads=3)
    model = drawn(T5ForConditionalGeneration(config))
    source, target = token_ids(length=11, seed=3), token_ids()
    decoder = leak_test(model, target, argument="decoder_input_ids", keywords={"input_ids": source}, method=method)
    assert decoder.passed and decoder.moved.equal(masks.causal(LENGTH).expand(2, -1, -1))
    handed = {"argument": "input_ids", "keywords": {"decoder_input_ids": target}, "method": method}
    encoder = leak_test(model, source, allowed=torch.ones(LENGTH, 11, dtype=torch.bool), **handed)
    assert encoder.passed and encoder.moved.all() and encoder.moved.shape == (2, LENGTH, 11)


def test_a_window_reaches_further_with_each_layer():
    model = drawn(MistralForCausalLM(MistralConfig(**ROPE, sliding_window=3)))
    window = masks.sliding_window(LENGTH, left=2, right=0)
    report = leak_test(model, token_ids(), allowed=reach(window, LAYERS))
    assert report.passed and report.moved.equal(reach(window, LAYERS).expand(2, -1, -1))
    assert not leak_test(model, token_ids(), allowed=window).passed


def test_packed_documents_need_the_cache_off():
    model, documents = llama(), torch.tensor([[0, 0, 0, 0, 1, 1, 1]])
    positions = {"position_ids": torch.tensor([[0, 1, 2, 3, 0, 1, 2]])}
    good = leak_test(model, token_ids(1), document_ids=documents, keywords={**positions, "use_cache": False})
    assert good.passed and good.moved.equal(masks.packed(documents)[:, 0] & masks.causal(LENGTH))
    bad = leak_test(model, token_ids(1), document_ids=documents, keywords=positions)  # the cache switches it off
    assert [f.code for f in bad.findings] == ["document-visible"]
    assert bad.leaks[0, 4:, :4].all() and int(bad.leaks.sum()) == 12


def test_half_precision_is_no_leak():
    for dtype in (torch.bfloat16, torch.float16):
        report = leak_test(llama().to(dtype), token_ids(), lengths=[4, 7], side="left")
        assert report.passed and report.findings == () and report.output.dtype == dtype


def test_floats_instead_of_ids():
    model = llama()
    with torch.no_grad():
        embedded = model.get_input_embeddings()(token_ids())
    report = leak_test(model, embedded, argument="inputs_embeds")
    assert report.passed and report.moved.equal(masks.causal(LENGTH).expand(2, -1, -1))


def test_the_plain_pytorch_encoder():
    layer = nn.TransformerEncoderLayer(24, 3, 19, batch_first=True, dropout=0.1)
    encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    x = torch.randn(2, LENGTH, 24, generator=torch.Generator().manual_seed(4))
    blocked = ~masks.causal(LENGTH)
    for method in ("change", "gradient"):  # the fast path of inference, and the path of training
        assert leak_test(encoder, x, keywords={"mask": blocked}, method=method).passed
        assert not leak_test(encoder, x, method=method).passed
    assert encoder.training


@METHODS
def test_sixty_four_tokens_take_less_than_two_seconds(method):
    model, ids = llama(), token_ids(1, 61)
    start = time.process_time()
    report = leak_test(model, ids, method=method)
    assert time.process_time() - start < 2  # seconds of CPU; measured 0.1 to 0.3
    assert report.passed and report.moved.equal(masks.causal(61)[None])
    assert report.passes <= (5 if method == "change" else 67)  # 5 runs and one backward pass per output


def test_a_later_cell_is_the_future_only_where_none_may_be_read():
    x = torch.randn(1, LENGTH, 5, generator=torch.Generator().manual_seed(4))
    allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    allowed[0, 3] = False
    report = leak_test(lambda x: torch.ones(LENGTH, LENGTH) @ x, x, allowed=allowed)
    assert [(f.code, f.cells) for f in report.findings] == [("forbidden-visible", ((0, 0, 3),))]


# ---------------------------------------------------------------------------------------------------------------------
# implementations


class FastPathForgets(nn.Module):
    """Causal in eager; the fast path forgets the mask from key 5 on."""

    def __init__(self):
        super().__init__()
        self.config = type("Config", (), {"_attn_implementation": "sdpa"})()
        self.embedding = nn.Embedding(VOCABULARY, 12)
        self.qkv = nn.Linear(12, 36)

    def set_attn_implementation(self, name: str) -> None:
        if name not in ("eager", "sdpa"):
            raise ValueError(f"eager or sdpa: got {name}")
        self.config = type("Config", (), {"_attn_implementation": name})()

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        allowed = masks.causal(ids.shape[1])
        if self.config._attn_implementation == "eager":
            scores = (query @ key.mT / 12**0.5).masked_fill(~allowed, -torch.inf)
            return x + scores.softmax(-1) @ value
        allowed[:, 5:] = True
        return x + F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)


def planted(report: ImplementationsReport, *, layers: int) -> None:
    """The leak from key 5 on, and what it reaches through the layers, under sdpa and nowhere else."""
    assert report.reports["eager"].passed and not report.reports["sdpa"].passed and not report.passed
    leaks = report.reports["sdpa"].leaks
    causal = masks.causal(LENGTH)
    forgetful = causal | (torch.arange(LENGTH) >= 5)
    assert leaks.equal((reach(forgetful, layers) & ~causal).expand_as(leaks))
    assert [f.code for f in report.findings] == ["implementations-differ"]
    lines = report.message.splitlines()
    assert lines[0].startswith("eager: no leak") and lines[1].startswith("sdpa: changing input")
    assert "future tokens are visible" in lines[1]
    assert lines[2].startswith("sdpa and eager give different outputs: up to")
    assert f"; {int(leaks.sum())} leaks exist under sdpa alone" in lines[2]
    assert report.differences["eager"] == 0 < report.differences["sdpa"]


def test_a_leak_under_sdpa_alone_is_found_in_a_model_written_by_hand():
    model = FastPathForgets()
    report = leak_test_implementations(model, token_ids())
    planted(report, layers=1)
    assert "sdpa: changing input 5 moved outputs 0-4 (largest" in report.message
    assert model.config._attn_implementation == "sdpa" and model.training
    assert list(report.reports) == ["eager", "sdpa"] and report.skipped == {}


def test_a_leak_under_sdpa_alone_is_found_in_a_transformers_model(monkeypatch):
    right = ALL_ATTENTION_FUNCTIONS["sdpa"]

    def forgets(module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **more: Any) -> Any:
        allowed = masks.causal(query.shape[2], key.shape[2])
        allowed[:, 5:] = True
        more["is_causal"] = False
        return right(module, query, key, value, allowed[None, None], **more)

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS._local_mapping, "sdpa", forgets)
    model = llama()
    assert model.config._attn_implementation == "sdpa"
    planted(leak_test_implementations(model, token_ids()), layers=LAYERS)
    assert model.config._attn_implementation == "sdpa"


def test_a_sound_model_agrees_and_its_copies_share_the_parameters():
    model = llama(attn_implementation="eager")
    made: list[Any] = []
    model.register_forward_hook(lambda module, given, output: made.append(module))
    report = leak_test_implementations(model, token_ids(), lengths=[4, 7], side="left")
    assert report.passed and list(report.reports) == ["eager", "sdpa"] and report.findings == ()
    assert 0 < report.differences["sdpa"] < 1e-4  # other order of sums; padded rows, uniform or 0, are left out
    first, last = made[0], made[-1]
    assert first is model and last is not model and last.config._attn_implementation == "sdpa"
    assert model.config._attn_implementation == "eager"
    assert all(a is b for a, b in zip(model.parameters(), last.parameters(), strict=True))


def test_a_function_makes_the_models():
    made = {"plain": llama(), "fast": FastPathForgets().eval()}
    report = leak_test_implementations(made.__getitem__, token_ids(), implementations=["plain", "absent"])
    assert report.passed and list(report.reports) == ["plain"] and report.skipped == {"absent": "'absent'"}
    assert "absent: not run: 'absent'" in report.message
    assert not leak_test_implementations(made.__getitem__, token_ids(), implementations=["fast"]).passed


@pytest.mark.parametrize(
    ("model", "options", "error", "match"),
    [
        (lambda: nn.Linear(3, 3), {}, TypeError, r"set_attn_implementation, or a function make.*: got Linear"),
        (
            FastPathForgets,
            {"implementations": ["flex"]},
            ValueError,
            "at least one implementation must run: got .*flex",
        ),
    ],
)
def test_what_cannot_be_switched(model: Callable[[], Any], options: dict[str, Any], error: type[Exception], match: str):
    with pytest.raises(error, match=match):
        leak_test_implementations(model(), token_ids(), **options)


def test_a_family_with_one_implementation_says_so():
    config = BloomConfig(vocab_size=VOCABULARY, hidden_size=21, n_layer=LAYERS, n_head=3)
    report = leak_test_implementations(drawn(BloomForCausalLM(config)), token_ids())
    assert report.passed and list(report.reports) == ["eager"]
    assert report.skipped["sdpa"] == "BloomForCausalLM has one implementation of attention, eager"
