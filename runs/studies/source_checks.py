"""How the exact checks with sources do on tau-bench: hits by check and code, the reward of the dialogues with
and without a hit, and the AUC of the number of hits against the reward within each agent model; the same for
all hits together, the failed calls, the length, and the quality that the hits alone would give.

    python runs/studies/source_checks.py --half development

Airline tasks whose gold reward is known to be wrong count for hits, not for rewards.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import cyclopts
import pyarrow.parquet as pq
from cyclopts import Parameter
from policy_study import SAMPLES, WRONG_REWARD, Half, half_of

from dialint.detector.checks import CHECKS, CheckContext
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.log_profile import profile_log
from dialint.detector.policy import load_policies
from dialint.detector.records import Dialogue, Finding
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.tool_use import tool_uses

NAMES = (
    "claims_undone_write",
    "claims_undone_lookup",
    "unsupported_fact",
    "asks_for_known",
    "invented_argument",
    "refused_write",
    "raw_tool_call",
    "raw_text_again",
    "same_text_again",
    "leaves_request_open",
    "policy",
)
SUGGESTED = ("asks_for_known", "refused_write", "leaves_request_open")
"""Checks whose hits count in no quality, as those of I4 and P4."""


def measures(
    dialogue: Dialogue, context: CheckContext, codes: Mapping[str, Counter[str]]
) -> dict[str, float]:
    """The number of hits of each check, and what else may tell a failed task; `codes` takes up the hits."""
    counts: dict[str, float] = {}
    reported: dict[str, set[tuple[int, str]]] = {"finding": set(), "suggestion": set()}
    for name in NAMES:
        hits = list(CHECKS[name](dialogue, context))
        counts[name] = len(hits)
        for hit in hits:
            code = hit.code or "M3"
            codes[name][code] += 1
            is_suggested = name in SUGGESTED or code in ("I4", "P4")
            reported["suggestion" if is_suggested else "finding"].add((hit.turn, code))
    taxonomy = load_taxonomy()
    findings = tuple(
        Finding(
            code=code,
            turn=turn,
            severity=taxonomy.codes[code].severity,
            probability=1.0,
            quote="x",
            start=0,
            end=1,
            reason="",
        )
        for turn, code in reported["finding"]
    )
    counts["findings"] = len(findings)
    counts["findings and suggestions"] = len(reported["finding"] | reported["suggestion"])
    counts["100 less quality"] = 100 - taxonomy.quality(findings)
    counts["failed calls"] = sum(use.failed for use in tool_uses(dialogue))
    counts["turns"] = len(dialogue.turns)
    counts["findings, suggestions and failed calls"] = (
        counts["findings and suggestions"] + counts["failed calls"]
    )
    return counts


def auc_of_failure(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """AUC of the number of hits against failure, from pairs of hits and whether the task was solved; None
    with one outcome only."""
    failed = [hits for hits, is_solved in pairs if not is_solved]
    solved = [hits for hits, is_solved in pairs if is_solved]
    if not failed or not solved:
        return None
    wins = sum((bad > good) + (bad == good) / 2 for bad in failed for good in solved)
    return wins / len(failed) / len(solved)


def main(data: Annotated[Path, Parameter(env_var="DIALINT_DATA")], half: Half = "both") -> None:
    """Print the tables of one half of the dialogues."""
    path = data / "tau_bench" / "data.parquet"
    rows = pq.read_table(path, columns=["dialogue_id", "labels"]).to_pylist()
    rewards = {
        row["dialogue_id"]: float(label["value"]) > 0
        for row in rows
        for label in row["labels"]
        if label["category"] == "task_reward"
    }
    records = read(open_logs([str(path)]), ReadConfig(), Counts())
    dialogues = [record.dialogue for record in records if isinstance(record, Loaded)]
    policies = load_policies([SAMPLES / "retail.yaml", SAMPLES / "airline.yaml"])
    context = CheckContext(log=profile_log(dialogues), policies=policies)
    codes: dict[str, Counter[str]] = defaultdict(Counter)
    outcomes: dict[str, list[tuple[str, float, bool]]] = defaultdict(list)  # agent, hits, solved
    for dialogue in dialogues:
        if half not in ("both", half_of(dialogue.id)):
            continue
        task = re.search(r"(airline|retail)#\d+", dialogue.id)
        counts = measures(dialogue, context, codes)
        if task is not None and task[0] not in WRONG_REWARD and dialogue.id in rewards:
            agent = dialogue.id.partition("_range_")[0]
            for name, count in counts.items():
                outcomes[name].append((agent, count, rewards[dialogue.id]))
    for name in outcomes:
        with_hit = [is_solved for _, hits, is_solved in outcomes[name] if hits]
        without = [is_solved for _, hits, is_solved in outcomes[name] if not hits]
        by_agent: dict[str, list[tuple[float, bool]]] = defaultdict(list)
        for agent, hits, is_solved in outcomes[name]:
            by_agent[agent].append((hits, is_solved))
        areas = [area for pairs in by_agent.values() if (area := auc_of_failure(pairs)) is not None]
        solved, others = (sum(each) / max(1, len(each)) for each in (with_hit, without))
        print(
            f"{name}: {dict(codes[name])}; {len(with_hit)} dialogues with a hit, {solved:.0%} solved, "
            f"{others:.0%} of the others; "
            f"AUC {sum(areas) / max(1, len(areas)):.3f} (mean of {len(areas)} agents)"
        )


if __name__ == "__main__":
    cyclopts.run(main)
