"""The Optuna study of a search: its space, as written on the command line, and its trials in a database.

``learning_rate=1e-5..1e-3:log`` is a range (of integers where both ends are), ``rank=4,8,16`` a choice.
Runs no trial itself and knows no training stage.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import option_changes
from dialint.detector.errors import ConfigError, OutputRefused

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

Values = dict[str, Any]
"""The sampled values of a trial, by option."""
FinishedTrial = tuple[int, Values, float | None]
"""Number, sampled values and objective."""
_RANGE = re.compile(r"\A(?P<low>[^,]{1,80}?)\.\.(?P<high>[^,]{1,80}?)(?P<log>:log)?")


def parse_space(texts: Sequence[str]) -> dict[str, BaseDistribution]:
    """The distribution of each option by name, in order.

    Raises:
        ConfigError: E_OPTION, one cannot be parsed, or occurs twice.
    """
    space: dict[str, BaseDistribution] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not name or not values or name in space:
            raise ConfigError("E_OPTION", f"--space {text!r}: expected an option once, as in rank=4,8,16")
        space[name] = _parse_values(text, values)
    if not space:
        raise ConfigError("E_OPTION", "--space must name an option to search over, as in rank=4,8,16")
    return space


def _parse_values(text: str, values: str) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match = _RANGE.fullmatch(values)
    if match is None:
        return CategoricalDistribution([value.strip() for value in values.split(",")])
    low, high, log = match["low"], match["high"], match["log"] is not None
    are_integers = all(re.fullmatch(r"\A\s*+[+-]?\d++\s*+", end) for end in (low, high))
    try:
        if are_integers:
            return IntDistribution(int(low), int(high), log)
        if math.isfinite(float(high) - float(low)):
            return FloatDistribution(float(low), float(high), log)
    except ValueError:
        pass
    expected = "low..high, above 0 for :log, as in learning_rate=1e-5..1e-3:log"
    raise ConfigError("E_OPTION", f"--space {text!r}: expected {expected}")


def to_options(values: Mapping[str, Any]) -> list[str]:
    """Values as options of a command line."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


@contextmanager
def open_study(path: Path, settings: Mapping[str, Any]) -> Iterator[Study]:
    """Create or resume the study of a file. `settings` identify the search.

    Raises:
        OutputRefused: E_OTHER_JOB, the file has another search.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}")
    try:
        study = optuna.create_study(
            storage=storage,
            study_name="search",
            direction="maximize" if settings["direction"] == "maximise" else "minimize",
            load_if_exists=True,
        )
        job = dict(json.loads(json.dumps(settings)))
        if changes := option_changes(study.user_attrs.get("job", job), job):
            raise OutputRefused(
                "E_OTHER_JOB", f"{path}: another search: {', '.join(changes)}; name another folder by --out"
            )
        study.set_user_attr("job", job)
        yield study
    finally:
        storage.remove_session()
        storage.engine.dispose()


def next_trial(
    study: Study, space: Mapping[str, BaseDistribution], max_trials: int, seed: int
) -> tuple[int, Values] | None:
    """Number and values of the trial that was interrupted, else of a new one; None after `max_trials`.

    The sampler's seed follows from the number of trials before, so that a search that was killed samples what
    it would have sampled.
    """
    from optuna.samplers import TPESampler
    from optuna.trial import TrialState

    n_started = 0
    for trial in study.get_trials(deepcopy=False):
        is_sampled = trial.params.keys() == space.keys()
        if trial.state == TrialState.RUNNING and is_sampled:
            return trial.number, dict(trial.params)
        if trial.state == TrialState.RUNNING:
            study.tell(trial.number, state=TrialState.FAIL)  # killed while it was sampled: does not count
        n_started += is_sampled
    if n_started >= max_trials:
        return None
    study.sampler = TPESampler(seed=(seed * 1_000_003 + n_started) % 2**32)
    new_trial = study.ask(dict(space))
    return new_trial.number, dict(new_trial.params)


def record_result(study: Study, number: int, value: float | None) -> None:
    """Finish a trial with its objective; without one it failed."""
    from optuna.trial import TrialState

    study.tell(number, value, TrialState.FAIL if value is None else TrialState.COMPLETE)


def finished_trials(study: Study, space: Mapping[str, BaseDistribution]) -> Iterator[FinishedTrial]:
    """The trials that were run, in order; the objective of a failed one is None."""
    for trial in study.get_trials(deepcopy=False):
        if trial.params.keys() == space.keys():
            yield trial.number, dict(trial.params), trial.values[0] if trial.values else None
