"""Dialogues of a corpus, and their token ids for a language model: in our own marks, a chat template, or
plain words.

A corpus is a folder of Parquet shards with a manifest, as `dialint data dedup` writes them:
``train-*.parquet`` are trained on, ``heldout-*.parquet`` evaluated. Personal data are masked on the way in,
because the scanner reads masked text too and because weights remember what they were shown.

The text of turns is always encoded as plain text; control tokens come from the writer alone. A template is
rendered once a dialogue for the words between the turns, with placeholders for the turns. System messages are
left out of templates: most refuse one in the middle.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import ValidationError

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.engines.base_models import load_folder_tokenizer
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role, Turn
from dialint.detector.render import load_tokenizer as tokenizer_of
from dialint.detector.render import visible_text
from dialint.finetune.decoder.tokenizer import BEGIN, DIALOGUE_SLOT, END, ROLES, SLOT

if TYPE_CHECKING:
    from tokenizers import Tokenizer

COLUMNS = ("dialogue_id", "source", "language", "licence", "turns")


@dataclass(frozen=True)
class SourcedDialogue:
    """A dialogue, where it comes from, and on what terms."""

    dialogue: Dialogue
    source: str
    licence: str


@dataclass(frozen=True)
class Corpus:
    """A folder of shards. `languages` and `sources` choose; none chooses all. `raw` leaves personal data
    in the text."""

    folder: Path
    languages: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    raw: bool = False

    def manifest(self) -> dict[str, Any]:
        """The folder's manifest; without one the folder is not complete.

        Raises:
            OutputRefused: missing or changed.
        """
        return read_manifest(self.folder / MANIFEST)

    def read(self, split: Literal["train", "heldout"]) -> Iterator[SourcedDialogue]:
        """The dialogues of a split in the order of file and row, blank turns left out.

        Raises:
            InputRefused: no shard, an unreadable one, or one without the columns of a corpus.
        """
        paths = sorted(self.folder.glob(f"{split}-*.parquet"))
        if not paths:
            raise InputRefused("E_CORPUS", f"{self.folder}: no {split}-*.parquet")
        for path in paths:
            for row in _rows(path):
                if self._is_wanted(row) and (dialogue := _read_dialogue(path, row)):
                    if not self.raw:
                        dialogue, _ = mask_dialogue(dialogue)
                    yield SourcedDialogue(dialogue, row["source"], row["licence"])

    def _is_wanted(self, row: dict[str, Any]) -> bool:
        return (not self.languages or row["language"] in self.languages) and (
            not self.sources or row["source"] in self.sources
        )


def sample(dialogues: list[SourcedDialogue], per_source: int) -> list[SourcedDialogue]:
    """At most `per_source` dialogues of each source, chosen by a hash of their ids: always the same."""
    counts: dict[str, int] = {}
    chosen = []
    for item in sorted(dialogues, key=lambda item: hashlib.sha256(item.dialogue.id.encode()).digest()):
        counts[item.source] = counts.get(item.source, 0) + 1
        if counts[item.source] <= per_source:
            chosen.append(item)
    return chosen


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        missing = sorted(set(COLUMNS) - set(file.schema_arrow.names))
        if missing:
            raise InputRefused("E_CORPUS", f"{path}: lacks the columns {missing}")
        for batch in file.iter_batches(512, columns=list(COLUMNS)):
            yield from batch.to_pylist()
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise InputRefused("E_CORPUS", f"{path}: not readable as Parquet ({type(error).__name__})") from None


def _read_dialogue(path: Path, row: dict[str, Any]) -> Dialogue | None:
    """The row's dialogue; None if nobody says anything in it."""
    try:
        turns = tuple(
            Turn(index=index, role=turn["role"], text=turn["text"])
            for index, turn in enumerate(row["turns"])
            if (turn["text"] or "").strip()
        )
        return Dialogue(id=row["dialogue_id"], turns=turns, language=row["language"]) if turns else None
    except (ValidationError, TypeError, KeyError):
        raise InputRefused(
            "E_CORPUS", f"{path}: dialogue {row['dialogue_id']} has no id, or a turn without role or text"
        ) from None


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

    def pieces(self, dialogues: Iterable[SourcedDialogue], row_tokens: int) -> list[Piece]:
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
    mark = {name: _token_id(tokenizer, name) for name in (*ROLES.values(), BEGIN, END, SLOT, DIALOGUE_SLOT)}
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


def _token_id(tokenizer: Tokenizer, mark: str) -> int:
    token_id = tokenizer.token_to_id(mark)
    if token_id is None:
        raise ConfigError("E_BASE", f"the tokenizer lacks the mark {mark}")
    return int(token_id)
