"""Writing step by step: the same tokens as transformers' own, every step recorded, the steps joined to one run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from attention_core.pretrained import Chat, Generation, Model, Switches, load
from attention_core.pretrained.backend import Recording
from attention_core.pretrained.generation import _cache_name

PROMPT = "The capital of France is"
TINY: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": {
        "hidden_size": 24, "intermediate_size": 17, "num_hidden_layers": 2, "num_attention_heads": 3,
        "num_key_value_heads": 1, "max_position_embeddings": 37, "eos_token_id": None,
    },
    "GPT2LMHeadModel": {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 37, "eos_token_id": None},
    "OPTForCausalLM": {
        "hidden_size": 24, "ffn_dim": 17, "num_hidden_layers": 2, "num_attention_heads": 3, "word_embed_proj_dim": 24,
        "max_position_embeddings": 37, "eos_token_id": None,
    },
    "Gemma2ForCausalLM": {  # a window in every other layer, a softcap
        "hidden_size": 24, "intermediate_size": 17, "num_hidden_layers": 2, "num_attention_heads": 3,
        "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 3, "max_position_embeddings": 37,
        "eos_token_id": None, "bos_token_id": None,
    },
}  # fmt: skip
TWO: dict[str, dict[str, Any]] = {
    "T5ForConditionalGeneration": {
        "d_model": 24, "d_kv": 8, "d_ff": 17, "num_heads": 3, "num_layers": 2, "num_decoder_layers": 2,
        "decoder_start_token_id": 0, "eos_token_id": 3,
    },
    "BartForConditionalGeneration": {
        "d_model": 24, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3,
        "decoder_attention_heads": 3, "encoder_ffn_dim": 17, "decoder_ffn_dim": 19, "max_position_embeddings": 37,
        "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3, "forced_eos_token_id": None,
    },
}  # fmt: skip
SIZES = TINY | TWO


@pytest.fixture(scope="module")
def folder_of(tiny_folder: Callable[..., Path]) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in made:
            made[name] = tiny_folder(name, specials=name in TWO, **SIZES[name])
        return made[name]

    return find


@pytest.fixture(scope="module")
def llama(folder_of: Callable[[str], Path]) -> Model:
    return load(folder_of("LlamaForCausalLM"))


def theirs(folder: Path, text: str, count: int) -> list[int]:
    """What transformers writes on its own, eager and greedy."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    given = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        said = model.generate(**given, max_new_tokens=count, do_sample=False, num_beams=1, pad_token_id=0)[0]
    return said[1 if config.is_encoder_decoder else given["input_ids"].shape[1] :].tolist()


def weights(inputs: Any) -> torch.Tensor:
    found = inputs.trace(keep=("weights",)).weights
    assert found is not None
    return found


def written(model: Model, text: Any = "the cat sat on", **options: Any) -> Generation:
    made = model.generate(text, **options)
    list(made)
    return made


# ---------------------------------------------------------------------------------------------------------------------
# the same tokens


@pytest.mark.model
def test_smollm2_writes_what_transformers_writes(smollm2: Model, smollm2_folder: Path) -> None:
    made = written(smollm2, PROMPT, max_new_tokens=20)
    assert list(made.token_ids) == theirs(smollm2_folder, PROMPT, 20)
    assert made.text.startswith(" Paris.") and len(made.steps) == 20 and made.steps[-1].end == "length"
    for step in made.steps:  # greedy: the chosen one is the likeliest, and is told with the same probability
        assert step.top[0] == (step.token_id, step.probability) and len(step.top) == 5
        assert 0 < step.probability < 1
    run = made.run()
    whole = smollm2.run(run.texts[0], agreement=False)
    assert [t.id for t in run.tokens["self"][0]] == [t.id for t in whole.tokens["self"][0]]
    assert run.query_spans(run.calls[0]) == whole.query_spans(whole.calls[0])
    for call in run.calls:  # 1e-5: float32 roundings of scores up to about 100, in products of other shapes
        assert_close(weights(run.inputs[call.name]), weights(whole.inputs[call.name]), atol=1e-5, rtol=0)


