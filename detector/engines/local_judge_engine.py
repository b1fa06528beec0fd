"""`local:`, the judge in this process with transformers, as a `JudgeEngine`.

Details get the probabilities of their verdicts from one forward pass; only an error's answer is generated,
its quote word for word. Answers to screens are generated under `ScreenConstraint`, so that any model's answer
fits the schema. On a processor what prompts have in common is computed once for each of these three
(`prefix_reuse`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from dialint.detector.artifacts import MANIFEST, fingerprint, package_versions, read_manifest
from dialint.detector.engines.judge_local import LocalJudge, load_judge, resolve_judge
from dialint.detector.engines.screen_constraint import ScreenConstraint
from dialint.detector.judge import VERDICTS, verdict_json
from dialint.detector.judge.config import PROMPT_FILE
from dialint.detector.judge.engine import JudgeReply, JudgeRequest

BASE_CONTEXT = 8192
"""Most tokens of a prompt for a base that was not trained here: longer ones take too much memory."""
ANSWER_TOKENS = 400


class LocalEngine:
    """Asks a `LocalJudge`. `weights` is the fingerprint of its files."""

    is_remote = False
    notes = ()

    def __init__(self, judge: LocalJudge, name: str, weights: str, max_prompt_tokens: int) -> None:
        self.judge = judge
        self.name = name
        self.max_prompt_tokens = max_prompt_tokens
        prompt = judge.prompt
        versions = package_versions("torch", "transformers")
        self.fingerprint = fingerprint(
            [weights, str(prompt.tokenizer.chat_template), versions, judge.is_bf16]
        )

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return len(self.judge.prompt.of_chat(messages))

    def spell(self, text: str) -> str:
        return self.judge.prompt.spelling(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        prompts = [self.judge.prompt.of_chat(request.messages) for request in requests]
        replies: dict[int, JudgeReply] = {}
        for is_detail, answer in ((True, self._details), (False, self._screens)):
            places = [index for index, request in enumerate(requests) if request.wants_verdict is is_detail]
            if places:
                started_s = monotonic()
                results = answer([prompts[place] for place in places], [requests[place] for place in places])
                seconds = (monotonic() - started_s) / len(places)
                for place, reply in zip(places, results, strict=True):
                    replies[place] = replace(reply, seconds=seconds)
        return [replies[index] for index in range(len(requests))]

    def _details(
        self, prompts: Sequence[Sequence[int]], requests: Sequence[JudgeRequest]
    ) -> list[JudgeReply]:
        beliefs, computed = self.judge.beliefs_with_reuse(prompts)
        verdicts = beliefs.argmax(axis=1).tolist()
        texts = {
            index: verdict_json(VERDICTS[verdict], float(beliefs[index, 0]))
            for index, verdict in enumerate(verdicts)
        }
        errors = [index for index, verdict in enumerate(verdicts) if VERDICTS[verdict] == "error"]
        if errors:
            most = max(requests[index].max_tokens for index in errors)
            written = self.judge.answers(
                [prompts[index] for index in errors],
                [requests[index].quoted or "" for index in errors],
                [VERDICTS.index("error")] * len(errors),
                most,
            )
            texts |= dict(zip(errors, written.texts, strict=True))
            for index, n in zip(errors, written.computed, strict=True):
                computed[index] += n
        return [
            JudgeReply(
                text=texts[index],
                verdict_probabilities=_as_triple(beliefs[index]),
                prompt_tokens=len(prompt),
                # a prompt counts once, though an error's is read twice
                cached_tokens=max(0, len(prompt) - computed[index]),
                output_tokens=self._count(texts[index]),
            )
            for index, prompt in enumerate(prompts)
        ]

    def _screens(
        self, prompts: Sequence[Sequence[int]], requests: Sequence[JudgeRequest]
    ) -> list[JudgeReply]:
        spellings = self.judge.verbatim
        rules = [ScreenConstraint(spellings, request.schema, self.judge.stop_tokens) for request in requests]
        most = max(request.max_tokens for request in requests)
        written = self.judge.generate_constrained(prompts, rules, most)
        return [
            JudgeReply(
                text=text,
                prompt_tokens=len(prompt),
                cached_tokens=len(prompt) - n,
                output_tokens=self._count(text),
            )
            for text, n, prompt in zip(written.texts, written.computed, prompts, strict=True)
        ]

    def _count(self, text: str) -> int:
        return len(self.judge.prompt.answer_ids(text, ended=False))

    def close(self) -> None:
        """Nothing is held but memory."""


def _as_triple(row: Any) -> tuple[float, float, float]:
    error, no_error, not_applicable = (float(value) for value in row)
    total = error + no_error + not_applicable
    return error / total, no_error / total, not_applicable / total


def open_local_judge(
    folder: str, *, context: int | None = None, device: str = "cpu", bf16: bool = False
) -> LocalEngine:
    """The engine for a base model or a trained judge. `context` is the model's, answers included; without it
    what a judge was trained with, or what a base has, up to `BASE_CONTEXT`.

    Raises:
        ConfigError: E_BASE, E_ADAPTER or E_JUDGE.
    """
    source = resolve_judge(folder)
    judge = load_judge(folder, device=device, bf16=bf16)
    if context is not None:
        room = context - ANSWER_TOKENS
    elif (source.folder / PROMPT_FILE).exists():
        room = judge.prompt.max_tokens
    else:
        own = int(getattr(judge.model.config, "max_position_embeddings", BASE_CONTEXT))
        room = min(own, BASE_CONTEXT) - ANSWER_TOKENS
    manifest = source.folder / MANIFEST
    weights = fingerprint(
        [source.sha256, read_manifest(manifest) if source.adapter is not None and manifest.exists() else None]
    )
    return LocalEngine(judge, Path(folder).name, weights, max(room, 128))
