"""Reads dialogues of logs and encodes them for a language model: in role marks, or by a chat template.

Near-duplicates are left out, and similar dialogues are on one side of the split. Personal data are masked, as
the scanner reads masked text too and language models memorize their training data.

Text cannot inject a control token: role marks are inserted as ids around plain text, and a tokenizer's added
tokens are removed from the text of its template. System messages are left out of templates: most refuse one
in the middle.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dialint.detector.artifacts import fingerprint
from dialint.detector.engines.base_models import load_folder_tokenizer
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.masking import mask_dialogue
from dialint.detector.near_duplicates import NEAR_DUPLICATE, RELATED, group_names, linking_pairs, shingles
from dialint.detector.records import JUDGED_ROLES, Dialogue, Role, Turn
from dialint.detector.render import plain_tokenizer, visible_text
from dialint.finetune.decoder.tokenizer import BEGIN, CONTROL, DIALOGUE_SLOT, END, ROLES, SLOT

HELD_OUT = 0.1
"""Share of the groups of similar dialogues that is held out."""
PLAIN = (
    "{{ bos_token or '' }}{% for message in messages %}"
    "{{ 'Agent: ' if message['role'] == 'assistant' else 'Customer: ' }}{{ message['content'] + '\n' }}"
    "{% endfor %}{{ eos_token or '' }}"
)
"""The chat template of a tokenizer that has none: plain words."""
Write = Callable[[Sequence[Turn]], list[list[int]]]
"""Encodes a dialogue as runs of token ids that stay whole where they fit into a row; none if it is
refused."""


def read_dialogues(logs: Sequence[str], reading: ReadConfig) -> tuple[list[Dialogue], str]:
    """Reads the dialogues of logs, in the order of a hash of their ids, and the fingerprint of the logs.

    Raises:
        InputRefused: the logs are refused whole.
    """
    sources = open_logs(logs)
    inspected = fingerprint([inspect(source, reading) for source in sources])
    dialogues = [item.dialogue for item in read(sources, reading, Counts()) if isinstance(item, Loaded)]
    return sorted(dialogues, key=lambda each: _hash(each.id)), inspected


def split_dialogues(dialogues: Sequence[Dialogue]) -> tuple[list[Dialogue], list[Dialogue]]:
    """Splits dialogues into masked ones to train on and held-out ones, in their order, without copies."""
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
    """Returns the `source` in a dialogue's metadata, else ``log``."""
    return str(dialogue.metadata.get("source", "log"))


@dataclass(frozen=True)
class Piece:
    """Part of a dialogue, all of it if it fits into a row. `n_bytes` is the length of the dialogue's text in
    UTF-8 at its first piece and 0 at the others."""

    ids: np.ndarray
    source: str
    n_bytes: int


@dataclass(frozen=True)
class Writer:
    """Encodes dialogues by `write`, without the turns of `left_out` roles; `opening` begins a continued
    piece."""

    name: str
    write: Write
    opening: tuple[int, ...] = ()
    left_out: tuple[Role, ...] = ("tool",)

    def pieces(self, dialogues: Iterable[Dialogue], row_tokens: int) -> list[Piece]:
        """Encodes every dialogue in pieces of 2 to `row_tokens` tokens; refused dialogues have none."""
        pieces = []
        for dialogue in dialogues:
            turns = [turn for turn in dialogue.turns if turn.role not in self.left_out and turn.text.strip()]
            n_bytes = sum(len(visible_text(turn.text)[0].encode()) for turn in turns)
            for ids in _cut(self.write(turns), self.opening, row_tokens):
                if len(ids) > 1:
                    pieces.append(Piece(np.array(ids, np.int32), source_of(dialogue), n_bytes))
                    n_bytes = 0
        return pieces


def _cut(runs: list[list[int]], opening: tuple[int, ...], limit: int) -> Iterable[list[int]]:
    """Joins runs as far as they fit; a run longer than `limit` is cut itself."""
    piece: list[int] = []
    for run in runs:
        if piece and len(piece) + len(run) > limit:
            yield piece
            piece = list(opening)
        piece = piece + run
        while len(piece) > limit:
            yield piece[:limit]
            piece = [*opening, *piece[limit:]]
    if len(piece) > len(opening):
        yield piece


def own_writer(tokenizer_json: str) -> Writer:
    """Makes the writer of the small decoder: the tokens of the scanner's renderer, and an end."""
    mark = {name: CONTROL.index(name) for name in CONTROL}
    tokenizer = plain_tokenizer(tokenizer_json)

    def write(turns: Sequence[Turn]) -> list[list[int]]:
        texts = tokenizer.encode_batch(
            [visible_text(turn.text)[0] for turn in turns], add_special_tokens=False
        )
        runs = [
            [mark[ROLES[turn.role]], *text.ids, *([mark[SLOT]] if turn.role in JUDGED_ROLES else [])]
            for turn, text in zip(turns, texts, strict=True)
        ]
        if runs:
            runs[0].insert(0, mark[BEGIN])
            runs[-1] += [mark[DIALOGUE_SLOT], mark[END]]
        return runs

    return Writer("marks", write, (mark[BEGIN],))


def template_writer(folder: Path) -> Writer:
    """Makes a writer by the chat template of the folder's tokenizer, else by `PLAIN`: customers are users,
    agents assistants, and successive turns of one side are one message.

    Raises:
        ConfigError: E_BASE, there is no tokenizer that needs no code.
    """
    from jinja2 import TemplateError

    tokenizer = load_folder_tokenizer(folder)
    marks = [re.escape(mark) for mark in tokenizer.get_added_vocab() if not mark.isspace()]
    pattern = "|".join(sorted(marks, key=len, reverse=True)) or r"(?!)"
    typed_mark = re.compile(pattern)

    def write(turns: Sequence[Turn]) -> list[list[int]]:
        messages: list[dict[str, str]] = []
        for turn in turns:
            role = "assistant" if turn.role in JUDGED_ROLES else "user"
            text = typed_mark.sub(" ", visible_text(turn.text)[0])
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += "\n" + text
            else:
                messages.append({"role": role, "content": text})
        template = tokenizer.chat_template or PLAIN
        try:
            return [tokenizer.apply_chat_template(messages, chat_template=template, return_dict=False)]
        except TemplateError:
            return []

    return Writer("template" if tokenizer.chat_template else "plain", write, left_out=("tool", "system"))