@pytest.mark.model
@pytest.mark.parametrize("changed", [{"scaling": False}, {"mask": "none"}])
def test_switches_change_what_is_written(smollm2: Model, changed: dict[str, Any]) -> None:
    own = written(smollm2, PROMPT, max_new_tokens=6)
    other = written(smollm2, PROMPT, max_new_tokens=6, switches=Switches(**changed))
    assert own.text.startswith(" Paris.") and "Paris" not in other.text
    assert sum(a != b for a, b in zip(own.token_ids, other.token_ids, strict=True)) >= 5


@pytest.mark.model
def test_a_chat_is_answered_and_ends(smollm2: Model) -> None:
    made = written(smollm2, Chat("What is the capital of France?"), max_new_tokens=40)
    assert made.text == "The capital of France is Paris."
    last = made.steps[-1]
    assert (last.end, last.token.label, last.token.special, len(made.steps)) == ("stop", "<|im_end|>", True, 8)
    assert made.finished
    with pytest.raises(StopIteration):
        next(made)


@pytest.mark.parametrize("name", SIZES)
def test_tiny_models_write_what_transformers_writes(folder_of: Callable[[str], Path], name: str) -> None:
    model = load(folder_of(name))
    made = written(model, max_new_tokens=7)
    assert list(made.token_ids) == theirs(folder_of(name), "the cat sat on", 7)
    assert [step.calls[0].step for step in made.steps] == list(range(len(made.steps)))


# ---------------------------------------------------------------------------------------------------------------------
# the record


@pytest.mark.parametrize("name", TINY)
def test_joined_steps_are_the_steps_and_are_a_run_without_cache(folder_of: Callable[[str], Path], name: str) -> None:
    model = load(folder_of(name))
    made = written(model, max_new_tokens=5)
    run = made.run()
    assert [call.name for call in run.calls] == [call.name for call in model.calls]
    labels = [model.read("the cat sat on").tokens[0][i].label for i in range(4)]
    assert run.query_labels(run.calls[0])[0] == labels + [token.label for token in made.tokens[:4]]
    ids = torch.tensor([[token.id for token in run.tokens["self"][0]]])
    states = model.outputs(ids)
    assert_close(run.output, states, atol=1e-5, rtol=1e-5)  # float32, the same sums in other blocks
    whole = Recording()
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if model._traits.takes_positions:
        inputs["position_ids"] = torch.arange(8)[None] + model._traits.first_position
    model._forward(model._module, inputs, whole)
    for call in run.calls:
        joined = weights(run.inputs[call.name])
        assert joined.shape == (1, 3, 8, 8)
        assert_close(joined, weights(whole.inputs[call.name]), atol=1e-5, rtol=0)
        assert torch.equal(run.inputs[call.name].allowed.expand(1, 1, 8, 8), whole.inputs[call.name].allowed)
    for step in made.steps:
        first, last = (0, 4) if step.index == 0 else (3 + step.index, 4 + step.index)
        for call in step.calls:
            plain, _, at = call.name.partition("@")
            assert (at, call.step) == ("" if step.index == 0 else str(step.index), step.index)
            alone = weights(made.inputs(call))
            assert alone.shape == (1, 3, last - first, last)
            joined = weights(run.inputs[plain])[:, :, first:last, :last]
            assert_close(alone, joined, atol=1e-6, rtol=0)  # the same numbers, one row at a time


def test_any_prefix_of_the_steps_is_a_run(llama: Model) -> None:
    made = written(llama, max_new_tokens=5)
    for count in range(1, 6):
        run = made.run(count)
        rows = 4 + count - 1  # the token chosen last has asked nothing yet
        assert run.output.shape == (1, rows, 24) and len(run.tokens["self"][0]) == rows
        full = weights(made.run().inputs["decoder.1"])[:, :, :rows, :rows]
        assert_close(weights(run.inputs["decoder.1"]), full, atol=1e-6, rtol=0)
        assert [run.texts[0][slice(*s)] for s in run.query_spans(run.calls[0])[0] if s][:4] == "the cat sat on".split()
    for wrong in (0, 6):
        with pytest.raises(ValueError, match="steps must be 1 to the 5 made so far"):
            made.run(wrong)
    with pytest.raises(KeyError, match=r"no attention call 'decoder\.0@9' in 5 steps"):
        made.inputs(type(made.steps[0].calls[0])("decoder.0@9", "decoder", 0, 9))


