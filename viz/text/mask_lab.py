"""Texts of the mask lab."""

TEXTS: dict[str, tuple[str, str]] = {
    "mask_lab.title": ("Mask lab", "掩码实验室"),
    "mask_lab.line": (
        "Put a mask together, paint on it, and take it home as code.",
        "拼出一个掩码，在上面涂改，再把它作为代码带走。",
    ),
    "mask_lab.reset": ("Start over", "重新开始"),
    "mask_lab.reset_help": ("Every setting back to its default, all paint off.", "所有设置恢复默认，并清除涂改。"),
    "mask_lab.link_too_long": (
        "Too much for a link: the link to this page leaves out the longest part.",
        "内容太多，无法全部放进链接：本页链接省略了最长的部分。",
    ),
    "mask_lab.link_ignored": (
        "The link holds values that cannot be used, left at their defaults: {names}",
        "链接中有无法使用的值，已改用默认值：{names}",
    ),
    # To the explore page
    "mask_lab.send": ("Send to Explore", "发送到探索页"),
    "mask_lab.send_help": (
        "Opens Explore with the from-scratch core and this mask on a text of as many tokens; of a batch, the sample shown.",
        "打开探索页：用从零实现的核心，在同样多词元的文本上使用此掩码；若是批次，则取当前样本。",
    ),
    "mask_lab.send_not": (
        "Explore needs as many queries as keys: got {q_len} queries and {k_len} keys. Make the two sizes equal to send it.",
        "探索页要求查询数与键数相同：现在有 {q_len} 个查询、{k_len} 个键。请使两者相等后再发送。",
    ),
    # Sizes
    "mask_lab.q_len": ("Queries", "查询数"),
    "mask_lab.q_len_help": ("q_len: rows of the mask, who looks.", "q_len：掩码的行，即谁在看。"),
    "mask_lab.k_len": ("Keys", "键数"),
    "mask_lab.k_len_help": ("k_len: columns of the mask, who is looked at.", "k_len：掩码的列，即被看的是谁。"),
    "mask_lab.place": ("Queries stand at", "查询位于"),
    "mask_lab.place_help": (
        "Query i stands at key position i + offset. With a KV cache the last query stands at the last key.",
        "第 i 个查询位于键位置 i + 偏移。使用 KV 缓存时，最后一个查询对应最后一个键。",
    ),
    "mask_lab.place_end": ("the last keys", "最后的键"),
    "mask_lab.place_start": ("the first keys", "最前的键"),
    "mask_lab.place_custom": ("an offset", "自定偏移"),
    "mask_lab.offset": ("Offset", "偏移"),
    "mask_lab.offset_help": ("Key position of query 0.", "查询 0 所在的键位置。"),
    # Parts
    "mask_lab.parts": ("Parts", "组成部分"),
    "mask_lab.parts_help": (
        "A cell is allowed where every part that is on allows it (&).",
        "所有已开启的部分都允许时，单元格才被允许（&）。",
    ),
    "mask_lab.parts_none": (
        "No part is on: every query may read every key.",
        "没有开启任何部分：每个查询都能读取所有键。",
    ),
    "part.causal": ("Causal", "因果"),
    "part.padding": ("Padding", "填充"),
    "part.window": ("Sliding window", "滑动窗口"),
    "part.chunked": ("Chunks", "分块"),
    "part.dilated": ("Dilated", "膨胀"),
    "part.strided": ("Strided", "跨步"),
    "part.global_local": ("Global + local", "全局 + 局部"),
    "part.block_sparse": ("Block-sparse", "块稀疏"),
    "part.prefix": ("Prefix", "前缀"),
    "part.packed": ("Packed documents", "打包文档"),
    "mask_lab.lengths": ("Lengths", "长度"),
    "mask_lab.lengths_help": (
        "Real tokens of each sample, with commas: 5, 3. One number per sample makes the batch.",
        "每个样本的真实词元数，用逗号分隔，如 5, 3。几个数就是几个样本。",
    ),
    "mask_lab.side": ("Filler stands", "填充在"),
    "mask_lab.side_help": (
        "Where the filler of shorter samples stands: most decoders pad left for generation.",
        "较短样本的填充放在哪边：生成时，解码器通常在左侧填充。",
    ),
    "mask_lab.side_right": ("right", "右侧"),
    "mask_lab.side_left": ("left", "左侧"),
    "mask_lab.left": ("Keys before", "之前的键"),
    "mask_lab.right": ("Keys after", "之后的键"),
    "mask_lab.window_help": (
        "How far a query sees on this side, its own key not counted; empty: no limit.",
        "查询在这一侧能看多远，不含自身；留空表示不限。",
    ),
    "mask_lab.no_limit": ("no limit", "不限"),
    "mask_lab.chunk": ("Chunk size", "块大小"),
    "mask_lab.chunk_help": (
        "Positions per chunk; each sees its own chunk alone. Not a sliding window.",
        "每块的位置数；每个位置只看自己所在的块。这不是滑动窗口。",
    ),
    "mask_lab.dilated_window": ("Keys per side", "每侧键数"),
    "mask_lab.dilated_window_help": (
        "How many keys on each side, the query's own included.",
        "每一侧能看多少个键，含自身。",
    ),
    "mask_lab.step": ("Step", "间隔"),
    "mask_lab.step_help": ("Distance between neighbouring keys; 1 has no gaps.", "相邻键的间距；1 表示没有空隙。"),
    "mask_lab.stride": ("Stride", "步长"),
    "mask_lab.stride_help": (
        "Keys at any distance that is a multiple of this.",
        "距离为该数倍数的键都可读。",
    ),
    "mask_lab.local_window": ("Local window", "局部窗口"),
    "mask_lab.local_window_help": (
        "Keys per side, the query's own included: |key − query| < window.",
        "每侧键数，含自身：|键 − 查询| < 窗口。",
    ),
    "mask_lab.global_keys": ("Global keys", "全局键"),
    "mask_lab.global_keys_help": (
        "Positions that every query may read, with commas: 0, 3.",
        "每个查询都能读取的位置，用逗号分隔，如 0, 3。",
    ),
    "mask_lab.block_size": ("Block size", "块边长"),
    "mask_lab.block_size_help": ("Rows and columns of one block.", "每块的行数与列数。"),
    "mask_lab.block_map": ("Map of blocks", "块图"),
    "mask_lab.block_map_help": (
        "One line per row of blocks, 1 = allowed: 110; 011. Empty: the diagonal.",
        "每行对应一行块，1 表示允许，如 110; 011。留空表示对角线。",
    ),
    "mask_lab.block_map_placeholder": ("diagonal", "对角线"),
    "mask_lab.prefix": ("Prefix length", "前缀长度"),
    "mask_lab.prefix_help": (
        "Keys that every query may read; after them it is causal.",
        "每个查询都能读取的前几个键；其余按因果规则。",
    ),
    "mask_lab.documents": ("Document ids", "文档编号"),
    "mask_lab.documents_help": (
        "One id per key, with commas: 0, 0, 0, 1, 1. One line per sample; one line stands for all.",
        "每个键一个编号，用逗号分隔，如 0, 0, 0, 1, 1。每个样本一行；只写一行则用于所有样本。",
    ),
    # Refusals
    "mask_lab.refused": (
        "{reason} The picture below is the last mask that fitted.",
        "{reason}下图是上一个可用的掩码。",
    ),
    "mask_lab.error_numbers": (
        "Whole numbers with commas between them are needed here: got “{got}”.",
        "此处需要用逗号分隔的整数，得到的是“{got}”。",
    ),
    "mask_lab.error_no_lengths": (
        "Padding needs a length per sample, such as 5, 3.",
        "填充需要每个样本的长度，例如 5, 3。",
    ),
    "mask_lab.error_length": (
        "A length must lie between 0 and the {k_len} keys: got {length} for sample {sample}.",
        "长度须在 0 到键数 {k_len} 之间：样本 {sample} 为 {length}。",
    ),
    "mask_lab.error_samples": ("At most {most} samples fit here: got {got}.", "最多 {most} 个样本：得到 {got} 个。"),
    "mask_lab.error_global_key": (
        "Global keys must be positions 0 to {k_len} − 1: got {index}.",
        "全局键须为 0 到 {k_len} − 1 的位置：得到 {index}。",
    ),
    "mask_lab.error_zero_one": ("The map holds only 0 and 1: got “{got}”.", "块图只能含 0 和 1：得到“{got}”。"),
    "mask_lab.error_block_map": (
        "Blocks of {size} need a map of at least {rows} × {columns}, rows of equal length: got {got}.",
        "边长 {size} 的块至少需要 {rows} × {columns} 的块图，各行等长：得到 {got}。",
    ),
    "mask_lab.error_prefix": (
        "The prefix must lie between 0 and the {k_len} keys: got {prefix}.",
        "前缀须在 0 到键数 {k_len} 之间：得到 {prefix}。",
    ),
    "mask_lab.error_no_ids": (
        "Packing needs one document id per key, such as 0, 0, 1.",
        "打包需要每个键一个文档编号，例如 0, 0, 1。",
    ),
    "mask_lab.error_ids": (
        "One document id per key is needed, {k_len} of them: got {got} in sample {sample}.",
        "每个键需要一个文档编号，共 {k_len} 个：样本 {sample} 有 {got} 个。",
    ),
    "mask_lab.error_ids_place": (
        "With document ids every query must stand at a key, 0 to {last_key}: got {first} to {last}. "
        "Change the offset or the sizes.",
        "使用文档编号时，每个查询都须位于某个键（0 到 {last_key}）：得到 {first} 到 {last}。请调整偏移或尺寸。",
    ),
    "mask_lab.error_batch": (
        "Lengths and document ids must be of the same samples: got {lengths} lengths and {documents} lines of ids.",
        "长度与文档编号须属于同样的样本：得到 {lengths} 个长度、{documents} 行编号。",
    ),
    # The mask
    "mask_lab.sample_name": ("Sample {index}", "样本 {index}"),
    "mask_lab.sample": ("Sample", "样本"),
    "mask_lab.sample_help": ("Which sample of the batch is shown and painted.", "显示并涂改批次中的哪个样本。"),
    "mask_lab.chart_alt": (
        "Mask of sample {sample}: {count} of {total} cells allowed; rows are queries, columns are keys",
        "样本 {sample} 的掩码：{total} 格中允许 {count} 格；行为查询，列为键",
    ),
    "mask_lab.undo": ("Undo", "撤销"),
    "mask_lab.undo_help": ("Takes back the last step of painting.", "撤销上一步涂改。"),
    "mask_lab.clear": ("Clear paint", "清除涂改"),
    "mask_lab.clear_help": ("Takes all paint off; undo brings it back.", "清除全部涂改；可以撤销。"),
    "mask_lab.by_number": ("Flip by number", "按编号翻转"),
    "mask_lab.by_number_help": ("For the keyboard, and for small cells.", "便于键盘操作，也适合很小的单元格。"),
    "mask_lab.query": ("Query", "查询"),
    "mask_lab.key": ("Key", "键"),
    "mask_lab.flip": ("Flip this cell", "翻转此格"),
    "mask_lab.paint_hint": (
        "Click a cell to flip it, on top of the parts.",
        "点击单元格即可翻转，优先于各组成部分。",
    ),
    "mask_lab.painted_count": ("Cells painted: {count}", "已涂改 {count} 格"),
    "mask_lab.painted_outside": (
        "Painted cells outside these sizes or samples, kept but not counted: {count}",
        "超出当前尺寸或样本的涂改 {count} 格，已保留但不计入",
    ),
    "mask_lab.shown": ("Shown as", "显示为"),
    "mask_lab.shown_help": ("The same mask in another form.", "同一掩码的另一种形式。"),
    "mask_lab.shown_drawing": ("Drawing", "字符画"),
    "mask_lab.shown_numbers": ("Numbers", "数字"),
    "mask_lab.shown_rows": ("Keys per query", "每个查询的键数"),
    "mask_lab.drawing_note": ("■ may attend, ⬚ blocked; one line per query", "■ 可读取，⬚ 禁止；每行一个查询"),
    "mask_lab.numbers_note": ("1 may attend, 0 blocked; one line per query", "1 可读取，0 禁止；每行一个查询"),
    "mask_lab.column_query": ("query", "查询"),
    "mask_lab.column_keys": ("keys it may read", "可读取的键数"),
    "mask_lab.column_state": ("state", "状态"),
    "mask_lab.state_empty": ("empty row", "空行"),
    "mask_lab.state_padding": ("padding", "填充"),
    "mask_lab.state_empty_padding": ("padding, empty row", "填充，空行"),
    "mask_lab.state_plain": ("–", "–"),
    # Verdicts
    "mask_lab.count": ("{count} of {total} cells allowed ({share:.0%})", "{total} 格中允许 {count} 格（{share:.0%}）"),
    "mask_lab.per_query": ("{low} to {high} keys per query", "每个查询 {low} 到 {high} 个键"),
    "mask_lab.no_empty": ("no empty row", "没有空行"),
    "mask_lab.empty": ("empty rows: {rows}", "空行：{rows}"),
    "mask_lab.empty_padding": ("empty rows of padding: {rows}", "属于填充的空行：{rows}"),
    "mask_lab.warn_empty": (
        "Every query needs a key: {rows} may read none. A plain softmax gives NaN there (so does nn.MultiheadAttention "
        "when it returns weights), and a mask of finite numbers gives a uniform row. Let each query see itself, or set its output to 0.",
        "每个查询至少需要一个键：{rows} 一个也读不到。普通 softmax 会得到 NaN（返回权重时的 nn.MultiheadAttention 也是），"
        "用有限负数做掩码则得到均匀的一行。请让每个查询至少看到自己，或把它的输出置 0。",
    ),
    "mask_lab.info_empty_padding": (
        "Empty rows that are padding: {rows}. Nobody should read them, but NaN in them can spread through later layers: "
        "leave their output out.",
        "属于填充的空行：{rows}。没有人应当读取它们，但其中的 NaN 会在后续层中扩散：请舍弃它们的输出。",
    ),
    "mask_lab.warn_opened": (
        "Painting opens what a part blocks: {cells}. Flip them back if that was not meant.",
        "涂改放开了组成部分所禁止的单元格：{cells}。如非本意，请再翻转回来。",
    ),
    "mask_lab.warn_top_left": (
        "Queries stand at the first keys: got {q_len} queries for {k_len} keys. With a KV cache the last query should "
        "stand at the last key: choose “the last keys”.",
        "查询位于最前的键：{q_len} 个查询对 {k_len} 个键。使用 KV 缓存时，最后一个查询应对应最后一个键：请选择“最后的键”。",
    ),
    "mask_lab.info_unread": (
        "Keys that no query may read: {keys}. Their content is lost in this layer.",
        "没有查询能读取的键：{keys}。它们的内容在这一层丢失。",
    ),
    "mask_lab.info_homeless": (
        "Queries that stand at no key: {rows} (offset {offset}).",
        "不在任何键位置上的查询：{rows}（偏移 {offset}）。",
    ),
    "mask_lab.row": ("query {index}", "查询 {index}"),
    "mask_lab.opened_cell": ("query {query} → key {key} ({parts})", "查询 {query} → 键 {key}（{parts}）"),
    "mask_lab.join": (", ", "、"),
    "mask_lab.and_more": ("{items} and {count} more", "{items} 等，另有 {count} 个"),
    # Code
    "mask_lab.code": ("The same mask as code", "同一掩码的代码"),
    "mask_lab.convention": ("Convention", "约定"),
    "mask_lab.convention_help": (
        "Each library means something else by True. All samples are in the code; it needs torch alone.",
        "各个库对 True 的含义不同。代码包含所有样本，只需要 torch。",
    ),
    "convention.sdpa": ("SDPA", "SDPA"),
    "convention.multihead": ("nn.MultiheadAttention", "nn.MultiheadAttention"),
    "convention.attention_mask": ("transformers 2-D", "transformers 2-D"),
    "convention.additive": ("transformers 4-D", "transformers 4-D"),
    "convention.mask_mod": ("flex_attention", "flex_attention"),
    "mask_lab.about_sdpa": ("True = may attend.", "True = 可读取。"),
    "mask_lab.about_multihead": (
        "The opposite of SDPA: True = blocked, in both masks. Padding goes into key_padding_mask where it can stand apart.",
        "与 SDPA 相反：两个掩码中 True 都表示禁止。能单独表示的填充放进 key_padding_mask。",
    ),
    "mask_lab.about_attention_mask": (
        "1 = real token, one row per sample: says only which keys exist.",
        "1 = 真实词元，每个样本一行：只能说明哪些键存在。",
    ),
    "mask_lab.about_additive": (
        "0 = may attend, the lowest number of the dtype = blocked. Add two of these and they overflow: combine with & first.",
        "0 = 可读取，该数据类型的最小值 = 禁止。两个这样的掩码相加会溢出：请先用 & 合并。",
    ),
    "mask_lab.about_mask_mod": (
        "A function of positions, True = may attend; tensors that it reads must lie on the device of the queries.",
        "以位置为参数的函数，True = 可读取；它用到的张量须与查询在同一设备上。",
    ),
    "mask_lab.cannot_differs": (
        "This convention cannot say this mask: it holds one row per sample, and here queries differ in what they may read. "
        "Use the 4-D form.",
        "这种约定无法表达此掩码：它每个样本只有一行，而这里各查询可读的键不同。请使用 4-D 形式。",
    ),
    "mask_lab.cannot_causal": (
        "This convention cannot say this mask: it holds one row per sample, and the causal part differs between queries. "
        "A decoder model adds causality by itself: for one, switch the causal part off here and pass the rest. "
        "For any other model use the 4-D form.",
        "这种约定无法表达此掩码：它每个样本只有一行，而因果部分因查询而异。"
        "解码器模型会自行加上因果：这时请在此关闭因果部分，只传其余部分。其他模型请使用 4-D 形式。",
    ),
    # Coverage
    "mask_lab.coverage": ("Reach through layers", "多层的触达范围"),
    "mask_lab.layers": ("Layers", "层数"),
    "mask_lab.layers_help": (
        "How many layers with this mask lie on top of each other.",
        "叠放多少层使用此掩码的层。",
    ),
    "mask_lab.coverage_text": (
        "Layers stacked: {layers}. The content of a key has reached a query in {reached} of {pairs} pairs ({share:.0%}). "
        "This mask can reach {most} at most; nothing new is reached after layer {depth}.",
        "叠放 {layers} 层：{pairs} 对中有 {reached} 对的键内容到达了查询（{share:.0%}）。"
        "此掩码最多到达 {most} 对；第 {depth} 层之后不再有新的到达。",
    ),
    "mask_lab.coverage_note": (
        "A position keeps its own content (the residual stream); padding counts like any position.",
        "每个位置保留自己的内容（残差流）；填充与其他位置同样计入。",
    ),
    "mask_lab.coverage_not": (
        "Layers can only be stacked where queries and keys are the same positions: as many queries as keys, offset 0.",
        "只有查询与键是同样的位置时才能叠放多层：查询数等于键数，且偏移为 0。",
    ),
    "mask_lab.coverage_alt": (
        "Layers needed until each key reaches each query, up to {layers}",
        "每个键到达每个查询所需的层数，至多 {layers} 层",
    ),
    "mask_lab.column_layers": ("layers", "层数"),
    "mask_lab.column_reached": ("pairs reached", "到达的对数"),
    "mask_lab.column_share": ("share", "占比"),
    # Words on the pictures
    "mask_word.rows": ("rows: queries", "行：查询"),
    "mask_word.columns": ("columns: keys", "列：键"),
    "mask_word.query": ("query", "查询"),
    "mask_word.key": ("key", "键"),
    "mask_word.allowed": ("may attend", "可读取"),
    "mask_word.blocked": ("blocked", "禁止"),
    "mask_word.painted": ("flipped by hand", "手动翻转"),
    "mask_word.padding": ("padding", "填充"),
    "mask_word.blocked_by": ("blocked by: {parts}", "被禁止：{parts}"),
    "mask_word.flip": ("click to flip", "点击翻转"),
    "mask_word.reached": ("layers needed: {layers}", "所需层数：{layers}"),
    "mask_word.itself": ("itself", "自身"),
    "mask_word.later": ("not yet reached", "尚未到达"),
    "mask_word.never": ("never reached", "永不到达"),
    "mask_word.layers": ("layers needed", "所需层数"),
    "mask_word.thinned": ("one label in {step} shown", "每 {step} 个标签显示一个"),
}
