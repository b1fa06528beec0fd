"""Recall and precision of scan, judge and both by budget, with a simulated judge of stated error rates.

    python runs/studies/judge_budget.py --out build/judge_budget.json
    python runs/studies/judge_budget.py --out OUT.json --examples build/examples/test_unseen.jsonl --limit 300
    python runs/studies/judge_budget.py --out OUT.json --examples build/natural/dev.jsonl --limit 1000
    python runs/studies/judge_budget.py --out OUT.json --drawn build/natural_logs    # of measure.py logs

The dialogues are those of the sample log or, with `--examples`, drawn by seed from files of `dialint data
inject` or of `runs/studies/natural/examples.py`, whose dialogues were read whole by one reader, or, with
`--drawn`, those of the natural development set, of which single turns were read twice: only these turns
count, and on all others the judge knows of no error. The judge is no model: it
knows their labels and errs at the rates given here, drawn by a hash of dialogue, turn and code. The figures
say what the plan of questions does with such a judge, and nothing about any LLM. An error of which the reader
was not sure, and a code that nobody looked for, count neither as right nor as wrong. The scan is the embedded
release.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cyclopts
from natural.measure import read_rows

from dialint.detector.artifacts import write_json
from dialint.detector.example_files import read_examples
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.budget import Budget
from dialint.detector.judge.engine import JudgeReply, JudgeRequest
from dialint.detector.judge.messages import Answer, answer_json, round_to_grid
from dialint.detector.judge.stage import JudgedDetector, StageOptions
from dialint.detector.masking import mask_dialogue
from dialint.detector.pipeline import load_detector, score
from dialint.detector.policy import load_policies
from dialint.detector.records import Dialogue, Example, Label, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.results import read_labelled_log

SAMPLE = Path(__file__).parents[2] / "app" / "sample"
Key = tuple[str, int, str]


@dataclass
class Stored:
    """A detector whose verdicts were made before; without `verdicts` it covers nothing."""

    verdicts_by_id: Mapping[str, Verdict]
    codes: tuple[str, ...]
    info: Any = None
    release: str = "stored"
    fingerprint: str = "stored"
    taxonomy: Any = field(default_factory=load_taxonomy)

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        return [self.verdicts_by_id[dialogue.id] for dialogue in dialogues]


@dataclass
class LabelJudge:
    """Says what the labels say, but for a share `miss` of the errors and a share `invent` of the rest; of the
    turns and codes of a screen it names `invent_screen`."""

    truth: set[Key]
    turns: Mapping[str, Mapping[str, int]]
    miss: float = 0.15
    invent: float = 0.05
    invent_screen: float = 0.01
    name: str = "simulated"
    fingerprint: str = "simulated"
    is_remote: bool = False
    max_prompt_tokens: int = 8000

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return sum(len(message["content"]) for message in messages) // 4

    def spell(self, text: str) -> str:
        return text

    def close(self) -> None:
        pass

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: JudgeRequest) -> JudgeReply:
        tokens, dialogue = self.count_tokens(request.messages), request.dialogue_id
        if request.wants_verdict:
            code = json.loads(request.messages[1]["content"].rpartition("\n")[2])["code"]
            turn = self.turns[dialogue][request.quoted or ""]
            is_error = self._says((dialogue, turn, code), "detail", self.invent)
            p = 0.95 if is_error else 0.05
            quote = request.quoted if is_error else None
            answer = Answer(
                verdict="error" if is_error else "no_error", probability=round_to_grid(p), quote=quote
            )
            text, stated = answer_json(answer), (p, 1 - p, 0.0)
            return JudgeReply(
                text=text, verdict_probabilities=stated, prompt_tokens=tokens, output_tokens=len(text) // 4
            )
        item = request.schema["properties"]["errors"]["items"]["properties"]
        named = [
            {"turn": turn, "code": code}
            for turn in item["turn"]["enum"]
            for code in item["code"]["enum"]
            if self._says((dialogue, turn, code), "screen", self.invent_screen)
        ]
        text = json.dumps({"errors": named})
        return JudgeReply(text=text, prompt_tokens=tokens, output_tokens=len(text) // 4)

    def _says(self, key: Key, form: str, invent: float) -> bool:
        digest = hashlib.blake2b(f"{form}/{key}".encode(), digest_size=8).digest()
        draw = int.from_bytes(digest) / 2**64
        return draw >= self.miss if key in self.truth else draw < invent


def main(
    *,
    out: Path,
    miss: float = 0.15,
    invent: float = 0.05,
    invent_screen: float = 0.01,
    examples: tuple[Path, ...] = (),
    drawn: Path | None = None,
    limit: int = 300,
    seed: int = 0,
) -> None:
    """Print the table and write it as JSON."""
    if drawn is not None:
        labelled = list(_read_drawn(drawn))
    elif not examples:
        labelled = list(read_labelled_log(SAMPLE / "dialogues.jsonl", SAMPLE / "labels.jsonl"))
    else:
        every = [each for path in examples for each in read_examples(path)]
        labelled = random.Random(seed).sample(every, min(limit, len(every)))
    dialogues = [
        each.dialogue
        if not examples or drawn is not None
        else each.dialogue.model_copy(update={"id": f"{each.dialogue.id} {n}"})
        for n, each in enumerate(labelled)
    ]
    truth = {
        (dialogue.id, label.turn, label.code)
        for dialogue, each in zip(dialogues, labelled, strict=True)
        for label in each.errors
    }
    unsure = {
        (dialogue.id, label.turn, label.code)
        for dialogue, each in zip(dialogues, labelled, strict=True)
        for label in each.labels
        if label.probability == 0.5
    }
    unlabelled = {
        dialogue.id: frozenset(each.unlabelled) for dialogue, each in zip(dialogues, labelled, strict=True)
    }
    counted = None if drawn is None else {(row["dialogue"], row["turn"]) for row in read_rows("turns.jsonl")}
    policies = tuple(sorted((SAMPLE / "policies").glob("*.yaml")))
    detector = load_detector(DetectorConfig(threads=1, policy=policies))
    scanned = score(dialogues, detector)
    masked = {dialogue.id: mask_dialogue(dialogue)[0] for dialogue in dialogues}
    turns = {name: {turn.text: turn.index for turn in each.turns} for name, each in masked.items()}
    blank = {
        verdict.dialogue_id: verdict.model_copy(
            update={"findings": (), "suggestions": (), "not_judged": ()}
            | ({"status": "scored", "quality": 100.0} if verdict.status != "failed" else {})
        )
        for verdict in scanned
    }
    with_scan = Stored({verdict.dialogue_id: verdict for verdict in scanned}, detector.codes, detector.info)
    judge_only = Stored(blank, ())
    rows = [_figures("scan", None, scanned, truth, unsure, unlabelled, counted, None)]
    for budget in (250, 500, 1000, 2000, 4000, None):
        for name, inner, audit in (
            ("judge", judge_only, 0.0),
            ("scan and judge", with_scan, 0.0),
            ("scan and judge, all codes asked", with_scan, 1.0),
        ):
            options = StageOptions(
                codes=frozenset(detector.taxonomy.codes),
                audit=audit,
                threshold=0.5,
                budget=None if budget is None else Budget(budget, "questions"),
                policies=load_policies(policies),
            )
            stage = JudgedDetector(
                inner, LabelJudge(truth | unsure, turns, miss, invent, invent_screen), options
            )
            verdicts = stage.verdicts(dialogues)
            rows.append(_figures(name, budget, verdicts, truth, unsure, unlabelled, counted, stage))
    for row in rows:
        print(" | ".join(str(value) for value in row.values()))
    write_json(out, {"dialogues": len(dialogues), "labels": len(truth), "rows": rows})


def _read_drawn(folder: Path) -> Iterator[Example]:
    """The dialogues of the natural development set, with what two readings found in their drawn turns."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows("turns.jsonl"):
        rows.setdefault(row["dialogue"], []).append(row)
    for name, dialogue in load_dialogues(sorted(map(str, folder.glob("*.parquet")))).items():
        labels = tuple(
            Label(
                dialogue_id=name,
                turn=row["turn"],
                code=code,
                probability=sure,
                method="read",
                n_labelers=2,
            )
            for row in rows.get(name, ())
            for sure, codes in ((1.0, row["errors"]), (0.5, row["arguable"]))
            for code in codes
        )
        if name in rows:
            yield Example(dialogue=dialogue, labels=labels, split="natural")


def _figures(
    name: str,
    budget: int | None,
    verdicts: Sequence[Verdict],
    truth: set[Key],
    unsure: set[Key],
    unlabelled: Mapping[str, frozenset[str]],
    counted: set[tuple[str, int]] | None,
    stage: JudgedDetector | None,
) -> dict[str, Any]:
    found = {
        (each.dialogue_id, finding.turn, finding.code)
        for each in verdicts
        for finding in each.findings
        if finding.code not in unlabelled[each.dialogue_id]
        and (counted is None or (each.dialogue_id, finding.turn) in counted)
    } - unsure
    right = len(found & truth)
    usage = stage.usage if stage is not None else None
    return {
        "who": name,
        "budget": budget,
        "questions": usage.screens + usage.details if usage is not None else 0,
        "tokens": usage.prompt_tokens + usage.output_tokens if usage is not None else 0,
        "findings": len(found),
        "right": right,
        "precision": round(right / len(found), 3) if found else None,
        "recall": round(right / len(truth), 3),
    }


if __name__ == "__main__":
    cyclopts.run(main)
