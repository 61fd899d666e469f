"""Texts that name what a model's attention has of its own, and what it runs on where nobody chooses."""

TEXTS: dict[str, tuple[str, str]] = {
    "agreement.default_eager": (
        ". transformers runs this model on eager by default.",
        "。transformers 默认以 eager 运行该模型。",
    ),
    "agreement.default_fused": (
        ". transformers runs this model on {default} by default, which gives no weights: its outputs differ from ours by at most "
        "{output}.",
        "。transformers 默认以 {default} 运行该模型，它不返回权重：其输出与本计算最多相差 {output}。",
    ),
    "agreement.default_unmeasured": (
        ". transformers runs this model on {default} by default; that was not compared, since this family chooses it only "
        "while it is built.",
        "。transformers 默认以 {default} 运行该模型；该模型族只在构建时选择实现，故未作比较。",
    ),
    "fact.line": ("This model: {facts}", "该模型：{facts}"),
    "fact.join": (" · ", " · "),
    "fact.in": ("{fact} ({where})", "{fact}（{where}）"),
    "fact.in_join": (", ", "、"),
    "fact.layers": ("layers {layers}", "第 {layers} 层"),
    "fact.encoder": ("encoder {layers}", "编码器 {layers}"),
    "fact.decoder": ("decoder {layers}", "解码器 {layers}"),
    "fact.cross": ("cross {layers}", "交叉 {layers}"),
    # What each is called, and what it means
    "fact.pre_scaled": ("queries come pre-scaled", "查询已预先缩放"),
    "fact.pre_scaled_help": (
        "The model multiplies its queries by its factor before the scores are formed. Here that is undone, so that the scores "
        "are raw, and the factor acts where it does in every other model. “Scaling off” removes it.",
        "模型在计算分数之前就把缩放因子乘到查询上。这里将其还原，使分数保持原始值，因子与其他模型一样在分数之后起作用。“关闭缩放”会去掉它。",
    ),
    "fact.unscaled": ("no scaling", "不缩放分数"),
    "fact.unscaled_help": (
        "The model puts no factor on its scores: they go into softmax as they are. “Scaling off” changes nothing.",
        "模型不对分数乘任何因子，直接进入 softmax。“关闭缩放”不会带来变化。",
    ),
    "fact.factor_unseen": ("no factor on the scores that could be seen", "未见到作用于分数的因子"),
    "fact.factor_unseen_help": (
        "This model’s attention was only recorded. Its scores take no factor; whether it scaled the queries before cannot be "
        "told from there.",
        "该模型的注意力只被记录。其分数未乘因子；无法由此判断查询此前是否已缩放。",
    ),
    "fact.sinks": ("sinks: rows sum below 1", "汇点：行和小于 1"),
    "fact.sinks_help": (
        "Each head has one more logit without a key: a sink. What it takes of a row goes to no value, so the weights shown sum "
        "to less than 1. That is the model, not a fault.",
        "每个头另有一个没有键的 logit，即汇点（sink）。它分走的权重不对应任何值，因此显示的权重之和小于 1。这是模型本身的设计，不是错误。",
    ),
    "fact.softcap": ("softcap {value:g}", "软上限 {value:g}"),
    "fact.softcap_help": (
        "Scaled scores are bounded: c tanh(score / c) with c = {value:g}.",
        "缩放后的分数有界：c tanh(分数 / c)，c = {value:g}。",
    ),
    "fact.window": ("window of {value:g}", "窗口 {value:g}"),
    "fact.window_help": (
        "In these layers a query reads at most {value:g} keys, its own included; in an encoder so many to each side. Seen in the "
        "mask of this text; a shorter text does not show it.",
        "在这些层中，一个查询最多读取 {value:g} 个键（含自身）；编码器中为每侧各这么多。由本文本的掩码得出；更短的文本看不出来。",
    ),
    "fact.sparse": ("some keys are closed", "部分键不可读"),
    "fact.sparse_help": (
        "In these layers the model closes keys in a form that is no plain window.",
        "在这些层中，模型屏蔽了部分键，其形式不是简单窗口。",
    ),
    "fact.alibi": ("ALiBi is added to the scores", "分数加上 ALiBi"),
    "fact.alibi_help": (
        "A bias in proportion to the distance between query and key is added to the scaled scores, with a slope per head.",
        "缩放后的分数加上与查询和键的距离成正比的偏置，每个头斜率不同。",
    ),
    "fact.relative": ("a relative position bias is added to the scores", "分数加上相对位置偏置"),
    "fact.relative_help": (
        "A learned bias that depends on the distance between query and key alone is added to the scaled scores.",
        "缩放后的分数加上只取决于查询与键之间距离的学得偏置。",
    ),
    "fact.bias": ("a bias is added to the scores", "分数加上偏置"),
    "fact.bias_help": (
        "The model adds numbers of its own to the scaled scores.",
        "模型在缩放后的分数上加了自己的数值。",
    ),
    "model_error.device": (
        "HEADSCOPE_DEVICE names no device of this machine. Set it to cpu, cuda or mps, whichever is here, or leave it out, and "
        "start the app again.",
        "HEADSCOPE_DEVICE 指定的设备在本机不存在。请设为本机具有的 cpu、cuda 或 mps，或取消该变量，然后重新启动应用。",
    ),
    # Beside the switch
    "fact.scaling_queries": (
        "Queries come pre-scaled in this model: “off” removes the factor that it put on them.",
        "该模型的查询已预先缩放：“关闭”会去掉它乘在查询上的因子。",
    ),
    "fact.scaling_none": ("This model uses no scaling: “off” changes nothing.", "该模型不缩放分数：“关闭”不会带来变化。"),
}  # fmt: skip
