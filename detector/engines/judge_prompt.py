"""Encodes the judge's chats as token ids, with the base's chat template; no text of a dialogue can imitate
one.

Training, scoring and serving use the same ids. A base without a chat template gets a plain one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.engines.base_models import (
    ModelSource,
    load_folder_tokenizer,
    resolve_source,
    tokenizer_folder,
)
from dialint.detector.engines.json_escapes import JsonEscaper
from dialint.detector.engines.judge_folder import PLAIN_TEMPLATE, context_of
from dialint.detector.errors import ConfigError, native_errors
from dialint.detector.judge.config import read_trained_prompt
from dialint.detector.judge.engine import answer_room
from dialint.detector.judge.prompt import Reader
from dialint.detector.taxonomy import Detail, Taxonomy

MAX_PROMPT_TOKENS = 8192
"""Default limit of a prompt."""


@dataclass(frozen=True)
class JudgePrompt:
    """The chats of a judge for one tokenizer: prompts of up to `max_tokens`, codes in this `detail`. `codes`
    are those that it was trained on; of a base none."""

    tokenizer: Any
    spelling: JsonEscaper
    detail: Detail = "auto"
    max_tokens: int = MAX_PROMPT_TOKENS
    codes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        folder: Path | str,
        detail: Detail = "auto",
        max_tokens: int = MAX_PROMPT_TOKENS,
        codes: Sequence[str] = (),
    ) -> JudgePrompt:
        """The chats for a model folder's tokenizer.

        Raises:
            ConfigError: E_BASE, no tokenizer that loads without code of its own, or one that changes text.
        """
        tokenizer = load_folder_tokenizer(folder)
        with native_errors(
            lambda name: ConfigError("E_BASE", f"{folder}: its tokenizer cannot spell ({name})")
        ):
            spelling = JsonEscaper(tokenizer)
        if not tokenizer.chat_template:
            tokenizer.chat_template = PLAIN_TEMPLATE
        if tokenizer.eos_token is None:
            raise ConfigError("E_BASE", f"{folder}: its tokenizer has no token that ends an answer")
        tokenizer.clean_up_tokenization_spaces = False  # it would change quotes
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return cls(tokenizer, spelling, detail, max_tokens, tuple(codes))

    def reader(self, taxonomy: Taxonomy) -> Reader:
        """Makes a reader, whose questions about dialogues fit this prompt."""
        return Reader(
            taxonomy=taxonomy,
            max_tokens=self.max_tokens,
            count=self.count_tokens,
            spell=self.spelling,
            detail=self.detail,
        )

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Tokens of a chat, up to where the answer begins."""
        return len(self.of_chat(messages))

    def fold(self, messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Joins system and user message if the chat template shows no system message."""
        own = [dict(message) for message in messages]
        return own if self.shows_system else _fold_system(own)

    @cached_property
    def shows_system(self) -> bool:
        """True if the chat template shows a system message: some refuse it, some leave it out.

        Raises:
            ConfigError: E_BASE, the template takes no question at all.
        """
        system = "Answer with one JSON object."
        chat = [{"role": "system", "content": system}, {"role": "user", "content": "?"}]
        with suppress(TemplateError):
            return system in self._text(chat)
        try:
            self._text(_fold_system(chat))
        except TemplateError:
            raise ConfigError("E_BASE", "the base's chat template takes no question of a user") from None
        return False

    def of_chat(self, chat: Sequence[Mapping[str, str]]) -> list[int]:
        """Token ids of messages, up to where the answer begins. A system message that the chat template does
        not show is put into the user's."""
        return self.tokenizer(self._text(self.fold(chat)), add_special_tokens=False)["input_ids"]  # type: ignore[no-any-return]

    def _text(self, chat: Sequence[Mapping[str, str]]) -> str:
        return str(self.tokenizer.apply_chat_template(list(chat), tokenize=False, add_generation_prompt=True))

    def answer_ids(self, text: str) -> list[int]:
        """Token ids of an answer, JSON, as in training, with the end token: no quote in it can be read as a
        control token."""
        ids = self.tokenizer(self.spelling(text), add_special_tokens=False)["input_ids"]
        return [*ids, self.tokenizer.eos_token_id]


def _fold_system(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    return [{"role": "user", "content": "\n\n".join(message["content"] for message in messages)}]


def resolve_judge(model: str) -> ModelSource:
    """The base and adapter of a judge; `model` as in `resolve_source`.

    Raises:
        ConfigError: E_JUDGE, a reward model; E_BASE or E_ADAPTER.
    """
    source = resolve_source(model)
    manifest = source.folder / MANIFEST
    if manifest.exists() and read_manifest(manifest).get("kind") == "reward":
        raise ConfigError("E_JUDGE", f"{model}: no judge, but a reward model")
    return source


def load_prompt(source: ModelSource) -> JudgePrompt:
    """Loads the prompt of a judge's training, with its own tokenizer; the default one for a base.

    Raises:
        ConfigError: E_JUDGE, it was trained with another prompt version.
    """
    folder, trained = tokenizer_folder(source), read_trained_prompt(source.folder)
    if trained is None:
        return JudgePrompt.of(folder)
    return JudgePrompt.of(folder, trained.detail, trained.prompt_tokens, trained.codes)


def prompt_room(source: ModelSource, context: int | None, most: int) -> int:
    """Tokens that a prompt may have, of a `context` that the user names; else as many as a judge was trained
    with, or as a base's own context has beside an answer, up to `most`.

    Raises:
        ConfigError: E_OPTION, a context that the model does not have; E_JUDGE, see `load_prompt`.
    """
    if context is not None:
        own = context_of(str(source.base.folder))
        if own is not None and context > own:
            raise ConfigError("E_OPTION", f"--judge-context {context}: the model has {own}")
        return context - answer_room(context)
    trained = read_trained_prompt(source.folder)
    return base_room(source, most if trained is None else trained.prompt_tokens)


def base_room(source: ModelSource, most: int) -> int:
    """Tokens that a prompt may have in the context of a model beside an answer, up to `most`."""
    own = context_of(str(source.base.folder))
    return most if own is None else min(own - answer_room(own), most)
