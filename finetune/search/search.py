"""Hyperparameter search over a training stage: ``dialint train search``.

    dialint train search --stage scan --out build/search --trials 20 \\
        --space learning_rate=1e-5..1e-3:log adapter=lora rank=4,8,16 -- --examples E --base B --epochs 0.5

Options after ``--`` are passed to the stage. Each trial is a run of the stage in a folder of its own, one
after another in this process. Writes ``study.db`` (Optuna) and last ``search.json``: all trials, the best
one, and its command. The same command resumes a search that was killed: finished trials stay, the interrupted
one runs again in its folder, where the stage resumes from its own checkpoint, and the following trials are
those that would have followed. A larger ``--trials`` extends a finished search. Trials are not pruned.
"""

from __future__ import annotations

import fcntl
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import disk_errors, make_output_folder, package_versions, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.extras import require_single_process
from dialint.detector.option_ranges import check_ranges
from dialint.finetune.search.optuna_study import (
    FinishedTrial,
    finished_trials,
    next_trial,
    open_study,
    parse_space,
    record_result,
    to_options,
)
from dialint.finetune.search.stages import STAGES, Direction, Stage
from dialint.finetune.train.lineage import git_commit

SEARCH = "search.json"
STUDY = "study.db"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
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
    objective: str | None = None
    """Figure in the stage's manifest or metrics, as a dotted path; none: the stage's default."""
    direction: Direction | None = None
    """Whether to maximise or minimise it; none: the stage's default."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the sampler."""

    def __post_init__(self) -> None:
        check_ranges(self)


def search(*options: Annotated[str, Parameter(allow_leading_hyphen=True)], config: SearchConfig) -> None:
    """Search the best hyperparameters of a stage.

    Parameters
    ----------
    options
        Options of the stage itself, after ``--``.
    """
    manifest = run(config, options, STAGES[config.stage])
    if manifest is None:
        print("the trial was stopped; the same command goes on")
    elif manifest["best"] is None:
        print("no trial ended with a number")
    else:
        best, n_trials = manifest["best"], len(manifest["trials"])
        print(f"best of {n_trials}: {manifest['objective']} {best['value']:.6g} in {best['folder']}")
        print(best["command"])


def run(config: SearchConfig, options: Sequence[str], stage: Stage) -> dict[str, Any] | None:
    """Search; the manifest that was written, or None if SIGTERM stopped a trial.

    Raises:
        ConfigError: E_OPTION, an option of the stage that is unknown, missing or out of its range.
        OutputRefused: E_OTHER_JOB, `out` has another search; E_LOCKED, the search is running.
    """
    require_single_process("train search")
    space = parse_space(config.space)
    if any(option.partition("=")[0] == "--out" for option in options) or "out" in space:
        raise ConfigError("E_OPTION", "--out is the search's own; trials get folders in it")
    first_values = {
        name: values.choices[0] if hasattr(values, "choices") else values.low  # type: ignore[attr-defined]
        for name, values in space.items()
    }
    stage.bind([*options, *to_options(first_values), "--out=trial"])
    settings: dict[str, Any] = {
        "stage": stage.command,
        "options": list(options),
        "space": list(config.space),
        "objective": config.objective or stage.objective,
        "direction": config.direction or stage.direction,
        "seed": config.seed,
    }
    with _lock(config.out), open_study(config.out / STUDY, settings) as study:
        while (trial := next_trial(study, space, config.trials, config.seed)) is not None:
            number, values = trial
            folder = config.out / _trial_name(number)
            manifest = folder / stage.manifest
            trial_options = [*options, *to_options(values), f"--out={folder}"]
            completed = manifest.exists() or _run_trial(stage, number, trial_options)
            if completed and not manifest.exists():
                return None
            objective = stage.figure(folder, settings["objective"]) if completed else None
            record_result(study, number, objective)
        return _write_manifest(config.out, stage, settings, finished_trials(study, space))


def _trial_name(number: int) -> str:
    return f"trial-{number:04d}"


@contextmanager
def _lock(out: Path) -> Iterator[None]:
    """Lock the folder for one search at a time; the lock is released with its process."""
    with disk_errors(out):
        make_output_folder(out)
    with open(out / ".lock", "wb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputRefused("E_LOCKED", f"{out}: another search is going on in it") from None
        yield


def _run_trial(stage: Stage, number: int, options: Sequence[str]) -> bool:
    """Run a trial; whether it fitted into memory and did not diverge."""
    print(f"trial {number}: dialint {stage.command} {shlex.join(options)}", flush=True)
    try:
        stage.bind(options)()
    except ConfigError as error:
        if error.code != "E_DIVERGED":
            raise
        print(f"trial {number} diverged: {error.message}", flush=True)
        return False
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and type(error).__name__ != "OutOfMemoryError":  # torch's
            raise
        print(f"trial {number} does not fit into memory", flush=True)
        return False
    return True


def _write_manifest(
    out: Path, stage: Stage, settings: Mapping[str, Any], finished: Iterable[FinishedTrial]
) -> dict[str, Any]:
    """Write the search's manifest, with the command of the best trial; its content."""
    trials = [
        {"folder": _trial_name(number), "options": values, "value": objective}
        for number, values, objective in finished
    ]
    sign = 1 if settings["direction"] == "maximise" else -1
    scored: list[dict[str, Any]] = [trial for trial in trials if trial["value"] is not None]
    best = max(scored, key=lambda trial: sign * float(trial["value"]), default=None)
    if best is not None:
        folder = out.with_name(f"{out.name}-best")
        options = shlex.join([*settings["options"], *to_options(best["options"]), f"--out={folder}"])
        best = {**best, "command": f"dialint {stage.command} {options}"}
    content = {"kind": "search", **settings, "trials": trials, "best": best, "commit": git_commit()}
    content["versions"] = package_versions("dialint", "optuna")
    write_manifest(out / SEARCH, content)
    return content
