"""Tokens computed and seconds of the local judge with and without reuse of common beginnings, for details,
for screens, and for the written answers of errors; and whether both give the same.

    python runs/studies/judge_prefix_reuse.py --dialogues 10 --codes 10
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import PropertyMock, patch

import cyclopts
import numpy as np

from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.local_judge_engine import LocalEngine
from dialint.detector.engines.screen_constraint import ScreenConstraint
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.judge import Question, build_chat
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.screens import screen_chat, screen_schema
from dialint.detector.masking import mask_dialogue
from dialint.detector.taxonomy import load_taxonomy

SAMPLE = Path(__file__).parents[2] / "app" / "sample" / "dialogues.jsonl"
SCREEN_CODES = 5


def main(*, dialogues: int = 10, codes: int = 10, repeats: int = 3) -> None:
    """Print a line for each kind of question. Details and errors: each code asked of the last turn of the
    agent or bot in each dialogue; screens: groups of five codes over each dialogue."""
    engine = open_judge(JudgeConfig(judge="local:small_decoder", judge_context=2048), device="cpu")
    assert isinstance(engine, LocalEngine)
    judge = engine.judge
    records = read(open_logs([str(SAMPLE)]), ReadConfig(), Counts())
    log = [record.dialogue for record in records if isinstance(record, Loaded)][:dialogues]
    entries = list(load_taxonomy().codes.values())[:codes]
    prompts, texts, screens, rules = [], [], [], []
    for dialogue in log:
        masked = mask_dialogue(dialogue)[0]
        judged = [turn for turn in masked.turns if turn.role in ("agent", "bot")]
        for entry in entries:
            question = Question(dialogue=masked, turn=judged[-1].index, code=entry.code)
            chat = build_chat(question, entry, engine.spell, max_chars=4000)
            prompts.append(judge.prompt.of_chat(chat.messages))
            texts.append(judged[-1].text)
        turns = tuple(turn.index for turn in judged)
        for first in range(0, len(entries), SCREEN_CODES):
            group = entries[first : first + SCREEN_CODES]
            chat = screen_chat(masked, turns, group, (), engine.spell, 4000)
            screens.append(judge.prompt.of_chat(chat.messages))
            schema = screen_schema(turns, [entry.code for entry in group])
            rules.append(ScreenConstraint(judge.verbatim, schema, judge.stop_tokens))
    errors = [0] * len(prompts)
    _compare("details", prompts, repeats, lambda: judge.beliefs_with_reuse(prompts))
    _compare("screens", screens, repeats, lambda: judge.generate_constrained(screens, rules, 60))
    _compare("errors", prompts, repeats, lambda: judge.answers(prompts, texts, errors, 60))


def _compare(name: str, prompts: list[list[int]], repeats: int, ask: Callable[[], Any]) -> None:
    seconds: dict[bool, list[float]] = {True: [], False: []}
    results: dict[bool, Any] = {}
    for _ in range(repeats):
        for reuses in (False, True):
            with patch.object(LocalJudge, "_can_reuse", PropertyMock(return_value=reuses)):
                started_s = time.process_time()
                results[reuses] = ask()
                seconds[reuses].append(round(time.process_time() - started_s, 2))
    if name == "details":
        (plain, _), (reused, computed) = results[False], results[True]
        difference = float(np.abs(reused - plain).max())
        assert difference < 1e-5, difference
        equal = f"largest difference {difference:.1e}"
    else:
        plain, reused = results[False].texts, results[True].texts
        computed = results[True].computed
        equal = f"{sum(a == b for a, b in zip(plain, reused, strict=True))} of {len(plain)} answers the same"
    total = sum(map(len, prompts))
    print(f"{name}: {len(prompts)} questions, {equal}; tokens of prompts {total} without, {sum(computed)} "
          f"with; CPU seconds {seconds[False]} without, {seconds[True]} with", flush=True)  # fmt: skip


if __name__ == "__main__":
    cyclopts.run(main)
