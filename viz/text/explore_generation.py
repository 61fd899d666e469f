"""Texts of the view in which a model writes on."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.generation": ("Writing", "生成"),
    "writing.title": ("The model writes on, token by token", "模型逐词元续写"),
    "writing.intro": (
        "Each step runs one new token; keys and values of earlier tokens come from the cache. In the map every token that asked "
        "has a row. Layer and switches are those of the sidebar.",
        "每一步只运行一个新词元，此前词元的键和值取自缓存。图中每个提问的词元占一行。层与开关同侧栏。",
    ),
    "writing.models_only": (
        "Writing on needs a pretrained model. Choose a decoder as the source, such as SmolLM2.",
        "续写需要预训练模型。请选择一个解码器作为来源，例如 SmolLM2。",
    ),
    "writing.no_no_next": (
        "This model does not foretell the next token, so it cannot write. Choose a decoder, such as SmolLM2.",
        "该模型不预测下一个词元，因此无法续写。请选择解码器，例如 SmolLM2。",
    ),
    "writing.no_recorded": (
        "The attention of this model can only be recorded, or it keeps no cache; its texts are read as a whole.",
        "该模型的注意力只能被记录，或不使用缓存；其文本只能整体读取。",
    ),
    "writing.no_drawn": (
        "A drawn mask has one size, and a text that is written grows. Choose another mask in the sidebar.",
        "手绘掩码大小固定，而续写的文本会增长。请在侧栏选择其他掩码。",
    ),
    "writing.most": ("Tokens at most", "最多词元数"),
    "writing.most_help": (
        "Writing ends after so many, at a token that ends a text, or where the model can read no more.",
        "写满该数、遇到结束词元，或达到模型可读上限时停止。",
    ),
    "writing.temperature": ("Temperature of the choice", "采样温度"),
    "writing.temperature_help": (
        "0 takes the likeliest token each time. Above, one is drawn from softmax(logits / temperature). It acts behind the model, "
        "not in its attention.",
        "0 表示每次取最可能的词元；大于 0 时按 softmax(logits / 温度) 采样。它作用于模型输出之后，而非注意力内部。",
    ),
    "writing.seed": ("Seed", "随机种子"),
    "writing.seed_help": ("Of the draws; the same seed draws the same.", "采样所用；相同种子得到相同结果。"),
    "writing.play": ("Play", "播放"),
    "writing.stop": ("Stop", "停止"),
    "writing.step": ("Step", "单步"),
    "writing.again": ("Start over", "重新开始"),
    "writing.start": (
        "Nothing is written yet. Play writes until it is stopped or ends; Step writes one token.",
        "尚未生成。“播放”会一直写到停止或结束；“单步”只写一个词元。",
    ),
    "writing.failed": ("Writing stopped. {reason}", "续写已停止。{reason}"),
    "writing.one_sample": (
        "Only the chosen sample is written on, alone and without padding.",
        "只续写所选样本；它单独运行，不带填充。",
    ),
    "writing.mask_note": (
        "With the mask open, the tokens of the prompt see one another's future. A token that comes later was not there yet.",
        "掩码打开后，提示中的词元可看到彼此的后文；之后写出的词元在当时还不存在。",
    ),
    "writing.so_far": ("Written so far", "已生成"),
    "writing.as_it_is": ("As the model is", "模型原样"),
    "writing.switched": ("With the switches: {switches}", "使用开关：{switches}"),
    "writing.word": (
        "Token {number}: {word}, probability {probability:.3f}",
        "第 {number} 个词元：{word}，概率 {probability:.3f}",
    ),
    "writing.end_stop": ("The model ended its text.", "模型结束了文本。"),
    "writing.end_length": ("As many tokens as asked for.", "已达到要求的词元数。"),
    "writing.end_limit": ("The model can read no more.", "已达到模型可读上限。"),
    "writing.cut": (
        "{count} tokens of the text were left out: it was too long.",
        "文本过长，省略了 {count} 个词元。",
    ),
    "writing.candidates": ("Likeliest for token {number}", "第 {number} 个词元的最可能候选"),
    "writing.map": ("{call}, head {head}", "{call}，头 {head}"),
    "writing.map_alt": (
        "Attention weights of the written text so far: {rows} rows, {written} columns.",
        "目前文本的注意力权重：{rows} 行，{written} 列。",
    ),
    "writing.map_note": (
        "Framed: the newest row. The token written last has asked nothing yet; its row comes with the next step.",
        "加框者为最新一行。最后写出的词元尚未提问，其行在下一步出现。",
    ),
}
