"""Questions as token ids, on servers of vLLM: its ``/tokenize`` spells the chat, ``/v1/completions`` answers.

Why not chat completions: beside a JSON schema the server writes blanks that training answers do not have,
and gives probability to tokens that only begin a verdict ("e", "n"), so that the verdicts' probabilities are
up to .41 from those of the same weights in this process. Here the verdicts are compared at the tokens of
training. Only an error's answer is generated, behind that verdict and by the grammar of `judge_vllm`; its
request finds the first one's prefix in the cache. No tokenizer is needed at hand.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialint.detector.engines.answer_grammar import answer_grammar, narrow_schema
from dialint.detector.engines.chat_completions import PROBE, Completion, token_count
from dialint.detector.engines.delivery import RequestRefused, TransientFailure
from dialint.detector.engines.openai_server import Address, Response
from dialint.detector.engines.spelling import LETTER, escape_control_tokens
from dialint.detector.engines.verdict_tokens import find_fork, verdict_softmax
from dialint.detector.judge import (
    OPENING,
    SYSTEM,
    VERDICTS,
    JudgeRequest,
    JudgeVerdict,
    compact_json,
    fold_system,
    verdict_json,
)

Post = Callable[[str, Mapping[str, Any]], Awaitable[Response]]
"""Sends a JSON body to a URL; raises `TransientFailure` where the response is worth another try."""


@dataclass(frozen=True, kw_only=True)
class TokenCompletions:
    """Completions by one model of a server. Answers begin with `shared`, verdicts with the tokens `first`.
    `folds_system`: the chat template shows no system message. `context`: tokens that prompt and answer may
    have together, None if the server does not say."""

    post: Post
    address: Address
    model: str
    shared: Sequence[int]
    first: Sequence[int]
    folds_system: bool
    context: int | None

    @classmethod
    async def open(cls, post: Post, address: Address, model: str) -> TokenCompletions | None:
        """None if the server or its model does not take questions in this form."""

        async def tokenize(**prompt: Any) -> Mapping[str, Any]:
            return await _tokenize(post, address, {"model": model, **prompt})

        question = {"role": "user", "content": "?"}
        try:
            bare = await tokenize(messages=[question])
            fork = find_fork(
                [
                    (await tokenize(prompt=f'{OPENING}{verdict}"', add_special_tokens=False))["tokens"]
                    for verdict in VERDICTS
                ]
            )
            if fork is None:
                return None
            try:
                system = await tokenize(messages=[{"role": "system", "content": SYSTEM}, question])
            except RequestRefused:  # by the chat template
                system = bare
            most = bare.get("max_model_len")
            completions = cls(
                post=post,
                address=address,
                model=model,
                shared=fork[0],
                first=fork[1],
                folds_system=len(system["tokens"]) < len(bare["tokens"]) + 5,
                context=most if isinstance(most, int) and most > 0 else None,
            )
            probe = await completions.complete(PROBE, PROBE.max_tokens)
        except RequestRefused:
            return None
        return completions if probe.probabilities is not None and probe.text else None

    async def complete(self, request: JudgeRequest, max_tokens: int) -> Completion:
        """The answer to a request, compact JSON of its schema: as long as the room allows, else what the
        schema requires. A prompt counts once, though it is sent up to three times: what later requests
        compute of it anew is not called cached.

        Raises:
            TransientFailure: worth another try.
            RequestRefused: not worth one.
        """
        messages: Any = fold_system(request.messages) if self.folds_system else list(request.messages)
        body = {"model": self.model, "messages": messages}
        ids = (await _tokenize(self.post, self.address, body))["tokens"]
        computed = output_tokens = 0
        probabilities: tuple[float, float, float] | None = None
        verdict: JudgeVerdict | None = None
        if request.wants_verdict:
            choice, usage = await self._generate([*ids, *self.shared], 1, {
                "logprobs": len(self.first), "logprob_token_ids": self.first, "allowed_token_ids": self.first,
                "return_tokens_as_token_ids": True,
            })  # fmt: skip
            probabilities = self._probabilities(choice)
            computed, output_tokens = usage
        if probabilities is not None:
            verdict = VERDICTS[max(range(len(VERDICTS)), key=probabilities.__getitem__)]
        quoted = None if request.quoted is None else escape_control_tokens(compact_json(request.quoted))[1:-1]
        letters = None if quoted is None else LETTER.findall(quoted)
        text, is_cut = "", True
        if probabilities is not None and verdict is not None and verdict != "error":
            text, is_cut = verdict_json(verdict, probabilities[0]), False
        for brief in () if text else (False, True):
            grammar = answer_grammar(narrow_schema(request.schema, verdict, brief=brief), letters)
            choice, usage = await self._generate(
                ids, max_tokens, {"structured_outputs": {"grammar": grammar}}
            )
            computed, output_tokens = computed + usage[0], output_tokens + usage[1]
            is_cut = choice.get("finish_reason") != "stop"
            if not is_cut and isinstance(choice.get("text"), str):
                text = choice["text"]
                break
        return Completion(
            text=text,
            probabilities=probabilities,
            cut=is_cut,
            prompt_tokens=len(ids),
            cached_tokens=max(0, len(ids) - computed),
            output_tokens=output_tokens,
        )

    async def _generate(
        self, prompt: Sequence[int], max_tokens: int, options: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], tuple[int, int]]:
        """The first choice, and the tokens that were computed of the prompt and of the answer."""
        body = {"model": self.model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, **options}
        response = await self.post(f"{self.address.url}/completions", body)
        if response.status != 200:
            raise RequestRefused(response)
        data = response.data if isinstance(response.data, Mapping) else {}
        choices, usage = data.get("choices"), data.get("usage")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            raise TransientFailure("its answer is no completion")
        usage = usage if isinstance(usage, Mapping) else {}
        details = usage.get("prompt_tokens_details")
        cached = token_count(details if isinstance(details, Mapping) else {}, "cached_tokens")
        return choices[0], (len(prompt) - cached, token_count(usage, "completion_tokens"))

    def _probabilities(self, choice: Mapping[str, Any]) -> tuple[float, float, float] | None:
        """Of `VERDICTS`; None if the server did not give every token's."""
        content = choice.get("logprobs")
        top = content.get("top_logprobs") if isinstance(content, Mapping) else None
        values = top[0] if isinstance(top, list) and top and isinstance(top[0], Mapping) else {}
        logprobs = [values.get(f"token_id:{token}") for token in self.first]
        return (
            verdict_softmax([float(value) for value in logprobs if value is not None])
            if None not in logprobs
            else None
        )


async def _tokenize(post: Post, address: Address, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response, with ``tokens``."""
    response = await post(f"{address.root_url}/tokenize", body)
    data = response.data
    tokens = data.get("tokens") if isinstance(data, Mapping) else None
    if response.status != 200 or not isinstance(tokens, list) or not tokens:
        raise RequestRefused(response)
    return data  # type: ignore[no-any-return]
