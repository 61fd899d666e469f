"""The next token out of logits: the likeliest, or drawn; with what a model's own settings forbid and force."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_core.pretrained.answers import log_probabilities, top_tokens


@dataclass(frozen=True)
class Choice:
    """A chosen token.

    Attributes:
        token_id: of the vocabulary.
        probability: by the model, before rules and temperature.
        top: (id, probability) of the likeliest tokens, likewise.
        ends: True where it ends a text.
    """

    token_id: int
    probability: float
    top: tuple[tuple[int, float], ...]
    ends: bool


class Chooser:
    """Chooses one token after another, as the model's generation settings say.

    Args:
        whole: the model with its head.
        temperature: 0 takes the likeliest token; above, one is drawn from the softmax of logits / temperature.
        generator: draws it; None: one with seed 0.

    Raises:
        ValueError: if the temperature is below 0 or not finite.
    """

    def __init__(self, whole: Any, temperature: float = 0.0, generator: torch.Generator | None = None) -> None:
        if not (math.isfinite(temperature) and temperature >= 0):
            raise ValueError(f"temperature must be 0 or above, and finite: got {temperature}; 0 takes the likeliest")
        self._temperature = temperature
        self._generator = torch.Generator().manual_seed(0) if generator is None else generator
        said = (whole.generation_config, whole.config)
        ends = next((e for e in (getattr(one, "eos_token_id", None) for one in said) if e is not None), ())
        self.ends = frozenset([ends] if isinstance(ends, int) else ends)
        self._rules = _rules(whole.generation_config, sorted(self.ends))

    def __call__(self, logits: Tensor, before: Sequence[int], top: int) -> Choice:
        """One token.

        Args:
            logits: (vocabulary,) float.
            before: ids of all tokens so far.
            top: how many of the likeliest to tell.
        """
        probabilities = log_probabilities(logits).exp()
        ruled = self._rules(torch.tensor([list(before)]), logits[None].float().clone())[0]
        if self._temperature == 0:
            chosen = int(ruled.argmax())
        else:
            drawn = torch.softmax(ruled.double() / self._temperature, dim=-1)
            chosen = int(torch.multinomial(drawn, 1, generator=self._generator))
        likeliest = top_tokens(probabilities, min(top, probabilities.shape[-1])).tolist()
        told = tuple((id_, float(probabilities[id_])) for id_ in likeliest)
        return Choice(chosen, float(probabilities[chosen]), told, chosen in self.ends)


def _rules(settings: Any, ends: list[int]) -> Any:
    """What a model's generation settings forbid or force, as transformers' own processors do it.

    Source:
        ``GenerationMixin._get_logits_processor`` of transformers 5, for greedy generation; rules about the end of a
        text of a given length are left out, since the length here is the visitor's.
    """
    import transformers

    rules = transformers.LogitsProcessorList()
    penalty, ngram = getattr(settings, "repetition_penalty", None), getattr(settings, "no_repeat_ngram_size", None)
    if penalty is not None and penalty != 1.0:
        rules.append(transformers.RepetitionPenaltyLogitsProcessor(penalty=penalty))
    if ngram:
        rules.append(transformers.NoRepeatNGramLogitsProcessor(ngram))
    if getattr(settings, "bad_words_ids", None):
        rules.append(transformers.NoBadWordsLogitsProcessor(settings.bad_words_ids, eos_token_id=ends or None))
    if getattr(settings, "suppress_tokens", None):
        rules.append(transformers.SuppressTokensLogitsProcessor(settings.suppress_tokens))
    if getattr(settings, "forced_bos_token_id", None) is not None:
        rules.append(transformers.ForcedBOSTokenLogitsProcessor(settings.forced_bos_token_id))
    return rules
