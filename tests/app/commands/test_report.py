"""`dialint report`: figures by hand, honest denominators, a page and a workbook that nothing can make act. The
verdicts are made up."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe
from console_client import find_browser
from outputs import finished
from playwright.sync_api import sync_playwright

from dialint.app.commands.report import ReportConfig, report
from dialint.app.reporting import figures as report_figures
from dialint.app.reporting.figures import Figures, Table, count, headline, tables
from dialint.app.reporting.page import SCRIPT
from dialint.detector import environment
from dialint.detector.artifacts import file_entry
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.records import Finding, NotJudged, Severity, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import needs_escape
from dialint.labeling.raters.estimates import Figure

HOSTILE = (
    '=HYPERLINK("http://x.example","<script>alert(1)</script><img src=http://x.example/a.png>")\u202e\x1b[31m'
)
ABOUT = {"release": "r", "taxonomy": "1.0.0"}


def finding(code: str = "C1", severity: Severity = "S2", quote: str = "Bye!", turn: int = 1) -> Finding:
    return Finding(
        code=code, turn=turn, severity=severity, probability=0.999999, quote=quote, start=0, end=len(quote),
        reason=f"seen: {quote}",
    )  # fmt: skip


def scored(name: str, *findings: Finding, **more: Any) -> Verdict:
    fields = {"agent_turns": 4, "agent": "ada", "team": "north", **more}
    quality = None if "not_judged" in fields else 50.0
    return Verdict(dialogue_id=name, status="scored", quality=quality, findings=findings, **ABOUT, **fields)


def page_of(folder: Path, verdicts: Sequence[Verdict], **more: Any) -> str:
    """The report as HTML."""
    out = folder / "r.html"
    assert report(finished(folder, verdicts, **more), config=ReportConfig(html=out)) == 0
    return out.read_text()


def counted(verdicts: Sequence[Verdict], codes: Sequence[str] = ("C1", "T1", "M2")) -> Figures:
    return count(verdicts, load_taxonomy(), codes, 3, {})


def row(of: list[Table], title: str, name: str) -> dict[str, Any]:
    (table,) = [each for each in of if each.title == title]
    (row,) = [each for each in table.rows if str(each[0]).startswith(name)]
    return dict(zip(table.headings, row, strict=True))


@pytest.mark.parametrize(
    ("line", "message"),
    [("", "there is no score"), ('{"dialogue_id": "b", "at": "2026-11-01T00:00:00Z"}', "no score is of")],
)
def test_scores_that_say_nothing_of_the_verdicts_are_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "scores.jsonl").write_text(line)
    config = ReportConfig(html=tmp_path / "r.html", scores=tmp_path / "scores.jsonl")
    with pytest.raises(InputRefused, match=message):
        report(finished(tmp_path, [scored("a")]), config=config)


def test_what_failed_or_was_not_judged_is_in_no_rate() -> None:
    """20 judged dialogues of 4 agent turns, 5 with a C1 of S2: 25 of 100 dialogues, 6.25 of 100 turns; one of
    them was judged by half."""
    german = NotJudged(language="de", turns=(1, 3), codes=("C1", "T1"), check_only=("M2",))
    verdicts = [scored(f"f{n}", finding()) for n in range(5)] + [scored(f"c{n}") for n in range(14)]
    verdicts.append(scored("half", judged_share=0.5, not_judged=(german,)))
    verdicts.append(
        Verdict(
            dialogue_id="de", status="not_judged", agent_turns=2, agent="ada", not_judged=(german,),
            findings=(finding("M2"),), **ABOUT,
        )
    )  # fmt: skip
    verdicts.append(Verdict(dialogue_id="bad", status="failed", failure="E_LONG", agent="ada", **ABOUT))
    figures = counted(verdicts)
    of = tables(figures)
    ada = row(of, "By agent", "ada")
    assert (ada["Judged dialogues"], ada["Failed"], ada["Not judged"]) == (20, 1, 1)
    assert (ada["Judged turns"], ada["Findings"]) == (19 * 4 + 2, 5)
    assert ada["Findings per 100 turns"] == pytest.approx(100 * 5 / 78)
    assert ada["With S1 or S2 per 100"].value == pytest.approx(25.0)
    assert (ada["With S1 or S2 per 100"].low, ada["With S1 or S2 per 100"].high) == pytest.approx(
        (11.19, 46.87), abs=0.01
    )  # Wilson 1927, by hand
    c1 = row(of, "By code", "C1")
    assert (c1["Findings"], c1["Judged dialogues"], c1["Judged turns"]) == (5, 20, 78)
    m2 = row(of, "By code", "M2")  # an exact check looked at the German turns, too
    assert (m2["Findings"], m2["Judged dialogues"], m2["Judged turns"]) == (1, 21, 20 * 4 + 2)
    s2 = row(of, "By severity", "S2")
    assert (s2["Findings"], s2["Of them in dialogues not judged"]) == (6, 1)
    assert dict(headline(figures))["Judged dialogues"] == 20


def test_a_code_of_the_dialogue_is_judged_nowhere_in_a_dialogue_of_another_language() -> None:
    gap = NotJudged(language="de", turns=(), codes=("C1",))
    of = tables(counted([scored("d", not_judged=(gap,)), scored("e")]))
    assert row(of, "By code", "C1")["Judged dialogues"] == 1
    assert row(of, "By code", "C1")["Judged turns"] == 4
    assert row(of, "By code", "T1")["Judged turns"] == 8


def test_nobody_is_ranked_and_three_dialogues_say_nothing() -> None:
    verdicts = [scored(f"z{n}", finding(), agent="zoe") for n in range(3)]
    verdicts += [scored(f"a{n}", agent="ann") for n in range(30)]
    (table,) = [each for each in tables(counted(verdicts)) if each.title == "By agent"]
    assert [each[0] for each in table.rows] == ["ann", "zoe"]
    zoe = row([table], "By agent", "zoe")
    assert zoe["With S1 or S2 per 100"] == Figure(3)
    assert zoe["Findings per 100 turns"] is None
    assert zoe["Findings"] == 3


def test_weeks_stand_in_order_of_time() -> None:
    verdicts = [
        scored("b", started_at=datetime(2026, 1, 1, tzinfo=UTC)),
        scored("a", started_at=datetime(2025, 12, 22, tzinfo=UTC)),
        scored("c"),
    ]
    (table,) = [each for each in tables(counted(verdicts)) if each.title == "By week"]
    assert [each[0] for each in table.rows] == ["2025-W52", "2026-W01", "(not in the log)"]


def test_suggestions_stand_in_a_table_of_their_own_and_in_no_other_figure(tmp_path: Path) -> None:
    maybe = finding("T1", "S1", quote="perhaps").model_copy(update={"reason": "so (demoted: no proof)."})
    verdicts = [scored("a", finding()), scored("b", suggestions=(maybe, maybe)), scored("c")]
    figures = counted(verdicts)
    assert row(tables(figures), "Suggestions", "T1 ")["Suggestions"] == 2
    assert row(tables(figures), "Suggestions", "T1 ")["Demoted by"] == "no proof (2)"
    assert row(tables(figures), "By code", "T1")["Findings"] == 0
    assert row(tables(figures), "By agent", "ada")["Findings"] == 1
    assert figures.whole.serious == 1
    assert "Suggestions" not in [each.title for each in tables(counted(verdicts[:1]))]
    html, xlsx = tmp_path / "r.html", tmp_path / "r.xlsx"
    work = {"release": {"id": "r", "demoted": {"T1": "people confirmed 2 of 14"}}}
    assert report(finished(tmp_path, verdicts, work=work), config=ReportConfig(html=html, xlsx=xlsx)) == 0
    assert "T1 is only suggested, so it is in no rate: people confirmed 2 of 14." in html.read_text()
    before, apart, after = html.read_text().partition("<h2>Examples of suggestions</h2>")
    assert apart
    assert ("perhaps" in before, "perhaps" in after, "Bye!" in after) == (False, True, False)
    assert strings(xlsx).count("perhaps") == 2


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def nasty() -> list[Verdict]:
    return [
        scored(
            HOSTILE, finding(quote=HOSTILE), finding(HOSTILE), agent=HOSTILE, team=HOSTILE, channel=HOSTILE
        ),
        Verdict(dialogue_id="x", status="failed", failure=HOSTILE, **ABOUT),
    ]


def test_nothing_in_a_page_acts(tmp_path: Path) -> None:
    more = {
        "reading": {"read": 1, "rejected": 1, "rejects": {HOSTILE: 1}},
        "ended_at": "2026-03-04T05:06:07+00:00",
        "work": {"release": {"id": HOSTILE}},
    }
    html, page = page_of(tmp_path, nasty(), **more), Tags()
    page.feed(html)
    assert not {"img", "a", "link", "iframe", "object", "form"} & set(page.names)
    assert page.names.count("script") == 1
    script = SCRIPT.read_text()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"<script>{script}</script>" in html
    allowed = [
        value for name, value in page.attributes if name == "content" and "script-src" in (value or "")
    ]
    assert f"script-src 'sha256-{digest}'" in (allowed[0] or ""), "no other script runs"
    assert not [name for name, value in page.attributes if name.startswith("on") or name in ("src", "href")]
    texts = ("aria-label", "value", "data-agent", "data-code")
    assert not [name for name, value in page.attributes if "x.example" in (value or "") and name not in texts]
    assert "\u202e" not in page.text
    assert "\x1b" not in page.text
    assert "<script>alert(1)</script>" in page.text
    assert "default-src 'none'" in (allowed[0] or "")
    assert (tmp_path / "r.html").stat().st_mode & 0o077 == 0


def weekly(n: int, **more: Any) -> list[Verdict]:
    """Dialogues of four weeks and three agents, every fifth with an S1."""
    at = datetime(2026, 1, 5, tzinfo=UTC)
    return [
        scored(
            f"d{i}", *([finding("T1", "S1", quote=f"words {i}")] if i % 5 == 0 else []),
            agent=("ada", "bob", "cy")[i % 3], started_at=at + timedelta(days=i % 28), **more,
        )
        for i in range(n)
    ]  # fmt: skip


def test_the_gravest_findings_are_listed_first_and_the_others_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_figures, "MAX_LISTED", 3)
    verdicts = [
        scored(f"d{n}", finding("M2", "S3"), finding("T1", "S1" if n == 4 else "S2")) for n in range(5)
    ]
    page = page_of(tmp_path, verdicts)
    assert "The 3 gravest of 10; --xlsx has all of them." in page
    assert re.findall(r'class="case finding" data-severity="(S.)"', page) == ["S1", "S2", "S2"]
    assert re.findall(r"turn 1 of (d\d)", page) == ["d4", "d0", "d1"]


def test_the_list_is_filtered_in_a_browser_and_whole_without_scripts(tmp_path: Path) -> None:
    """In Chromium: nothing of a hostile log acts, nothing is wider than a phone, and paper has the whole list."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium on the PATH")
    out = tmp_path / "r.html"
    maybe = [scored("m", finding("M2", quote="Dear {name}")), scored("h" * 400, finding(quote=HOSTILE))]
    report(finished(tmp_path, [*weekly(30), *nasty(), *maybe]), config=ReportConfig(html=out))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        messages: list[str] = []
        page.on("console", lambda each: messages.append(each.text))
        page.on("pageerror", lambda each: messages.append(str(each)))
        page.on("dialog", lambda each: messages.append(each.message))
        page.goto(out.as_uri())
        assert page.title().startswith("dialint: findings in")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        visible_findings = page.locator(".finding:visible")
        n_all = visible_findings.count()
        page.locator("select[name=severity]").select_option("S1")
        assert (visible_findings.count(), page.locator(".count").inner_text()) == (6, f"6 of {n_all} shown")
        page.locator("select[name=agent]").select_option("bob")
        assert visible_findings.count() == 2
        page.locator("select[name=severity]").select_option("")
        page.locator("select[name=agent]").select_option("")
        page.get_by_label("Words", exact=True).fill("DEAR {name}")
        assert visible_findings.count() == 1
        page.emulate_media(media="print")
        assert page.locator(".filters").is_hidden()
        assert messages == []
        plain = browser.new_context(java_script_enabled=False).new_page()
        plain.goto(out.as_uri())
        assert plain.locator(".finding").count() == n_all
        assert plain.locator(".filters").is_hidden()
        failures = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [each["id"] for each in failures if each["impact"] in ("serious", "critical")] == []
        browser.close()


