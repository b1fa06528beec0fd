"""Options of the judge. Command lines are built from `JudgeConfig`; no heavy library is imported."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.judge.budget import Budget, Price, parse_budget, parse_price
from dialint.detector.option_ranges import check_ranges
from dialint.detector.plugins import Plugin, plugins
from dialint.detector.records import Record
from dialint.detector.taxonomy import Detail

PROMPT_FILE = "judge.json"
"""File of a judge that was trained here: the version of its prompt, the detail and codes of its questions."""


class TrainedPrompt(Record):
    """`PROMPT_FILE`: the version of the prompt that a judge was trained with, the detail and codes of its
    questions, and the tokens that they had room for."""

    prompt: str
    detail: Detail
    prompt_tokens: Annotated[int, Field(ge=1)]
    codes: tuple[str, ...]


def read_trained_prompt(folder: Path) -> TrainedPrompt | None:
    """Reads `PROMPT_FILE` of a judge's folder; None for a base.

    Raises:
        ConfigError: E_JUDGE, with another prompt version, or its file is damaged.
    """
    path = folder / PROMPT_FILE
    if not path.exists():
        return None
    from dialint.detector.judge.prompt import PROMPT_VERSION

    try:
        version = json.loads(path.read_bytes())["prompt"]
        if version == PROMPT_VERSION:
            return TrainedPrompt.model_validate_json(path.read_bytes())
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError("E_JUDGE", f"{path}: damaged") from None
    raise ConfigError("E_JUDGE", f"{folder}: trained with {version}, and this is {PROMPT_VERSION}")


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """The judge that a scoring job asks after the scan."""

    judge: str | None = None
    """The LLM that reads the dialogues: local:FOLDER, in this process; http:URL, any OpenAI-compatible
    server (for instance http://127.0.0.1:8000/v1); or NAME:ARGUMENT, an engine of an installed package. A
    folder is that of a base model or of `dialint train sft judge`."""

    judge_model: tuple[str, ...] = ()
    """Name of the model or adapter on the server; without it the only one that the server lists. Several
    vote: each reads every dialogue, and the mean of what they list counts."""

    judge_key_file: Path | None = None
    """File with the server's API key; without it the environment variable DIALINT_JUDGE_KEY, if there is
    one."""

    judge_timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds after which a request to the server is given up, and tried again a few times."""

    judge_outage_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds without any answer of the server after which the job stops; the same command goes on later."""

    judge_context: Annotated[int | None, Field(ge=512)] = None
    """Tokens of the model's context; without it what the server or the model says, else 32768. Of a server
    never more than it says."""

    judge_concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    """Requests at a time: a server of vLLM on a GPU answers more with 64, llama.cpp with as many as it has
    slots."""

    judge_cache: str | None = None
    """Where the judge's answers are kept by what was asked, so that a rerun asks nothing anew: a file, or a
    Redis server that several machines share (redis://HOST:6379/0; password in DIALINT_REDIS_PASSWORD). They
    quote masked dialogues."""

    judge_budget: str | None = None
    """What the judge may be asked for each thousand dialogues: "500 questions", "200k tokens" (prompts and
    answers) or "2.50 usd" (with --judge-price). What is left unasked is recorded. Without it everything is
    asked."""

    judge_price: str | None = None
    """Price of a million tokens of prompts and of answers in US dollars, for instance 0.15,0.60."""

    judge_precision: Annotated[float | None, Field(gt=0, le=1)] = None
    """Share of the errors listed by this judge that are right, as you measured it yourself: it is not
    measured then, and what it lists at 0.5 or more is a finding, unless this is below --min-precision."""

    min_precision: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Share of the judge's findings that must be right. At first use a judge reads dialogues with labels that
    ship with dialint; what it lists is a finding where it keeps this, and a suggestion elsewhere."""

    judge_detail: Detail = "auto"
    """How much of a code's entry the judge is shown: its definition and examples (full), or its test (short).
    auto: what a judge was trained with; for any other model full where its context has room for it."""

    judge_language: Literal["en", "es", "ru"] = "en"
    """Language of the reasons; dialogues may be in any."""

    judge_votes: Annotated[int, Field(ge=1, le=15)] = 1
    """Times that each model reads a dialogue; the mean probability of what is listed counts, and the judge is
    measured so too. The first answer is the most probable one, the others are sampled."""

    judge_rewrites: bool = False
    """Ask the judge for each wrong turn without its errors as well."""

    guideline: tuple[Path, ...] = ()
    """Guidelines of your team as Markdown or text, in any language: the judge reads them with each dialogue,
    and its findings cite their clauses. A bot's own system turn is read like one."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.judge is not None:
            if parse_judge(self.judge)[0] == "local" and self.judge_model:
                raise ConfigError("E_OPTION", "--judge-model names a model of a server: --judge http:URL")
        else:
            changed = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
            if changed:
                raise ConfigError(
                    "E_OPTION", f"--{changed[0].replace('_', '-')} without --judge: nobody is asked"
                )
        if self.price is None and self.budget is not None and self.budget.unit == "usd":
            raise ConfigError(
                "E_OPTION", "--judge-budget in usd needs --judge-price IN,OUT (dollars a million tokens)"
            )

    @cached_property
    def budget(self) -> Budget | None:
        """The parsed budget; raises as `parse_budget`."""
        return None if self.judge_budget is None else parse_budget(self.judge_budget)

    @cached_property
    def price(self) -> Price | None:
        """The parsed price; raises as `parse_price`."""
        return None if self.judge_price is None else parse_price(self.judge_price)

    @cached_property
    def trained(self) -> TrainedPrompt | None:
        """`PROMPT_FILE` of a judge in a folder; None for any other."""
        kind, where = parse_judge(self.judge or "")
        return None if kind == "http" else read_trained_prompt(Path(where))

    @property
    def language(self) -> str:
        return {"en": "English", "es": "Spanish", "ru": "Russian"}[self.judge_language]

    @property
    def detail(self) -> Detail:
        """The detail of the codes' entries in the prompt."""
        if self.judge_detail != "auto" or self.trained is None:
            return self.judge_detail
        return self.trained.detail

    def describe(self) -> dict[str, Any]:
        """The options that can change a verdict, but for the contents of files."""
        unchanging = {
            "judge_key_file", "judge_timeout_s", "judge_outage_s", "judge_concurrency", "judge_cache",
            "judge_price", "guideline",
        }  # fmt: skip
        if self.budget is not None and self.budget.unit == "usd":
            unchanging.remove("judge_price")
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in unchanging}
        return {name: value for name, value in values.items() if value is not None}


def parse_judge(value: str) -> tuple[str, str]:
    """Splits the value of ``--judge`` into the engine's name and its folder, URL or other argument. An
    existing folder means ``local:``.

    Raises:
        ConfigError: E_OPTION, no engine has this name, or a key stands in the URL.
    """
    if value and Path(value).is_dir():
        return "local", value
    name, _, rest = value.partition(":")
    if name in ("http", "https") and rest.startswith("//"):
        name, rest = "http", value
    if not rest or name not in plugins("dialint.judges"):
        others = [each for each in plugins("dialint.judges") if each not in ("local", "http")]
        more = "".join(f", {each}:..." for each in others)
        raise ConfigError("E_OPTION", "--judge: expected local:FOLDER or http:URL{more}", more=more)
    if name == "http" and ("@" in rest.partition("//")[2].partition("/")[0] or "?" in rest):
        raise ConfigError(
            "E_OPTION", "--judge: a URL with a user or a key in it; keys belong into DIALINT_JUDGE_KEY"
        )
    return name, rest


def judge_plugin(value: str) -> Plugin:
    """Returns the plugin of a value of ``--judge``; raises as `parse_judge`."""
    return plugins("dialint.judges")[parse_judge(value)[0]]


KEY_VARIABLE = "DIALINT_JUDGE_KEY"


def read_key(path: Path | None, option: str, variable: str = KEY_VARIABLE) -> tuple[str | None, str | None]:
    """Reads the key of a file, which `option` names, else of the environment variable `variable`, if there is
    one; returns it with a note for the user if others may read the file.

    Raises:
        ConfigError: E_OPTION, a file that cannot be read, or what it holds is no key.
    """
    note = None
    if path is None:
        source, text = variable, os.environ.get(variable, "")
        if not text.strip():
            return None, None
    else:
        source = f"{option} {path}"
        try:
            if path.stat().st_mode & 0o077:
                note = f"{source}: others may read it: chmod 600"
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("E_OPTION", f"{source}: cannot be read ({type(error).__name__})") from None
    key = text.strip()
    if not re.fullmatch(r"[!-~]{1,4096}", key):
        raise ConfigError("E_OPTION", f"{source}: expected one key on one line, printable and without blanks")
    return key, note
