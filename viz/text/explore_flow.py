"""The view of rollout and flow."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.flow": ("Rollout and flow", "Rollout 与流"),
    "flow.none": (
        "No rollout here: it needs self-attention over a whole text in every layer.",
        "此处没有 rollout：它要求每一层都是对整段文本的自注意力。",
    ),
    "flow.kind": ("Through", "经过"),
    "flow.kind_help": (
        "Which stack the layers belong to. Both: the decoder, whose cross-attention reads the encoder's own rollout.",
        "层属于哪一个堆栈。两者：解码器，其交叉注意力读取编码器自身的 rollout。",
    ),
    "flow.kind_encoder": ("Encoder", "编码器"),
    "flow.kind_decoder": ("Decoder", "解码器"),
    "flow.kind_cross": ("Both", "两者"),
    "flow.layers": ("Up to layer (counted from 1)", "到第几层（从 1 数起）"),
    "flow.layers_help": (
        "How many layers are multiplied, from the first on; with all of them the rows are the last layer's positions.",
        "从第一层起相乘的层数；取全部时，各行即最后一层的位置。",
    ),
    "flow.residual": ("Share of the residual stream", "残差流的占比"),
    "flow.residual_help": (
        "Each layer counts as (1 − share) × mean attention + share × identity. One half is the usual assumption, not a "
        "measurement.",
        "每一层按 (1 − 占比) × 平均注意力 + 占比 × 单位矩阵计算。一半是通常的假设，并非测量结果。",
    ),
    "flow.about_encoder": (
        "Rollout through encoder layers 1 to {layers}: the heads of a layer are averaged, a share of {residual:g} passes by in "
        "the residual stream, and the layers are multiplied. It assumes that attention alone carries information: value "
        "vectors and feed-forward layers are left out.",
        "编码器第 1 至 {layers} 层的 rollout：每层各头取平均，{residual:g} 的占比经残差流直接通过，再逐层相乘。它假设信息只由注意力传递："
        "不考虑值向量和前馈层。",
    ),
    "flow.about_decoder": (
        "Rollout through the self-attention of decoder layers 1 to {layers}: the heads of a layer are averaged, a share of "
        "{residual:g} passes by in the residual stream, and the layers are multiplied. It assumes that attention alone carries "
        "information: value vectors and feed-forward layers are left out.",
        "解码器第 1 至 {layers} 层自注意力的 rollout：每层各头取平均，{residual:g} 的占比经残差流直接通过，再逐层相乘。"
        "它假设信息只由注意力传递：不考虑值向量和前馈层。",
    ),
    "flow.about_cross": (
        "Decoder layers 1 to {layers} on top of the whole encoder: after each self-attention, cross-attention keeps a share of "
        "{residual:g} and takes the rest from the source, as the encoder's rollout mixes it. Heads are averaged; value vectors "
        "and feed-forward layers are left out.",
        "整个编码器之上的解码器第 1 至 {layers} 层：每次自注意力之后，交叉注意力保留 {residual:g} 的占比，其余取自源文本"
        "（按编码器 rollout 混合）。各头取平均；不考虑值向量和前馈层。",
    ),
    "flow.one_sample": (
        "Of the batch, sample {sample} alone; the others play no part.",
        "仅显示批次中的样本 {sample}，与其他样本无关。",
    ),
    "flow.first_pass": (
        "Of a generation, the pass over the prompt alone.",
        "生成过程中，仅包含对提示文本的那一次前向计算。",
    ),
    "flow.rollout_title": ("Rollout after {layers} layers", "{layers} 层之后的 rollout"),
    "flow.mean_title": ("Mean over heads, layer {layer} alone", "仅第 {layer} 层，各头平均"),
    "flow.alt": (
        "{title}: heatmap, rows are positions after these layers, columns are input positions. The list below names the "
        "largest of one row.",
        "{title}：热图，行为这些层之后的位置，列为输入位置。下方列表给出其中一行的最大值。",
    ),
    "flow.two_texts": (
        "Columns: {source} of the source first, then {target} of the target.",
        "列：先是源文本的 {source} 列，然后是目标文本的 {target} 列。",
    ),
    "flow.sums_hold": (
        "Checked: every row of the rollout sums to 1, off by {error} at most.",
        "已检查：rollout 每行之和为 1，最大偏差 {error}。",
    ),
    "flow.sums_fail": (
        "A row of the rollout does not sum to 1: off by {error}, with {tolerance} allowed for rounding.",
        "rollout 有一行之和不为 1：偏差 {error}，舍入允许 {tolerance}。",
    ),
    "flow.empty": (
        "{count} {count:row holds|rows hold} nothing: {count:it|they} may read no key, and no residual stream is counted.",
        "{count} 行为空：它们不能读取任何键，且未计入残差流。",
    ),
    "flow.origins": ("Where does a token come from?", "一个词元来自哪里？"),
    "flow.token": ("Token after these layers", "这些层之后的词元"),
    "flow.token_help": (
        "Its row is framed in both maps, and its largest origins are listed.",
        "它所在的行在两张图中都有外框，并列出其最大的来源。",
    ),
    "flow.max_flow": ("Attention flow too", "同时计算注意力流"),
    "flow.max_flow_help": (
        "The largest flow from each input token to this one, with every weight as the width of a pipe (Abnar and Zuidema 2020).",
        "从每个输入词元到该词元的最大流，每个权重视为一段管道的宽度（Abnar 与 Zuidema 2020）。",
    ),
    "flow.computing": ("Computing the largest flows", "正在计算最大流"),
    "flow.not_finite": (
        "No flow: there is NaN or infinity among the weights.",
        "没有流：权重中存在 NaN 或无穷。",
    ),
    "flow.max_flow_limit": (
        "Attention flow takes single tokens of one text and up to {most} edges, layers × tokens × tokens; here {layers} layers.",
        "注意力流只适用于单个文本的词元（不合并为词），且边数（层数 × 词元数 × 词元数）不超过 {most}；此处为 {layers} 层。",
    ),
    "flow.max_flow_note": (
        "Each flow is a problem of its own: flows do not sum to 1 and often come close to 1 for many tokens at once, because "
        "the wide residual pipes join any two positions over several layers.",
        "每个流都是独立的问题：各流之和不为 1，且往往同时有许多词元接近 1，因为多层之间宽阔的残差管道把任意两个位置连接起来。",
    ),
    "flow.column_from": ("comes from", "来自"),
    "flow.column_share": ("share by rollout", "rollout 占比"),
    "flow.column_mean": ("last layer's mean", "末层平均"),
    "flow.column_flow": ("attention flow", "注意力流"),
    "flow.from_source": ("source {token}", "源文本 {token}"),
    "flow.from_target": ("target {token}", "目标文本 {token}"),
}
