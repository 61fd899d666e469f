"""Texts of lesson 8, order."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.order.text": ("Your words, up to 8", "你的词，最多 8 个"),
    "lesson.order.text.help": ("The first 8 tokens are used.", "只用前 8 个词元。"),
    "lesson.order.text.default": ("dog bites man", "我打你"),
    "lesson.order.encoding": ("Positions", "位置编码"),
    "lesson.order.encoding.help": (
        "How the model learns where a token stands; none leaves it out.",
        "模型怎样得知词元的位置；选“无”则不告诉它。",
    ),
    "lesson.order.encoding.none": ("none", "无"),
    "lesson.order.encoding.sinusoidal": ("sinusoidal", "正弦"),
    "lesson.order.encoding.learned": ("learned", "可学习"),
    "lesson.order.encoding.rotary": ("rotary", "旋转"),
    "lesson.order.encoding.alibi": ("ALiBi", "ALiBi"),
    "lesson.order.turn": ("Other order", "另一种顺序"),
    "lesson.order.turn.help": (
        "How the words are reordered for the map on the right.",
        "右图的词按什么顺序重排。",
    ),
    "lesson.order.turn.reverse": ("backwards", "倒序"),
    "lesson.order.turn.rotate": ("first word last", "首词移到末尾"),
    "lesson.order.causal": ("Causal mask", "因果掩码"),
    "lesson.order.causal.help": ("No word sees a later one.", "任何词都看不到后面的词。"),
    "lesson.order.scheme": ("Encoding", "编码"),
    "lesson.order.scheme.help": ("What the encoding gives the model, as a picture.", "这种编码给了模型什么，画成图。"),
    "lesson.order.scheme.sinusoidal": ("sinusoidal", "正弦"),
    "lesson.order.scheme.learned": ("learned", "可学习"),
    "lesson.order.scheme.rotary": ("rotary", "旋转"),
    "lesson.order.scheme.alibi": ("ALiBi", "ALiBi"),
    "lesson.order.no_token": (
        "The text needs at least one token: type a word.",
        "文本至少要有一个词元：请输入一个词。",
    ),
    "lesson.order.rows": ("rows: queries", "行：查询"),
    "lesson.order.columns": ("columns: keys", "列：键"),
    "lesson.order.as_typed": ("Weights, as typed", "权重，原来的顺序"),
    "lesson.order.reordered": ("Weights, reordered", "权重，重排之后"),
    "lesson.order.map_alt": ("{name}, as a heatmap.", "{name}，热图。"),
    "lesson.order.equal": (
        "Word by word, the outputs are equal: they differ by {size} at most (limit {limit}). The order is not seen.",
        "逐词比较，输出相等：最多相差 {size}（界限 {limit}）。模型看不到顺序。",
    ),
    "lesson.order.differs": (
        "Word by word, the outputs differ by up to {size} (limit {limit}). The order is seen.",
        "逐词比较，输出最多相差 {size}（界限 {limit}）。模型看到了顺序。",
    ),
    "lesson.order.place": ("position", "位置"),
    "lesson.order.feature": ("feature", "特征"),
    "lesson.order.query_place": ("position of the query", "查询的位置"),
    "lesson.order.key_place": ("position of the key", "键的位置"),
    "lesson.order.picture_sinusoidal": ("Added to the embeddings", "加到嵌入上"),
    "lesson.order.picture_learned": ("Added to the embeddings, before training", "加到嵌入上，训练之前"),
    "lesson.order.picture_rotary": (
        "Score of one query and one key, turned by their positions",
        "同一对查询和键按位置旋转后的分数",
    ),
    "lesson.order.picture_alibi": ("Added to the scores", "加到分数上"),
    "lesson.order.picture_alt": ("The encoding as a heatmap.", "该编码的热图。"),
    "lesson.order.about_sinusoidal": (
        "Each position is a row of sines and cosines, fast on the left and slow on the right, like the hands of many "
        "clocks. It is added once, before the first layer.",
        "每个位置是一行正弦和余弦，左快右慢，像许多走速不同的钟。只在第一层之前加一次。",
    ),
    "lesson.order.about_learned": (
        "One free vector per position, drawn at random and trained like any weight. Beyond the last row there is nothing: "
        "a longer text cannot be read.",
        "每个位置一个自由向量，随机初始化，像其他参数一样训练。最后一行之后就没有了：更长的文本无法读取。",
    ),
    "lesson.order.about_rotary": (
        "Queries and keys are turned by an angle for each position. Only the difference of the two positions is left in "
        "the score: the stripes run along the diagonal.",
        "查询和键按各自的位置旋转一个角度。分数里只剩两个位置之差：条纹沿着对角线方向。",
    ),
    "lesson.order.about_alibi": (
        "Nothing is added to the tokens; each score loses a slope times the distance. Far keys count less, and nothing "
        "needs to be learned. It knows how far, not on which side: the direction comes from the causal mask.",
        "不改动词元；每个分数减去斜率乘距离。越远的键越轻，也不需要学习。它知道多远，不知道在哪一侧：方向由因果掩码给出。",
    ),
    "lesson.order.bare.ask": (
        "No positions, no mask. The words “{first} … {last}” are written backwards. The output of each word, compared with "
        "before, is",
        "没有位置编码，没有掩码。把“{first}…{last}”倒着写。每个词的输出与之前相比",
    ),
    "lesson.order.bare.equal": ("the same", "相同"),
    "lesson.order.bare.differs": ("different", "不同"),
    "lesson.order.bare.equal.why": (
        "Each word sees the same keys and values in another order, and a sum knows no order. Difference: {size}.",
        "每个词看到的键和值一样，只是顺序不同，而求和不分先后。差别：{size}。",
    ),
    "lesson.order.bare.differs.why": (
        "Which part of the formula would notice? Measured difference: {size}.",
        "公式的哪一部分会察觉呢？实测差别：{size}。",
    ),
    "lesson.order.mirror.ask": (
        "ALiBi takes a slope times the distance off each score. Without a mask, does it tell “{first} … {last}” from the "
        "same words backwards?",
        "ALiBi 从每个分数减去斜率乘距离。没有掩码时，它能区分“{first}…{last}”和倒着写的同样几个词吗？",
    ),
    "lesson.order.mirror.equal": ("No: each word gets the same output", "不能：每个词的输出相同"),
    "lesson.order.mirror.differs": ("Yes: the outputs differ", "能：输出不同"),
    "lesson.order.mirror.equal.why": (
        "Backwards, all distances stay as they are; only the sides change, and a distance has no side. Difference: {size}. "
        "With another order, or with the causal mask it was made for, the tie breaks.",
        "倒过来后所有距离都不变，只是左右互换，而距离不分左右。差别：{size}。换一种顺序，或加上它本来配套的因果掩码，就能区分。",
    ),
    "lesson.order.mirror.differs.why": (
        "It sees distances, but a mirror image has the same distances. Difference: {size}.",
        "它看到的是距离，而镜像的距离完全一样。差别：{size}。",
    ),
    "lesson.order.future.ask": (
        "No positions, but a causal mask. Is the order of “{first} … {last}” seen now?",
        "没有位置编码，但有因果掩码。现在能看到“{first}…{last}”的顺序吗？",
    ),
    "lesson.order.future.equal": ("No", "不能"),
    "lesson.order.future.differs": ("Yes", "能"),
    "lesson.order.future.equal.why": (
        "The mask itself depends on order: the first word sees one key, the last all of them. Difference: {size}.",
        "掩码本身就依赖顺序：第一个词只看到一个键，最后一个词看到全部。差别：{size}。",
    ),
    "lesson.order.future.differs.why": (
        "The first word sees one key, the last all of them, so who comes first matters: {size}. Some decoders get by "
        "without any positions.",
        "第一个词只看到一个键，最后一个词看到全部，所以谁先谁后有影响：{size}。有些解码器不用位置编码也行。",
    ),
    "lesson.order.shift.ask": (
        "A text moves 7 places to the right, words and order unchanged. With which encoding do all scores stay as they "
        "were?",
        "一段文本整体右移 7 个位置，词和顺序都不变。用哪种编码时，所有分数都不变？",
    ),
    "lesson.order.shift.rotary": ("Rotary", "旋转"),
    "lesson.order.shift.sinusoidal": ("Sinusoidal", "正弦"),
    "lesson.order.shift.both": ("Both", "两者都是"),
    "lesson.order.shift.rotary.why": (
        "Rotary scores depend on the difference of positions alone: they moved by {rotary_size}, the sinusoidal ones by "
        "{added}.",
        "旋转编码的分数只取决于位置之差：变化 {rotary_size}，正弦编码变化 {added}。",
    ),
    "lesson.order.shift.sinusoidal.why": (
        "Added to the embeddings, positions mix with the words in the product: those scores moved by {added}, the rotary "
        "ones by {rotary_size}.",
        "位置加到嵌入上，会在乘积中与词混在一起：这些分数变化 {added}，旋转编码只变 {rotary_size}。",
    ),
    "lesson.order.shift.both.why": (
        "Rotary scores moved by {rotary_size}, sinusoidal ones by {added}.",
        "旋转编码的分数变化 {rotary_size}，正弦编码变化 {added}。",
    ),
    "lesson.order.go": ("Open in Explore", "在探索页打开"),
    "lesson.order.go.why": (
        "The same words with sinusoidal positions: change the encoding under More and type them in another order.",
        "同样的词，正弦位置编码：在“更多”里换编码，再把词按别的顺序输入。",
    ),
}
