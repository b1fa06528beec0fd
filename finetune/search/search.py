"""Stage ``dialint train search``: the options of a stage under which a figure is best.

    dialint train search --stage scan --out build/search --trials 20 \\
        --space learning_rate=1e-5..1e-3:log adapter=lora rank=4,8,16 -- --examples E --base B --epochs 0.5

What stands after ``--`` goes to the stage as it is. Each trial is a run of the stage in a folder of its own,
one after another in this process. Writes ``study.db`` (Optuna) and last ``search.json``: all trials, the
best, and its command. The same command goes on after a kill: finished trials are kept, the one that was cut
off is run again in its folder, where the stage takes up its own checkpoint, and what follows is what would
have followed. A larger ``--trials`` adds to a finished search. Stops no trial early, however bad it looks.
"""

from __future__ import annotations

import fcntl
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from dialint.detector.artifacts import disk_errors, make_output_folder, package_versions, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused
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
from dialint.finetune.train.distributed import require_single_process
from dialint.finetune.train.lineage import git_commit

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

SEARCH = "search.json"
STUDY = "study.db"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """What is searched."""

    stage: Literal["scan", "judge"]
    """Stage whose options are searched."""
    out: Path
    """Folder for the trials; a search in it goes on."""
    space: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Options and their values: name=low..high, name=low..high:log, or name=value,value."""
    trials: int = 20
    """Trials in all."""
    objective: str | None = None
    """Figure in the stage's manifest or metrics, as a dotted path; none: the stage's own."""
    direction: Direction | None = None
    """What is better of it; none: the stage's own."""
    seed: int = 0
    """Seed of the choices."""


def search(*options: Annotated[str, Parameter(allow_leading_hyphen=True)], config: SearchConfig) -> None:
    """Find the options of a stage under which a figure is best.

    Parameters
    ----------
    options
        Options of the stage itself, after ``--``.
    """
    found = run(config, options, STAGES[config.stage])
    if found is None:
        print("the trial was stopped; the same command goes on")
    elif found["best"] is None:
        print("no trial ended with a number")
    else:
        best = found["best"]
        print(f"best of {len(found['trials'])}: {found['objective']} {best['value']:.6g} in {best['folder']}")
        print(best["command"])


def run(config: SearchConfig, options: Sequence[str], stage: Stage) -> dict[str, Any] | None:
    """Search; the manifest that was written, or none if the stage was told to stop.

    Raises:
        ConfigError: E_OPTION, an option that cannot be, of the search or of the stage.
        OutputRefused: E_OTHER_JOB, `out` holds another search; E_LOCKED, it is going on.
    """
    require_single_process("train search")
    if config.trials < 1 or config.seed < 0:
        raise ConfigError("E_OPTION", "--trials must be at least 1, --seed not negative")
    space = parse_space(config.space)
    _refuse(stage, options, space)
    told: dict[str, Any] = {
        "stage": stage.command,
        "options": list(options),
        "space": list(config.space),
        "objective": config.objective or stage.objective,
        "direction": config.direction or stage.direction,
        "seed": config.seed,
    }
    with _alone(config.out), open_study(config.out / STUDY, told) as study:
        while (trial := next_trial(study, space, config.trials, config.seed)) is not None:
            number, chosen = trial
            folder = config.out / _name(number)
            finished = folder / stage.manifest
            given = [*options, *to_options(chosen), f"--out={folder}"]
            whole = finished.exists() or _call(stage, number, given)
            if whole and not finished.exists():
                return None
            record_result(study, number, stage.figure(folder, told["objective"]) if whole else None)
        return _written(config.out, stage, told, finished_trials(study, space))


def _refuse(stage: Stage, options: Sequence[str], space: Mapping[str, BaseDistribution]) -> None:
    """Read the options as a trial would, before there is one."""
    if any(option.partition("=")[0] == "--out" for option in options) or "out" in space:
        raise ConfigError("E_OPTION", "--out is the search's own; trials get folders in it")
    chosen = {name: _first(values) for name, values in space.items()}
    stage.bound([*options, *to_options(chosen), "--out=trial"])


def _first(values: Any) -> Any:
    return values.choices[0] if hasattr(values, "choices") else values.low


def _name(number: int) -> str:
    return f"trial-{number:04d}"


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """One search at a time in a folder; the lock dies with its process."""
    with disk_errors(out):
        make_output_folder(out)
    with open(out / ".lock", "wb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputRefused("E_LOCKED", f"{out}: another search is going on in it") from None
        yield


def _call(stage: Stage, number: int, options: Sequence[str]) -> bool:
    """Run a trial; whether it came to its end: it fitted into memory and did not diverge."""
    print(f"trial {number}: dialint {stage.command} {shlex.join(options)}", flush=True)
    try:
        stage.bound(options)()
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


def _written(
    out: Path, stage: Stage, told: Mapping[str, Any], ran: Iterable[FinishedTrial]
) -> dict[str, Any]:
    """The search's manifest."""
    trials = [{"folder": _name(number), "options": chosen, "value": value} for number, chosen, value in ran]
    sign = 1 if told["direction"] == "maximise" else -1
    numbers: list[dict[str, Any]] = [trial for trial in trials if trial["value"] is not None]
    best = max(numbers, key=lambda trial: sign * float(trial["value"]), default=None)
    if best is not None:
        folder = out.with_name(f"{out.name}-best")
        again = shlex.join([*told["options"], *to_options(best["options"]), f"--out={folder}"])
        best = {**best, "command": f"dialint {stage.command} {again}"}
    content = {"kind": "search", **told, "trials": trials, "best": best, "commit": git_commit()}
    content["versions"] = package_versions("dialint", "optuna")
    write_manifest(out / SEARCH, content)
    return content
