"""Dialogues as token ids for a language model: in our own marks, a chat template, or plain words.

What people wrote is always encoded as plain text; control tokens come from the writer alone. A
template is asked once a dialogue for the words between the turns, with place-holders for the turns.
System messages are left out of templates: most refuse one in the middle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dialint.detector.engines.base_models import load_folder_tokenizer
from dialint.detector.errors import ConfigError
from dialint.detector.records import JUDGED_ROLES, Role, Turn
from dialint.detector.render import load_tokenizer as tokenizer_of
from dialint.detector.render import visible_text
from dialint.finetune.decoder.corpus import Sourced
from dialint.finetune.decoder.tokenizer import BEGIN, DIALOGUE_SLOT, END, ROLES, SLOT

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Style = Literal["auto", "template", "plain"]
Units = list[list[int]]
Write = Callable[[Sequence[Turn]], Units]
"""Token ids of each turn with the marks around it; together the whole dialogue. Empty: refused."""

_PLACE = re.compile("\ue000(\\d+)\ue001")
_NAMES = {"customer": "Customer", "agent": "Agent", "bot": "Agent", "system": "System"}


@dataclass(frozen=True)
class Piece:
    """Part of a dialogue, whole wherever it fits into a row. `n_bytes` of text, UTF-8, are the
    dialogue's whole written text at its first piece and 0 at the others."""

    ids: np.ndarray
    source: str
    n_bytes: int


@dataclass(frozen=True)
class Writer:
    """How dialogues are written: `write` gives the units, `opening` begins a piece that goes on; what
    roles of `silent` say is not written."""

    name: str
    write: Write
    opening: tuple[int, ...] = ()
    silent: tuple[Role, ...] = ()

    def pieces(self, dialogues: Iterable[Sourced], row_tokens: int) -> list[Piece]:
        """Every dialogue in pieces of 2 to `row_tokens` tokens; refused dialogues give none."""
        pieces = []
        for item in dialogues:
            turns = [turn for turn in item.dialogue.turns if not turn.is_unseen]
            texts = [turn.text for turn in turns if turn.role not in self.silent]
            n_bytes = sum(len(visible_text(text)[0].encode()) for text in texts)
            for ids in _cut(self.write(turns), self.opening, row_tokens):
                if len(ids) > 1:
                    pieces.append(Piece(np.array(ids, np.int32), item.source, n_bytes))
                    n_bytes = 0
        return pieces


def _cut(units: Units, opening: tuple[int, ...], limit: int) -> Iterable[list[int]]:
    """Runs of units that fit; a unit that fits nowhere is cut itself."""
    piece: list[int] = []
    for unit in units:
        if piece and len(piece) + len(unit) > limit:
            yield piece
            piece = list(opening)
        piece = piece + unit
        while len(piece) > limit:
            yield piece[:limit]
            piece = [*opening, *piece[limit:]]
    if len(piece) > len(opening):
        yield piece


def own_writer(tokenizer_json: str) -> Writer:
    """The small decoder's own way: the same tokens that the scanner's renderer writes, and an end."""
    tokenizer = tokenizer_of(tokenizer_json)
    mark = {name: _id(tokenizer, name) for name in (*ROLES.values(), BEGIN, END, SLOT, DIALOGUE_SLOT)}
    encode = plain_encoder(tokenizer_json)

    def write(turns: Sequence[Turn]) -> Units:
        units = []
        for turn, ids in zip(turns, encode([turn.text for turn in turns]), strict=True):
            slot = [mark[SLOT]] if turn.role in JUDGED_ROLES else []
            units.append([mark[ROLES[turn.role]], *ids, *slot])
        if units:
            units[0].insert(0, mark[BEGIN])
            units[-1] += [mark[DIALOGUE_SLOT], mark[END]]
        return units

    return Writer("marks", write, (mark[BEGIN],))


