"""The page frame as a person meets it."""

import pytest

pytestmark = pytest.mark.browser


def test_language_follows_browser_link_and_switch(visit):
    chinese = visit(locale="zh-CN")
    header = chinese.page.locator(".st-key-frame_header")
    assert "看清注意力权重" in header.inner_text()
    assert "lang=" not in chinese.page.url

    header.get_by_role("radio", name="English").click()
    chinese.page.wait_for_url("**/?*lang=en*")
    chinese.settle()
    assert "Attention weights, and whether they are right" in header.inner_text()

    chinese.page.reload()
    chinese.settle()
    assert "Attention weights, and whether they are right" in header.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_and_follows_the_theme(visit, scheme, width):
    visitor = visit(width=width, scheme=scheme)
    page = visitor.page
    assert page.title() == "Headscope"
    assert page.locator("h1").all_inner_texts() == ["Headscope"]
    background = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 25, 30)"}[scheme]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("[data-testid=stException]").count() == 0
