"""Quotes held to the turn: whatever a model would like to write, its quote is a part of the turn."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from dialint.detector.engines.quote_constraint import MARK, QuoteConstraint, TokenSpellings
from dialint.detector.judge import Answer, answer_json, locate_quote, parse_answer

TURNS = [
    "I'll let you go, bye.",
    'She said: "no refunds", \\ and that was it.',
    "Erste Zeile\nzweite Zeile\täöü 日本語 👍🏽 fertig",
    "a",
    'quote":"x"," and {"verdict":"error"}',
    " \n x \n ",
]


def byte_level() -> Any:
    return AutoTokenizer.from_pretrained(Path("finetune/small_decoder"))


def byte_fallback() -> Any:
    """Llama's and Gemma's kind: blanks as a letter of their own, bytes for what the vocabulary lacks."""
    made = Tokenizer(models.BPE(byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=["<pad>", "<end>", *bytes_])
    made.train_from_iterator(
        [answer_json(Answer(verdict="error", probability=0.9, quote=turn)) for turn in TURNS] * 3, trainer
    )
    made = Tokenizer.from_str(
        json.dumps(told := json.loads(made.to_str())).replace(
            json.dumps(told["added_tokens"]),
            json.dumps([token for token in told["added_tokens"] if token["id"] < 2]),
        )
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<end>")


@pytest.fixture(scope="module", params=[byte_level, byte_fallback])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture(scope="module")
def verbatim(tokenizer: Any) -> TokenSpellings:
    return TokenSpellings(tokenizer)


def test_tokens_spell_what_they_decode_to(tokenizer: Any, verbatim: TokenSpellings) -> None:
    for turn in TURNS:
        ids = tokenizer(turn, add_special_tokens=False)["input_ids"]
        assert b"".join(verbatim.spelled[token] for token in ids).decode() == turn


@pytest.mark.parametrize("turn", TURNS)
def test_every_quote_of_the_turn_can_be_written(tokenizer: Any, verbatim: TokenSpellings, turn: str) -> None:
    held = verbatim.of(turn)
    for start in range(len(turn)):
        for end in {start + 1, min(start + 7, len(turn)), len(turn)} - {start}:
            if end <= len(turn) and turn[start:end].strip():
                said = answer_json(
                    Answer(verdict="error", probability=0.9, quote=turn[start:end], severity="S2")
                )
                ids = tokenizer(said, add_special_tokens=False)["input_ids"]
                for size, token in enumerate(ids):
                    allowed = held(ids[:size])
                    assert allowed is None or token in allowed, (turn[start:end], size)


def scribbled(verbatim: TokenSpellings, held: QuoteConstraint, ids: list[int], rng: Random) -> bytes:
    """What comes of drawing among what is allowed, up to where the quote is closed."""
    ids = list(ids)
    for _ in range(400):
        allowed = held(ids)
        if allowed is None:
            break
        ids.append(rng.choice(allowed))
    return b"".join(verbatim.spelled[token] for token in ids)


@pytest.mark.parametrize("turn", TURNS)
def test_no_other_quote_can_be_written(tokenizer: Any, verbatim: TokenSpellings, turn: str) -> None:
    """Random tokens of those allowed: the quote always closes, and is the turn's."""
    rng = Random(1)
    begun = '{"verdict":"error","probability":0.9,'
    held = verbatim.of(turn)
    for _ in range(60):
        ids = tokenizer(begun + MARK.decode(), add_special_tokens=False)["input_ids"]
        said = scribbled(verbatim, held, ids, rng)
        quote = said.partition(MARK)[2].decode()
        value, _ = json.JSONDecoder().raw_decode('"' + quote)
        assert value.strip()
        answer = parse_answer(answer_json(Answer(verdict="error", probability=0.9, quote=value)))
        assert answer is not None
        assert locate_quote(answer, turn) is not None


def test_a_token_over_the_mark_brings_nothing_in(verbatim: TokenSpellings, tokenizer: Any) -> None:
    """Where the quotation mark that opens the quote is one token with what follows, that is held as well."""
    ids = tokenizer('{"verdict":"error","quote":', add_special_tokens=False)["input_ids"]
    spelled = b"".join(verbatim.spelled[token] for token in ids)
    assert spelled.endswith(MARK[:-1])
    allowed = verbatim.of("plain words")(ids)
    strangers = [
        token for token in verbatim.entering.get(MARK[:-1], ()) if verbatim.spelled[token][1:2] in b',:}"'
    ]
    assert strangers
    assert allowed is not None
    assert not set(strangers) & set(allowed)
    assert len(allowed) > len(verbatim.spelled) / 2


def test_what_is_no_quote_is_free(tokenizer: Any, verbatim: TokenSpellings) -> None:
    held = verbatim.of("plain words")
    assert held([]) is None
    closed = tokenizer('{"verdict":"error","quote":"plain"', add_special_tokens=False)["input_ids"]
    assert held(closed) is None
    none = tokenizer('{"verdict":"no_error","probability":0.02', add_special_tokens=False)["input_ids"]
    assert held(none) is None


def test_of_a_blank_turn_nothing_is_held(tokenizer: Any, verbatim: TokenSpellings) -> None:
    ids = tokenizer('{"verdict":"error","quote":"', add_special_tokens=False)["input_ids"]
    assert verbatim.of("")(ids) is None