def test_with_the_mask_open_a_row_keeps_the_mask_that_it_had(llama: Model) -> None:
    made = written(llama, max_new_tokens=4, switches=Switches(mask="none"))
    given = made.run().inputs["decoder.0"]
    want = torch.ones(7, 7, dtype=torch.bool).tril()
    assert torch.equal(given.own_allowed, want[None, None])  # the model's own
    want[:4, :4] = True  # the prompt was one pass; what came later was not there yet
    assert torch.equal(given.allowed, want[None, None])


@pytest.mark.parametrize("ablation", ["zero", "mean"])
def test_heads_off_in_steps_are_off_as_in_one_pass(llama: Model, ablation: Any) -> None:
    switches = Switches(heads_off=frozenset({("decoder.0", 1), ("decoder.1", 2)}), ablation=ablation)
    made = written(llama, max_new_tokens=5, switches=switches)
    ids = torch.tensor([[token.id for token in made.run().tokens["self"][0]]])
    assert_close(made.run().output, llama.outputs(ids, switches=switches), atol=1e-5, rtol=1e-5)  # sums in other blocks
    own = llama.outputs(ids)
    assert (made.run().output - own).abs().max() > 0.01
    assert made.run().heads_off == switches.heads_off


@pytest.mark.parametrize("name", TWO)
def test_a_target_grows_over_a_source(folder_of: Callable[[str], Path], name: str) -> None:
    model = load(folder_of(name))
    made = written(model, max_new_tokens=4)
    assert [call.name for call in made.steps[1].calls] == ["decoder.0@1", "cross.0@1", "decoder.1@1", "cross.1@1"]
    run = made.run()
    rows = len(made.steps)
    shapes = {call.name: tuple(weights(run.inputs[call.name]).shape[-2:]) for call in run.calls}
    assert shapes == {
        "encoder.0": (6, 6), "encoder.1": (6, 6), "decoder.0": (rows, rows), "cross.0": (rows, 6),
        "decoder.1": (rows, rows), "cross.1": (rows, 6),
    }  # fmt: skip
    assert [len(sample[0]) for sample in (run.tokens["self"], run.tokens["source"])] == [rows, 6]
    assert run.texts == ("the cat sat on",) and run.targets == (made.text[: len(run.targets[0])],)
    for step in made.steps:
        for call in step.calls:
            if call.kind == "encoder":
                continue
            plain, first = call.name.partition("@")[0], step.index
            joined = weights(run.inputs[plain])[:, :, first : first + 1]
            assert_close(weights(made.inputs(call)), joined[..., : weights(made.inputs(call)).shape[-1]])
    # without a cache: the same ids as a whole target
    start = model._targets.start if model._targets is not None else 0
    ids = torch.tensor([[start, *made.token_ids[:-1]]])
    batch = model.read("the cat sat on")
    inputs = model._inputs(batch) | {"decoder_input_ids": ids, "decoder_attention_mask": torch.ones_like(ids)}
    inputs.pop("position_ids", None)
    record = Recording(real=torch.ones_like(ids, dtype=torch.bool))
    states = model._forward(model._module, inputs, record).last_hidden_state
    assert_close(run.output, states, atol=1e-5, rtol=1e-5)  # sums in other blocks
    for call in run.calls:
        assert_close(weights(run.inputs[call.name]), weights(record.inputs[call.name]), atol=1e-5, rtol=0)


