"""Text from outside stays text: by the code, and in a real browser with hostile text in every string."""

import ast
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from console_records import PASSWORD, add_account
from patience import WAIT_MS
from playwright.sync_api import TimeoutError as Late

import dialint.app.console
from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.store import annotations, dialogues, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, Project

FOLDER = Path(dialint.app.console.__file__).parent
SAFE = {"safe_html", "safe_markdown", "safe_text", "explain_code", "table_cell", "link", "dialogue_link"}
"""Functions that make text from outside safe to show."""
LAYOUT = {
    "Page", "cache_resource", "columns", "container", "context", "form", "navigation", "query_params",
    "rerun", "set_page_config", "switch_page",
}  # fmt: skip
"""Functions of Streamlit that show no text of ours but titles of pages."""
ELEMENTS = {
    "badge", "button", "caption", "checkbox", "dataframe", "download_button", "expander", "form_submit_button",
    "header", "html", "link_button", "markdown", "metric", "page_link", "pills", "popover", "radio",
    "segmented_control", "selectbox", "subheader", "success", "table", "text_area", "text_input", "toast", "toggle",
}  # fmt: skip
"""Functions of Streamlit that show text also as methods of a column or a container."""
NO_TEXT = {
    "anchor", "args", "autocomplete", "border", "clear_on_submit", "default", "disabled", "enter_to_submit",
    "expanded", "height", "horizontal", "index", "key", "pinned", "required", "kwargs", "label_visibility", "language", "max_chars", "max_value", "min_value", "on_change", "on_click", "shortcut", "type", "vertical_alignment", "width",
}  # fmt: skip
"""Arguments that are shown nowhere."""


def is_safe(node: ast.expr) -> bool:
    """Return whether an expression may be shown: literals, and results of safe functions."""
    match node:
        case ast.Constant():
            return True
        case ast.Call(
            func=ast.Name(id="_" | "ngettext" | "paragraph"), args=[*texts]
        ):  # ours, and their translations
            return all(isinstance(each, ast.Constant) for each in texts[:2])
        case ast.Call(func=ast.Name(id=name)):
            return name in SAFE
        case ast.JoinedStr(values=parts):
            return all(is_safe(part) for part in parts)
        case ast.FormattedValue(value=value):
            return is_safe(value)
        case ast.Name(id=name):
            return name.isupper() or name in SAFE  # a constant of the module, or a safe function itself
        case ast.Lambda(body=body):
            return is_safe(body)
        case ast.IfExp(body=body, orelse=other):
            return is_safe(body) and is_safe(other)
        case ast.DictComp(value=value):
            return is_safe(value)
        case ast.ListComp(elt=elt):
            return is_safe(elt)
    return False


def shows(call: ast.Call) -> str | None:
    """Return the name of the Streamlit function that a call is of, if it shows text."""
    if isinstance(call.func, ast.Name) and call.func.id == "select":
        return "select"  # which makes its options safe
    names = [
        node.attr
        for node in ast.walk(call.func)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "st"
    ]
    names = [name for name in names if name not in LAYOUT | {"session_state"}]
    if names:
        return names[0]
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return method if method in ELEMENTS else None


def unsafe(source: str) -> list[str]:
    """Return the raw text that a module shows: line, Streamlit's function and argument."""
    problems = []
    tree = ast.parse(source)
    own = {id(node) for each in tree.body if getattr(each, "name", "") == "select" for node in ast.walk(each)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in own):
        name = shows(call)
        if name is None:
            continue
        arguments = {None if n == 0 else f"#{n}": value for n, value in enumerate(call.args)}
        arguments |= {word.arg: word.value for word in call.keywords if word.arg not in NO_TEXT}
        if name in ("selectbox", "multiselect", "radio", "segmented_control") and "format_func" in arguments:
            arguments.pop("#1")  # options are shown as it makes them
        elif name == "select":
            arguments = {word: value for word, value in arguments.items() if word in (None, "help")}
        elif name in ("text_area", "text_input", "number_input", "toggle", "checkbox"):
            arguments = {
                word: value for word, value in arguments.items() if word not in ("#1", "#2", "value")
            }  # to edit
        elif name == "data_editor":
            arguments = {}  # drawn as text on a canvas; the labels of its columns are checked as column_config
        elif name == "column_config":
            arguments.pop("options", None)
        elif name in ("vega_lite_chart", "progress"):
            arguments.pop(None)  # a share, or data whose names are made by safe_text
        elif name == "page_link":
            arguments.pop(None)  # the page, of which the label is shown
        elif name == "components":
            continue  # the dialogue's component, which draws by textContent
        problems += [
            f"{call.lineno}: st.{name}({argument or ''})"
            for argument, value in arguments.items()
            if not is_safe(value)
        ]
    return problems


