"""Clean dialogues of the public corpora as drafts, with licence and a split that leaks nothing.

Reads the Parquet files of the data folder at run time; no text of theirs is part of the project.
Research-only corpora are not known here at all, so that they can reach no training set.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from detector.errors import InputRefused
from detector.records import Role
from labeling.inject.draft import Draft, DraftTurn
from labeling.inject.facts.charts import required
from labeling.inject.lawful import repeats_rightly

MAX_TURNS = 60
MAX_CHARS = 6000

Row = dict[str, Any]


@dataclass(frozen=True)
class Corpus:
    """Where a corpus lies and on what terms. `trains` is false where weights trained on it would
    carry its terms on."""

    name: str
    file: str
    licence: str
    trains: bool = True


CORPORA: tuple[Corpus, ...] = (
    Corpus("star", "star/data.parquet", "MIT (RasaHQ/STAR)"),
    Corpus("multiwoz_en", "multiwoz_en_ru/data_en.parquet", "MIT (MultiWOZ)"),
    Corpus("taskmaster4", "taskmaster4/data.parquet", "CC BY 4.0 (Google Taskmaster)"),
    Corpus("tau_bench", "tau_bench/data.parquet", "MIT (sierra-research/tau-bench, tau2-bench)"),
    Corpus("abcd_sample", "abcd_sample/data.parquet", "MIT (ASAPP ABCD)"),
    Corpus("sgd", "sgd/data.parquet", "CC BY-SA 4.0 (Google SGD)", trains=False),
)


@dataclass(frozen=True)
class Clean:
    """A clean dialogue; dialogues of one `group` are near-copies and share a split."""

    draft: Draft
    group: str


def read(corpus: Corpus, data: Path) -> Iterator[Clean]:
    """The usable dialogues of `corpus`, exact copies once, in file order.

    Left out: broken-off and failed dialogues, those without agent or customer, over-long ones, and
    those whose agent repeats himself word for word without being called to.

    Raises:
        InputRefused: the file is not there.
    """
    from pyarrow import parquet

    path = data / corpus.file
    if not path.is_file():
        raise InputRefused("E_DATA", f"{path}: no such file; --data names the folder of the corpora")
    seen: set[str] = set()
    charts = _charts(path.parent / "policies") if corpus.name == "star" else {}
    for batch in parquet.ParquetFile(path).iter_batches(512):
        for row in batch.to_pylist():
            turns = _TURNS.get(corpus.name, _plain_turns)(row)
            looked_up = _looked_up(row) if corpus.name == "star" else frozenset()
            if turns is None or not _usable(turns, looked_up):
                continue
            whole = _normalised(" ".join(turn.text for turn in turns))
            if whole in seen:
                continue
            seen.add(whole)
            policy = _star_chart(row) if corpus.name == "star" else None
            draft = Draft(
                id=f"{corpus.name}:{row['dialogue_id']}",
                source=corpus.name,
                domain=_domain(corpus.name, row),
                turns=turns,
                policy=policy,
                required=charts.get(policy, {}) if policy else {},
            )
            yield Clean(draft, _group(corpus.name, row, turns))


def read_all(data: Path, limit: int | None = None) -> dict[str, list[Clean]]:
    """The usable dialogues of every corpus by its name, at most `limit` of each.

    Near-copies (Jaccard of word triples 0.6 or more) are given one group, whatever corpus they lie in.
    Groups are made before the limit is applied, so that no dialogue changes its split with it.

    Raises:
        InputRefused: a corpus is missing.
    """
    from detector.likeness.neighbours import KIN, links, united
    from detector.likeness.shingles import shingled

    read_in = {corpus.name: list(read(corpus, data)) for corpus in CORPORA}
    cleans = [clean for rows in read_in.values() for clean in rows]
    texts = ["\n".join(turn.text for turn in clean.draft.turns) for clean in cleans]
    groups = iter(united([(clean.group,) for clean in cleans], links(shingled(texts), KIN)))
    return {
        name: [replace(clean, group=next(groups)) for clean in rows][:limit] for name, rows in read_in.items()
    }


def split_of(group: str) -> str:
    """train 80 %, dev 5 %, calibration 7.5 %, test 7.5 %, by a hash of the group."""
    place = int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) / 2**32
    if place < 0.80:
        return "train"
    if place < 0.85:
        return "dev"
    return "calibration" if place < 0.925 else "test"


_ASKS_SECRET = re.compile(r"\b(?:pin|password|maiden name)\b", re.IGNORECASE)
"""Some STAR agents ask for a PIN because their flow chart says so: V2 by the taxonomy, not clean."""


def _usable(turns: tuple[DraftTurn, ...], looked_up: frozenset[int]) -> bool:
    roles = {turn.role for turn in turns}
    agent = [turn.text for turn in turns if turn.role == "agent"]
    return (
        {"agent", "customer"} <= roles
        and 2 <= len(turns) <= MAX_TURNS
        and sum(len(turn.text) for turn in turns) <= MAX_CHARS
        and not any(_ASKS_SECRET.search(text) for text in agent)
        and repeats_rightly(turns, looked_up) is not False
    )


def _normalised(text: str) -> str:
    return " ".join(re.findall(r"[a-z]+", text.lower()))


def _group(name: str, row: Row, turns: tuple[DraftTurn, ...]) -> str:
    if name == "tau_bench":  # many agents played the same task: "...-retail#18#0"
        task = re.search(r"(?:airline|retail)#\d+", str(row["dialogue_id"]))
        return f"tau:{task[0] if task else row['dialogue_id']}"
    return f"{name}:" + _normalised(" ".join(turn.text for turn in turns[:3]))


def _domain(name: str, row: Row) -> str:
    meta = json.loads(row["meta"] or "{}")
    if name == "star":
        known = [domain for domain in meta.get("domains") or [] if domain]
        return "+".join(sorted(known)) or "star"
    if name == "tau_bench":
        return "airline" if "airline" in str(row["dialogue_id"]) else "retail"
    if name == "sgd":
        return "+".join(sorted({service.split("_")[0].lower() for service in meta.get("services", [])}))
    return {"multiwoz_en": "travel", "taskmaster4": "coffee", "abcd_sample": "retail"}[name]


def _turn(role: str, text: str) -> DraftTurn | None:
    text = re.sub(r"(?<!\s)\s++([.,?!;:])(?=\s|$)", r"\1", re.sub(r"[ \t]+", " ", text)).strip()
    if not text or role not in ("customer", "agent"):
        return None
    spoken: Role = "customer" if role == "customer" else "agent"
    return DraftTurn(spoken, text)


def _plain_turns(row: Row) -> tuple[DraftTurn, ...] | None:
    made = (_turn(turn["role"], turn["text"] or "") for turn in row["turns"])
    return tuple(turn for turn in made if turn)


def _star_turns(row: Row) -> tuple[DraftTurn, ...] | None:
    """The turns with the chart's node that each agent turn was chosen from."""
    if row["split"] != "Complete":
        return None
    made = ((_turn(turn["role"], turn["text"] or ""), turn["action"]) for turn in row["turns"])
    return tuple(replace(turn, action=action or "") for turn, action in made if turn)


