"""Dialogues of logs, and their token ids for a language model: in our own marks, or by a chat template.

Copies and near-copies are left out, and dialogues that resemble each other are on one side of the split.
Personal data are masked on the way in, because the scanner reads masked text too and because weights remember
what they were shown.

The text of turns is always encoded as plain text; control tokens come from the writer alone. A template is
rendered once a dialogue for the words between the turns, with placeholders for the turns. System messages are
left out of templates: most refuse one in the middle.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialint.detector.artifacts import fingerprint
from dialint.detector.engines.base_models import load_folder_tokenizer
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.masking import mask_dialogue
from dialint.detector.near_duplicates import NEAR_DUPLICATE, RELATED, group_names, linking_pairs, shingles
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role, Turn
from dialint.detector.render import load_tokenizer as tokenizer_of
from dialint.detector.render import visible_text
from dialint.finetune.decoder.tokenizer import BEGIN, CONTROL, DIALOGUE_SLOT, END, ROLES, SLOT

HELD_OUT = 0.1
"""Share of the groups of similar dialogues that is kept from training."""
PLAIN = (
    "{{ bos_token or '' }}{% for message in messages %}"
    "{{ 'Agent: ' if message['role'] == 'assistant' else 'Customer: ' }}{{ message['content'] + '\n' }}"
    "{% endfor %}{{ eos_token or '' }}"
)
"""The chat template of a tokenizer that has none: plain words."""
Units = list[list[int]]
Write = Callable[[Sequence[Turn]], Units]
"""Token ids of each turn with the marks around it; together the whole dialogue. Empty: refused."""
_PLACE = re.compile("\ue000(\\d+)\ue001")


def read_dialogues(logs: Sequence[str], reading: ReadConfig) -> tuple[list[Dialogue], str]:
    """The dialogues of logs in the order of a hash of their ids, and the fingerprint of the logs.

    Raises:
        InputRefused: the logs are refused whole.
    """
    sources = open_logs(logs)
    inspected = fingerprint([inspect(source, reading) for source in sources])
    dialogues = [item.dialogue for item in read(sources, reading, Counts()) if isinstance(item, Loaded)]
    return sorted(dialogues, key=lambda each: _hash(each.id)), inspected


def split_dialogues(dialogues: Sequence[Dialogue]) -> tuple[list[Dialogue], list[Dialogue]]:
    """The masked dialogues to train on, and those held out, in their order without copies."""
    texts = ("\n".join(turn.text for turn in each.turns if turn.role != "tool") for each in dialogues)
    sets = list(map(shingles, texts))
    copies = {later for later, _ in linking_pairs(sets, NEAR_DUPLICATE)}
    groups = group_names([(each.id,) for each in dialogues], linking_pairs(sets, RELATED))
    train: list[Dialogue] = []
    heldout: list[Dialogue] = []
    for number, (dialogue, group) in enumerate(zip(dialogues, groups, strict=True)):
        if number not in copies:
            side = heldout if int.from_bytes(_hash(group)[:4]) < HELD_OUT * 2**32 else train
            side.append(mask_dialogue(dialogue)[0])
    return train, heldout


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def source_of(dialogue: Dialogue) -> str:
    """The collection that the log says a dialogue is of."""
    return str(dialogue.metadata.get("source", "log"))


def sample(dialogues: Iterable[Dialogue], per_source: int) -> list[Dialogue]:
    """The first `per_source` dialogues of each source."""
    counts: Counter[str] = Counter()
    chosen = []
    for dialogue in dialogues:
        counts[source_of(dialogue)] += 1
        if counts[source_of(dialogue)] <= per_source:
            chosen.append(dialogue)
    return chosen


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

    def pieces(self, dialogues: Iterable[Dialogue], row_tokens: int) -> list[Piece]:
        """Every dialogue in pieces of 2 to `row_tokens` tokens; refused dialogues give none."""
        pieces = []
        for dialogue in dialogues:
            turns = [turn for turn in dialogue.turns if turn.role != "tool" and turn.text.strip()]
            texts = [turn.text for turn in turns if turn.role not in self.silent]
            n_bytes = sum(len(visible_text(text)[0].encode()) for text in texts)
            for ids in _cut(self.write(turns), self.opening, row_tokens):
                if len(ids) > 1:
                    pieces.append(Piece(np.array(ids, np.int32), source_of(dialogue), n_bytes))
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
    mark = {name: CONTROL.index(name) for name in CONTROL}
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
    """The way of the chat template of the folder's tokenizer: customers are its users, agents its assistants.
    Without a template, in plain words.

    Raises:
        ConfigError: E_BASE, there is no tokenizer that needs no code.
    """
    tokenizer = load_tokenizer(folder)
    template = tokenizer.chat_template
    tokenizer_json = (folder / "tokenizer.json").read_text()
    encode, marked = plain_encoder(tokenizer_json), tokenizer_of(tokenizer_json)

    def write(turns: Sequence[Turn]) -> Units:
        messages = _alternating(turns)
        between = _between(tokenizer, template or PLAIN, [role for role, _ in messages])
        if between is None:
            return []
        marks = [marked.encode(text, add_special_tokens=False).ids for text in between]
        texts = encode([text for _, text in messages])
        units = [[*before, *text] for before, text in zip(marks, texts, strict=False)]
        units[-1] += marks[-1]
        return units

    return Writer("template" if template else "plain", write, silent=("system",))


def load_tokenizer(folder: Path) -> Any:
    """The folder's tokenizer as transformers reads it: local files only, no code of the folder's.

    Raises:
        ConfigError: E_BASE, there is none that needs no code.
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


def _between(tokenizer: Any, template: str, roles: Sequence[str]) -> list[str] | None:
    """What the template writes before, between and after the messages of these roles; None where it refuses
    them or does not write every content once and in order."""
    from jinja2 import TemplateError

    if not roles:
        return None
    messages = [{"role": role, "content": f"\ue000{index}\ue001"} for index, role in enumerate(roles)]
    try:
        text = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)
    except TemplateError:
        return None
    parts = _PLACE.split(text)
    if [int(place) for place in parts[1::2]] != list(range(len(roles))):
        return None
    return parts[::2]
