"""The doctor's sentences, one per code, and the phrases inside them; the English ones are those of the core.

Names in braces are the evidence of the finding, or what a phrase takes over as it is.
"""

TEXTS: dict[str, tuple[str, str]] = {
    "sentence.future-visible": (
        "future keys {keys} visible: rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass})",
        "能看到未来的键 {keys}：涉及行 {rows}，{all_maps} 个图中的 {maps} 个，共 {cells} 个单元格，最多占一行的 {largest}（各行合计 {mass}）",
    ),
    "remedy.future-visible": ("apply the causal mask before softmax", "在 softmax 之前应用因果掩码"),
    "sentence.padding-visible": (
        "padding keys {keys} are attended: rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass}){note}",
        "填充键 {keys} 被关注：涉及行 {rows}，{all_maps} 个图中的 {maps} 个，共 {cells} 个单元格，最多占一行的 {largest}（各行合计 {mass}）{note}",
    ),
    "remedy.padding-visible": (
        "hide padding keys with a (batch, 1, 1, k_len) mask before softmax",
        "在 softmax 之前用 (batch, 1, 1, k_len) 的掩码屏蔽填充键",
    ),
    "sentence.cache-slots-visible": (
        "keys {keys} are beyond the valid length {lengths} and carry weight: rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass}){note}",
        "键 {keys} 超出有效长度 {lengths}，却带有权重：涉及行 {rows}，{all_maps} 个图中的 {maps} 个，共 {cells} 个单元格，最多占一行的 {largest}（各行合计 {mass}）{note}",
    ),
    "remedy.cache-slots-visible": (
        "mask the slots that are not filled yet; a zero key has score 0, which is an ordinary score",
        "屏蔽尚未填入的位置；全零的键分数为 0，而 0 是普通的分数",
    ),
    "sentence.document-visible": (
        "packed documents read each other ({documents}), keys {keys}: rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass})",
        "打包的文档互相读取（{documents}），键 {keys}：涉及行 {rows}，{all_maps} 个图中的 {maps} 个，共 {cells} 个单元格，最多占一行的 {largest}（各行合计 {mass}）",
    ),
    "remedy.document-visible": (
        "add a block-diagonal mask over documents; restarting position ids does not isolate them",
        "按文档加上块对角掩码；重新从头编号位置并不能隔离文档",
    ),
    "sentence.outside-window-visible": (
        "rows {rows} read up to {read} keys, the window is {window}; keys {keys} lie outside: rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass})",
        "行 {rows} 最多读取 {read} 个键，而窗口为 {window}；键 {keys} 在窗口之外：涉及行 {rows}，{all_maps} 个图中的 {maps} 个，共 {cells} 个单元格，最多占一行的 {largest}（各行合计 {mass}）",
    ),
    "remedy.outside-window-visible": (
        "a causal window of W keys, the query's own included, is 0 <= query - key < W",
        "W 个键的因果窗口（含查询自己的键）为 0 <= query - key < W",
    ),
    "sentence.outside-chunk-visible": (
        "attention crosses the chunk border at {borders}, keys {keys}: rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass})",
        "注意力越过了 {borders} 处的分块边界，键 {keys}：涉及行 {rows}，{all_maps} 个图中的 {maps} 个，共 {cells} 个单元格，最多占一行的 {largest}（各行合计 {mass}）",
    ),
    "remedy.outside-chunk-visible": (
        "chunked attention: key j is visible to query i only where j // size == i // size",
        "分块注意力：仅当 j // size == i // size 时查询 i 才能看到键 j",
    ),
    "sentence.forbidden-visible": (
        "forbidden keys {keys} are attended: rows {rows}, {cells} cells in {maps} of {all_maps} maps, up to {largest} of a row (mass {mass})",
        "禁止的键 {keys} 被关注：涉及行 {rows}，{all_maps} 个图中的 {maps} 个，共 {cells} 个单元格，最多占一行的 {largest}（各行合计 {mass}）",
    ),
    "remedy.forbidden-visible": ("apply the intended mask before softmax", "在 softmax 之前应用本意的掩码"),
    "sentence.wrongly-blocked": (
        "keys that may be read have weight exactly 0: rows {rows}, keys {keys}, {cells} cells",
        "允许读取的键权重恰好为 0：行 {rows}，键 {keys}，共 {cells} 个单元格",
    ),
    "remedy.wrongly-blocked": (
        "compare the mask that was applied with the one that was meant",
        "比较实际应用的掩码与本意的掩码",
    ),
    "sentence.complement": (
        "the support of the weights is exactly the complement of the intended {intent} mask",
        "权重不为 0 的位置恰好是本意掩码（{intent}）的补集",
    ),
    "remedy.complement": (
        "invert the mask: here True was read as the opposite of what was meant",
        "把掩码取反：此处 True 的含义被反着理解了",
    ),
    "sentence.top-left": (
        "last query reads {read} of {k_len} keys although it is the newest token: the causal mask is top-left aligned; keys {keys} are read by nobody",
        "最后一个查询是最新的词元，却只读取 {k_len} 个键中的 {read} 个：因果掩码按左上角对齐；键 {keys} 无人读取",
    ),
    "remedy.top-left": (
        "with a cache or chunked prefill align to the bottom right: offset = k_len - q_len",
        "使用缓存或分块预填充时应按右下角对齐：offset = k_len - q_len",
    ),
    "sentence.unread-keys": (
        "keys {keys} are read by nobody; the map has {q_len} queries and {k_len} keys",
        "键 {keys} 无人读取；该图有 {q_len} 个查询和 {k_len} 个键",
    ),
    "remedy.unread-keys": (
        "if this is decoding or chunked prefill, the causal mask should be bottom-right aligned",
        "若是解码或分块预填充，因果掩码应按右下角对齐",
    ),
    "sentence.empty-rows": (
        "rows {rows} have no allowed key ({count} rows in all)",
        "行 {rows} 没有可读的键（共 {count} 行）",
    ),
    "remedy.empty-rows": (
        "weights and output of such a row must be 0; check whether the mask means it",
        "这样的行权重和输出都必须为 0；请检查掩码是否有意如此",
    ),
    "sentence.empty-padding-rows": (
        "rows {rows} have no allowed key; harmless, these queries are padding",
        "行 {rows} 没有可读的键；无妨，这些查询是填充",
    ),
    "sentence.rows-lost": (
        "rows {rows} carry no weight although they have allowed keys ({count} rows)",
        "行 {rows} 有可读的键，却没有任何权重（共 {count} 行）",
    ),
    "remedy.rows-lost": (
        "the mask that was applied hides every key of these rows; padding masks act on keys, not on queries",
        "实际应用的掩码屏蔽了这些行的所有键；填充掩码作用于键，而不是查询",
    ),
    "sentence.uniform-empty-rows": (
        "rows {rows} have no allowed key, but spread over all keys evenly ({largest} each): uniform row from a finite mask value, no real leak",
        "行 {rows} 没有可读的键，却均匀地分布在所有键上（每个 {largest}）：有限掩码值造成的均匀行，并非真正的泄漏",
    ),
    "remedy.uniform-empty-rows": (
        "fill with -inf and set rows without a key to 0",
        "用 -inf 填充，并把没有可读键的行置为 0",
    ),
    "sentence.padding-queries": (
        "rows {rows} are padding queries; their weights are computed and never used",
        "行 {rows} 是填充查询；它们的权重会被计算，但从不使用",
    ),
    "sentence.row-sums": (
        "row sum {worst}, expected {expected}: rows {rows}, {count} rows (tolerance {tolerance})",
        "行和为 {worst}，应为 {expected}：行 {rows}，共 {count} 行（容差 {tolerance}）",
    ),
    "remedy.row-sums": ("normalise over the keys, in float32 at least", "沿键的方向归一化，至少用 float32"),
    "sentence.nan-weights": (
        "weights are not finite in rows {rows}: {nan} NaN and {inf} infinite cells{note}",
        "行 {rows} 的权重不是有限数：{nan} 个 NaN，{inf} 个无穷{note}",
    ),
    "remedy.nan-weights": (
        "look for rows whose every logit is -inf, for overflow before softmax and for NaN in the inputs",
        "检查是否有所有 logit 均为 -inf 的行、softmax 之前的溢出，以及输入中的 NaN",
    ),
    "sentence.negative-weights": (
        "{count} weights are negative, down to {smallest}: this is not the output of a softmax",
        "有 {count} 个权重为负，最小 {smallest}：这不是 softmax 的输出",
    ),
    "remedy.negative-weights": ("pass weights, not scores", "请传入权重，而不是分数"),
    "sentence.columns-sum-to-one": (
        "columns sum to 1, rows do not (row sums {smallest} to {largest}): softmax over queries, or the matrix is transposed",
        "列和为 1，行和不为 1（行和 {smallest} 到 {largest}）：softmax 沿查询方向，或矩阵被转置",
    ),
    "remedy.columns-sum-to-one": ("take softmax over the last axis, the keys", "沿最后一个轴（键）做 softmax"),
    "sentence.heads-sum-to-one": (
        "each cell sums to 1 over the {count} {axis}, rows do not: softmax over the wrong axis",
        "每个单元格在 {count} 个{axis}上之和为 1，行和不为 1：softmax 的轴不对",
    ),
    "remedy.heads-sum-to-one": ("take softmax over the last axis, the keys", "沿最后一个轴（键）做 softmax"),
    "sentence.all-ones": (
        "all weights equal 1; row sum = number of keys = {k_len}: softmax over a size-1 axis (batch or head)",
        "所有权重都等于 1；行和 = 键数 = {k_len}：softmax 作用于长度为 1 的轴（批或头）",
    ),
    "remedy.all-ones": ("take softmax over the last axis, the keys", "沿最后一个轴（键）做 softmax"),
    "sentence.double-softmax": (
        "max/min ratio inside each row <= e (largest {ratio}) and masked cells hold the row minimum > 0 (rows {rows}): looks like softmax applied twice",
        "每行内最大值与最小值之比 <= e（最大 {ratio}），被屏蔽的单元格为该行最小值且 > 0（行 {rows}）：像是做了两次 softmax",
    ),
    "remedy.double-softmax": (
        "drop the second softmax; it also brings masked keys back",
        "去掉第二次 softmax；它还会让被屏蔽的键重新出现",
    ),
    "sentence.double-softmax-possible": (
        "max/min ratio inside each row <= e (largest {ratio}), and undoing one softmax leaves weights that sum to 1 and are never negative: looks like softmax applied twice",
        "每行内最大值与最小值之比 <= e（最大 {ratio}），撤销一次 softmax 后权重之和为 1 且从不为负：像是做了两次 softmax",
    ),
    "remedy.double-softmax-possible": ("drop the second softmax", "去掉第二次 softmax"),
    "sentence.mask-after-softmax": (
        "row sums < 1 in rows {rows} ({sums}), zeros sit on the masked cells: mask applied after softmax; dividing by the row sum repairs it: {repaired}",
        "行 {rows} 的行和 < 1（{sums}），零恰好在被屏蔽的单元格上：掩码在 softmax 之后才应用；除以行和即可修复：{repaired}",
    ),
    "remedy.mask-after-softmax": (
        "mask the scores before softmax, or divide each row by its sum afterwards",
        "在 softmax 之前屏蔽分数，或之后把每行除以行和",
    ),
    "sentence.equal-masked-weights": (
        "masked keys {keys} have equal weight in each row (e.g. {example}{note} in row {row}): scores were replaced by a finite number or zeroed, not removed",
        "被屏蔽的键 {keys} 在每行中权重相同（例如第 {row} 行为 {example}{note}）：分数被换成有限数或 0，而没有被移除",
    ),
    "remedy.equal-masked-weights": ("fill masked scores with -inf", "用 -inf 填充被屏蔽的分数"),
    "sentence.dropout-active": (
        "row sums differ from 1 ({smallest} to {largest}), but the entries that are not 0 are the softmax values times {factor}: dropout p={p} active",
        "行和不为 1（{smallest} 到 {largest}），但不为 0 的权重等于 softmax 值乘以 {factor}：dropout p={p} 仍在生效",
    ),
    "remedy.dropout-active": ("switch to eval()", "切换到 eval()"),
    "sentence.dropout-possible": (
        "row sums scatter around 1 ({smallest} to {largest}) and {share} of the allowed cells are exactly 0: looks like dropout",
        "行和在 1 附近波动（{smallest} 到 {largest}），允许的单元格中有 {share} 恰好为 0：像是 dropout",
    ),
    "remedy.dropout-possible": ("switch to eval()", "切换到 eval()"),
    "sentence.dropout-declared": (
        "dropout p={p} is declared: row sums are not compared with 1, and weights are random",
        "已声明 dropout p={p}：不将行和与 1 比较，权重是随机的",
    ),
    "sentence.mask-differs-between-heads": (
        "mask differs between heads of the same sample: {heads_by_sample}",
        "同一样本的各头掩码不同：{heads_by_sample}",
    ),
    "remedy.mask-differs-between-heads": (
        "masks folded into batch x heads need repeat_interleave, order b * heads + h",
        "折叠进“批 × 头”的掩码需要 repeat_interleave，顺序为 b * heads + h",
    ),
    "sentence.heads-identical": ("{said}: already averaged over heads", "{said}：已对各头取平均"),
    "remedy.heads-identical": (
        "ask for per-head weights (average_attn_weights=False)",
        "请取每个头各自的权重（average_attn_weights=False）",
    ),
    "sentence.axes-swapped": (
        "axes look swapped: {maps} maps of {q_len}x{columns}, expected {samples} maps of {tokens}x{tokens}; was batch_first set?",
        "轴似乎颠倒：得到 {maps} 个 {q_len}x{columns} 的图，应为 {samples} 个 {tokens}x{tokens} 的图；是否设置了 batch_first？",
    ),
    "remedy.axes-swapped": (
        "build the module with batch_first=True, or pass (len, batch, features)",
        "构建模块时设 batch_first=True，或传入 (len, batch, features)",
    ),
    "sentence.banded-layout": (
        "weights are {q_len}x{columns} but there are {k_len} keys: banded layout?",
        "权重为 {q_len}x{columns}，但有 {k_len} 个键：是带状布局吗？",
    ),
    "remedy.banded-layout": (
        "unroll with masks.square_from_banded before looking at single keys",
        "查看单个键之前先用 masks.square_from_banded 展开",
    ),
    "sentence.token-count": (
        "weights have {columns} {axis} but there are {tokens} tokens{note}",
        "权重有 {columns} 个{axis}，但词元有 {tokens} 个{note}",
    ),
    "remedy.token-count": (
        "pass one token per query and key; crop block padding that carries no mass",
        "每个查询和键各传入一个词元；裁掉没有权重的块填充",
    ),
    "sentence.weights-shape": (
        "weights are {columns}, expected {tokens}{note}",
        "权重为 {columns}，应为 {tokens}{note}",
    ),
    "remedy.weights-shape": (
        "pass the weights of this call, with axes (batch, heads, q_len, k_len)",
        "请传入这次调用的权重，轴为 (batch, heads, q_len, k_len)",
    ),
    "sentence.typed-special": (
        "special-token string {label!r} typed in the text at index {index}",
        "文本第 {index} 位输入了特殊标记字符串 {label!r}",
    ),
    "sentence.rounded-numbers": (
        "the weights look rounded to {decimals} decimals; tolerances are widened to match",
        "权重似乎舍入到 {decimals} 位小数；容差已相应放宽",
    ),
    "sentence.mask-reading": ("mask read as {convention} ({why})", "掩码读作：{convention}（{why}）"),
    "sentence.mask-integer": (
        "integer mask, values {values}, converted: 1 = may attend",
        "整数掩码，取值 {values}，已转换：1 = 可以关注",
    ),
    "sentence.mask-float-zero-one": (
        "mask is float with only {{0, 1}} values and blocks nothing when it is added to the scores",
        "掩码是只含 {{0, 1}} 的浮点数，加到分数上时什么也屏蔽不了",
    ),
    "remedy.mask-float-zero-one": (
        "did you mean a boolean mask, or {{0, -inf}}?",
        "是否本应使用布尔掩码，或 {{0, -inf}}？",
    ),
    "sentence.mask-bool-added": (
        "mask dtype bool was added as 0/1: every key that it forbids carries weight (at least {smallest})",
        "bool 掩码被当作 0/1 相加：它禁止的每个键都有权重（至少 {smallest}）",
    ),
    "remedy.mask-bool-added": (
        "pass an additive mask (0 and -inf) where the code adds it",
        "在做加法的地方传入加性掩码（0 和 -inf）",
    ),
    "sentence.mask-weak-fill": (
        "mask fills {count} cells with {fill}: too close to 0 to hide anything",
        "掩码用 {fill} 填充了 {count} 个单元格：离 0 太近，什么也遮不住",
    ),
    "remedy.mask-weak-fill": ("fill with -inf", "用 -inf 填充"),
    "sentence.mask-nan": (
        "NaN at visible positions {positions}: built by multiplying with infinity (0 * inf is NaN)",
        "可见位置 {positions} 处为 NaN：由与无穷相乘得到（0 * inf 为 NaN）",
    ),
    "remedy.mask-nan": ("build it with torch.where or masked_fill", "请用 torch.where 或 masked_fill 构造"),
    "sentence.mask-mixed-fill": (
        "mask mixes -inf and finfo.min{note}: two finite masks were added, and -inf beats min",
        "掩码混有 -inf 与 finfo.min{note}：两个有限掩码相加，而 -inf 压过最小值",
    ),
    "remedy.mask-mixed-fill": ("combine boolean masks with & before converting", "先用 & 合并布尔掩码，再做转换"),
    "sentence.mask-cast": (
        "mask holds -inf after a cast to {dtype}; built from the float32 minimum? Rows {rows} are masked wholly",
        "转换为 {dtype} 后掩码含有 -inf；是由 float32 的最小值构造的吗？行 {rows} 被完全屏蔽",
    ),
    "remedy.mask-cast": (
        "take the fill from the dtype of the scores, or combine booleans and handle empty rows",
        "填充值应取自分数的 dtype，或合并布尔掩码并处理空行",
    ),
    "sentence.mask-followed-inverted": (
        "all attention mass is on keys whose mask value says hidden (keys {keys}){note}",
        "全部注意力都落在掩码值表示“隐藏”的键上（键 {keys}）{note}",
    ),
    "remedy.mask-followed-inverted": (
        "test the additive mask with value >= 0; a plain cast to bool turns it round",
        "用 value >= 0 判断加性掩码；直接转换为 bool 会把它反过来",
    ),
    "sentence.mask-query-axis": (
        "mask is constant along keys; it hides rows {rows} and no key: looks like a padding mask on the wrong axis",
        "掩码沿键方向不变；它隐藏了行 {rows}，却没有隐藏任何键：像是填充掩码放错了轴",
    ),
    "remedy.mask-query-axis": ("shape it [batch, 1, 1, k_len]", "形状应为 [batch, 1, 1, k_len]"),
    "sentence.mask-differs": (
        "the mask as read ({convention}) allows {extra} cells that are not meant and hides {missing} that are (rows {rows})",
        "按“{convention}”读出的掩码允许了 {extra} 个本不应允许的单元格，并隐藏了 {missing} 个本应允许的（行 {rows}）",
    ),
    "remedy.mask-differs": ("compare both masks cell by cell", "逐个单元格比较两个掩码"),
    "sentence.mask-complement": (
        "read as {convention}, the mask is exactly the complement of the intended {intent} mask",
        "按“{convention}”读，该掩码恰好是本意掩码（{intent}）的补集",
    ),
    "remedy.mask-complement": (
        "invert it, or hand it to a library that reads True the other way round",
        "将其取反，或交给以相反方式理解 True 的库",
    ),
    "sentence.explained": ("{said}", "{said}"),
    "remedy.explained": ("{remedy}", "{remedy}"),
    "sentence.unexplained": (
        "neither the right computation nor a known fault reproduces the {what}: largest difference {largest}",
        "无论正确的计算还是已知故障都不能重现{what}：最大差异 {largest}",
    ),
    "remedy.unexplained": (
        "check that query and key are the ones after rotation and projection, and that scale, bias and mask are stated",
        "请检查 query 与 key 是否为旋转和投影之后的值，以及缩放、偏置和掩码是否已说明",
    ),
    "sentence.scale": (
        "estimated scale {estimated}{estimated_as}, expected {expected}{expected_as}",
        "估计的缩放系数为 {estimated}{estimated_as}，应为 {expected}{expected_as}",
    ),
    "remedy.scale": ("multiply the scores by {expected}", "把分数乘以 {expected}"),
    "sentence.bias-factor": (
        "bias is applied at {percent}% of its value{note}",
        "偏置只以其值的 {percent}% 起作用{note}",
    ),
    "remedy.bias-factor": ("add the bias after scaling", "先缩放，再加偏置"),
    "sentence.mask-offset": (
        "masked key {key} has weight {weight} (row {row}); implied mask offset is about {offset}, not a large negative number",
        "被屏蔽的键 {key} 权重为 {weight}（第 {row} 行）；推算的掩码偏移约为 {offset}，并不是很大的负数",
    ),
    "remedy.mask-offset": ("fill with -inf", "用 -inf 填充"),
    "sentence.score-overflow": (
        "max |q.k| = {largest} exceeds {dtype} range {limit}; scaled value {scaled} {fits}",
        "max |q.k| = {largest} 超出 {dtype} 的范围 {limit}；缩放后的值 {scaled} {fits}",
    ),
    "remedy.score-overflow": (
        "scale q before the product, or accumulate in float32",
        "在相乘之前缩放 q，或用 float32 累加",
    ),
    "sentence.nan-from-masked-value": (
        "V holds NaN or inf at keys {keys} (features {features}), which no query may read; output is NaN only through 0*NaN",
        "V 在键 {keys}（特征 {features}）处含有 NaN 或 inf，而这些键没有查询可以读取；输出的 NaN 只来自 0*NaN",
    ),
    "remedy.nan-from-masked-value": ("zero masked V first", "先把被屏蔽的 V 置零"),
    "sentence.nan-output": (
        "output is not finite in rows {rows} ({cells} cells)",
        "行 {rows} 的输出不是有限数（{cells} 个单元格）",
    ),
    "sentence.output-differs": (
        "weights x V is not the output that was given: largest difference {largest}",
        "权重 x V 与所给输出不符：最大差异 {largest}",
    ),
    "remedy.output-differs": ("check value, head merging and dropout", "请检查 value、各头的合并以及 dropout"),
    "sentence.inferred": (
        "no intent was stated; the weights look {intent}: taken as meant",
        "没有说明本意；权重看起来是“{intent}”：以此为准",
    ),
    "sentence.no-intent": (
        "no intent was stated and the support of the weights fits no known mask",
        "没有说明本意，权重不为 0 的位置也不符合任何已知掩码",
    ),
    "remedy.no-intent": ("state allowed=... or expect=...", "请用 allowed=... 或 expect=... 说明"),
    "sentence.recording-empty": ("the recording holds no attention call", "录制中没有任何注意力调用"),
    "sentence.window-on-layers": ("masks differ between layers: {said}", "各层掩码不同：{said}"),
    "remedy.window-on-layers": ("check which layers should have a window", "请检查哪些层应当使用窗口"),
    # Explained
    "explained.one": ("{fault} reproduces the {what}", "{fault} 可以重现{what}"),
    "explained.class": ("cannot be told apart here: {faults}", "在此无法区分：{faults}"),
    "explained.fault": ("{title} ({parameters})", "{title}（{parameters}）"),
    "explained.then": ("; then ", "；然后 "),
    "explained.join": ("; ", "；"),
    # Phrases inside
    "phrase.their_key_vectors_are_all_zero": ("their key vectors are all zero", "它们的键向量全为零"),
    "phrase.padding_keys_keys_have_weight_0_off_by_o": (
        "padding keys {keys} have weight 0: off by one at the padding border",
        "填充键 {keys} 权重为 0：填充边界差了一个",
    ),
    "phrase.told_by_the_tokens": ("told by the tokens", "由词元判断"),
    "phrase.no_mask_or_lengths_were_given": ("no mask or lengths were given", "没有给出掩码或长度"),
    "phrase.these_rows_have_no_allowed_key_and_a_sof": (
        "these rows have no allowed key, and a softmax over -inf alone is 0/0",
        "这些行没有可读的键，而只对 -inf 做 softmax 得 0/0",
    ),
    "phrase.at_most_1": ("at most 1", "至多 1"),
    "phrase.heads": ("heads", "头"),
    "phrase.samples": ("samples", "样本"),
    "phrase.keys": ("keys", "键"),
    "phrase.queries": ("queries", "查询"),
    "phrase.as_shape": ("as shape", "形状"),
    "phrase.see_the_intended_mask": ("see the intended mask", "见本意的掩码"),
    "phrase.rows_rows_read_document_number": ("rows {rows} read document {number}", "行 {rows} 读取文档 {number}"),
    "phrase.documents_spans": ("documents {spans}", "文档 {spans}"),
    "phrase.sample_sample_head_head_attends_keys_mor": (
        "sample {sample} head {head} attends keys {more} that head 0 does not and does not attend keys {less} that head 0 does",
        "样本 {sample} 的头 {head} 关注键 {more} 而头 0 不关注，且不关注键 {less} 而头 0 关注",
    ),
    "phrase.sample_sample_head_head_attends_keys_mor_x": (
        "sample {sample} head {head} attends keys {more} that head 0 does not",
        "样本 {sample} 的头 {head} 关注键 {more}，而头 0 不关注",
    ),
    "phrase.sample_sample_head_head_does_not_attend": (
        "sample {sample} head {head} does not attend keys {less} that head 0 does",
        "样本 {sample} 的头 {head} 不关注键 {less}，而头 0 关注",
    ),
    "phrase.all_heads_heads_of_each_sample_hold_the": (
        "all {heads} heads of each sample hold the same map",
        "每个样本的 {heads} 个头都是同一张图",
    ),
    "phrase.weights_hold_one_map_per_sample_the_modu": (
        "weights hold one map per sample, the module has {heads} heads",
        "每个样本只有一张权重图，而模块有 {heads} 个头",
    ),
    "phrase.columns_columns_hold_no_mass_crop_to_cou": (
        "columns {columns} hold no mass: crop to {count}",
        "列 {columns} 没有权重：裁到 {count}",
    ),
    "phrase.columns_columns_carry_weight": ("columns {columns} carry weight", "列 {columns} 带有权重"),
    "phrase.by_the_shapes_of_query_and_key": (" by the shapes of query and key", "（由 query 与 key 的形状得出）"),
    "phrase.true_may_attend": ("True = may attend", "True = 可以关注"),
    "phrase.true_blocked": ("True = blocked", "True = 屏蔽"),
    "phrase.1_may_attend": ("1 = may attend", "1 = 可以关注"),
    "phrase.1_blocked": ("1 = blocked", "1 = 屏蔽"),
    "phrase.additive_0_may_attend": ("additive, 0 = may attend", "加性，0 = 可以关注"),
    "phrase.additive_bias_no_mask": ("additive bias, no mask", "加性偏置，并非掩码"),
    "phrase.closer_to_the_stated_intent": ("closer to the stated intent", "更接近所说的本意"),
    "phrase.it_is_true_everywhere": ("it is True everywhere", "处处为 True"),
    "phrase.every_query_may_read_its_own_position_th": (
        "every query may read its own position that way",
        "这样每个查询都能读取自己的位置",
    ),
    "phrase.no_query_could_read_its_own_position_oth": (
        "no query could read its own position otherwise",
        "否则没有查询能读取自己的位置",
    ),
    "phrase.as_tokenizers_return_it": ("as tokenizers return it", "与分词器返回的一致"),
    "phrase.that_is_where_the_weights_are": ("that is where the weights are", "权重就在那里"),
    "phrase.it_holds_nan_and_inf": ("it holds NaN and -inf", "含有 NaN 和 -inf"),
    "phrase.it_holds_0_and_one_negative_number": ("it holds 0 and one negative number", "含有 0 和一个负数"),
    "phrase.it_holds_many_numbers": ("it holds many numbers", "含有许多不同的数"),
    "phrase.it_holds_0_and_large_negative_numbers": ("it holds 0 and large negative numbers", "含有 0 和很大的负数"),
    "phrase.rows_rows_have_no_allowed_key": ("rows {rows} have no allowed key", "行 {rows} 没有可读的键"),
    "phrase.row_row_puts_share_on_future_keys_keys": (
        "row {row} puts {share} on future keys {keys}",
        "第 {row} 行有 {share} 落在未来的键 {keys} 上",
    ),
    "phrase.those_whose_additive_mask_is_the_most_ne": (
        ": those whose additive mask is the most negative",
        "：即加性掩码最负的那些",
    ),
    "phrase.unscaled": (" (unscaled)", "（未缩放）"),
    "phrase.the_factor_factor": (" = the {factor} factor", " = 系数 {factor}"),
    "phrase.fits": ("fits", "在范围内"),
    "phrase.does_not_fit_either": ("does not fit either", "同样超出范围"),
    "phrase.weights": ("weights", "权重"),
    "phrase.output": ("output", "输出"),
    "phrase.pattern": ("pattern", "图样"),
    "phrase.row_row_values": ("row {row} [{values}]", "第 {row} 行 [{values}]"),
    "phrase.words_calls_calls": ("{words}: calls {calls}", "{words}：调用 {calls}"),
    "phrase.count_values": ("{count} values", "{count} 个值"),
    "phrase.causal": ("causal", "因果"),
    "phrase.bidirectional": ("bidirectional", "双向"),
    "phrase.window_size": ("window={size}", "窗口={size}"),
    "phrase.prefix_size": ("prefix={size}", "前缀={size}"),
    "phrase.chunk_size": ("chunk={size}", "分块={size}"),
    "phrase.packed": ("packed", "打包"),
    "phrase.cache": ("cache", "缓存"),
    "phrase.padding": ("padding", "填充"),
    "phrase.left_padding": ("left padding", "左侧填充"),
    "phrase.right_padding": ("right padding", "右侧填充"),
    "phrase.words_top_left": ("{words} (top-left)", "{words}（左上角对齐）"),
    "phrase.as_given": ("as given", "按所给的掩码"),
    "phrase.given": ("given", "所给"),
    "phrase.first_count_in_all": ("{first}, ... ({count} in all)", "{first}, …（共 {count} 个）"),
    "phrase.softmax_axis": ("softmax axis", "softmax 的轴"),
    "phrase.double_softmax": ("double softmax", "两次 softmax"),
    "phrase.finite_weights": ("finite weights", "权重有限"),
    "phrase.non_negative": ("non-negative", "非负"),
    "phrase.row_sums": ("row sums", "行和"),
    "phrase.empty_rows": ("empty rows", "空行"),
    "phrase.forbidden_cells": ("forbidden cells", "禁止的单元格"),
    "phrase.blocked_cells": ("blocked cells", "屏蔽的单元格"),
    "phrase.axes_and_tokens": ("axes and tokens", "轴与词元"),
    "phrase.intent": ("intent", "本意"),
    "phrase.recomputation": ("recomputation", "重新计算"),
    "phrase.mask_as_handed_over": ("mask as handed over", "实际传入的掩码"),
    "phrase.no_raw_mask": ("no raw_mask was given", "没有给出 raw_mask"),
    "phrase.needs_the_intended_mask": ("needs the intended mask", "需要本意的掩码"),
    "phrase.dropout_is_declared": ("dropout is declared", "已声明 dropout"),
    "phrase.tolerance_size": ("tolerance {size}", "容差 {size}"),
    "phrase.count_cells": ("{count} cells", "{count} 个单元格"),
    "phrase.cannot_tell_without_q_and_k_faults": (
        "cannot tell without Q and K: {faults}",
        "没有 Q 与 K 无法判断：{faults}",
    ),
    "phrase.needs_weights_or_value_and_output": ("needs weights, or value and output", "需要权重，或 value 与输出"),
    "phrase.largest_difference_size_in_the_what": (
        "largest difference {size} in the {what}",
        "{what}的最大差异为 {size}",
    ),
    "phrase.no_intent_was_stated_and_none_could_be_i": (
        "no intent was stated and none could be inferred",
        "没有说明本意，也无法推断",
    ),
    "phrase.nothing_was_stated_and_the_support_fits": (
        "nothing was stated and the support fits no known mask",
        "没有说明本意，权重不为 0 的位置也不符合任何已知掩码",
    ),
    "phrase.they_do_not_have_the_shape_of_this_atten": (
        "they do not have the shape of this attention",
        "它们的形状与此次注意力不符",
    ),
    "phrase.words_stated": ("{words} (stated)", "{words}（已说明）"),
    "phrase.words_expect": ("{words} (expect)", "{words}（expect）"),
    "phrase.words_allowed": ("{words} (allowed)", "{words}（allowed）"),
    "phrase.words_implied": ("{words} (implied)", "{words}（由长度或文档得出）"),
    "phrase.words_inferred": ("{words} (inferred)", "{words}（推断）"),
}
