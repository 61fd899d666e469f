"""The text view and the lines view of the explore page; the words that both components show are here once."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.text": ("Text", "文本"),
    "view.lines": ("Lines", "连线"),
    "text_view.map": ("Weights of", "权重来源"),
    "text_view.map_help": (
        "One head; the mean over the heads of the layer; or rollout: the layers multiplied one after another, each as half "
        "attention (mean over heads) and half residual stream. Rollout ignores value vectors and feed-forward layers.",
        "单个头；该层各头的平均；或 rollout：逐层相乘，每层按一半注意力（各头平均）、一半残差流计算。rollout 不考虑值向量和前馈层。",
    ),
    "text_view.map_head": ("One head", "单个头"),
    "text_view.map_mean": ("Mean over heads", "各头平均"),
    "text_view.map_rollout": ("Rollout over layers", "跨层 rollout"),
    "text_view.no_rollout": (
        "No rollout here: it needs self-attention over a whole text in every layer.",
        "此处没有 rollout：它要求每一层都是对整段文本的自注意力。",
    ),
    "text_view.merge": ("Whole words", "合并为词"),
    "text_view.merge_help": (
        "Puts the pieces of a word together: the sum over the pieces that are looked at, the mean over those that look; "
        "rows still sum to 1. Chinese characters stay single.",
        "把一个词的各个子词合并：对被注意的子词求和，对发出注意的子词取平均；每行之和仍为 1。汉字保持单字。",
    ),
    "text_view.from_token": ("First token shown", "起始词元"),
    "text_view.from_token_help": (
        "The text is longer than can be drawn at once; a window of it is shown.",
        "文本过长，无法一次画出，只显示其中一段。",
    ),
    "text_view.shows_head": (
        "Layer {layer}, head {head}. Point at a token: the others are shaded by its weights.",
        "第 {layer} 层，头 {head}。指向一个词元，其余词元按与它的权重着色。",
    ),
    "text_view.shows_mean": (
        "Layer {layer}, the mean over its {heads} heads: no single head need look like this.",
        "第 {layer} 层 {heads} 个头的平均：没有哪个头一定是这个样子。",
    ),
    "text_view.shows_rollout": (
        "Rollout from layer {first} to layer {last}, mean over heads, half of each layer residual stream; the chosen layer "
        "plays no part.",
        "从第 {first} 层到第 {last} 层的 rollout，各头平均，每层一半为残差流；与所选的层无关。",
    ),
    "text_view.off": (
        "Heads that are switched off keep their weights here: {count} of {heads} in this layer.",
        "已关闭的头在此仍保留其权重：本层 {heads} 个头中有 {count} 个。",
    ),
    "text_view.window": (
        "Queries {first} to {last} of {all} and keys {first_key} to {last_key} of {all_keys} are shown; at most {most} at once.",
        "显示查询 {first} 至 {last}（共 {all} 个）和键 {first_key} 至 {last_key}（共 {all_keys} 个）；一次最多 {most} 个。",
    ),
    "text_view.exact": (
        "Numbers are float32, shown with four decimals; below 0.0005 with a power of ten.",
        "数值为 float32，显示四位小数；小于 0.0005 时用科学计数法。",
    ),
    "text_view.rounded": (
        "Numbers are rounded to 1/65000 to save bytes; what is not 0 never becomes 0.",
        "为节省流量，数值舍入到 1/65000；非零值不会变成 0。",
    ),
    "lines_view.shows": (
        "Layer {layer}. Queries (who looks) on the left, keys (who is looked at) on the right; the opacity of a line is its "
        "weight from 0 to 1, and at least 7 %.",
        "第 {layer} 层。左列为查询（发出注意），右列为键（被注意）；线的不透明度即权重（0 到 1），最低 7%。",
    ),
    # words of the components
    "token_words.about": ("Attention of one token", "单个词元的注意力"),
    "token_words.queries": ("Queries (who looks)", "查询（发出注意）"),
    "token_words.keys": ("Keys (who is looked at)", "键（被注意）"),
    "token_words.looks_at": ("{token} looks at", "{token} 注意到"),
    "token_words.looked_at_by": ("{token} is looked at by", "{token} 被谁注意"),
    "token_words.sum": ("Sum of all: {value}", "总和：{value}"),
    "token_words.sum_outside": (
        "Sum of all shown: {value}; to keys that are not shown: {outside}",
        "所显示的总和：{value}；流向未显示的键：{outside}",
    ),
    "token_words.nothing": ("nothing: every weight is 0", "无：所有权重均为 0"),
    "token_words.not_allowed": ("not allowed by the mask", "掩码不允许"),
    "token_words.leak": ("leak: not allowed, yet not 0", "泄漏：不允许却非零"),
    "token_words.lost": ("blocked, though meant to be seen", "被屏蔽，本应可见"),
    "token_words.not_allowed_short": ("not allowed", "不允许"),
    "token_words.leak_short": ("leak", "泄漏"),
    "token_words.lost_short": ("blocked", "被屏蔽"),
    "token_words.zero": ("allowed, exactly 0", "允许，恰为 0"),
    "token_words.tiny": ("not 0, below 0.000001", "非零，小于 0.000001"),
    "token_words.nan": ("NaN", "NaN"),
    "token_words.pos_inf": ("+infinity", "+无穷"),
    "token_words.neg_inf": ("-infinity", "-无穷"),
    "token_words.below": ("<{value}", "<{value}"),
    "token_words.pinned": ("pinned", "已固定"),
    "token_words.special": ("added by the tokenizer", "由分词器添加"),
    "token_words.typed_special": ("special string, typed in the text", "文本中键入的特殊词元"),
    "token_words.padding": ("padding", "填充"),
    "token_words.unknown": ("unknown to this model", "模型不认识"),
    "token_words.hint": (
        "Point at a token, or reach it with Tab and the arrow keys. A click or Enter pins it, Escape lets it go.",
        "指向一个词元，或用 Tab 和方向键移到它。单击或按 Enter 固定，按 Esc 取消。",
    ),
    "token_words.direction": ("Shade by", "着色依据"),
    "token_words.shade_row": ("what it looks at", "它注意谁"),
    "token_words.shade_column": ("what looks at it", "谁注意它"),
    "token_words.between": ("{query} looks at {key}: {value}", "{query} 注意 {key}：{value}"),
    "token_words.scale_fixed": ("weight, 0 to 1", "权重，0 到 1"),
    "token_words.scale_row_max": ("weight / largest of its row", "权重 / 行最大值"),
    "token_words.scale_log": ("log10 of weight, 0.000001 to 1", "权重的 log10，0.000001 到 1"),
    "token_words.heads": ("Heads", "头"),
    "token_words.head": ("head {head}", "头 {head}"),
    "token_words.all_heads": ("All", "全部"),
    "token_words.no_head": ("None", "全不选"),
    "token_words.threshold": ("Draw lines from", "绘制连线的最小权重"),
    "token_words.drawn": (
        "Lines under {threshold} are not drawn, but leaks always are: {drawn} of {all} weights that are not 0.",
        "小于 {threshold} 的连线不画，但泄漏总会画出：非零权重共 {all} 个，画出 {drawn} 个。",
    ),
    "token_words.thinned": (
        "No more than {most} lines are drawn together; pointing at a token draws all of its own.",
        "总共最多画 {most} 条连线；指向一个词元会画出它的全部连线。",
    ),
    "token_words.not_numbers": (
        "Not a finite number, so without a line: {count}.",
        "非有限数值、没有连线的有 {count} 个。",
    ),
}
