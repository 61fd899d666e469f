"""Text to tokens: every label is the text at its span, nothing is split that a reader sees whole."""

import random
import time
import unicodedata

import pytest
import regex

from attention_core.from_scratch import TOKEN_RULES, ControlError, tokenize
from attention_core.segmentation import graphemes, words

FAMILY, ENGLAND = "👩‍👩‍👧", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"

TEXTS = [
    "The cat sat on the mat because it was tired.",
    "我打你 / 你打我",
    "Hello, naïve cafe\u0301 — 你好世界 👩‍👩‍👧! x=1\n Straße ﬁne 12,345",
    "مَرْحَبًا بالعالم",
    "שָׁלוֹם עולם!",
    "👍🏽 🇩🇪🇫🇷 1️⃣ ❤️ 🏳️‍🌈" + ENGLAND,
    "क्षि नमस्ते ภาษาไทย 한국어 \u1112\u1161\u11ab",
    "<s> [PAD] &amp; $x$ <b>bold</b>",
    "def f(x):\r\n\treturn x  # twice",
    "  \u3000 \n",
    "\ud800x",
    "",
]


def labels(text: str, rule: str) -> list[str]:
    return [token.label for token in tokenize(text, rule)]


@pytest.mark.parametrize("rule", TOKEN_RULES)
@pytest.mark.parametrize("text", TEXTS)
def test_labels_are_the_text_at_their_spans_in_order_and_lose_only_white_space(text: str, rule: str):
    end = 0
    for token in tokenize(text, rule):
        assert token.span is not None
        a, b = token.span
        assert text[a:b] == token.label == token.piece != ""
        assert text[end:a].strip() == ""  # what lies between two tokens
        assert not (token.special or token.padding or token.unknown or token.typed_special)
        end = b
    assert text[end:].strip() == ""
    if rule == "characters":
        assert "".join(labels(text, rule)) == text


def test_words():
    assert labels("It's 3.5, isn’t it?", "words") == ["It's", "3.5", ",", "isn’t", "it", "?"]
    assert labels("我打你 / 你打我", "words") == ["我", "打", "你", "/", "你", "打", "我"]
    assert labels("GPT4模型 カタカナ", "words") == ["GPT4", "模", "型", "カ", "タ", "カ", "ナ"]
    assert labels("well-known snake_case x=1...", "words") == [
        "well",
        "-",
        "known",
        "snake_case",
        "x",
        "=",
        "1",
        *"...",
    ]
    assert labels("'a' 1,b 12,345, .5", "words") == ["'", "a", "'", "1", ",", "b", "12,345", ",", ".", "5"]
    assert labels("cafe\u0301 naïve", "words") == ["cafe\u0301", "naïve"]
    assert labels("<s>[PAD]&amp;", "words") == ["<", "s", ">", "[", "PAD", "]", "&", "amp", ";"]
    assert labels(f"{FAMILY}👍🏽x", "words") == [FAMILY, "👍🏽", "x"]
    assert labels("한국어 مَرْحَبًا שָׁלוֹם", "words") == ["한국어", "مَرْحَبًا", "שָׁלוֹם"]
    assert labels("你'a'我", "words") == ["你", "'", "a", "'", "我"]


def test_spaces_and_characters():
    assert labels(" Well,  then\n<s> ", "spaces") == ["Well,", "then", "<s>"]
    assert labels("a b\n", "characters") == ["a", " ", "b", "\n"]
    assert labels("a\r\n\tb", "characters") == ["a", "\r\n", "\t", "b"]


def test_what_a_reader_sees_as_one_character_is_one_token():
    whole = [
        "e\u0301",
        FAMILY,
        "👍🏽",
        "🇩🇪",
        "🇫🇷",
        "1️⃣",
        "❤️",
        "🏳️‍🌈",
        ENGLAND,
        "\u1112\u1161\u11ab",
        "각",
        "क्षि",
        "กำ",
        "שָׁ",
    ]
    assert labels("".join(whole), "characters") == whole
    assert labels("🇩🇪🇫", "characters") == ["🇩🇪", "🇫"]
    assert labels("a\u200db", "characters") == ["a\u200d", "b"]  # a joiner joins pictures only


def test_clusters_are_those_of_an_independent_implementation():
    texts = [*TEXTS[:-2], "".join(TEXTS), "ক্ষ ತ್ರ తెలుగు മലയാളം தமிழ்", "\u200b\u0301", "a\u00adb", "©\u200d©", "ｶﾞ"]
    pool = sorted({c for text in texts for c in text if unicodedata.category(c) != "Cs"} - set("ـ्্్್്ّ"))
    draw = random.Random(0)
    texts += ["".join(draw.choices(pool, k=draw.randint(1, 7))) for _ in range(3000)]
    for text in texts:
        if "\ud800" in text:
            continue
        assert [text[a:b] for a, b in graphemes(text)] == regex.findall(r"\X", text), ascii(text)


def test_sentences_are_numbered():
    def documents(text: str, rule: str = "words") -> list[int | None]:
        return [token.document for token in tokenize(text, rule)]

    assert documents("Go. Run!") == [0, 0, 1, 1]
    assert documents("你好。再见！好") == [0, 0, 0, 1, 1, 1, 2]
    assert documents('He said "no." Then left') == [0, 0, 0, 0, 0, 0, 1, 1]
    assert documents("a\n\n b\nc") == [0, 1, 2]
    assert documents("Pi is 3.14 today?! Yes") == [0, 0, 0, 0, 0, 0, 1]
    assert documents("x... y") == [0, 0, 0, 0, 1]
    assert documents("\n\nfirst. second") == [0, 0, 1]
    assert documents("a. b", "characters") == [0, 0, 0, 1]
    assert documents("a. b", "spaces") == [0, 1]


def test_an_unknown_rule_is_refused():
    with pytest.raises(ControlError, match="tokens must be one of words, characters, spaces: got 'bytes'") as caught:
        tokenize("a", "bytes")
    assert caught.value.control == "tokens"


def test_flag_letters_are_paired_in_linear_time():
    text = "\U0001f1e6" * 20_001
    start = time.process_time()
    spans = words(text)
    assert time.process_time() - start < 3  # 0.1 s in one pass; some 20 s when each letter counts those before it
    assert len(spans) == 10_001 and spans[:2] == [(0, 2), (2, 4)] and spans[-1] == (20_000, 20_001)
