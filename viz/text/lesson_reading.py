"""Texts of lesson 13, reading a real model."""

_ANIMAL = "The animal did not cross the street because it was too tired."
_WIDE = "The animal did not cross the street because it was too wide."

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.reading.text": ("Sentence", "句子（英文，因为模型是英文的）"),
    "lesson.reading.text.help": (
        "Any text; the tokens below are the model's.",
        "任何文本；下面的词元由模型的分词器切分。",
    ),
    "lesson.reading.text.default": (_ANIMAL, _ANIMAL),
    "lesson.reading.wide": (_WIDE, _WIDE),
    "lesson.reading.asks": ("Who looks", "谁在看"),
    "lesson.reading.asks.help": ("The query whose weights are read.", "读取哪个查询的权重。"),
    "lesson.reading.one": ("at this", "看这个"),
    "lesson.reading.one.help": ("A key.", "一个键。"),
    "lesson.reading.other": ("or at that", "还是看那个"),
    "lesson.reading.other.help": ("The key that it is compared with.", "与之比较的键。"),
    "lesson.reading.word": ("Word with two meanings", "多义词"),
    "lesson.reading.word.help": ("The same word in three sentences.", "同一个词在三个句子中。"),
    "lesson.reading.word.bank": ("bank", "bank（河岸 / 银行）"),
    "lesson.reading.word.bat": ("bat", "bat（球棒 / 蝙蝠）"),
    "lesson.reading.sentence": ("Sentence", "句子（英文）"),
    "lesson.reading.sentence.help": ("Any text.", "任何文本。"),
    "lesson.reading.sentence.default": (_ANIMAL, _ANIMAL),
    "lesson.reading.no_model": (
        "This part needs the model {model}, which is not on this machine: run `make model`, or read on without it.",
        "这一部分需要模型 {model}，但这台机器上没有：请运行 `make model`，或跳过继续阅读。",
    ),
    "lesson.reading.layer": ("layer", "层"),
    "lesson.reading.head": ("head", "头"),
    "lesson.reading.lead": ("Weight to “{one}” minus weight to “{other}”", "对“{one}”的权重减去对“{other}”的权重"),
    "lesson.reading.pronoun_alt": (
        "Difference of two weights in every head of every layer; the largest is outlined.",
        "每层每个头中两个权重之差；最大的有边框。",
    ),
    "lesson.reading.pronoun_said": (
        "Mean over all heads: “{asks}” gives {first} to “{one}” and {second} to “{other}”. They differ most in layer "
        "{layer}, head {head}: {to_one} against {to_other}.",
        "所有头的平均：“{asks}”给“{one}” {first}，给“{other}” {second}。相差最大的是第 {layer} 层第 {head} 头："
        "{to_one} 对 {to_other}。",
    ),
    "lesson.reading.same": ("same meaning", "同一含义"),
    "lesson.reading.differs": ("other meaning", "另一含义"),
    "lesson.reading.cosine": ("cosine of the keys", "键的余弦"),
    "lesson.reading.senses_alt": (
        "Likeness of the keys of “{word}” in two sentences against the layer: same meaning, and other meaning.",
        "“{word}”在两个句子中的键的相似度随层数的变化：同一含义与另一含义。",
    ),
    "lesson.reading.column_sentence": ("sentence", "句子"),
    "lesson.reading.column_cosine": ("cosine to the first, last layer", "与第一句的余弦，最后一层"),
    "lesson.reading.weight": ("by weight", "按权重"),
    "lesson.reading.norm": ("by weight × length of the value", "按权重 × 值的长度"),
    "lesson.reading.share": ("share of the separators", "分隔符所占份额"),
    "lesson.reading.shares_alt": (
        "Share of the separators in what a token reads, by weight and by weight times value, against the layer.",
        "分隔符在读取内容中所占的份额随层数的变化：按权重，以及按权重乘以值的长度。",
    ),
    "lesson.reading.shares_note": (
        "Separators: {names}. Mean over all heads and queries.",
        "分隔符：{names}。对所有头和查询取平均。",
    ),
    "lesson.reading.turn.ask": (
        "“tired” is replaced by “wide”. A reader now takes “it” for the street. And the head that differed most?",
        "把 “tired”（累）换成 “wide”（宽）。读者会认为 “it” 指街道。那么相差最大的那个头呢？",
    ),
    "lesson.reading.turn.turns": ("It turns to the street", "转向 street"),
    "lesson.reading.turn.stays": ("It stays with the animal", "仍然看 animal"),
    "lesson.reading.turn.turns.why": (
        "So one would wish. Measured, its lead for the animal goes from {before} to {after}: less, but no turn.",
        "希望如此。实测它对 animal 的领先从 {before} 变到 {after}：变小了，但没有转向。",
    ),
    "lesson.reading.turn.stays.why": (
        "Its lead for the animal goes from {before} to {after}. It links the pronoun to a likely noun; whether it has "
        "understood the sentence, this does not show.",
        "它对 animal 的领先从 {before} 变到 {after}。它把代词与一个可能的名词联系起来；是否理解了句子，这里看不出来。",
    ),
    "lesson.reading.first.ask": (
        "“bank” at a river and “bank” with money, at the same place in two sentences. How do its keys compare in the "
        "first layer?",
        "河岸的 “bank” 和银行的 “bank”，在两个句子中位置相同。在第一层，它的键相比如何？",
    ),
    "lesson.reading.first.equal": ("They are equal", "相等"),
    "lesson.reading.first.different": ("They differ already", "已经不同"),
    "lesson.reading.first.equal.why": (
        "The first layer sees the word and its place, nothing of its neighbours: cosine {first}. In the last: {last}.",
        "第一层只看到词和位置，看不到邻居：余弦 {first}。最后一层：{last}。",
    ),
    "lesson.reading.first.different.why": (
        "Neighbours come in through attention, and the first layer has not attended yet: {first}. In the last: {last}.",
        "邻居要经过注意力才能进来，而第一层还没有做过注意力：{first}。最后一层：{last}。",
    ),
    "lesson.reading.fetch.ask": (
        "The separators get a large share of the weight. How large is their share once each weight is multiplied by the "
        "length of the value that it fetches?",
        "分隔符得到很大份额的权重。把每个权重乘以它取回的值的长度之后，份额还有多大？",
    ),
    "lesson.reading.fetch.as_much": ("About as large", "差不多"),
    "lesson.reading.fetch.less": ("Much smaller", "小得多"),
    "lesson.reading.fetch.more": ("Much larger", "大得多"),
    "lesson.reading.fetch.as_much.why": (
        "That holds only if all values are equally long. Measured: {weight} by weight, {norm} with the values.",
        "只有所有值一样长才会如此。实测：按权重 {weight}，算上值是 {norm}。",
    ),
    "lesson.reading.fetch.less.why": (
        "Their values are short: {weight} by weight, {norm} with the values. Heads look there when they have nothing to do.",
        "它们的值很短：按权重 {weight}，算上值是 {norm}。头没有事做的时候就看那里。",
    ),
    "lesson.reading.fetch.more.why": (
        "Their values are short, not long: {weight} by weight, {norm} with the values.",
        "它们的值是短的，不是长的：按权重 {weight}，算上值是 {norm}。",
    ),
    "lesson.reading.go": ("Open in Explore", "在探索页打开"),
    "lesson.reading.go.why": (
        "The last layer as lines between the words. Point at “it”, then change the sentence.",
        "最后一层，画成词与词之间的连线。指向 “it”，再改动句子。",
    ),
}
