"""Every string that a person reads comes from viz/text, in both languages; nothing there is missing or left over."""

import ast
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import viz.text
from viz.text import LANGUAGES, TEXTS, follow_language, language, t, use_language
from viz.text.catalog import merged, placeholders

ROOT = Path(__file__).resolve().parents[2]

# Calls that put their first argument on the screen, whatever object they hang on (st, a column, the sidebar).
SHOWS_FIRST = set(
    """
    badge button caption chat_input checkbox code color_picker dataframe date_input download_button error exception
    expander feedback file_uploader header info link_button markdown metric multiselect number_input page_link pills
    popover progress radio segmented_control select_slider selectbox slider spinner status subheader success table tabs
    text text_area text_input title toast toggle warning write
    """.split()
)
# Keyword arguments that a person reads, in any call of a page, figures included.
SHOWN = {
    "alt", "body", "caption", "delta", "description", "help", "label", "message", "page_title", "placeholder",
    "subtitle", "text", "title", "tooltip",
}  # fmt: skip
SENTENCE = r"[^\W\d_]{2,} [^\W\d_]{2,}|[\u3400-\u9fff]"  # two words, or Chinese: nobody's code


def written_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of every string of a page that a person would read and that does not come out of ``t``."""
    passed_over = {id(c) for node in ast.walk(tree) if _is_log_or_raise(node) for c in ast.walk(node)}
    passed_over |= {
        id(body[0].value)  # docstrings
        for body in (getattr(node, "body", None) for node in ast.walk(tree))
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    }
    passed_over |= {id(code) for node in ast.walk(tree) for code in _codes(node)}
    seen = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or id(node) in passed_over:
            continue
        shown = [keyword.value for keyword in node.keywords if keyword.arg in SHOWN]
        if isinstance(node.func, ast.Attribute) and node.func.attr in SHOWS_FIRST:
            shown = [*(node.args if node.func.attr == "write" else node.args[:1]), *shown]
        for line, text in (found for argument in shown for found in _literals(argument)):
            if re.search(r"\w", text) and (line, text) not in seen:
                seen.add((line, text))
                yield line, text
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or id(node) in passed_over:
            continue
        if (node.lineno, node.value) not in seen and re.search(SENTENCE, _without_markup(node.value)):
            yield node.lineno, node.value


def _codes(node: ast.AST) -> Iterator[ast.AST]:
    """Strings that are compared or looked up, not shown."""
    if isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Dict):
        yield from (key for key in node.keys if key)
    elif isinstance(node, ast.Subscript):
        yield node.slice
    elif isinstance(node, ast.MatchValue):
        yield node.value


def _without_markup(text: str) -> str:
    """Leaves what a person reads of HTML (whole tags, or those that an f-string cuts), entities and icons."""
    return re.sub(r"<[^<>]*(>|$)|^[^<>]*\">|&[a-z]+;|:material/\w+:", "", text)


def _is_log_or_raise(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return isinstance(node.func.value, ast.Name) and node.func.value.id == "_log"
    return isinstance(node, ast.Raise)


def _literals(node: ast.expr) -> Iterator[tuple[int, str]]:
    """String constants in an expression, but for calls (they have their own line), comparisons and subscripts."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.lineno, _without_markup(node.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"format", "join"}:
            for child in [node.func.value, *node.args]:
                yield from _literals(child)
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)
    elif isinstance(node, ast.FormattedValue):
        yield from _literals(node.value)
    elif not isinstance(node, ast.Compare | ast.Subscript):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _literals(child)


