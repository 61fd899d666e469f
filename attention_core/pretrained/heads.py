"""The part of a model behind its last hidden states: which class has it, and the way from states to logits.

What stands between the states and the logits differs from family to family (a transform, a tied matrix, a bias, a
factor, a cap), so it is never written again here: the model's own code runs, with everything before it left out.
"""

import copy
import inspect
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attention_core.pretrained.device import HOME, there

Task = Literal["next-token", "fill-mask", "seq2seq", "embedding", "none"]
"""What a model answers with: "next-token" (the row of a token rates what comes after it), "fill-mask" (what stands at
its place), "seq2seq" (the next token of the target), "embedding" (a vector per text), "none" (hidden states alone)."""

AUTO_CLASSES: Mapping[Task, str] = {
    "next-token": "AutoModelForCausalLM",
    "fill-mask": "AutoModelForMaskedLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "embedding": "AutoModel",
    "none": "AutoModel",
}

_PROBE_TOLERANCE = 1e-4  # relative: the same operations on the same numbers, perhaps cut into other blocks


def task_of(config: Any) -> Task:
    """What a configuration says that its weights were trained to answer with; "none" where it says nothing.

    The class that it names decides. A model of two stacks always speaks: its words are often saved without their head,
    which is tied to the embedding.
    """
    from transformers.models.auto import modeling_auto as names

    family = config.model_type
    if config.is_encoder_decoder:
        return "seq2seq" if family in names.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES else "none"
    named = tuple(config.architectures or ())
    masked = names.MODEL_FOR_MASKED_LM_MAPPING_NAMES.get(family)
    if masked is not None and any(
        name == masked or name.endswith("ForMaskedLM") or (name == "BertForPreTraining" and family == "bert")
        for name in named
    ):
        return "fill-mask"
    causal = names.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(family)
    if causal is not None and any(name == causal or name.endswith("ForCausalLM") for name in named):
        return "next-token"
    return "none"


def body_of(module: Any) -> Any:
    """The part of a loaded model that ends in its last hidden states; the model itself where it has no such part."""
    return module.base_model


class Head:
    """From last hidden states to logits, by the model's own code; used by any number of threads at once."""

    def __init__(self, module: Any) -> None:
        """Takes a loaded model and leaves it as it is; every tensor is shared."""
        shared = [*module.parameters(), *module.buffers()]
        self._rest = copy.deepcopy(module, {id(tensor): tensor for tensor in shared})
        self._two_stacks = bool(module.config.is_encoder_decoder)
        if body_of(module) is not module:
            setattr(self._rest, module.base_model_prefix, _Given())
        else:
            self._rest.encoder, self._rest.decoder = _Given(), _Given()
        self._options = {"use_cache": False} if "use_cache" in inspect.signature(module.forward).parameters else {}

    def __call__(self, hidden: Tensor) -> Tensor:
        """(batch, len, d_model) float -> (batch, len, vocabulary), on the CPU wherever the weights are."""
        hidden = there(hidden, next(self._rest.parameters()).device)
        with torch.no_grad():
            if self._two_stacks:
                given = {"encoder_outputs": (hidden,), "decoder_inputs_embeds": hidden}
            else:
                given = {"inputs_embeds": hidden}
            return there(self._rest(**given, **self._options).logits, HOME)

    def fits(self, hidden: Tensor, logits: Tensor) -> bool:
        """True when these states give these logits, as the whole model made them."""
        try:
            ours = self(hidden)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RuntimeError):
            return False
        if ours.shape != logits.shape:
            return False
        return bool((ours - logits).abs().max() <= _PROBE_TOLERANCE * max(1.0, float(logits.abs().max())))


class _Given(nn.Module):
    """Stands where a body was and hands on the states that came as embeddings."""

    def forward(self, *_: Any, **given: Any) -> "_States":
        hidden = given.get("decoder_inputs_embeds")
        return _States((given["inputs_embeds"] if hidden is None else hidden,))

    @property
    def decoder(self) -> "_Given":
        """Itself: some heads call past the outermost shell of their body."""
        return self


class _States(tuple):
    """The outputs of a body that has nothing but its last states."""

    @property
    def last_hidden_state(self) -> Tensor:
        return self[0]

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)
        return None
