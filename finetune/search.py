"""Hyperparameter search over a training stage: ``dialint train search``.

    dialint train search --stage scan --out build/search --trials 20 \\
        --space learning_rate=1e-5..1e-3:log adapter=lora rank=4,8,16 -- --examples E --base B --epochs 0.5

Options after ``--`` are passed to the stage. Each trial is a run of the stage in a folder of its own, one
after another in this process. Writes last ``search.json``: all trials, the best one, and its command.
Optuna's samples are determined by the seed and the values before, so the same command resumes a search that
was killed: finished trials stay, the interrupted one runs again in its folder, where the stage resumes from
its own checkpoint, and the following trials are the same. A larger ``--trials`` extends a finished search.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    make_output_folder,
    package_versions,
    read_manifest,
    write_json,
    write_manifest,
)
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.option_ranges import command_options, option_changes
from dialint.finetune.train.lineage import git_commit

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

SEARCH = "search.json"
JOB = "job.json"
Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Stage:
    """A training stage: its function (``module:name``), its command, the manifest that completes its folder,
    and its objective, a figure of that manifest by its dotted path."""

    function: str
    command: str
    manifest: str
    objective: str
    direction: Direction


STAGES = {
    "scan": Stage(
        "dialint.finetune.scanner.train:scan", "train sft scan", "training.json", "dev.ap.macro", "maximize"
    ),
    "judge": Stage("dialint.finetune.judge.sft:run", "train sft judge", MANIFEST, "figures.best", "minimize"),
}


@command_options
class SearchConfig:
    """Options of `dialint train search`."""

    stage: Literal["scan", "judge"]
    """Stage whose options are searched."""
    out: Path
    """Folder for the trials; a search in it is resumed."""
    space: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Options and their values: name=low..high, name=low..high:log, or name=value,value."""
    trials: Annotated[int, Field(ge=1)] = 20
    """Number of trials in all."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the sampler."""


def search(*options: Annotated[str, Parameter(allow_leading_hyphen=True)], config: SearchConfig) -> None:
    """Search the best hyperparameters of a stage.

    Parameters
    ----------
    options
        Options of the stage itself, after ``--``.
    """
    run(config, options, STAGES[config.stage])


def run(config: SearchConfig, options: Sequence[str], stage: Stage) -> dict[str, Any] | None:
    """Searches, and returns the manifest, or None if SIGTERM stopped a trial.

    Raises:
        ConfigError: E_OPTION, an option of the stage that is unknown, missing or out of its range.
        OutputRefused: E_OTHER_JOB, `out` has another search.
    """
    import optuna

    require_single_process("train search")
    space = parse_space(config.space)
    if any(option.partition("=")[0] == "--out" for option in options) or "out" in space:
        raise ConfigError("E_OPTION", "--out is the search's own; trials get folders in it")
    first = {name: vars(each).get("choices", [vars(each).get("low")])[0] for name, each in space.items()}
    bind(stage, [*options, *to_options(first), "--out=trial"])
    settings: dict[str, Any] = {
        "stage": stage.command,
        "options": list(options),
        "space": list(config.space),
        "seed": config.seed,
    }
    make_output_folder(config.out)
    job, path = {**settings, **package_versions("optuna")}, config.out / JOB
    if not path.exists():
        write_json(path, job)
    elif changes := option_changes(json.loads(path.read_text()), job):
        message = f"{path}: another search: {', '.join(changes)}; name another folder by --out"
        raise OutputRefused("E_OTHER_JOB", message)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction=stage.direction)
    for number in range(config.trials):
        study.sampler = optuna.samplers.TPESampler(seed=(config.seed * 1_000_003 + number) % 2**32)
        trial = study.ask(space)
        folder = config.out / f"trial-{number:04d}"
        manifest, failed = folder / stage.manifest, folder.with_suffix(".failed")
        if not manifest.exists() and not failed.exists():
            words = [*options, *to_options(trial.params), f"--out={folder}"]
            print(f"trial {number}: dialint {stage.command} {shlex.join(words)}", flush=True)
            if reason := run_trial(bind(stage, words)):
                print(f"trial {number} {reason}", flush=True)
                write_json(failed, trial.params)
            elif not manifest.exists():
                print("the trial was stopped; the same command goes on")
                return None
        value = read_objective(manifest, stage) if manifest.exists() else None
        study.tell(trial, value, None if value is not None else optuna.trial.TrialState.FAIL)
    trials = [
        {"folder": f"trial-{each.number:04d}", "options": each.params, "value": each.value}
        for each in study.trials
    ]
    best: dict[str, Any] | None = None
    if any(each["value"] is not None for each in trials):
        out = config.out.with_name(f"{config.out.name}-best")
        words = [*options, *to_options(study.best_params), f"--out={out}"]
        command = f"dialint {stage.command} {shlex.join(words)}"
        best = {**trials[study.best_trial.number], "command": command}
    print(f"best: {best['value']:.6g} by {best['command']}" if best else "no trial ended with a number")
    content = {"kind": "search", **settings, "trials": trials, "best": best, "commit": git_commit()}
    content["versions"] = package_versions("dialint", "optuna")
    write_manifest(config.out / SEARCH, content)
    return content


