"""Texts of the section that says what the switches did to the answer."""

TEXTS: dict[str, tuple[str, str]] = {
    "answer.title": ("What changed in the answer", "答案有何变化"),
    "answer.title_neutral": ("What the model answers", "模型的回答"),
    "answer.neutral": (
        "Nothing: every switch is as in the model. Change one and the answer is compared here.",
        "没有变化：所有开关与模型一致。改变任一开关，这里会比较答案。",
    ),
    "answer.neutral_words": (
        "Every switch is as in the model. Change one and the answer is compared here.",
        "所有开关与模型一致。改变任一开关，这里会比较答案。",
    ),
    # Words
    "answer.next": ("Next token behind the text", "文本之后的下一个词元"),
    "answer.next_target": ("Next token behind the target", "目标文本之后的下一个词元"),
    "answer.masked": ("At the mask token, position {place}", "掩码词元处，位置 {place}"),
    "answer.before": ("Model as it is", "原模型"),
    "answer.after": ("With these switches", "使用当前开关"),
    "answer.word": ("token", "词元"),
    "answer.probability": ("probability", "概率"),
    "answer.change": ("change", "变化"),
    "answer.points": ("{change:+.1f} pp", "{change:+.1f} 个百分点"),
    "answer.kl_here": (
        "KL(as it is ‖ with these switches) = {kl} nats: what it costs to expect the right list where the left one is true.",
        "KL（原模型 ‖ 当前开关）= {kl} nat：真实分布为左侧时，按右侧预测所付出的代价。",
    ),
    "answer.no_mask": (
        "This model fills in masked tokens: write {mask} in the text to see what it would put there.",
        "该模型用于填补掩码：在文本中写入 {mask}，即可看到它会填入什么。",
    ),
    # A whole text
    "answer.text": ("The whole text", "整段文本"),
    "answer.text_button": (
        "Compute over all {tokens} tokens (some seconds)",
        "对全部 {tokens} 个词元计算（需要数秒）",
    ),
    "answer.text_working": ("Reading the text token by token", "正在逐词元读取文本"),
    "answer.perplexity": ("Perplexity", "困惑度"),
    "answer.nll": ("Surprise, nats per token", "惊讶度（nat/词元）"),
    "answer.kl_mean": ("KL(as it is ‖ with these switches), mean, nats", "KL（原模型 ‖ 当前开关）均值，nat"),
    "answer.text_note": (
        "Over the {predicted} tokens that have one before them. Surprise is −log p of the token that really follows; perplexity is "
        "exp of its mean. The KL is between what both runs expect next, after every token.",
        "统计前面有词元的 {predicted} 个词元。惊讶度为真实后继词元的 −log p；困惑度为其均值的指数。KL 比较两次运行在每个词元之后的预测。",
    ),
    "answer.target": ("The whole target", "整段目标文本"),
    "answer.target_note": (
        "Over the {predicted} tokens behind the start token, each given the source and those before it; the end token, which the "
        "decoder does not read, is not among them. Surprise is −log p of the token that really follows; perplexity is exp of its "
        "mean. The KL is between what both runs expect next, after every token.",
        "统计起始词元之后的 {predicted} 个词元，均以源文本和前文为条件；解码器不读取结束词元，故不计入。惊讶度为真实后继词元的 −log p；"
        "困惑度为其均值的指数。KL 比较两次运行在每个词元之后的预测。",
    ),
    "answer.none_predicted_target": (
        "The target is the start token alone, and foretells nothing that is known: type a target to see its perplexity.",
        "目标文本只有起始词元，没有可核对的内容：输入目标文本以查看困惑度。",
    ),
    "answer.none_predicted": (
        "A text of one token foretells nothing: type more to see its perplexity.",
        "只有一个词元的文本没有可预测的内容：输入更多文字以查看困惑度。",
    ),
    "answer.tokens": ("As a table: surprise of each token", "表格：每个词元的惊讶度"),
    "answer.column_before": ("surprise as it is (nats)", "原模型惊讶度（nat）"),
    "answer.column_after": ("with these switches (nats)", "当前开关（nat）"),
    "answer.column_kl": ("KL of what follows (nats)", "后继预测的 KL（nat）"),
    # Embeddings
    "answer.cosine": (
        "Cosine between the sentence embedding with these switches and the model's own (1 is unchanged):",
        "当前开关下的句子嵌入与模型自身嵌入的余弦（1 为未改变）：",
    ),
    "answer.column_sample": ("sample", "样本"),
    "answer.column_cosine": ("cosine to the model's own", "与模型自身的余弦"),
    "answer.pairs": (
        "Similarity of pairs of sentences, the cosine of their embeddings. Each sentence runs alone.",
        "句子对的相似度，即两个嵌入的余弦。每句单独运行。",
    ),
    "answer.pairs_own": ("Your lines", "你的各行"),
    "answer.pairs_examples": ("Example pairs", "示例句对"),
    "answer.unfit": ("n/a", "无"),
    "answer.unfit_note": (
        "n/a: a drawn mask fits only sentences of its own length.",
        "“无”：手绘掩码只适用于与它等长的句子。",
    ),
    # Hidden states alone
    "answer.output": (
        "This model answers with hidden states alone. Norm of their change over their norm: {change:.3g}.",
        "该模型只输出隐藏状态。其变化的范数与原范数之比：{change:.3g}。",
    ),
}
