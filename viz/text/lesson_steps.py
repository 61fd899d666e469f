"""Texts of lesson 3, step by step."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.steps.stage": ("Stage", "阶段"),
    "lesson.steps.stage.help": (
        "One matrix of the computation. Keys n and p go on and back.",
        "计算中的一个矩阵。按 n 键前进，按 p 键后退。",
    ),
    "lesson.steps.stage.x": ("X", "X"),
    "lesson.steps.stage.q": ("Q", "Q"),
    "lesson.steps.stage.k": ("K", "K"),
    "lesson.steps.stage.v": ("V", "V"),
    "lesson.steps.stage.scores": ("Q Kᵀ", "Q Kᵀ"),
    "lesson.steps.stage.scaled": ("/ √d_k", "/ √d_k"),
    "lesson.steps.stage.logits": ("mask", "掩码"),
    "lesson.steps.stage.weights": ("softmax", "softmax"),
    "lesson.steps.stage.output": ("× V", "× V"),
    "lesson.steps.text": ("Your sentence, up to 12 tokens", "你的句子，最多 12 个词元"),
    "lesson.steps.text.help": (
        "Any text in any language. Equal tokens get equal vectors.",
        "任何语言的任何文本。相同的词元得到相同的向量。",
    ),
    "lesson.steps.text.default": ("The cat sat on the mat.", "我打你，你打我。"),
    "lesson.steps.width": ("d_k", "d_k"),
    "lesson.steps.width.help": (
        "Width of queries, keys and values: how many products each score adds up.",
        "查询、键和值的宽度：每个分数由多少个乘积相加。",
    ),
    "lesson.steps.mask": ("Mask", "掩码"),
    "lesson.steps.mask.help": (
        "Causal: scores of later keys become −∞ before softmax.",
        "因果掩码：在 softmax 之前，把后面的键的分数变成 −∞。",
    ),
    "lesson.steps.mask.none": ("none", "无"),
    "lesson.steps.mask.causal": ("causal", "因果"),
    "lesson.steps.scaled": ("Scaling", "缩放"),
    "lesson.steps.scaled.help": (
        "Off leaves out the factor 1 / √d_k.",
        "关闭时不乘 1 / √d_k。",
    ),
    "lesson.steps.row": ("Row", "行"),
    "lesson.steps.row.help": ("The row of the cell that is written out.", "要展开计算的单元格所在的行。"),
    "lesson.steps.column": ("Column", "列"),
    "lesson.steps.column.help": ("The column of the cell that is written out.", "要展开计算的单元格所在的列。"),
    "lesson.steps.no_token": (
        "The sentence needs at least one token: type a word.",
        "句子至少要有一个词元：请输入一个词。",
    ),
    "lesson.steps.cut": (
        "The first {kept} of {total} tokens are used.",
        "只用 {total} 个词元中的前 {kept} 个。",
    ),
    "lesson.steps.matrix_x": ("X, embeddings", "X，嵌入"),
    "lesson.steps.matrix_w_q": ("W_Q, weights", "W_Q，参数"),
    "lesson.steps.matrix_w_k": ("W_K, weights", "W_K，参数"),
    "lesson.steps.matrix_w_v": ("W_V, weights", "W_V，参数"),
    "lesson.steps.matrix_q": ("Q, queries", "Q，查询"),
    "lesson.steps.matrix_k": ("K, keys", "K，键"),
    "lesson.steps.matrix_v": ("V, values", "V，值"),
    "lesson.steps.matrix_scores": ("Scores, Q Kᵀ", "分数，Q Kᵀ"),
    "lesson.steps.matrix_scaled": ("Scaled scores", "缩放后的分数"),
    "lesson.steps.matrix_logits": ("Logits: what softmax sees", "logits：softmax 的输入"),
    "lesson.steps.matrix_weights": ("Weights", "权重"),
    "lesson.steps.matrix_output": ("Output", "输出"),
    "lesson.steps.features": ("features", "特征"),
    "lesson.steps.feature": ("feature {index}", "特征 {index}"),
    "lesson.steps.rows_queries": ("rows: queries", "行：查询"),
    "lesson.steps.columns_keys": ("columns: keys", "列：键"),
    "lesson.steps.alt": ("{name} as a heatmap with its numbers.", "{name}的热图，带数字。"),
    "lesson.steps.cell": (
        "The outlined cell: {name}, row {row}, column {column}. Click another one, or choose it above.",
        "框出的单元格：{name}，行 {row}，列 {column}。点击别的单元格，或在上方选择。",
    ),
    "lesson.steps.kept": ("allowed, so it stays\n= {value}", "允许，保持不变\n= {value}"),
    "lesson.steps.forbidden": ("not allowed, so it becomes\n= −∞", "不允许，变为\n= −∞"),
    "lesson.steps.softmax_of": (
        "exp(this logit) / ({below})\n≈ {above}",
        "exp(本格 logit) / ({below})\n≈ {above}",
    ),
    "lesson.steps.x.what": (
        "One row per token. Here the vectors are random, rounded to one decimal so that you can check each step by hand.",
        "每个词元一行。这里的向量是随机的，取一位小数，方便手算核对。",
    ),
    "lesson.steps.q.what": (
        "What each token asks for: its row of X times the columns of W_Q.",
        "每个词元想找什么：它在 X 中的行乘 W_Q 的列。",
    ),
    "lesson.steps.k.what": (
        "How each token can be found: the same X, other weights.",
        "每个词元怎样被找到：同一个 X，另一组参数。",
    ),
    "lesson.steps.v.what": (
        "What each token hands over once it is found.",
        "每个词元被找到后交出什么。",
    ),
    "lesson.steps.scores.what": (
        "Every query meets every key: n × n dot products, computed at once.",
        "每个查询与每个键相遇：一次算出 n × n 个点积。",
    ),
    "lesson.steps.scaled.what": (
        "All scores times one factor; lesson 4 shows why. With scaling off, the factor is 1.",
        "所有分数乘同一个系数，原因见第 4 课。关闭缩放时系数为 1。",
    ),
    "lesson.steps.logits.what": (
        "Where a query may not look, its score becomes −∞; exp(−∞) is 0. Without a mask nothing changes.",
        "查询不允许看的位置，分数变成 −∞；exp(−∞) 等于 0。没有掩码时什么都不变。",
    ),
    "lesson.steps.weights.what": (
        "Softmax along each row: every weight is positive or 0, and each row sums to 1.",
        "沿每一行做 softmax：权重为正或为 0，每行之和为 1。",
    ),
    "lesson.steps.output.what": (
        "Each row mixes the rows of V by its weights. This is what the head passes on.",
        "每一行按权重混合 V 的各行。这就是该头向后传递的结果。",
    ),
    "lesson.steps.shape.ask": (
        "There are {n} tokens and d_k is {d}. Which shape has Q Kᵀ?",
        "有 {n} 个词元，d_k 是 {d}。Q Kᵀ 的形状是什么？",
    ),
    "lesson.steps.shape.n_by_n": ("{n} × {n}", "{n} × {n}"),
    "lesson.steps.shape.n_by_d": ("{n} × {d}", "{n} × {d}"),
    "lesson.steps.shape.d_by_d": ("{d} × {d}", "{d} × {d}"),
    "lesson.steps.shape.n_by_n.why": (
        "Each of {n} queries meets each of {n} keys; the {d} features are summed away.",
        "{n} 个查询各与 {n} 个键相遇；{d} 个特征在求和中消失。",
    ),
    "lesson.steps.shape.n_by_d.why": (
        "That is the shape of Q itself. The product sums over the {d} features.",
        "那是 Q 自己的形状。乘积对 {d} 个特征求和。",
    ),
    "lesson.steps.shape.d_by_d.why": (
        "That would be Qᵀ K: features against features. Attention compares tokens.",
        "那是 Qᵀ K，特征对特征。注意力比较的是词元。",
    ),
    "lesson.steps.first.ask": (
        "Under the causal mask, what is the weight of the first token on itself?",
        "在因果掩码下，第一个词元对自己的权重是多少？",
    ),
    "lesson.steps.first.one": ("Always 1", "总是 1"),
    "lesson.steps.first.share": ("1 / {n}", "1 / {n}"),
    "lesson.steps.first.depends": ("It depends on the sentence", "取决于句子"),
    "lesson.steps.first.one.why": (
        "It may see only itself, and a row sums to 1: the weight is {weight}, whatever the numbers are.",
        "它只能看到自己，而每行之和为 1：不论数字如何，权重都是 {weight}。",
    ),
    "lesson.steps.first.share.why": (
        "Forbidden keys take no share. Softmax divides 1 among the allowed ones, and there is one.",
        "被禁止的键不分份额。softmax 只在允许的键之间分 1，而这里只有一个。",
    ),
    "lesson.steps.first.depends.why": (
        "With a single allowed key the score cancels out: exp(s) / exp(s).",
        "只有一个允许的键时，分数会约掉：exp(s) / exp(s)。",
    ),
    "lesson.steps.sums.ask": (
        "Turn scaling off, so that all scores grow. What becomes of the sum of a row of weights?",
        "关闭缩放，所有分数都变大。一行权重之和会怎样？",
    ),
    "lesson.steps.sums.larger": ("It grows", "变大"),
    "lesson.steps.sums.smaller": ("It shrinks", "变小"),
    "lesson.steps.sums.same": ("It stays the same", "不变"),
    "lesson.steps.sums.same.why": (
        "It is 1 by construction. What changes is how evenly it is shared: the mean top weight goes from {on} to {off}.",
        "按定义它就是 1。改变的是分得是否均匀：最大权重的平均值从 {on} 变为 {off}。",
    ),
    "lesson.steps.sums.larger.why": (
        "Softmax divides by the sum of the row, so the total cannot grow.",
        "softmax 会除以整行之和，总和不可能变大。",
    ),
    "lesson.steps.sums.smaller.why": (
        "Softmax divides by the sum of the row, so the total cannot shrink.",
        "softmax 会除以整行之和，总和不可能变小。",
    ),
    "lesson.steps.go": ("Open in Explore", "在探索页打开"),
    "lesson.steps.go.why": (
        "The same stages with two heads, on any text: choose scores, scaled, logits and weights below the grid.",
        "两个头，任意文本，同样的阶段：在热图下方选择分数、缩放后、logits 和权重。",
    ),
}
