"""What a head looks at, as scores: the share of attention that goes where a known pattern says.

A score is a share in [0, 1], never a certainty: a head with 0.9 on the previous token gives 0.9 of its attention to it
on this text. Beside each score stands its chance: what a head that spreads evenly over all that it may read would have.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core.diagnostics._rows import expanded_mask, row_mean, widened
from attention_core.diagnostics.distribution import normalized_entropy
from attention_core.runs import Token

PATTERNS = (
    "previous",
    "next",
    "self",
    "first",
    "separator",
    "punctuation",
    "same-word",
    "induction",
    "local",
    "uniform",
)
BY_POSITION = ("previous", "next", "self", "same-word", "induction", "local")  # they need queries and keys of one text
LOCAL_DISTANCE = 2

_SPARSE = 16  # keys per query below which picking single cells costs less than reading all of them


@dataclass(frozen=True, eq=False)
class TokenRoles:
    """What the patterns need to know of the tokens of one text; see ``token_roles``.

    Attributes:
        ids: (len,) int64, equal for equal tokens.
        words: (len,) int64, equal for the pieces of one word, in order; -1 for tokens that are in no text.
        padding, special, separator, punctuation: (len,) bool. ``special``: added by the tokenizer, not typed.
    """

    ids: Tensor
    words: Tensor
    padding: Tensor
    special: Tensor
    separator: Tensor
    punctuation: Tensor

    def __len__(self) -> int:
        return self.ids.shape[0]

    def last(self, count: int) -> "TokenRoles":
        """Of the last ``count`` tokens."""
        start = len(self) - count
        return TokenRoles(
            self.ids[start:],
            self.words[start:],
            self.padding[start:],
            self.special[start:],
            self.separator[start:],
            self.punctuation[start:],
        )


@dataclass(frozen=True, eq=False)
class PatternCells:
    """Which cells each pattern names, and which queries count: made once for all layers that share a mask.

    Attributes:
        targets: pattern -> (batch, q_len, k_len) bool, or the indices of its cells per sample where they are few.
        counted: pattern -> (batch, heads or 1, q_len) bool.
        chance: pattern -> (batch, heads or 1) float64.
        allowed: (batch, heads or 1, q_len, k_len) bool.
    """

    targets: Mapping[str, "Tensor | tuple[tuple[Tensor, Tensor], ...]"]
    counted: Mapping[str, Tensor]
    chance: Mapping[str, Tensor]
    allowed: Tensor


@dataclass(frozen=True, eq=False)
class HeadPatterns:
    """One number per pattern and head, in [0, 1]; NaN where the pattern is not possible on this text.

    Attributes:
        scores: pattern -> (batch, heads) float.
        chance: pattern -> (batch, heads) float: the score of a head that spreads evenly over the keys it may read.
    """

    scores: Mapping[str, Tensor]
    chance: Mapping[str, Tensor]


def token_roles(tokens: Sequence[Token]) -> TokenRoles:
    """Reads the roles of tokens off their labels and offsets.

    A separator is a special token, added or typed, that is not the first real token: [SEP] and </s>, not [CLS]. A
    token is punctuation when it is written with punctuation marks and symbols alone, spaces aside. Two neighbours are
    pieces of one word when their offsets touch or overlap with letters or digits on both sides; each character of a
    script without spaces, such as Chinese, is a word.

    Args:
        tokens: of one text, at least one.

    Returns:
        TokenRoles; tokens count as equal when their vocabulary ids are, or their labels where there are no ids.
    """
    numbers: dict[object, int] = {}
    ids = [numbers.setdefault(token.label if token.id is None else token.id, len(numbers)) for token in tokens]
    real = [i for i, token in enumerate(tokens) if not token.padding]
    first = real[0] if real else -1
    marks = [(token.special or token.typed_special) and not token.padding for token in tokens]
    marked = list(zip(marks, tokens, strict=True))
    return TokenRoles(
        ids=torch.tensor(ids, dtype=torch.int64),
        words=torch.tensor(_words(tokens), dtype=torch.int64),
        padding=torch.tensor([token.padding for token in tokens], dtype=torch.bool),
        special=torch.tensor([token.special for token in tokens], dtype=torch.bool),
        separator=torch.tensor([mark and i != first for i, mark in enumerate(marks)], dtype=torch.bool),
        punctuation=torch.tensor(
            [not (mark or token.padding) and _is_punctuation(token.label) for mark, token in marked], dtype=torch.bool
        ),
    )


def pattern_cells(
    roles: Sequence[TokenRoles],
    *,
    query_roles: Sequence[TokenRoles] | None = None,
    q_len: int | None = None,
    allowed: Tensor | None = None,
    local: int = LOCAL_DISTANCE,
) -> PatternCells:
    """The cells of every pattern on given texts, for ``head_patterns``.

    ==============  ====================================================================================================
    previous        the key one position before the query
    next            the key one position after it
    self            the query's own position
    first           the first real token, by another query (a sink: Xiao et al. 2023)
    separator       separators ([SEP], </s>) other than the query itself
    punctuation     punctuation other than the query itself
    same-word       other pieces of the query's word, and the query's token elsewhere in the text
    induction       keys before the query whose predecessor is the query's token: what followed it earlier
    local           keys at most ``local`` positions away, the query's own included
    uniform         no cells: how evenly the weight is spread
    ==============  ====================================================================================================

    A query counts if it is a token of the text (no padding, and none that the tokenizer added: their rows are resting
    places, Clark et al. 2019) and has a choice: it may read a key of the pattern and a key outside it; for "uniform",
    two keys. Padded keys are in no pattern.

    Args:
        roles: of the keys, one per sample, all of one length. In self-attention the queries are the last ``q_len`` of
            them.
        query_roles: of the queries where they are another text than the keys (cross-attention); the patterns that
            compare positions or words (``BY_POSITION``) are then not possible.
        q_len: number of queries. None: as many as keys, or as ``query_roles`` has.
        allowed: bool, broadcastable to (batch, heads, q_len, k_len); True = may attend. None: every key.
        local: distance for "local", at least 1.

    Returns:
        PatternCells.

    Raises:
        TypeError: if ``allowed`` is not bool.
        ValueError: if lengths do not fit, or ``local`` is below 1.

    Source:
        previous, next, self, separator, punctuation, uniform: Clark et al. 2019, "What Does BERT Look At?", section 3;
        self and local as "diagonal", separator as "vertical": Kovaleva et al. 2019, "Revealing the Dark Secrets of
        BERT", section 4.1; induction as prefix matching: Olsson et al. 2022, "In-context Learning and Induction Heads"
        (there on repeated random tokens); first: Xiao et al. 2023, "Efficient Streaming Language Models with Attention
        Sinks". "same-word" joins pieces and repetitions, which those papers keep apart.
    """
    if local < 1:
        raise ValueError(f"local is a distance in tokens, at least 1: got {local}")
    queries, k_len = _queries(roles, query_roles, q_len)
    batch, q_len = len(queries), len(queries[0])
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool) if allowed is None else allowed.cpu()
    mask = mask.reshape((1,) * (4 - mask.dim()) + mask.shape)
    mask = expanded_mask(mask, torch.Size((batch, mask.shape[1], q_len, k_len)), mask.device)
    asked = torch.stack([~(role.padding | role.special) for role in queries])[:, None]  # (batch, 1, q_len)
    readable = mask.sum(dim=-1)  # (batch, heads or 1, q_len)
    targets: dict[str, Tensor | tuple[tuple[Tensor, Tensor], ...]] = {}
    counted, chance = {}, {}
    for name in PATTERNS[:-1]:
        if query_roles is not None and name in BY_POSITION:
            continue
        one_text = query_roles is None
        pairs = zip(queries, roles, strict=True)
        target = torch.stack([_target(name, query, key, local=local, one_text=one_text) for query, key in pairs])
        inside = (target[:, None] & mask).sum(dim=-1)  # (batch, heads or 1, q_len)
        counted[name] = asked & (inside > 0) & (inside < readable)
        chance[name] = row_mean(inside.double() / readable.clamp(min=1), counted[name])
        few = int(target.sum()) <= _SPARSE * batch * q_len
        targets[name] = tuple((found[0], found[1]) for found in map(_places, target)) if few else target
    counted["uniform"] = asked & (readable > 1)
    chance["uniform"] = row_mean(torch.ones_like(readable, dtype=torch.float64), counted["uniform"])
    return PatternCells(targets, counted, chance, mask)


def head_patterns(weights: Tensor, cells: PatternCells) -> HeadPatterns:
    """How much of its attention each head gives to the keys that each pattern names.

    The score of a pattern is the mean, over the queries that count, of the weight on its keys; that of "uniform" is the
    mean of entropy / log(keys the query may read): 1 spread evenly, 0 on one key. Weight that goes to a learned sink
    goes to no pattern.

    Args:
        weights: (batch, heads, q_len, k_len) float in [0, 1].
        cells: of the same texts, see ``pattern_cells``.

    Returns:
        HeadPatterns; NaN where no query counts, as for induction on a text without repeated tokens, and where a weight
        that counts is NaN.

    Raises:
        ValueError: if the weights have other lengths than the texts.

    Source:
        Vig and Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model", section 4: the
        share of a head's attention that a relation takes.
    """
    weights = widened(weights)
    heads = weights.shape[:2]
    batch, _, q_len, k_len = cells.allowed.shape
    if weights.dim() != 4 or (weights.shape[0], *weights.shape[2:]) != (batch, q_len, k_len):
        raise ValueError(
            f"weights must be (batch, heads, q_len, k_len) = ({batch}, heads, {q_len}, {k_len}) for these tokens: got "
            f"{tuple(weights.shape)}"
        )
    scores: dict[str, Tensor] = {}
    chance: dict[str, Tensor] = {}
    for name in PATTERNS:
        if name not in cells.counted:
            scores[name] = chance[name] = weights.new_full(heads, torch.nan)
            continue
        if name == "uniform":
            rows = normalized_entropy(weights, allowed=cells.allowed)
        else:
            rows = _mass(weights, cells.targets[name])
        counted = cells.counted[name]
        spoilt = (rows.isnan() & counted).any(dim=-1)
        scores[name] = row_mean(rows, counted).masked_fill(spoilt, torch.nan)
        chance[name] = cells.chance[name].to(weights.dtype).expand(heads)
    return HeadPatterns(scores, chance)


def _queries(
    roles: Sequence[TokenRoles], query_roles: Sequence[TokenRoles] | None, q_len: int | None
) -> tuple[list[TokenRoles], int]:
    """Roles of the queries, and the number of keys."""
    if not roles or len({len(role) for role in roles}) > 1 or not len(roles[0]):
        raise ValueError(
            f"roles must be one per sample, all of one length: got lengths {[len(role) for role in roles]}"
        )
    k_len = len(roles[0])
    if query_roles is None:
        wanted = k_len if q_len is None else q_len
        if not 1 <= wanted <= k_len:
            raise ValueError(
                f"in self-attention the queries are the last of the {k_len} keys: got {wanted}; pass query_roles for "
                "cross-attention"
            )
        return [role.last(wanted) for role in roles], k_len
    lengths = {len(role) for role in query_roles}
    if len(query_roles) != len(roles) or len(lengths) > 1 or (q_len is not None and lengths != {q_len}):
        raise ValueError(
            f"query_roles must be one per sample ({len(roles)}), all of one length: got lengths "
            f"{[len(role) for role in query_roles]}"
        )
    return list(query_roles), k_len


def _mass(weights: Tensor, target: Tensor | tuple[tuple[Tensor, Tensor], ...]) -> Tensor:
    """Weight on the cells of a target, (batch, heads, q_len)."""
    if isinstance(target, Tensor):
        return torch.einsum("bhqk,bqk->bhq", weights, target.to(weights.device, weights.dtype))
    mass = weights.new_zeros(weights.shape[:-1])
    for sample, (rows, columns) in enumerate(target):
        mass[sample].index_add_(1, rows.to(weights.device), weights[sample][:, rows, columns])
    return mass


def _places(cells: Tensor) -> tuple[Tensor, ...]:
    return cells.nonzero(as_tuple=True)


def _target(name: str, query: TokenRoles, key: TokenRoles, *, local: int, one_text: bool) -> Tensor:
    """(q_len, k_len) bool, the cells that a pattern names; on one text no query is meant by a column of its own."""
    if name in _COLUMNS:
        columns = _COLUMNS[name](key).expand(len(query), -1)
        return columns & (_distance(query, key) != 0) if one_text else columns
    return _RELATIONS[name](query, key, local) & ~key.padding


def _distance(query: TokenRoles, key: TokenRoles) -> Tensor:
    """(q_len, k_len) key position - query position; the queries are the last of the keys."""
    shift = len(key) - len(query)
    return torch.arange(len(key))[None, :] - (torch.arange(len(query)) + shift)[:, None]


def _at(distance: int) -> Callable[[TokenRoles, TokenRoles, int], Tensor]:
    return lambda query, key, local: _distance(query, key) == distance


def _local(query: TokenRoles, key: TokenRoles, local: int) -> Tensor:
    return _distance(query, key).abs() <= local


def _same_word(query: TokenRoles, key: TokenRoles, local: int) -> Tensor:
    word = (query.words[:, None] == key.words) & (key.words >= 0)
    token = (query.ids[:, None] == key.ids) & ~key.special
    return (word | token) & (_distance(query, key) != 0)


def _induction(query: TokenRoles, key: TokenRoles, local: int) -> Tensor:
    followed = torch.zeros(len(query), len(key), dtype=torch.bool)
    followed[:, 1:] = (query.ids[:, None] == key.ids[:-1]) & ~(key.padding | key.special)[:-1]
    return followed & (_distance(query, key) < 0)


def _first(key: TokenRoles) -> Tensor:
    return ~key.padding & ((~key.padding).cumsum(dim=0) == 1)


_RELATIONS: Mapping[str, Callable[[TokenRoles, TokenRoles, int], Tensor]] = {
    "previous": _at(-1),
    "next": _at(1),
    "self": _at(0),
    "same-word": _same_word,
    "induction": _induction,
    "local": _local,
}
_COLUMNS: Mapping[str, Callable[[TokenRoles], Tensor]] = {
    "first": _first,
    "separator": lambda key: key.separator,
    "punctuation": lambda key: key.punctuation,
}


def _words(tokens: Sequence[Token]) -> list[int]:
    words: list[int] = []
    last: Token | None = None
    for token in tokens:
        if token.span is None or token.padding or token.special:
            words.append(-1)
            last = None
            continue
        together = last is not None and _continues(last, token)
        words.append(max(words, default=-1) + (0 if together else 1))
        last = token
    return words


def _continues(last: Token, token: Token) -> bool:
    """True where two tokens are pieces of one word."""
    assert last.span is not None and token.span is not None
    if token.span[0] < last.span[1]:
        return True  # parts of one character
    if token.span[0] > last.span[1] or token.typed_special or last.typed_special:
        return False
    return _in_word(last.label[-1:]) and _in_word(token.label[:1])


def _in_word(character: str) -> bool:
    """True for letters and digits of scripts that put spaces between words."""
    return character.isalnum() and unicodedata.east_asian_width(character) not in ("W", "F")


def _is_punctuation(label: str) -> bool:
    marks = label.strip()
    return bool(marks) and all(unicodedata.category(character)[0] in "PS" for character in marks)
