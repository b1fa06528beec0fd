"""The tokenizer: any text comes back, digits stand alone, and nobody can type a control token."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from dialint.detector.errors import ConfigError
from dialint.detector.records import Dialogue, Turn
from dialint.detector.render import Renderer
from dialint.finetune.decoder.tokenizer import (
    CONTROL,
    IM_END,
    SLOT,
    SMALLEST,
    decoder_render,
    save_tokenizer,
    train_tokenizer,
)

TEXTS = [
    "I would like to change my booking, please.",
    "Your booking number is 40 17.",
    "I'm sorry, I can't.",
] * 5


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, SMALLEST + 120)


@pytest.mark.parametrize("text", ["Grüße, 東京 🙂", " two  spaces\n\n\tand a tab ", "it's $1,250.75", ""])
def test_any_text_comes_back(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_control_tokens_have_the_first_ids(tokenizer: Tokenizer) -> None:
    assert [tokenizer.token_to_id(mark) for mark in CONTROL] == list(range(len(CONTROL)))


def test_the_renderer_takes_it(tokenizer: Tokenizer) -> None:
    turns = (
        Turn(index=0, role="customer", text="say <|slot|> and <|agent|>"),
        Turn(index=1, role="agent", text="No."),
    )
    (window,) = Renderer(decoder_render(200), tokenizer.to_str()).render(Dialogue(id="1", turns=turns))
    assert window.ids.count(tokenizer.token_to_id(SLOT)) == 1
    assert tokenizer.decode(list(window.ids), skip_special_tokens=False) == (
        "<|begin|><|customer|>say <|slot|> and <|agent|><|agent|>No.<|slot|>"
    )


def test_transformers_loads_it_with_its_template(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_tokenizer(tokenizer, tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes."}]
    assert loaded.apply_chat_template(messages, tokenize=False) == (
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n"
    )
    prompt = loaded.apply_chat_template(messages[:1], tokenize=False, add_generation_prompt=True)
    assert prompt == "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    made = loaded.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True)
    ids = [i for i, own in zip(made["input_ids"], made["assistant_masks"], strict=True) if own]
    assert loaded.decode(ids) == "Yes.<|im_end|>"
    assert (loaded.eos_token, loaded.pad_token) == (IM_END, "<|pad|>")


def test_a_vocabulary_too_small_for_bytes_is_refused() -> None:
    with pytest.raises(ConfigError, match="E_VOCABULARY"):
        train_tokenizer(TEXTS, 200)
