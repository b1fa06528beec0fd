"""The byte-level BPE tokenizer of the small decoder, and its control tokens.

Learns merges from the text of dialogues; any bytes can be encoded, digits one by one. Every control token has
the form ``<|name|>``; the renderer and `dialint.finetune.decoder.text` never encode text as one, as they
remove added tokens from the tokenizer first.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import atomic_file, write_json
from dialint.detector.errors import ConfigError
from dialint.detector.records import Role
from dialint.detector.render import RenderConfig, load_tokenizer, visible_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PAD, BEGIN, END = "<|pad|>", "<|begin|>", "<|end|>"
SLOT, DIALOGUE_SLOT = "<|slot|>", "<|dialogue_slot|>"
IM_START, IM_END = "<|im_start|>", "<|im_end|>"
ROLES: dict[Role, str] = {
    "customer": "<|customer|>",
    "agent": "<|agent|>",
    "bot": "<|bot|>",
    "system": "<|system|>",
}
CONTROL = (PAD, BEGIN, END, *ROLES.values(), SLOT, DIALOGUE_SLOT, IM_START, IM_END)
"""All control tokens; their ids are their places here."""
SMALLEST = len(CONTROL) + 256

PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""No merge crosses these pieces: words with one sign or space before them, single digits, signs,
spaces. Source: the tokenizer of Qwen2 (Apache-2.0)."""

CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message['role'] + '\\n' }}"
    "{%- if message['role'] == 'assistant' %}"
    "{%- generation %}{{- message['content'] + '<|im_end|>' }}{%- endgeneration %}{{- '\\n' }}"
    "{%- else %}{{- message['content'] + '<|im_end|>\\n' }}{%- endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
"""ChatML; the assistant's text is marked, so that a trainer can compute the loss on it alone."""


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Trains a tokenizer of at most `vocabulary` tokens, fewer if no more pairs of the text repeat.

    Raises:
        ConfigError: `vocabulary` does not hold all bytes and control tokens.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    if vocabulary < SMALLEST:
        raise ConfigError("E_VOCABULARY", f"--vocabulary {vocabulary}: the least is {SMALLEST}")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=[AddedToken(mark, special=True, normalized=False) for mark in CONTROL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((visible_text(text)[0] for text in texts), trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes ``tokenizer.json`` and a ``tokenizer_config.json`` that transformers' AutoTokenizer reads."""
    with atomic_file(folder / "tokenizer.json") as file:
        file.write(tokenizer.to_str().encode())
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BEGIN,
        "eos_token": IM_END,  # what ends an answer; a dialogue ends with END
        "pad_token": PAD,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    write_json(folder / "tokenizer_config.json", config)


def decoder_render(context_tokens: int) -> RenderConfig:
    """Returns the rendering of a scanner with the small decoder as its backbone: that of pre-training."""
    return RenderConfig(
        context_tokens=context_tokens,
        roles={role: ROLES[role] for role in ("customer", "agent", "bot")},
        begin=BEGIN,
        slot=SLOT,
    )


def add_control_tokens(tokenizer_json: str, marks: Iterable[str]) -> str:
    """Adds `marks` to a base's ``tokenizer.json``, if it lacks them, as new tokens after all of its own."""
    from tokenizers import AddedToken

    tokenizer = load_tokenizer(tokenizer_json)
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    written: str = tokenizer.to_str()
    return written
