"""Texts of the overview: all heads of all layers, and what patterns they follow."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.overview": ("Overview", "总览"),
    "overview.title": ("All layers and heads", "所有层与头"),
    "overview.making": ("Reading layer {done} of {all}", "正在读取第 {done} 层，共 {all} 层"),
    "overview.kind": ("Attention", "注意力"),
    "overview.kind_help": (
        "An encoder-decoder has three: each side looks at itself, and the decoder looks at the source.",
        "编码器-解码器有三种注意力：两侧各自的自注意力，以及解码器对源文本的交叉注意力。",
    ),
    "overview.kind_encoder": ("Encoder", "编码器"),
    "overview.kind_decoder": ("Decoder", "解码器"),
    "overview.kind_cross": ("Cross-attention", "交叉注意力"),
    "overview.colour": ("Colour by", "着色依据"),
    "overview.colour_help": (
        "Weights: a small map of each head. The others: one number per head, a mean over the queries.",
        "权重：每个头一幅小图。其他：每个头一个数，对查询取平均。",
    ),
    "overview.colour_weights": ("Weights", "权重"),
    "overview.pattern": ("Head pattern", "头的模式"),
    "overview.pattern_help": (
        "The heads are ranked by it below, and the filter goes by it: {meaning}.",
        "下方按它排序，筛选也按它进行：{meaning}。",
    ),
    "overview.least": ("Show heads with a score of at least", "仅显示分数不低于"),
    "overview.least_help": (
        "Heads below it are veiled. 0 shows all. A score is a share of attention from 0 to 1.",
        "低于该值的头被遮盖。0 表示全部显示。分数为注意力占比，0 到 1。",
    ),
    "overview.alt": (
        "Overview of {layers} layers by {heads} heads; rows are layers, columns are heads. The buttons below name the "
        "heads with the highest scores.",
        "{layers} 层 x {heads} 头的总览；行为层，列为头。下方按钮列出得分最高的头。",
    ),
    "overview.top": ("Highest scores for {pattern}. A click opens the head.", "{pattern}：得分最高的头。点击打开。"),
    "overview.top_reach": (
        "Highest scores for {pattern}: {count} of {all} heads reach {least:.2f}. A click opens the head.",
        "{pattern}：{all} 个头中有 {count} 个达到 {least:.2f}，得分最高的在前。点击打开。",
    ),
    "overview.top_head": (
        "layer {layer} head {head}: {pattern} {score:.2f}",
        "第 {layer} 层 头 {head}：{pattern} {score:.2f}",
    ),
    "overview.top_help": (
        "A head that spreads evenly over all it may read would score {chance:.2f}.",
        "在可读取范围内均匀分布的头得分为 {chance:.2f}。",
    ),
    "overview.none": (
        "{pattern}: not possible on this text, or with this mask.",
        "{pattern}：此文本或此掩码下无法计算。",
    ),
    "overview.none_reach": ("{pattern}: no head reaches {least:.2f}.", "{pattern}：没有头达到 {least:.2f}。"),
    "overview.scores": (
        "A score is the share of attention that goes to the keys of a pattern, mean over the tokens of the text. It describes "
        "this text, and is no certainty about the head.",
        "分数是注意力落在该模式所指的键上的比例，对文本词元取平均。它描述的是这段文本，并不能断定头的功能。",
    ),
    "overview.hover_pattern": (
        "{pattern} {score:.2f} (even spread: {chance:.2f})",
        "{pattern} {score:.2f}（均匀分布：{chance:.2f}）",
    ),
    "overview.hover_entropy": (
        "effective keys {keys:.1f}, top weight {top:.2f}",
        "有效键数 {keys:.1f}，最大权重 {top:.2f}",
    ),
    "overview.hover_number": ("{name}: {value:.3g}", "{name}：{value:.3g}"),
    "overview.hover_leaks": ("leaks: {count} {count:cell|cells}", "泄漏：{count} 处"),
    "overview.hover_broken": ("some weights are not numbers", "部分权重不是数"),
    "overview.hover_off": ("off: its output is 0", "已关闭：输出为 0"),
    "overview.chosen": ("Layer {layer}, head {head}", "第 {layer} 层，头 {head}"),
    "overview.exact": ("Exact part of the map", "精确显示局部"),
    "overview.exact_help": (
        "The whole map is pooled above {most} tokens. Here a part is shown cell by cell, with the weight as it was computed.",
        "超过 {most} 个词元时整幅图会池化。此处逐格显示其中一部分，权重为原始计算值。",
    ),
    "overview.exact_from": ("From token", "起始词元"),
    "overview.exact_shown": (
        "Queries {first} to {last} of {all}, keys {first_key} to {last_key} of {all_keys}.",
        "查询 {first} 至 {last}（共 {all}），键 {first_key} 至 {last_key}（共 {all_keys}）。",
    ),
    # Names of patterns and numbers
    "pattern.previous": ("previous token", "前一词元"),
    "pattern.next": ("next token", "后一词元"),
    "pattern.self": ("itself", "自身"),
    "pattern.first": ("first token (sink)", "首词元（汇聚）"),
    "pattern.separator": ("separator", "分隔符"),
    "pattern.punctuation": ("punctuation", "标点"),
    "pattern.same-word": ("same word", "同词"),
    "pattern.induction": ("induction", "归纳"),
    "pattern.local": ("local (within {distance})", "局部（距离 {distance} 以内）"),
    "pattern.uniform": ("uniform", "均匀"),
    "pattern.entropy": ("entropy (nats)", "熵（nat）"),
    "pattern.top_weight": ("mean top weight", "平均最大权重"),
    "pattern.saturation": ("saturated rows", "饱和行占比"),
    "pattern.effective_keys": ("effective keys", "有效键数"),
    "pattern.distance": ("mean distance (tokens)", "平均距离（词元）"),
    "pattern.previous_means": ("share of attention on the token before the query", "查询前一个词元所得的注意力占比"),
    "pattern.next_means": ("share on the token after the query", "查询后一个词元所得的占比"),
    "pattern.self_means": ("share on the query itself", "查询自身所得的占比"),
    "pattern.first_means": (
        "share on the first token, where heads rest when they have nothing to do",
        "首词元所得的占比，头无事可做时常停在那里",
    ),
    "pattern.separator_means": ("share on [SEP], </s> and the like", "[SEP]、</s> 等分隔符所得的占比"),
    "pattern.punctuation_means": ("share on punctuation", "标点所得的占比"),
    "pattern.same-word_means": (
        "share on other pieces of the query's word and on its token elsewhere",
        "同一词的其他片段及同一词元的其他出现所得的占比",
    ),
    "pattern.induction_means": (
        "share on what followed an earlier occurrence of the query's token; needs repeated tokens",
        "查询词元先前出现时其后一个词元所得的占比；需要有重复词元",
    ),
    "pattern.local_means": ("share on tokens near the query, itself included", "查询附近（含自身）词元所得的占比"),
    "pattern.uniform_means": (
        "entropy divided by the most possible: 1 is an even spread",
        "熵除以最大可能值：1 为均匀分布",
    ),
}
