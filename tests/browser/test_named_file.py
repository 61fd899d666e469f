"""The app started with a file: the bare address and the page's own both open it."""

import numpy as np
import pytest

from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser


@pytest.fixture
def with_file(streamlit_server, tmp_path):
    path = tmp_path / "mask.npy"
    np.save(path, np.tril(np.ones((5, 5), bool)))
    return streamlit_server("app.py", arguments=("--", str(path)))


def test_both_addresses_open_the_file_and_others_stay_reachable(chromium, with_file):
    for address, arrives in (("", "/debug"), ("debug", "/debug"), ("mask_lab", "/mask_lab")):
        context = chromium.new_context()
        visitor = Visitor(context.new_page(), with_file)
        visitor.open(address)
        visitor.page.wait_for_url(f"**{arrives}*")
        visitor.settle()
        if arrives == "/debug":
            visitor.page.get_by_text("Opened with the app").wait_for()
        assert visitor.complaints == []
        context.close()
