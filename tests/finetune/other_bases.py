"""Tiny decoders of other architectures, each with a tokenizer and a way of chatting of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from rude_dialogues import RUDE, SORRY
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from dialint.detector.judge.prompt import load_words

LLAMA_CHAT = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
    "{{ message['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
GEMMA_CHAT = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "<start_of_turn>{{ 'model' if message['role'] == 'assistant' else message['role'] }}\n"
    "{{ message['content'] | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
CONTROL = {
    "llama": ("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"),
    "gemma3_text": ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    "mistral": ("<s>", "</s>", "[INST]", "[/INST]"),
}
"""Of each architecture: what begins a text, what ends an answer, and what else is control."""
CHATS = {"llama": LLAMA_CHAT, "gemma3_text": GEMMA_CHAT, "mistral": None}
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {},
    "gemma3_text": {"sliding_window": 32, "layer_types": ["sliding_attention", "full_attention"]},
    "mistral": {"sliding_window": 4096},
}
"""Only Gemma's layers look less far than a question is long."""
CORPUS = (load_words().task, load_words().answer, SORRY, RUDE, '{"notes":"","errors":[]}')


def written(folder: Path, kind: str) -> Path:
    """A model folder of two layers with random weights."""
    first, last, *_ = CONTROL[kind]
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<pad>", *CONTROL[kind]],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    model.train_from_iterator(CORPUS * 4, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=model, bos_token=first, eos_token=last, pad_token="<pad>"
    )
    tokenizer.chat_template = CHATS[kind]
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    shape = AutoConfig.for_model(
        kind, vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, intermediate_size=64, max_position_embeddings=2048,
        tie_word_embeddings=True, initializer_range=0.2, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        **SHAPES[kind],
    )  # fmt: skip
    AutoModelForCausalLM.from_config(shape).save_pretrained(folder)
    return folder
