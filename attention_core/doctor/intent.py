"""What was meant: from ``allowed``, from words, from lengths and documents, or read from the weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from attention_core import masks
from attention_core.doctor.expectation import Expectation, all_of, parse_expect, parts_of
from attention_core.doctor.inputs import Given

Shape = tuple[int, int, int, int]
_FEW = 48  # keys up to which every chunk size is tried


@dataclass(frozen=True, eq=False)
class Intent:
    """The mask that is taken as meant, and its parts.

    Attributes:
        allowed: (batch, heads, q_len, k_len) bool view; None where nothing was stated and nothing fits.
        parts: named parts as ``faults.Situation`` takes them; ``allowed`` lies within each.
        words: in words.
        source: "allowed", "expect", "implied" (lengths, documents or tokens alone), "inferred" or "none".
        padded_keys: (batch, k_len) bool, padded_queries: (batch, q_len) bool, True = padding; None where not known.
        by_tokens: that there is padding was told by the tokens alone.
        read: the words in detail.
        other_parts: the same mask taken apart another way, where two ways fit.
    """

    allowed: Tensor | None
    parts: Mapping[str, Tensor] = field(default_factory=dict)
    words: str = ""
    source: str = "none"
    lengths: Tensor | None = None
    side: str = "right"
    document_ids: Tensor | None = None
    padded_keys: Tensor | None = None
    padded_queries: Tensor | None = None
    by_tokens: bool = False
    read: Expectation = field(default_factory=Expectation)
    other_parts: Mapping[str, Tensor] | None = None

    @property
    def stated(self) -> bool:
        return self.source in ("allowed", "expect", "implied")


def find_intent(given: Given, expect: Any) -> Intent:
    """The intent from everything that was stated; read from the weights where nothing was.

    Raises:
        TypeError, ValueError: if ``expect`` cannot be read, something that it needs is missing, or two statements
            disagree.
    """
    batch, _, _, k_len = given.shape
    documents = _documents(given)
    lengths, side, by_tokens = _lengths(given)
    if lengths is not None:
        if len(lengths) not in (1, batch):
            raise ValueError(f"lengths needs one number per sample: got {len(lengths)} for batch {batch}")
        if (lengths > k_len).any():
            raise ValueError(f"lengths must lie within k_len {k_len}: got {int(lengths.max())}")
        lengths = lengths.expand(batch)
    if documents is not None and len(documents) not in (1, batch):
        raise ValueError(f"document ids need one row per sample: got {len(documents)} for batch {batch}")
    known = Intent(None, lengths=lengths, side=side or "right", document_ids=documents, by_tokens=by_tokens)
    expectation = None if expect is None else parse_expect(expect)
    if expectation is not None and expectation.side is not None:
        if given.side is not None and given.side != expectation.side:
            raise ValueError(f"two statements must agree: expect says {expectation.side} padding, lengths {given.side}")
        known = replace(known, side=expectation.side)
    if given.allowed is not None:
        intent = _from_allowed(given, known, expectation, side)
    elif expectation is not None:
        intent = _from_words(given, known, expectation)
    elif lengths is not None or documents is not None:
        intent = _implied(given, known)
    else:
        intent = _inferred(given, known)
    return _with_padding(given, intent)


def _documents(given: Given) -> Tensor | None:
    from_positions = None
    if given.position_ids is not None:
        ids = masks.document_ids_from_positions(given.position_ids)
        if given.lengths is None and bool((ids != ids[:, :1]).any()):
            from_positions = ids
    if given.document_ids is not None and from_positions is not None:
        same = _pairs(given.document_ids)
        if same.shape != _pairs(from_positions).shape or not torch.equal(same, _pairs(from_positions)):
            raise ValueError(
                "two statements must agree: document_ids and position_ids split the row differently; drop one"
            )
    return given.document_ids if given.document_ids is not None else from_positions


def _pairs(ids: Tensor) -> Tensor:
    return ids[:, :, None] == ids[:, None, :]


def _lengths(given: Given) -> tuple[Tensor | None, str | None, bool]:
    if given.lengths is not None:
        side = given.side
        if side is None and given.keys is not None and given.keys.count == given.shape[3]:
            side = _side_of(given.keys.padding)
        return given.lengths, side, False
    labels = given.keys
    if labels is not None and labels.count == given.shape[3] and bool(labels.padding.any()) and given.allowed is None:
        return (~labels.padding).sum(-1), _side_of(labels.padding), True
    return None, None, False


def _side_of(padding: Tensor) -> str | None:
    left, right = bool(padding[:, 0].any()), bool(padding[:, -1].any())
    return "left" if left and not right else "right" if right and not left else None


def _from_words(given: Given, known: Intent, expectation: Expectation) -> Intent:
    expectation = _direction_from_weights(given, known, expectation)
    parts = parts_of(expectation, given.shape, lengths=known.lengths, side=known.side, document_ids=known.document_ids)
    words = replace(
        expectation,
        packed=known.document_ids is not None,
        cache="cache" in parts,
        padding="padding" in parts,
        side=known.side if "padding" in parts else None,
    )
    return replace(
        known, allowed=all_of(parts, given.shape), parts=parts, words=words.words, source="expect", read=words
    )


def _direction_from_weights(given: Given, known: Intent, expectation: Expectation) -> Expectation:
    """Padding or documents alone say nothing about the future: weights that never look there are causal."""
    if expectation.direction is not None or expectation.causal or given.weights is None or given.misfit:
        return expectation
    _, _, q_len, k_len = given.shape
    future = ~masks.causal(q_len, k_len)
    if q_len > 1 and bool(future.any()) and not bool((given.weights[..., future] > 0).any()):
        return replace(expectation, direction="causal")
    return expectation


def _implied(given: Given, known: Intent) -> Intent:
    stated = Expectation(packed=known.document_ids is not None)
    return replace(_from_words(given, known, stated), source="implied")


def _from_allowed(given: Given, known: Intent, expectation: Expectation | None, side: str | None) -> Intent:
    assert given.allowed is not None
    allowed = given.allowed.expand(given.shape)
    options = _paddings_of(allowed, known, side, given.shape)
    if expectation is not None:
        meant = [_from_words(replace(given, weights=None), option, expectation) for option in options]
        agreeing = [m for m in meant if _disagreement(allowed, m, given.shape) is None]
        if not agreeing:
            raise ValueError(_disagreement(allowed, meant[0], given.shape))
        return replace(agreeing[0], allowed=allowed, source="allowed")
    single = given.shape[2] == 1 and known.lengths is None  # one query: keys that it does not read need not be filler
    found = [(option, *describe(allowed, option)) for option in (options[:1] if single else options)]
    option, read, parts = next((f for f in found if f[1] is not None), max(found, key=lambda f: len(f[2])))
    words = "as given" if read is None else read.words
    intent = replace(option, allowed=allowed, parts=parts, words=words, source="allowed", read=read or Expectation())
    if single and len(options) > 1 and options[1].side == "right" and options[1].lengths is not None:
        return replace(intent, other_parts={"cache": masks.padding(options[1].lengths, given.shape[3])})
    return intent


def _disagreement(allowed: Tensor, meant: Intent, shape: Shape) -> str | None:
    assert meant.allowed is not None  # words always give a mask
    different = allowed != meant.allowed
    if meant.lengths is not None and shape[2] == shape[3]:  # rows of padding queries may be hidden or not
        different = different & _real(meant, shape[3]).transpose(-1, -2)
    if not different.any():
        return None
    b, h, q, k = different.nonzero()[0].tolist()
    return (
        f"two statements of the intent must agree: expect means {meant.words}, allowed differs in "
        f"{int(different.sum())} cells, first at sample {b}, head {h}, query {q}, key {k}; drop one of them"
    )


def _real(known: Intent, k_len: int) -> Tensor:
    """(batch, 1, 1, k_len) bool: the keys that are no padding."""
    assert known.lengths is not None
    return masks.padding(known.lengths, k_len, side="left" if known.side == "left" else "right")


def _paddings_of(allowed: Tensor, known: Intent, side: str | None, shape: Shape) -> list[Intent]:
    """Lengths and sides that the mask allows for: those stated, else none, or the unread keys at either end."""
    k_len = shape[3]
    if known.lengths is not None:
        sides = [side] if side is not None else ["right", "left"]
        options = [replace(known, side=s) for s in sides]
        fitting = [option for option in options if not (allowed & ~_real(option, k_len)).any()]
        if fitting:
            return fitting
        extra = (allowed & ~_real(options[0], k_len)).flatten(1).any(1)
        raise ValueError(
            f"two statements of the intent must agree: allowed permits keys beyond lengths {known.lengths.tolist()} in "
            f"samples {extra.nonzero().flatten().tolist()}; drop one of them"
        )
    read = allowed.flatten(1, 2).any(1).long()  # (batch, k_len)
    options = [known]
    for end, column in (("right", read.flip(-1)), ("left", read)):
        run = (column.cumsum(-1) == 0).sum(-1)  # unread keys at that end
        if bool((run > 0).any()) and not bool((run == k_len).all()):
            options.append(replace(known, lengths=k_len - run, side=end))
    return options


def describe(allowed: Tensor, known: Intent) -> tuple[Expectation | None, dict[str, Tensor]]:
    """A mask in words, and its parts; no words where it is none of those known, but the parts that surely hold.

    Args:
        allowed: (batch, heads, q_len, k_len) bool.
        known: lengths, side and documents as far as they are known.
    """
    shape: Shape = (allowed.shape[0], allowed.shape[1], allowed.shape[2], allowed.shape[3])
    for option in _options(allowed, known.lengths, known.side):
        for documents in (known.document_ids, _documents_of(allowed) if option.packed else None):
            if option.packed and documents is None:
                continue
            try:
                parts = parts_of(option, shape, lengths=known.lengths, side=known.side, document_ids=documents)
            except ValueError:
                continue
            if torch.equal(all_of(parts, shape), allowed):
                side = known.side if "padding" in parts else None
                return replace(option, padding="padding" in parts, side=side, cache="cache" in parts), parts
    sure = {"causal": masks.causal(shape[2], shape[3])}
    if known.lengths is not None:
        sure["padding"] = masks.padding(known.lengths, shape[3], side="left" if known.side == "left" else "right")
    if known.document_ids is not None and shape[2] <= shape[3]:
        sure["documents"] = masks.packed(known.document_ids)[:, :, shape[3] - shape[2] :, :]
    narrows = {n: p for n, p in sure.items() if not bool(p.all()) and not (allowed & ~p).any()}
    return None, narrows


def _options(allowed: Tensor, lengths: Tensor | None, side: str) -> list[Expectation]:
    """Masks that this one could be, the plainest first; sizes are read from its own cells."""
    _, _, q_len, k_len = allowed.shape
    options = [Expectation("bidirectional"), Expectation("causal")]
    if q_len < k_len:
        options += [Expectation("causal", padding=lengths is not None)]
    if q_len != k_len:
        options += [Expectation("causal", top_left=True)]
    anywhere = allowed.flatten(0, 1).any(0)  # (q_len, k_len)
    distance = torch.arange(q_len)[:, None] + (k_len - q_len) - torch.arange(k_len)
    if not anywhere.any():
        return options
    reach = int(distance[anywhere].max()) + 1
    ahead = int(-distance[anywhere].min()) + 1
    if reach >= 1:
        options.append(Expectation("causal", window=reach))
        options.append(Expectation("bidirectional", window=max(reach, ahead)))
    first = 0 if lengths is None or side == "right" else int(k_len - lengths.max())
    sizes = range(1, k_len) if k_len <= _FEW else {int(anywhere[:, first].sum()), int(anywhere[:, first].sum()) + first}
    for size in sizes:
        if size > 0 and not (anywhere & ~masks.chunked(q_len, k_len, size=size)).any():
            options += [Expectation("causal", chunk=size), Expectation("bidirectional", chunk=size)]
    if q_len == k_len:
        options.append(Expectation("causal", prefix=int(anywhere[first].sum()) + first))
        options += [Expectation("causal", packed=True), Expectation("bidirectional", packed=True)]
    return options


def _documents_of(allowed: Tensor) -> Tensor | None:
    """Documents of a block-diagonal mask: one starts at each query that does not read the key before it."""
    joint = allowed.any(1)  # (batch, len, len)
    starts = ~joint.diagonal(offset=-1, dim1=1, dim2=2)  # (batch, len - 1)
    if not starts.any():
        return None
    return torch.nn.functional.pad(starts.long().cumsum(-1), (1, 0))


def _inferred(given: Given, known: Intent) -> Intent:
    weights = given.weights
    if weights is None or given.misfit or tuple(weights.shape[2:]) != given.shape[2:]:
        return known
    joint = (torch.nan_to_num(weights, nan=0.0, posinf=1.0, neginf=0.0) > 0).any(1, keepdim=True)
    batch, heads, q_len, k_len = given.shape
    seen = joint.expand(batch, heads, q_len, k_len)
    for option in _paddings_of(seen, known, None, given.shape) if q_len >= k_len else [known]:
        read, parts = describe(seen, option)
        if read is not None and not (read.top_left or read.window == 1):
            return replace(
                option, allowed=all_of(parts, given.shape), parts=parts, words=read.words, source="inferred", read=read
            )
    if q_len == k_len and k_len > 2:  # a causal mask gone wrong
        triangle = torch.ones(q_len, k_len, dtype=torch.bool)
        wrong = [triangle.triu(1), triangle.triu(0), triangle.tril(-1), triangle.tril(1)]
        within_causal = not bool((seen & ~triangle.tril()).any())
        if any(torch.equal(joint, w.expand_as(joint)) for w in wrong) or within_causal:
            read = Expectation("causal")
            parts = parts_of(read, given.shape, lengths=None, side="right", document_ids=None)
            return replace(
                known, allowed=all_of(parts, given.shape), parts=parts, words=read.words, source="inferred", read=read
            )
    return known


def _other_parts(intent: Intent, shape: Shape) -> Mapping[str, Tensor] | None:
    """The same mask taken apart another way, where what is hidden is hidden twice."""
    _, _, q_len, k_len = shape
    causal, parts = masks.causal(q_len, k_len), intent.parts
    if intent.other_parts is not None or intent.allowed is None or bool(causal.all()):
        return intent.other_parts
    if "padding" in parts and "causal" not in parts and not (intent.allowed & ~causal).any():
        return {**parts, "causal": causal}  # padding hides the whole future here
    others = {name: part for name, part in parts.items() if name != "causal"}
    if "causal" in parts and others and torch.equal(all_of(others, shape), intent.allowed):
        return others  # the other parts hide the whole future by themselves
    if "window" in parts and "causal" in parts:
        return {**parts, "window": parts["window"] & causal}  # a window that looks back only
    return None


def _with_padding(given: Given, intent: Intent) -> Intent:
    batch, _, q_len, k_len = given.shape
    intent = replace(intent, other_parts=_other_parts(intent, given.shape))
    keys = queries = None
    if intent.lengths is not None and "cache" not in intent.parts:
        side = "left" if intent.side == "left" else "right"
        keys = ~masks.padding(intent.lengths, k_len, side=side)[:, 0, 0, :].expand(batch, k_len)
        queries = keys if q_len == k_len else None
    if given.queries is not None and given.queries.count == q_len and bool(given.queries.padding.any()):
        told = given.queries.padding.expand(batch, q_len)
        queries = told if queries is None else queries | told
    return replace(intent, padded_keys=keys, padded_queries=queries)