def keys_in(tree: ast.Module) -> tuple[set[str], list[re.Pattern[str]], list[tuple[int, str, set[str]]]]:
    """What a module asks of viz/text.

    Returns:
        every string constant, patterns of f-strings that make keys, and (line, key, values) of ``t("key", ...)``. An
        f-string that opens with a placeholder stands for each constant of the module that is a key or opens keys.
    """
    constants = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    families = {key.split(".")[0] for key in TEXTS}
    openings = [re.escape(constant) for constant in constants if constant in TEXTS or constant in families]
    patterns, calls = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"\S+" for p in node.values]
            if parts and parts[0].split("\\.")[0] in families and "\\." in parts[0]:
                patterns.append(re.compile("".join(parts)))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "t" and node.args:
            key = node.args[0]
            given = {keyword.arg or "**" for keyword in node.keywords}
            if isinstance(key, ast.Constant):
                calls.append((node.lineno, str(key.value), given))
            elif isinstance(key, ast.JoinedStr) and isinstance(key.values[0], ast.FormattedValue):
                rest = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"\S+" for p in key.values[1:]]
                patterns += [re.compile("".join([opening, *rest])) for opening in openings]
    return constants, patterns, calls


def sources() -> list[Path]:
    """The modules that may speak to a person through keys."""
    files = [ROOT / "app.py", *sorted((ROOT / "viz").rglob("*.py"))]
    return [f for f in files if "text" not in f.relative_to(ROOT).parts]


def pages() -> list[Path]:
    rooms = [sorted((ROOT / "viz" / room).rglob("*.py")) for room in ("pages", "lessons")]
    return [ROOT / "app.py", *rooms[0], *rooms[1]]


@pytest.fixture(autouse=True)
def _own_language():
    source = viz.text._source
    use_language(None)
    yield
    use_language(None)
    follow_language(source)


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.name)
def test_no_page_holds_a_text_of_its_own(page):
    assert [f"{page.name}:{n}: {s!r}" for n, s in written_in(ast.parse(page.read_text(encoding="utf-8")))] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("st.button('Run')", ["Run"]),
        ("st.sidebar.selectbox('mask', codes, format_func=t)", ["mask"]),
        ("column.metric(t('a.b'), value, delta=f'{x} more')", [" more"]),
        ("st.write('a' if x else t('a.b'), 'c')", ["a", "c"]),
        ("st.error('Bad: ' + t('a.b'))", ["Bad: "]),
        ("st.toggle(t('a.b'), help='what it does')", ["what it does"]),
        ("st.caption('{} of {}'.format(1, 2))", ["{} of {}"]),
        ("heatmap(z, title='Layer')", ["Layer"]),
        ("message = 'nothing to show'", ["nothing to show"]),
        ("message = '权重'", ["权重"]),
        ("st.tabs(['one', t('a.b')])", ["one"]),
        ("st.button(t('a.b'), key='explore_run', type='primary', icon=':material/play_arrow:')", []),
        ("st.segmented_control(t('a.b'), ['en', 'zh'], key='x')", []),
        ('st.markdown(f\'**{t("a.b")}** &nbsp; {t("a.c")}\')', []),
        (
            "'''A page of words.'''\ndef f():\n    '''Does many things.'''\n    raise KeyError('no such thing')",
            [],
        ),
        (
            'st.html(f\'<div class="a" role="b"><b>{x}</b><span class="c {d}">Hello there {e}</span>\')',
            ['">Hello there '],
        ),
        ("if status == 'not possible':\n    x = NAMES['not sure']\nSIGNS = {'not possible': '-'}", []),
        ("_log.warning('page %s went wrong', name)", []),
        ("st.query_params['lang'] = code\nst.write(names[code]['first one'])", []),
    ],
)
def test_the_search_for_texts_can_find(code, found):
    assert [text for _, text in written_in(ast.parse(code))] == found


def test_every_key_that_is_used_exists_with_its_values():
    faults = []
    for file in sources():
        _, _, calls = keys_in(ast.parse(file.read_text(encoding="utf-8")))
        for line, key, given in calls:
            where = f"{file.relative_to(ROOT)}:{line}: {key}"
            if key not in TEXTS:
                faults.append(f"{where}: no such key")
            elif "**" not in given and placeholders(TEXTS[key][0]) != given:
                faults.append(f"{where}: takes {sorted(placeholders(TEXTS[key][0]))}, got {sorted(given)}")
    assert faults == []


