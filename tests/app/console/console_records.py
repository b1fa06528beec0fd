"""Accounts, dialogues and findings for the tests of the console, and what its tests in a browser ask the page."""

from typing import Any

from dialint.detector.records import Dialogue, Finding, Severity, Turn, Verdict
from dialint.labeling.store import accounts, authentication, dialogues, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, AccountRole, NewTask

PASSWORD = "a long enough one"
ONE_TIME = "once-for the first time"
IDLE = """() => {
  const work = document.querySelector(".dialint-work")?.work;
  return work && work.data && !work.draft.pending.length && !work.draft.busy;
}"""
"""True once the server has acknowledged all edits of the workspace."""
SELECT = """([turn, words]) => {
  const text = document.querySelector(`[data-turn="${turn}"] .dialint-text`);
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.indexOf(words);
    if (at < 0) continue;
    window.getSelection().setBaseAndExtent(node, at, node, at + words.length);
    document.dispatchEvent(new PointerEvent("pointerup"));
    return;
  }
  throw new Error("not found");
}"""


def add_account(store: Store, name: str, role: AccountRole, **more: Any) -> None:
    """An account with the password of all."""
    accounts.create(store, "ada", Account(id=name, role=role, **more), ONE_TIME)
    authentication.choose_password(store, name, ONE_TIME, PASSWORD)


def make_dialogue(name: str, *texts: str, **more: Any) -> Dialogue:
    """Turns of the customer and the agent by turns."""
    turns = tuple(
        Turn(index=at, role="agent" if at % 2 else "customer", text=text) for at, text in enumerate(texts)
    )
    return Dialogue(id=name, turns=turns, **{"agent": "a1", **more})


def make_finding(
    code: str = "C1", turn: int = 1, quote: str = "Anything else?", probability: float = 0.91, start: int = 0,
    reason: str = "The question was passed over.", severity: Severity = "S2",
) -> Finding:  # fmt: skip
    return Finding(
        code=code, turn=turn, severity=severity, probability=probability, quote=quote, start=start,
        end=start + len(quote), reason=reason,
    )  # fmt: skip


def make_verdict(name: str, *findings: Finding, **more: Any) -> Verdict:
    about: dict[str, Any] = {"release": "model-7", "taxonomy": "1.0.0", "status": "scored", "quality": 75.0}
    return Verdict(dialogue_id=name, findings=findings, **{**about, **more})


def add_to_review(
    store: Store, dialogue: Dialogue, *findings: Finding, priority: float = 9.0, **more: Any
) -> None:
    """Put a scored dialogue at the head of rob's queue."""
    dialogues.add(store, "lea", [dialogue])
    dialogues.add_verdicts(store, "lea", [make_verdict(dialogue.id, *findings, **more)])
    tasks.add(store, "lea", "to review", [NewTask(dialogue=dialogue.id, priority=priority)])
