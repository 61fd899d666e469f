"""Attention with its projections: one head, many heads. Each returns its trace.

Layout is always ``(batch, len, d_model)``. The number of heads, d_k and d_v may be chosen independently of d_model.
There is no dropout: the weights in the trace are the ones that made the output.
"""

from collections.abc import Collection

import torch
from torch import Tensor, nn

from attention_core.attention import ALL_STAGES, AttentionTrace, scaled_dot_product_attention
from attention_core.modules.layers import check_input, check_sizes, copy_layer, draw, linear_layer
from attention_core.positions import Rotation


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Cuts the features into heads: (batch, len, heads * d) -> (batch, heads, len, d).

    Head h takes features h * d to (h + 1) * d of every token. Viewing memory as (batch, heads, len, d) at once would
    cut the sequence instead.

    Raises:
        ValueError: if there are not three axes, or ``heads`` does not divide the width.
    """
    if x.dim() != 3:
        raise ValueError(f"split_heads needs (batch, len, heads * d): got shape {tuple(x.shape)}")
    if heads < 1 or x.shape[-1] % heads:
        raise ValueError(f"width must be a multiple of heads: got width {x.shape[-1]} and heads {heads}")
    x = x.unflatten(-1, (heads, -1))  # (batch, len, heads, d)
    return x.transpose(1, 2)  # (batch, heads, len, d)


def merge_heads(x: Tensor) -> Tensor:
    """Puts the heads of each token side by side: (batch, heads, len, d) -> (batch, len, heads * d).

    Raises:
        ValueError: if there are not four axes.
    """
    if x.dim() != 4:
        raise ValueError(f"merge_heads needs (batch, heads, len, d): got shape {tuple(x.shape)}")
    x = x.transpose(1, 2)  # (batch, len, heads, d)
    return x.flatten(-2)  # (batch, len, heads * d)


class SelfAttention(nn.Module):
    """A single head over one sequence: softmax(X Wq (X Wk)^T / sqrt(d_k)) X Wv, without an output projection.

    Args:
        d_model: width of the input.
        d_k: width of queries and keys.
        d_v: width of values and of the output.
        bias: whether the projections add one.
        generator: source of the initial weights; with one, nothing is drawn from torch's global generator.
        dtype, device: of the weights.

    Source:
        Vaswani et al. 2017, section 3.2.1.
    """

    def __init__(
        self,
        d_model: int,
        d_k: int,
        d_v: int,
        *,
        bias: bool = True,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        check_sizes(d_model=d_model, d_k=d_k, d_v=d_v)
        self.d_model, self.d_k, self.d_v = d_model, d_k, d_v
        self.q_proj = linear_layer(d_model, d_k, bias, dtype, device)
        self.k_proj = linear_layer(d_model, d_k, bias, dtype, device)
        self.v_proj = linear_layer(d_model, d_v, bias, dtype, device)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draws all weights anew: see ``MultiHeadAttention.reset_parameters``."""
        for projection in (self.q_proj, self.k_proj, self.v_proj):
            draw(projection, generator)

    def forward(
        self,
        x: Tensor,
        *,
        allowed: Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
        softcap: float | None = None,
        rotary: Rotation | None = None,
        keep: Collection[str] = ALL_STAGES,
    ) -> tuple[Tensor, AttentionTrace]:
        """Attention of the sequence over itself.

        Args:
            x: (batch, len, d_model) float.
            allowed: bool, broadcastable to (batch, 1, len, len); True = may attend.
            bias: float, likewise, added to the scaled scores.
            scale: factor on the scores; None means 1 / sqrt(d_k).
            softcap: bound on the absolute scaled score; None means no bound.
            rotary: turns queries and keys before they meet, from ``positions.rotation``.
            keep: names of the stages to hold in the trace.

        Returns:
            (batch, len, d_v), and the trace, whose stages are (batch, 1, len, len).

        Raises:
            ValueError: if a shape does not fit.
            TypeError: if a dtype does not fit.
        """
        check_input("x", x, self.d_model, self.q_proj)
        query = self.q_proj(x).unsqueeze(1)  # (batch, 1, len, d_k)
        key = self.k_proj(x).unsqueeze(1)  # (batch, 1, len, d_k)
        value = self.v_proj(x).unsqueeze(1)  # (batch, 1, len, d_v)
        if rotary is not None:
            query, key = rotary(query, key)
        trace = scaled_dot_product_attention(
            query, key, value, allowed=allowed, bias=bias, scale=scale, softcap=softcap, keep=keep
        )
        return trace.output.squeeze(1), trace  # (batch, len, d_v)


