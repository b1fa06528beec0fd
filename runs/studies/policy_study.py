"""How the sample policies do on tau-bench: hits by clause on failed and on solved dialogues, the share of
dialogues with a hit, and the AUC of the number of hits against the reward within each agent model.

    python runs/studies/policy_study.py --half development

Airline tasks whose gold reward is known to be wrong are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
import pyarrow.parquet as pq
from cyclopts import Parameter

from dialint.detector.checks.policy import broken_clauses
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.policy import Violation, load_policy
from dialint.detector.records import Dialogue

SAMPLES = Path(__file__).parents[2] / "app" / "sample" / "policies"
WRONG_REWARD = {f"airline#{task}" for task in (2, 9, 27, 37, 38)}

Half = Literal["development", "once", "both"]


@dataclass(frozen=True)
class Play:
    """A dialogue of an agent model under the policy of its domain, with what it breaks."""

    dialogue: Dialogue
    domain: str
    agent: str
    solved: bool
    violations: tuple[Violation, ...]


def half_of(dialogue_id: str) -> Half:
    """The half of the dialogues that an id belongs to, by its sha256."""
    number = int(hashlib.sha256(dialogue_id.encode()).hexdigest()[:16], 16)
    return "once" if number % 2 else "development"


def plays(data: Path, half: Half) -> Iterator[Play]:
    """The dialogues of one half whose reward can be trusted."""
    path = data / "tau_bench" / "data.parquet"
    table = pq.read_table(path, columns=["dialogue_id", "split", "labels"]).to_pylist()
    rewards = {
        row["dialogue_id"]: float(label["value"])
        for row in table
        for label in row["labels"]
        if label["category"] == "task_reward"
    }
    agents = {row["dialogue_id"]: row["split"] for row in table}
    policies = {name: load_policy(SAMPLES / f"{name}.yaml") for name in ("retail", "airline")}
    for record in read(open_logs([str(path)]), ReadConfig(), Counts()):
        if not isinstance(record, Loaded):
            continue
        dialogue = record.dialogue
        task = re.search(r"(airline|retail)#\d+", dialogue.id)
        if task is None or task[0] in WRONG_REWARD or half not in ("both", half_of(dialogue.id)):
            continue
        broken = tuple(violation for _, violation in broken_clauses(dialogue, policies[task[1]]))
        yield Play(dialogue, task[1], agents[dialogue.id], rewards[dialogue.id] == 1.0, broken)


def auc(failed: list[int], solved: list[int]) -> float:
    """The chance that a failed dialogue has more hits than a solved one; ties count half."""
    pairs = [(one > other) + (one == other) / 2 for one in failed for other in solved]
    return sum(pairs) / len(pairs) if pairs else float("nan")


def study(data: Annotated[Path, Parameter(env_var="DIALINT_DATA")], half: Half = "development") -> None:
    """Print the figures of one half, or of both."""
    by_clause: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    by_agent: dict[str, dict[bool, list[int]]] = defaultdict(lambda: {True: [], False: []})
    for play in plays(data, half):
        outcome = "solved" if play.solved else "failed"
        by_agent[play.agent][play.solved].append(len(play.violations))
        keys = [(play.domain, each.clause.id, each.code) for each in play.violations]
        for key in keys:
            by_clause[key][f"hits in {outcome}"] += 1
        for key in set(keys):
            by_clause[key][outcome] += 1
    for key, counts in sorted(by_clause.items()):
        hits = counts["hits in failed"] + counts["hits in solved"]
        print(*key, f"{hits} hits; dialogues: {counts['failed']} failed, {counts['solved']} solved")
    for agent, counts in sorted(by_agent.items()):
        shares = [sum(map(bool, counts[solved])) / max(1, len(counts[solved])) for solved in (False, True)]
        print(
            f"{agent}: {len(counts[False])} failed, {shares[0]:.2f} with a hit; {len(counts[True])} solved, "
            f"{shares[1]:.2f} with a hit; AUC {auc(counts[False], counts[True]):.3f}"
        )
    aucs = [auc(counts[False], counts[True]) for counts in by_agent.values()]
    print(f"mean AUC within {len(aucs)} agents: {sum(aucs) / len(aucs):.3f}")
    for solved in (False, True):
        n = [count for counts in by_agent.values() for count in counts[solved]]
        print(
            f"{'solved' if solved else 'failed'}: {sum(map(bool, n))} of {len(n)} with a hit, {sum(n)} hits"
        )


if __name__ == "__main__":
    cyclopts.run(study)
