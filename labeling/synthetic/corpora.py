"""Clean dialogues of the corpora as drafts, with licence and a split that leaks nothing.

Reads the Parquet files of the data folder at run time; no text of theirs is part of the project. The toy
corpus, written for this project, ships inside the package.
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

from dialint.detector.errors import InputRefused
from dialint.detector.records import Role
from dialint.labeling.synthetic.cleaning import repeats_lawfully
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft
from dialint.labeling.synthetic.flowcharts import required_steps

TOY_FOLDER = Path(__file__).parents[1] / "corpora" / "toy"
"""The corpus that ships; ``--data toy`` means it."""
MAX_TURNS = 60
MAX_CHARS = 6000

Row = dict[str, Any]


@dataclass(frozen=True)
class Corpus:
    """Where a corpus lies and on what terms. `trains` is false where weights trained on it would
    carry its terms on, or where it is kept as an unknown domain. `clean_set` is the name of the set, if any,
    that its test dialogues make as they are. `held` is the share of its groups, 0 to 1, that is kept from
    training."""

    name: str
    file: str
    licence: str
    trains: bool = True
    clean_set: str = ""
    held: float = 0.2


CORPORA: tuple[Corpus, ...] = (
    Corpus("star", "star/data.parquet", "MIT (RasaHQ/STAR)", clean_set="clean_star"),
    Corpus("multiwoz_en", "multiwoz_en_ru/data_en.parquet", "MIT (MultiWOZ)", clean_set="clean_multiwoz"),
    Corpus("taskmaster4", "taskmaster4/data.parquet", "CC BY 4.0 (Google Taskmaster)"),
    Corpus("tau_bench", "tau_bench/data.parquet", "MIT (sierra-research/tau-bench, tau2-bench)"),
    Corpus("abcd_sample", "abcd_sample/data.parquet", "MIT (ASAPP ABCD)"),
    Corpus("sgd", "sgd/data.parquet", "CC BY-SA 4.0 (Google SGD)", trains=False),
)
TOY: tuple[Corpus, ...] = (
    Corpus("toy", "dialogues.jsonl", "Apache-2.0 (this project)", clean_set="clean_toy", held=0.6),
    Corpus(
        "toy_other_trades",
        "other_trades.jsonl",
        "Apache-2.0 (this project)",
        trains=False,
        clean_set="clean_toy_other_trades",
    ),
)
"""So small that more than half of it is kept from training: each set needs errors of each code."""


@dataclass(frozen=True)
class CleanDialogue:
    """A clean dialogue; dialogues of one `group` are near-copies and share a split."""

    draft: ExampleDraft
    group: str
    held: float = 0.2

    @property
    def split(self) -> str:
        """See `split_of`."""
        return split_of(self.group, self.held)


def data_folder(data: Path) -> Path:
    """The folder that `data` names: itself, or that of the toy corpus for ``toy`` where no such folder is."""
    return TOY_FOLDER if data == Path("toy") and not data.exists() else data


def corpora_in(data: Path) -> tuple[Corpus, ...]:
    """The corpora of the data folder."""
    return TOY if data.resolve() == TOY_FOLDER.resolve() else CORPORA


def read(corpus: Corpus, data: Path) -> Iterator[CleanDialogue]:
    """The usable dialogues of `corpus`, exact copies once, in file order.

    Left out: broken-off and failed dialogues, those without agent or customer, over-long ones, and
    those whose agent repeats itself word for word without being called to.

    Raises:
        InputRefused: the file is not there.
    """
    path = data / corpus.file
    if not path.is_file():
        raise InputRefused(
            "E_DATA",
            f"{path}: no such file; --data names the folder of the corpora, or toy, the small one that ships",
        )
    seen: set[str] = set()
    charts = _charts(path.parent / "policies") if corpus.name == "star" else {}
    for row in _toy_rows(path) if path.suffix == ".jsonl" else _parquet_rows(path):
        turns = _TURNS.get(corpus.name, _plain_turns)(row)
        after_lookup = _turns_after_lookup(row) if corpus.name == "star" else frozenset()
        if turns is None or not _is_usable(turns, after_lookup):
            continue
        whole = _normalize(" ".join(turn.text for turn in turns))
        if whole in seen:
            continue
        seen.add(whole)
        policy = _star_chart(row) if corpus.name == "star" else None
        draft = ExampleDraft(
            id=f"{corpus.name}:{row['dialogue_id']}",
            source=corpus.name,
            domain=_domain(corpus.name, row),
            turns=turns,
            policy=policy,
            required=charts.get(policy, {}) if policy else {},
        )
        yield CleanDialogue(draft, _group(corpus.name, row, turns), corpus.held)


def _parquet_rows(path: Path) -> Iterator[Row]:
    from pyarrow import parquet

    for batch in parquet.ParquetFile(path).iter_batches(512):
        yield from batch.to_pylist()


def _toy_rows(path: Path) -> Iterator[Row]:
    """Each written dialogue as often as its longest slot has values, filled with their first ones,
    then their second, and so on."""
    for line in path.read_text("utf-8").splitlines():
        written = json.loads(line)
        slots: dict[str, list[str]] = written["slots"]
        for number in range(max((len(values) for values in slots.values()), default=1)):
            chosen = {name: values[number % len(values)] for name, values in slots.items()}
            turns = [{**turn, "text": turn["text"].format_map(chosen)} for turn in written["turns"]]
            name = f"{written['dialogue_id']}.{number + 1}"
            yield {"dialogue_id": name, "turns": turns, "meta": None}


def read_all(data: Path, limit: int | None = None) -> dict[str, list[CleanDialogue]]:
    """The usable dialogues of every corpus by its name, at most `limit` of each.

    Near-copies (Jaccard of word triples 0.6 or more) are given one group, whatever corpus they lie in.
    Groups are made before the limit is applied, so that no dialogue changes its split with it.

    Raises:
        InputRefused: a corpus is missing.
    """
    from dialint.detector.near_duplicates import RELATED, batch_shingles, group_names, linking_pairs

    data = data_folder(data)
    read_in = {corpus.name: list(read(corpus, data)) for corpus in corpora_in(data)}
    cleans = [clean for rows in read_in.values() for clean in rows]
    texts = ["\n".join(turn.text for turn in clean.draft.turns) for clean in cleans]
    groups = iter(
        group_names([(clean.group,) for clean in cleans], linking_pairs(batch_shingles(texts), RELATED))
    )
    return {
        name: [replace(clean, group=next(groups)) for clean in rows][:limit] for name, rows in read_in.items()
    }


def split_of(group: str, held: float = 0.2) -> str:
    """By a hash of the group: of the share `held` a quarter is dev, three eighths are calibration and three
    eighths test (5, 7.5 and 7.5 % of all); the rest is train."""
    index = int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) / 2**32
    if index < 1 - held:
        return "train"
    if index < 1 - 0.75 * held:
        return "dev"
    return "calibration" if index < 1 - 0.375 * held else "test"


_ASKS_SECRET = re.compile(r"\b(?:pin|password|maiden name)\b", re.IGNORECASE)
"""Some STAR agents ask for a PIN because their flow chart says so: V2 by the taxonomy, not clean."""


def _is_usable(turns: tuple[DraftTurn, ...], after_lookup: frozenset[int]) -> bool:
    roles = {turn.role for turn in turns}
    agent = [turn.text for turn in turns if turn.role == "agent"]
    return (
        {"agent", "customer"} <= roles
        and 2 <= len(turns) <= MAX_TURNS
        and sum(len(turn.text) for turn in turns) <= MAX_CHARS
        and not any(_ASKS_SECRET.search(text) for text in agent)
        and repeats_lawfully(turns, after_lookup) is not False
    )


def _normalize(text: str) -> str:
    return " ".join(re.findall(r"[a-z]+", text.lower()))


def _group(name: str, row: Row, turns: tuple[DraftTurn, ...]) -> str:
    if name.startswith("toy"):  # one written dialogue, its slots filled in several ways
        return f"toy:{str(row['dialogue_id']).rpartition('.')[0]}"
    if name == "tau_bench":  # many agents played the same task: "...-retail#18#0"
        task = re.search(r"(?:airline|retail)#\d+", str(row["dialogue_id"]))
        return f"tau:{task[0] if task else row['dialogue_id']}"
    return f"{name}:" + _normalize(" ".join(turn.text for turn in turns[:3]))


def _domain(name: str, row: Row) -> str:
    if name.startswith("toy"):
        return str(row["dialogue_id"]).partition("-")[0]
    meta = json.loads(row["meta"] or "{}")
    if name == "star":
        domains = [domain for domain in meta.get("domains") or [] if domain]
        return "+".join(sorted(domains)) or "star"
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


def _turns_after_lookup(row: Row) -> frozenset[int]:
    """Indexes, among the turns that STAR keeps, of agent turns after a system's answer to the customer's last
    turn."""
    indexes, answered, index = set(), False, 0
    for turn in row["turns"]:
        text = turn["text"] or ""
        if turn["role"] == "system":
            answered = answered or text.startswith('{"result"')
        elif built := _turn(turn["role"], text):
            if built.role == "customer":
                answered = False
            elif answered:
                indexes.add(index)
            index += 1
    return frozenset(indexes)


def _star_chart(row: Row) -> str | None:
    """The flow chart that held throughout: one task, and a customer who was to make no trouble."""
    meta = json.loads(row["meta"] or "{}")
    tasks = meta.get("capabilities") or []
    return str(tasks[0]) if len(tasks) == 1 and meta.get("happy") else None


def _charts(folder: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """For each flow chart of `folder`, by its file's name, the steps that its outcomes require."""
    return {
        path.stem: required_steps(json.loads(path.read_text("utf-8")))
        for path in sorted(folder.glob("*.json"))
    }


def _tau_turns(row: Row) -> tuple[DraftTurn, ...] | None:
    """What the customer saw; None where the task failed or the agent's thoughts reached him."""
    if not any(label["category"] == "task_reward" and float(label["value"]) == 1 for label in row["labels"]):
        return None
    turns = []
    for turn in row["turns"]:
        text = turn["text"] or ""
        if turn["role"] == "agent":
            seen = tau_reply(text)
            if seen is None:
                return None
            text = seen
        elif "###" in text:
            continue
        if made := _turn(turn["role"], re.sub(r"(?<!\s)[^\S\n]*+\n\s*+", " ", text)):
            turns.append(made)
    return tuple(turns)


def tau_reply(text: str) -> str | None:
    """What the customer saw of an agent's turn: the reply inside ``Thought: ... Action: {...}``, "" for a
    tool call, None if unreadable."""
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


_TURNS: dict[str, Callable[[Row], tuple[DraftTurn, ...] | None]] = {
    "star": _star_turns,
    "tau_bench": _tau_turns,
}
