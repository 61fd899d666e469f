"""Texts of the chooser of inputs, and of what padding does to a batch."""

TEXTS: dict[str, tuple[str, str]] = {
    "inputs.form": ("Input", "输入"),
    "inputs.form_help": (
        "Text: all of the box is one text. Lines: each line is a text of one batch; shorter ones are padded and their padding is "
        "masked. Pair: two texts in one input, joined as the model's tokenizer does it. Chat: what a user says, put in the model's "
        "own chat template. Only what the chosen model can take is offered.",
        "文本：整个文本框为一段文本。多行：每行是批次中的一段文本，较短者被填充且填充被掩码。文本对：两段文本合为一个输入，由模型的"
        "分词器连接。对话：用户的话，放入模型自己的对话模板。只提供所选模型能接受的形式。",
    ),
    "inputs.text": ("Text", "文本"),
    "inputs.lines": ("Lines as a batch", "多行批次"),
    "inputs.pair": ("Pair", "文本对"),
    "inputs.chat": ("Chat", "对话"),
    "inputs.pair_second": ("Second text", "第二段文本"),
    "inputs.pair_second_help": (
        "Read behind the first, after the separator, with token types of its own where the model has them.",
        "读取于第一段文本和分隔符之后；若模型有词元类型，则使用另一类型。",
    ),
    "inputs.pair_second_empty": ("Type the second text", "输入第二段文本"),
    "inputs.chat_second": ("System text", "系统文本"),
    "inputs.chat_second_help": (
        "What the model is told before the user speaks. Left empty, the template says what it says by itself.",
        "用户发言之前告诉模型的内容。留空时使用模板自带的内容。",
    ),
    "inputs.chat_second_empty": ("empty: what the template says itself", "留空：模板自带的内容"),
    "inputs.padding": ("Does padding change the result?", "填充会改变结果吗？"),
    "inputs.padding_help": (
        "Runs every line alone too, and compares the final hidden states of its real tokens with those of the padded batch.",
        "同时单独运行每一行，并将其真实词元的最终隐藏状态与填充批次中的比较。",
    ),
    "inputs.padding_one": (
        "Padding needs at least two lines of different lengths: type another line.",
        "填充至少需要两行长度不同的文本：请再输入一行。",
    ),
    "inputs.column_sample": ("Sample", "样本"),
    "inputs.column_fillers": ("Padding tokens", "填充词元"),
    "inputs.column_own": ("Largest difference", "最大差异"),
    "inputs.column_relative": ("Relative to the largest value", "相对最大值"),
    "inputs.column_switched": ("With the switches", "使用开关时"),
    "inputs.padding_unchanged": (
        "Padding does not change the result: what differs is rounding.",
        "填充不改变结果：差异仅为舍入误差。",
    ),
    "inputs.padding_changes": (
        "Padding changes the result of this model (side: {side}): its real tokens come out different in the batch and alone.",
        "填充会改变该模型的结果（填充侧：{side}）：真实词元在批次中与单独运行时的输出不同。",
    ),
    "inputs.padding_switched": (
        "With the switches, padding changes the result: {switches}",
        "使用开关时，填充会改变结果：{switches}",
    ),
}
