"""Four ways of asking about many codes, with the same weights on the same dialogues: one question for each
code and dialogue, one for all codes, groups with details on demand (as `dialint score` does), and the scan
alone. Questions, tokens and dialogues a second for 1, 10 and 40 codes.

    python runs/studies/judge_forms.py --dialogues 30 --out build/judge_forms.json

The small decoder's answers are worth nothing, and it names errors nearly at random: the number of details
on demand is that of a judge that sees errors nearly everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cyclopts

from dialint.detector.artifacts import write_json
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge import screens
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeEngine
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.pipeline import load_detector, score
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import load_taxonomy

SAMPLE = Path(__file__).parents[2] / "app" / "sample" / "dialogues.jsonl"


class Clean:
    """Covers nothing and finds nothing, so that the judge is asked about everything."""

    release, fingerprint, codes = "clean", "clean", ()
    taxonomy = load_taxonomy()

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        about: dict[str, Any] = {"release": "clean", "taxonomy": "1", "status": "scored", "quality": 100.0}
        return [Verdict(dialogue_id=dialogue.id, **about) for dialogue in dialogues]


def main(*, out: Path, dialogues: int = 30, judge: str = "local:small_decoder") -> None:
    """Print the table and write it as JSON."""
    records = read(open_logs([str(SAMPLE)]), ReadConfig(), Counts())
    log = [record.dialogue for record in records if isinstance(record, Loaded)][:dialogues]
    # codes that need no evidence first: they can be asked of every dialogue
    codes = sorted(Clean.taxonomy.codes, key=lambda code: bool(Clean.taxonomy.codes[code].needs))
    engine = open_judge(JudgeConfig(judge=judge, judge_context=2048), device="cpu")
    rows = []
    scanner = load_detector(DetectorConfig(threads=1))
    started_s = time.monotonic()
    score(log, scanner)
    rows.append(_row("scan only", len(scanner.codes), len(log), 0, 0, time.monotonic() - started_s))
    for n in (1, 10, 40):
        for name, group_size, has_details in (
            ("one question a code", 1, False),
            ("one question a dialogue", 45, False),
            ("groups, details on demand", 12, True),
        ):
            rows.append(_measure(name, engine, log, codes[:n], group_size, has_details))
            write_json(out, {"judge": judge, "dialogues": len(log), "rows": rows})


def _measure(
    name: str,
    engine: JudgeEngine,
    log: Sequence[Dialogue],
    codes: Sequence[str],
    group_size: int,
    has_details: bool,
) -> dict[str, Any]:
    screens.MAX_CODES = group_size
    detector = JudgedDetector(Clean(), engine, StageOptions(codes=frozenset(codes), detail="short"))
    if not has_details:
        detector._ask_all = lambda *args, **kwargs: None  # type: ignore[method-assign]
    started_s = time.monotonic()
    detector.verdicts(log)
    usage, seconds = detector.usage, time.monotonic() - started_s
    tokens = usage.prompt_tokens + usage.output_tokens
    return _row(name, len(codes), len(log), usage.screens + usage.details, tokens, seconds)


def _row(
    name: str, codes: int, dialogues: int, questions: int, tokens: int, seconds: float
) -> dict[str, Any]:
    row = {
        "form": name,
        "codes": codes,
        "questions": questions,
        "tokens": tokens,
        "dialogues_per_s": round(dialogues / seconds, 3),
    }
    print(" | ".join(str(value) for value in row.values()), flush=True)
    return row


if __name__ == "__main__":
    cyclopts.run(main)
