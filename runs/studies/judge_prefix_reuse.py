"""Tokens computed and seconds for the details of a log with the local judge, with and without reuse of common
beginnings; that both give the same probabilities is asserted first.

    python runs/studies/judge_prefix_reuse.py --dialogues 10 --codes 10
"""

from __future__ import annotations

import time
from pathlib import Path

import cyclopts

from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.engines.local_judge_engine import LocalEngine
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.judge import Question, build_chat
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.masking import mask_dialogue
from dialint.detector.taxonomy import load_taxonomy

SAMPLE = Path(__file__).parents[2] / "app" / "sample" / "dialogues.jsonl"


def main(*, dialogues: int = 10, codes: int = 10, repeats: int = 3) -> None:
    """Print one line: each code asked of the last turn of the agent or bot in each dialogue."""
    engine = open_judge(JudgeConfig(judge="local:small_decoder", judge_context=2048), device="cpu")
    assert isinstance(engine, LocalEngine)
    records = read(open_logs([str(SAMPLE)]), ReadConfig(), Counts())
    log = [record.dialogue for record in records if isinstance(record, Loaded)][:dialogues]
    entries = list(load_taxonomy().codes.values())[:codes]
    prompts = []
    for dialogue in log:
        masked = mask_dialogue(dialogue)[0]
        turn = max(turn.index for turn in masked.turns if turn.role in ("agent", "bot"))
        for entry in entries:
            question = Question(dialogue=masked, turn=turn, code=entry.code)
            chat = build_chat(question, entry, engine.spell, max_chars=4000)
            prompts.append(engine.judge.prompt.of_chat(chat.messages))
    reused, computed = engine.judge.beliefs_with_reuse(prompts)
    difference = abs(reused - engine.judge.beliefs(prompts)).max()
    assert difference < 1e-5, difference
    seconds: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(repeats):
        for name, ask in (("without", engine.judge.beliefs), ("with", engine.judge.beliefs_with_reuse)):
            started_s = time.process_time()
            ask(prompts)
            seconds[name].append(round(time.process_time() - started_s, 2))
    print(f"{len(prompts)} questions, largest difference {difference:.1e}")
    print(f"tokens {sum(map(len, prompts))} without, {sum(computed)} with; CPU seconds {seconds}")


if __name__ == "__main__":
    cyclopts.run(main)
