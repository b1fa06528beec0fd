"""Which judge is asked, and how. Command lines are built from `JudgeConfig`; no heavy library is imported."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.judge.budget import Budget, Price, parse_budget, parse_price
from dialint.detector.judge.messages import Detail
from dialint.detector.option_ranges import check_ranges
from dialint.detector.plugins import Plugin, plugins

PROMPT_FILE = "judge.json"
"""File of a judge that was trained here: the version of its prompt and the form of its questions."""


LOCAL = ("local", "vllm")
"""Engines that are asked one turn and code at a time."""


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """The judge that a scoring job asks after the scan."""

    judge: str | None = None
    """The LLM that judges what the scan flags, and the codes that it does not cover: local:FOLDER, in this
    process; vllm:FOLDER, in vLLM in this process; http:URL, any OpenAI-compatible server (for instance
    http://127.0.0.1:8000/v1); or NAME:ARGUMENT, an engine of an installed package. A folder is that of a base
    model or of `dialint train sft judge`."""

    judge_model: str | None = None
    """Name of the model or adapter on the server; without it the only one that the server lists."""

    judge_key_file: Path | None = None
    """File with the server's API key; without it the environment variable DIALINT_JUDGE_KEY, if there is
    one."""

    judge_timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds after which a request to the server is given up, and tried again a few times."""

    judge_outage_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds without any answer of the server after which the job stops; the same command goes on later."""

    judge_context: Annotated[int | None, Field(ge=512)] = None
    """Tokens of the model's context; without it what the server or the model says, else 8192. Of a server
    never more than it says."""

    judge_concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    """Requests at a time: a server of vLLM on a GPU answers more with 64, llama.cpp with as many as it has
    slots."""

    judge_budget: str | None = None
    """What the judge may be asked for each thousand dialogues: "500 questions", "200k tokens" (prompts and
    answers) or "2.50 usd" (with --judge-price). What the scan flagged comes first, then what nothing else
    looks for; what is left unasked is recorded. Without it everything is asked."""

    judge_price: str | None = None
    """Price of a million tokens of prompts and of answers in US dollars, for instance 0.15,0.60."""

    judge_audit: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of the dialogues, drawn by their ids, that is asked about every code, also those that the scan
    covers: so that what the scan misses can be estimated."""

    judge_threshold: Annotated[float | None, Field(gt=0, le=1)] = None
    """Probability from which an error that only the judge found is a finding. Without it that is so for the
    codes only that the judge contract of --overrides allows; all else it finds is a suggestion."""

    judge_precision: Annotated[float | None, Field(gt=0, le=1)] = None
    """Share of the errors listed by this judge that are right, as you measured it yourself: it is not
    measured then, and what it lists at 0.5 or more is a finding, unless this is below --min-precision."""

    min_precision: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Share of the judge's findings that must be right. At first use a judge reads dialogues with labels that
    ship with dialint; what it lists is a finding where it keeps this, and a suggestion elsewhere."""

    judge_examples: Path | None = None
    """What people decided about other dialogues, shown to the judge with questions about the same code: the
    folder of `dialint export dataset`, or its file of preferences. At most two errors that they marked and
    one finding that they took back, the most similar ones, masked; none from the dialogue in question or a
    copy of it."""

    judge_detail: Literal["auto", "short", "full"] = "auto"
    """How much of a code's entry a question holds: its test, or also its definition and examples. auto: what
    a judge was trained with, and full for a model that was not trained here."""

    judge_language: Literal["en", "es", "ru"] = "en"
    """Language of the questions; dialogues may be in any."""

    judge_form: Literal["questions", "reading"] = "questions"
    """questions: screens for groups of codes, then one question for each turn and code, the form in which
    judges are trained. reading: one question for a whole dialogue, with all codes, guidelines and tool
    results, of any OpenAI-compatible server; the better form for a strong model (http: only so far)."""

    judge_rewrites: bool = False
    """Ask the judge for each wrong turn without its errors as well."""

    guideline: tuple[Path, ...] = ()
    """Guidelines of your team as Markdown or text, in any language: the judge reads them with each dialogue,
    and its findings cite their clauses. A bot's own system turn is read like one."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.judge is not None:
            parse_judge(self.judge)
        else:
            changed = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
            if changed:
                raise ConfigError(
                    "E_OPTION", f"--{changed[0].replace('_', '-')} without --judge: nobody is asked"
                )
        if self.judge is not None and self.judge_form == "reading" and parse_judge(self.judge)[0] in LOCAL:
            raise ConfigError("E_OPTION", "--judge-form reading: only of a server so far (--judge http:URL)")
        if self.judge_form != "reading" and (self.guideline or self.judge_rewrites):
            raise ConfigError("E_OPTION", "--guideline and --judge-rewrites need --judge-form reading")
        if self.price is None and self.budget is not None and self.budget.unit == "usd":
            raise ConfigError(
                "E_OPTION", "--judge-budget in usd needs --judge-price IN,OUT (dollars a million tokens)"
            )
        if self.judge_examples is not None and not self.judge_examples.exists():
            raise ConfigError(
                "E_OPTION", f"--judge-examples {self.judge_examples}: there is no such file or folder"
            )

    @cached_property
    def budget(self) -> Budget | None:
        """The parsed budget.

        Raises:
            ConfigError: E_OPTION, not of one of the three forms.
        """
        return None if self.judge_budget is None else parse_budget(self.judge_budget)

    @cached_property
    def price(self) -> Price | None:
        """The parsed price.

        Raises:
            ConfigError: E_OPTION, not two numbers.
        """
        return None if self.judge_price is None else parse_price(self.judge_price)

    def question_form(self) -> Detail:
        """How much of a code's entry a question holds: `judge_detail`, or what a trained judge was trained
        with, and full for any other model."""
        if self.judge_detail != "auto":
            return self.judge_detail
        kind, where = parse_judge(self.judge or "")
        path = Path(where) / PROMPT_FILE
        if kind == "http" or not path.exists():
            return "full"
        return "full" if json.loads(path.read_bytes()).get("detail") == "full" else "short"

    def describe(self) -> dict[str, Any]:
        """The options that can change a verdict, but for the contents of files."""
        unchanging = (
            "judge_key_file",
            "judge_timeout_s",
            "judge_outage_s",
            "judge_concurrency",
            "judge_price",
            "guideline",
        )
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in unchanging}
        if self.budget is not None and self.budget.unit == "usd":
            values["judge_price"] = self.judge_price
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in values.items()
            if value is not None
        }


def parse_judge(value: str) -> tuple[str, str]:
    """Splits the value of ``--judge`` into the engine's name and its folder, URL or other argument.

    Raises:
        ConfigError: E_OPTION, no engine has this name, or a key stands in the URL.
    """
    name, _, rest = value.partition(":")
    if name in ("http", "https") and rest.startswith("//"):
        name, rest = "http", value
    if not rest or name not in plugins("dialint.judges"):
        others = [each for each in plugins("dialint.judges") if each not in ("local", "vllm", "http")]
        more = "".join(f", {each}:..." for each in others)
        raise ConfigError(
            "E_OPTION", "--judge: expected local:FOLDER, vllm:FOLDER or http:URL{more}", more=more
        )
    if name == "http" and ("@" in rest.partition("//")[2].partition("/")[0] or "?" in rest):
        raise ConfigError(
            "E_OPTION", "--judge: a URL with a user or a key in it; keys belong into DIALINT_JUDGE_KEY"
        )
    return name, rest


def judge_plugin(value: str) -> Plugin:
    """Return where the engine of a value of ``--judge`` comes from; raises as `parse_judge`."""
    return plugins("dialint.judges")[parse_judge(value)[0]]
