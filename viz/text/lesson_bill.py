"""Texts of lesson 12, the bill."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.bill.turn": ("Measurement", "测量"),
    "lesson.bill.turn.help": (
        "Another number measures anew on this machine; it takes about a second.",
        "换一个数字就在这台机器上重新测量，大约一秒。",
    ),
    "lesson.bill.step": ("Tile", "分块"),
    "lesson.bill.step.help": (
        "Tiles of keys read so far. Keys n and p go on and back.",
        "已读入的键块数。按 n 前进，按 p 后退。",
    ),
    "lesson.bill.step.1": ("tile 1", "第 1 块"),
    "lesson.bill.step.2": ("tile 2", "第 2 块"),
    "lesson.bill.step.3": ("tile 3", "第 3 块"),
    "lesson.bill.step.4": ("tile 4", "第 4 块"),
    "lesson.bill.step.5": ("tile 5", "第 5 块"),
    "lesson.bill.step.6": ("tile 6", "第 6 块"),
    "lesson.bill.text": ("Your sentence, up to 12 tokens", "你的句子，最多 12 个词元"),
    "lesson.bill.text.help": ("Any text in any language.", "任何语言的任何文本。"),
    "lesson.bill.text.default": (
        "The cat sat on the mat and looked at the moon.",
        "小猫坐在垫子上看着月亮。",
    ),
    "lesson.bill.tile": ("Keys per tile", "每块的键数"),
    "lesson.bill.tile.help": ("How many scores of a row are held at a time.", "每行同时保存多少个分数。"),
    "lesson.bill.pattern": ("Pattern", "模式"),
    "lesson.bill.pattern.help": ("Which keys a query reads.", "一个查询读哪些键。"),
    "lesson.bill.pattern.full": ("full", "完整"),
    "lesson.bill.pattern.window": ("window", "窗口"),
    "lesson.bill.pattern.dilated": ("dilated", "空洞"),
    "lesson.bill.pattern.strided": ("strided", "跨步"),
    "lesson.bill.pattern.global_local": ("global + local", "全局 + 局部"),
    "lesson.bill.pattern.block_sparse": ("block-sparse", "块稀疏"),
    "lesson.bill.pattern.linear": ("linear", "线性"),
    "lesson.bill.content": ("What matters is", "重要的内容"),
    "lesson.bill.content.help": (
        "Near: each query resembles the keys around it. Anywhere: no place is more likely than another.",
        "附近：每个查询与周围的键相似。任意：没有哪个位置更可能。",
    ),
    "lesson.bill.content.near": ("near", "在附近"),
    "lesson.bill.content.anywhere": ("anywhere", "在任意处"),
    "lesson.bill.way_full": ("full", "完整"),
    "lesson.bill.way_tiled": ("tiled", "分块"),
    "lesson.bill.way_linear": ("linear", "线性"),
    "lesson.bill.length": ("n, tokens", "n，词元数"),
    "lesson.bill.time": ("milliseconds", "毫秒"),
    "lesson.bill.memory": ("largest tensor (kB)", "最大张量（kB）"),
    "lesson.bill.time_alt": ("Time against n for three ways of attention.", "三种注意力的用时随 n 的变化。"),
    "lesson.bill.memory_alt": (
        "Size of the largest tensor against n for three ways of attention.",
        "三种注意力中最大张量的大小随 n 的变化。",
    ),
    "lesson.bill.measured_note": (
        "One head, d_k 32, float32, one thread, best of three, measured when you opened this. Tiles hold {tile} keys and run "
        "as separate steps here, so they save memory, not time; kernels that keep a tile close to the processor save both.",
        "一个头，d_k 为 32，float32，单线程，三次取最快，在你打开时测得。每块 {tile} 个键，这里逐块执行，"
        "所以省的是内存而不是时间；把一块数据留在处理器近旁的内核两样都省。",
    ),
    "lesson.bill.rows": ("rows: queries", "行：查询"),
    "lesson.bill.columns": ("columns: keys", "列：键"),
    "lesson.bill.logits": ("Scaled scores of the tiles read", "已读各块的缩放分数"),
    "lesson.bill.tiles_alt": (
        "Scores of the tiles so far; the tile in hand is outlined.",
        "到目前为止各块的分数；当前块有边框。",
    ),
    "lesson.bill.query": ("query", "查询"),
    "lesson.bill.largest": ("largest so far", "目前最大值"),
    "lesson.bill.factor": ("old parts times", "旧结果乘以"),
    "lesson.bill.sum": ("sum of exp", "exp 之和"),
    "lesson.bill.tile_done": (
        "Tile {step} of {count}. The output so far is {apart} away from full attention at most. Scores held: {held} of {full}.",
        "第 {step} 块，共 {count} 块。到目前为止的输出与完整注意力最多相差 {apart}。同时保存的分数：{held} / {full}。",
    ),
    "lesson.bill.no_token": (
        "The sentence needs at least one token: type a word.",
        "句子至少要有一个词元：请输入一个词。",
    ),
    "lesson.bill.pattern_alt": (
        "Weights under the pattern; what is not read is hatched.",
        "该模式下的权重；不读的有阴影。",
    ),
    "lesson.bill.column_pattern": ("pattern", "模式"),
    "lesson.bill.column_pairs": ("pairs read", "读取的对数"),
    "lesson.bill.column_cost": ("multiplications", "乘法次数"),
    "lesson.bill.column_error": ("error", "误差"),
    "lesson.bill.pattern_note": (
        "{length} tokens, one head, d_k 32. Error: norm of the difference from full attention's output, over the norm of that "
        "output. Linear attention lays out no pairs; its weights are shown for comparison.",
        "{length} 个词元，一个头，d_k 为 32。误差：与完整注意力输出之差的范数，除以后者的范数。"
        "线性注意力不展开任何一对；图中的权重只供比较。",
    ),
    "lesson.bill.doubled.ask": (
        "The text becomes twice as long. How many scores are there?",
        "文本变成两倍长。分数有多少个？",
    ),
    "lesson.bill.doubled.same": ("As many as before", "一样多"),
    "lesson.bill.doubled.twice": ("Twice as many", "2 倍"),
    "lesson.bill.doubled.four": ("Four times as many", "4 倍"),
    "lesson.bill.doubled.same.why": (
        "Every query meets every key: {before} scores become {after}.",
        "每个查询面对每个键：{before} 个分数变成 {after} 个。",
    ),
    "lesson.bill.doubled.twice.why": (
        "Twice the rows, and each row twice as long: {before} become {after}.",
        "行数翻倍，每行也翻倍：{before} 变成 {after}。",
    ),
    "lesson.bill.doubled.four.why": (
        "Twice the queries, each with twice the keys: {before} become {after}.",
        "查询翻倍，每个查询的键也翻倍：{before} 变成 {after}。",
    ),
    "lesson.bill.exact.ask": (
        "Keys are read tile by tile, and earlier scores are thrown away. How good can the result be?",
        "键一块一块地读，之前的分数都扔掉。结果能有多准？",
    ),
    "lesson.bill.exact.estimate": ("An estimate, better with larger tiles", "只是近似，块越大越准"),
    "lesson.bill.exact.equal": ("Equal, up to rounding", "相等，只差舍入"),
    "lesson.bill.exact.estimate.why": (
        "A running maximum and a running sum are enough to mend what was added before. Measured difference: {apart}.",
        "只要保存当前最大值和当前的和，就能修正之前累加的结果。实测差别：{apart}。",
    ),
    "lesson.bill.exact.equal.why": (
        "When a larger score comes, all that was added so far is multiplied by one factor. Measured difference: {apart}.",
        "遇到更大的分数时，之前累加的一切只需乘以一个系数。实测差别：{apart}。",
    ),
    "lesson.bill.fits.ask": (
        "A window reads 7 neighbouring keys, a dilated pattern 7 keys at a distance of 2 each. What matters is near. "
        "Which is closer to full attention?",
        "窗口读 7 个相邻的键，空洞模式读间隔为 2 的 7 个键。重要的内容在附近。哪个更接近完整注意力？",
    ),
    "lesson.bill.fits.window": ("The window", "窗口"),
    "lesson.bill.fits.dilated": ("The dilated pattern", "空洞模式"),
    "lesson.bill.fits.window.why": (
        "Its error is {window}, that of the dilated pattern {dilated}. Where anything may matter, the window's is {anywhere}.",
        "它的误差是 {window}，空洞模式是 {dilated}。如果任何位置都可能重要，窗口的误差是 {anywhere}。",
    ),
    "lesson.bill.fits.dilated.why": (
        "It reaches further and skips every other neighbour: error {dilated}, the window's is {window}.",
        "它看得更远，却跳过一半的邻居：误差 {dilated}，窗口是 {window}。",
    ),
    "lesson.bill.go": ("Open in Explore", "在探索页打开"),
    "lesson.bill.go.why": (
        "Four heads under a window with one global key. Choose other masks and watch what is lost.",
        "四个头，窗口加一个全局键。换别的掩码，看看丢了什么。",
    ),
}