def test_every_key_is_used():
    constants: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    for file in sources():
        found, made, _ = keys_in(ast.parse(file.read_text(encoding="utf-8")))
        constants |= found
        patterns += made
    constants |= {f"{page}.title" for page in constants}  # the frame asks for the title of each page that app.py names
    left = [key for key in TEXTS if key not in constants and not any(p.fullmatch(key) for p in patterns)]
    assert left == [], "texts that nothing shows"


def test_the_search_for_keys_sees_all_its_forms():
    code = """
t("a.b", n=1)
t(f"frame.{code}.title")
NAMES = {"x": "a.x"}
not_a_key = f"a.{code}"
t(key)
t("a.c", **v)
show("explore")
t(f"{family}.{code}")
"""
    constants, patterns, calls = keys_in(ast.parse(code))
    assert {"a.b", "a.x"} <= constants
    assert {p.pattern for p in patterns} == {r"frame\.\S+\.title", r"explore\.\S+"}
    assert calls == [(2, "a.b", {"n"}), (7, "a.c", {"**"})]


def test_each_column_is_in_its_language():
    quoting = {key for key in TEXTS if key.startswith("example.")}  # the title of an example may quote it
    chinese_letter = re.compile(r"[\u3400-\u9fff]")
    assert [k for k, (english, _) in TEXTS.items() if chinese_letter.search(english) and k not in quoting] == []
    sentences = {
        k: chinese for k, (_, chinese) in TEXTS.items() if re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", chinese)
    }
    english_too = {  # goes to a model that reads English
        "lesson.heads.sentence.default",
        *(f"lesson.reading.{name}" for name in ("text.default", "sentence.default", "wide")),
    }
    assert {k for k, chinese in sentences.items() if not chinese_letter.search(chinese)} == english_too


def test_a_language_of_ones_own():
    use_language("zh")
    assert language() == "zh" and t("frame.language") == "语言"
    use_language(None)
    follow_language(lambda: "zh")
    assert t("frame.language") == "语言"
    use_language("en")  # what was set goes before the source
    assert t("frame.language") == "Language"
    use_language(None)
    follow_language(lambda: "fr")  # no such language: English
    assert t("frame.language") == "Language"


def test_two_threads_do_not_share_a_language():
    ready = threading.Barrier(2, timeout=20)
    heard = {}

    def visit(code: str) -> None:
        use_language(code)
        ready.wait()
        heard[code] = t("frame.language")

    threads = [threading.Thread(target=visit, args=(code,)) for code in LANGUAGES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {"en": "Language", "zh": "语言"}


def test_values_are_not_read_as_placeholders():
    assert t("frame.failed_detail", reference="{x} {0}").endswith("{x} {0}.")


def test_errors_of_t():
    with pytest.raises(KeyError, match=r"text keys stand in viz/text: got 'frame\.nmae'"):
        t("frame.nmae")
    with pytest.raises(KeyError, match="reference"):
        t("frame.failed_detail")
    with pytest.raises(ValueError, match=r"language must be one of \['en', 'zh'\]: got 'fr'"):
        use_language("fr")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"a": {"x.a": ("A", "甲")}, "b": {"x.a": ("B", "乙")}}, r"a text key stands once: got 'x\.a' again in b"),
        ({"a": {"x.a": ("A", " ")}}, r"needs both languages: 'x\.a' in a"),
        ({"a": {"x.a": ("{n} of {m}", "{n}")}}, r"same placeholders: 'x\.a' in a has \['m', 'n'\] and \['n'\]"),
    ],
)
def test_faulty_tables_are_refused(tables, message):
    with pytest.raises(ValueError, match=message):
        merged(tables)


def test_one_of_a_thing_is_said_in_the_singular():
    use_language("en")
    try:
        said = t("explore.run_model", source="m", layer=0, last=5, heads=1, tokens=1, device="CPU")
        assert "1 head · 1 token ·" in said
        said = t("explore.run_model", source="m", layer=0, last=5, heads=12, tokens=0, device="CPU")
        assert "12 heads · 0 tokens ·" in said
    finally:
        use_language(None)
