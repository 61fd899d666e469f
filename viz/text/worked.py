"""Worked examples of the explore page: a title, and what each shows with its measured numbers."""

TEXTS: dict[str, tuple[str, str]] = {
    "worked.option": ("Try: {title} ({source})", "试一试：{title}（{source}）"),
    "worked.lima": ("One head knows Lima", "一个头知道利马"),
    "worked.lima_shows": (
        "Head 4 of layer 23 alone carries the answer: with it off, “Lima” falls from {before:.0f}% to {after:.0f}%. Of all 270 "
        "heads none does more to this next token (see the head map).",
        "第 23 层的头 4 独自承载答案：关闭它，“Lima” 从 {before:.0f}% 降到 {after:.0f}%。270 个头中没有哪个对下一个词元的作用更大（见头图谱）。",
    ),
    "worked.mean": ("The same head at its mean", "同一个头，换成均值"),
    "worked.mean_shows": (
        "Replaced by its mean over the text instead of zero, this head still says “Paris” where it should say “Tokyo”: “Tokyo” "
        "falls from {before:.0f}% to {after:.0f}%. With zero in its place “Tokyo” stays the likeliest.",
        "用文本上的均值代替（而不是零）时，这个头在该说 “Tokyo” 处仍说 “Paris”：“Tokyo” 从 {before:.0f}% 降到 {after:.0f}%。"
        "若以零代替，“Tokyo” 仍是最可能的词。",
    ),
    "worked.no_scaling": ("Scaling off breaks the model", "关闭缩放会毁掉模型"),
    "worked.no_scaling_shows": (
        "Without 1/√d_k softmax picks single keys, in all 30 layers: the perplexity of the text goes from {before:.0f} to {after:.0f}.",
        "没有 1/√d_k，softmax 在全部 30 层都只选单个键：文本的困惑度从 {before:.0f} 升到 {after:.0f}。",
    ),
    "worked.one_layer": ("Scaling off in the last layer only", "只在最后一层关闭缩放"),
    "worked.one_layer_shows": (
        "One layer of 30 without scaling does no harm here: “Tokyo” has {before:.0f}% with it and {after:.0f}% without. It is the "
        "chain of layers that breaks.",
        "30 层中只有一层不缩放时并无妨碍：“Tokyo” 有缩放时为 {before:.0f}%，没有时为 {after:.0f}%。出问题的是层层累积。",
    ),
    "worked.future": ("A lost causal mask looks like success", "丢失因果掩码看似成功"),
    "worked.future_shows": (
        "Without its mask the model reads what it should foretell: the perplexity falls from {before:.1f} to {after:.1f}, as if it "
        "were better, while “Lima” is no longer its next token.",
        "没有掩码，模型会读到本该预测的内容：困惑度从 {before:.1f} 降到 {after:.1f}，看似更好，而下一个词元已不再是 “Lima”。",
    ),
    "worked.window": ("A window of 4 keys", "只看 4 个键的窗口"),
    "worked.window_shows": (
        "Each token sees itself and the 3 before it, and no longer the first token, on which most heads rest: the perplexity goes "
        "from {before:.0f} to {after:.0f}.",
        "每个词元只能看到自己和前 3 个，看不到大多数头所依靠的首词元：困惑度从 {before:.0f} 升到 {after:.0f}。",
    ),
    "worked.sink": ("Most heads rest on the first token", "大多数头停在首词元上"),
    "worked.sink_shows": (
        "{count:.0f} of {all:.0f} heads put more than half of their weight, on average, on the first token, whatever it says: a sink.",
        "{all:.0f} 个头中有 {count:.0f} 个平均把一半以上的权重放在首词元上，不论它是什么：这就是注意力汇聚点。",
    ),
    "worked.induction": ("An induction head", "一个归纳头"),
    "worked.induction_shows": (
        "Head 6 of layer 18 looks at what followed the same word earlier: on average {weight:.0%} of its weight lies there, where a "
        "word repeats.",
        "第 18 层的头 6 去看同一个词上次出现之后的内容：在重复的词处，它平均有 {weight:.0%} 的权重落在那里。",
    ),
    "worked.induction_off": ("Without the induction heads", "没有归纳头时"),
    "worked.induction_off_shows": (
        "The four heads that repeat a pattern are off: “coin”, the word that followed before, falls from {before:.0f}% to {after:.0f}%.",
        "关闭四个负责重复模式的头：上次随后出现的 “coin” 从 {before:.0f}% 降到 {after:.0f}%。",
    ),
    "worked.previous": ("A head that looks one token back", "只看前一个词元的头"),
    "worked.previous_shows": (
        "Head 2 of layer 0 gives the token before {weight:.0%} of its weight, whatever the words are.",
        "第 0 层的头 2 把 {weight:.0%} 的权重给前一个词元，与词语内容无关。",
    ),
    "worked.order": ("Without scores, who bit whom is lost", "没有分数，谁咬谁就不清楚了"),
    "worked.order_shows": (
        "With the factor 0 every key weighs the same. The two sentences, which differ only in order, become almost one: cosine "
        "{before:.3f} before, {after:.3f} after.",
        "倍数为 0 时每个键权重相同。两句话只差词序，此时几乎相同：余弦由 {before:.3f} 变为 {after:.3f}。",
    ),
    "worked.bank": ("Scaling off moves two banks apart", "关闭缩放让两个 bank 更远"),
    "worked.bank_shows": (
        "The two sentences share “bank” in two meanings. Without scaling their cosine falls from {before:.2f} to {after:.2f}: not "
        "every change is a loss.",
        "两句话共用两种含义的 “bank”。没有缩放时余弦从 {before:.2f} 降到 {after:.2f}：变化并不总是损失。",
    ),
    "worked.last_layer": ("The last layer off", "关闭最后一层"),
    "worked.last_layer_shows": (
        "With all twelve heads of the last layer off, the cosine of the embedding with the model's own is {cosine:.2f}. With the "
        "first layer off it stays above 0.9.",
        "关闭最后一层的全部十二个头，嵌入与模型自身的余弦为 {cosine:.2f}。关闭第一层时仍高于 0.9。",
    ),
    "worked.bundled": ("A small model that repeats", "会重复的小模型"),
    "worked.bundled_shows": (
        "Trained on the train page's task of repeating letters, and always here. Head 3 of layer 1 gives {weight:.3f} of its weight to "
        "what followed the same letter before; the second layer of its overview is what an induction head looks like.",
        "它在“训练”页的字母重复任务上训练而成，随项目附带。第 1 层的头 3 把 {weight:.3f} 的权重给同一个字母上次之后的词元；总览第二行就是归纳头的样子。",
    ),
}