def template_writer(folder: Path) -> Writer:
    """The way of the folder's chat template: customers are its users, agents its assistants.

    Raises:
        ConfigError: the folder's tokenizer has no template.
    """
    tokenizer = load_tokenizer(folder)
    if not tokenizer.chat_template:
        raise ConfigError("E_TEMPLATE", f"{folder}: its tokenizer has no chat template; use --style plain")
    tokenizer_json = (folder / "tokenizer.json").read_text()
    encode, marked = plain_encoder(tokenizer_json), tokenizer_of(tokenizer_json)

    def write(turns: Sequence[Turn]) -> Units:
        merged = _alternating(turns)
        messages = [{"role": role, "content": f"\ue000{i}\ue001"} for i, (role, _) in enumerate(merged)]
        between = _between(tokenizer, messages)
        if between is None:
            return []
        marks = [marked.encode(text, add_special_tokens=False).ids for text in between]
        texts = encode([text for _, text in merged])
        units = [[*before, *text] for before, text in zip(marks, texts, strict=False)]
        units[-1] += marks[-1]
        return units

    return Writer("template", write, silent=("system",))


def plain_writer(folder: Path) -> Writer:
    """Plain words, ``Customer: ...``, between the tokenizer's own begin and end where it has them."""
    tokenizer = load_tokenizer(folder)
    encode = plain_encoder((folder / "tokenizer.json").read_text())
    begin = [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else []
    end = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []

    def write(turns: Sequence[Turn]) -> Units:
        units = encode([f"{_NAMES[turn.role]}: {turn.text}\n" for turn in turns])
        if units:
            units[0] = [*begin, *units[0]]
            units[-1] += end
        return units

    return Writer("plain", write, tuple(begin))


def writer_of(folder: Path, style: Style) -> Writer:
    """The writer for a base model; `auto` takes the template where there is one."""
    if style == "plain" or (style == "auto" and not load_tokenizer(folder).chat_template):
        return plain_writer(folder)
    return template_writer(folder)


def load_tokenizer(folder: Path) -> Any:
    """The folder's tokenizer as transformers reads it: local files only, no code of the folder's.

    Raises:
        ConfigError: there is none that needs no code.
    """
    if not (folder / "tokenizer.json").is_file():
        raise ConfigError("E_BASE", f"{folder}: no tokenizer.json")
    return load_folder_tokenizer(folder)


def plain_encoder(tokenizer_json: str) -> Callable[[list[str]], Units]:
    """Encodes texts without the tokenizer's added tokens: nothing in them can pose as a mark."""
    raw = json.loads(tokenizer_json)
    raw.update(added_tokens=[], truncation=None, padding=None, post_processor=None)
    tokenizer = tokenizer_of(json.dumps(raw))

    def encode(texts: list[str]) -> Units:
        batch = tokenizer.encode_batch([visible_text(text)[0] for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in batch]

    return encode


def _alternating(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """User and assistant in turns: what one side says in a row is one message."""
    messages: list[tuple[str, str]] = []
    for turn in turns:
        if turn.role == "system":
            continue
        role = "assistant" if turn.role in JUDGED_ROLES else "user"
        if messages and messages[-1][0] == role:
            messages[-1] = (role, messages[-1][1] + "\n" + turn.text)
        else:
            messages.append((role, turn.text))
    return messages


def _between(tokenizer: Any, messages: list[dict[str, str]]) -> list[str] | None:
    """What the template writes before, between and after the contents; None where it refuses the
    dialogue or does not write every content once and in order."""
    from jinja2 import TemplateError

    if not messages:
        return None
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False)
    except TemplateError:
        return None
    parts = _PLACE.split(text)
    if [int(place) for place in parts[1::2]] != list(range(len(messages))):
        return None
    return parts[::2]


def _id(tokenizer: Tokenizer, mark: str) -> int:
    token_id = tokenizer.token_to_id(mark)
    if token_id is None:
        raise ConfigError("E_BASE", f"the tokenizer lacks the mark {mark}")
    return int(token_id)