def test_c119_empty_slots_of_a_static_cache_are_hidden(folder_of: Callable[[str], Path]) -> None:
    """A cache of 13 slots, 4 filled: its empty keys are zero and legal, only the mask keeps them from being read."""
    from transformers import StaticCache

    model = load(folder_of("LlamaForCausalLM"))
    ids = model.read("the cat sat on").ids
    for mask, hidden in (("model", True), ("none", False)):
        record = Recording(Switches(mask=mask))
        cache = StaticCache(config=model._module.config, max_cache_len=13)
        taken = {str(_cache_name(model)): cache}
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        model._forward(model._module, inputs, record, use_cache=True, **taken)
        given = record.inputs["decoder.0"]
        assert given.key.shape == (1, 1, 13, 8) and not given.key[..., 4:, :].any()
        mass = weights(given)[..., 4:].sum(-1)
        assert bool((mass == 0).all()) is hidden and bool((mass > 0.01).any()) is not hidden
    plain = weights(model.run("the cat sat on", agreement=False).inputs["decoder.0"])
    record = Recording()
    taken = {str(_cache_name(model)): StaticCache(config=model._module.config, max_cache_len=13)}
    model._forward(model._module, inputs, record, use_cache=True, **taken)
    assert_close(weights(record.inputs["decoder.0"])[..., :4], plain, atol=1e-6, rtol=0)  # roundings


# ---------------------------------------------------------------------------------------------------------------------
# choice and ends


def test_drawing_goes_by_the_generator_alone(llama: Model) -> None:
    def drawn(seed: int, temperature: float = 5.0) -> tuple[int, ...]:
        generator = torch.Generator().manual_seed(seed)
        return written(llama, max_new_tokens=8, temperature=temperature, generator=generator).token_ids

    torch.manual_seed(3)
    first = drawn(1)
    torch.manual_seed(4)
    assert drawn(1) == first and drawn(2) != first
    assert drawn(1, 1e-6) == written(llama, max_new_tokens=8).token_ids  # so cold that the likeliest is certain
    step = written(llama, max_new_tokens=1, temperature=5.0, generator=torch.Generator().manual_seed(1)).steps[0]
    logits = llama.head(llama.run("the cat sat on", agreement=False).output[:, -1:])[0, 0].double()
    assert step.probability == pytest.approx(float(logits.softmax(-1)[step.token_id]), rel=1e-4)  # float32 logits


def test_where_it_ends(tiny_folder: Callable[..., Path], llama: Model) -> None:
    first = written(llama, max_new_tokens=3).token_ids
    sizes = TINY["LlamaForCausalLM"] | {"eos_token_id": first[1]}
    made = written(load(tiny_folder("LlamaForCausalLM", **sizes)), max_new_tokens=9)
    at = first.index(first[1]) + 1
    assert (made.token_ids, [s.end for s in made.steps]) == (first[:at], [""] * (at - 1) + ["stop"])
    made = written(llama, "the cat " * 16, max_new_tokens=90)  # 32 of 37 positions
    assert (len(made.steps), made.steps[-1].end) == (6, "limit")  # five more are read, and the last asks nothing


def test_others_are_served_between_two_steps(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from attention_core.pretrained import processors

    monkeypatch.setattr(processors, "_free", threading.BoundedSemaphore(1))
    made = llama.generate("the cat", max_new_tokens=3)
    for _ in made:
        assert processors._free.acquire(timeout=0)
        processors._free.release()
    assert len(made.steps) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number from 1: got 0"),
        ({"max_new_tokens": True}, "max_new_tokens must be a whole number from 1: got True"),
        ({"temperature": -1.0}, "temperature must be 0 or above, and finite: got -1.0"),
        ({"temperature": float("nan")}, "temperature must be 0 or above, and finite"),
        ({"switches": Switches(mask="custom", mask_rows="10/11")}, "a drawn mask has one size"),
        ({"switches": Switches(heads_off=frozenset({("decoder.9", 0)}))}, "heads_off names calls"),
    ],
)
def test_what_is_refused(llama: Model, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        llama.generate("the cat", **options)


def test_who_cannot_write_says_why(minilm: Model, tiny_folder: Callable[..., Path]) -> None:
    with pytest.raises(ValueError, match="only a model that foretells the next token can write: all-MiniLM-L6-v2"):
        minilm.generate("the cat")
    sizes = {"hidden_size": 24, "num_layers": 2, "num_heads": 3, "attention_types": [[["global"], 2]],
             "max_position_embeddings": 37}  # fmt: skip
    neo = load(tiny_folder("GPTNeoForCausalLM", **sizes))
    with pytest.raises(ValueError, match="writing step by step needs attention that runs through ours and a cache"):
        neo.generate("the cat")
