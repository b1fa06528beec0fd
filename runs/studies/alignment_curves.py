"""Reward and F0.5 of a judge on held-out questions over the steps of GRPO or PPO.

Run: ``python runs/studies/alignment_curves.py make --out DATASET``, then ``dialint train sft judge``, then
``python runs/studies/alignment_curves.py run --stage grpo --dataset DATASET --judge FOLDER --out FOLDER``.

`make` writes made-up dialogues of two turns of an agent, the second of which may be rude (T1), firm and no
error, or borderline, with a label of probability 0.6. `run` is the stage of ``dialint train``; every few
steps the judge answers questions of another split as it does in serving, greedily under their schema. Writes
``curve.jsonl`` into the folder of the aligned judge.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cyclopts import App, Parameter
from transformers import TrainerCallback

from dialint.detector.artifacts import atomic_file, file_entry, make_output_folder, write_manifest
from dialint.detector.engines.judge_local import LocalJudge
from dialint.detector.engines.judge_prompt import load_prompt, resolve_judge
from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.judge.reading import parse_reading
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import LabelledQuestion, SelectionConfig, ask_about, read_labelled
from dialint.eval.matching import reading_figures
from dialint.finetune.judge import grpo, ppo
from dialint.finetune.rewards.verifiable import RewardWeights, compute_reward
from dialint.finetune.rl.ppo_trainer import PpoTrainer
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import PpoOptions, RunOptions

PROBLEMS = ("My parcel never came.", "The app does not start.", "I was charged twice.", "My card is lost.",
            "The room was cold.", "I need another seat.")  # fmt: skip
URGES = ("I am still waiting.", "It is urgent.", "What do I do now?", "Please hurry.", "Nobody told me.",
         "It is the second time.")  # fmt: skip
REPLIES = ("I am looking into it now.", "Let me check that for you.", "I have opened a case.",
           "You get a mail today.", "Thank you for waiting.")  # fmt: skip
SAID = {
    "That is your own fault.": (0.2, 1.0),
    "Stop wasting my time.": (0.2, 1.0),
    "You should have told us.": (0.2, 0.6),
    "You have to read the terms.": (0.2, 0.0),
    "": (0.2, 0.0),
}
"""What is said beside the last reply: how often, and the probability that it is an error."""


def make(out: Path) -> None:
    """Write a data set of made-up dialogues."""
    make_output_folder(out, new=True)
    paths = []
    for split, n in (("train", 400), ("dev", 40), ("test", 80)):
        rng = random.Random(split)
        rows = [_example(f"{split}{number}", split, rng) for number in range(n)]
        paths.append(out / f"{split}.jsonl")
        with atomic_file(paths[-1]) as file:
            file.write("".join(row.model_dump_json() + "\n" for row in rows).encode())
    content = {"kind": "labelled-examples", "codes": ["T1"], "files": [file_entry(path) for path in paths]}
    write_manifest(out / "manifest.json", content)


def _example(name: str, split: str, rng: random.Random) -> Example:
    (said,) = rng.choices(list(SAID), [share for share, _ in SAID.values()])
    parts = [rng.choice(REPLIES), said]
    rng.shuffle(parts)
    last = " ".join(parts).strip()
    texts = (rng.choice(PROBLEMS), rng.choice(REPLIES), rng.choice(URGES), last)
    turns = tuple(
        Turn(index=index, role=("customer", "agent")[index % 2], text=text)
        for index, text in enumerate(texts)
    )
    probability, labels = SAID[said][1], []
    if probability:
        start = last.index(said)
        span = {"start": start, "end": start + len(said)}
        labels = [Label(dialogue_id=name, turn=3, code="T1", probability=probability, method="crowd", **span)]
    return Example(dialogue=Dialogue(id=name, turns=turns), labels=tuple(labels), split=split)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CurveConfig:
    """A run of a stage, and what is measured beside it."""

    stage: Literal["grpo", "ppo"]
    """The stage."""
    dataset: Path
    """Folder of a data set."""
    judge: str
    """The judge to align."""
    out: Path
    """Folder for the aligned judge."""
    split: str = "test"
    """Split of the held-out questions."""
    held_out: int = 32
    """Held-out questions."""
    every: int = 10
    """Steps between two measurements."""
    seed: int = 1
    """Seed of the run; the held-out questions are the same for all."""
    steps: int = 30
    """Training steps."""
    questions: int = 2
    """Questions in a step."""
    answers: int = 4
    """Answers to each question."""
    answer_tokens: int = 160
    """Maximum tokens of an answer."""
    learning_rate: float = 2e-4
    """Peak learning rate."""
    ratio: float = 2.0
    """How many missed errors are as bad as one false accusation."""


def run(config: CurveConfig) -> None:
    """Train, and measure before the first step, every few steps and at the end."""
    prompt = load_prompt(resolve_judge(config.judge))
    labelled = read_labelled(config.dataset, config.split, SelectionConfig(), 1)
    items = ask_about(labelled, prompt.reader(load_taxonomy()))[: config.held_out]
    rows: list[dict[str, Any]] = []
    started_s = time.monotonic()

    def measure(model: Any, step: int) -> None:
        figures = answer_figures(LocalJudge(model, prompt), items, config)
        row = {"step": step, **{name: round(value, 4) for name, value in figures.items()}}
        rows.append({**row, "seconds": round(time.monotonic() - started_s)})
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)

    {"grpo": run_grpo, "ppo": run_ppo}[config.stage](config, measure)
    with atomic_file(config.out / "curve.jsonl") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows).encode())


def answer_figures(
    judge: LocalJudge, items: Sequence[LabelledQuestion], config: CurveConfig
) -> dict[str, float]:
    """The `reading_figures` of the judge's answers, and their mean reward."""
    requests = [
        JudgeRequest(
            dialogue_id=item.source,
            messages=item.question.messages,
            schema=item.question.schema,
            max_tokens=config.answer_tokens,
            answers=1,
        )
        for item in items
    ]
    texts = [reply.text for reply in judge.ask(requests)]
    weights = RewardWeights(ratio=config.ratio)
    rewards = [compute_reward(text, item, weights).total for text, item in zip(texts, items, strict=True)]
    readings = [parse_reading(text, item.question) for text, item in zip(texts, items, strict=True)]
    listed = sum(len(reading.errors) for reading in readings if not isinstance(reading, str))
    figures = reading_figures(readings, items)
    return {"reward": sum(rewards) / len(rewards), **figures, "listed": listed / len(items)}


