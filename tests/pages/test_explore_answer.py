"""What the explore page says about the answer, held against the models themselves."""

import math

import pytest
import torch
from streamlit.testing.v1 import AppTest

from attention_core.pretrained import Model, Switches
from tests.pages.test_explore import control, html, visit
from viz.services import answers as service
from viz.services.attention import ModelRequest

SMOLLM2 = "SmolLM2-135M-Instruct"
CAPITALS = "The capital of France is Paris and the capital of Japan is"


@pytest.fixture(scope="module")
def without_scaling(smollm2: Model) -> ModelRequest:
    return ModelRequest(SMOLLM2, (CAPITALS,), switches=Switches(scaling=False))


def headings(app: AppTest) -> list[str]:
    return [heading.value for heading in app.header]


def test_nothing_is_compared_where_nothing_is_switched(minilm: Model) -> None:
    app = visit(text="the cat sat")
    assert not app.exception
    assert "What changed in the answer" in headings(app)
    assert any("every switch is as in the model" in caption.value for caption in app.caption)
    assert "answer-lists" not in html(app) and "kitten" not in html(app)  # and nothing is sent for it


def test_next_tokens_before_and_after(smollm2: Model, without_scaling: ModelRequest) -> None:
    before, after = (
        torch.softmax(smollm2.head(smollm2.run(CAPITALS, switches=s).output[:, -1:])[0, 0].double(), -1)
        for s in (Switches(), Switches(scaling=False))
    )
    (found,) = service.predictions(without_scaling, 0)
    assert found.place is None
    assert [word.text for word in found.before] == [smollm2.written(int(i)) for i in before.topk(10).indices]
    assert [word.text for word in found.after] == [smollm2.written(int(i)) for i in after.topk(10).indices]
    for words, shares in ((found.before, before), (found.after, after)):
        ids = shares.topk(10).indices
        # the same logits, through log_softmax in float64 on both sides
        assert [word.before for word in words] == pytest.approx(before[ids].tolist(), abs=1e-9)
        assert [word.after for word in words] == pytest.approx(after[ids].tolist(), abs=1e-9)
    assert found.kl == pytest.approx(float((before * (before / after).log()).sum()), rel=1e-6)
    assert found.before[0].text == " Tokyo" and found.after[0].text != " Tokyo"


def test_the_page_says_what_the_model_says(without_scaling: ModelRequest) -> None:
    app = visit(source=SMOLLM2, text=CAPITALS, scaling="off")
    assert not app.exception
    (found,) = service.predictions(without_scaling, 0)
    shown = html(app)
    for word in (*found.before, *found.after):
        share = word.after if word in found.after else word.before
        assert f"{share:.1%}" in shown
    assert "·Tokyo" in shown and f"{found.after[0].points:+.1f} pp" in shown
    numbers = service.text_numbers(without_scaling, 0)
    assert numbers is not None
    assert f"{numbers.perplexity_before:.3g}" in shown
    assert any(f"= {found.kl:.3g} nats" in caption.value for caption in app.caption)
    neutral = visit(source=SMOLLM2, text=CAPITALS)
    assert "What the model answers" in headings(neutral)
    assert "·Tokyo" in html(neutral) and "With these switches" not in html(neutral)


def test_the_numbers_of_a_text(smollm2: Model, without_scaling: ModelRequest) -> None:
    numbers = service.text_numbers(without_scaling, 0)
    assert numbers is not None
    ids = smollm2.read(CAPITALS).ids
    for switches, nll, perplexity in (
        (Switches(), numbers.nll_before, numbers.perplexity_before),
        (Switches(scaling=False), numbers.nll_after, numbers.perplexity_after),
    ):
        logits = smollm2.head(smollm2.run(CAPITALS, switches=switches).output)[0, :-1]
        want = float(torch.nn.functional.cross_entropy(logits, ids[0, 1:]))
        assert nll == pytest.approx(want, rel=1e-5)  # torch's is float32
        assert perplexity == pytest.approx(math.exp(want), rel=1e-4)
    assert numbers.predicted == ids.shape[1] - 1
    assert math.isnan(numbers.tokens[0].before) and not math.isnan(numbers.tokens[0].kl)
    assert [token.text for token in numbers.tokens][:3] == ["The", " capital", " of"]
    assert numbers.perplexity_after > 3 * numbers.perplexity_before


def test_padding_and_neighbours_change_no_answer(smollm2: Model) -> None:
    alone = ModelRequest(SMOLLM2, (CAPITALS,))
    for side in ("left", "right"):
        beside = ModelRequest(
            SMOLLM2,
            ("A cat", CAPITALS, "and now for something a good deal longer than that, so there is padding"),
            side,
        )
        (here,), (there,) = service.predictions(alone, 0), service.predictions(beside, 1)
        assert [word.text for word in here.before] == [word.text for word in there.before]
        # float32 roundings of sums over other lengths
        assert [w.before for w in here.before] == pytest.approx([w.before for w in there.before], abs=1e-4)
        first, second = service.text_numbers(alone, 0), service.text_numbers(beside, 1)
        assert first is not None and second is not None
        assert len(second.tokens) == len(first.tokens) and second.predicted == first.predicted
        assert second.perplexity_before == pytest.approx(first.perplexity_before, rel=1e-4)


def test_a_long_text_is_read_on_request(smollm2: Model) -> None:
    text = "one two three four " * 40
    app = visit(source=SMOLLM2, text=text, head="1")
    assert "Perplexity" not in html(app)
    button = next(b for b in app.button if b.key == "explore_text_numbers_button")
    assert "Compute over all 161 tokens" in button.label
    button.click().run()
    assert not app.exception
    assert "Perplexity" in html(app)


def test_pairs_of_sentences(minilm: Model) -> None:
    app = visit(text="a red hat\nan old hat\nmy dog", lines="1", model_mask="causal")
    assert not app.exception
    shown = html(app)
    switches = Switches(mask="causal")

    def cosine(first: str, second: str, switches: Switches) -> float:
        one, two = (minilm.run(text, switches=switches, agreement=False).answer for text in (first, second))
        assert one is not None and two is not None
        return float(torch.nn.functional.cosine_similarity(one.values, two.values))

    own = [("a red hat", "an old hat"), ("a red hat", "my dog"), ("an old hat", "my dog")]
    for first, second in (*own, *service.example_pairs()):
        assert f"<bdi>{first}</bdi><br><bdi>{second}</bdi>" in shown
        before, after = cosine(first, second, Switches()), cosine(first, second, switches)
        assert f"<td>{before:.3f}</td><td>{after:.3f}</td><td>{after - before:+.3f}</td>" in shown
    assert abs(cosine(*service.example_pairs()[0], Switches()) - cosine(*service.example_pairs()[0], switches)) > 0.01


def test_what_is_typed_is_text(minilm: Model) -> None:
    app = visit(text="<b>bold</b>\n<i>thin</i>", lines="1", scaling="off")
    assert "<bdi>&lt;b&gt;bold&lt;/b&gt;</bdi>" in html(app) and "<b>bold" not in html(app)


def test_the_answer_speaks_chinese(smollm2: Model) -> None:
    app = visit(source=SMOLLM2, text=CAPITALS, scaling="off", lang="zh")
    assert "答案有何变化" in headings(app) and "困惑度" in html(app)
    assert control(app, "source").value == SMOLLM2
