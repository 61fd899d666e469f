"""Texts of the explore page."""

TEXTS: dict[str, tuple[str, str]] = {
    "explore.title": ("Explore", "探索"),
    # Input
    "explore.text": ("Text", "文本"),
    "explore.text_help": (
        "The sentence that attention runs on. Press Ctrl+Enter or click outside to run.",
        "注意力要处理的句子。按 Ctrl+Enter 或点击框外即可运行。",
    ),
    "explore.text_placeholder": ("Type a sentence", "输入一句话"),
    "explore.example": ("Example", "示例"),
    "explore.example_pick": ("Choose an example", "选择示例"),
    "explore.example_help": (
        "Puts an example into the text box. In brackets: the sources that can read it.",
        "把示例放入文本框。括号内为能读懂它的来源。",
    ),
    "explore.example_option": ("{title} ({sources})", "{title}（{sources}）"),
    "explore.example_switched": (
        "{model} cannot read this example, so the source is now: {now}.",
        "{model} 读不懂这个示例，来源已切换为：{now}。",
    ),
    "example.pronoun": ("What does “it” refer to?", "“it” 指的是谁？"),
    "example.bank": ("Two meanings of “bank”", "“bank” 的两种意思"),
    "example.two_sentences": ("Two sentences", "两个句子"),
    "example.batch": ("Two lines, one padded", "两行文本，其一带填充"),
    "example.order": ("Word order: 我打你 / 你打我", "语序：我打你 / 你打我"),
    "example.chinese": ("A Chinese sentence", "一句中文"),
    "example.code": ("Code", "代码"),
    "example.emoji": ("Emoji", "表情符号"),
    "example.markup": ("Text that looks like markup", "看似标记的文本"),
    # Source
    "explore.source": ("Source", "来源"),
    "explore.source_help": (
        "Where the weights come from: a pretrained model that runs this attention inside, or random weights from a seed.",
        "权重从哪里来：内部运行本实现的预训练模型，或由种子生成的随机权重。",
    ),
    "explore.source_scratch": ("From-scratch core", "从零实现的核心"),
    "explore.source_scratch_short": ("from scratch", "从零实现"),
    "explore.source_all": ("all sources", "所有来源"),
    "explore.source_missing": ("{name} (not here)", "{name}（本机没有）"),
    "explore.another": ("Another model", "其他模型"),
    "explore.another_help": (
        "An id on the Hugging Face hub (owner/name), or a folder of this machine with config.json, tokenizer.json and "
        "safetensors. Weights of other formats are never opened, and code of a model is never run.",
        "Hugging Face 上的模型 ID（所有者/名称），或本机上含有 config.json、tokenizer.json 和 safetensors 的文件夹。"
        "其他格式的权重不会被打开，模型自带的代码不会被执行。",
    ),
    "explore.another_placeholder": ("owner/name, or a folder", "所有者/名称，或文件夹"),
    "explore.another_refused": (
        "A model is owner/name on the hub or a folder that is here: {name} is neither. Check the spelling.",
        "模型应是 Hugging Face 上的“所有者/名称”或本机已有的文件夹：{name} 两者都不是。请检查拼写。",
    ),
    "explore.running": ("Running the attention", "正在运行注意力"),
    # Sidebar
    "explore.layer": ("Layer", "层"),
    "explore.layer_help": (
        "Which layer's heads are shown, counted from 0.",
        "显示哪一层的头，从 0 开始编号。",
    ),
    "explore.heads": ("Heads", "头数"),
    "explore.heads_help": (
        "Number of attention heads. Each computes softmax(Q Kᵀ × scale) V with its own Q, K and V.",
        "注意力头的个数。每个头用自己的 Q、K、V 计算 softmax(Q Kᵀ × 缩放) V。",
    ),
    "explore.d_k": ("d_k: size of query and key", "d_k：查询与键的维数"),
    "explore.d_k_help": (
        "Dimensions of each query and key. Q Kᵀ sums d_k products, so its variance grows with d_k.",
        "每个查询与键的维数。Q Kᵀ 是 d_k 个乘积之和，方差随 d_k 增大。",
    ),
    "explore.d_model": ("d_model: size of embeddings", "d_model：嵌入维数"),
    "explore.d_model_help": (
        "Dimensions of each token's embedding, projected down to d_k for queries and keys in every head.",
        "每个词元嵌入的维数，在每个头中投影成 d_k 维的查询与键。",
    ),
    "explore.d_v": ("d_v: size of value (0: as d_k)", "d_v：值的维数（0：与 d_k 相同）"),
    "explore.d_v_help": (
        "Dimensions of each value; the output of a head has this size.",
        "每个值的维数，也是一个头输出的维数。",
    ),
    "explore.kv_heads": ("Key/value heads (0: as heads)", "键/值头数（0：与头数相同）"),
    "explore.kv_heads_help": (
        "Fewer key/value heads than query heads: each serves a group (grouped-query attention; 1 is multi-query).",
        "键/值头少于查询头时，每个键/值头服务一组查询头（分组查询注意力；1 即多查询注意力）。",
    ),
    "explore.scaling": ("Scaling", "缩放"),
    "explore.scaling_help": (
        "The factor on Q Kᵀ before softmax. Off: softmax sees the raw scores.",
        "softmax 之前乘在 Q Kᵀ 上的系数。关闭时 softmax 直接看到原始分数。",
    ),
    "explore.scaling_default": ("1/√d_k", "1/√d_k"),
    "explore.scaling_own": ("Model’s own", "模型自带"),
    "explore.scaling_off": ("Off", "关闭"),
    "explore.scaling_custom": ("Custom", "自定义"),
    "explore.factor": ("Factor on 1/√d_k", "1/√d_k 的倍数"),
    "explore.factor_help": (
        "Scores are multiplied by this factor times 1/√d_k. 1 is the usual scaling.",
        "分数乘以该倍数再乘 1/√d_k。1 即通常的缩放。",
    ),
    "explore.factor_own": ("Factor on the model’s own scaling", "模型自带缩放的倍数"),
    "explore.factor_own_help": (
        "Scores are multiplied by this factor times whatever the model itself uses. 1 leaves the model as it is.",
        "分数乘以该倍数再乘模型自带的系数。1 即保持模型原样。",
    ),
    "explore.mask": ("Mask", "掩码"),
    "explore.mask_help": (
        "Which keys each query may read. Forbidden cells get -inf before softmax, so weight exactly 0.",
        "每个查询可以读取哪些键。被禁止的位置在 softmax 前为 -inf，权重恰为 0。",
    ),
    "mask.model": ("Model's own", "模型自带"),
    "mask.none": ("None", "无"),
    "mask.causal": ("Causal", "因果掩码"),
    "mask.padding-ignored": ("Padding readable", "可读取填充"),
    "mask.padding": ("Padding", "填充掩码"),
    "mask.causal+padding": ("Causal and padding", "因果 + 填充"),
    "mask.window": ("Window, both sides", "双侧窗口"),
    "mask.causal+window": ("Window, causal", "因果窗口"),
    "mask.chunked": ("Chunks, causal", "因果分块"),
    "mask.dilated": ("Dilated window, causal", "因果空洞窗口"),
    "mask.strided": ("Strided, causal", "因果跨步"),
    "mask.global_local": ("Global and local", "全局 + 局部"),
    "mask.block_sparse": ("Block-sparse", "块稀疏"),
    "mask.prefix": ("Prefix", "前缀"),
    "mask.packed": ("Packed by sentence", "按句打包"),
    "mask.packed+causal": ("Packed by sentence, causal", "按句打包 + 因果"),
    "mask.custom": ("From the mask lab", "来自掩码实验室"),
    "explore.earlier_text": ("Bring back my text", "恢复我的文本"),
    "explore.earlier_text_help": (
        "The mask from the mask lab needed a text of its size, so an example took the place of what you typed.",
        "来自掩码实验室的掩码需要同样长度的文本，因此示例替换了你输入的内容。",
    ),
    "explore.mask_window": ("Window W: keys, the query's own included", "窗口 W：键的个数，含查询自身"),
    "explore.mask_size": ("Chunk size", "块大小"),
    "explore.mask_step": ("Step between keys", "键的间隔"),
    "explore.mask_stride": ("Stride", "步幅"),
    "explore.mask_global_keys": ("Global keys at the start", "开头的全局键数"),
    "explore.mask_block_size": ("Block size", "块边长"),
    "explore.mask_prefix": ("Prefix length", "前缀长度"),
    "explore.mask_count": ("Padded tokens", "填充词元数"),
    "explore.mask_side": ("Padding side", "填充在哪一侧"),
    "explore.mask_side_help": ("Where the padding stands.", "填充放在哪一侧。"),
    "explore.side_left": ("Left", "左"),
    "explore.side_right": ("Right", "右"),
    "explore.mask_parameter_help": (
        "A parameter of the chosen mask. It decides which cells are set to -inf before softmax.",
        "所选掩码的参数，决定哪些位置在 softmax 前被置为 -inf。",
    ),
    "explore.position": ("Position encoding", "位置编码"),
    "explore.position_help": (
        "How word order enters the scores. None: permuting the words only permutes the output.",
        "词序如何进入分数。无：交换词语只会交换输出。",
    ),
    "position.none": ("None", "无"),
    "position.sinusoidal": ("Sinusoidal", "正弦"),
    "position.learned": ("Learned table (random here)", "可学习表（此处为随机）"),
    "position.rotary": ("Rotary", "旋转"),
    "position.alibi": ("ALiBi", "ALiBi"),
    "position.t5": ("T5 relative bias (random here)", "T5 相对偏置（此处为随机）"),
    "explore.seed": ("Seed", "随机种子"),
    "explore.seed_help": (
        "Makes the random embeddings and weights; the same word always gets the same vector for one seed.",
        "生成随机嵌入与权重；同一种子下同一个词的向量总是相同。",
    ),
    "explore.more": ("More", "更多"),
    "explore.tokens": ("Tokens", "切分方式"),
    "explore.tokens_help": (
        "How the text is split: words and punctuation (Chinese by character), characters, or at spaces.",
        "如何切分文本：词与标点（中文按字）、逐字符，或按空格。",
    ),
    "tokens.words": ("Words", "词"),
    "tokens.characters": ("Characters", "字符"),
    "tokens.spaces": ("Spaces", "空格"),
    "explore.dtype": ("Number format", "数值格式"),
    "explore.dtype_help": (
        "Precision of Q, K and V. Half precision computes the scores in float32 and rounds the weights.",
        "Q、K、V 的精度。半精度以 float32 计算分数，再对权重取整。",
    ),
    "explore.window": ("Window W (0: none)", "窗口 W（0：无）"),
    "explore.window_help": (
        "W keys including the query's own: |query - key| < W in an encoder. Others get -inf.",
        "W 个键，含查询自身：编码器中 |查询 - 键| < W，其余为 -inf。",
    ),
    "explore.temperature": ("Temperature", "温度"),
    "explore.temperature_help": (
        "Divides the logits before softmax: below 1 sharpens, above 1 flattens.",
        "在 softmax 前除以 logits：小于 1 更尖锐，大于 1 更平坦。",
    ),
    "explore.softcap": ("Softcap (0: none)", "软上限（0：无）"),
    "explore.softcap_help": (
        "Bounds each scaled score: c × tanh(score / c).",
        "限制缩放后分数的大小：c × tanh(分数 / c)。",
    ),
    "explore.heads_off": ("Heads switched off", "关闭的头"),
    "explore.heads_off_help": (
        "The output of these heads is set to 0 before the output projection. Their weights are still shown.",
        "这些头的输出在输出投影之前被置 0，其权重仍会显示。",
    ),
    "explore.call_head": ("layer {layer}, head {head}", "第 {layer} 层，头 {head}"),
    "explore.sample": ("Sample shown", "显示的样本"),
    "explore.sample_option": ("{index}: {text}", "{index}：{text}"),
    "explore.sample_help": ("Which line of the batch is drawn.", "显示批次中的哪一行。"),
    "explore.reset": ("Reset switches", "重置开关"),
    # What was run
    "explore.run_model": (
        "{source} · layer {layer} of 0–{last} · {heads} {heads:head|heads} · {tokens} {tokens:token|tokens} · {device}, float32",
        "{source} · 第 {layer} 层（0–{last}）· {heads} 个头 · {tokens} 个词元 · {device}，float32",
    ),
    "explore.run_scratch": (
        "From-scratch core · {heads} {heads:head|heads} · d_model {d_model}, d_k {d_k}, d_v {d_v} · "
        "{tokens} {tokens:token|tokens} · seed {seed}, {dtype}",
        "从零实现的核心 · {heads} 个头 · d_model {d_model}，d_k {d_k}，d_v {d_v} · {tokens} 个词元 · 种子 {seed}，{dtype}",
    ),
    "explore.random_weights": (
        "Random weights: patterns carry no meaning",
        "随机权重：图案不代表任何含义",
    ),
    "explore.differs": ("Differs from the model: {switches}", "与模型不同之处：{switches}"),
    "explore.differs_join": (", ", "，"),
    "switch.scaling": ("scaling off", "缩放关闭"),
    "switch.scale_factor": ("scale × {value:g}", "缩放 × {value:g}"),
    "switch.mask_none": ("no mask", "无掩码"),
    "switch.mask_causal": ("causal mask", "因果掩码"),
    "switch.mask_padding-ignored": ("padding readable", "填充可读取"),
    "switch.window": ("window {value}", "窗口 {value}"),
    "switch.softcap": ("softcap {value:g}", "软上限 {value:g}"),
    "switch.temperature": ("temperature {value:g}", "温度 {value:g}"),
    "switch.heads_off": ("heads off: {value}", "关闭的头：{value}"),
    "explore.agreement_model": (
        "With neutral switches this computation {verdict} the model's own eager attention: largest difference "
        "{weights} in weights (limit {weights_limit:.0e}), {output} in outputs (limit {output_limit:.0e})",
        "开关全部复位时，本计算与模型自带的 eager 注意力{verdict}：权重最大差异 {weights}（上限 {weights_limit:.0e}），"
        "输出最大差异 {output}（上限 {output_limit:.0e}）",
    ),
    "explore.not_compared_name": ("Agreement: not compared", "一致性：未比较"),
    "explore.not_compared": (
        "at this length the model's own attention would lay out {size:.0f} MB of maps at once, and the limit is {most} MB; "
        "shorten the text to have it compared.",
        "在此长度下，模型自身的注意力需同时展开 {size:.0f} MB 的权重图，上限为 {most} MB；缩短文本即可比较。",
    ),
    "explore.agreement_scratch": (
        "This computation {verdict} PyTorch's scaled_dot_product_attention: largest difference "
        "{weights} in weights (limit {weights_limit:.0e}), {output} in outputs (limit {output_limit:.0e})",
        "本计算与 PyTorch 的 scaled_dot_product_attention {verdict}：权重最大差异 {weights}（上限 {weights_limit:.0e}），"
        "输出最大差异 {output}（上限 {output_limit:.0e}）",
    ),
    "explore.agrees": ("agrees with", "一致"),
    "explore.disagrees": ("does NOT agree with", "不一致"),
    "explore.pass": ("Agreement: pass", "一致性：通过"),
    "explore.fail": ("Agreement: fail", "一致性：未通过"),
    "explore.not_explanations": (
        "Attention weights show where a head reads from. They are not an explanation of what the model decides.",
        "注意力权重显示一个头从哪里读取，并不能解释模型为何这样判断。",
    ),
    # Verdict strip
    "verdict.row_sums": ("Row sums", "行和"),
    "verdict.finite": ("Finite", "有限"),
    "verdict.non_negative": ("Non-negative", "非负"),
    "verdict.forbidden_weight": ("Forbidden weight", "禁止位置的权重"),
    "verdict.empty_rows": ("Empty rows", "空行"),
    "verdict.padded_columns": ("Padded columns", "填充列"),
    "verdict.row_sums_passed": ("all 1 within {tolerance:.0e}", "均为 1，误差不超过 {tolerance:.0e}"),
    "verdict.row_sums_failed": ("{count} off, up to {largest:.2e}", "{count} 行偏离，最多 {largest:.2e}"),
    "verdict.finite_passed": ("no NaN, no inf", "没有 NaN 或 inf"),
    "verdict.finite_failed": ("{count} {count:cell|cells} NaN or inf", "{count} 处为 NaN 或 inf"),
    "verdict.non_negative_passed": ("all weights ≥ 0", "所有权重 ≥ 0"),
    "verdict.non_negative_failed": ("{count} negative, down to -{largest:.2e}", "{count} 处为负，最低 -{largest:.2e}"),
    "verdict.forbidden_weight_passed": (
        "0 in {forbidden_cells:.0f} forbidden cells",
        "{forbidden_cells:.0f} 个禁止位置均为 0",
    ),
    "verdict.forbidden_weight_failed": (
        "{count} {count:cell leaks|cells leak} in {rows:.0f} {rows:row|rows}, up to {largest:.3g}",
        "{rows:.0f} 行共 {count} 处泄漏，最大 {largest:.3g}",
    ),
    "verdict.empty_rows_passed": ("none", "无"),
    "verdict.empty_rows_info": ("{count}, all padding", "{count} 行，均为填充"),
    "verdict.empty_rows_failed": ("{real:.0f} of real tokens", "{real:.0f} 行属于真实词元"),
    "verdict.padded_columns_passed": ("weight 0", "权重为 0"),
    "verdict.padded_columns_failed": (
        "{count} {count:cell carries|cells carry} weight, up to {largest:.3g}",
        "{count} 处带有权重，最大 {largest:.3g}",
    ),
    "verdict.not_possible": ("not checked", "未检查"),
    "verdict.where": ("{check}: first places found", "{check}：最先发现的位置"),
    "verdict.place": (
        "head {head}, query {query} → key {key}",
        "头 {head}，查询 {query} → 键 {key}",
    ),
    "verdict.row_place": ("head {head}, query {query}", "头 {head}，查询 {query}"),
    "verdict.label": ("Checks of layer {layer}, sample {sample}", "第 {layer} 层、样本 {sample} 的检查"),
    # Figures
    "explore.grid": ("All heads", "所有头"),
    "explore.grid_alt": (
        "Heatmaps of attention weights of {heads} {heads:head|heads}; rows are queries, columns are keys. The table below names the top keys.",
        "{heads} 个头的注意力权重热图；行为查询，列为键。下方表格列出权重最高的键。",
    ),
    "explore.head": ("Head", "头"),
    "explore.head_help": (
        "Which head is enlarged below the grid, counted from 0.",
        "在网格下方放大哪一个头，从 0 开始编号。",
    ),
    "explore.sideways": ("Swipe the picture sideways to see the rest.", "左右滑动图形可看到其余部分。"),
    "explore.one_head": ("Head {head}", "头 {head}"),
    "explore.head_off": ("switched off: its output is 0", "已关闭：输出为 0"),
    "explore.kv_group": ("reads key/value head {group}", "读取键/值头 {group}"),
    "explore.stage": ("Stage", "阶段"),
    "explore.stage_help": (
        "scores = Q Kᵀ; scaled = scores × scale; logits = scaled with the mask as -inf; weights = softmax(logits).",
        "scores = Q Kᵀ；scaled = scores × 缩放；logits = 加上掩码（-inf）的 scaled；weights = softmax(logits)。",
    ),
    "stage.scores": ("Scores", "分数"),
    "stage.scaled": ("Scaled", "缩放后"),
    "stage.logits": ("Logits", "Logits"),
    "stage.weights": ("Weights", "权重"),
    "explore.colour": ("Colour scale", "颜色标度"),
    "explore.colour_help": (
        "0–1 is the same for all heads. Row maximum and log make small weights visible; the plot names the scale.",
        "0–1 对所有头相同。按行最大值与对数标度让小权重可见；图上会注明所用标度。",
    ),
    "colour.fixed": ("0–1", "0–1"),
    "colour.row-max": ("Row maximum", "行最大值"),
    "colour.log": ("Log", "对数"),
    "explore.head_alt": (
        "Heatmap of {stage} of head {head}; rows are queries, columns are keys. The table below names the top keys.",
        "头 {head} 的{stage}热图；行为查询，列为键。下方表格列出权重最高的键。",
    ),
    "explore.table": ("As a table: top keys of each query", "表格：每个查询权重最高的键"),
    "explore.legend_blocked": ("blocked here, allowed by the model's own mask", "此处被禁止，而模型自带掩码允许"),
    # Diagnostics
    "explore.diagnostics": ("Variance and spread", "方差与分布"),
    "explore.lesson_on": (
        "Scaling on: the variance of the scores, median over heads, is {raw:.3g} before and {scaled:.3g} after scaling; "
        "the mean top weight is {top:.2f} and {saturated:.0%} of the rows are saturated (top weight above 0.99).",
        "缩放开启：分数方差（各头中位数）缩放前为 {raw:.3g}，缩放后为 {scaled:.3g}；平均最大权重为 {top:.2f}，"
        "{saturated:.0%} 的行已饱和（最大权重超过 0.99）。",
    ),
    "explore.lesson_off": (
        "Scaling off: softmax sees scores of variance {raw:.3g} (median over heads). The mean top weight is {top:.2f} and {saturated:.0%} of the "
        "rows are saturated (top weight above 0.99). The model's own factor would bring the variance to {scaled:.3g}.",
        "缩放关闭：softmax 看到的分数方差为 {raw:.3g}（各头中位数）。平均最大权重为 {top:.2f}，{saturated:.0%} 的行已饱和"
        "（最大权重超过 0.99）。原有的缩放系数可使方差降到 {scaled:.3g}。",
    ),
    "explore.lesson_none": (
        "There is no variance to show: no head has two allowed pairs. Softmax over a single key gives weight 1 whatever the "
        "score is. Type a longer text, or choose a mask that allows more.",
        "没有方差可显示：没有一个头有两个允许的位置。只有一个键时，无论分数多少，softmax 都给出权重 1。请输入更长的文本，或选择允许更多位置的掩码。",
    ),
    "explore.theory": (
        "Theory is the sum over dimensions of Var(q) × Var(k), for independent q and k with zero mean: d_k when both variances "
        "are 1. On average measured − theory = {gap:.3g}: {means:.3g} from means that are not 0, {covariance:.3g} from "
        "dimensions that vary together, {pairing:.3g} from which query meets which key.",
        "理论值是各维 Var(q) × Var(k) 之和，假设 q 与 k 独立且均值为零：两个方差都为 1 时等于 d_k。平均而言，实测 − 理论 = {gap:.3g}："
        "其中 {means:.3g} 来自非零均值，{covariance:.3g} 来自各维共变，{pairing:.3g} 来自查询与键的配对。",
    ),
    "explore.every_score": (
        "The histograms hold every {every}th score of an allowed pair; all other numbers are over all pairs.",
        "直方图只取允许的查询–键对中每 {every} 个里的 1 个分数；其余数值均由全部配对算出。",
    ),
    "explore.scores_title": ("Scores before softmax", "softmax 之前的分数"),
    "explore.softmax_title": ("What softmax makes of them", "softmax 的结果"),
    "explore.scores_alt": (
        "Variance of raw and scaled scores per head, measured and expected, and the distribution of the allowed scores "
        "before and after scaling. The numbers stand in the table below.",
        "每个头缩放前后分数方差的实测值与理论值，以及允许位置的分数在缩放前后的分布。数值见下方表格。",
    ),
    "explore.softmax_alt": (
        "Entropy, top weight and share of saturated rows per head. The numbers stand in the table below.",
        "每个头的熵、最大权重与饱和行占比。数值见下方表格。",
    ),
    "explore.numbers": ("As a table: numbers of each head", "表格：每个头的数值"),
    "column.head": ("head", "头"),
    "column.raw_variance": ("raw variance", "原始方差"),
    "column.raw_theory": ("raw, theory", "原始（理论）"),
    "column.scaled_variance": ("scaled variance", "缩放后方差"),
    "column.scaled_theory": ("scaled, theory", "缩放后（理论）"),
    "column.correlation": ("corr(q, k)", "corr(q, k)"),
    "column.raw_mean": ("mean raw score", "原始分数均值"),
    "column.entropy": ("entropy (nats)", "熵（nat）"),
    "column.normalized_entropy": ("entropy / max", "熵 / 最大值"),
    "column.top_weight": ("mean top weight", "平均最大权重"),
    "column.effective_keys": ("effective keys", "有效键数"),
    "column.saturation": ("saturated rows", "饱和行占比"),
    "column.jacobian_norm": ("softmax Jacobian", "softmax 雅可比"),
    "column.query_gradient": ("|∂/∂q|", "|∂/∂q|"),
    "column.key_gradient": ("|∂/∂k|", "|∂/∂k|"),
}
