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

from dialint.detector.engines.answer_grammar import (
    answer_grammar,
    find_fork,
    narrow_schema,
    verdict_softmax,
)
from dialint.detector.engines.chat_completions import PROBE, UNREADABLE, Completion, count_text
from dialint.detector.engines.json_escapes import LETTER, escape_control_tokens
from dialint.detector.engines.model_server import Address, RequestRefused
from dialint.detector.engines.server_answers import TextChoice, TextCompletion, Tokenized, TokenUsage, parse
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

Post = Callable[[str, Mapping[str, Any]], Awaitable[bytes]]
"""Sends a JSON body to a URL and returns the body of the answer; raises `RequestRefused`, or another error
where the answer is worth another try."""


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

        async def tokenize(**prompt: Any) -> Tokenized:
            body = await post(f"{address.root_url}/tokenize", {"model": model, **prompt})
            return parse(Tokenized, body) or Tokenized(tokens=[0])

        question = {"role": "user", "content": "?"}
        try:
            bare = await tokenize(messages=[question])
            fork = find_fork(
                [
                    (await tokenize(prompt=f'{OPENING}{verdict}"', add_special_tokens=False)).tokens
                    for verdict in VERDICTS
                ]
            )
            if fork is None:
                return None
            try:
                system = await tokenize(messages=[{"role": "system", "content": SYSTEM}, question])
            except RequestRefused:  # by the chat template
                system = bare
            completions = cls(
                post=post,
                address=address,
                model=model,
                shared=fork[0],
                first=fork[1],
                folds_system=len(system.tokens) < len(bare.tokens) + 5,
                context=bare.max_model_len,
            )
            probe = await completions.complete(PROBE, PROBE.max_tokens, brief=False)
        except RequestRefused:
            return None
        return completions if probe.probabilities is not None and probe.text else None

    async def complete(self, request: JudgeRequest, max_tokens: int, *, brief: bool) -> Completion:
        """The answer to a request, compact JSON of its schema, of which a `brief` one has no more than the
        required. Without text where the tokens do not state the verdict's probabilities. A prompt counts
        once, though it is sent up to twice: what the second request computes of it anew is not called cached.

        Raises:
            RequestRefused: not worth another try.
        """
        messages: Any = fold_system(request.messages) if self.folds_system else list(request.messages)
        body = {"model": self.model, "messages": messages}
        tokenized = parse(Tokenized, await self.post(f"{self.address.root_url}/tokenize", body))
        if tokenized is None:
            return UNREADABLE
        ids = tokenized.tokens
        computed = output_tokens = 0
        probabilities: tuple[float, float, float] | None = None
        verdict: JudgeVerdict | None = None
        text, is_cut, is_readable = "", False, True
        if request.wants_verdict:
            choice, usage = await self._generate([*ids, *self.shared], 1, {
                "logprobs": len(self.first), "logprob_token_ids": self.first, "allowed_token_ids": self.first,
                "return_tokens_as_token_ids": True,
            })  # fmt: skip
            computed, output_tokens = usage
            probabilities = self._probabilities(choice)
            is_readable = probabilities is not None
        if probabilities is not None:
            verdict = VERDICTS[max(range(len(VERDICTS)), key=probabilities.__getitem__)]
            if verdict != "error":
                text = verdict_json(verdict, probabilities[0])
        if is_readable and not text:
            quoted = None
            if request.quoted is not None:
                quoted = LETTER.findall(escape_control_tokens(compact_json(request.quoted))[1:-1])
            grammar = answer_grammar(narrow_schema(request.schema, verdict, brief=brief), quoted)
            choice, usage = await self._generate(
                ids, max_tokens, {"structured_outputs": {"grammar": grammar}}
            )
            computed, output_tokens = computed + usage[0], output_tokens + usage[1]
            is_readable = choice is not None
            is_cut = choice is not None and choice.finish_reason != "stop"
            text = choice.text or "" if choice is not None and not is_cut else ""
        return Completion(
            text=text,
            probabilities=probabilities,
            cut=is_cut,
            is_readable=is_readable,
            prompt_tokens=len(ids),
            cached_tokens=max(0, len(ids) - computed),
            output_tokens=output_tokens,
        )

    async def _generate(
        self, prompt: Sequence[int], max_tokens: int, options: Mapping[str, Any]
    ) -> tuple[TextChoice | None, tuple[int, int]]:
        """The first choice, if there is one, and the tokens that were computed of the prompt and of the
        answer."""
        body = {"model": self.model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, **options}
        completion = parse(TextCompletion, await self.post(f"{self.address.url}/completions", body))
        if completion is None:
            return None, (len(prompt), max_tokens)
        choice, usage = completion.choices[0], completion.usage or TokenUsage()
        written = min(max_tokens, usage.completion_tokens or count_text(choice.text or ""))
        return choice, (len(prompt) - usage.cached_tokens, written)

    def _probabilities(self, choice: TextChoice | None) -> tuple[float, float, float] | None:
        """Of `VERDICTS`; None if the server did not give every token's."""
        top = choice.logprobs.top_logprobs[:1] if choice is not None and choice.logprobs is not None else []
        logprobs = [each.get(f"token_id:{token}") for each in top for token in self.first]
        known = [value for value in logprobs if value is not None]
        return verdict_softmax(known) if known and len(known) == len(logprobs) else None
