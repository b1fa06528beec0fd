"""A real vLLM server: verdicts as with the local engine, and adapters swapped while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from served import Asked, Server, questions

from dialint.detector.engines.base_models import SMALL_DECODER
from dialint.detector.engines.judge_local import load_judge
from dialint.detector.engines.judge_prompt import JudgePrompt


def verdicts(server: Server, asked: Sequence[Asked]) -> np.ndarray:
    prompt = JudgePrompt.of(SMALL_DECODER)
    _ = prompt.fork
    with ThreadPoolExecutor(16) as pool:
        return np.array(list(pool.map(lambda each: server.verdict("judge", prompt, each.ids), asked)))


def test_adapters_are_swapped_while_the_server_runs(server: Server, adapters: tuple[Path, Path]) -> None:
    """The first one's prompts are in the prefix cache when the second one comes under its name."""
    asked = questions(20, 10)
    expected = [load_judge(str(adapter)).beliefs([each.ids for each in asked]) for adapter in adapters]
    assert np.abs(expected[0] - expected[1]).max(1).min() > 0.02
    for which in (0, 1, 0, 1, 0):
        body = {"lora_name": "judge", "lora_path": str(adapters[which]), "load_inplace": True}
        assert server.post("/load_lora_adapter", body)[0] == 200
        difference = np.abs(verdicts(server, asked) - expected[which]).max()
        print(f"adapter {which + 1}: greatest difference {difference:.2e} on {len(asked)} questions")
        assert difference < 0.01
    assert server.post("/load_lora_adapter", {"lora_name": "judge", "lora_path": str(adapters[0])})[0] == 400
