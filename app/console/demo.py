"""The demo's store: the sample log, its verdicts, work for reviewers and labelers, an account per role.

The embedded release judges the sample once; its verdicts are kept under ``$DIALINT_HOME/demo`` for the
next demo. Everything else is thrown away with the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from dialint.app.console.plain import judged_codes
from dialint.app.store_session import one_time_password
from dialint.detector.artifacts import fingerprint, make_folder, sha256_file
from dialint.detector.errors import OutputRefused
from dialint.detector.records import Dialogue, Label, Verdict
from dialint.detector.taxonomy import load
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.annotation import judged_turns
from dialint.labeling.queue.policy import SeverityWeights
from dialint.labeling.store import accounts, dialogues, passwords, projects, tasks
from dialint.labeling.store.database.engine import home
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.gold import put_gold
from dialint.labeling.store.permissions import authorised
from dialint.labeling.store.records import Account, AccountRole, Gold, NewTask, Project

SAMPLE = Path(__file__).parents[1] / "sample" / "dialogues.jsonl"
SAMPLE_LABELS = SAMPLE.with_name("labels.jsonl")
REVIEW, LABEL = "review", "label"
LABEL_CODES = ("C1", "T1", "U2", "L1")
UNCOVERED = ("C2", "U3")
"""Asked of reviewers beside the codes that the release looks for."""
CONTROL_SHARE = 0.2
N_FLAWED, N_CLEAN = 3, 2
"""Control tasks with an error that is asked for, and without."""
N_LABEL = 30
OVERLAP = 2
INSTRUCTIONS = (
    "Read the whole dialogue first. For each error below, say whether any agent turn has it; if so, "
    "select the words that show it. Judge what the agent wrote, not what you would have written. "
    "If you cannot decide, skip and say why."
)


def make_demo(place: str, verdicts: Sequence[Verdict] | None = None) -> dict[AccountRole, str]:
    """Make the store at `place`; names and passwords of its accounts. `verdicts` of the sample are made
    if they are not given."""
    upgrade(place)
    people: dict[AccountRole, str] = {role: secrets.token_hex(8) for role in get_args(AccountRole)}
    with Store.open(place) as store:
        _make_accounts(store, people)
        found = sample()
        dialogues.add(store, "lead", found)
        judged = sample_verdicts() if verdicts is None else verdicts
        dialogues.add_verdicts(store, "lead", judged)
        _make_review(store, judged)
        _make_label(store, found)
    return people


def _make_accounts(store: Store, people: Mapping[AccountRole, str]) -> None:
    """One for each role, named like it, with the password as its own: nobody has to choose one in a demo."""
    given = one_time_password()
    accounts.create_first(store, "admin", given)
    for role, password in people.items():
        if role != "admin":
            accounts.create(store, "admin", Account(id=role, role=role), given)
        passwords.choose_password(store, role, given, password)


def sample() -> list[Dialogue]:
    """The dialogues of the sample log."""
    from dialint.detector.ingest.config import ReadConfig
    from dialint.detector.ingest.outcomes import Counts, Loaded
    from dialint.detector.ingest.read import read
    from dialint.detector.ingest.sources import open_logs

    records = read(open_logs([str(SAMPLE)]), ReadConfig(), Counts())
    return [record.dialogue for record in records if isinstance(record, Loaded)]


def sample_verdicts() -> list[Verdict]:
    """What the embedded release says of the sample; kept for the next time."""
    from dialint.detector.release import EMBEDDED, Release

    whole = fingerprint([Release(EMBEDDED).fingerprint, load().model_dump(mode="json"), sha256_file(SAMPLE)])
    out = home() / "demo" / f"verdicts-{whole[:16]}.jsonl"
    try:
        return list(read_verdicts(out))
    except OutputRefused:
        pass  # not there yet, or not whole: `dialint score` makes it, or says what is wrong with it
    from dialint.app.scoring.loop import run
    from dialint.app.scoring.options import ScoreConfig

    make_folder(out.parent)
    run([str(SAMPLE)], ScoreConfig(out=out, all_probabilities=True, quiet=True))
    return list(read_verdicts(out))


def _make_review(store: Store, verdicts: Sequence[Verdict]) -> None:
    """Flagged dialogues, the most expected harm first."""
    flagged = [verdict for verdict in verdicts if verdict.findings]
    judged = {finding.code for verdict in flagged for finding in verdict.findings}
    judged = judged.union(*(judged_codes(verdict) or () for verdict in verdicts))
    codes = tuple(code for code in load().codes if code in judged or code in UNCOVERED)
    projects.create(store, "lead", Project(id=REVIEW, codes=codes, purpose="review", prelabelled=True))
    new = [NewTask(dialogue=each.dialogue_id, priority=_priority(each), why="demo") for each in flagged]
    if new:
        tasks.add(store, "lead", REVIEW, new)


def _priority(verdict: Verdict) -> float:
    weights = SeverityWeights()
    return sum(finding.probability * weights.of(finding.severity) for finding in verdict.findings)


def _make_label(store: Store, found: Sequence[Dialogue]) -> None:
    """A blind project over part of the sample. The author's labels of another part are control tasks."""
    project = Project(
        id=LABEL, codes=LABEL_CODES, instructions=INSTRUCTIONS, overlap=OVERLAP, control_share=CONTROL_SHARE
    )
    projects.create(store, "lead", project)
    known = [Label.model_validate_json(line) for line in SAMPLE_LABELS.read_bytes().splitlines()]
    errors = {(each.dialogue_id, each.turn, each.code) for each in known if each.code in LABEL_CODES}
    flawed = {dialogue for dialogue, _, _ in errors}
    control = [each for each in found if each.id in flawed][:N_FLAWED]
    control += [each for each in found if each.id not in flawed][:N_CLEAN]
    gold = [
        Gold(
            dialogue=each.id, turn=turn, code=code, present=(each.id, turn, code) in errors, source="expert"
        )
        for each in control
        for turn in judged_turns(each)
        for code in LABEL_CODES
    ]  # fmt: skip
    store.write(lambda transaction: _put_gold(transaction, gold), repeatable=True)
    asked = [each for each in found if each not in control][:N_LABEL]
    new = [NewTask(dialogue=each.id, why="demo") for each in asked]
    new += [NewTask(dialogue=each.id, pool="control", why="demo") for each in control]
    tasks.add(store, "lead", LABEL, new)


def _put_gold(transaction: Transaction, known: Sequence[Gold]) -> None:
    """All of it in one transaction, as the expert of the demo."""
    authorised(transaction, "expert", "decide")
    for each in known:
        put_gold(transaction, "expert", each)