def test_no_page_shows_raw_text() -> None:
    problems = {path: unsafe(path.read_text()) for path in FOLDER.rglob("*.py") if path.name != "asgi.py"}
    assert {path: lines for path, lines in problems.items() if lines} == {}
    assert sum("st." in path.read_text() for path in problems) >= 8


@pytest.mark.parametrize(
    "line",
    [
        "st.caption(coverage(verdict))", "st.table({'name': [each.id for each in known]})", "st.error(str(e))",
        "st.text(f'Turn {quote}')", "st.selectbox('Project', names)", "st.button(word)", "st.write(x)",
        "st.selectbox('Error', codes, format_func=lambda each: named(each))", "st.markdown(a + b)",
        "{'info': st.info}[kind](text)", "st.sidebar.markdown(text)", "st.text_input('x', placeholder=name)",
        "left.caption(text)", "st.columns(2)[0].button(word)", "select(name, names)", "select('x', names, help=text)",
    ],
)  # fmt: skip
def test_the_lint_finds_raw_text(line: str) -> None:
    assert unsafe(line)


def test_nothing_but_the_lint_knows_is_imported_from_streamlit() -> None:
    """No other name of it, no writing through a container, and no HTML: the lint would not see it."""
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("streamlit"):
                assert {each.name for each in node.names} <= {
                    "App", "ComponentRenderer", "DeltaGenerator", "MemoryUploadedFileManager", "StreamlitPage", "get_script_run_ctx", "runtime",
                }  # fmt: skip
            if isinstance(node, ast.keyword):
                assert node.arg != "unsafe_allow_html", path


