"""The loop of a finding in a real browser, on the commands that people type: scored, confirmed, appealed,
reviewed again, overturned, in the exported dataset."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import WAIT_S

from dialint.app.cli import app
from dialint.detector.records import Example, Preference
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.annotation import Annotation
from dialint.labeling.dataset.examples import SPLITS
from dialint.labeling.store import accounts, annotations, authentication
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import Account

SAMPLE = Path(__file__).parents[3] / "app/sample/dialogues.jsonl"
GIVEN, PASSWORD = "once-for the first time", "a long enough one"
FLAWED = "telecom-11"
"""A dialogue of the sample in which the release is sure of one finding."""
STATEMENT = "The customer had offered the number before I asked."
REASON = "The agent repeats what the customer has said; nothing is asked for."
PEOPLE = {"rob": "reviewer", "ria": "reviewer", "eve": "expert", "lea": "lead", "agnes": "labeler"}


def dialint(*arguments: object) -> None:
    assert app([str(each) for each in arguments], result_action="return_value") in (0, None)


def newest_answer(page: Any, store: Store, n: int) -> Annotation:
    """The newest answer to the flawed dialogue, as soon as there are `n`."""
    give_up_s = time.monotonic() + WAIT_S
    while len(found := annotations.list_annotations(store, "ada", FLAWED)) < n:
        assert time.monotonic() < give_up_s, page.get_by_test_id("stMain").inner_text()
        page.wait_for_timeout(100)
    return found[-1]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in which a scored log waits for reviewers, made by commands."""
    place = str(tmp_path / "store.sqlite")
    rows = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    log = [row for row in rows if row["dialogue_id"] in (FLAWED, "bank-01")]
    (agent,) = [row["agent"] for row in log if row["dialogue_id"] == FLAWED]
    upgrade(place)
    with Store.open(place) as store:
        accounts.create_first(store, "ada", GIVEN)
        for name, role in PEOPLE.items():
            own = agent if role == "labeler" else None
            accounts.create(store, "ada", Account(id=name, role=role, agent=own), GIVEN)  # type: ignore[arg-type]
            authentication.choose_password(store, name, GIVEN, PASSWORD)
    monkeypatch.setenv("DIALINT_STORE", place)
    monkeypatch.setenv("DIALINT_ACCOUNT", "lea")
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    path, verdicts = tmp_path / "log.jsonl", tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in log))
    dialint("score", path, "--out", verdicts, "--quiet")
    (finding,) = [each for said in read_verdicts(verdicts) for each in said.findings]
    dialint("import", "logs", path, "--quiet")
    dialint("import", "verdicts", verdicts, "--quiet")
    for name, more in (("review", ("--prelabelled",)), ("second", ())):
        dialint("label", "project", "create", name, "--purpose", "review", *more, "--codes", finding.code)
    return place


def test_a_confirmed_finding_is_appealed_overturned_and_exported(
    page_of: Callable[..., Any], store: Store, settle: Callable[[Any], None], tmp_path: Path
) -> None:
    page = page_of("lea", "explore")
    page.get_by_role("button", name="Send 2 dialogues to review").click()
    page.get_by_text("2 new tasks").wait_for()

    page = page_of("rob", "review")
    page.get_by_role("button", name="Start").first.wait_for()
    settle(page)
    page.keyboard.press("Enter")
    page.get_by_text("Dialogue bank-").first.wait_for()
    if page.get_by_text(f"Dialogue {FLAWED}").count() == 0:  # the one without a finding came first
        page.keyboard.press("s")
        page.get_by_text(f"Dialogue {FLAWED}").wait_for()
    page.keyboard.press("y")
    page.get_by_text("1 of 1 decided").first.wait_for()
    page.keyboard.press("s")
    confirmed = newest_answer(page, store, 1)
    (found,) = confirmed.findings
    assert (confirmed.labeler, confirmed.seen_verdict) == ("rob", True)

    agent = page_of("agnes", "my-findings")
    agent.get_by_role("button", name="Object").click()
    agent.get_by_role("textbox", name="Why is the finding wrong?").fill(STATEMENT)
    agent.get_by_role("button", name="Send the appeal").click()
    agent.get_by_text("Appeal is open").wait_for()

    dialint("label", "appeals", "second")
    page = page_of("ria", "review")
    page.get_by_role("button", name="Start").first.wait_for()
    if page.get_by_text("Tasks that wait for you: 1").count() == 0:
        page.get_by_role("combobox", name="Project").click()
        page.get_by_role("option", name="second").click()
        settle(page)
    page.get_by_role("button", name="Start").first.click()
    page.get_by_text("A second review").first.wait_for()
    text = page.content()
    assert not [each for each in (STATEMENT, "embedded-", found.reason) if each in text], "blind"
    page.keyboard.press("s")
    second = newest_answer(page, store, 2)
    assert (second.labeler, second.findings, second.seen_verdict) == ("ria", (), False)

    page = page_of("eve", "appeals")
    page.get_by_text(STATEMENT).wait_for()
    page.get_by_text("Reviewer 1 sees no such error").wait_for()
    page.get_by_text("The finding is wrong").click()
    page.get_by_label("Reason, which the agent reads").fill(REASON)
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Decide", exact=True).click()
    page.get_by_text("No appeal is open.").wait_for()

    agent.reload()
    agent.get_by_text("Appeal accepted: the finding was wrong").wait_for()
    agent.get_by_text(REASON).wait_for()

    out = tmp_path / "dataset"
    dialint("export", "dataset", "--out", out, "--key-file", tmp_path / "split.key")
    (line,) = (out / "preferences.jsonl").read_bytes().splitlines()
    pair = Preference.model_validate_json(line)
    assert (pair.outcome, pair.turn, pair.code) == ("overturned", found.turn, found.code)
    assert (pair.chosen.verdict, pair.rejected.verdict) == ("no_error", "error")
    lines = [line for split in SPLITS for line in (out / f"{split}.jsonl").read_bytes().splitlines()]
    examples = {each.dialogue.id: each for each in map(Example.model_validate_json, lines)}
    assert not [each for each in examples[FLAWED].labels if each.probability > 0.5], "a negative"
    verify(store)
