"""Every word that a figure shows, in one frozen object, so that a page can hand in another language."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FigureWords:
    """Words of the figures, English by default.

    Fields with braces are ``str.format`` templates; the names in braces must stay. Words are plain text: figures
    escape them. ``yes``, ``no``, ``leak_short``, ``lost_short`` travel once per cell: keep them short. Where they
    would weigh too much the figure sends the digits 1, 0, 2, 3 and explains them.
    """

    head: str = "Head {index}"
    head_off: str = "{head} (off)"
    query: str = "query"
    key: str = "key"
    rows: str = "rows: queries"
    columns: str = "columns: keys"
    weight: str = "weight"
    score: str = "score"
    scores: str = "score"
    scaled: str = "scaled score"
    capped: str = "capped score"
    logits: str = "logit"
    weighted: str = "weight x |v|"
    may_attend: str = "may attend"
    yes: str = "yes"
    no: str = "no"
    leak_short: str = "leak"
    lost_short: str = "lost"
    enlarge: str = "click to enlarge"
    # legend
    legend_forbidden: str = "not allowed"
    legend_leak: str = "leak: not allowed, yet weight is not 0"
    legend_blocked: str = "wrongly blocked"
    legend_nan: str = "not a number"
    legend_pos_inf: str = "+infinity"
    legend_neg_inf: str = "-infinity"
    legend_zero: str = "exactly 0"
    legend_tiny: str = "not 0, below 0.000001"
    legend_padding: str = "padding"
    # values that are not numbers
    nan: str = "NaN"
    pos_inf: str = "+inf"
    neg_inf: str = "-inf"
    not_available: str = "n/a"
    # scales
    scale_fixed: str = "colour: weight, fixed 0 to 1"
    scale_row_max: str = "colour: weight / largest of its row"
    scale_log: str = "colour: log10 of weight, 0.000001 to 1"
    scale_diverging: str = "colour: {stage}, centred on 0, ±{limit}"
    scale_length: str = "colour: {name}, 0 to {limit}"
    # notes
    all_labels: str = "every label shown"
    thinned: str = "every {nth} label shown"
    thinned_rows: str = "every {nth} row label shown"
    thinned_columns: str = "every {nth} column label shown"
    shortened: str = "long tokens shortened: {count} (whole on hover)"
    quantised: str = "hover: weight rounded to 0.0001, never down to 0"
    colour_steps: str = "colour alone, in 255 steps; choose a cell for its numbers"
    pooled: str = "each cell: the largest of {rows} x {columns} tokens"
    outside: str = "weights outside 0 to 1: {count}"
    marks_hidden: str = "zero and tiny not marked at this size"
    rounded_weight: str = "weight (in 1/10000)"
    # diagnostics
    heads_axis: str = "head"
    variance_axis: str = "variance of scores (log)"
    raw_measured: str = "raw, measured"
    raw_theory: str = "raw, theory"
    scaled_measured: str = "scaled, measured"
    scaled_theory: str = "scaled, theory"
    unscaled_input: str = "what softmax gets: not scaled"
    scaling_off: str = "scaling is off: softmax gets variance {value}"
    scaling_would: str = "with scaling it would be {scaled} (medians over heads)"
    unit_variance: str = "variance 1"
    before_scaling: str = "before scaling"
    after_scaling: str = "after scaling"
    score_axis: str = "score"
    density_axis: str = "density"
    left_out: str = "not finite, left out: {count}"
    no_values: str = "no finite values"
    entropy_axis: str = "0 to 1"
    entropy_normalised: str = "entropy / its maximum"
    entropy_nats: str = "entropy {value} nats"
    top_weight: str = "top weight, mean over queries"
    saturation_axis: str = "share of queries with top weight > 0.99"
    saturation: str = "saturated queries"
    # overview
    overview_head: str = "Layer {layer}, head {head}"
    overview_rows: str = "rows: layers"
    overview_columns: str = "columns: heads"
    overview_scale: str = "colour: square root of the weight, fixed 0 to 1"
    overview_pooled: str = "pooled: each cell of a thumbnail is the largest of {rows} x {columns} tokens"
    overview_number: str = "colour: {name}, {low} to {high}"
    overview_blank: str = "grey: not possible on this text"
    legend_not_allowed: str = "not allowed, weight 0"
    legend_off: str = "head is off"
    legend_faded: str = "left out by the filter"
    # table
    table_query: str = "query"
    table_key: str = "key {rank}"
    table_weight: str = "weight {rank}"
    table_allowed: str = "keys it may attend to"

    def nth(self, step: int) -> str:
        """English ordinal of a step, ``2 -> "2nd"``; subclasses of other languages may override."""
        if 10 <= step % 100 <= 20:
            return f"{step}th"
        return f"{step}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(step % 10, 'th') }"

    def thinning(self, rows: int, columns: int) -> str:
        """The note on how many labels an axis shows: every ``rows``-th and every ``columns``-th."""
        if rows == columns:
            return self.all_labels if rows == 1 else self.thinned.format(nth=self.nth(rows))
        parts = []
        if rows > 1:
            parts.append(self.thinned_rows.format(nth=self.nth(rows)))
        if columns > 1:
            parts.append(self.thinned_columns.format(nth=self.nth(columns)))
        return ", ".join(parts)
