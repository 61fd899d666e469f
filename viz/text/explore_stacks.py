"""Texts for models of two stacks, and for those in which nothing can be switched."""

TEXTS: dict[str, tuple[str, str]] = {
    "stacks.target": ("Target", "目标文本"),
    "stacks.target_help": (
        "What the decoder reads, behind its start token. Left empty, the model writes its own target from the text above, "
        "word by word the likeliest, with every switch as in the model.",
        "解码器读取的文本（置于起始词元之后）。留空时由模型根据上面的文本自行生成：逐词取最可能者，所有开关与模型一致。",
    ),
    "stacks.target_empty": ("empty: what the model writes itself", "留空：由模型自行生成"),
    "stacks.call": ("Layer", "层"),
    "stacks.call_help": (
        "Encoder: the source looks at itself. Decoder: the target looks at itself, backwards. Cross: the target (rows) looks "
        "at the source (columns). Each kind is counted from 0.",
        "编码器：源文本看自身。解码器：目标文本看自身（只向前文）。交叉：目标文本（行）看源文本（列）。各类分别从 0 开始编号。",
    ),
    "stacks.encoder": ("encoder {layer}", "编码器 {layer}"),
    "stacks.decoder": ("decoder {layer}", "解码器 {layer}"),
    "stacks.cross": ("cross {layer}", "交叉 {layer}"),
    "stacks.head": ("{call}, head {head}", "{call}，头 {head}"),
    "stacks.run": (
        "{source} · {call} of 0–{last} · {heads} {heads:head|heads} · {rows} × {columns} tokens · {device}, float32",
        "{source} · {call}（0–{last}）· {heads} 个头 · {rows} × {columns} 个词元 · {device}，float32",
    ),
    "stacks.recorded": (
        "Switches are unavailable: {kind} computes its attention in code of its own. It runs as it is; queries, keys, "
        "values and the mask are read off while it runs, and the stages are computed from them.",
        "开关不可用：{kind} 在自己的代码中计算注意力。模型原样运行，其间读取查询、键、值与掩码，各阶段由它们计算得出。",
    ),
    "refused.target": (
        "Every line of the text needs one line of the target: there are {texts} and {targets}. "
        "Add the missing lines, or leave the target empty.",
        "文本的每一行都需要一行目标文本：现在分别有 {texts} 行和 {targets} 行。请补齐，或将目标文本留空。",
    ),
}  # fmt: skip
