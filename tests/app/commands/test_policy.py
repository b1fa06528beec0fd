"""`dialint policy check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.app.commands.rules import check

POLICY = """\
policy: shop
tools: {read: [find, look], write: [refund]}
clauses:
  - id: look-first
    text: Look the order up before a refund.
    on: refund
    before: find
"""


def dialogue(name: str, *calls: str, policy: str | None = None) -> str:
    turns: list[dict[str, object]] = [{"role": "customer", "text": "My parcel is broken."}]
    for call in calls:
        turns.append({"role": "agent", "text": "", "tool_calls": [{"name": call, "arguments": {}}]})
        turns.append({"role": "tool", "text": "done"})
    turns.append({"role": "agent", "text": "I refunded it."})
    record = {"dialogue_id": name, "turns": turns}
    return json.dumps(record if policy is None else {**record, "policy": policy})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(POLICY, encoding="utf-8")
    return path


def test_check_validates(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(file) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: policy shop, 1 clause, codes P1 P4",
        "tools: 2 read, 1 write",
    ]


def test_check_tries_a_policy_on_a_log(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = file.with_name("log.jsonl")
    rows = (
        dialogue("right", "find", "refund"),
        dialogue("wrong", "refund", "weigh"),
        dialogue("late", "refund", "find"),
        dialogue("other", "refund", policy="bank"),
    )
    log.write_text("\n".join(rows), encoding="utf-8")
    assert check(file, str(log)) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert lines == [
        "3 dialogues, 2 (66.7 %) break a clause; 1 of other policies left out",
        "clause      code   hits  dialogues",
        "look-first  P1 P4  2     2",
        "look-first, for instance: wrong late",
        "tools of the log that the policy does not list: weigh (1)",
        "tools of the policy that the log never calls: look",
    ]
