"""Texts of the known attention faults: title, explanation, fix, symptom; the English is the catalogue's own."""

TEXTS: dict[str, tuple[str, str]] = {
    "fault.no-scaling.title": ("Scores are not scaled", "分数未缩放"),
    "fault.no-scaling.explanation": (
        "The program takes softmax(Q K^T) and leaves the factor out. A dot product of d_k independent terms has "
        "a standard deviation of about sqrt(d_k), so rows come out nearly one-hot and gradients vanish. Multiply "
        "the scores by d_k ** -0.5 before softmax, unless the model was trained without, as T5 was.",
        "程序直接计算 softmax(Q K^T)，漏掉了缩放因子。d_k 个独立项的点积标准差约为 sqrt(d_k)，因此每行几乎成为 "
        "one-hot，梯度消失。应在 softmax 之前把分数乘以 d_k ** -0.5，除非模型训练时就不缩放（例如 T5）。",
    ),
    "fault.no-scaling.fix": (
        "scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5",
        "scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5",
    ),
    "fault.no-scaling.symptom": (
        "Rows are far too sharp; the effective scale, measured from the scores, is 1.",
        "各行过于尖锐；由分数测得的实际缩放因子为 1。",
    ),
    "fault.scaled-by-d-k.title": ("Divided by d_k, or by its root twice", "除以 d_k，或除了两次平方根"),
    "fault.scaled-by-d-k.explanation": (
        "The scores are divided by d_k itself, or by sqrt(d_k) in two places: once in the projection of the "
        "query and once more in the attention function, which scales by default. The factor becomes 1/d_k and "
        "rows come out almost flat. Scale once, by d_k ** -0.5; give scale=1.0 to a function that gets scaled "
        "queries.",
        "分数被 d_k 本身除，或在两处各除以一次 sqrt(d_k)：一次在查询投影中，另一次在默认就会缩放的注意力函数中。"
        "因子变成 1/d_k，各行几乎均匀。只应缩放一次，乘以 d_k ** -0.5；若查询已缩放，就给注意力函数传入 scale=1.0"
        "。",
    ),
    "fault.scaled-by-d-k.fix": (
        "F.scaled_dot_product_attention(query, key, value) on unscaled queries, or scale=1.0 on scaled ones",
        "对未缩放的查询用 F.scaled_dot_product_attention(query, key, value)，对已缩放的查询传入 scale=1.0",
    ),
    "fault.scaled-by-d-k.symptom": (
        "Rows are nearly uniform; the effective scale is 1/d_k.",
        "各行几乎均匀；实际缩放因子为 1/d_k。",
    ),
    "fault.scaled-by-d-model.title": (
        "Scaled by the model width instead of the head width",
        "按模型宽度而非头宽度缩放",
    ),
    "fault.scaled-by-d-model.explanation": (
        "The program divides by sqrt(d_model), the width of all heads together. The dot product runs over one "
        "head only, so the scores end up too small by the root of the number of heads and the maps are too flat. "
        "Use the width of a head: query.shape[-1] once the heads are split.",
        "程序除以 sqrt(d_model)，即所有头合在一起的宽度。点积只在一个头内进行，因此分数偏小，差一个头数平方根的因"
        "子，注意力图过于平坦。应使用单个头的宽度：拆分头之后的 query.shape[-1]。",
    ),
    "fault.scaled-by-d-model.fix": ("scale = (d_model // heads) ** -0.5", "scale = (d_model // heads) ** -0.5"),
    "fault.scaled-by-d-model.symptom": (
        "Maps too flat by the factor sqrt(heads) in the logits; with one head nothing shows.",
        "注意力图过平，logit 相差 sqrt(heads) 倍；只有一个头时看不出来。",
    ),
    "fault.divided-by-inverse.title": ("Divided by a factor that is an inverse already", "除以了已经取过倒数的因子"),
    "fault.divided-by-inverse.explanation": (
        "scale = d_k ** -0.5 is stored, and later the scores are divided by it: in effect they are multiplied by "
        "sqrt(d_k), and nearly every row is one-hot. Multiply by a factor that is stored as an inverse, or store "
        "sqrt(d_k) and divide by it.",
        "保存的是 scale = d_k ** -0.5，之后却用它去除分数：实际上等于乘以 sqrt(d_k)，几乎每行都是 one-hot。以倒数"
        "形式保存的因子应当用来乘；或者保存 sqrt(d_k) 再去除。",
    ),
    "fault.divided-by-inverse.fix": (
        "scores * scale with scale = d_k ** -0.5",
        "scores * scale，其中 scale = d_k ** -0.5",
    ),
    "fault.divided-by-inverse.symptom": (
        "Rows are one-hot; the effective scale is sqrt(d_k).",
        "各行为 one-hot；实际缩放因子为 sqrt(d_k)。",
    ),
    "fault.bias-scaled-too.title": ("The bias is scaled along with the scores", "偏置也被一起缩放"),
    "fault.bias-scaled-too.explanation": (
        "A position bias or a soft mask is added to the raw scores, and the sum is scaled. The bias then counts "
        "only for a fraction, 1/sqrt(d_k) of its value. Hard masks hide the mistake, since a huge negative "
        "number stays one. Scale the scores first, then add the bias.",
        "位置偏置或软掩码先加到原始分数上，再对总和缩放。这样偏置只剩下 1/sqrt(d_k) 的作用。硬掩码会掩盖这个错误"
        "，因为极大的负数缩放后仍是极大的负数。应先缩放分数，再加偏置。",
    ),
    "fault.bias-scaled-too.fix": ("logits = scores * scale + bias", "logits = scores * scale + bias"),
    "fault.bias-scaled-too.symptom": (
        "The pull of the bias is too weak by the factor of the scale; without a bias nothing shows.",
        "偏置的作用偏弱，差一个缩放因子；没有偏置时看不出来。",
    ),
    "fault.query-key-swapped.title": ("Query and key change places", "查询与键互换"),
    "fault.query-key-swapped.explanation": (
        "The scores are computed as K Q^T, or the two projections are unpacked in the wrong order, while mask "
        "and softmax stay as they are. Row i then says how strongly key i would be sought by the others, not "
        "whom query i seeks. This is not the transposed map, since softmax still runs over the last axis. Write "
        "query @ key.transpose(-2, -1), rows queries, columns keys.",
        "分数按 K Q^T 计算，或两个投影按错误的顺序取出，而掩码和 softmax 保持不变。于是第 i 行表示键 i 被其他位置"
        "需要的程度，而不是查询 i 在寻找谁。这并不是把注意力图转置，因为 softmax 仍沿最后一个轴进行。应写 query "
        "@ key.transpose(-2, -1)，行为查询，列为键。",
    ),
    "fault.query-key-swapped.fix": (
        "scores = query @ key.transpose(-2, -1)",
        "scores = query @ key.transpose(-2, -1)",
    ),
    "fault.query-key-swapped.symptom": (
        "Rows sum to 1 and the mask holds, but the logits are the transpose of what Q and K give.",
        "行和为 1，掩码也正确，但 logit 是 Q 与 K 应得结果的转置。",
    ),
    "fault.heads-split-without-transpose.title": ("Heads split by view alone", "仅用 view 拆分头"),
    "fault.heads-split-without-transpose.explanation": (
        "(batch, len, heads x d_k) is viewed as (batch, heads, len, d_k) in one step. Memory runs row by row, so "
        "the view cuts the sequence into pieces: head 0 holds whole tokens from the start of the text instead of "
        "the first features of every token. View as (batch, len, heads, d_k) first, then transpose the two "
        "middle axes.",
        "把 (batch, len, heads x d_k) 一步 view 成 (batch, heads, len, d_k)。内存按行排列，因此这样的 view 切开的"
        "是序列：头 0 拿到的是文本开头的整个词元，而不是每个词元的前几个特征。应先 view 成 (batch, len, heads, "
        "d_k)，再转置中间两个轴。",
    ),
    "fault.heads-split-without-transpose.fix": (
        "x.view(batch, length, heads, d_k).transpose(1, 2)",
        "x.view(batch, length, heads, d_k).transpose(1, 2)",
    ),
    "fault.heads-split-without-transpose.symptom": (
        "Changing the last token changes rows of earlier ones in the same head; with one head nothing shows.",
        "改动最后一个词元，同一个头中更早的行也会变化；只有一个头时看不出来。",
    ),
    "fault.kv-heads-tiled.title": ("Shared key heads handed out in turn", "共享的键头按轮转分配"),
    "fault.kv-heads-tiled.explanation": (
        "With grouped heads the program expands keys and values by repeat, which gives a, b, a, b. Query heads "
        "stand in groups, so the order must be a, a, b, b: query head h uses key head h // (heads / kv_heads). "
        "Expand with repeat_interleave, or let the attention function do it (enable_gqa=True).",
        "在分组头中，程序用 repeat 扩展键和值，得到 a, b, a, b。而查询头是按组排列的，顺序必须是 a, a, b, b：查询"
        "头 h 使用键头 h // (heads / kv_heads)。应使用 repeat_interleave 扩展，或让注意力函数自己处理（"
        "enable_gqa=True）。",
    ),
    "fault.kv-heads-tiled.fix": (
        "key.repeat_interleave(heads // kv_heads, dim=1)",
        "key.repeat_interleave(heads // kv_heads, dim=1)",
    ),
    "fault.kv-heads-tiled.symptom": (
        "Some heads are right (the first and the last), the others match another key head.",
        "有些头是对的（第一个和最后一个），其余的头对应了另一个键头。",
    ),
    "fault.head-masks-in-wrong-order.title": (
        "Masks of samples spread over heads in the wrong order",
        "样本的掩码按错误的顺序分给各头",
    ),
    "fault.head-masks-in-wrong-order.explanation": (
        "A mask per sample is stretched to (batch x heads, q_len, k_len) with repeat, which gives M0, M1, M0, "
        "M1, while the rows are read sample by sample: M0, M0, M1, M1. Some heads then use a neighbour's "
        "padding, and a sample's result depends on what it is batched with. Use repeat_interleave, or a mask "
        "with a head axis of 1 that broadcasts.",
        "每个样本的掩码用 repeat 扩展到 (batch x heads, q_len, k_len)，得到 M0, M1, M0, M1，而读取时是逐样本的："
        "M0, M0, M1, M1。于是有些头用了邻近样本的填充，样本的结果取决于与谁同批。应使用 repeat_interleave，或使用"
        "头轴为 1、可广播的掩码。",
    ),
    "fault.head-masks-in-wrong-order.fix": (
        "mask.repeat_interleave(heads, dim=0), or mask[:, None] that broadcasts over heads",
        "mask.repeat_interleave(heads, dim=0)，或在各头上广播的 mask[:, None]",
    ),
    "fault.head-masks-in-wrong-order.symptom": (
        "The mask differs between heads of one sample; a batch of one looks fine.",
        "同一样本的不同头掩码不同；批大小为 1 时看不出问题。",
    ),
    "fault.batch-axis-swapped.title": ("Another sample's keys or mask", "用了其他样本的键或掩码"),
    "fault.batch-axis-swapped.explanation": (
        "The axis of samples is mixed up: keys or masks are out of step with the queries, a (batch, k_len) mask "
        "passes for (q_len, k_len) because the numbers agree, or batch-first data goes into a module that reads "
        "the first axis as the sequence. Each sample must meet only its own keys and its own mask. Say "
        "batch_first=True, and give masks all their axes.",
        "样本轴弄混了：键或掩码与查询错位；或 (batch, k_len) 的掩码因数字恰好相等而被当作 (q_len, k_len)；或批在"
        "前的数据送进了把第一个轴当作序列的模块。每个样本只应遇到自己的键和自己的掩码。应写明 batch_first=True，"
        "并给掩码写全所有轴。",
    ),
    "fault.batch-axis-swapped.fix": (
        "nn.MultiheadAttention(..., batch_first=True); mask[:, None, None, :] for a mask per sample",
        "nn.MultiheadAttention(..., batch_first=True)；每个样本的掩码用 mask[:, None, None, :]",
    ),
    "fault.batch-axis-swapped.symptom": (
        "A sample's weights change with its neighbours in the batch, or the map has the size of the batch.",
        "样本的权重随同批的其他样本而变化，或注意力图的大小等于批大小。",
    ),
    "fault.softmax-over-queries.title": ("Softmax over the queries", "沿查询做 softmax"),
    "fault.softmax-over-queries.explanation": (
        "softmax(dim=1) on (batch, q_len, k_len), or softmax(dim=-2), normalises each column: for every key the "
        "attention of all queries sums to 1. The model still trains, so nobody notices. A query must spread its "
        "attention over the keys: softmax over the last axis, dim=-1.",
        "对 (batch, q_len, k_len) 用 softmax(dim=1)，或用 softmax(dim=-2)，归一化的是每一列：对每个键，所有查询的"
        "注意力之和为 1。模型仍能训练，所以没人发现。查询应把注意力分配到各个键上：沿最后一个轴做 softmax，dim=-1"
        "。",
    ),
    "fault.softmax-over-queries.fix": ("torch.softmax(logits, dim=-1)", "torch.softmax(logits, dim=-1)"),
    "fault.softmax-over-queries.symptom": (
        "Columns sum to 1, rows do not. (Where both do, nothing is wrong.)",
        "列和为 1，行和不为 1。（两者都为 1 时没有问题。）",
    ),
    "fault.softmax-over-heads.title": ("Softmax over heads or samples", "沿头或样本做 softmax"),
    "fault.softmax-over-heads.explanation": (
        "softmax(dim=1) on (batch, heads, q_len, k_len), or dim=0, normalises over the heads or over the "
        "samples: heads compete for each pair of tokens. With one head or one sample every weight is exactly 1, "
        "whatever the input. Write dim=-1, which stays right when an axis is added.",
        "对 (batch, heads, q_len, k_len) 用 softmax(dim=1) 或 dim=0，会在头之间或样本之间归一化：各个头为每一对词"
        "元相互竞争。只有一个头或一个样本时，无论输入是什么，所有权重都恰为 1。应写 dim=-1，增加轴之后它依然正确"
        "。",
    ),
    "fault.softmax-over-heads.fix": ("torch.softmax(logits, dim=-1)", "torch.softmax(logits, dim=-1)"),
    "fault.softmax-over-heads.symptom": (
        "For each pair of tokens the heads sum to 1; along an axis of size 1 all weights are 1.",
        "对每一对词元，各头之和为 1；沿大小为 1 的轴时，所有权重都是 1。",
    ),
    "fault.double-softmax.title": ("Softmax applied twice", "做了两次 softmax"),
    "fault.double-softmax.explanation": (
        "Weights that went through softmax already go through it again, in a later layer or inside a loss. "
        "Numbers between 0 and 1 differ by a factor of e at most after exp, so rows come out almost flat, and "
        "blocked cells, which were 0, come back because exp(0) is 1. Apply softmax once, to the logits.",
        "已经过 softmax 的权重又做一次 softmax，例如在后面的层或损失函数里。0 与 1 之间的数取 exp 后最多相差 e 倍"
        "，因此各行几乎均匀；原本为 0 的被禁止的格子也会恢复，因为 exp(0) 等于 1。softmax 只应对 logit 做一次。",
    ),
    "fault.double-softmax.fix": (
        "pass logits on, or weights, but never softmax(weights)",
        "向后传递 logit 或权重，但绝不要 softmax(weights)",
    ),
    "fault.double-softmax.symptom": (
        "The largest weight of a row is at most 2.72 times the smallest; blocked cells hold the smallest.",
        "每行最大权重至多是最小权重的 2.72 倍；被禁止的格子取最小值。",
    ),
    "fault.no-max-subtraction.title": ("exp without subtracting the maximum", "取 exp 前未减去最大值"),
    "fault.no-max-subtraction.explanation": (
        "A hand-written softmax takes exp(logits) / exp(logits).sum(). exp overflows at a logit of 89 in float32 "
        "and at 12 in float16, and inf / inf is NaN; when all logits are very low the sum is 0, and 0 / 0 is NaN "
        "as well. Subtract each row's maximum first, which changes nothing else, or call torch.softmax.",
        "手写的 softmax 计算 exp(logits) / exp(logits).sum()。float32 中 logit 到 89、float16 中到 12，exp 就会溢"
        "出，inf / inf 得 NaN；若所有 logit 都很低，则和为 0，0 / 0 同样是 NaN。应先减去每行的最大值（结果不变）"
        "，或调用 torch.softmax。",
    ),
    "fault.no-max-subtraction.fix": (
        "torch.softmax(logits, dim=-1), or exp(logits - logits.amax(-1, keepdim=True))",
        "torch.softmax(logits, dim=-1)，或 exp(logits - logits.amax(-1, keepdim=True))",
    ),
    "fault.no-max-subtraction.symptom": (
        "NaN, or zeros, in rows with large logits; every other row is right.",
        "logit 很大的行出现 NaN 或 0；其余各行都正确。",
    ),
    "fault.mask-inverted.title": ("The mask means the opposite", "掩码含义相反"),
    "fault.mask-inverted.explanation": (
        "A boolean mask in which True means blocked, as nn.MultiheadAttention reads it, goes to a function that "
        "reads True as may attend, as scaled_dot_product_attention does, or the other way round; or an additive "
        "mask is cast to bool, which turns 0 into False. Nothing fails, and every token reads exactly what it "
        "should not. Name the convention where the mask is made and invert once, at the door.",
        "nn.MultiheadAttention 的布尔掩码中 True 表示禁止，却交给了把 True 理解为允许的函数，例如 "
        "scaled_dot_product_attention，或者反过来；又或者加性掩码被转换成布尔值，0 变成了 False。程序不会报错，而"
        "每个词元读到的恰恰是不该读的。应在生成掩码处写明约定，并只在入口处取反一次。",
    ),
    "fault.mask-inverted.fix": (
        "mask = ~mask, or mask == 0 for an additive one",
        "mask = ~mask；加性掩码用 mask == 0",
    ),
    "fault.mask-inverted.symptom": (
        "All weight lies on blocked keys; rows that may see everything are empty.",
        "全部权重落在被禁止的键上；本可读取所有键的行反而是空行。",
    ),
    "fault.causal-mask-missing.title": ("The causal mask is missing", "缺少因果掩码"),
    "fault.causal-mask-missing.explanation": (
        "The flag that makes attention causal is lost on one of two paths: when the weights are asked for, when "
        "dropout is on, or when another mask is passed as well. Each token then reads its own future; the loss "
        "looks wonderful and the model cannot generate. Let one place build the mask, and pass it explicitly on "
        "every path.",
        "使注意力具有因果性的标志在两条路径之一上丢失：要求返回权重时、启用 dropout 时，或同时传入另一个掩码时。"
        "于是每个词元都读到自己的未来；损失看起来好得惊人，模型却无法生成。掩码应在一处构造，并在每条路径上显式传"
        "入。",
    ),
    "fault.causal-mask-missing.fix": (
        "allowed = allowed & torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)",
        "allowed = allowed & torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)",
    ),
    "fault.causal-mask-missing.symptom": (
        "Weight above the diagonal in every row but the last.",
        "除最后一行外，每一行在对角线上方都有权重。",
    ),
    "fault.padding-mask-missing.title": ("Padding is not masked", "填充未被掩码"),
    "fault.padding-mask-missing.explanation": (
        "A padded batch is run without its attention mask, or with one made for another pad id, or made and "
        "never passed on. Padding tokens are ordinary keys then, and a sample's result changes with the length "
        "of its neighbours. Take the mask from the tokenizer and pass it to every call.",
        "带填充的批次运行时没有传入 attention mask，或掩码是按另一个 pad id 生成的，或生成后从未传下去。填充词元"
        "于是成了普通的键，样本的结果随同批样本的长度而变化。应从分词器取得掩码，并传给每次调用。",
    ),
    "fault.padding-mask-missing.fix": (
        "model(input_ids, attention_mask=batch['attention_mask'])",
        "model(input_ids, attention_mask=batch['attention_mask'])",
    ),
    "fault.padding-mask-missing.symptom": (
        "Weight on the filler keys of short samples; full-length samples are right.",
        "短样本的填充键上有权重；长度占满的样本是正确的。",
    ),
    "fault.mask-ignored.title": ("The whole mask is ignored", "整个掩码被忽略"),
    "fault.mask-ignored.explanation": (
        "The mask is computed and then not used: an argument with another name, a masked_fill whose result is "
        "dropped, a branch that passes None. Every query reads every key. Use what masked_fill returns, and let "
        "a function refuse arguments that it does not know.",
        "掩码算出来了却没有用上：参数名不同、masked_fill 的返回值被丢弃、某个分支传入了 None。每个查询都读取所有"
        "键。应使用 masked_fill 的返回值，并让函数拒绝它不认识的参数。",
    ),
    "fault.mask-ignored.fix": (
        "logits = logits.masked_fill(~allowed, float('-inf'))",
        "logits = logits.masked_fill(~allowed, float('-inf'))",
    ),
    "fault.mask-ignored.symptom": (
        "No weight is 0; each row spreads over all keys.",
        "没有权重为 0；每一行都分散到所有键上。",
    ),
    "fault.mask-after-softmax.title": (
        "Masked after softmax, not renormalised",
        "softmax 之后才掩码，且未重新归一化",
    ),
    "fault.mask-after-softmax.explanation": (
        "The finished weights are multiplied by the mask. Blocked cells are 0, but the share that they had taken "
        "is lost, so masked rows sum to less than 1 and their outputs shrink. Mask the logits before softmax, or "
        "divide by what is left, which is the same unless it underflows.",
        "算好的权重再乘以掩码。被禁止的格子是 0，但它们占去的份额丢失了，因此带掩码的行和小于 1，输出也随之变小。"
        "应在 softmax 之前对 logit 掩码；或除以剩余部分之和，只要不下溢，结果相同。",
    ),
    "fault.mask-after-softmax.fix": (
        "torch.softmax(logits.masked_fill(~allowed, float('-inf')), dim=-1)",
        "torch.softmax(logits.masked_fill(~allowed, float('-inf')), dim=-1)",
    ),
    "fault.mask-after-softmax.symptom": (
        "Row sums below 1 just where cells are blocked; dividing by the row sum repairs them.",
        "恰好在有格子被禁止的行，行和小于 1；除以行和即可修复。",
    ),
    "fault.mask-added-as-zero-one.title": ("A mask of zeros and ones is added", "把 0/1 掩码加了上去"),
    "fault.mask-added-as-zero-one.explanation": (
        "A float mask is added to the logits, so 1 and 0 mean a small bonus and nothing; no key is hidden. It "
        "happens with torch.tril(torch.ones(...)), and with boolean 4-D masks on a path that adds what it gets. "
        "Pass a boolean mask, or an additive one with 0 for allowed and -inf for blocked.",
        "浮点掩码被加到 logit 上，1 和 0 只意味着一点加分和没有变化，没有任何键被隐藏。常见于 "
        "torch.tril(torch.ones(...))，以及在直接相加的路径上使用 4 维布尔掩码。应传入布尔掩码，或允许处为 0、禁止"
        "处为 -inf 的加性掩码。",
    ),
    "fault.mask-added-as-zero-one.fix": (
        "mask = torch.ones(n, n, dtype=torch.bool).tril()",
        "mask = torch.ones(n, n, dtype=torch.bool).tril()",
    ),
    "fault.mask-added-as-zero-one.symptom": (
        "Blocked cells keep weight, smaller by the factor e than without a mask.",
        "被禁止的格子仍有权重，比不加掩码时小 e 倍。",
    ),
    "fault.scores-multiplied-by-mask.title": ("Scores multiplied by the mask", "分数乘以掩码"),
    "fault.scores-multiplied-by-mask.explanation": (
        "scores * mask sets blocked scores to 0 before softmax. 0 is an ordinary score: exp(0) is 1, and a "
        "blocked key can get more weight than an allowed one with a negative score. Put -inf where the mask "
        "blocks.",
        "scores * mask 在 softmax 之前把被禁止的分数变成 0。而 0 是普通的分数：exp(0) 等于 1，被禁止的键得到的权"
        "重可能比分数为负的允许的键还大。应在掩码禁止处填入 -inf。",
    ),
    "fault.scores-multiplied-by-mask.fix": (
        "logits.masked_fill(~allowed, float('-inf'))",
        "logits.masked_fill(~allowed, float('-inf'))",
    ),
    "fault.scores-multiplied-by-mask.symptom": (
        "All blocked cells of a row have the same weight, that of a score of 0.",
        "一行中所有被禁止的格子权重相同，即分数为 0 时的权重。",
    ),
    "fault.fill-too-weak.title": ("The fill is not negative enough", "填充值不够小"),
    "fault.fill-too-weak.explanation": (
        "Blocked scores are filled with a finite number that is too close to the real ones: -1e-12 for -1e12, or "
        "-10 with scores of that size. The blocked keys keep a share of exp(c) each. Fill with -inf, and deal "
        "with empty rows by themselves.",
        "被禁止的分数用一个有限值填充，而它离真实分数太近：把 -1e12 写成 -1e-12，或在分数量级相近时填 -10。被禁止"
        "的键各自保留 exp(c) 的份额。应填 -inf，并单独处理空行。",
    ),
    "fault.fill-too-weak.fix": (
        "logits.masked_fill(~allowed, float('-inf'))",
        "logits.masked_fill(~allowed, float('-inf'))",
    ),
    "fault.fill-too-weak.symptom": (
        "Blocked cells keep weight; all of them point to the same logit c.",
        "被禁止的格子仍有权重；它们都对应同一个 logit c。",
    ),
    "fault.finite-fill-on-empty-row.title": ("A row without keys becomes uniform", "没有可读键的行变成均匀分布"),
    "fault.finite-fill-on-empty-row.explanation": (
        "Blocked logits are filled with -1e9 or the lowest number of the dtype instead of -inf. In a row where "
        "every key is blocked, all logits are then equal and softmax spreads 1/k_len over keys that nobody may "
        "read; the output is the mean of V, which looks plausible. Fill with -inf and set rows without keys to 0.",
        "被禁止的 logit 用 -1e9 或该数据类型的最小值填充，而不是 -inf。若一行的所有键都被禁止，所有 logit 便相等"
        "，softmax 给每个本不该读取的键 1/k_len；输出是 V 的平均值，看上去很合理。应填 -inf，并把没有可读键的行设"
        "为 0。",
    ),
    "fault.finite-fill-on-empty-row.fix": (
        "weights.masked_fill(~allowed.any(-1, keepdim=True), 0.0)",
        "weights.masked_fill(~allowed.any(-1, keepdim=True), 0.0)",
    ),
    "fault.finite-fill-on-empty-row.symptom": (
        "Rows that may read nothing are uniform instead of 0.",
        "不能读取任何键的行是均匀分布，而不是 0。",
    ),
    "fault.masks-summed-overflow.title": ("Two additive masks are summed", "两个加性掩码相加"),
    "fault.masks-summed-overflow.explanation": (
        "A causal and a padding mask, each made of the lowest number of the dtype, are added. Where both block, "
        "the sum overflows to -inf; where one blocks, it stays finite, and in a row without any allowed key the "
        "finite cells win: padding rows read the future. Join the masks as booleans, then convert once.",
        "因果掩码和填充掩码都由该数据类型的最小值构成，然后相加。两者都禁止处，和溢出为 -inf；只有一个禁止处，和"
        "仍是有限值。在没有任何可读键的行中，有限的格子胜出：填充行读到了未来。应先以布尔形式合并掩码，再转换一次"
        "。",
    ),
    "fault.masks-summed-overflow.fix": (
        "allowed = causal & padding, converted to an additive mask at the end",
        "allowed = causal & padding，最后再转换成加性掩码",
    ),
    "fault.masks-summed-overflow.symptom": (
        "Empty rows put their weight on cells that only one of the masks blocks.",
        "空行把权重放在只被其中一个掩码禁止的格子上。",
    ),
    "fault.half-precision-overflow.title": ("Beyond the range of float16", "超出 float16 的范围"),
    "fault.half-precision-overflow.explanation": (
        "float16 ends at 65504. Q K^T exceeds it before the scale can bring it down, and softmax over inf is "
        "NaN; or a fill of -1e9, or float32's lowest number, is cast to float16 and becomes -inf, which makes "
        "empty rows NaN. Scale the query first or accumulate in float32, and take fills from the dtype that is "
        "used.",
        "float16 的上限是 65504。Q K^T 在缩放之前就超出上限，对 inf 做 softmax 得到 NaN；或者 -1e9、float32 的最"
        "小值转换成 float16 后变成 -inf，使空行成为 NaN。应先缩放查询，或用 float32 累加，并按实际使用的数据类型"
        "取填充值。",
    ),
    "fault.half-precision-overflow.fix": (
        "scores = (query * scale) @ key.transpose(-2, -1); torch.finfo(scores.dtype).min",
        "scores = (query * scale) @ key.transpose(-2, -1)；torch.finfo(scores.dtype).min",
    ),
    "fault.half-precision-overflow.symptom": (
        "NaN in rows with large products, or in rows without keys, in float16 only.",
        "点积很大的行或没有可读键的行出现 NaN，且只在 float16 下出现。",
    ),
    "fault.padding-on-query-axis.title": ("The padding mask lies along the queries", "填充掩码放在了查询轴上"),
    "fault.padding-on-query-axis.explanation": (
        "The flags (batch, len) are unsqueezed to (batch, 1, len, 1) instead of (batch, 1, 1, len). Rows of "
        "padding are hidden, which nobody reads anyway, and real queries read the padding; with a fill of -inf "
        "the hidden rows are NaN, with -1e4 nothing is to be seen. Padding hides keys: its flags belong on the "
        "last axis.",
        "标志 (batch, len) 被扩展成 (batch, 1, len, 1)，而不是 (batch, 1, 1, len)。被隐藏的是填充所在的行，而那些"
        "行本来就没人读；真实的查询却读到填充。填 -inf 时被隐藏的行是 NaN，填 -1e4 时什么也看不出来。填充隐藏的是"
        "键：标志应放在最后一个轴上。",
    ),
    "fault.padding-on-query-axis.fix": ("padding[:, None, None, :]", "padding[:, None, None, :]"),
    "fault.padding-on-query-axis.symptom": (
        "The mask is constant along keys: rows of padding are empty, and real rows hold weight on padding.",
        "掩码沿键方向不变：填充的行是空行，真实的行在填充上有权重。",
    ),
    "fault.padding-side-swapped.title": ("Padding is sought on the wrong side", "填充的方向弄反"),
    "fault.padding-side-swapped.explanation": (
        "The batch is padded on the left, as generation needs it, and the mask is built from lengths as if it "
        "were padded on the right, or the other way round. Real tokens at one end are hidden and as many padding "
        "tokens at the other are read. Take the mask from the tokenizer that padded; do not rebuild it from "
        "lengths.",
        "批次按生成的需要在左侧填充，而掩码按长度构造，好像填充在右侧，或者反过来。一端的真实词元被隐藏，另一端同"
        "样多的填充词元被读取。应使用执行填充的分词器给出的掩码，不要由长度重新构造。",
    ),
    "fault.padding-side-swapped.fix": (
        "attention_mask from the tokenizer, with tokenizer.padding_side set before tokenizing",
        "使用分词器给出的 attention_mask，并在分词之前设置 tokenizer.padding_side",
    ),
    "fault.padding-side-swapped.symptom": (
        "In short samples the keys at one end get no weight and the padding at the other end does.",
        "短样本中，一端的键没有权重，另一端的填充却有权重。",
    ),
    "fault.padding-border-off-by-one.title": ("The border of the padding is off by one", "填充边界差一位"),
    "fault.padding-border-off-by-one.explanation": (
        "The hidden range starts at length + 1, so one padding token per sample is readable; or the length "
        "forgets the start or end token and one real key is lost. The error is small and constant and shows only "
        "in short samples. Compare key positions with the length: key < length is real.",
        "隐藏的范围从 length + 1 开始，于是每个样本有一个填充词元可读；或者长度没有算上起始或结束词元，丢失了一个"
        "真实的键。误差很小且固定，只在短样本中显现。应把键的位置与长度比较：key < length 才是真实词元。",
    ),
    "fault.padding-border-off-by-one.fix": (
        "torch.arange(k_len) < lengths[:, None]",
        "torch.arange(k_len) < lengths[:, None]",
    ),
    "fault.padding-border-off-by-one.symptom": (
        "Exactly one padding key per sample has weight, or exactly one real key has none.",
        "每个样本恰有一个填充键带权重，或恰有一个真实的键没有权重。",
    ),
    "fault.padding-or-causal.title": ("Causal and padding mask joined by or", "因果掩码与填充掩码用“或”合并"),
    "fault.padding-or-causal.explanation": (
        "Two masks in which True means may attend are joined with |, as is right for masks in which True means "
        "blocked. A key is then readable as soon as one of the two allows it: real keys of the future, and "
        "padding of the past. Join what is allowed with &, what is blocked with |.",
        "两个以 True 表示允许的掩码用 | 合并，而这只适用于以 True 表示禁止的掩码。于是只要其中一个允许，键就可读"
        "：未来的真实键，以及过去的填充。允许的部分用 & 合并，禁止的部分用 | 合并。",
    ),
    "fault.padding-or-causal.fix": ("allowed = causal & padding", "allowed = causal & padding"),
    "fault.padding-or-causal.symptom": (
        "Future keys are readable if they are real, padding keys are readable if they lie in the past.",
        "未来的键若是真实词元则可读，填充的键若在过去则可读。",
    ),
    "fault.causal-strict.title": ("A token may not read itself", "词元不能读取自己"),
    "fault.causal-strict.explanation": (
        "The blocked triangle is built with triu(diagonal=0), or the allowed one with tril(-1), so that the "
        "diagonal is blocked too. The first query has no key at all, a row of NaN or of zeros, and every other "
        "one misses its own token. Attention predicts the next token from all up to its own: block only above "
        "the diagonal.",
        "禁止的三角用 triu(diagonal=0) 构造，或允许的三角用 tril(-1) 构造，于是对角线也被禁止。第一个查询没有任何"
        "键，成为 NaN 或全 0 的行，其他查询也都缺少自己的词元。注意力根据直到自身为止的所有词元预测下一个：只应禁"
        "止对角线以上的部分。",
    ),
    "fault.causal-strict.fix": (
        "blocked = torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)",
        "blocked = torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)",
    ),
    "fault.causal-strict.symptom": ("The diagonal is 0 and the first row is empty.", "对角线为 0，第一行是空行。"),
    "fault.causal-one-late.title": ("The next token is visible", "下一个词元可见"),
    "fault.causal-one-late.explanation": (
        "The allowed triangle is built with tril(diagonal=1), or the blocked one with triu(diagonal=2): each "
        "query also reads the key right after it, which is the token that it shall predict. The loss falls to "
        "almost nothing. The allowed triangle ends on the diagonal: tril(diagonal=0).",
        "允许的三角用 tril(diagonal=1) 构造，或禁止的三角用 triu(diagonal=2) 构造：每个查询还能读到紧随其后的键，"
        "而那正是要预测的词元。损失几乎降到零。允许的三角应止于对角线：tril(diagonal=0)。",
    ),
    "fault.causal-one-late.fix": (
        "allowed = torch.ones(n, n, dtype=torch.bool).tril()",
        "allowed = torch.ones(n, n, dtype=torch.bool).tril()",
    ),
    "fault.causal-one-late.symptom": (
        "One diagonal above the main one holds weight, nothing beyond it does.",
        "主对角线上方的一条对角线有权重，再往外没有。",
    ),
    "fault.causal-transposed.title": ("The causal mask is transposed", "因果掩码被转置"),
    "fault.causal-transposed.explanation": (
        "triu stands where tril is meant, or the mask is built with queries in the columns: each token reads "
        "itself and what follows, never what came before. Unlike an inverted mask, the diagonal is right. Rows "
        "are queries, columns are keys, and a query reads keys at or before its own position.",
        "该用 tril 的地方用了 triu，或构造掩码时把查询放在了列上：每个词元读取自己和之后的内容，而读不到之前的内"
        "容。与掩码取反不同，这里对角线是正确的。行是查询，列是键，查询读取自身位置及之前的键。",
    ),
    "fault.causal-transposed.fix": (
        "allowed = torch.ones(n, n, dtype=torch.bool).tril()",
        "allowed = torch.ones(n, n, dtype=torch.bool).tril()",
    ),
    "fault.causal-transposed.symptom": (
        "Weight on and above the diagonal only; the last row holds a single 1.",
        "权重只在对角线及其上方；最后一行只有一个 1。",
    ),
    "fault.causal-top-left.title": ("The causal mask starts at the wrong corner", "因果掩码从错误的角开始"),
    "fault.causal-top-left.explanation": (
        "There are more keys than queries, as with a cache or the second piece of a prompt, and is_causal=True "
        "puts the first query at key 0. The newest token then reads the oldest keys only. The last query must "
        "see the last key: shift the triangle by k_len - q_len, or pass no causal mask for a single new token.",
        "键比查询多，例如使用缓存或处理提示的第二段时，is_causal=True 把第一个查询放在键 0 处。于是最新的词元只能"
        "读取最旧的键。最后一个查询必须能看到最后一个键：把三角平移 k_len - q_len；只有一个新词元时，则不传因果掩"
        "码。",
    ),
    "fault.causal-top-left.fix": (
        "allowed = torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)",
        "allowed = torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)",
    ),
    "fault.causal-top-left.symptom": (
        "The newest keys are read by nobody; a single query sees key 0 alone.",
        "最新的键没有任何查询读取；单个查询只看到键 0。",
    ),
    "fault.window-off-by-one.title": ("The window is one key too wide or too narrow", "窗口多一个或少一个键"),
    "fault.window-off-by-one.explanation": (
        "Window W means W keys with the query's own in one program, and W keys before it in another: "
        "window_size=(left, right) counts positions beside the query, so W keys need left = W - 1. The "
        "difference shows only in texts longer than the window. Say which of the two you mean, and test with a "
        "length above W.",
        "窗口 W 在有的程序中指包括查询自身在内的 W 个键，在另一些程序中指自身之前的 W 个键：window_size=(left, "
        "right) 计的是查询两侧的位置数，因此 W 个键需要 left = W - 1。只有文本比窗口长时才看得出差别。应说明是哪"
        "一种，并用超过 W 的长度测试。",
    ),
    "fault.window-off-by-one.fix": (
        "masks.sliding_window(n, left=W - 1, right=0); window_size=(W - 1, 0) for flash-attention",
        "masks.sliding_window(n, left=W - 1, right=0)；flash-attention 用 window_size=(W - 1, 0)",
    ),
    "fault.window-off-by-one.symptom": (
        "Rows past the window hold W + 1 or W - 1 keys.",
        "超过窗口长度的行有 W + 1 或 W - 1 个键。",
    ),
    "fault.window-on-wrong-layers.title": ("The window is on the wrong layers", "窗口用在了错误的层上"),
    "fault.window-on-wrong-layers.explanation": (
        "A model mixes layers with a window and layers without; a comparison the wrong way round, or a pattern "
        "that is off by one layer, swaps them. A shortcut for single new tokens may drop the window as well. "
        "Read the kind of each layer from the configuration (layer_types), and look at the masks of all layers "
        "side by side.",
        "模型中有的层带窗口，有的层不带；比较写反了，或层的排列差一层，两者就会互换。处理单个新词元的捷径也可能丢"
        "掉窗口。应从配置（layer_types）读取每层的类型，并把各层的掩码并排查看。",
    ),
    "fault.window-on-wrong-layers.fix": (
        "window = config.sliding_window if config.layer_types[layer] == 'sliding_attention' else None",
        "window = config.sliding_window if config.layer_types[layer] == 'sliding_attention' else None",
    ),
    "fault.window-on-wrong-layers.symptom": (
        "A layer meant to see everything sees a band, or one with a window sees everything.",
        "本该看到全部的层只看到一条带，或本该有窗口的层看到了全部。",
    ),
    "fault.chunk-as-window.title": (
        "Chunks taken for a window, or a window for chunks",
        "把分块当作窗口，或把窗口当作分块",
    ),
    "fault.chunk-as-window.explanation": (
        "Chunked attention cuts the positions into fixed pieces that do not see each other; a sliding window "
        "moves with the query. Code written for one is reused for the other, and both have the same size and "
        "look alike in a short text. A key is in the chunk if key // size == query // size, in the window if "
        "query - key < size.",
        "分块注意力把位置切成固定的、互不可见的块；滑动窗口则随查询移动。为一种写的代码被用于另一种，而两者大小相"
        "同，在短文本中看起来也相似。key // size == query // size 的键在同一块中，query - key < size 的键在窗口中"
        "。",
    ),
    "fault.chunk-as-window.fix": (
        "masks.chunked(n, size=c) & masks.causal(n), or masks.sliding_window(n, left=W - 1, right=0)",
        "masks.chunked(n, size=c) & masks.causal(n)，或 masks.sliding_window(n, left=W - 1, right=0)",
    ),
    "fault.chunk-as-window.symptom": (
        "Weight across a chunk border, or rows that forget everything at multiples of W.",
        "权重跨过块的边界，或某些行在 W 的整数倍处忘掉之前的一切。",
    ),
    "fault.packing-leak.title": ("Packed documents read each other", "打包的文档互相读取"),
    "fault.packing-leak.explanation": (
        "Several documents share one row, and the program relies on restarted position ids or an end token to "
        "keep them apart. Positions only change the embeddings: with a plain causal mask every later document "
        "reads the earlier ones. Allow a key only in the query's own document, on top of the causal mask.",
        "多个文档共用一行，程序靠重新开始的位置编号或结束词元来区分它们。位置只改变嵌入：只用普通的因果掩码时，后"
        "面的文档都会读取前面的文档。应在因果掩码之外，只允许读取查询所在文档中的键。",
    ),
    "fault.packing-leak.fix": (
        "allowed = causal & (document_ids[:, :, None] == document_ids[:, None, :])[:, None]",
        "allowed = causal & (document_ids[:, :, None] == document_ids[:, None, :])[:, None]",
    ),
    "fault.packing-leak.symptom": (
        "Rows of later documents hold weight on earlier documents.",
        "后面文档的行在前面的文档上有权重。",
    ),
    "fault.cache-slots-unmasked.title": ("Empty slots of the cache are read", "读取了缓存的空槽位"),
    "fault.cache-slots-unmasked.explanation": (
        "A cache of fixed size returns all its slots. The unused ones hold zeros, and a zero key is a legal key "
        "with score 0. Or one shared offset is used although samples have filled different numbers of slots. "
        "Hide every slot from the sample's own valid length on.",
        "固定大小的缓存返回全部槽位。未使用的槽位是 0，而全 0 的键是合法的键，分数为 0。或者各样本已填充的槽位数"
        "不同，却共用一个偏移。应隐藏从样本自身有效长度开始的所有槽位。",
    ),
    "fault.cache-slots-unmasked.fix": (
        "allowed = torch.arange(slots) < valid_length[:, None, None, None]",
        "allowed = torch.arange(slots) < valid_length[:, None, None, None]",
    ),
    "fault.cache-slots-unmasked.symptom": (
        "Weight on keys beyond the valid length; it grows with the size of the cache.",
        "超出有效长度的键上有权重；缓存越大，这些权重越多。",
    ),
    "fault.dropout-left-on.title": ("Dropout is still on", "dropout 仍然开启"),
    "fault.dropout-left-on.explanation": (
        "The weights were recorded while the module was in training mode. Dropout sets a share p of them to 0 "
        "and multiplies the rest by 1 / (1 - p), so rows sum to more or less than 1 and no two runs agree. Call "
        "model.eval() before looking; a function that takes dropout_p itself needs dropout_p=0.0.",
        "记录权重时模块处于训练模式。dropout 把比例为 p 的权重设为 0，其余乘以 1 / (1 - p)，因此行和忽大忽小，每"
        "次运行都不同。观察之前应调用 model.eval()；自带 dropout_p 参数的函数则需要 dropout_p=0.0。",
    ),
    "fault.dropout-left-on.fix": ("model.eval()", "model.eval()"),
    "fault.dropout-left-on.symptom": (
        "Weights are 0 or the right ones times one factor above 1; row sums scatter around 1.",
        "权重要么是 0，要么是正确值乘以同一个大于 1 的因子；行和在 1 附近波动。",
    ),
    "fault.heads-averaged.title": ("One map where several heads are meant", "本应有多个头，却只有一张图"),
    "fault.heads-averaged.explanation": (
        "nn.MultiheadAttention returns the mean over heads unless told otherwise. Heads with opposite patterns "
        "then look like one dull head, and whoever spreads that map over all heads shows something that no head "
        "computed. Ask for the single maps: average_attn_weights=False.",
        "除非另行指定，nn.MultiheadAttention 返回的是各头的平均。图案相反的头平均后成了一个平淡的头；把这张图当作"
        "每个头的图来展示，展示的就是没有任何头算出过的东西。应要求返回各头的图：average_attn_weights=False。",
    ),
    "fault.heads-averaged.fix": (
        "attention(query, key, value, need_weights=True, average_attn_weights=False)",
        "attention(query, key, value, need_weights=True, average_attn_weights=False)",
    ),
    "fault.heads-averaged.symptom": (
        "All heads show the same map, or the head axis is gone.",
        "所有头显示同一张图，或没有头这个轴。",
    ),
    "fault.heads-merged-without-transpose.title": ("Heads merged by view alone", "仅用 view 合并头"),
    "fault.heads-merged-without-transpose.explanation": (
        "After attention (batch, heads, q_len, d_v) is reshaped straight to (batch, q_len, heads x d_v). One "
        "output row then mixes features of several tokens of one head instead of one token of all heads. The "
        "weights are right, the output is not. Transpose the two middle axes first, then reshape.",
        "注意力之后，(batch, heads, q_len, d_v) 被直接 reshape 成 (batch, q_len, heads x d_v)。于是一行输出混合了"
        "同一个头中几个词元的特征，而不是一个词元在所有头中的特征。权重是对的，输出是错的。应先转置中间两个轴，再"
        " reshape。",
    ),
    "fault.heads-merged-without-transpose.fix": (
        "output.transpose(1, 2).reshape(batch, q_len, heads * d_v)",
        "output.transpose(1, 2).reshape(batch, q_len, heads * d_v)",
    ),
    "fault.heads-merged-without-transpose.symptom": (
        "The weights are right and the output is not: its rows are shuffled pieces of the right ones.",
        "权重正确而输出错误：输出的行由正确的行打乱拼成。",
    ),
    "fault.zero-times-nan.title": ("NaN at a masked key reaches the output", "被掩码的键上的 NaN 进入输出"),
    "fault.zero-times-nan.explanation": (
        "V holds NaN or inf at a key that no query may read, from an uninitialised cache slot or a padded row. "
        "Its weight is 0, but 0 times NaN is NaN, so the matrix product carries it into every output. Masking "
        "the weights is not enough: blank V where nobody may read.",
        "V 在任何查询都不能读取的键上含有 NaN 或 inf，来自未初始化的缓存槽位或填充行。它的权重是 0，但 0 乘以 "
        "NaN 仍是 NaN，矩阵乘法把它带进每个输出。仅对权重掩码是不够的：没人能读的 V 也应清零。",
    ),
    "fault.zero-times-nan.fix": (
        "value = value.masked_fill(~readable[..., None], 0.0)",
        "value = value.masked_fill(~readable[..., None], 0.0)",
    ),
    "fault.zero-times-nan.symptom": (
        "The weights are right; the output is NaN in the features where V is.",
        "权重正确；V 中有 NaN 的特征，其输出也是 NaN。",
    ),
}
