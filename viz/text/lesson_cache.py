"""Texts of lesson 11, generating with a KV cache."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.cache.text": ("Your sentence, up to 10 tokens", "你的句子，最多 10 个词元"),
    "lesson.cache.text.help": ("Taken in token by token.", "逐个词元读入。"),
    "lesson.cache.text.default": ("The cat sat on the mat.", "小猫趴在垫子上。"),
    "lesson.cache.token": ("Token that arrives", "新到的词元"),
    "lesson.cache.token.help": ("Everything before it has been there.", "它之前的都已经在了。"),
    "lesson.cache.cached": ("with a cache", "使用缓存"),
    "lesson.cache.cached.help": (
        "Keys and values of earlier tokens are kept, not computed again.",
        "保留之前词元的键和值，不再重算。",
    ),
    "lesson.cache.d_model": ("d_model", "d_model"),
    "lesson.cache.d_model.help": ("Width of the layer that generates.", "用于生成的那一层的宽度。"),
    "lesson.cache.log": ("Logarithmic axes", "对数坐标"),
    "lesson.cache.log.help": ("A power becomes a straight line.", "幂函数变成直线。"),
    "lesson.cache.rows": ("rows: queries", "行：查询"),
    "lesson.cache.columns": ("columns: keys", "列：键"),
    "lesson.cache.weights": ("Weights, head 0", "权重，头 0"),
    "lesson.cache.rows_alt": (
        "Weights of the tokens so far; the cells that this step computes are outlined.",
        "到目前为止各词元的权重；这一步要算的单元格有边框。",
    ),
    "lesson.cache.step_cached": (
        "“{token}” arrives: one query meets {kept} keys, of which all but its own come from the cache. "
        "Cells computed: {cells}.",
        "“{token}”到来：一个查询面对 {kept} 个键，除它自己的以外都来自缓存。计算的单元格：{cells}。",
    ),
    "lesson.cache.step_uncached": (
        "“{token}” arrives: all {kept} tokens are computed again, with their queries, keys and values. "
        "Cells computed: {cells}.",
        "“{token}”到来：全部 {kept} 个词元的查询、键、值都重算一遍。计算的单元格：{cells}。",
    ),
    "lesson.cache.apart": (
        "Output of this token with a cache, beside that of one pass over the whole text: {apart} apart at most.",
        "这个词元的输出：使用缓存与整段一次算完相比，最多相差 {apart}。",
    ),
    "lesson.cache.no_token": (
        "The sentence needs at least one token: type a word.",
        "句子至少要有一个词元：请输入一个词。",
    ),
    "lesson.cache.uncached": ("without, counted", "无缓存，实数"),
    "lesson.cache.cached_formula": ("with, formula", "有缓存，公式"),
    "lesson.cache.uncached_formula": ("without, formula", "无缓存，公式"),
    "lesson.cache.tokens": ("tokens", "词元数"),
    "lesson.cache.multiplications": ("multiplications in all", "乘法总次数"),
    "lesson.cache.bill_alt": (
        "Multiplications against tokens generated, with and without a cache, counted and by formula.",
        "乘法次数随生成词元数的变化：有缓存与无缓存，实数与公式。",
    ),
    "lesson.cache.fresh.ask": (
        "A new token arrives, and keys and values of all earlier ones are kept. How many rows of weights are computed?",
        "新词元到来，之前所有词元的键和值都保留着。要计算几行权重？",
    ),
    "lesson.cache.fresh.one": ("One", "一行"),
    "lesson.cache.fresh.all": ("One per token so far", "到目前为止每个词元一行"),
    "lesson.cache.fresh.one.why": (
        "Only the new token asks: {asked} row over {kept} keys. Earlier rows cannot change, they never see it.",
        "只有新词元在问：{asked} 行，{kept} 个键。之前的行不会变，它们看不到新词元。",
    ),
    "lesson.cache.fresh.all.why": (
        "The earlier rows end before the new token, so they would come out as before. Computed: {asked} row.",
        "之前的行看不到新词元，重算也是原样。实际计算：{asked} 行。",
    ),
    "lesson.cache.keep.ask": (
        "What of the earlier tokens does the new one need?",
        "新词元需要之前词元的什么？",
    ),
    "lesson.cache.keep.all_three": ("Queries, keys and values", "查询、键和值"),
    "lesson.cache.keep.keys_values": ("Keys and values", "键和值"),
    "lesson.cache.keep.queries": ("Queries", "查询"),
    "lesson.cache.keep.all_three.why": (
        "Measured: another key moves the last output by {key}, another value by {value}, another query by {query}.",
        "实测：换一个键，最后的输出移动 {key}；换一个值，{value}；换一个查询，{query}。",
    ),
    "lesson.cache.keep.keys_values.why": (
        "An earlier query has done its work. Measured change of the last output: key {key}, value {value}, query {query}.",
        "之前的查询已经完成任务。最后输出的实测变化：键 {key}，值 {value}，查询 {query}。",
    ),
    "lesson.cache.keep.queries.why": (
        "The new token brings its own query. Another earlier query moves its output by {query}, another key by {key}.",
        "新词元自带查询。换掉之前的查询，输出移动 {query}；换掉键，移动 {key}。",
    ),
    "lesson.cache.saved.ask": (
        "One layer of width 64 generates 32 tokens. How many times the multiplications does it need without a cache?",
        "宽度为 64 的一层生成 32 个词元。不用缓存，乘法次数是用缓存的多少倍？",
    ),
    "lesson.cache.saved.twice": ("About 2 times", "约 2 倍"),
    "lesson.cache.saved.half": ("About 16 times", "约 16 倍"),
    "lesson.cache.saved.square": ("About 1000 times", "约 1000 倍"),
    "lesson.cache.saved.twice.why": (
        "Step t computes t tokens where one would do, so the mean step does 16 times the work: counted {ratio} times.",
        "第 t 步本来只需算一个词元，却算了 t 个，平均每步多做 16 倍：实数 {ratio} 倍。",
    ),
    "lesson.cache.saved.half.why": (
        "Step t computes t tokens instead of one, 16.5 on average. Counted: {uncached} against {cached}, {ratio} times.",
        "第 t 步算 t 个词元而不是一个，平均 16.5 个。实数：{uncached} 对 {cached}，{ratio} 倍。",
    ),
    "lesson.cache.saved.square.why": (
        "That would be all pairs of steps. The mean step computes 16.5 tokens instead of one: counted {ratio} times.",
        "那是所有步骤两两相乘。平均每步算 16.5 个词元而不是一个：实数 {ratio} 倍。",
    ),
    "lesson.cache.go": ("Open in the Mask lab", "在掩码实验室打开"),
    "lesson.cache.go.why": (
        "The causal mask of one query over six keys, as a library sees it during decoding. Its row is the last one.",
        "一个查询面对六个键时的因果掩码，正是库在解码时看到的样子：它是最后一行。",
    ),
}
