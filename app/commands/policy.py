"""``dialint policy check``: policy files are validated, and tried on a log, without any release."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dialint.app.output import print_line, print_table
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.policy import Policy, load_policy

READ = ReadConfig()
N_EXAMPLES = 3
"""Ids of dialogues that are shown for each clause."""


def check(
    file: Path,
    log: str | None = None,
    /,
    *,
    limit: int | None = None,
    read: Annotated[ReadConfig, Parameter(name="*")] = READ,
) -> int:
    """Validate a policy file; with a log, show how often each clause fires, and on which dialogues.

    Dialogues of the log that name another policy are left out.

    Parameters
    ----------
    file
        The policy, a YAML file.
    log
        A log file to try it on.
    limit
        Read at most this many dialogues.
    """
    if limit is not None and limit < 1:
        raise ConfigError("E_OPTION", "--limit: expected at least 1")
    policy = load_policy(file)
    tools = policy.tools
    listed = ", ".join(
        f"{len(names)} {group}"
        for group, names in (("read", tools.read), ("write", tools.write), ("other", tools.other))
        if names
    )
    clauses = f"{len(policy.clauses)} clause{'s' * (len(policy.clauses) != 1)}"
    print_line(f"{file}: policy {policy.policy}, {clauses}, codes {' '.join(policy.codes)}")
    print_line(f"tools: {listed or 'none listed, so names of tools are not checked'}")
    if log is not None:
        _try_on(policy, log, limit, read)
    return 0


def _try_on(policy: Policy, log: str, limit: int | None, config: ReadConfig) -> None:
    from dialint.detector.checks.policy import broken_clauses
    from dialint.detector.ingest.outcomes import Loaded
    from dialint.detector.ingest.read import Counts, open_logs, read

    counts = Counts()
    records = (record for record in read(open_logs([log]), config, counts) if isinstance(record, Loaded))
    hits: dict[str, Counter[str]] = {clause.id: Counter() for clause in policy.clauses}
    dialogues: dict[str, list[str]] = {clause.id: [] for clause in policy.clauses}
    calls: Counter[str] = Counter()
    n = n_other = n_broken = 0
    for record in islice(records, limit):
        dialogue = record.dialogue
        if dialogue.policy not in (None, policy.policy):
            n_other += 1
            continue
        n += 1
        calls.update(call.name for turn in dialogue.turns for call in turn.tool_calls)
        broken = [violation for _, violation in broken_clauses(dialogue, policy)]
        n_broken += bool(broken)
        for violation in broken:
            hits[violation.clause.id][violation.code] += 1
            if dialogue.id not in dialogues[violation.clause.id][-1:]:
                dialogues[violation.clause.id].append(dialogue.id)
    left_out = f"; {n_other:,} of other policies left out" if n_other else ""
    rejected = f"; {counts.rejected:,} records rejected" if counts.rejected else ""
    share = f" ({n_broken / n:.1%})" if n else ""
    print_line(f"{n:,} dialogues, {n_broken:,}{share} break a clause{left_out}{rejected}")
    print_table(
        ("clause", "code", "hits", "dialogues"),
        (
            (
                clause.id,
                " ".join(sorted(hits[clause.id]) or [clause.violation_code]),
                f"{hits[clause.id].total():,}",
                f"{len(dialogues[clause.id]):,}",
            )
            for clause in policy.clauses
        ),
    )
    for name, ids in dialogues.items():
        if ids:
            print_line(f"{name}, for instance: {' '.join(ids[:N_EXAMPLES])}")
    listed = {*policy.tools.read, *policy.tools.write, *policy.tools.other}
    unknown = [f"{name} ({count:,})" for name, count in calls.most_common() if name not in listed]
    if unknown:
        print_line(f"tools of the log that the policy does not list: {', '.join(unknown)}")
    if unseen := sorted(listed - set(calls)):
        print_line(f"tools of the policy that the log never calls: {', '.join(unseen)}")