def strings(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as book:
        sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
        assert not [name for name in book.namelist() if "external" in name or name.endswith("vbaProject.bin")]
        roots = [ElementTree.fromstring(book.read(name)) for name in sheets]
    main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    assert not [cell for root in roots for tag in ("f", "hyperlink") for cell in root.iter(f"{main}{tag}")]
    return [cell.text or "" for root in roots for cell in root.iter(f"{main}t")]


def test_no_cell_of_a_workbook_is_a_formula(tmp_path: Path) -> None:
    out = tmp_path / "r.xlsx"
    assert report(finished(tmp_path, nasty()), config=ReportConfig(xlsx=out)) == 0
    cells = strings(out)
    assert not [cell for cell in cells if needs_escape(cell) and not cell.startswith("'")]
    assert [cell for cell in cells if cell.startswith("'=HYPERLINK")]
    assert out.stat().st_mode & 0o077 == 0


def test_a_report_without_text_has_no_word_of_a_dialogue(tmp_path: Path) -> None:
    verdicts = finished(tmp_path, [scored("d", finding(quote="wordofadialogue"))])
    report(verdicts, config=ReportConfig(html=tmp_path / "a.html", xlsx=tmp_path / "a.xlsx", no_text=True))
    report(verdicts, config=ReportConfig(html=tmp_path / "b.html", xlsx=tmp_path / "b.xlsx"))
    assert "wordofadialogue" not in (tmp_path / "a.html").read_text()
    assert "wordofadialogue" in (tmp_path / "b.html").read_text()
    assert "> 0.99" in (tmp_path / "b.html").read_text().replace("&gt;", ">")
    assert not [cell for cell in strings(tmp_path / "a.xlsx") if "wordofadialogue" in cell]
    assert [cell for cell in strings(tmp_path / "b.xlsx") if "wordofadialogue" in cell]


def test_damaged_verdicts_and_outputs_that_are_there_are_refused(tmp_path: Path) -> None:
    path = finished(tmp_path, [scored("d")])
    out = tmp_path / "r.html"
    out.write_text("mine")
    with pytest.raises(OutputRefused, match="exists already"):
        report(path, config=ReportConfig(html=out))
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(OutputRefused):
        report(path, config=ReportConfig(html=tmp_path / "new.html"))
    assert out.read_text() == "mine"
    assert not (tmp_path / "new.html").exists()


def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="name what to write"):
        ReportConfig()
    with pytest.raises(ConfigError, match="no-text"):
        ReportConfig(html=tmp_path / "a", log=("x",), no_text=True)
    monkeypatch.setattr(environment, "is_installed", lambda name: False)
    with pytest.raises(ConfigError, match=re.escape("pip install 'dialint[report]'")):
        report(finished(tmp_path, []), config=ReportConfig(xlsx=tmp_path / "a.xlsx"))


