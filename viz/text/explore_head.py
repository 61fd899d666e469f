"""The view of one head with all its stages."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.stages": ("One head, step by step", "单个头，逐步计算"),
    "head_view.head_help": (
        "Which head is shown at every stage, counted from 0.",
        "在每个阶段显示哪一个头，从 0 开始编号。",
    ),
    "head_view.cell_query": ("Query: who looks", "查询：谁在看"),
    "head_view.cell_key": ("Key: who is looked at", "键：看向谁"),
    "head_view.cell_help": (
        "Chooses the cell whose arithmetic is written out below. A click on any of the maps does the same.",
        "选择下方写出算式的那一格。点击任意一张图中的格子效果相同。",
    ),
    "head_view.chart": ("Layer {layer}, head {head}: all stages", "第 {layer} 层，头 {head}：所有阶段"),
    "head_view.alt": (
        "Heatmaps of {stages} stages of one head, from scores to weights and weights times value lengths; the chosen cell is "
        "framed in each. Its numbers are written out below.",
        "一个头的 {stages} 个阶段的热图，从分数到权重以及权重乘以值向量长度；所选的格子在每张图中都有外框。其数值写在下方。",
    ),
    "head_view.norm_note": (
        "weight x |v| is the weight times the length of the head's value vector (after Kobayashi et al. 2020, who take the "
        "length after the output projection): a key with a large weight and a short value adds little.",
        "权重 x |v| 是权重乘以该头值向量的长度（依 Kobayashi 等 2020，他们取输出投影之后的长度）：权重大而值向量短的键贡献很小。",
    ),
    "head_view.arithmetic": ("The chosen cell in numbers", "所选格子的算式"),
    "head_view.cell": ("query {query} → key {key}", "查询 {query} → 键 {key}"),
    "head_view.step_score": ("q · k", "q · k"),
    "head_view.step_scaled": ("× scale", "× 缩放"),
    "head_view.step_capped": ("softcap", "软上限"),
    "head_view.step_bias": ("+ bias", "+ 偏置"),
    "head_view.step_mask": ("mask", "掩码"),
    "head_view.step_exp": ("exp(logit − max)", "exp(logit − 最大值)"),
    "head_view.step_softmax": ("/ sum = weight", "/ 总和 = 权重"),
    "head_view.step_weighted": ("weight × |v|", "权重 × |v|"),
    "head_view.sum": ("sum of {count} products", "{count} 个乘积之和"),
    "head_view.allowed": ("allowed: unchanged", "允许：不变"),
    "head_view.not_allowed": ("not allowed: −∞", "不允许：−∞"),
    "head_view.empty_row": (
        "none of {keys} keys may be read: 0 by rule",
        "{keys} 个键都不可读取：按规则为 0",
    ),
    "head_view.nan_row": (
        "NaN or infinity came into this row, so softmax has no answer: every weight of the row is NaN.",
        "该行出现了 NaN 或无穷，softmax 没有结果：整行权重均为 NaN。",
    ),
    "head_view.largest": (
        "The largest logit of the row is that of {whose}; the sum runs over the {readable} of {keys} keys that may be read.",
        "该行最大的 logit 属于 {whose}；求和遍历 {keys} 个键中可读取的 {readable} 个。",
    ),
    "head_view.of_sink": ("the sink", "汇点 (sink)"),
    "head_view.sink": (
        "This head has a sink with logit {sink}, which is part of the sum and takes {share} of the row: the weights of the "
        "keys sum to less than 1.",
        "该头有一个 logit 为 {sink} 的汇点 (sink)，它计入总和并占去该行的 {share}：各键权重之和小于 1。",
    ),
    "head_view.lost": (
        "The model's own mask allows this cell; a switch blocks it.",
        "模型自带的掩码允许这一格；是某个开关禁止了它。",
    ),
    "head_view.leak": (
        "The model's own mask forbids this cell; a switch opened it.",
        "模型自带的掩码禁止这一格；是某个开关放开了它。",
    ),
    "head_view.padding": ("This query is padding: nothing reads its result.", "该查询是填充：其结果无人使用。"),
    "head_view.dim": ("dimension", "维"),
    "head_view.others": ("{count} more products, sum", "其余 {count} 个乘积之和"),
    "head_view.score": ("q · k, as the matrix product summed it", "q · k（矩阵乘法所得）"),
    "head_view.terms_note": (
        "The largest products of query and key. All of them added one by one: {total}; another order of summing may differ in "
        "the last digits of float32.",
        "查询与键最大的几个乘积。逐个相加的总和：{total}；求和次序不同，float32 的末几位可能不同。",
    ),
}
