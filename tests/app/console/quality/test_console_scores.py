"""In a real browser: a lead rejects a finding, and the dialogue's page, Overview, Coaching, the export and the
report have the new score."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console_records import IDLE
from outputs import finished

from dialint.app.commands.report import ReportConfig, report
from dialint.labeling.exchange.store_transfer import export_scores
from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store


@pytest.mark.usefixtures("own_server")
def test_a_lead_walks_from_a_review_to_the_report(
    page_of: Callable[..., Any], server: Any, store: Store, settle: Callable[[Any], None], tmp_path: Path
) -> None:
    """Four dialogues have a quality of 75; the finding in d1 is rejected, so its score is 100."""
    page = page_of("lea", "overview")
    tile = page.get_by_test_id("stMetric").filter(has_text="Reviewed score")
    tile.get_by_text("model 75.0").wait_for()
    parts = page.get_by_test_id("stTable").filter(has_text="People decided")
    assert parts.locator("tr").last.inner_text().split()[-5:] == ["4", "75.0", "not", "enough", "evidence"]
    page.goto(f"http://127.0.0.1:{server.port}/dialogue?id=d1")
    page.get_by_text("Verdict of model").first.wait_for()
    assert page.get_by_text("Reviewed score").count() == 0
    settle(page)
    page.get_by_role("button", name="Review this").first.click()
    page.get_by_text("Dialogue d1;").wait_for()
    page.wait_for_function(IDLE)
    page.keyboard.press("Shift+N")
    page.get_by_text("Saved as answer").wait_for()
    page.goto(f"http://127.0.0.1:{server.port}/dialogue?id=d1")
    page.get_by_text("Reviewed score 100, by what people decided; the model's: 75.").wait_for()
    page.goto(f"http://127.0.0.1:{server.port}/overview")
    parts.locator("tr").nth(1).get_by_text("100.0").wait_for()
    settle(page)
    page.get_by_text("By agent").first.click()
    settle(page)
    row = page.get_by_test_id("stTable").filter(has_text="By agent").locator("tr").filter(has_text="a1")
    assert "not enough evidence" in row.inner_text()
    made_of = parts.get_by_role("link", name="1").get_attribute("href")
    page.goto(f"http://127.0.0.1:{server.port}{made_of}")
    page.get_by_role("link", name="d1").wait_for()
    page.goto(f"http://127.0.0.1:{server.port}/coaching?agent=a1")
    page.get_by_text("What the reviewed score is made of").first.click()
    parts.locator("tr").nth(1).get_by_text("100.0").wait_for()

    scores = tmp_path / "scores.jsonl"
    export_scores(store, "lea", scores)
    lines = [json.loads(line) for line in scores.read_text().splitlines()]
    assert {line["dialogue_id"]: line.get("reviewed") for line in lines} == {
        "d1": 100.0, "d2": None, "d3": None, "hostile": None
    }  # fmt: skip
    read = [dialogues.read(store, "lea", line["dialogue_id"])[1] for line in lines]
    verdicts = finished(tmp_path, [each.model_copy(update={"agent": "a1"}) for each in read if each])
    assert report(verdicts, config=ReportConfig(html=tmp_path / "r.html", scores=scores)) == 0
    html = (tmp_path / "r.html").read_text()
    assert "Reviewed score" in html
    assert "what people decided in 1 dialogues, 0 of them a random sample, and in the other 3" in html