def test_examples_stand_in_their_dialogue_masked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("first", "Hello", "I am ann@example.com, and the fee?", "Bye ann@example.com, all done!")
    roles = ("customer", "agent", "customer", "agent")
    turns = [{"role": role, "text": text} for role, text in zip(roles, texts, strict=True)]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"id": "d", "turns": turns}) + "\n")
    late = finding(turn=3, quote="all done").model_copy(update={"start": 21, "end": 29})
    verdicts = finished(tmp_path, [scored("d", late)], inputs=[file_entry(log)])
    out = tmp_path / "r.html"
    report(verdicts, config=ReportConfig(html=out, log=(str(log),)))
    page = out.read_text()
    assert "<mark>all done</mark>" in page
    assert "and the fee?" in page
    assert "example.com" not in page
    log.write_text(log.read_text() + "\n")
    with pytest.raises(ConfigError, match="not what was scored"):
        report(verdicts, config=ReportConfig(html=tmp_path / "other.html", log=(str(log),)))


def test_limits_are_reported(tmp_path: Path) -> None:
    more = {
        "not_covered": ["X1"],
        "reading": {"read": 8, "rejected": 7, "rejects": {"E_ID": 7}},
        "work": {"options": {"codes": ["C1", "X1"], "limit": 5}},
    }
    alone = scored("d", agent=None, team=None)
    page = page_of(tmp_path, [alone], **more)
    for text in ("7 records were rejected", "first 5 dialogues", "team, agent, channel, week"):
        assert text in page
    pattern = r"nobody looked for: [^<]*\b{}\b"
    assert re.search(pattern.format("X1"), page)
    assert not re.search(pattern.format("C1"), page)
    (tmp_path / "r.html").unlink()
    page = page_of(tmp_path, [alone.model_copy(update={"no_policy": ("C1",)})])
    assert re.search(pattern.format("C1"), page)


def test_codes_that_the_judge_skipped_are_reported(tmp_path: Path) -> None:
    counts = {
        "questions": {"readings": 12, "second_looks": 3}, "unasked": {"I1": 4}, "unmet": {"P1": 2}, "failures": {},
    }  # fmt: skip
    page = page_of(tmp_path, [scored("d", finding())], judge={"name": "tiny", "contract": None, **counts})
    assert "tiny was asked 12 questions about whole dialogues and 3 second looks" in page
    assert "it was measured on no labels" in page
    assert "left unasked by the budget: I1 4; not asked, as sources" in page
