"""Tokens that chart libraries and browsers spoil, used by the tests of figures and of the browser."""

NASTY: tuple[str, ...] = (
    "the", "cat", "the", "dog",
    "<s>", "</s>", "<b>bold</b>", "a<b", "<pad>", "<|im_start|>", "<unk>", "<a href=javascript:alert(1)>x</a>",
    "&lt;", "&amp;", "x<br>y", "a&b", "&#36;",
    "$x$", "$5", "$$",
    "1", "2", "10", "2020", "2020-01-01", "1e5", "0x10", "nan", "Infinity", "null",
    "", " ", "  ", "\n", "\t", "a\nb", " fox", "\u00a0", "\u200b", "\ufeff",
    "\x00", "\x1b[0m", "\x7f", "\ud800",
    "\u202eabc", "a\u2066b\u2069", "\u200f",
    "שלום", "עולם", ".", "مرحبا",
    "你好", "你·1/2", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "❤️", "e\u0301", "\u0301",
    "#000001", "#000033", "%{x}", "%{z:.2f}", "\\n", "\\", '"q"', "'", "*a*", ":red[r]", "`c`", "__init__",
    "[PAD]", "[SEP]", "##ing", "Ġfox", "▁the", "supercalifragilisticexpialidocious",
)  # fmt: skip
