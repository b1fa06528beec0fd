"""Reads the dialogues of every corpus of the data folder, as the customer saw them, with licence and use.

Reads Parquet files at run time; no text of theirs is part of the project. Filters nothing: see `quality` and
`dedup`. Tool calls and their results are no turns.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dialint.detector.errors import InputRefused

Row = dict[str, Any]
RoleText = tuple[str, str]
"""Role, ``customer`` or ``agent``, and text."""

Use = Literal["train", "measure", "research"]
"""What a corpus may be used for: weights trained on it may ship; or they would carry its terms on, so it
is measured on only; or it is for research only, and measured on only, too."""


@dataclass(frozen=True)
class Source:
    """Where a corpus lies, its declared language (ISO 639-1) and on what terms it may be used."""

    name: str
    file: str
    language: str
    licence: str
    use: Use = "train"


SOURCES: tuple[Source, ...] = (
    Source("star", "star/data.parquet", "en", "MIT (RasaHQ/STAR)"),
    Source("multiwoz_en", "multiwoz_en_ru/data_en.parquet", "en", "MIT (MultiWOZ)"),
    Source("multiwoz_ru", "multiwoz_en_ru/data_ru.parquet", "ru", "MIT (MultiWOZ, Russian translation)"),
    Source("taskmaster4", "taskmaster4/data.parquet", "en", "CC BY 4.0 (Google Taskmaster)"),
    Source("taskmaster_reward", "taskmaster_reward/data.parquet", "en", "CC BY 4.0 (Google Taskmaster)"),
    Source("tau_bench", "tau_bench/data.parquet", "en", "MIT (sierra-research/tau-bench, tau2-bench)"),
    Source("abcd_sample", "abcd_sample/data.parquet", "en", "MIT (ASAPP ABCD)"),
    Source("dbdc3", "dbdc3/data_en.parquet", "en", "MIT (DBDC3)"),
    Source("sgd", "sgd/data.parquet", "en", "CC BY-SA 4.0 (Google SGD)", "measure"),
    Source("stc3_dch1_en", "stc3_dch1/data_en.parquet", "en", "none stated (STC-3 DCH-1)", "research"),
    Source("stc3_dch1_zh", "stc3_dch1/data_zh.parquet", "zh", "none stated (STC-3 DCH-1)", "research"),
)


@dataclass(frozen=True)
class CorpusDialogue:
    """The turns of customer and agent. Dialogues that share one of `kin` belong to one split: they are the
    same task, the same conversation or a translation of it. `hidden`: the agent's turns hold thoughts that
    the customer did not see and that cannot be separated."""

    id: str
    source: Source
    turns: tuple[RoleText, ...]
    kin: tuple[str, ...]
    hidden: bool = False

    @property
    def text(self) -> str:
        """All turns in order, one a line."""
        return "\n".join(text for _, text in self.turns)

    def texts_by(self, role: str) -> list[str]:
        """The turns of one side, in order."""
        return [text for speaker, text in self.turns if speaker == role]


def source_path(source: Source, data: Path) -> Path:
    """The source's file in the data folder.

    Raises:
        InputRefused: it is not there.
    """
    path = data / source.file
    if not path.is_file():
        raise InputRefused("E_DATA", f"{path}: no such file; --data names the folder of the corpora")
    return path


def read_source(source: Source, data: Path) -> Iterator[CorpusDialogue]:
    """Every dialogue of `source` in file order; ids are ``source:id``, a repeated id gets ``+2``.

    Raises:
        InputRefused: the file is not there.
    """
    from pyarrow import parquet

    seen: Counter[str] = Counter()
    for batch in parquet.ParquetFile(source_path(source, data)).iter_batches(512):
        for row in batch.to_pylist():
            name = f"{source.name}:{row['dialogue_id']}"
            seen[name] += 1
            name += f"+{seen[name]}" if seen[name] > 1 else ""
            turns, hidden = _READERS.get(source.name, _turns)(row)
            yield CorpusDialogue(name, source, turns, (f"id:{name}", *_kin(source.name, row)), hidden)


def _kin(name: str, row: Row) -> tuple[str, ...]:
    own = str(row["dialogue_id"])
    if name == "tau_bench" and (task := re.search(r"(?:airline|retail|telecom)#\d+", own)):
        return (f"tau:{task[0]}",)
    if name.startswith(("multiwoz_", "stc3_")):  # one id in both languages
        return (f"{name.rpartition('_')[0]}#{own}",)
    if name == "taskmaster_reward" and (id_ := json.loads(row["meta"] or "{}").get("conversation_id")):
        return (f"taskmaster#{id_}",)
    return (f"taskmaster#{own}",) if name == "taskmaster4" else ()


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _turns(row: Row) -> tuple[tuple[RoleText, ...], bool]:
    turns = (
        (turn["role"], _tidy(turn["text"] or ""))
        for turn in row["turns"]
        if turn["role"] in ("customer", "agent") and turn.get("action") != "api"
    )
    return tuple((role, text) for role, text in turns if text), False


def tau_reply(text: str) -> str | None:
    """Return what the customer saw of an agent turn: the reply inside ``Thought: ... Action: {...}``, "" for
    a tool call, None if unreadable."""
    if "Thought:" not in text and "Action:" not in text:
        return text
    _, separator, action = text.rpartition("Action:")
    if not separator:
        return None
    try:
        call, _ = json.JSONDecoder().raw_decode(action.strip())
    except ValueError:
        return None
    if not isinstance(call, dict) or not isinstance(call.get("arguments"), dict):
        return None
    return str(call["arguments"].get("content", "")) if call.get("name") == "respond" else ""


def _tau_turns(row: Row) -> tuple[tuple[RoleText, ...], bool]:
    turns: list[RoleText] = []
    hidden = False
    for turn in row["turns"]:
        text = turn["text"] or ""
        if turn["role"] == "agent":
            reply = tau_reply(text)
            hidden = hidden or reply is None
            text = reply or ""
        if turn["role"] in ("customer", "agent") and "###" not in text and _tidy(text):
            turns.append((turn["role"], _tidy(text)))
    return tuple(turns), hidden


_READERS: dict[str, Callable[[Row], tuple[tuple[RoleText, ...], bool]]] = {"tau_bench": _tau_turns}
