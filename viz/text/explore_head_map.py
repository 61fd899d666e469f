"""Texts of the head map."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.head_map": ("Head map", "头图谱"),
    "head_map.title": ("What each head does to the answer", "每个头对答案的作用"),
    "head_map.intro": (
        "Every head is switched off in turn, alone, and the answer is compared with the one before. The other switches in the "
        "sidebar stay as they are.",
        "依次单独关闭每个头，并把答案与关闭之前比较。侧栏的其他开关保持不变。",
    ),
    "head_map.models_only": (
        "A head map needs a pretrained model: random weights have no answer to change. Choose a model as the source.",
        "头图谱需要预训练模型：随机权重没有可改变的答案。请选择一个模型作为来源。",
    ),
    "head_map.intro_target": (
        "Every head of the three kinds of calls is switched off in turn, alone, and what the decoder expects behind the same target "
        "is compared with the answer before. The other switches in the sidebar stay as they are.",
        "依次单独关闭三类注意力中的每个头，在同一目标文本下比较解码器关闭前后的预测。侧栏的其他开关保持不变。",
    ),
    "head_map.call_head": ("{layer}, head {head}", "{layer}，头 {head}"),
    "head_map.recorded": (
        "The attention of this model is recorded, not replaced, so that no head of it can be switched off.",
        "该模型的注意力只能被记录而不能被替换，因此无法关闭它的头。",
    ),
    "head_map.measure": ("Effect on", "作用于"),
    "head_map.measure_help": (
        "What is compared before and after a head is switched off.",
        "关闭一个头前后比较什么。",
    ),
    "measure.kl-last": ("Next token", "下一个词元"),
    "measure.kl-mean": ("All tokens", "所有词元"),
    "measure.nll": ("Likelihood of the text", "文本的似然"),
    "measure.kl-masked": ("Mask tokens", "掩码词元"),
    "measure.embedding": ("Sentence embedding", "句子嵌入"),
    "measure.output": ("Hidden states", "隐藏状态"),
    "measure.kl-last_name": ("KL(before ‖ after) of the next token, nats", "下一个词元的 KL（前 ‖ 后），nat"),
    "measure.kl-mean_name": ("KL(before ‖ after), mean over tokens, nats", "KL（前 ‖ 后），对词元取平均，nat"),
    "measure.nll_name": ("change of surprise, nats per token", "惊讶度变化，nat/词元"),
    "measure.kl-masked_name": ("KL(before ‖ after) at the mask tokens, nats", "掩码词元处的 KL（前 ‖ 后），nat"),
    "measure.embedding_name": ("1 − cosine of the sentence embeddings", "1 − 句子嵌入的余弦"),
    "measure.output_name": ("change of hidden states / their size", "隐藏状态的变化 / 其大小"),
    "measure.nll_note": (
        "Surprise is −log p of the token that really follows. Above 0: without this head the text is less likely.",
        "惊讶度为真实后继词元的 −log p。大于 0：没有这个头时文本更不可能。",
    ),
    "head_map.start": ("Make the map", "生成图谱"),
    "head_map.start_note": (
        "Every head of all {layers} layers is tried; long texts take minutes. The page stays usable meanwhile.",
        "将尝试全部 {layers} 层的每个头；长文本需要数分钟，期间页面仍可使用。",
    ),
    "head_map.waiting": ("Waiting for a free processor", "正在等待空闲的处理器"),
    "head_map.progress": ("{done} of {total} heads", "已完成 {done} / {total} 个头"),
    "head_map.cancel": ("Cancel", "取消"),
    "head_map.cancelling": ("Ending the pass that is running", "正在结束当前运行"),
    "head_map.cancelled": ("Cancelled. Nothing of it is kept.", "已取消，不保留任何结果。"),
    "head_map.failed": ("The map could not be made. {reason}", "无法生成图谱。{reason}"),
    "head_map.no_mask": (
        "This effect is measured at mask tokens: write {mask} in the text, or choose another effect.",
        "该作用在掩码词元处测量：请在文本中写入 {mask}，或选择其他作用。",
    ),
    "head_map.no_short": (
        "The likelihood of a text needs two tokens, one to foretell: type more.",
        "文本的似然至少需要两个词元，其中一个供预测：请输入更多文字。",
    ),
    "head_map.alt": (
        "Heatmap of the effect of each head, {layers} layers by {heads} heads. The largest are named below.",
        "每个头的作用热图，{layers} 层 × {heads} 个头。最大者列于下方。",
    ),
    "head_map.made": (
        "{heads} heads in {seconds:.0f} s. In the place of a head: {ablation}. Heads share work, so effects do not add up, and a "
        "head without effect here may matter elsewhere.",
        "{heads} 个头用时 {seconds:.0f} 秒。代替头的是：{ablation}。各头分担工作，作用不可相加；在此没有作用的头在别处可能重要。",
    ),
    "head_map.strongest": ("Largest effects", "最大的作用"),
    "head_map.one_call": ("{name}: {value:.3g}", "{name}：{value:.3g}"),
    "head_map.chosen": ("Layer {layer}, head {head}", "第 {layer} 层，头 {head}"),
    "head_map.open": ("Show its weights", "查看其权重"),
    "head_map.switch_off": ("Switch it off", "关闭它"),
    "head_map.switch_on": ("Switch it on again", "重新打开它"),
    "head_map.table": ("As a table: effect of each head", "表格：每个头的作用"),
}