OUT = "evil.test"
HOSTILE = (
    f"![i](https://{OUT}/md.png) <img src=https://{OUT}/tag.png onerror=document.title='owned'> https://{OUT}/auto "
    f"www.{OUT} me@{OUT} [l](https://{OUT}/l) <https://{OUT}/angle> :material/home: :streamlit: :smile: "
    f"<script>document.title='owned'</script> <a href=https://{OUT}>a</a> $\\\\href{{https://{OUT}}}{{x}}$ "
    ":red[x] **b** `c` \u202etxt\u2066.exe\u200b"
)
"""Every way to a link, a picture or a script that Markdown, HTML or Streamlit has, and text that turns."""
NAME = (
    f"![i](https://{OUT}/n.png) https://{OUT}/auto www.{OUT} me@{OUT} :material/home: <img src=//{OUT}/t> "
    "[l](//evil.test) \u202etxt\u2066.exe\u200b"
)
SHORT = f"![i](https://{OUT}/c.png) www.{OUT} <img src=//{OUT}/c>\u202ex"
WALK = """() => [
  ...document.querySelectorAll('a[href], img, script, iframe, object, embed, link, form[action], svg image'),
].map(each => each.outerHTML).filter(each => each.includes('evil') || each.includes('data:image/svg'))"""
INVISIBLE = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (/[\\u200b\\u202a-\\u202e\\u2066-\\u2069]/.test(node.data)) found.push(node.data.slice(0, 80));
  return found;
}"""


@pytest.fixture
def hostile(store: Store) -> Store:
    """Hostile text in every string that an account, a log, a model or a lead may bring."""
    own = (SHORT, "C1")
    for project, _ in projects.list_projects(store, "lea"):
        projects.set_state(store, "lea", project.id, "closed")
    add_account(store, NAME, "reviewer", skills=(NAME,), agent=NAME)
    turns = tuple(
        Turn(index=n, role=role, text=HOSTILE, author=HOSTILE)  # type: ignore[arg-type]
        for n, role in enumerate(("customer", "agent", "system", "bot"))
    )
    names = [f"{HOSTILE} {n}" for n in range(3)]
    for n, name in enumerate(names):
        dialogue = Dialogue(
            id=name, turns=turns, language=HOSTILE, channel=HOSTILE, agent=f"{HOSTILE}{n}", team=HOSTILE,
            policy=HOSTILE, sources=(HOSTILE,), metadata={HOSTILE: HOSTILE},
        )  # fmt: skip
        dialogues.add(store, "lea", [dialogue])
        findings = tuple(
            Finding(code=code, turn=1, severity="S2", probability=0.6, quote=HOSTILE[:40], start=0, end=40, reason=HOSTILE, rewrite=HOSTILE)
            for code in own
        )  # fmt: skip
        verdict = Verdict(
            dialogue_id=name, release=HOSTILE, taxonomy=HOSTILE, status="scored", quality=50.0, findings=findings,
            probabilities={1: {SHORT: 0.6, "C1": 0.6}},
        ) if n else Verdict(dialogue_id=name, release=HOSTILE, taxonomy=HOSTILE, status="failed", failure=HOSTILE)  # fmt: skip
        dialogues.add_verdicts(store, "lea", [verdict])
    for end in ("1", "2"):
        for purpose in ("review", "label"):
            project = Project(
                id=f"{purpose}{NAME}{end}", codes=own, purpose=purpose, prelabelled=True,  # type: ignore[arg-type]
                instructions=HOSTILE, masked=purpose == "review",
            )  # fmt: skip
            projects.create(store, "lea", project)
            order = names if end == "1" else names[1:]
            tasks.add(
                store, "lea", project.id, [NewTask(dialogue=each, why=HOSTILE) for each in reversed(order)]
            )
    return store


def unfolded(page: Any, label: str) -> Any:
    """The options of the last select box of that label, unfolded; again if the page was drawn anew."""
    for _ in range(5):
        page.wait_for_timeout(500)
        page.get_by_role("combobox", name=label).last.click()
        with suppress(Late):
            page.get_by_role("option").first.wait_for(timeout=15_000)
            return page.get_by_role("option")
    raise TimeoutError(label)


def test_hostile_text_in_every_string(
    browser: Any, hostile: Store, server: Any, signed_in: Callable[[Any, int, str], None]
) -> None:
    """The content security policy is bypassed here: it would hide what the markup asks for."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    requests: list[str] = []
    context.on("request", lambda request: requests.append(request.url))
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)

    def check_page() -> str:
        page.locator('[data-test-script-state="notRunning"]').first.wait_for(state="attached")
        page.wait_for_timeout(300)
        assert page.evaluate(WALK) == []
        assert page.evaluate(INVISIBLE) == []
        assert page.title() != "owned"
        return str(page.locator("body").inner_text())

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)

    signed_in(page, server.port, NAME)
    unfolded(page, "Project")
    check_page()
    press("Escape")
    page.get_by_role("button", name="Start").first.click()
    page.locator(".dialint-turn").first.wait_for()
    words = check_page()
    for part in (f"https://{OUT}/auto", ":material/home:", "⟦RLO⟧txt⟦LRI⟧.exe⟦ZWSP⟧", "<img src="):
        assert part in words, "the test can fail: the text is there, as text"
    for keys in (("w", "Enter"), ("Escape", "Escape", "c")):
        press(*keys)
        page.locator(".dialint-picker").wait_for()
        check_page()
    press("Escape", "?")
    check_page()
    press("Escape", "y", "n")
    page.get_by_text("Errors: 1").wait_for()
    projects_of = [each for each, _ in projects.list_projects(hostile, "ria") if each.id.endswith("1")]
    first = next(each for each in projects_of if each.id.startswith("review"))
    theirs = Finding(
        code=SHORT, turn=1, severity="S1", probability=1.0, quote=HOSTILE[:9], start=0, end=9, reason=HOSTILE
    )
    annotations.review(hostile, "ria", f"{HOSTILE} 2", "hers", first.codes, [theirs], expected=None)
    press("s")
    page.get_by_text("Saved as answer").or_(page.get_by_text("Compare:")).first.wait_for()
    check_page()
    page.get_by_role("link", name="Label", exact=True).click()
    page.get_by_role("button", name="Start").first.click()
    page.get_by_text("0 of 2 answered").first.wait_for()
    press("y")
    check_page()
    page.get_by_role("link", name="Your account").click()
    page.get_by_text("New password again").wait_for()
    assert "⟦RLO⟧" in check_page()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Admin").click()
    page.wait_for_timeout(1000)
    check_page()
    own = tuple(f"{kind}://127.0.0.1:{server.port}" for kind in ("http", "ws", "blob:http"))
    assert [url for url in requests if not url.startswith((*own, "data:"))] == []
    context.close()