class MultiHeadAttention(nn.Module):
    """Several heads side by side; with fewer key/value heads it is grouped-query, with one multi-query attention.

    ``forward`` is ``project``, ``scaled_dot_product_attention``, ``combine``; the parts are public so that a caller can
    look or step in between.

    Args:
        d_model: width of the query input and of the output.
        num_heads: query heads.
        d_k: width of queries and keys per head; None means d_model / num_heads, which must then divide.
        d_v: width of values per head; None means d_k.
        num_kv_heads: key/value heads, a divisor of ``num_heads``; None means num_heads.
        bias: whether all four projections add one.
        key_dim: width of the key input; None means d_model.
        value_dim: width of the value input; None means key_dim.
        generator: source of the initial weights; with one, nothing is drawn from torch's global generator.
        dtype, device: of the weights.

    Raises:
        ValueError: if the sizes do not fit.

    Source:
        Vaswani et al. 2017, section 3.2.2; Shazeer 2019 (multi-query); Ainslie et al. 2023 (grouped-query).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        num_kv_heads: int | None = None,
        bias: bool = True,
        key_dim: int | None = None,
        value_dim: int | None = None,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        check_sizes(d_model=d_model, num_heads=num_heads)
        if d_k is None:
            if d_model % num_heads:
                raise ValueError(
                    "d_model must be a multiple of num_heads where d_k is not given: "
                    f"got {d_model} and {num_heads}; give d_k"
                )
            d_k = d_model // num_heads
        d_v = d_k if d_v is None else d_v
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        key_dim = d_model if key_dim is None else key_dim
        value_dim = key_dim if value_dim is None else value_dim
        check_sizes(d_k=d_k, d_v=d_v, num_kv_heads=num_kv_heads, key_dim=key_dim, value_dim=value_dim)
        if num_heads % num_kv_heads:
            raise ValueError(f"num_heads must be a multiple of num_kv_heads: got {num_heads} and {num_kv_heads}")
        self.d_model, self.key_dim, self.value_dim = d_model, key_dim, value_dim
        self.num_heads, self.num_kv_heads, self.d_k, self.d_v = num_heads, num_kv_heads, d_k, d_v
        self.q_proj = linear_layer(d_model, num_heads * d_k, bias, dtype, device)
        self.k_proj = linear_layer(key_dim, num_kv_heads * d_k, bias, dtype, device)
        self.v_proj = linear_layer(value_dim, num_kv_heads * d_v, bias, dtype, device)
        self.out_proj = linear_layer(num_heads * d_v, d_model, bias, dtype, device)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draws all weights anew: normal with variance 1 / (input width), biases 0.

        Inputs of unit variance then give queries and keys of unit variance whatever d_k and the head count are, which
        is the assumption behind 1 / sqrt(d_k).

        Args:
            generator: source of the numbers; None draws from torch's global one.

        Source:
            LeCun et al. 1998, "Efficient BackProp", section 4.6.
        """
        for projection in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
            draw(projection, generator)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """A module with a copy of the weights, and the dtype and device, of torch's own.

        Inputs are (batch, len, d_model) here whatever ``module.batch_first`` says, and dropout is left out.

        Args:
            module: with one packed or three separate input projections, with or without biases.

        Raises:
            TypeError: if it is not an nn.MultiheadAttention.
            ValueError: if it was made with add_bias_kv or add_zero_attn.
        """
        if not isinstance(module, nn.MultiheadAttention):
            raise TypeError(f"from_torch takes an nn.MultiheadAttention: got {type(module).__name__}")
        for option, used in (("add_bias_kv", module.bias_k is not None), ("add_zero_attn", module.add_zero_attn)):
            if used:
                raise ValueError(
                    f"from_torch knows no key that is not a token: got {option}=True; build the module without it"
                )
        weight = module.out_proj.weight
        ours = cls(
            module.embed_dim,
            module.num_heads,
            bias=module.in_proj_bias is not None,
            key_dim=module.kdim,
            value_dim=module.vdim,
            generator=torch.Generator(),  # the draw is overwritten; it must not move the global generator
            dtype=weight.dtype,
            device=weight.device,
        )
        if module.in_proj_weight is not None:
            weights = module.in_proj_weight.chunk(3)  # 3 x (d_model, d_model)
        else:
            weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        biases = (None, None, None) if module.in_proj_bias is None else module.in_proj_bias.chunk(3)  # 3 x (d_model,)
        inputs = (ours.q_proj, ours.k_proj, ours.v_proj)
        for linear, one_weight, one_bias in zip(inputs, weights, biases, strict=True):
            copy_layer(linear, one_weight, one_bias)
        copy_layer(ours.out_proj, module.out_proj.weight, module.out_proj.bias)
        return ours

    def project(
        self,
        query_input: Tensor,
        key_input: Tensor | None = None,
        value_input: Tensor | None = None,
        *,
        rotary: Rotation | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values per head, as attention takes them; arguments as in ``forward``.

        Returns:
            (batch, num_heads, q_len, d_k), (batch, num_kv_heads, k_len, d_k), (batch, num_kv_heads, k_len, d_v).
        """
        if key_input is None and value_input is not None:
            raise ValueError("value_input needs a key_input of the same length: got value_input alone")
        key_input = query_input if key_input is None else key_input
        value_input = key_input if value_input is None else value_input
        check_input("query_input", query_input, self.d_model, self.q_proj)
        check_input("key_input", key_input, self.key_dim, self.k_proj)
        check_input("value_input", value_input, self.value_dim, self.v_proj)
        batches = (query_input.shape[0], key_input.shape[0], value_input.shape[0])
        if len(set(batches)) > 1:
            raise ValueError(
                "inputs need one batch size on axis 0, the layout is (batch, len, d_model): "
                f"got {batches[0]} for queries, {batches[1]} for keys, {batches[2]} for values"
            )
        query = split_heads(self.q_proj(query_input), self.num_heads)  # (batch, num_heads, q_len, d_k)
        key = split_heads(self.k_proj(key_input), self.num_kv_heads)  # (batch, num_kv_heads, k_len, d_k)
        value = split_heads(self.v_proj(value_input), self.num_kv_heads)  # (batch, num_kv_heads, k_len, d_v)
        if rotary is not None:
            query, key = rotary(query, key)
        return query, key, value

    def combine(self, head_outputs: Tensor) -> Tensor:
        """Heads side by side, then the output projection: (batch, num_heads, q_len, d_v) -> (batch, q_len, d_model)."""
        return self.out_proj(merge_heads(head_outputs))  # (batch, q_len, d_model)

    def forward(
        self,
        query_input: Tensor,
        key_input: Tensor | None = None,
        value_input: Tensor | None = None,
        *,
        allowed: Tensor | None = None,
        bias: Tensor | None = None,
        sinks: Tensor | None = None,
        scale: float | None = None,
        softcap: float | None = None,
        rotary: Rotation | None = None,
        keep: Collection[str] = ALL_STAGES,
    ) -> tuple[Tensor, AttentionTrace]:
        """Self-attention with one input, cross-attention with two or three.

        Args:
            query_input: (batch, q_len, d_model) float.
            key_input: (batch, k_len, key_dim); None means the query input.
            value_input: (batch, k_len, value_dim); None means the key input.
            allowed: bool, broadcastable to (batch, num_heads, q_len, k_len); True = may attend.
            bias: float, likewise, added to the scaled scores.
            sinks: (num_heads,) float, one extra logit per head without a value.
            scale: factor on the scores; None means 1 / sqrt(d_k).
            softcap: bound on the absolute scaled score; None means no bound.
            rotary: turns queries and keys before they meet, from ``positions.rotation``.
            keep: names of the stages to hold in the trace.

        Returns:
            (batch, q_len, d_model), and the trace, whose stages are (batch, num_heads, q_len, k_len).

        Raises:
            ValueError: if a shape does not fit.
            TypeError: if a dtype does not fit.
        """
        query, key, value = self.project(query_input, key_input, value_input, rotary=rotary)
        trace = scaled_dot_product_attention(
            query,
            key,
            value,
            allowed=allowed,
            bias=bias,
            sinks=sinks,
            scale=scale,
            softcap=softcap,
            enable_gqa=self.num_kv_heads != self.num_heads,
            keep=keep,
        )
        return self.combine(trace.output), trace  # (batch, q_len, d_model)
