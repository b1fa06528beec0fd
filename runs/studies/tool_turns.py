"""How many calls, results and never-run calls the dialogues of a log hold, by agent.

Run: ``python runs/studies/tool_turns.py LOG``. The agent of a dialogue of tau_bench is the part of its id
before the temperature. Writes nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from cyclopts import App

from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, open_logs, read
from dialint.detector.tool_use import tool_uses

RAW_CALL = re.compile(r'\{\s{0,20}+"name"\s{0,20}+:\s{0,20}+"(\w{0,60}+)')
"""JSON of a call in what the customer saw."""
COLUMNS = (
    *("dialogues", "spoken turns", "calls", "results", "linked", "failed"),
    *("raw calls", "raw responds", "thoughts"),
)

app = App(help=__doc__)


@app.default
def main(log: str) -> None:
    """Print a Markdown table."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in read(open_logs([log]), ReadConfig(max_bad=1.0), Counts()):
        if not isinstance(item, Loaded):
            continue
        dialogue, uses = item.dialogue, tool_uses(item.dialogue)
        spoken = [turn.text for turn in dialogue.turns if turn.role == "agent" and turn.text.strip()]
        raw = [match[1] for text in spoken if (match := RAW_CALL.search(text))]
        counts[dialogue.agent or dialogue.id.partition("-0.0_")[0]].update(
            {
                "dialogues": 1,
                "spoken turns": len(spoken),
                "calls": len(uses),
                "results": sum(turn.role == "tool" for turn in dialogue.turns),
                "linked": sum(use.was_run for use in uses),
                "failed": sum(use.failed for use in uses if use.was_run),
                "raw calls": sum(name != "respond" for name in raw),
                "raw responds": raw.count("respond"),
                "thoughts": sum("Thought:" in text for text in spoken),
            }
        )
    total: Counter[str] = sum(counts.values(), Counter())
    print("| agent |", " | ".join(COLUMNS), "|")
    print("|---|" + "---:|" * len(COLUMNS))
    for name, row in [*sorted(counts.items()), ("all", total)]:
        print(f"| {name} |", " | ".join(f"{row[column]:,}" for column in COLUMNS), "|")


if __name__ == "__main__":
    app()
