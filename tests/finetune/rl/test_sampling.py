"""Sampling and scoring of answers with tiny random decoders, against transformers' own ways."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM

from dialint.detector.engines import packed
from dialint.finetune.decoder.trainer import decoder_config, init_decoder
from dialint.finetune.rl.answers import compute_logprobs, sample
from dialint.finetune.train.adapters import unwrap

VOCABULARY = 60
STOP = 2
PROMPTS = [[5, 9, 3, 14, 7, 7, 21], [11], [8, 30, 4], [40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51]]


def qwen() -> Any:
    return init_decoder(decoder_config(2, VOCABULARY, 128), 0)


def llama() -> Any:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=2, intermediate_size=64, bos_token_id=1, eos_token_id=STOP, pad_token_id=0)
    )  # fmt: skip


def neox() -> Any:
    torch.manual_seed(0)
    return GPTNeoXForCausalLM(
        GPTNeoXConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                      intermediate_size=64, bos_token_id=1, eos_token_id=STOP, pad_token_id=0)
    )  # fmt: skip


def with_adapter(model: Any) -> Any:
    adapted = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=4, target_modules="all-linear"))
    torch.manual_seed(1)
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.2)
    return adapted


MODELS = {"qwen": qwen, "llama": llama, "neox": neox, "adapter": lambda: with_adapter(qwen())}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    """Random weights, widened so that the likely tokens are told apart."""
    made = MODELS[request.param]()
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if weight.dim() == 2 and "lora" not in name:
                weight.mul_(4.0)
    return made.eval()


ONE = pytest.mark.parametrize("model", ["adapter"], indirect=True)
"""For tests that do not depend on the architecture."""


def samples(model: Any, prompts: list[list[int]], n: int, seed: int = 0) -> list[list[tuple[int, ...]]]:
    return sample(model, prompts, n, max_new_tokens=12, stop_ids=[STOP], seed=seed)


def alone(model: Any, prompt: list[int], answer: tuple[int, ...]) -> torch.Tensor:
    """Log-probabilities of an answer from one plain pass over it, shape (tokens,)."""
    logits = model(torch.tensor([[*prompt, *answer]]), use_cache=False).logits[0]
    logprobs = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
    return logprobs.gather(1, torch.tensor(answer)[:, None])[:, 0]


def test_what_is_sure_is_what_transformers_generates_of_each_prompt_alone(model: Any) -> None:
    with torch.no_grad():  # weights of the head that leave no choice
        unwrap(model).get_output_embeddings().weight.mul_(1e4)
    answers = samples(model, PROMPTS, 2)
    for prompt, (answer, again) in zip(PROMPTS, answers, strict=True):
        made = model.generate(
            input_ids=torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            max_new_tokens=12, do_sample=False, eos_token_id=STOP, pad_token_id=0,
        )  # fmt: skip
        assert list(answer) == list(again) == made[0, len(prompt) :].tolist()


@ONE
def test_the_seed_alone_decides(model: Any) -> None:
    once = samples(model, PROMPTS, 3)
    torch.manual_seed(77)
    before = torch.get_rng_state()
    assert samples(model, PROMPTS, 3) == once
    assert torch.equal(torch.get_rng_state(), before)
    assert samples(model, PROMPTS, 3, seed=1) != once
    assert len(set(once[0])) == 3


@ONE
def test_an_answer_ends_with_its_stop_token_or_at_the_limit(model: Any) -> None:
    answers = [answer for group in samples(model, PROMPTS * 8, 4) for answer in group]
    assert all(STOP not in ids[:-1] for ids in answers)
    ended = [ids for ids in answers if ids[-1] == STOP]
    assert ended
    assert all(len(ids) == 12 for ids in answers if ids[-1] != STOP)
    assert any(len(ids) < 12 for ids in ended)


def test_draws_have_the_frequencies_of_the_model_whatever_its_defaults() -> None:
    """One token after one prompt, 4,000 times: each share within five standard errors of its probability."""
    model = qwen().eval()
    model.generation_config.update(top_k=2, repetition_penalty=9.0, temperature=0.1)
    n = 4000
    (group,) = sample(model, [[5, 9]], n, max_new_tokens=1, stop_ids=[], seed=0)
    wanted = torch.softmax(model(torch.tensor([[5, 9]])).logits[0, -1], -1)
    frequencies = torch.bincount(torch.tensor([answer[0] for answer in group]), minlength=VOCABULARY) / n
    assert ((frequencies - wanted).abs() < 5 * (wanted * (1 - wanted) / n).sqrt() + 1e-9).all()
    assert model.generation_config.top_k == 2


@ONE
def test_the_model_comes_back_as_it_was(model: Any) -> None:
    unwrap(model).set_attn_implementation(packed.NAME)
    model.train()
    samples(model, PROMPTS, 2)
    assert model.training
    assert unwrap(model).config._attn_implementation == packed.NAME


def answered(model: Any) -> tuple[list[list[int]], list[tuple[int, ...]]]:
    """Prompts and answers, some prompts alone, some shared and not side by side, one answer of one token."""
    groups = samples(model, PROMPTS, 3)
    pairs = [(prompt, answer) for prompt, group in zip(PROMPTS, groups, strict=True) for answer in group]
    pairs = [pairs[place] for place in (0, 3, 6, 9, 1, 10, 2)] + [(PROMPTS[2], (7,))]
    return [prompt for prompt, _ in pairs], [ids for _, ids in pairs]


@pytest.mark.parametrize("attention", [packed.NAME, "sdpa"])
def test_scores_are_those_of_a_plain_pass(model: Any, attention: str) -> None:
    prompts, answers = answered(model)
    wanted = [alone(model, prompt, answer) for prompt, answer in zip(prompts, answers, strict=True)]
    unwrap(model).set_attn_implementation(attention)
    scores = compute_logprobs(model, prompts, answers)
    assert torch.allclose(scores.logprobs, torch.cat(wanted), atol=1e-4)
    logits = unwrap(model).get_output_embeddings()(scores.states)
    entropies = torch.distributions.Categorical(logits=logits).entropy()
    assert torch.allclose(scores.entropies, entropies, atol=1e-4)
    assert not scores.entropies.requires_grad


def test_gradients_are_the_same_packed_and_padded(model: Any) -> None:
    prompts, answers = answered(model)
    gradients = []
    for attention in (packed.NAME, "sdpa"):
        unwrap(model).set_attn_implementation(attention)
        model.zero_grad()
        scores = compute_logprobs(model, prompts, answers)
        (scores.logprobs * torch.arange(len(scores.logprobs))).sum().backward()
        gradients.append([weight.grad for weight in model.parameters() if weight.grad is not None])
    assert gradients[0]
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-3 * float(one.abs().max()) + 1e-6)


def test_only_answers_go_through_the_head(model: Any) -> None:
    prompts, answers = answered(model)
    unwrap(model).set_attn_implementation(packed.NAME)
    seen: list[int] = []
    unwrap(model).get_output_embeddings().register_forward_hook(
        lambda _, arguments, __: seen.append(arguments[0].shape[1])
    )
    compute_logprobs(model, prompts, answers)
    assert sum(seen) == sum(map(len, answers))
