"""How the exact checks with sources do on tau-bench: hits by check and code, the reward of the dialogues with
and without a hit, and the AUC of the number of hits against the reward within each agent model.

    python runs/studies/source_checks.py --half development

Airline tasks whose gold reward is known to be wrong count for hits, not for rewards.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import cyclopts
import pyarrow.parquet as pq
from cyclopts import Parameter
from policy_study import WRONG_REWARD, Half, half_of

from dialint.detector.checks import CHECKS, NO_CONTEXT
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read

NAMES = (
    "claims_undone_write",
    "unsupported_fact",
    "asks_for_known",
    "invented_argument",
    "refused_write",
    "raw_tool_call",
)


def auc_of_failure(pairs: Sequence[tuple[int, bool]]) -> float | None:
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
    codes: dict[str, Counter[str]] = {name: Counter() for name in NAMES}
    outcomes: dict[str, list[tuple[str, int, bool]]] = defaultdict(list)  # agent, hits, solved
    for record in read(open_logs([str(path)]), ReadConfig(), Counts()):
        if not isinstance(record, Loaded) or half not in ("both", half_of(record.dialogue.id)):
            continue
        dialogue = record.dialogue
        task = re.search(r"(airline|retail)#\d+", dialogue.id)
        for name in NAMES:
            hits = list(CHECKS[name](dialogue, NO_CONTEXT))
            codes[name].update(str(hit.code) for hit in hits)
            if task is not None and task[0] not in WRONG_REWARD and dialogue.id in rewards:
                agent = dialogue.id.partition("_range_")[0]
                outcomes[name].append((agent, len(hits), rewards[dialogue.id]))
    for name in NAMES:
        with_hit = [is_solved for _, hits, is_solved in outcomes[name] if hits]
        without = [is_solved for _, hits, is_solved in outcomes[name] if not hits]
        by_agent: dict[str, list[tuple[int, bool]]] = defaultdict(list)
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
