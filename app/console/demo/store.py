"""The demo's store: the sample log, its verdicts, tasks for reviewers and labelers, an account for each role,
and a past that is made up (`demo_activity`).

The embedded release scores the sample once; its verdicts are cached under ``$DIALINT_HOME/demo``. Everything
else is deleted with the store.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import get_args

from dialint.app.console.demo.activity import AGENT, SAMPLE_LABELS, add_coaching, add_log, add_people
from dialint.app.console.demo.disputes import add_disputes
from dialint.app.console.demo.jobs import add_jobs
from dialint.app.console.text import judged_codes
from dialint.app.store_session import one_time_password
from dialint.detector.artifacts import fingerprint, make_output_folder, sha256_file
from dialint.detector.errors import OutputRefused
from dialint.detector.records import Dialogue, Label, Verdict
from dialint.detector.registry import home_folder
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.annotation import judged_turns
from dialint.labeling.queue.routing_policy import SeverityWeights
from dialint.labeling.store import accounts, authentication, projects, tasks
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.gold import put_gold
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Account, AccountRole, Gold, NewTask, Pay, Project

SAMPLE = Path(__file__).parents[2] / "sample" / "dialogues.jsonl"
REVIEW, LABEL = "review", "label"
LABEL_CODES = ("C1", "T1", "U2", "L1")
UNCOVERED = ("C2", "U3")
"""Codes of the review project beside those that the release covers."""
CONTROL_SHARE = 0.2
N_FLAWED, N_CLEAN = 3, 2
"""Control tasks with an error of `LABEL_CODES`, and without."""
N_LABEL = 30
OVERLAP = 2
INSTRUCTIONS = (
    "Read the whole dialogue first. For each error below, say whether any agent turn has it; if so, "
    "select the words that show it. Judge what the agent wrote, not what you would have written. "
    "If you cannot decide, skip and say why."
)


def make_demo(location: str, verdicts: Sequence[Verdict] | None = None) -> dict[str, str]:
    """Create the store, scoring the sample if there are no `verdicts`. Returns the password of each
    account."""
    upgrade(location)
    by_name = {name: secrets.token_hex(8) for name in (*get_args(AccountRole), "agent")}
    with Store.open(location) as store:
        first = one_time_password()
        accounts.create_first(store, "admin", first)
        people = [Account(id=role, role=role) for role in get_args(AccountRole) if role != "admin"]
        for account in (*people, Account(id="agent", role="labeler", agent=AGENT)):
            accounts.create(store, "admin", account, first)
        for name, password in by_name.items():
            authentication.choose_password(store, name, first, password)
        sample = load_sample()
        verdicts = score_sample() if verdicts is None else verdicts
        past = add_log(location, sample, verdicts)
        _create_review_project(store, verdicts)
        _create_label_project(store, sample)
        add_people(store, past)
        add_coaching(store, past)
        add_disputes(store, past)
        add_jobs(store, Path(location).parent / "jobs", SAMPLE, sample, verdicts)
    return by_name


def load_sample() -> list[Dialogue]:
    """The dialogues of the sample log."""
    from dialint.detector.ingest.config import ReadConfig
    from dialint.detector.ingest.outcomes import Counts, Loaded
    from dialint.detector.ingest.read import read
    from dialint.detector.ingest.sources import open_logs

    records = read(open_logs([str(SAMPLE)]), ReadConfig(), Counts())
    return [record.dialogue for record in records if isinstance(record, Loaded)]


def score_sample() -> list[Verdict]:
    """The embedded release's verdicts on the sample, from the cache if they are there."""
    from dialint.detector.release import EMBEDDED, Release

    key = fingerprint(
        [Release(EMBEDDED).fingerprint, load_taxonomy().model_dump(mode="json"), sha256_file(SAMPLE)]
    )
    out = home_folder() / "demo" / f"verdicts-{key[:16]}.jsonl"
    try:
        return list(read_verdicts(out))
    except OutputRefused:
        pass  # missing or incomplete: `run` makes it, or raises what is wrong with it
    from dialint.app.scoring.loop import run
    from dialint.app.scoring.options import ScoreConfig

    make_output_folder(out.parent)
    run([str(SAMPLE)], ScoreConfig(out=out, all_probabilities=True, quiet=True))
    return list(read_verdicts(out))


def _create_review_project(store: Store, verdicts: Sequence[Verdict]) -> None:
    flagged = [verdict for verdict in verdicts if verdict.findings]
    covered = {finding.code for verdict in flagged for finding in verdict.findings}
    covered = covered.union(*(judged_codes(verdict) or () for verdict in verdicts))
    codes = tuple(code for code in load_taxonomy().codes if code in covered or code in UNCOVERED)
    projects.create(store, "lead", Project(id=REVIEW, codes=codes, purpose="review", prelabelled=True))
    weights, new = SeverityWeights(), []
    for verdict in flagged:
        cost = sum(finding.probability * weights.of(finding.severity) for finding in verdict.findings)
        new.append(NewTask(dialogue=verdict.dialogue_id, priority=cost, why="demo"))
    if new:
        tasks.add(store, "lead", REVIEW, new)


def _create_label_project(store: Store, sample: Sequence[Dialogue]) -> None:
    project = Project(
        id=LABEL, codes=LABEL_CODES, instructions=INSTRUCTIONS, overlap=OVERLAP, control_share=CONTROL_SHARE,
        pay=Pay(amount=Decimal("0.35"), currency="EUR"),
    )  # fmt: skip
    projects.create(store, "lead", project)
    author = [Label.model_validate_json(line) for line in SAMPLE_LABELS.read_bytes().splitlines()]
    errors = {(each.dialogue_id, each.turn, each.code) for each in author if each.code in LABEL_CODES}
    flawed = {dialogue for dialogue, _, _ in errors}
    control = [each for each in sample if each.id in flawed][:N_FLAWED]
    control += [each for each in sample if each.id not in flawed][:N_CLEAN]
    gold = [
        Gold(
            dialogue=each.id, turn=turn, code=code, present=(each.id, turn, code) in errors, source="expert"
        )
        for each in control
        for turn in judged_turns(each)
        for code in LABEL_CODES
    ]  # fmt: skip
    store.write(lambda transaction: _put_gold(transaction, gold), repeatable=True)
    rest = [each for each in sample if each not in control][:N_LABEL]
    new = [NewTask(dialogue=each.id, why="demo") for each in rest]
    new += [NewTask(dialogue=each.id, pool="control", why="demo") for each in control]
    tasks.add(store, "lead", LABEL, new)


def _put_gold(transaction: Transaction, gold: Sequence[Gold]) -> None:
    require_permission(transaction, "expert", "decide")
    for each in gold:
        put_gold(transaction, "expert", each)