def _looked_up(row: Row) -> frozenset[int]:
    """Places, among what was said in STAR, of agent turns after a system's answer to the customer's last
    turn."""
    found, answered, place = set(), False, 0
    for turn in row["turns"]:
        text = turn["text"] or ""
        if turn["role"] == "system":
            answered = answered or text.startswith('{"result"')
        elif said := _turn(turn["role"], text):
            if said.role == "customer":
                answered = False
            elif answered:
                found.add(place)
            place += 1
    return frozenset(found)


def _star_chart(row: Row) -> str | None:
    """The flow chart that held throughout: one task, and a customer who was to make no trouble."""
    meta = json.loads(row["meta"] or "{}")
    tasks = meta.get("capabilities") or []
    return str(tasks[0]) if len(tasks) == 1 and meta.get("happy") else None


def _charts(folder: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """For each flow chart of `folder`, by its file's name, the steps that its outcomes require."""
    return {
        path.stem: required(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*.json"))
    }


def _tau_turns(row: Row) -> tuple[DraftTurn, ...] | None:
    """What the customer saw; None where the task failed or the agent's thoughts reached him."""
    if not any(label["category"] == "task_reward" and float(label["value"]) == 1 for label in row["labels"]):
        return None
    turns = []
    for turn in row["turns"]:
        text = turn["text"] or ""
        if turn["role"] == "agent":
            seen = tau_said(text)
            if seen is None:
                return None
            text = seen
        elif "###" in text:
            continue
        if made := _turn(turn["role"], re.sub(r"(?<!\s)[^\S\n]*+\n\s*+", " ", text)):
            turns.append(made)
    return tuple(turns)


def tau_said(text: str) -> str | None:
    """What the customer saw of an agent's turn: the reply inside ``Thought: ... Action: {...}``, "" for a
    tool call, None if unreadable."""
    if "Thought:" not in text and "Action:" not in text:
        return text
    _, found, action = text.rpartition("Action:")
    if not found:
        return None
    try:
        call, _ = json.JSONDecoder().raw_decode(action.strip())
    except ValueError:
        return None
    if not isinstance(call, dict) or not isinstance(call.get("arguments"), dict):
        return None
    return str(call["arguments"].get("content", "")) if call.get("name") == "respond" else ""


_TURNS: dict[str, Callable[[Row], tuple[DraftTurn, ...] | None]] = {
    "star": _star_turns,
    "tau_bench": _tau_turns,
}