def run_trial(trial: Callable[[], object]) -> str:
    """Runs a trial, and returns the reason if it diverged or did not fit into memory, else an empty
    string."""
    try:
        trial()
    except ConfigError as error:
        if error.code != "E_DIVERGED":
            raise
        return f"diverged: {error.message}"
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and type(error).__name__ != "OutOfMemoryError":  # torch's
            raise
        return "does not fit into memory"
    return ""


def bind(stage: Stage, options: Sequence[str]) -> Callable[[], object]:
    """Returns a call of the stage with `options`, parsed as on the command line.

    Raises:
        ConfigError: E_OPTION, an unknown or missing option, or a value out of its range.
    """
    module, _, name = stage.function.partition(":")
    app = App(default_parameter=Parameter(negative=()), help_flags=(), version_flags=())
    app.default(getattr(import_module(module), name))
    try:
        function, arguments, _ = app.parse_args(list(options), print_error=False, exit_on_error=False)
    except CycloptsError as error:
        message = str(error).partition("\n")[0]
        raise ConfigError("E_OPTION", f"dialint {stage.command}: {message}") from None
    return lambda: function(*arguments.args, **arguments.kwargs)


def read_objective(manifest: Path, stage: Stage) -> float:
    """Reads the stage's objective in the manifest of a run.

    Raises:
        ConfigError: E_OBJECTIVE, the manifest has no such figure.
    """
    value: Any = read_manifest(manifest)
    for name in stage.objective.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, int | float):
        raise ConfigError("E_OBJECTIVE", f"{manifest}: no figure {stage.objective}")
    return float(value)


def parse_space(texts: Sequence[str]) -> dict[str, BaseDistribution]:
    """Parses the distribution of each option by name, in order.

    Raises:
        ConfigError: E_OPTION, one cannot be parsed, or occurs twice.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    space: dict[str, BaseDistribution] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        low, dots, high = values.removesuffix(":log").partition("..")
        try:
            if not name or not values or name in space:
                raise ValueError
            if not dots:
                space[name] = CategoricalDistribution([value.strip() for value in values.split(",")])
            elif all(re.fullmatch(r"[+-]?\d+", end) for end in (low, high)):
                space[name] = IntDistribution(int(low), int(high), values.endswith(":log"))
            elif math.isfinite(float(high) - float(low)):
                space[name] = FloatDistribution(float(low), float(high), values.endswith(":log"))
            else:
                raise ValueError
        except ValueError:
            expected = "each option once, as rank=4,8,16, epochs=1..3 or learning_rate=1e-5..1e-3:log"
            raise ConfigError("E_OPTION", f"--space {text!r}: expected {expected}") from None
    if not space:
        raise ConfigError("E_OPTION", "--space must name an option to search over, as in rank=4,8,16")
    return space


def to_options(values: Mapping[str, Any]) -> list[str]:
    """Formats values as options of a command line."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