def run_grpo(config: CurveConfig, measure: Callable[[Any, int], None]) -> None:
    build = grpo._build_trainer

    class Measurement(TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.global_step % config.every == 0:
                measure(model, state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            measure(model, state.global_step)

    def build_measured(*args: Any) -> Any:
        trainer = build(*args)
        trainer.add_callback(Measurement())
        return trainer

    grpo._build_trainer = build_measured
    grpo.run(
        grpo.GrpoConfig(
            **_shared(config),
            steps=config.steps,
            questions=config.questions,
            answers=config.answers,
            answer_tokens=config.answer_tokens,
            learning_rate=config.learning_rate,
        )
    )


def run_ppo(config: CurveConfig, measure: Callable[[Any, int], None]) -> None:
    train_step = PpoTrainer.train_step

    def step_measured(self: PpoTrainer, step: int) -> Any:
        if step % config.every == 0:
            measure(self.policy.model, step)
        output = train_step(self, step)
        if step + 1 == config.steps:
            measure(self.policy.model, step + 1)
        return output

    PpoTrainer.train_step = step_measured  # type: ignore[method-assign]
    options = PpoOptions(
        steps=config.steps,
        questions=config.questions,
        answers=config.answers,
        answer_tokens=config.answer_tokens,
        learning_rate=config.learning_rate,
        minibatch=config.questions * config.answers,
    )
    ppo.run(ppo.PpoConfig(**_shared(config), options=options))


def _shared(config: CurveConfig) -> dict[str, Any]:
    return {
        "dataset": config.dataset,
        "model": config.judge,
        "out": config.out,
        "weights": RewardWeights(ratio=config.ratio),
        "adapters": AdapterOptions(rank=16),
        "running": RunOptions(seed=config.seed, threads=1, device="cpu", precision="fp32"),
    }


if __name__ == "__main__":
    app = App(help=__doc__)
    app.command(make)
    app.command(run)
    app()
