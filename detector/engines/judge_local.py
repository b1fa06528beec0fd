"""`local:`, the LLM judge in this process with transformers: probabilities of verdicts, and whole answers.

Probabilities are those of the tokens in which the verdicts differ, from one forward pass without generation.
Only an error's answer is generated, greedily behind that verdict, its quote word for word. Answers to screens
are generated under `ScreenConstraint`, so that any model's answer fits the schema. On a processor what
prompts have in common is computed once (`prefix_reuse`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from transformers import LogitsProcessorList

from dialint.detector.artifacts import MANIFEST, fingerprint, package_versions, read_manifest
from dialint.detector.engines import packed, prefix_reuse
from dialint.detector.engines.base_models import load_adapter, load_base_model
from dialint.detector.engines.equivalence_check import equivalence_error
from dialint.detector.engines.judge_prompt import JudgePrompt, load_prompt, resolve_judge
from dialint.detector.engines.local import fill_rows, resolve_device
from dialint.detector.engines.quote_constraint import AllowedTokens, ScreenConstraint, TokenSpellings
from dialint.detector.judge import OPENING, VERDICTS, verdict_json
from dialint.detector.judge.config import PROMPT_FILE, JudgeConfig
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest

ROW_TOKENS = 8192
"""Tokens of prompts that go through the model together."""
MAX_ANSWER_TOKENS = 160
SHORT_ANSWER_TOKENS = 32
BASE_CONTEXT = 8192
"""Most tokens of a prompt for a base that was not trained here: longer ones take too much memory."""
ANSWER_TOKENS = 400
"""Of the context that are kept for the answer."""


@dataclass(frozen=True)
class Written:
    """Answers, and how many tokens of each prompt were computed for them."""

    texts: list[str]
    computed: list[int]


class LocalJudge:
    """A causal language model (with or without adapters) that answers questions; a `JudgeEngine`. `weights`
    is the fingerprint of its files."""

    is_remote = False
    notes: Sequence[str] = ()

    def __init__(
        self,
        model: Any,
        prompt: JudgePrompt,
        *,
        bf16: bool = False,
        name: str = "",
        weights: str = "",
        max_prompt_tokens: int = BASE_CONTEXT,
    ) -> None:
        self.model = model
        self.prompt = prompt
        self.name = name
        self.max_prompt_tokens = max_prompt_tokens
        self._weights = weights
        self._bf16 = bf16
        self._own = "sdpa" if self._bare._supports_sdpa else "eager"
        longest = prompt.max_tokens + len(prompt.fork[0])
        self._packed = equivalence_error(self._bare.base_model, longest) is None

    @property
    def fingerprint(self) -> str:
        """Hash of weights, chat template, precision and libraries."""
        versions = package_versions("torch", "transformers")
        return fingerprint([self._weights, str(self.prompt.tokenizer.chat_template), versions, self._bf16])

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return len(self.prompt.of_chat(messages))

    def spell(self, text: str) -> str:
        return self.prompt.spelling(text)

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        prompts = [self.prompt.of_chat(request.messages) for request in requests]
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
        beliefs, computed = self.beliefs_with_reuse(prompts)
        verdicts = beliefs.argmax(axis=1).tolist()
        texts = {
            index: verdict_json(VERDICTS[verdict], float(beliefs[index, 0]))
            for index, verdict in enumerate(verdicts)
        }
        errors = [index for index, verdict in enumerate(verdicts) if VERDICTS[verdict] == "error"]
        if errors:
            most = max(requests[index].max_tokens for index in errors)
            written = self.answers(
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
        spellings = self.verbatim
        rules = [ScreenConstraint(spellings, request.schema, self.stop_tokens) for request in requests]
        most = max(request.max_tokens for request in requests)
        written = self.generate_constrained(prompts, rules, most)
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
        return len(self.prompt.answer_ids(text, ended=False))

    def close(self) -> None:
        """Nothing is held but memory."""

    @property
    def _bare(self) -> Any:
        """The language model inside adapters, or the model itself."""
        return self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        device: torch.device = next(iter(self.model.parameters())).device
        return device

    def beliefs(self, prompts: Sequence[Sequence[int]]) -> np.ndarray:
        """What it believes of each prompt, shape (prompts, verdicts), in the order of `VERDICTS`."""
        shared, first = self.prompt.fork
        rows = [[*ids, *shared] for ids in prompts]
        result = np.zeros((len(rows), len(VERDICTS)))
        last_logits = self._last_logits_packed if self._packed else self._last_logits_padded
        with self._reading(packed.NAME if self._packed else self._own):
            for positions in fill_rows([len(row) for row in rows], ROW_TOKENS):
                logits = last_logits([rows[position] for position in positions])
                result[positions] = torch.softmax(logits[:, first], -1).cpu().numpy()
        return result

    def beliefs_with_reuse(self, prompts: Sequence[Sequence[int]]) -> tuple[np.ndarray, list[int]]:
        """As `beliefs`, and how many tokens of each prompt were computed; where `_can_reuse`, what prompts
        have in common is computed once."""
        if not prompts or not self._can_reuse:
            return self.beliefs(prompts), [len(prompt) for prompt in prompts]
        shared, first = self.prompt.fork
        with self._reading(self._own):
            logits, computed = prefix_reuse.last_logits(
                self.model, [[*ids, *shared] for ids in prompts], self.device
            )
        probabilities = torch.softmax(torch.stack(logits)[:, first], -1).cpu().numpy().astype(float)
        return probabilities, [min(n, len(prompt)) for n, prompt in zip(computed, prompts, strict=True)]

    def answers(
        self,
        prompts: Sequence[Sequence[int]],
        texts: Sequence[str],
        verdicts: Sequence[int],
        max_tokens: int = MAX_ANSWER_TOKENS,
    ) -> Written:
        """The text of each answer after its forced verdict, an index into `VERDICTS`.

        Its quote is a part of the turn in `texts`, as the prompt shows it. Only an error has evidence to
        write; the others get `SHORT_ANSWER_TOKENS` at most.
        """
        written = Written([""] * len(prompts), [0] * len(prompts))
        with self._reading(self._own):
            for verdict, verdict_name in enumerate(VERDICTS):
                prefix = self.prompt.answer_ids(f'{OPENING}{verdict_name}"', ended=False)[:-1]
                requested = [index for index, own in enumerate(verdicts) if own == verdict]
                most = max_tokens if verdict_name == "error" else min(max_tokens, SHORT_ANSWER_TOKENS)
                rules = [self.verbatim.of(texts[index]) for index in requested]
                self._write(written, requested, prompts, prefix, most, rules)
        return written

    def generate_constrained(
        self, prompts: Sequence[Sequence[int]], rules: Sequence[AllowedTokens], max_tokens: int
    ) -> Written:
        """Answers written from their beginning with the tokens that each one's rule allows."""
        written = Written([""] * len(prompts), [0] * len(prompts))
        with self._reading(self._own):
            self._write(written, range(len(prompts)), prompts, [], max_tokens, rules)
        return written

    def _write(
        self,
        written: Written,
        places: Sequence[int],
        prompts: Sequence[Sequence[int]],
        prefix: list[int],
        max_tokens: int,
        rules: Sequence[AllowedTokens],
    ) -> None:
        """Fills in the answers of the prompts at `places`, one rule each."""
        if not places:
            return
        rows = [prompts[place] for place in places]
        if self._can_reuse:
            answers, computed = prefix_reuse.write_answers(
                self.model,
                [[*ids, *prefix] for ids in rows],
                self.device,
                lambda row, ids, scores: _allow(rules[row], [*prefix, *ids], scores),
                self.stop_tokens,
                max_tokens,
            )
        else:
            answers, computed = [[] for _ in rows], [len(ids) for ids in rows]
            for group in fill_rows([len(ids) for ids in rows], ROW_TOKENS):
                own = [rules[row] for row in group]
                generated = self._generate([rows[row] for row in group], prefix, max_tokens, own)
                for row, ids in zip(group, generated, strict=True):
                    answers[row] = ids
        for place, ids, n in zip(places, answers, computed, strict=True):
            text = self.prompt.tokenizer.decode([*prefix, *ids], skip_special_tokens=True)
            written.texts[place], written.computed[place] = str(text), min(n, len(prompts[place]))

    @property
    def _can_reuse(self) -> bool:
        """Whether what prompts have in common is computed once: on a processor in float32. Elsewhere prompts
        go through the model side by side."""
        return not self._bf16 and self.device.type == "cpu" and prefix_reuse.can_crop(self._bare)

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        """The tokens with which an answer ends, ascending."""
        ends = self.model.generation_config.eos_token_id
        stops = {self.prompt.tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
        return tuple(sorted(stops))

    @contextmanager
    def _reading(self, attention: str) -> Iterator[None]:
        """The model in evaluation, without gradients, with this attention; as it was afterwards."""
        bare = self._bare
        training, before = self.model.training, bare.config._attn_implementation
        self.model.eval()
        bare.set_attn_implementation(attention)
        kind = self.device.type
        try:
            with torch.no_grad(), torch.autocast(kind, torch.bfloat16, enabled=self._bf16):
                yield
        finally:
            bare.set_attn_implementation(before)
            self.model.train(training)

    def _last_logits_packed(self, rows: list[list[int]]) -> torch.Tensor:
        """Logits behind the last token of each row, shape (rows, tokens of the vocabulary)."""
        row = packed.pack(rows, 0).to(self.device)
        last = row.bounds[1:] - 1
        output = self.model(
            input_ids=row.ids,
            position_ids=row.positions,
            cu_seq_lens_q=row.bounds,
            logits_to_keep=last.to(self.device),
            use_cache=False,
        )
        logits: torch.Tensor = output.logits[0].float()
        return logits

    def _last_logits_padded(self, rows: list[list[int]]) -> torch.Tensor:
        """The same where attention is not packed."""
        ids, mask = self._pad(rows)
        output = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            logits_to_keep=1,
            use_cache=False,
        )
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def _pad(self, rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and mask of rows that end together, each of shape (rows, tokens)."""
        size, pad = max(map(len, rows)), self.prompt.tokenizer.pad_token_id
        ids = [[pad] * (size - len(row)) + row for row in rows]
        mask = [[0] * (size - len(row)) + [1] * len(row) for row in rows]
        return torch.tensor(ids, device=self.device), torch.tensor(mask, device=self.device)

    @cached_property
    def verbatim(self) -> TokenSpellings:
        """What each token spells."""
        return TokenSpellings(self.prompt.tokenizer)

    def _generate(
        self,
        prompts: Sequence[Sequence[int]],
        prefix: list[int],
        max_tokens: int,
        rules: Sequence[AllowedTokens],
    ) -> list[list[int]]:
        """What is written greedily behind each prompt and the answer's beginning, up to any token with which
        the base ends an answer."""
        stops = self.stop_tokens
        ids, mask = self._pad([[*prompt, *prefix] for prompt in prompts])
        first = ids.shape[1] - len(prefix)

        def constrain(token_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.Tensor:
            """The likeliest of what the quote may hold: of shape (rows, vocabulary)."""
            for row, rule in enumerate(rules):
                scores[row] = _allow(rule, token_ids[row, first:].tolist(), scores[row])
            return scores

        output = self.model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=max_tokens,
            do_sample=False,
            logits_processor=LogitsProcessorList([constrain]),
            eos_token_id=list(stops),
            pad_token_id=self.prompt.tokenizer.pad_token_id,
            temperature=None,
            top_p=None,
            top_k=None,
        )
        written = output[:, ids.shape[1] :].tolist()
        return [list(takewhile(lambda token: token not in stops, row)) for row in written]


def _allow(rule: AllowedTokens, ids: Sequence[int], scores: torch.Tensor) -> torch.Tensor:
    """The logits of a token after `ids`, shape (vocabulary,), -inf for what a rule does not allow."""
    allowed = rule(ids)
    if allowed is None:
        return scores
    retained = torch.full_like(scores, -torch.inf)
    retained[allowed] = scores[allowed]
    return retained


def _as_triple(row: Any) -> tuple[float, float, float]:
    error, no_error, not_applicable = (float(value) for value in row)
    total = error + no_error + not_applicable
    return error / total, no_error / total, not_applicable / total


def load_judge(
    model: str, *, device: str = "cpu", bf16: bool = False, context: int | None = None
) -> LocalJudge:
    """The judge in a model folder, or a base by its name. `context` is the model's, answers included; without
    it what a judge was trained with, or what a base has, up to `BASE_CONTEXT`.

    Raises:
        ConfigError: E_BASE, E_ADAPTER or E_JUDGE.
    """
    source = resolve_judge(model)
    prompt = load_prompt(source)
    network: Any = load_base_model(source, device=device, bf16=bf16)
    if source.adapter is not None:
        network = load_adapter(network, source.adapter)
    if context is not None:
        room = context - ANSWER_TOKENS
    elif (source.folder / PROMPT_FILE).exists():
        room = prompt.max_tokens
    else:
        own = int(getattr(network.config, "max_position_embeddings", BASE_CONTEXT))
        room = min(own, BASE_CONTEXT) - ANSWER_TOKENS
    manifest = source.folder / MANIFEST
    has_manifest = source.adapter is not None and manifest.exists()
    return LocalJudge(
        network.eval(),
        prompt,
        bf16=bf16,
        name=Path(model).name,
        weights=fingerprint([source.sha256, read_manifest(manifest) if has_manifest else None]),
        max_prompt_tokens=max(room, 128),
    )


def open_judge(where: str, config: JudgeConfig, *, device: str, bf16: bool | None) -> JudgeEngine:
    """The engine of ``--judge local:FOLDER``.

    Raises:
        ConfigError: E_BASE, E_ADAPTER or E_JUDGE.
    """
    device = resolve_device(device)
    is_bf16 = device != "cpu" if bf16 is None else bf16
    return load_judge(where, device=device, bf16=is_bf16, context=config.judge_context)
