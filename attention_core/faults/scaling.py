"""Faults between the dot products and the logits: the factor on the scores."""

from collections.abc import Iterable
from dataclasses import replace

from attention_core.faults.plain import attend, cap, finish, given, hide, need, raw_scores, softmax
from attention_core.faults.situation import Fault, Outcome, Situation


def with_scale(situation: Situation, scale: float) -> Outcome:
    """Attention with another factor on the scores."""
    return attend(replace(situation, scale=scale), {"scale": scale})


def no_scaling(situation: Situation) -> Outcome:
    """softmax(Q K^T)."""
    return with_scale(situation, 1.0)


def scaled_by_d_k(situation: Situation, *, how: str = "d_k") -> Outcome:
    """Divided by d_k instead of its root, or by the root twice."""
    outcome = with_scale(situation, 1.0 / situation.query.shape[-1] if how == "d_k" else situation.right_scale**2)
    return replace(outcome, note={**outcome.note, "how": how})


def _ways_of_d_k(situation: Situation) -> Iterable[dict[str, str]]:
    yield {"how": "d_k"}
    if situation.scale is not None:
        yield {"how": "twice"}


def scaled_by_d_model(situation: Situation) -> Outcome:
    """Divided by the root of the width of all heads together."""
    _, heads, _, d_k = situation.query.shape
    return with_scale(situation, (heads * d_k) ** -0.5)


def divided_by_inverse(situation: Situation, *, of: str = "d_k") -> Outcome:
    """The factor is stored as an inverse and then divided by."""
    scale = situation.query.shape[-1] ** 0.5
    if of == "scale":
        need(situation.right_scale != 0, "a scale of 0 has no inverse")
        scale = 1.0 / situation.right_scale
    outcome = with_scale(situation, scale)
    return replace(outcome, note={**outcome.note, "of": of})


def _ways_of_inverse(situation: Situation) -> Iterable[dict[str, str]]:
    yield {"of": "d_k"}
    if situation.scale is not None:
        yield {"of": "scale"}


def bias_scaled_too(situation: Situation) -> Outcome:
    """(scores + bias) x scale."""
    bias = given(situation.bias, "only a bias can be scaled along with the scores: got no bias")
    scores = raw_scores(situation)
    scaled = cap((scores + bias.to(scores.dtype)) * situation.right_scale, situation.softcap)
    weights = softmax(hide(scaled, situation.allowed), situation.sinks)
    return finish(situation, weights, {"share": situation.right_scale})


FAULTS: tuple[Fault, ...] = (
    Fault(
        id="no-scaling",
        title="Scores are not scaled",
        explanation=(
            "The program takes softmax(Q K^T) and leaves the factor out. A dot product of d_k independent terms has a "
            "standard deviation of about sqrt(d_k), so rows come out nearly one-hot and gradients vanish. Multiply "
            "the scores by d_k ** -0.5 before softmax, unless the model was trained without, as T5 was."
        ),
        fix="scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5",
        symptom="Rows are far too sharp; the effective scale, measured from the scores, is 1.",
        sources=("huggingface/blog#2893", "huggingface/transformers#46946"),
        act=no_scaling,
    ),
    Fault(
        id="scaled-by-d-k",
        title="Divided by d_k, or by its root twice",
        explanation=(
            "The scores are divided by d_k itself, or by sqrt(d_k) in two places: once in the projection of the query "
            "and once more in the attention function, which scales by default. The factor becomes 1/d_k and rows come "
            "out almost flat. Scale once, by d_k ** -0.5; give scale=1.0 to a function that gets scaled queries."
        ),
        fix="F.scaled_dot_product_attention(query, key, value) on unscaled queries, or scale=1.0 on scaled ones",
        symptom="Rows are nearly uniform; the effective scale is 1/d_k.",
        sources=("thegregyang/NTK4A#3",),
        act=scaled_by_d_k,
        ways=_ways_of_d_k,
    ),
    Fault(
        id="scaled-by-d-model",
        title="Scaled by the model width instead of the head width",
        explanation=(
            "The program divides by sqrt(d_model), the width of all heads together. The dot product runs over one "
            "head only, so the scores end up too small by the root of the number of heads and the maps are too flat. "
            "Use the width of a head: query.shape[-1] once the heads are split."
        ),
        fix="scale = (d_model // heads) ** -0.5",
        symptom="Maps too flat by the factor sqrt(heads) in the logits; with one head nothing shows.",
        sources=(
            "lucidrains/vit-pytorch#65",
            "Graylab/DL4Proteins-notebooks#12",
            "omihub777/ViT-CIFAR#11",
            "brightmart/bert_language_understanding#9",
            "chelsea0x3b/dfdx#171",
        ),
        act=scaled_by_d_model,
    ),
    Fault(
        id="divided-by-inverse",
        title="Divided by a factor that is an inverse already",
        explanation=(
            "scale = d_k ** -0.5 is stored, and later the scores are divided by it: in effect they are multiplied by "
            "sqrt(d_k), and nearly every row is one-hot. Multiply by a factor that is stored as an inverse, or store "
            "sqrt(d_k) and divide by it."
        ),
        fix="scores * scale with scale = d_k ** -0.5",
        symptom="Rows are one-hot; the effective scale is sqrt(d_k).",
        sources=("esceptico/perceiver-io#9",),
        act=divided_by_inverse,
        ways=_ways_of_inverse,
    ),
    Fault(
        id="bias-scaled-too",
        title="The bias is scaled along with the scores",
        explanation=(
            "A position bias or a soft mask is added to the raw scores, and the sum is scaled. The bias then counts "
            "only for a fraction, 1/sqrt(d_k) of its value. Hard masks hide the mistake, since a huge negative number "
            "stays one. Scale the scores first, then add the bias."
        ),
        fix="logits = scores * scale + bias",
        symptom="The pull of the bias is too weak by the factor of the scale; without a bias nothing shows.",
        sources=("NVIDIA/OpenSeq2Seq#76",),
        act=bias_scaled_too,
    ),
)
