"""Encodes questions of the judge as token ids, with the base's chat template; no dialogue text can imitate
one.

Training, scoring and serving use the same ids. A base without a chat template gets a plain one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.engines.answer_grammar import find_fork
from dialint.detector.engines.base_models import (
    ModelSource,
    load_folder_tokenizer,
    resolve_source,
    tokenizer_folder,
)
from dialint.detector.engines.json_escapes import JsonEscaper
from dialint.detector.errors import ConfigError, native_errors
from dialint.detector.judge import (
    OPENING,
    PROMPT_VERSION,
    SYSTEM,
    VERDICTS,
    Detail,
    Question,
    fit_chat,
    fold_system,
)
from dialint.detector.judge import build_chat as chat
from dialint.detector.judge.config import PROMPT_FILE
from dialint.detector.taxonomy import Code

PLAIN_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['content'] + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Answer: ' }}{% endif %}"
)
"""For bases that have no chat template: the words alone."""


@dataclass(frozen=True)
class Prompt:
    """A question as it is asked: its chat, the chat's token ids up to where the answer begins, and whether
    something of the dialogue is `cut`."""

    messages: list[dict[str, str]]
    ids: list[int]
    cut: bool


@dataclass(frozen=True)
class JudgePrompt:
    """Writes questions for one tokenizer. `max_tokens` holds the prompt; of a dialogue that does not fit the
    middle is left out, and the prompt says so."""

    tokenizer: Any
    spelling: JsonEscaper
    detail: Detail = "short"
    max_tokens: int = 1024

    @classmethod
    def of(cls, folder: Path | str, detail: Detail = "short", max_tokens: int = 1024) -> JudgePrompt:
        """The writer for a model folder's tokenizer.

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
        return cls(tokenizer, spelling, detail, max_tokens)

    @property
    def control(self) -> tuple[str, ...]:
        """The tokenizer's control tokens."""
        return self.spelling.control

    def messages(self, question: Question, code: Code) -> list[dict[str, str]]:
        """The chat that asks, cut so that it fits; raises as `build`."""
        return self.build(question, code).messages

    def ids(self, question: Question, code: Code) -> list[int]:
        """The chat as token ids, up to where the answer begins; raises as `build`."""
        return self.build(question, code).ids

    def build(self, question: Question, code: Code) -> Prompt:
        """The prompt of a question, cut so that it fits.

        Raises:
            ConfigError: E_OPTION, `max_tokens` does not hold the question itself.
        """
        counted: list[int] = []

        def count(messages: Sequence[dict[str, str]]) -> int:
            counted[:] = self.of_chat(messages)
            return len(counted)

        fitted, _ = fit_chat(
            lambda chars: chat(question, code, self.spelling, self.detail, chars),
            count,
            self.max_tokens,
            lambda: self._count_bare(question, code),
        )
        return Prompt(self.fold(fitted.messages), list(counted), fitted.cut)

    def _count_bare(self, question: Question, code: Code) -> int:
        """Tokens of the prompt beside the dialogue and what belongs to it."""
        bare = question.dialogue.model_copy(update={"turns": (), "sources": ()})
        empty = Question(dialogue=bare, turn=question.turn, code=question.code)
        return len(self.of_chat(chat(empty, code, self.spelling, self.detail).messages))

    def fold(self, messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """The messages as the chat template shows them: system and user in one where it has no system."""
        own = [dict(message) for message in messages]
        return own if self.shows_system or len(own) < 2 else fold_system(own)

    @cached_property
    def shows_system(self) -> bool:
        """Whether the chat template shows a system message: some refuse it, some leave it out.

        Raises:
            ConfigError: E_BASE, the template takes no question at all.
        """
        chat = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "?"}]
        with suppress(TemplateError):
            return SYSTEM in self._text(chat)
        try:
            self._text(fold_system(chat))
        except TemplateError:
            raise ConfigError("E_BASE", "the base's chat template takes no question of a user") from None
        return False

    def of_chat(self, chat: Sequence[Mapping[str, str]]) -> list[int]:
        """Token ids of messages, up to where the answer begins. A system message that the chat template does
        not show is put into the user's."""
        return self.tokenizer(self._text(self.fold(chat)), add_special_tokens=False)["input_ids"]  # type: ignore[no-any-return]

    def _text(self, chat: Sequence[Mapping[str, str]]) -> str:
        return str(self.tokenizer.apply_chat_template(list(chat), tokenize=False, add_generation_prompt=True))

    def answer(self, text: str) -> str:
        """An answer as it is taught: a quote in it cannot pose as control either, and reads as it stood."""
        return self.spelling(text)

    def answer_ids(self, text: str, *, ended: bool = True) -> list[int]:
        """Token ids of an answer. `ended`: with the token that ends it."""
        ids: list[int] = self.tokenizer(self.answer(text), add_special_tokens=False)["input_ids"]
        return [*ids, self.tokenizer.eos_token_id] if ended else ids

    @cached_property
    def fork(self) -> tuple[list[int], list[int]]:
        """The tokens with which every answer begins, and the first in which the verdicts differ, one for each
        of `VERDICTS`.

        Raises:
            ConfigError: E_BASE, this tokenizer does not tell the verdicts apart by one token.
        """
        prefix = [self.answer_ids(f'{OPENING}{verdict}"', ended=False) for verdict in VERDICTS]
        fork = find_fork(prefix)
        if fork is None:
            raise ConfigError("E_BASE", "the tokenizer does not tell the judge's verdicts apart by one token")
        return fork


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
    """The prompt that a judge was trained with, with its own tokenizer; the default one for a base.

    Raises:
        ConfigError: E_JUDGE, it was trained with another prompt version.
    """

    folder = source.folder
    path = folder / PROMPT_FILE
    settings: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    version = settings.get("prompt", PROMPT_VERSION)
    if version != PROMPT_VERSION:
        raise ConfigError("E_JUDGE", f"{folder}: trained with {version}, and this is {PROMPT_VERSION}")
    return JudgePrompt.of(
        tokenizer_folder(source),
        settings.get("detail", "short"),
        int(settings.get("prompt_tokens", 1024)),
    )
